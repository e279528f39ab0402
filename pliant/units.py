"""Numbers with units as text, such as "0.1 MPa", "1.1 g/cm^3" or "5 ms", turned into SI."""

from __future__ import annotations

import math
import re

from pliant.errors import InputError

Dimension = tuple[int, int, int]
"""Powers of metre, kilogram and second."""

PREFIXES = {
    "n": 1e-9, "u": 1e-6, "\u00b5": 1e-6, "\u03bc": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1,
    "h": 1e2, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip
# Units that take a prefix, in SI, and their dimensions.
PREFIXED: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, (1, 0, 0)),
    "g": (1e-3, (0, 1, 0)),
    "s": (1.0, (0, 0, 1)),
    "N": (1.0, (1, 1, -2)),
    "Pa": (1.0, (-1, 1, -2)),
    "J": (1.0, (2, 1, -2)),
    "W": (1.0, (2, 1, -3)),
    "Hz": (1.0, (0, 0, -1)),
    "bar": (1e5, (-1, 1, -2)),
    "l": (1e-3, (3, 0, 0)),
    "L": (1e-3, (3, 0, 0)),
    "t": (1e3, (0, 1, 0)),
}
# Units that take none.
PLAIN: dict[str, tuple[float, Dimension]] = {
    "1": (1.0, (0, 0, 0)),
    "rad": (1.0, (0, 0, 0)),
    "deg": (math.pi / 180.0, (0, 0, 0)),
    "min": (60.0, (0, 0, 1)),
    "h": (3600.0, (0, 0, 1)),
    "in": (0.0254, (1, 0, 0)),
    "ft": (0.3048, (1, 0, 0)),
    "lb": (0.45359237, (0, 1, 0)),
    "lbf": (4.4482216152605, (1, 1, -2)),
    "gf": (9.80665e-3, (1, 1, -2)),
    "kgf": (9.80665, (1, 1, -2)),
    "dyn": (1e-5, (1, 1, -2)),
    "psi": (6894.757293168361, (-1, 1, -2)),
    "ksi": (6894757.293168361, (-1, 1, -2)),
    "atm": (101325.0, (-1, 1, -2)),
}
RAISED = str.maketrans("\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u207b", "0123456-")
QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S.*?)?\s*")
FACTOR = re.compile(r"(1|[A-Za-z\u00b5\u03bc]+)(?:(?:\^|\*\*)?(-?\d+))?")
EXAMPLES = {
    (-1, 1, -2): '"0.1 MPa"',
    (-3, 1, 0): '"1.1 g/cm^3"',
    (0, 0, 1): '"5 ms"',
    (1, 0, 0): '"2 mm"',
    (0, 1, 0): '"20 g"',
    (0, 0, -1): '"20 1/s"',
}


def read_unit(text: str) -> tuple[float, Dimension]:
    """Size in SI and dimension of a unit such as ``g/cm^3``, ``N s/m`` or ``1/s``; a `ValueError` names what is wrong.

    Factors stand side by side or with ``*`` or a dot between them. What stands after a ``/`` divides, one factor or a
    bracket; each further one needs a ``/`` of its own.
    """
    plain = text.translate(RAISED).replace("\u00b7", " ").replace("**", "^").replace("*", " ")
    size, powers = 1.0, [0, 0, 0]
    tokens = re.findall(r"[()/]|[^\s()/]+", plain)
    sign, after, inside = 1, False, False
    for token in tokens:
        if token == "/":
            if after or inside:
                raise ValueError("a '/' has nothing behind it" if after else "a '/' stands inside a bracket")
            sign, after = -1, True
            continue
        if token == "(":
            if inside or not after:
                raise ValueError("a bracket may stand only behind a '/'")
            inside = True
            continue
        if token == ")":
            if not inside:
                raise ValueError("a ')' has no '('")
            inside, after, sign = False, False, 1
            continue
        found = FACTOR.fullmatch(token)
        if found is None:
            raise ValueError(f"{token!r} is no unit")
        one, dimension = _single(found[1])
        power = sign * int(found[2] or 1)
        if abs(power) > 9:
            raise ValueError(f"the power of {token!r} is too large")
        size *= one**power
        powers = [p + power * d for p, d in zip(powers, dimension, strict=True)]
        if not inside:
            sign, after = 1, False
    if after or inside or not tokens:
        raise ValueError("a bracket is not closed" if inside else "a unit is missing")
    return size, (powers[0], powers[1], powers[2])


def _single(name: str) -> tuple[float, Dimension]:
    """One unit, with its prefix."""
    if name in PLAIN:
        return PLAIN[name]
    if name in PREFIXED:
        return PREFIXED[name]
    if name[:1] in PREFIXES and name[1:] in PREFIXED:
        size, dimension = PREFIXED[name[1:]]
        return PREFIXES[name[0]] * size, dimension
    raise ValueError(f"{name!r} is no unit")


def read_quantity(text: str, unit: str, where: str, expected: str = "", *, plain: bool = False) -> float:
    """The number that a text such as ``0.1 MPa`` stands for, in `unit`.

    Args:
        text: a number and its unit.
        unit: what it is wanted in, as a `setting` names it.
        where: for the message.
        expected: what is taken, in words, for the message.
        plain: also take a number without a unit, as one in `unit`.

    Raises:
        InputError: the text is no number with a unit, or the unit is of another kind.
    """
    wanted_size, wanted = read_unit(unit)
    example = EXAMPLES.get(wanted, f'"1 {unit}"')
    remedy = f"Give {expected or f'a number in {unit}'}, or a text with a unit such as {example}"
    shown = repr(text if len(text) <= 80 else text[:77] + "...")
    found = QUANTITY.fullmatch(text)
    if found is None:
        raise InputError(f"{shown} is not a number with a unit", where, remedy)
    number = float(found[1])
    if found[2] is None:
        if plain:
            return number
        raise InputError(f"{shown} is a text without a unit", where, remedy)
    try:
        size, dimension = read_unit(found[2])
    except ValueError as error:
        raise InputError(f"{shown} has a unit that is not known: {error}", where, remedy) from None
    if dimension != wanted:
        raise InputError(f"{shown} has the wrong kind of unit", where, remedy)
    return _rounded(number * size / wanted_size)


def _rounded(value: float) -> float:
    """The value without the last digits, which products of powers of ten leave behind: "5 ms" is 0.005."""
    return float(f"{value:.15g}") if math.isfinite(value) else value


def takes_units(unit: str) -> bool:
    """Whether a setting of this unit is one of length, mass and time; 'pixels' is not."""
    try:
        read_unit(unit)
    except ValueError:
        return False
    return True
