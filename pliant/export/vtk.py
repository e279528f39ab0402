"""VTK's XML files of unstructured grids (``.vtu``) and of their times (``.pvd``), as ParaView reads them.

Format: The VTK User's Guide, "XML File Formats". Numbers are written as base64 of little-endian binary, each
array after the number of its bytes.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file

CELL_TYPES = {1: 1, 2: 3, 3: 5, 4: 10}
"""Number of a cell's corners, and what VTK calls it: vertex, line, triangle, tet."""
TYPES = {"f4": "Float32", "i4": "Int32", "i8": "Int64", "u1": "UInt8"}
HEAD = '<?xml version="1.0"?>\n<VTKFile type="{}" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n'


def write_grid(
    path: str | os.PathLike,
    points: np.ndarray,
    cells: np.ndarray,
    point_data: Mapping[str, np.ndarray],
    cell_data: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write one grid, whole or not at all.

    Args:
        path: ends with ``.vtu``.
        points: positions [m] (n, 3).
        cells: corners of vertices, lines, triangles or tets (m, 1 to 4).
        point_data, cell_data: arrays by name, a row for each point or cell; matrices (m, 3, 3) are written by rows.
    """
    count, corners = len(cells), cells.shape[1]
    for data, rows, of in ((point_data, len(points), "point_data"), (cell_data or {}, count, "cell_data")):
        wrong = [name for name, values in data.items() if len(values) != rows]
        if wrong:
            raise InputError(f"{wrong[0]!r} has {len(data[wrong[0]])} rows", f"write_grid.{of}", f"Give {rows}")
    topology = {
        "connectivity": cells.reshape(-1).astype("<i8"),
        "offsets": corners * np.arange(1, count + 1, dtype="<i8"),
        "types": np.full(count, CELL_TYPES[corners], "u1"),
    }
    parts = [
        HEAD.format("UnstructuredGrid"),
        f'<UnstructuredGrid>\n<Piece NumberOfPoints="{len(points)}" NumberOfCells="{count}">\n',
        f"<Points>\n{_array('points', np.asarray(points))}</Points>\n",
        f"<Cells>\n{''.join(_array(name, values) for name, values in topology.items())}</Cells>\n",
    ]
    for tag, data in (("PointData", point_data), ("CellData", cell_data or {})):
        parts.append(f"<{tag}>\n{''.join(_array(name, values) for name, values in data.items())}</{tag}>\n")
    parts.append("</Piece>\n</UnstructuredGrid>\n</VTKFile>\n")
    with replace_file(path) as file:
        file.write("".join(parts).encode())


def _array(name: str, values: np.ndarray) -> str:
    """An array as an element; numbers with a fraction as float32."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "f":
        values = values.astype("<f4")
    elif values.dtype.kind == "b":
        values = values.astype("u1")
    packed = values.astype(values.dtype.newbyteorder("<")).tobytes()
    text = base64.b64encode(np.array(len(packed), "<u8").tobytes() + packed).decode()
    width = int(np.prod(values.shape[1:]))
    kind = TYPES[f"{values.dtype.kind}{values.dtype.itemsize}"]
    more = f' NumberOfComponents="{width}"' if values.ndim > 1 else ""
    return f'<DataArray type="{kind}" Name={quoteattr(name)}{more} format="binary">{text}</DataArray>\n'


def write_collection(path: str | os.PathLike, files: Sequence[tuple[float, str, Path]]) -> None:
    """Write which file is seen when: rows of time [s], name of the part, and file beside this one."""
    parts = list(dict.fromkeys(part for _, part, _ in files))
    rows = "".join(
        f"<DataSet timestep={quoteattr(f'{time:.9g}')} part={quoteattr(str(parts.index(part)))} "
        f"name={quoteattr(part)} file={quoteattr(file.name)}/>\n"
        for time, part, file in files
    )
    with replace_file(path) as file:
        file.write(f"{HEAD.format('Collection')}<Collection>\n{rows}</Collection>\n</VTKFile>\n".encode())
