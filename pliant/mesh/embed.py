"""A surface embedded in a simulated shape: each of its vertices is a weighted sum of the shape's vertices."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.launch import pick_device
from pliant.mesh import arrays
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

SUM_TOLERANCE = 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class Embedding:
    """Where a surface's vertices are in terms of their hosts: x = sum of weight * x_host.

    An affine motion of the hosts moves the surface exactly so. On triangles a point also keeps its height above
    them, which holds for turns and moves, and for affine motions where the height is zero.

    Attributes:
        hosts: host vertices of each surface vertex (n, k) int32; k = 4 in tets, 8 in voxels, 3 on triangles, 1 where
            the surface's vertices are host vertices themselves.
        weights: (n, k) float64, each row adds up to 1; none is negative for a point inside.
        outside: distance of each surface vertex from the host [m] (n,); 0 if it lies inside.
        height: along the unit normal of the three hosts [m] (n,), on triangles only.
    """

    hosts: np.ndarray
    weights: np.ndarray
    outside: np.ndarray
    height: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.hosts)

    def apply(self, x_host: Any) -> np.ndarray:
        """Positions of the surface (n, 3) [m] for host positions (N, 3) [m]."""
        x_host = arrays.as_points(x_host, "Embedding.apply(x_host)")
        if len(self) and self.hosts.max() >= len(x_host):
            raise InputError(
                f"has {len(x_host)} rows, but the surface has a host {self.hosts.max()}",
                "Embedding.apply(x_host)",
                "Give the positions of all host vertices",
            )
        corners = x_host[self.hosts]
        # About the first host, so that a shape far from the origin loses nothing.
        x = corners[:, 0] + np.einsum("nk,nkd->nd", self.weights[:, 1:], corners[:, 1:] - corners[:, :1])
        if self.height is not None:
            normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            length = np.linalg.norm(normal, axis=1, keepdims=True)
            x += self.height[:, None] * np.divide(normal, length, out=np.zeros_like(normal), where=length > 0.0)
        return x

    def check(self, host_count: int | None = None, where: str = "embedding") -> None:
        """Raise `InputError` unless every vertex has hosts that exist and weights that add up to 1.

        Args:
            host_count: number of host vertices, if known.
            where: what to name in messages.
        """
        shape = self.hosts.shape
        heights = (len(self),) if self.height is None else self.height.shape
        if len(shape) != 2 or shape[1] < 1 or self.weights.shape != shape or self.outside.shape != (shape[0],):
            raise InputError(
                f"hosts {shape}, weights {self.weights.shape} and outside {self.outside.shape} do not fit together",
                where,
                "Give hosts (n, k), weights (n, k) and outside (n,)",
            )
        if heights != (shape[0],) or (self.height is not None and shape[1] != 3):
            raise InputError(f"height {heights} goes with 3 hosts for each of {shape[0]} vertices", where)
        if not len(self):
            return
        most = int(self.hosts.max()) + 1 if host_count is None else host_count
        wrong = (self.hosts < 0) | (self.hosts >= most)
        if wrong.any():
            row = int(np.argmax(wrong.any(axis=1)))
            raise InputError(
                f"vertex {row} has the hosts {self.hosts[row].tolist()}",
                where,
                f"Host numbers run from 0 to {most - 1}",
            )
        size = np.maximum(1.0, np.abs(self.weights).max(axis=1))
        good = np.abs(self.weights.sum(axis=1) - 1.0) <= SUM_TOLERANCE * size
        good &= np.isfinite(self.outside) & (self.outside >= 0.0)
        if self.height is not None:
            good &= np.isfinite(self.height)
        if not good.all():
            row = int(np.argmin(good))
            raise InputError(
                f"vertex {row} has the weights {self.weights[row].tolist()} and lies {self.outside[row]} m outside",
                where,
                "Weights must add up to 1, and all numbers be finite",
            )

    @property
    def share_outside(self) -> float:
        """Part of the surface's vertices that lie outside their host, 0 to 1."""
        return float((self.outside > 0.0).mean()) if len(self) else 0.0

    def renumbered(self, rank: Any) -> Embedding:
        """A copy whose host i is now called rank[i], for particles stored in another order."""
        ranks = np.asarray(rank)
        if ranks.ndim != 1 or ranks.dtype.kind not in "iu" or (len(self) and self.hosts.max() >= len(ranks)):
            raise InputError(
                f"an array {ranks.shape} of {ranks.dtype} does not number all hosts",
                "Embedding.renumbered(rank)",
                "Give one whole number per host vertex",
            )
        return dataclasses.replace(self, hosts=ranks[self.hosts].astype(np.int32))

    def arrays(self) -> dict[str, np.ndarray]:
        """The embedding as arrays by name, for a file."""
        named = {"hosts": self.hosts, "weights": self.weights, "outside": self.outside}
        return named if self.height is None else {**named, "height": self.height}

    @staticmethod
    def from_arrays(named: Mapping[str, Any]) -> Embedding:
        """The embedding that `arrays` was called on."""
        missing = [name for name in ("hosts", "weights", "outside") if name not in named]
        if missing:
            raise InputError(f"has no {', '.join(missing)}", "Embedding.from_arrays", "Give what arrays() returned")
        height = np.asarray(named["height"], np.float64) if "height" in named else None
        embedding = Embedding(
            np.asarray(named["hosts"], np.int32),
            np.asarray(named["weights"], np.float64),
            np.asarray(named["outside"], np.float64),
            height,
        )
        embedding.check(where="Embedding.from_arrays")
        return embedding


def identity(count: int) -> Embedding:
    """A surface whose vertices are the first ``count`` host vertices themselves."""
    hosts = np.arange(arrays.whole(count, "identity(count)", low=0), dtype=np.int32)[:, None]
    return Embedding(hosts, np.ones(hosts.shape), np.zeros(len(hosts)))


def embed(
    points: Any,
    host: TetMesh | VoxelLattice | SurfaceMesh,
    device: str = "cpu",
    progress: Callable[[float], None] | None = None,
) -> Embedding:
    """Find hosts and weights for each point.

    In tets (Chentanez, skinning) and voxels a point belongs to the element that contains it, the lowest of several.
    A point outside belongs to the element behind the nearest piece of the boundary, its weights extrapolated. Where a
    weight then exceeds `embed_search.WEIGHT_BOUND`, because the element is thin or the point far away, the element
    with the smallest largest weight is taken among those around the three corners of that piece. Outside a voxel the
    trilinear weights go on along their tangent at the nearest point of the cube, so that they grow with the distance
    and not with its cube. On a surface a point belongs to the nearest triangle, by its foot in the triangle's plane
    and its height above it. Flat elements are never hosts.

    Args:
        points: (n, 3) [m], at rest.
        host: the shape that will be simulated, at rest.
        device: where the search runs.
        progress: called with the part done so far, 0 to 1.
    """
    # Here, so that who only moves a surface does not wait for the search's kernels.
    from pliant.mesh.embed_search import Frames, Search

    told = progress or (lambda part: None)
    points = arrays.as_points(points, "embed(points)")
    arrays.check_finite(points, "embed(points)")
    frames = Frames(host)
    told(0.1)
    scaled = (points - frames.middle) / frames.size
    element, distance = np.zeros(len(points), np.int32), np.zeros(len(points))
    if len(points):
        search = Search(frames, pick_device(device))
        element = search.containing(scaled)
        told(0.5)
        lost = np.flatnonzero(element < 0)
        if len(lost):
            element[lost], distance[lost] = search.nearest(scaled[lost])
    told(0.9)
    hosts, weights, height = frames.weights(scaled, element, distance == 0.0)
    told(1.0)
    return Embedding(hosts, weights, distance * frames.size, height)
