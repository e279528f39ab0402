"""The methods, one folder each; a folder with a `SOLVER` is found without being listed."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from pliant.errors import InputError
from pliant.solvers.protocol import Solver


@functools.cache
def solver_classes() -> dict[str, type[Solver]]:
    """Every method by name."""
    found: dict[str, type[Solver]] = {}
    for info in pkgutil.iter_modules(__path__):
        if info.ispkg and info.name != "common":
            found[info.name] = importlib.import_module(f"{__name__}.{info.name}").SOLVER
    return found


def general_methods() -> list[str]:
    """The names of the methods, those that take most kinds of mesh first."""
    known = solver_classes()
    return sorted(known, key=lambda name: -len(known[name].takes))


def solver_class(name: str, where: str = "method") -> type[Solver]:
    """The solver of a method, or an `InputError` that lists them."""
    known = solver_classes()
    if name not in known:
        raise InputError(f"no method {name!r}", where, f"Use one of: {', '.join(known)}")
    return known[name]
