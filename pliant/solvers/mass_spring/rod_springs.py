"""Springs of a rod: along its segments, over two of them against bending, over three of them against torsion."""

from __future__ import annotations

import numpy as np

from pliant.materials import Material
from pliant.mesh import arrays
from pliant.mesh.rods import RodMesh
from pliant.model.springs import BEND, STRUCTURAL, TORSION, Springs
from pliant.solvers.mass_spring.line_springs import BendGroups, Triples, springs_over

# Part of a segment's stiffness that springs over three segments may have, in all.
TORSION_SHARE = 0.2


def rod_springs(mesh: RodMesh, material: Material) -> tuple[Springs, BendGroups, list[str]]:
    """Springs that stretch as rods of E A, bend as E I, and twist as G J where the rest shape lets springs feel it.

    A segment has k = E A / L. Over two segments in a row, also from a branch to what it grows from and between branches
    of one fork, stands a bend spring (see `springs_over`); over three, a torsion spring: the angle f between the planes
    of the first two and of the last two segments changes its length d by h1 h3 sin f / d, with h1 and h3 the distances
    of its ends from the middle segment, so k = G J / l2 (d / (h1 h3 sin f))^2, up to `TORSION_SHARE`. In a straight rod
    nothing but the points is left to twist, so it has no torsion springs and what branches off it may turn about it;
    where the rest shape lies nearly in a plane they are soft. Methods whose rods have frames know torsion better.

    Returns:
        The springs, sorted by pair; what they hold each other by; notes for the user.
    """
    x, count = mesh.vertices, len(mesh.vertices)
    parent = mesh.parents.astype(np.int64)
    # every vertex but roots stands for the segment to its parent
    child = np.flatnonzero(parent >= 0)
    segment_of = np.full(count, -1, np.int64)
    ends = mesh.segments.astype(np.int64)
    down = np.where(parent[ends[:, 1]] == ends[:, 0], ends[:, 1], ends[:, 0])
    segment_of[down] = np.arange(len(ends))
    length = mesh.lengths()
    radius = np.asarray(mesh.radius)
    area, inertia = np.pi * radius**2, 0.25 * np.pi * radius**4
    edge_stiffness = material.young * area / length

    # from a vertex over its parent to its grandparent, and between neighbouring branches of a fork
    grand = child[parent[parent[child]] >= 0]
    by_parent = child[np.argsort(parent[child], kind="stable")]
    same = parent[by_parent[1:]] == parent[by_parent[:-1]] if len(by_parent) > 1 else np.zeros(0, bool)
    left, right = by_parent[:-1][same], by_parent[1:][same]
    starts = np.concatenate([parent[parent[grand]], left])
    stops = np.concatenate([grand, right])
    rows = np.stack([segment_of[np.concatenate([parent[grand], left])], segment_of[stops]], axis=1)
    triples = Triples(
        np.stack([starts, stops], axis=1),
        parent[stops],
        rows,
        # the thinner of two segments does most of the bending, over half of both
        material.young * 2.0 / (1.0 / inertia[rows]).sum(axis=1) if len(rows) else np.zeros(0),
    )
    over = springs_over(x, triples, length, edge_stiffness)
    edge_stiffness = over.edge_stiffness

    # over three segments
    great = child[(parent[parent[child]] >= 0)]
    great = great[parent[parent[parent[great]]] >= 0]
    quad = np.stack([parent[parent[parent[great]]], parent[parent[great]], parent[great], great], axis=1)
    lines = segment_of[quad[:, 1:]]
    twist, taken = _torsion(x, quad, lines, length, edge_stiffness, material.shear_modulus * 2.0 * inertia)
    bent = twist > 0.0
    quad, lines, twist, taken = quad[bent], lines[bent], twist[bent], taken[bent]
    edge_stiffness = edge_stiffness - np.bincount(lines.ravel(), np.repeat(taken, 3), len(length)) / length

    pairs = np.concatenate([np.sort(mesh.segments, axis=1), np.sort(triples.ends, axis=1), np.sort(quad[:, [0, 3]], 1)])
    pairs = pairs.astype(np.int64)
    stiffness = np.concatenate([edge_stiffness, over.stiffness, twist])
    kinds = np.repeat([STRUCTURAL, BEND, TORSION], [len(length), len(over.stiffness), len(twist)]).astype(np.int8)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    bend_row = len(length) + np.arange(len(over.stiffness))
    twist_row = len(length) + len(over.stiffness) + np.arange(len(twist))
    groups = BendGroups.join(
        [
            BendGroups(place[np.column_stack([rows, bend_row])], over.tension, place[bend_row]),
            BendGroups(place[np.column_stack([lines, twist_row])], np.zeros((len(twist), 4)), place[twist_row]),
        ]
    )
    pairs, stiffness = pairs[order], stiffness[order]
    span = arrays.edge_lengths(x, pairs)
    rest = span * (1.0 - groups.stress(len(pairs)) / np.maximum(stiffness, 1e-300))
    notes = []
    if over.cut:
        notes.append(
            f"{over.cut} of {len(over.stiffness)} bends are softer than the material: springs cannot hold segments "
            "that are short beside the radius, nor slight curves at rest; method 'xpbd' can."
        )
    return Springs(pairs.astype(np.int32), rest, stiffness, kinds[order]), groups, notes


def _torsion(
    x: np.ndarray,
    quad: np.ndarray,
    lines: np.ndarray,
    length: np.ndarray,
    edge_stiffness: np.ndarray,
    rigidity: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness of springs over three segments [N/m] (k,), zero where these are straight, and force per strain [N]."""
    if not len(quad):
        return np.zeros(0), np.zeros(0)
    a, b, c, d = (x[quad[:, k]] for k in range(4))
    axis = (c - b) / length[lines[:, 1], None]
    first, last = a - b, d - c
    first = first - (first * axis).sum(axis=1)[:, None] * axis
    last = last - (last * axis).sum(axis=1)[:, None] * axis
    span = np.maximum(np.linalg.norm(d - a, axis=1), 1e-6 * length[lines].sum(axis=1))
    bent = np.minimum(np.linalg.norm(first, axis=1), np.linalg.norm(last, axis=1)) > 1e-3 * length[lines[:, 1]]
    lever = np.maximum(np.linalg.norm(np.cross(first, last), axis=1) / span, 1e-9 * span)
    wanted = rigidity[lines[:, 1]] / length[lines[:, 1]] / lever**2 * span
    around = np.bincount(lines.ravel(), minlength=len(length))
    most = (TORSION_SHARE * edge_stiffness * length / np.maximum(around, 3))[lines].min(axis=1)
    taken = np.where(bent, np.minimum(wanted, most), 0.0)
    return taken / span, taken
