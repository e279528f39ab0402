"""The [[attachment]] tables of scene files, and the vertices that they and pins choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.scene_file.form import Constant, Either, Kind, ListOf, Table, Vector, label, scalar

LIMITS = ("stiffness", "distance", "strength")


def chooser_keys() -> dict[str, Kind]:
    """The keys that choose vertices of a body, of which exactly one is given."""
    return {
        "vertices": ListOf(scalar("int", 0, "vertex number", low=0), "vertex numbers of the mesh"),
        "box": ListOf(Vector("corner [m]"), "lowest and highest corner of a box, in the world [m]", 2, 2),
        "roots": Constant(scalar("bool", True, "the first segment of every strand of rods").field),
    }


def path_kind() -> Kind:
    """The keys of a motion: pairs, or tables."""
    number = scalar("float", 0.0, "number")
    pair = ListOf(Either(Vector("offset [m]"), list, number), "a time [s] and an offset [m]", 2, 2)
    factors = Either(Vector("factors along x, y and z"), list, scalar("float", 1.0, "factor", above=0.0))
    key = Table(
        {
            "time": scalar("float", None, "[s]"),
            "offset": Vector("[m]"),
            "rotation": Vector("axis times angle in degrees"),
            "scale": factors,
        },
        "a key of the motion",
        required=("time",),
    )
    return ListOf(
        Either(key, dict, pair),
        "keys of the motion, such as [0, [0, 0, 0]] or { time = 2, offset = [1, 0, 0], rotation = [0, 90, 0] }",
    )


def attachment_table() -> Table:
    """The form of an [[attachment]]."""
    return Table(
        {
            "name": label("for messages; numbered if not given"),
            "body": label("the body whose vertices are attached; with copies, each of them", 1),
            "to": label("the body, or the collider, that they are attached to", 1),
            **chooser_keys(),
            "at": ListOf(
                scalar("int", 0, "vertex number", low=0),
                "vertices of the other body, in place of its nearest points; as many as 'vertices' are pairs",
            ),
            "stiffness": scalar("float", None, "of a spring; rigid if not given", unit="N/m", above=0.0, high=1e30),
            "distance": scalar("float", None, "that is kept; as at the start if not given", unit="m", low=0.0),
            "strength": scalar("float", None, "force at which a vertex comes off", unit="N", above=0.0, high=1e30),
        },
        "vertices that are attached to another body or to a collider",
        required=("body", "to"),
        one_of=("vertices", "box", "roots"),
    )


def box_mask(box: Sequence[Sequence[float]], offset: np.ndarray, where: str) -> Callable[[np.ndarray], np.ndarray]:
    """What tells which points are in a box that was moved by an offset [m]."""
    low, high = (np.array(corner) + offset for corner in box)
    if np.any(low > high):
        raise InputError(
            f"the box from {list(box[0])} to {list(box[1])} is inside out",
            f"{where}.box",
            "Give the lowest corner first, then the highest",
        )
    slack = 1e-6 * float(np.abs(high - low).max())
    return lambda x: np.all((x >= low - slack) & (x <= high + slack), axis=1)


def chosen(table: Mapping[str, Any], offset: np.ndarray, where: str) -> Any:
    """The vertices that a table chooses, as `Scene.pin` takes them."""
    if "box" in table:
        return box_mask(table["box"], offset, where)
    return "roots" if "roots" in table else table["vertices"]


def pairs_of(table: Mapping[str, Any], copies: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """The bodies of an attachment and what each is attached to; `copies` has the names of bodies that have some.

    A copy is attached to the copy of the same number, where the other body has as many, else to the one that is named.
    """
    bodies = list(copies.get(table["body"], [table["body"]]))
    others = copies.get(table["to"], [])
    if table["body"] in copies and len(others) == len(bodies):
        return list(zip(bodies, others, strict=True))
    return [(body, table["to"]) for body in bodies]
