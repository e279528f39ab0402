"""TetGen's ``.node`` and ``.ele`` files (TetGen manual, section 5.2)."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.mesh.io.table import Table, read_table, write_table
from pliant.mesh.tets import TetMesh


def pair_paths(path: str | os.PathLike) -> tuple[Path, Path]:
    """The ``.node`` and the ``.ele`` file that belong together, from the name of either."""
    path = Path(path)
    upper = path.suffix.isupper()
    return path.with_suffix(".NODE" if upper else ".node"), path.with_suffix(".ELE" if upper else ".ele")


def read_tetgen(node_path: str | os.PathLike, ele_path: str | os.PathLike) -> TetMesh:
    """Read a pair of files; attributes, boundary markers and regions are read over.

    Of second-order tets (ten nodes) the four corners are taken and the nodes on their edges left out; the mesh's
    notes say so.
    """
    vertices, base = _read_nodes(node_path)
    tets, order_note = _read_tets(ele_path, node_path, len(vertices), base)
    notes = (f"vertex numbers in {node_path} start at 1",) if base else ()
    mesh = TetMesh(vertices, tets, Path(node_path).stem, notes)
    if order_note:
        mesh = dataclasses.replace(mesh, notes=(*notes, order_note)).drop_unused()
    return mesh


def _read_nodes(path: str | os.PathLike) -> tuple[np.ndarray, int]:
    """Positions (n, 3) [m] and the number of the first vertex."""
    table = read_table(path, "TetGen nodes: a header 'count 3 attributes markers', then 'number x y z' on each line")
    count = table.header_count(0, "number of nodes")
    dimension = table.header_count(1, "dimension", 3)
    attributes = table.header_count(2, "number of attributes", 0)
    markers = table.header_count(3, "number of boundary markers", 0)
    here = table.at(table.header_line)
    if dimension != 3:
        raise InputError(f"the nodes have dimension {dimension}", here, "Give nodes in three dimensions")
    if markers > 1 or attributes > 1000:
        raise InputError(
            f"announces {attributes} attributes and {markers} boundary markers",
            here,
            "The header reads 'count 3 attributes markers', the last of them 0 or 1",
        )
    columns = ["node number", "x", "y", "z", *(f"attribute {i + 1}" for i in range(attributes)), *["marker"][:markers]]
    rows = table.numbers(count, columns, "nodes")
    base = _check_numbering(table, rows, "node number")
    return rows[:, 1:4].copy(), base


def _read_tets(path: str | os.PathLike, node_path: str | os.PathLike, count: int, base: int) -> tuple[np.ndarray, str]:
    """Corners (m, 4) from 0, and a note when the file holds second-order tets."""
    table = read_table(path, "TetGen tets: a header 'count 4 regions', then 'number n1 n2 n3 n4' on each line")
    announced = table.header_count(0, "number of tets")
    nodes = table.header_count(1, "number of nodes per tet", 4)
    regions = table.header_count(2, "number of region attributes", 0)
    if nodes not in (4, 10) or regions > 1000:
        raise InputError(
            f"announces tets of {nodes} nodes with {regions} region attributes",
            table.at(table.header_line),
            "The header reads 'count nodes regions', with 4 nodes per tet, or 10 for second order",
        )
    corners = [f"node {i + 1}" for i in range(nodes)]
    rows = table.numbers(announced, ["tet number", *corners, *(f"region {i + 1}" for i in range(regions))], "tets")
    _check_numbering(table, rows, "tet number")
    remedy = f"{node_path} numbers its {count} nodes from {base} to {count + base - 1}"
    tets = table.corner_numbers(rows[:, 1 : 1 + nodes], corners, base, count, remedy)
    note = f"{path} holds second-order tets: their four corners were taken" if nodes == 10 else ""
    return tets, note


def _check_numbering(table: Table, rows: np.ndarray, what: str) -> int:
    """Raise unless the first column counts up from 0 or 1; return which."""
    numbers = table.whole_columns(rows[:, :1], [what])[:, 0]
    if numbers[0] not in (0, 1):
        raise InputError(f"the first {what} is {numbers[0]}", table.row_at(0), "Start to count at 0 or at 1")
    wrong = numbers != numbers[0] + np.arange(len(numbers))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"the {what} is {numbers[row]}, expected {numbers[0] + row}",
            table.row_at(row),
            "Number the lines one after the other; a line may be missing",
        )
    return int(numbers[0])


def write_tetgen(mesh: TetMesh, node_path: str | os.PathLike, ele_path: str | os.PathLike) -> None:
    """Write a pair of files, numbers from 0."""
    write_table(node_path, f"{len(mesh.vertices)} 3 0 0", mesh.vertices, first_number=0)
    write_table(ele_path, f"{len(mesh.tets)} 4 0", mesh.tets, first_number=0)
