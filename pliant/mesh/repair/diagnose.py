"""What is wrong with a surface, counted, and in words."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.repair import defects, topology, weld
from pliant.mesh.repair.intersect import crossing_counts
from pliant.mesh.repair.survey import Survey, survey
from pliant.mesh.surface import SurfaceMesh

LARGE, SMALL = 20.0, 1e-3
"""Diagonals [m] beyond which the unit of the file is doubted."""
FLAT = 1e-6
"""Smallest over largest principal extent, below which a surface lies in a plane."""
HOLES_TOLD = 16
"""Holes whose edges and perimeters are listed, the longest first."""


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """What `diagnose` found; plain numbers, so that it can be written as JSON.

    Vertices at the same place count as one wherever the shape is judged: holes, parts, winding, intersections.

    Attributes:
        vertices, triangles: as given. parts: pieces that hang together at vertices. closed_parts: those that bound a
            volume. kind: 'solid', 'open', 'sheet' or 'nothing', see `pliant.mesh.repair.survey.Survey`.
        size: of the box along x, y, z [m]. diagonal: [m]. area: [m^2]. volume: [m^3], None unless watertight.
        watertight: whether every edge is used as often in one direction as in the other.
        thickness: smallest over largest principal extent. flat: whether that is nothing.
        euler: vertices - edges + triangles. genus: handles of the closed parts together, None if there are none.
        holes: loops of free edges. hole_edges, hole_perimeters: of the 16 longest [m].
        non_manifold_edges: with more than two triangles. non_manifold_vertices: that join fans which only touch.
        winding_edges: whose two triangles wind against each other. one_sided_parts: like a Moebius strip.
        inverted_parts: closed and inside out, and no cavity of another.
        duplicate_vertices: at the place of an earlier one. duplicate_triangles: with the corners of an earlier one.
        degenerate_triangles: without area. unused_vertices: of no triangle. bad_vertices: not finite, or beyond 1e9 m.
        bad_triangles: that name a vertex which is not there, or a bad one.
        intersecting_triangles: that cut others. intersections: pairs of them, at most 8.
        unit_warning: why the unit of length looks wrong; empty if it does not.
    """

    name: str
    kind: str
    vertices: int
    triangles: int
    parts: int
    closed_parts: int
    size: tuple[float, float, float]
    diagonal: float
    area: float
    volume: float | None
    watertight: bool
    thickness: float
    flat: bool
    euler: int
    genus: int | None
    holes: int
    hole_edges: tuple[int, ...]
    hole_perimeters: tuple[float, ...]
    non_manifold_edges: int
    non_manifold_vertices: int
    winding_edges: int
    one_sided_parts: int
    inverted_parts: int
    duplicate_vertices: int
    duplicate_triangles: int
    degenerate_triangles: int
    unused_vertices: int
    bad_vertices: int
    bad_triangles: int
    intersecting_triangles: int
    intersections: tuple[tuple[int, int], ...]
    unit_warning: str

    @property
    def clean(self) -> bool:
        """Whether there is nothing to repair: a watertight solid, or a sheet, without a fault."""
        return not self.problems()

    def as_dict(self) -> dict[str, Any]:
        """All fields and `problems`, ready for JSON."""
        return {**_listed(dataclasses.asdict(self)), "clean": self.clean, "problems": self.problems()}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Diagnosis:
        """The diagnosis that `as_dict` was called on."""
        return Diagnosis(**{field.name: values[field.name] for field in dataclasses.fields(Diagnosis)})

    def problems(self) -> list[str]:
        """One line for each kind of fault. The outline of a sheet is none, nor is an odd size."""
        if self.kind == "nothing":
            reason = f": all {self.triangles} are broken" if self.triangles else ""
            return [f"there are no triangles to use{reason}"]
        counted = [
            (self.bad_vertices, "vertex is not finite", "vertices are not finite"),
            (self.bad_triangles, "triangle names a bad vertex", "triangles name bad vertices"),
            (self.duplicate_vertices, "vertex repeats another's place", "vertices repeat the place of others"),
            (self.degenerate_triangles, "triangle has no area", "triangles have no area"),
            (self.duplicate_triangles, "triangle is there twice", "triangles are there twice"),
            (self.unused_vertices, "vertex belongs to no triangle", "vertices belong to no triangle"),
            (self.winding_edges, "edge between opposite windings", "edges between opposite windings"),
            (self.inverted_parts, "closed part is inside out", "closed parts are inside out"),
            (self.one_sided_parts, "part has one side only", "parts have one side only"),
            (0 if self.kind == "sheet" else self.holes, "hole", "holes"),
            (self.non_manifold_edges, "edge of more than two triangles", "edges of more than two triangles"),
            (self.non_manifold_vertices, "vertex where parts only touch", "vertices where parts only touch"),
            (self.intersecting_triangles, "triangle cuts another", "triangles cut others"),
        ]
        return [f"{count:,} {one if count == 1 else many}" for count, one, many in counted if count]

    def lines(self) -> list[str]:
        """The report for people."""
        measures = f"box {self.size[0]:.4g} x {self.size[1]:.4g} x {self.size[2]:.4g} m, area {self.area:.4g} m^2"
        volume = "" if self.volume is None else f", volume {self.volume:.4g} m^3"
        what = {
            "solid": "closed: a solid",
            "open": "open, but it encloses space",
            "sheet": "a sheet: it encloses no space",
            "nothing": "nothing that could be used",
        }[self.kind]
        lines = [
            f"{self.name or 'surface'}: {self.vertices:,} vertices, {self.triangles:,} triangles, "
            f"{self.parts:,} {'part' if self.parts == 1 else 'parts'}, {self.closed_parts:,} closed",
            measures + volume,
            what + (f", genus {self.genus}" if self.genus else "") + (", flat" if self.flat else ""),
        ]
        if self.holes:
            loops = ", ".join(
                f"{edges} edges of {length:.3g} m in all"
                for edges, length in zip(self.hole_edges[:3], self.hole_perimeters[:3], strict=True)
            )
            name = "outline" if self.kind == "sheet" else "hole"
            lines.append(f"{self.holes:,} {name}{'' if self.holes == 1 else 's'}, the longest: {loops}")
        lines += [f"problem: {problem}" for problem in self.problems()] or ["no problems"]
        return lines + ([f"warning: {self.unit_warning}"] if self.unit_warning else [])


def _listed(value: Any) -> Any:
    """Tuples as lists, throughout."""
    if isinstance(value, dict):
        return {key: _listed(entry) for key, entry in value.items()}
    return [_listed(entry) for entry in value] if isinstance(value, (tuple, list)) else value


def diagnose(mesh: SurfaceMesh, intersections: bool = True) -> Diagnosis:
    """Find what is wrong with a surface; nothing is too broken for it.

    Args:
        mesh: may hold anything.
        intersections: whether to look for triangles that cut each other, which takes longest.
    """
    if not isinstance(mesh, SurfaceMesh):
        raise InputError(f"{type(mesh).__name__} is no SurfaceMesh", "diagnose", "Read a file with pliant.read_surface")
    bad = defects.bad_vertices(mesh.vertices)
    outside, touched = defects.broken_triangles(mesh)
    whole = np.flatnonzero(~(outside | touched))
    used = np.zeros(len(mesh.vertices), bool)
    named = mesh.triangles[~outside]
    used[named.ravel()] = True
    place = defects.same_place(mesh.vertices, used & ~bad)

    flat = defects.flat(mesh.vertices, mesh.triangles[whole])
    triangles = place[mesh.triangles[whole]].astype(np.int32)
    keep = ~(flat | defects.repeated_corner(triangles))
    again = defects.repeats(triangles[keep])
    rows = whole[keep][~again]
    triangles = triangles[keep][~again]
    found = survey(mesh.vertices, triangles)
    crossing, pairs = np.zeros(0, np.int32), np.zeros((0, 2), np.int64)
    if intersections and len(triangles) > 1:
        crossing, partner = crossing_counts(mesh.vertices, triangles)
        cut = np.flatnonzero(crossing)
        pairs = np.unique(np.sort(np.stack([rows[cut], rows[partner[cut]]], axis=1), axis=1), axis=0)[:8]

    points = mesh.vertices[np.unique(triangles)] if len(triangles) else np.zeros((0, 3))
    size = np.ptp(points, axis=0) if len(points) else np.zeros(3)
    thickness = _thickness(points)
    diagonal = weld.diagonal(points)
    return Diagnosis(
        name=mesh.name,
        kind=found.kind,
        vertices=len(mesh.vertices),
        triangles=len(mesh.triangles),
        size=(float(size[0]), float(size[1]), float(size[2])),
        diagonal=diagonal,
        thickness=thickness,
        flat=bool(len(points)) and thickness < FLAT,
        duplicate_vertices=int((place != np.arange(len(place))).sum()),
        duplicate_triangles=int(again.sum()),
        degenerate_triangles=int((~keep).sum()),
        unused_vertices=int((~used & ~bad).sum()),
        bad_vertices=int(bad.sum()),
        bad_triangles=int((outside | touched).sum()),
        intersecting_triangles=int((crossing > 0).sum()),
        intersections=tuple((int(a), int(b)) for a, b in pairs),
        unit_warning=unit_warning(diagonal) if len(points) else "",
        **_shape(mesh.vertices, triangles, found),
    )


def unit_warning(diagonal: float) -> str:
    """Why a diagonal [m] looks like the wrong unit; empty from 1 mm to 20 m."""
    if diagonal > LARGE:
        guess = "the file may be in millimetres or centimetres"
    elif diagonal < SMALL:
        guess = "the file may be in kilometres, or was scaled down"
    else:
        return ""
    return f"it is {diagonal:.4g} m from corner to corner: {guess}; set its longest side in metres (size=...)"


def _thickness(points: np.ndarray) -> float:
    """Extent along the smallest principal axis over that along the largest; 0 for less than a triangle."""
    if len(points) < 3:
        return 0.0
    centred = points - points.mean(axis=0)
    largest = np.abs(centred).max()
    if not largest > 0.0:
        return 0.0
    centred /= largest
    _, axes = np.linalg.eigh(centred.T @ centred)
    extents = np.ptp(centred @ axes, axis=0)
    return float(extents.min() / extents.max())


def _shape(vertices: np.ndarray, triangles: np.ndarray, found: Survey) -> dict[str, Any]:
    """The fields that follow from how the triangles hang together."""
    table = found.table
    fan_count, fan = topology.fans(table)
    holes = topology.holes(vertices, triangles, table, fan)
    longest = np.argsort(-holes.perimeter, kind="stable")[:HOLES_TOLD]
    used, corner = np.unique(triangles, return_inverse=True)
    parts, part = arrays.connected_parts(_compact(table.ends, used), len(used))
    open_part = np.zeros(parts, bool)
    part_of_patch = np.zeros(found.count, np.int64)
    if len(triangles):
        part_of_patch[found.patch] = part[corner.reshape(triangles.shape)[:, 0]]
        open_part[part_of_patch[~found.closed]] = True
    watertight = bool(len(triangles)) and not table.balance().any()
    corners = vertices[triangles] - (vertices[used].mean(axis=0) if len(used) else 0.0)
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    pairs = table.manifold_pairs()
    # A vertex where several fans meet is named by each of them.
    vertex_of_fan = np.zeros(fan_count, np.int64)
    vertex_of_fan[fan] = triangles.ravel()
    return {
        "parts": parts,
        "closed_parts": int((~open_part).sum()) if len(triangles) else 0,
        "area": 0.5 * float(np.linalg.norm(doubled, axis=1).sum()),
        "volume": float(np.einsum("ij,ij->", corners[:, 0], doubled)) / 6.0 if watertight else None,
        "watertight": watertight,
        "euler": len(used) - len(table.ends) + len(triangles),
        "genus": _genus(found, fan),
        "holes": holes.count,
        "hole_edges": tuple(int(n) for n in holes.edges[longest]),
        "hole_perimeters": tuple(float(length) for length in holes.perimeter[longest]),
        "non_manifold_edges": int((table.count > 2).sum()),
        "non_manifold_vertices": int((np.unique(vertex_of_fan, return_counts=True)[1] > 1).sum()),
        "winding_edges": int((table.forward[pairs[:, 0]] == table.forward[pairs[:, 1]]).sum()),
        "one_sided_parts": int(found.one_sided.sum()),
        "inverted_parts": int(found.inverted.sum()),
    }


def _compact(ends: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Edges (e, 2) renumbered to the used vertices."""
    return np.searchsorted(used, ends)


def _genus(found: Survey, fan: np.ndarray) -> int | None:
    """Handles of all closed patches whose edges are all manifold; None if there is none such."""
    proper = found.closed.copy()
    crowded = found.table.count[found.table.edge_of] != 2
    proper[np.repeat(found.patch, 3)[crowded]] = False
    if not proper.any():
        return None
    faces = proper[found.patch]
    corners = np.repeat(faces, 3)
    vertices = len(np.unique(fan[corners]))
    euler = vertices - 3 * int(faces.sum()) // 2 + int(faces.sum())
    return int(proper.sum()) - euler // 2
