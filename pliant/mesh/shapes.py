"""Solids cut into tets, sheets cut into triangles and rods, made by formula: centred at the origin, y up."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh import shape_arguments as given
from pliant.mesh.layered_shapes import can as can
from pliant.mesh.layered_shapes import gear as gear
from pliant.mesh.layered_shapes import pumpkin as pumpkin
from pliant.mesh.layered_shapes import ridged_cylinder as ridged_cylinder
from pliant.mesh.layered_shapes import tyre as tyre
from pliant.mesh.look import Look
from pliant.mesh.rod_shapes import rope as rope
from pliant.mesh.rod_shapes_hair import hair as hair
from pliant.mesh.rod_shapes_tree import tree as tree
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

KUHN_PATHS = tuple(itertools.permutations(range(3)))
"""The six tets of a cube: walks along its edges from corner (0, 0, 0) to corner (1, 1, 1)."""
FIVE_EVEN = (((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)), ((1, 1, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)),
             ((1, 0, 1), (0, 0, 1), (1, 1, 1), (1, 0, 0)), ((0, 1, 1), (0, 0, 1), (0, 1, 0), (1, 1, 1)),
             ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)))  # fmt: skip
"""The five tets of a cube, one to each of four corners and one in the middle; every second cube is mirrored."""


def box(size: Any = (1.0, 1.0, 1.0), cells: Any = 8, split: str = "six") -> TetMesh:
    """A block of cells, each cut into tets; vertices run along x first, then y, then z.

    Args:
        size: (x, y, z), or one length for a cube [m].
        cells: cells along x, y, z, or one number for all; n cells have n + 1 vertices.
        split: "six" cuts each cell into six equal tets around one diagonal (Kuhn), all cells alike; "five" into a
            regular tet and four corners, mirrored from cell to cell.
    """
    lengths = given.lengths(size, 3, "box(size)")
    nx, ny, nz = given.cells(cells, 3, "box(cells)")
    split = given.as_word(split, "box", "split")
    given.bound(nx * ny * nz * (6 if split == "six" else 5), "box(cells)")

    x, y, z = (np.linspace(-0.5 * side, 0.5 * side, n + 1) for side, n in zip(lengths, (nx, ny, nz), strict=True))
    vertices = np.stack(np.broadcast_arrays(x, y[:, None], z[:, None, None]), axis=-1).reshape(-1, 3)
    stride = np.array([1, nx + 1, (nx + 1) * (ny + 1)])
    i, j, k = np.arange(nx), np.arange(ny)[:, None], np.arange(nz)[:, None, None]
    first = (i + stride[1] * j + stride[2] * k).astype(np.int32).ravel()
    if split == "six":
        pattern = np.array([_kuhn_corners(path) @ stride for path in KUHN_PATHS], dtype=np.int32)
        tets = first[:, None, None] + pattern
    else:
        even = np.array(FIVE_EVEN)
        # Mirrored in x, which turns the tets inside out: swap two corners.
        odd = np.concatenate([1 - even[..., :1], even[..., 1:]], axis=-1)[:, [0, 1, 3, 2]]
        patterns = np.array([even @ stride, odd @ stride], dtype=np.int32)
        tets = first[:, None, None] + patterns[((i + j + k) % 2).ravel()]
    return TetMesh(vertices, tets.reshape(-1, 4), "box")


def _kuhn_corners(path: tuple[int, ...]) -> np.ndarray:
    """Corners (4, 3) of one of a cube's six tets, volume positive."""
    corners = np.zeros((4, 3), dtype=np.int64)
    for step, axis in enumerate(path):
        corners[step + 1 :, axis] = 1
    odd = np.linalg.det(corners[1:]) < 0.0
    return corners[[0, 1, 3, 2]] if odd else corners


def tetrahedron(edge: float = 1.0) -> TetMesh:
    """One regular tet, its centre at the origin; ``edge`` [m]."""
    edge = given.as_length(edge, "tetrahedron(edge)")
    corners = np.array([[1, 1, 1], [-1, 1, -1], [1, -1, -1], [-1, -1, 1]]) * (edge / math.sqrt(8.0))
    return _positive(corners, np.array([[0, 1, 2, 3]]), "tetrahedron")


def ball(radius: float = 0.5, cells: int = 8) -> TetMesh:
    """A ball of 20 cells^3 tets, all nearly equal in size and shape.

    The twenty tets between the centre and the faces of an icosahedron are each cut into cells^3, and every layer
    is then pushed out to its sphere.

    Args:
        radius: [m].
        cells: layers from the centre to the surface.
    """
    radius = given.as_length(radius, "ball(radius)")
    cells = arrays.whole(cells, "ball(cells)")
    given.bound(20 * cells**3, "ball(cells)")
    directions, layers, tets = _icosahedral_ball(cells)
    return _positive(directions * (radius * layers / cells)[:, None], tets, "ball")


def ellipsoid(radii: Any = (0.6, 0.4, 0.5), cells: int = 8) -> TetMesh:
    """A stretched `ball`; ``radii`` along x, y, z [m], ``cells`` from the centre to the surface."""
    lengths = given.lengths(radii, 3, "ellipsoid(radii)")
    cells = arrays.whole(cells, "ellipsoid(cells)")
    given.bound(20 * cells**3, "ellipsoid(cells)")
    mesh = ball(1.0, cells)
    return TetMesh(mesh.vertices * lengths, mesh.tets, "ellipsoid")


def cylinder(radius: float = 0.5, height: float = 1.0, cells: int = 6, layers: int | None = None) -> TetMesh:
    """A cylinder along y.

    Args:
        radius, height: [m].
        cells: rings from the axis to the side.
        layers: slices along the height; chosen as high as the rings are wide when not given.
    """
    radius, height = given.as_length(radius, "cylinder(radius)"), given.as_length(height, "cylinder(height)")
    cells = arrays.whole(cells, "cylinder(cells)")
    if layers is None:
        layers = max(1, round(min(height * cells / radius, given.MAX_ELEMENTS)))
    layers = arrays.whole(layers, "cylinder(layers)")
    given.bound(18 * cells**2 * layers, "cylinder(cells)")
    points, triangles = _disc(cells)
    levels = np.linspace(-0.5 * height, 0.5 * height, layers + 1)
    vertices = np.empty((layers + 1, len(points), 3))
    vertices[..., [0, 2]] = radius * points
    vertices[..., 1] = levels[:, None]
    tets = _extruded(triangles, len(points), layers, closed=False)
    return _positive(vertices.reshape(-1, 3), tets, "cylinder")


def torus(radius: float = 0.35, tube: float = 0.15, cells: int = 4, around: int | None = None) -> TetMesh:
    """A solid ring about the y axis.

    Args:
        radius: from the axis to the middle of the tube [m].
        tube: radius of the tube, smaller than ``radius`` [m].
        cells: rings from the middle of the tube to its skin.
        around: slices around the axis; chosen as long as the rings are wide when not given.
    """
    radius, tube = given.as_length(radius, "torus(radius)"), given.as_length(tube, "torus(tube)")
    if tube >= radius:
        raise InputError(
            f"{tube:g} m is not smaller than the radius {radius:g} m", "torus(tube)", "Give a thinner tube"
        )
    cells = arrays.whole(cells, "torus(cells)")
    if around is None:
        around = max(3, round(min(math.tau * radius * cells / tube, given.MAX_ELEMENTS)))
    around = arrays.whole(around, "torus(around)", low=3)
    given.bound(18 * cells**2 * around, "torus(cells)")
    points, triangles = _disc(cells)
    angles = math.tau * np.arange(around)[:, None] / around
    outward = radius + tube * points[:, 0]
    vertices = np.empty((around, len(points), 3))
    vertices[..., 0] = outward * np.cos(angles)
    vertices[..., 1] = tube * points[:, 1]
    vertices[..., 2] = outward * np.sin(angles)
    tets = _extruded(triangles, len(points), around, closed=True)
    return _positive(vertices.reshape(-1, 3), tets, "torus")


def sheet(size: Any = (1.0, 1.0), cells: Any = 16, diagonals: str = "alternating") -> SurfaceMesh:
    """A flat grid of triangles in the plane y = 0, facing up; vertices run along x first.

    Its texture coordinates go from 0 to 1, u along x (the warp of a cloth) and v against z (the weft).

    Args:
        size: along x and z, or one length for a square [m].
        cells: along x and z, or one number for both.
        diagonals: of the cells: "alternating" from cell to cell, which is as stiff along one as along the other, or
            all the "same".
    """
    lengths = given.lengths(size, 2, "sheet(size)")
    nx, nz = given.cells(cells, 2, "sheet(cells)")
    given.bound(2 * nx * nz, "sheet(cells)")
    x, z = (np.linspace(-0.5 * side, 0.5 * side, n + 1) for side, n in zip(lengths, (nx, nz), strict=True))
    vertices = np.zeros((nz + 1, nx + 1, 3))
    vertices[..., 0], vertices[..., 2] = x, z[:, None]
    i, k = np.arange(nx), np.arange(nz)[:, None]
    first = (i + (nx + 1) * k).astype(np.int32).ravel()
    a, b, c, d = 0, 1, nx + 1, nx + 2
    patterns = np.array([[[a, c, d], [a, d, b]], [[a, c, b], [b, c, d]]], dtype=np.int32)
    turned = (i + k) % 2 if given.as_word(diagonals, "sheet", "diagonals") == "alternating" else 0 * (i + k)
    triangles = (first[:, None, None] + patterns[turned.ravel()]).reshape(-1, 3)
    column, row = triangles % (nx + 1), triangles // (nx + 1)
    uv = np.stack([column / nx, 1.0 - row / nz], axis=-1).astype(np.float32)
    return SurfaceMesh(vertices.reshape(-1, 3), triangles, "sheet", look=Look(uv=uv))


def _positive(vertices: np.ndarray, tets: np.ndarray, name: str) -> TetMesh:
    """A mesh whose tets all have positive volume; that some were turned while making it is nobody's news."""
    mesh, _ = TetMesh(vertices, tets).oriented()
    return TetMesh(mesh.vertices, mesh.tets, name)


def _icosahedral_ball(cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit directions (n, 3), layer numbers (n,) and tets (20 cells^3, 4) of a ball cut along an icosahedron."""
    corners, faces = _icosahedron()
    lattice, pattern = _cut_tet(cells)
    # (x, y, z) with cells >= x >= y >= z >= 0 lies in layer x, with these weights on the face's three corners.
    weights = np.stack([lattice[:, 0] - lattice[:, 1], lattice[:, 1] - lattice[:, 2], lattice[:, 2]], axis=1)
    # Vertices on the common faces of two sectors are one: name each by its corners with a weight above zero.
    names = np.where(weights > 0, weights << 4 | faces[:, None, :], 0)
    names.sort(axis=-1)
    keys = (names[..., 0] << 40 | names[..., 1] << 20 | names[..., 2]).ravel()
    _, places, numbers = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(places)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    numbers = rank[numbers].reshape(len(faces), -1)
    tets = numbers[:, pattern].reshape(-1, 4)

    sector, point = np.divmod(places[order], len(lattice))
    directions = np.einsum("ni,nij->nj", weights[point].astype(np.float64), corners[faces[sector]])
    length = np.linalg.norm(directions, axis=1, keepdims=True)
    return directions / np.where(length > 0.0, length, 1.0), lattice[point, 0].astype(np.float64), tets


def _icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """Corners (12, 3) on the unit sphere and faces (20, 3) of a regular icosahedron."""
    golden = 0.5 * (1.0 + math.sqrt(5.0))
    corners = np.array(
        [np.roll([0.0, s, t * golden], shift) for shift in range(3) for s in (-1.0, 1.0) for t in (-1.0, 1.0)]
    )
    near = np.isclose(np.linalg.norm(corners[:, None] - corners, axis=-1), 2.0)
    faces = [
        f for f in itertools.combinations(range(12), 3) if all(near[i, j] for i, j in itertools.combinations(f, 2))
    ]
    return corners / np.linalg.norm(corners[0]), np.array(faces)


def _cut_tet(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut the tet cells >= x >= y >= z >= 0 into cells^3 tets of equal volume (Freudenthal).

    Returns:
        lattice: whole-number points (p, 3).
        pattern: tets (cells^3, 4) into them.
    """
    x, y, z = np.indices((cells + 1,) * 3).reshape(3, -1)
    inside = (x >= y) & (y >= z)
    lattice = np.stack([x, y, z], axis=1)[inside]
    number = np.full((cells + 1,) * 3, -1)
    number.ravel()[inside] = np.arange(len(lattice))
    first = lattice[lattice[:, 0] < cells]
    tets = []
    for path in KUHN_PATHS:
        corners = first[:, None] + _kuhn_corners(path)
        cut = number[corners[..., 0], corners[..., 1], corners[..., 2]]
        tets.append(cut[(cut >= 0).all(axis=1)])
    return lattice, np.concatenate(tets)


def _disc(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit disc of rings with 6, 12, 18, ... vertices: points (n, 2) and triangles (6 cells^2, 3)."""
    points = [np.zeros((1, 2))]
    triangles = []
    for ring in range(1, cells + 1):
        angles = math.tau * np.arange(6 * ring) / (6 * ring)
        points.append(ring / cells * np.stack([np.cos(angles), np.sin(angles)], axis=1))
        outer, inner = 1 + 3 * ring * (ring - 1), 1 + 3 * (ring - 1) * (ring - 2)
        sector, step = (grid.ravel() for grid in np.indices((6, ring)))
        here = outer + sector * ring + step
        after = outer + (sector * ring + step + 1) % (6 * ring)
        if ring == 1:
            triangles.append(np.stack([here, after, np.zeros_like(here)], axis=1))
            continue
        below = inner + (sector * (ring - 1) + step) % (6 * (ring - 1))
        below_after = inner + (sector * (ring - 1) + step + 1) % (6 * (ring - 1))
        triangles.append(np.stack([here, after, below], axis=1))
        triangles.append(np.stack([below, after, below_after], axis=1)[step < ring - 1])
    return np.concatenate(points), np.concatenate(triangles)


def _extruded(triangles: np.ndarray, count: int, layers: int, closed: bool) -> np.ndarray:
    """Tets (3 layers k, 4) between copies of a triangulation; each prism is cut into three.

    Every quad is cut from its smaller vertex below to its larger one above, so that neighbours agree.

    Args:
        triangles: (k, 3) into one copy of the points.
        count: points in a copy.
        layers: how many prisms are stacked.
        closed: whether the last layer ends at the first copy.
    """
    a, b, c = np.sort(triangles, axis=1).T
    below = (np.arange(layers) * count)[:, None]
    above = (np.arange(1, layers + 1) % layers * count)[:, None] if closed else below + count
    tets = [
        (below + a, below + b, below + c, above + c),
        (below + a, below + b, above + b, above + c),
        (below + a, above + a, above + b, above + c),
    ]
    return np.stack([np.stack(tet, axis=-1) for tet in tets], axis=2).reshape(-1, 4)
