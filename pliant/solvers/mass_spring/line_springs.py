"""Springs that keep lines of edges from bending: over two edges of a rod or of a cloth's threads, with their stress."""

from __future__ import annotations

import dataclasses

import numpy as np

# Part of an edge's stiffness that it hands to the springs over it, half for each of two neighbours.
OVER_SHARE = 0.5
# Turns of less than this at rest count as straight [rad].
STRAIGHT = 1e-3
# Most a spring may be stretched or compressed at rest, over its length.
MOST_STRESS = 0.25


@dataclasses.dataclass
class BendGroups:
    """Springs that hold each other under stress, and one that stands or falls with them; numbers are of one body.

    Attributes:
        members: springs of each group (g, m) int32; -1 where there are fewer.
        tension: force over length of each that keeps the group under stress without a net force [N/m] (g, m).
        dependent: spring that vanishes when another of the group breaks (g,) int32; -1 for none.
    """

    members: np.ndarray
    tension: np.ndarray
    dependent: np.ndarray

    @staticmethod
    def join(groups: list[BendGroups]) -> BendGroups:
        """Several sets as one."""
        width = max((g.members.shape[1] for g in groups), default=1)
        pad = lambda a, value: np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=value)
        if not groups:
            return BendGroups(np.zeros((0, 1), np.int32), np.zeros((0, 1)), np.zeros(0, np.int32))
        return BendGroups(
            np.concatenate([pad(g.members, -1) for g in groups]).astype(np.int32),
            np.concatenate([pad(g.tension, 0.0) for g in groups]),
            np.concatenate([g.dependent for g in groups]).astype(np.int32),
        )

    def stress(self, count: int, alive: np.ndarray | None = None) -> np.ndarray:
        """Force over length of each spring [N/m] (count,) from the groups that are alive."""
        members, tension = (self.members, self.tension) if alive is None else (self.members[alive], self.tension[alive])
        held = members >= 0
        return np.bincount(members[held], tension[held], count)


@dataclasses.dataclass
class Triples:
    """What bends: three vertices in a row.

    Attributes:
        ends: first and last vertex (k, 2).
        middle: vertex between them (k,).
        edges: rows of the two edges (k, 2).
        rigidity: bending rigidity, moment per curvature [N m^2] (k,).
    """

    ends: np.ndarray
    middle: np.ndarray
    edges: np.ndarray
    rigidity: np.ndarray


@dataclasses.dataclass
class Over:
    """Springs over two edges: stiffness [N/m] (k,), what is left of the edges' [N/m] (e,), the tension of the edges and
    of the spring over them [N/m] (k, 3), and how many of the k are softer than asked for."""

    stiffness: np.ndarray
    edge_stiffness: np.ndarray
    tension: np.ndarray
    cut: int


def springs_over(x: np.ndarray, triples: Triples, edge_length: np.ndarray, edge_stiffness: np.ndarray) -> Over:
    """Springs between the ends of triples, so that each bends with the energy B / (2 l) (angle - rest angle)^2.

    B is the rigidity and l half the length of both edges. Along the line nothing changes: a spring over two edges takes
    the force per strain that these lose, so a stretched line has the same strain and force in every part as without.

    Straight at rest: the length of a spring over two collinear edges changes with the square of the angle only, so it
    resists bending only under stress. The three springs have one state of stress without a net force: a tension
    T = B / l (1/l1 + 1/l2) in the edges, and as much pressure in the spring over them. Moved across by u, the middle
    then costs T/2 (1/l1 + 1/l2) u^2, which is B / (2 l) angle^2. The same trick as across the hinges of a sheet.

    Bent at rest by an angle t: three springs in a triangle can hold no stress, but the one over them, of length d,
    resists in first order with k (l1 l2 sin t / d)^2 per angle squared; k is chosen for B / l, up to `OVER_SHARE`.

    Args:
        x: vertices at rest [m] (n, 3).
        edge_length, edge_stiffness: [m], [N/m] (e,).
    """
    count = len(edge_length)
    first, second = x[triples.middle] - x[triples.ends[:, 0]], x[triples.ends[:, 1]] - x[triples.middle]
    l1, l2 = edge_length[triples.edges].T
    turn = np.arctan2(np.linalg.norm(np.cross(first, second), axis=1), (first * second).sum(axis=1))
    span = np.linalg.norm(first + second, axis=1)
    span = np.maximum(span, 1e-6 * (l1 + l2))
    mean = 0.5 * (l1 + l2)
    # force per strain of each edge, of which every spring over it may have an equal part
    force = edge_stiffness * edge_length
    around = np.bincount(triples.edges.ravel(), minlength=count)
    allowed = OVER_SHARE * force / np.maximum(around, 2)
    most = allowed[triples.edges].min(axis=1)
    lever = np.maximum(l1 * l2 * np.sin(turn) / span, 1e-9 * span)
    straight = turn < STRAIGHT
    wanted = triples.rigidity / mean / lever**2 * span
    taken = np.where(straight, most, np.minimum(wanted, most))
    stiffness = taken / span
    left = force - np.bincount(triples.edges.ravel(), np.repeat(taken, 2), count)

    pull = np.where(straight, triples.rigidity / mean * (1.0 / l1 + 1.0 / l2), 0.0)
    tension = np.stack([pull / l1, pull / l2, -pull / span], axis=1)
    edge_left = left / edge_length
    total = np.bincount(triples.edges.ravel(), np.abs(tension[:, :2]).ravel(), count)
    excess = np.maximum((total / (MOST_STRESS * edge_left))[triples.edges].max(axis=1, initial=1.0), 1.0)
    excess = np.maximum(excess, np.abs(tension[:, 2]) / (MOST_STRESS * np.maximum(stiffness, 1e-300)))
    tension /= excess[:, None]
    cut = int((excess > 1.0 + 1e-9).sum() + (~straight & (wanted > most * (1.0 + 1e-9))).sum())
    return Over(stiffness, edge_left, tension, cut)
