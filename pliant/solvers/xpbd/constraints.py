"""The constraints of a body, from its mesh and its material, in float64."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.materials import Material
from pliant.mesh import arrays
from pliant.mesh.rings import hinges
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.mesh.weave import warp_directions
from pliant.model.model import Body
from pliant.solvers.common.edge_springs import one_ring_springs
from pliant.solvers.xpbd.elements import Shape
from pliant.solvers.xpbd.settings import XpbdSettings

FLAT_HINGE = 1e-4
"""Hinges folded by less than this at rest count as flat [rad]."""
POISSON_OF_EDGES = (0.3, 0.37)
"""Poisson's ratios for which the edges of a sheet, which have 1/3, are near enough."""


@dataclasses.dataclass(eq=False)
class Law:
    """Constraints of one kind.

    Attributes:
        corners: particles (m, k) int32.
        values: rows of numbers that the kind needs (m, j), see `Constraints`.
        damping: damping times [s] (m,).
    """

    corners: np.ndarray
    values: np.ndarray
    damping: np.ndarray

    @staticmethod
    def none(corners: int, values: int) -> Law:
        return Law(np.zeros((0, corners), np.int32), np.zeros((0, values)), np.zeros(0))


@dataclasses.dataclass(eq=False)
class Constraints:
    """All constraints of a body or of several.

    Attributes:
        bend: flat hinges; the weights K of the four corners, and the compliance [m/N].
        fold: hinges folded at rest; the angle [rad] and the compliance [rad/(N m)].
        tet: the inverse of the rest shape by rows (9) [1/m], Young's modulus times volume [J], Poisson's ratio.
        triangle: the inverse of the rest shape by rows (4) [1/m], compliances 11, 22, 12 and shear [1/J].
        distance: rest length [m] and compliance [m/N].
    """

    bend: Law
    fold: Law
    tet: Law
    triangle: Law
    distance: Law

    KINDS = ("bend", "fold", "tet", "triangle", "distance")
    """In the order in which a patch solves them: what should be kept best comes last."""

    @staticmethod
    def empty() -> Constraints:
        return Constraints(Law.none(4, 5), Law.none(4, 2), Law.none(4, 11), Law.none(3, 8), Law.none(2, 2))

    @staticmethod
    def joined(parts: list[Constraints], firsts: list[int]) -> Constraints:
        """Several bodies' constraints as one; the particles of each begin at `firsts`."""
        laws = []
        for name in Constraints.KINDS:
            found: list[tuple[Law, int]] = [(getattr(p, name), at) for p, at in zip(parts, firsts, strict=True)]
            laws.append(
                Law(
                    np.concatenate([law.corners + np.int32(at) for law, at in found]),
                    np.concatenate([law.values for law, _ in found]),
                    np.concatenate([law.damping for law, _ in found]),
                )
            )
        return Constraints(*laws)

    def laws(self) -> list[Law]:
        return [getattr(self, name) for name in self.KINDS]


def body_constraints(body: Body, settings: XpbdSettings) -> Constraints:
    """The constraints of a sheet or a solid, in its own particle numbers."""
    shape: Shape = body.own
    out = Constraints.empty()
    material = body.material
    if body.raw is not None:
        pairs = shape.mesh.edges()
        raw = body.raw
        if raw.spring > 0.0:
            values = np.column_stack([_lengths(shape.mesh, pairs), np.full(len(pairs), 1.0 / raw.spring)])
            out.distance = _law(pairs, values, raw.spring_damping / raw.spring)
    elif isinstance(shape.mesh, TetMesh):
        out.tet = _solid(shape.mesh, material)
    else:
        # what tears hangs on triangles alone
        if body.splits or takes_triangles(material, settings):
            out.triangle = _strains(shape.mesh, material, shape.warp)
        else:
            out.distance = _edges(shape.mesh, material)
        tears_apart = body.splits and settings.bending == "distance"
        _bend(out, shape.mesh, material, "isometric" if tears_apart else settings.bending)
    return out


def takes_triangles(material: Material, settings: XpbdSettings) -> bool:
    """Whether a sheet is stretched by the strains of its triangles, rather than along its edges."""
    if settings.stretch != "auto":
        return settings.stretch == "triangles"
    woven = material.young_weft is not None or material.shear is not None
    low, high = POISSON_OF_EDGES
    return woven or material.breaks_at is not None or not low <= material.poisson <= high


def _law(corners: np.ndarray, values: np.ndarray, damping: float) -> Law:
    return Law(corners.astype(np.int32), values, np.full(len(corners), damping))


def _lengths(mesh: Any, pairs: np.ndarray) -> np.ndarray:
    return arrays.edge_lengths(mesh.vertices, pairs)


def _edges(mesh: SurfaceMesh, material: Material) -> Law:
    """A distance along every edge, stiff as k = E t (area around it) / L^2: Young's modulus, Poisson's ratio 1/3."""
    springs = one_ring_springs(mesh, material.thickness, material.young)
    return _law(springs.pairs, np.column_stack([springs.rest_length, 1.0 / springs.stiffness]), material.damping)


def _strains(mesh: SurfaceMesh, material: Material, warp: tuple[float, float, float] | None) -> Law:
    """The strains of every triangle along warp and weft."""
    x, t = mesh.vertices, mesh.triangles
    e1, e2 = x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]]
    normal = np.cross(e1, e2)
    doubled = np.linalg.norm(normal, axis=1)
    normal = normal / doubled[:, None]
    along, _ = warp_directions(mesh, warp)
    weft = np.cross(normal, along)
    rest = np.stack([np.stack([(e * along).sum(1), (e * weft).sum(1)], axis=1) for e in (e1, e2)], axis=2)
    inverse = np.linalg.inv(rest)
    first = material.young
    second = first if material.young_weft is None else material.young_weft
    mean = float(np.sqrt(first * second))
    shear = mean / (2.0 * (1.0 + material.poisson)) if material.shear is None else material.shear
    compliance = np.array([1.0 / first, 1.0 / second, -material.poisson / mean, 1.0 / shear])
    law = compliance[None, :] / (0.5 * doubled * material.thickness)[:, None]
    return _law(t, np.column_stack([inverse.reshape(-1, 4), law]), material.damping)


def _solid(mesh: TetMesh, material: Material) -> Law:
    """The strain of every tet."""
    x, t = mesh.vertices, mesh.tets
    rest = np.stack([x[t[:, k]] - x[t[:, 0]] for k in (1, 2, 3)], axis=2)
    volume = np.linalg.det(rest) / 6.0
    values = np.column_stack(
        [np.linalg.inv(rest).reshape(-1, 9), material.young * volume, np.full(len(t), material.poisson)]
    )
    return _law(t, values, material.damping)


def _bend(out: Constraints, mesh: SurfaceMesh, material: Material, how: str) -> None:
    """Add what resists bending."""
    rigidity = material.plate_rigidity
    corners = hinges(mesh)
    if how == "none" or rigidity <= 0.0 or not len(corners):
        return
    area, slopes, heights, fold, length = hinge_measures(mesh.vertices, corners)
    good = (area > 0.0) & (heights > 0.0).all(axis=1)
    corners, area, slopes, heights, fold, length = (a[good] for a in (corners, area, slopes, heights, fold, length))
    stiffness = rigidity / area
    if how == "distance":
        out.distance = _joined(out.distance, _across(mesh, corners, heights, fold, stiffness * length**2, material))
        return
    flat = np.abs(fold) < (FLAT_HINGE if how == "isometric" else -1.0)
    out.bend = _law(corners[flat], np.column_stack([slopes[flat], 1.0 / stiffness[flat]]), material.damping)
    rest = np.column_stack([fold[~flat], 1.0 / (stiffness * length**2)[~flat]])
    out.fold = _law(corners[~flat], rest, material.damping)


def _across(
    mesh: SurfaceMesh,
    corners: np.ndarray,
    heights: np.ndarray,
    fold: np.ndarray,
    moment: np.ndarray,
    material: Material,
) -> Law:
    """Distances between the far corners, as stiff as costs a fold by one radian what a plate would; none where an edge
    joins them already."""
    pairs = np.sort(corners[:, 2:], axis=1)
    rest = _lengths(mesh, pairs)
    along2 = np.maximum(rest**2 - (heights**2).sum(1) - 2.0 * heights.prod(1) * np.cos(fold), 0.0)
    bent = np.sqrt(along2 + (heights**2).sum(1) + 2.0 * heights.prod(1) * np.cos(np.abs(fold) + 1.0))
    stiffness = moment / np.maximum(rest - bent, 1e-9 * rest) ** 2
    edges = mesh.edges().astype(np.int64)
    keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]
    _, kept = np.unique(keys, return_index=True)
    kept = kept[~np.isin(keys[kept], edges[:, 0] << 32 | edges[:, 1])]
    return _law(pairs[kept], np.column_stack([rest[kept], 1.0 / stiffness[kept]]), material.damping)


def _joined(first: Law, second: Law) -> Law:
    return Law(
        np.concatenate([first.corners, second.corners]),
        np.concatenate([first.values, second.values]),
        np.concatenate([first.damping, second.damping]),
    )


def hinge_measures(
    x: np.ndarray, corners: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Hinges (k, 4) as ends of the edge and far corners.

    Returns:
        area: of both triangles [m^2] (k,).
        slopes: weights K (k, 4) with sum K_a x_a = length of the edge times the jump of slope.
        heights: of the far corners above the edge [m] (k, 2).
        fold: signed angle between the normals [rad] (k,), see physics/bending.py.
        length: of the edge [m] (k,).
    """
    start, edge = x[corners[:, 0]], x[corners[:, 1]] - x[corners[:, 0]]
    squared = (edge**2).sum(axis=1)
    length = np.sqrt(squared)
    first, second = x[corners[:, 2]] - start, x[corners[:, 3]] - start
    normals = np.cross(edge, first), np.cross(second, edge)
    doubled = np.stack([np.linalg.norm(n, axis=1) for n in normals], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = doubled / length[:, None]
        foot = np.stack([(arm * edge).sum(axis=1) / squared for arm in (first, second)], axis=1)
        far = length[:, None] / heights
        slopes = np.column_stack([-((1.0 - foot) * far).sum(axis=1), -(foot * far).sum(axis=1), far])
        fold = np.arctan2((np.cross(*normals) * edge).sum(axis=1) / length, (normals[0] * normals[1]).sum(axis=1))
    return 0.5 * doubled.sum(axis=1), slopes, heights, fold, length
