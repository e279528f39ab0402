"""Springs of a sheet: along its edges, and across them so that it resists bending."""

from __future__ import annotations

import itertools

import numpy as np

from pliant.materials import Material
from pliant.mesh import arrays
from pliant.mesh.rings import across_edges, hinges
from pliant.mesh.surface import SurfaceMesh
from pliant.model.springs import BEND, STRUCTURAL, Springs
from pliant.solvers.common.edge_springs import edge_areas, pair_finder
from pliant.solvers.mass_spring.line_springs import BendGroups

# Part of k L^2 that an inner edge hands to the spring across it.
ACROSS_SHARE = 0.25
# Hinges folded by less than this at rest count as flat [rad].
FLAT_HINGE = 1e-3
# Most a spring may be stretched or compressed at rest, over its length.
MOST_STRESS = 0.25


def two_ring_springs(
    mesh: SurfaceMesh, material: Material, modulus: float | np.ndarray
) -> tuple[Springs, BendGroups, list[str]]:
    """Springs on the edges and across them, that together stretch as the edges alone do and bend as a plate.

    In the plane: an inner edge hands `ACROSS_SHARE` of k L^2 to the spring across it, so the mean moduli stay.

    Bending: a spring between the far corners of two triangles that lie in a plane does not resist their folding, its
    length changes with the square of the angle. It does when the hinge is under stress. The six springs of a flat hinge
    have one state of stress without a net force, tension densities w_ab = -D K_a K_b / (A0 + A1), in which the hinge's
    energy is that of the quadratic bending model (Bergou et al. 2006), D / (2 (A0 + A1)) |sum K_a x_a|^2: K are the
    cotangent weights, for which sum K_a x_a is the edge's length times the jump of slope. With
    D = E t^3 / 12, or the bending rigidity that the material has of its own, a strip of width b bent evenly costs what
    a beam of D b costs; left to itself it bends unevenly and more easily, by 0 to 20 % on irregular triangles and 30 to
    50 % on `shapes.sheet`. A plate has Poisson's ratio 1/3 in bending, as in its plane. The springs' rest lengths are
    L (1 - w / k), shorter or longer by about (t / L)^2. Springs are damped along themselves only, so bending is damped
    by drag alone.

    A hinge folded at rest carries no stress; there the spring across it resists in first order, with k such that its
    moment per angle is D l^2 / (A0 + A1), or as much of it as `ACROSS_SHARE` allows.

    Args:
        modulus: E' of `spring_constants` [Pa], or that of each edge (e,).

    Returns:
        The springs, sorted by pair; the hinges that hold them under stress; notes for the user.
    """
    x, thickness = mesh.vertices, material.thickness
    edges, across = mesh.edges(), across_edges(mesh)
    pairs = np.concatenate([edges, across])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    find = pair_finder(pairs, len(x))
    length = arrays.edge_lengths(x, pairs)
    work = np.zeros(len(pairs))  # k L^2 [J]
    work[find(edges)] = modulus * thickness * edge_areas(mesh, edges)

    corners = hinges(mesh)
    area, slopes, heights, fold = _measure(x, corners)
    bending = material.young * thickness**3 / 12.0 if material.bending is None else material.bending
    far = find(corners[:, 2:])
    flat = fold < FLAT_HINGE
    span = length[far]
    lever = np.maximum(heights[:, 0] * heights[:, 1] * np.sin(fold) / span, 1e-12 * span)
    wanted = bending * arrays.edge_lengths(x, corners[:, :2]) ** 2 / area * (span / lever) ** 2
    hinge_edge = find(corners[:, :2])
    most = ACROSS_SHARE * (work[hinge_edge] if isinstance(modulus, np.ndarray) else modulus * thickness * area)
    given = np.where(flat, most, np.minimum(wanted, most))
    # Where an edge joins the far corners, it is the spring across.
    joined = np.isin(far, find(edges))
    given[joined] = 0.0
    work += np.bincount(far, given, len(pairs)) - np.bincount(hinge_edge, given, len(pairs))
    stiffness = work / length**2

    scale = np.where(flat, bending / area, 0.0)
    sides = list(itertools.combinations(range(4), 2))
    places = np.stack([find(corners[:, [a, b]]) for a, b in sides], axis=1)
    tension = np.stack([-scale * slopes[:, a] * slopes[:, b] for a, b in sides], axis=1)
    total = np.bincount(places.ravel(), np.abs(tension).ravel(), len(pairs))
    excess = (total / (MOST_STRESS * np.maximum(stiffness, 1e-300)))[places].max(axis=1, initial=1.0)
    excess[~flat] = 1.0
    tension /= excess[:, None]
    stress = np.bincount(places.ravel(), tension.ravel(), len(pairs)) / stiffness
    notes = []
    cut = int((excess > 1.0).sum())
    if cut:
        notes.append(
            f"{cut} of {len(flat)} inner edges bend more easily than a plate of {thickness:g} m, which is thick beside "
            "their triangles: use larger triangles, a thinner sheet, or a solid."
        )
    kind = np.full(len(pairs), BEND, np.int8)
    kind[find(edges)] = STRUCTURAL
    groups = BendGroups(places.astype(np.int32), tension, np.where(joined, -1, far).astype(np.int32))
    return Springs(pairs.astype(np.int32), length * (1.0 - stress), stiffness, kind), groups, notes


def _measure(x: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Hinges (k, 4) as ends of the edge and far corners.

    Returns:
        area: of both triangles [m^2] (k,).
        slopes: weights K (k, 4) with sum K_a u_a = length of the edge times the jump of the slope of u.
        heights: of the far corners above the edge [m] (k, 2).
        fold: angle between the normals [rad] (k,).
    """
    start, edge = x[corners[:, 0]], x[corners[:, 1]] - x[corners[:, 0]]
    squared = (edge**2).sum(axis=1)
    length = np.sqrt(squared)
    first, second = x[corners[:, 2]] - start, x[corners[:, 3]] - start
    normals = np.cross(edge, first), np.cross(second, edge)
    doubled = np.stack([np.linalg.norm(n, axis=1) for n in normals], axis=1)
    heights = doubled / length[:, None]
    foot = np.stack([(arm * edge).sum(axis=1) / squared for arm in (first, second)], axis=1)
    far = length[:, None] / heights
    slopes = np.column_stack([-((1.0 - foot) * far).sum(axis=1), -(foot * far).sum(axis=1), far])
    fold = np.arctan2(np.linalg.norm(np.cross(*normals), axis=1), (normals[0] * normals[1]).sum(axis=1))
    return 0.5 * doubled.sum(axis=1), slopes, heights, fold
