"""What an upload asks for: the name to store it under and how to prepare it, checked before anything is stored."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from pliant.errors import InputError
from pliant.mesh.io import FORMATS
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import SUFFIX
from pliant.settings import field_kind
from pliant.studio.options import StudioOptions

LONGEST_NAME = 80
PART_FOR_SOLID = 0.5
"""Part of the time limit after which the solid is made coarser."""
BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


class RefusedError(InputError):
    """An upload that cannot be used, with the HTTP status that says so."""

    def __init__(self, status: int, what: str, where: str, remedy: str):
        super().__init__(what, where, remedy)
        self.status = status


def suffixes() -> tuple[str, ...]:
    """Of the files that may be uploaded: formats of a single file, compressed or not, and prepared bodies."""
    single = [row for row in FORMATS if not row.pair]
    plain = [suffix for row in single for suffix in row.suffixes]
    return (*plain, *(f"{suffix}.gz" for row in single if row.packed for suffix in row.suffixes), SUFFIX)


def safe_name(given: str) -> tuple[str, str]:
    """Stem and suffix of the name to store a file under: letters, digits, ``.``, ``_`` and ``-``, and no folder."""
    base = re.split(r"[/\\]", given)[-1]
    lowered = base.lower()
    suffix = max((each for each in suffixes() if lowered.endswith(each)), key=len, default="")
    if not suffix:
        known = ", ".join(suffixes())
        raise RefusedError(
            415, f"{base[:LONGEST_NAME]!r} is of no kind that is read here", "name", f"Known are {known}"
        )
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", base[: len(base) - len(suffix)])
    stem = re.sub(r"\.{2,}", ".", stem).strip("._-")[:LONGEST_NAME]
    return stem or "mesh", suffix


def settings_of(query: Mapping[str, str], options: StudioOptions) -> PrepareSettings:
    """The settings that a query gives as texts."""
    values: dict[str, Any] = {}
    fields = {field.name: field for field in dataclasses.fields(PrepareSettings)}
    for key, text in query.items():
        if key not in fields:
            known = ", ".join(("name", *fields))
            raise RefusedError(400, f"the setting {key[:40]!r} is not known", "upload", f"Known are {known}")
        kind, _ = field_kind(fields[key])
        try:
            values[key] = BOOLEANS[text.lower()] if kind is bool else kind(text)
        except (ValueError, KeyError):
            values[key] = text
    longest = PART_FOR_SOLID * options.upload_seconds
    try:
        settings = PrepareSettings(**values)
    except InputError as error:
        raise RefusedError(400, error.what, error.where, error.remedy) from None
    return dataclasses.replace(settings, time_limit=min(settings.time_limit, longest))
