"""The errors Pliant raises: each says what is wrong, where, and what to do about it."""

from __future__ import annotations


class PliantError(Exception):
    """Base of everything Pliant raises on purpose."""


class InputError(PliantError, ValueError):
    """Something the user gave cannot be used; raised before anything starts.

    Args:
        what: what is wrong, with the offending value.
        where: file and line, scene key, or argument name.
        remedy: what to do about it.
    """

    def __init__(self, what: str, where: str = "", remedy: str = ""):
        self.what = what
        self.where = where
        self.remedy = remedy
        parts = [f"{where}: {what}" if where else what]
        if remedy:
            parts.append(remedy)
        super().__init__(". ".join(part.rstrip(".") for part in parts) + ".")


class BlowUpError(PliantError, ArithmeticError):
    """The simulation left the realm of sense; the state was put back to the last good frame."""

    def __init__(self, message: str, details: dict):
        super().__init__(message)
        self.details = details


class MissingExtraError(PliantError, ImportError):
    """An optional package is needed for what was asked."""

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed. "
            f"Install it with: pip install 'pliant[{extra}]', or in a checkout: pip install -e '.[{extra}]'."
        )
