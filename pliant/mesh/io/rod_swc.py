"""SWC: rows of id, type, x, y, z, radius and parent, as files of nerve cells and other trees have them.

Cannon et al. 1998, An on-line archive of reconstructed hippocampal neurons, J. Neuroscience Methods 84.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh import arrays
from pliant.mesh.io import source
from pliant.mesh.io.lines import Text
from pliant.mesh.io.rod_files import FoundRods
from pliant.mesh.rods import RodMesh

WHAT = "rows of id, type, x, y, z, radius, parent"
KIND = 0
"""The type that is written: undefined."""


def read_rods(path: Path) -> FoundRods:
    """Read the rows; the radius of a segment is that of its child, and roots come before the rest of their part."""
    data = source.load(path, WHAT)
    source.check_content(path, data, "SWC", (".swc",))
    text = Text(data, path, WHAT)
    filled = text.filled()
    if not filled.any():
        raise InputError("holds no rows", str(path), f"Give {WHAT}")
    rows = text.numbers(filled, 0, WHAT)
    text.need(rows, 7, WHAT)
    values = rows.columns(0, 7)
    text.need_finite(rows, values)
    with np.errstate(invalid="ignore"):
        ids, parents = values[:, 0].astype(np.int64), values[:, 6].astype(np.int64)
    whole = (ids == values[:, 0]) & (parents == values[:, 6])
    if not whole.all():
        raise _bad(text, rows.lines, ~whole, "has an id or a parent that is no whole number", f"Give {WHAT}")
    order = np.argsort(ids, kind="stable")
    twice = np.zeros(len(ids), bool)
    twice[order[1:]] = np.diff(ids[order]) == 0
    if twice.any():
        raise _bad(text, rows.lines, twice, "has an id that is taken", "Give every row an id of its own")
    child = np.flatnonzero(parents >= 0)
    place = np.minimum(np.searchsorted(ids[order], parents[child]), len(ids) - 1)
    parent = order[place]
    lost = np.zeros(len(ids), bool)
    lost[child] = ids[parent] != parents[child]
    if lost.any():
        raise _bad(text, rows.lines, lost, "names a parent that is not there", "Give -1 for a root; is the file whole?")
    vertices, segments = values[:, 2:5], np.stack([parent, child], axis=1)
    notes: tuple[str, ...] = ()
    count, part = arrays.connected_parts(segments, len(ids))
    first = np.full(count, len(ids), np.int64)
    np.minimum.at(first, part, np.arange(len(ids)))
    rootless = ~np.isin(part, part[parents < 0])
    if rootless.any():
        raise _bad(text, rows.lines, rootless, "is its own ancestor", "Give every part a root, with the parent -1")
    if (parents[first] >= 0).any():
        # the root of a part is its vertex of the smallest number
        moved = np.argsort(parents >= 0, kind="stable")
        renumber = np.empty(len(ids), np.int64)
        renumber[moved] = np.arange(len(ids))
        vertices, segments = vertices[moved], renumber[segments]
        notes = ("roots were moved before the other points",)
    return FoundRods(vertices, segments, values[child, 5], notes)


def _bad(text: Text, lines: np.ndarray, which: np.ndarray, what: str, remedy: str) -> InputError:
    line = int(lines[int(np.argmax(which))])
    return InputError(f"{text.line(line)[:60]!r} {what}", text.at(line), remedy)


def write_rods(mesh: RodMesh, path: Path) -> None:
    """Write a row for each vertex, in its order; numbers read back exactly."""
    parents = mesh.parents
    radius = np.zeros(len(mesh.vertices))
    first = parents[mesh.segments[:, 1]] == mesh.segments[:, 0]
    child = np.where(first, mesh.segments[:, 1], mesh.segments[:, 0])
    radius[child] = mesh.radius
    roots = mesh.root_segments().reshape(-1, 2)
    radius[roots[:, 0]] = radius[roots[:, 1]]
    with replace_file(path) as file:
        file.write(b"# id type x y z radius parent\n")
        for k, (point, thick, parent) in enumerate(
            zip(mesh.vertices.tolist(), radius.tolist(), parents.tolist(), strict=True), 1
        ):
            x, y, z = point
            file.write(f"{k} {KIND} {x!r} {y!r} {z!r} {thick!r} {parent + 1 if parent >= 0 else -1}\n".encode())
