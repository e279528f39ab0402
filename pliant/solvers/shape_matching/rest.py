"""What clusters are at rest: places of their members, weights, and the inverse of their moments."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh.cluster import Clusters

FLAT = 1e-5
"""Second moment along a direction, over the largest, below which a cluster has no extent there."""
FAINT = 1e-3
"""Second moment of a quadratic function, what is linear in it left out, below which it is not fitted."""
BATCH = 1 << 20
"""Members whose products are summed at once, to bound the scratch memory."""


@dataclasses.dataclass(eq=False)
class RestClusters:
    """The clusters of one rest shape, in float64.

    A member's weight is its mass over the number of clusters that hold it: then the clusters' pulls add up to no force
    and no torque on the whole body.

    Attributes:
        starts, member: the members of each cluster, numbered within the body (c + 1,), (k,).
        rest: place of each member about the cluster's centre, over its radius (k, 3).
        weight: share of each member in its cluster (k,).
        centre: centre of each cluster [m] (c, 3).
        radius: root mean square distance from it [m] (c,).
        means: mean of each function over the cluster (c, order).
        inverse: symmetric; turns the moments of a fit into its coefficients (c, order, order).
        slope: of the quadratic functions over the linear ones (c, 3, order - 3).
        missing: what the fit lacks of the rest shape, for want of extent in some direction (c, 3, order).
        lacks: number of directions in which a cluster has no extent, 0 to 3 (c,).
        of_starts, of_cluster, of_member: the clusters of each particle, and its entry among the members.
        mass: of each cluster [kg] (c,).
    """

    starts: np.ndarray
    member: np.ndarray
    rest: np.ndarray
    weight: np.ndarray
    centre: np.ndarray
    radius: np.ndarray
    means: np.ndarray
    inverse: np.ndarray
    slope: np.ndarray
    missing: np.ndarray
    lacks: np.ndarray
    of_starts: np.ndarray
    of_cluster: np.ndarray
    of_member: np.ndarray
    mass: np.ndarray

    @property
    def count(self) -> int:
        return len(self.radius)

    @property
    def moment(self) -> float:
        """A third of the sum of m |q|^2 over all clusters [kg m^2]."""
        return float((self.mass * self.radius**2).sum()) / 3.0


def functions(q: np.ndarray, order: int) -> np.ndarray:
    """The functions of rest positions (k, 3) that goals are made of (k, order), means not taken off."""
    if order == 3:
        return q
    x, y, z = q.T
    return np.stack([x, y, z, x * x, y * y, z * z, x * y, y * z, z * x], axis=1)


def rest_clusters(vertices: np.ndarray, mass: np.ndarray, clusters: Clusters, order: int) -> RestClusters:
    """Fit-ready clusters of a body.

    Args:
        vertices: at rest [m] (n, 3).
        mass: [kg] (n,).
        clusters: which particles each holds.
        order: 3 for linear goals, 9 for quadratic ones.
    """
    starts, member = clusters.starts, clusters.members
    held = np.bincount(member, minlength=len(mass))
    weight = mass[member] / held[member]
    owner = np.repeat(np.arange(clusters.count), np.diff(starts))
    total = np.add.reduceat(weight, starts[:-1])
    weight = weight / total[owner]
    centre = np.add.reduceat(weight[:, None] * vertices[member], starts[:-1])
    arm = vertices[member] - centre[owner]
    # once more about the centre found, for bodies far from the origin
    shift = np.add.reduceat(weight[:, None] * arm, starts[:-1])
    centre, arm = centre + shift, arm - shift[owner]
    squared = np.add.reduceat(weight * (arm**2).sum(axis=1), starts[:-1])
    # a cluster of one place has no radius; any does, and none may be so small that float32 loses its square
    floor = 1e-12 + 1e-7 * float(np.abs(centre).max(initial=0.0))
    radius = np.where(squared > floor**2, np.sqrt(squared), 1.0)
    rest = arm / radius[owner, None]
    means, moments = _moments(rest, weight, starts, order)
    inverse, missing, lacks = inverse_moments(moments)
    order_of = np.argsort(member, kind="stable")
    of_starts = np.zeros(len(mass) + 1, np.int64)
    np.cumsum(held, out=of_starts[1:])
    return RestClusters(
        starts, member, rest, weight, centre, radius, means, inverse, slopes(moments), missing, lacks,
        of_starts, owner[order_of], order_of, total,
    )  # fmt: skip


def _moments(rest: np.ndarray, weight: np.ndarray, starts: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each function over each cluster (c, order), and second moments about the means (c, order, order)."""
    count = len(starts) - 1
    means, moments = np.zeros((count, order)), np.zeros((count, order, order))
    begin = 0
    while begin < count:
        end = int(np.searchsorted(starts, starts[begin] + BATCH, side="right")) - 1
        end = min(max(end, begin + 1), count)
        rows = slice(int(starts[begin]), int(starts[end]))
        edges = starts[begin:end] - starts[begin]
        f, w = functions(rest[rows], order), weight[rows, None]
        mean = np.add.reduceat(w * f, edges)
        f = f - np.repeat(mean, np.diff(starts[begin : end + 1]), axis=0)
        means[begin:end] = mean
        for k in range(order):
            moments[begin:end, k] = np.add.reduceat(w * f * f[:, k : k + 1], edges)
        begin = end
    return means, moments


def inverse_moments(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pseudo-inverse of second moments (c, n, n), n 3 or 9.

    Also what a fit through it lacks of the rest shape (c, 3, n), and the number of directions in which a cluster has no
    extent (c,).

    First the linear functions: directions without extent are left out (points in a plane, on a line, in one place).
    Then the quadratic ones, less what is linear in them: those that are next to nothing on these points are left out.
    So the rest shape itself, which is linear, is always fitted exactly, and a sheet, a line and four points have
    quadratic goals as far as they go. The inverse is symmetric, so the fit exerts no torque.
    """
    count, n = moments.shape[:2]
    linear, without = _pseudo_inverse(moments[:, :3, :3], FLAT, relative=True)
    lacks = np.rint(np.trace(without, axis1=1, axis2=2)).astype(np.int32)
    inverse = np.zeros((count, n, n))
    inverse[:, :3, :3] = linear
    if n > 3:
        mixed = moments[:, :3, 3:]
        slope = linear @ mixed
        rest, _ = _pseudo_inverse(moments[:, 3:, 3:] - mixed.transpose(0, 2, 1) @ slope, FAINT, relative=False)
        inverse[:, :3, :3] += slope @ rest @ slope.transpose(0, 2, 1)
        inverse[:, :3, 3:] = -slope @ rest
        inverse[:, 3:, :3] = -rest @ slope.transpose(0, 2, 1)
        inverse[:, 3:, 3:] = rest
    missing = np.zeros((count, 3, n))
    flat = lacks > 0
    missing[flat] = np.eye(3, n) - moments[flat, :3] @ inverse[flat]
    return inverse, missing, lacks


def slopes(moments: np.ndarray) -> np.ndarray:
    """What is linear in the quadratic functions of clusters (c, 3, order - 3), from second moments."""
    linear, _ = _pseudo_inverse(moments[:, :3, :3], FLAT, relative=True)
    return linear @ moments[:, :3, 3:]


def in_fours(rows: np.ndarray) -> np.ndarray:
    """Rows (..., n) filled up with zeros to a multiple of four numbers, which the device loads at once."""
    fill = -rows.shape[-1] % 4
    return np.concatenate([rows, np.zeros((*rows.shape[:-1], fill))], axis=-1)


def inverse_rows(inverse: np.ndarray) -> np.ndarray:
    """Inverses (c, n, n) as the device takes them: one row each, their own rows in fours."""
    return in_fours(inverse).reshape(len(inverse), -1)


def _pseudo_inverse(matrices: np.ndarray, least: float, relative: bool) -> tuple[np.ndarray, np.ndarray]:
    """Inverse within the directions whose eigenvalue is above `least`, and the projector onto the others."""
    values, vectors = np.linalg.eigh(matrices)
    limit = least * np.maximum(values[:, -1:], 1e-12) if relative else least
    kept = values > limit
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    project = lambda weights: np.einsum("cik,ck,cjk->cij", vectors, weights, vectors)
    return project(inverse), project((~kept).astype(float))
