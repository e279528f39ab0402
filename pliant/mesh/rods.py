"""RodMesh: thin rods that may branch, such as ropes, hair and trees: segments between vertices, and their radius."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.vectors import as_positive

SHORT_SEGMENT = 1e-7
"""Length of a segment over the extent of its mesh below which it counts as none."""


@dataclasses.dataclass(frozen=True, eq=False)
class RodMesh:
    """Segments over shared vertices that form no loops: each connected part is a tree, or a plain chain.

    The root of each part is its vertex of the smallest number; the direction of the segments has no meaning.

    Args:
        vertices: (n, 3) float64 [m].
        segments: (m, 2) int32.
        radius: of each segment [m], (m,) or one number.
        name: for messages and files.
        notes: what was done to the mesh on its way here, for the user.
        seen_radius: of the tubes that it is drawn as [m], where a strand stands for many; its radius if not given.
    """

    vertices: np.ndarray
    segments: np.ndarray
    radius: Any = 0.005
    name: str = ""
    notes: tuple[str, ...] = ()
    seen_radius: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", arrays.as_points(self.vertices, "RodMesh.vertices"))
        object.__setattr__(self, "segments", arrays.as_indices(self.segments, 2, "RodMesh.segments"))
        try:
            radius = np.array(np.broadcast_to(np.asarray(self.radius, np.float64), (len(self.segments),)))
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the radius has the shape {np.shape(self.radius)}",
                "RodMesh.radius",
                f"Give one number, or one for each of the {len(self.segments)} segments",
            ) from error
        object.__setattr__(self, "radius", radius)
        if self.seen_radius is not None:
            object.__setattr__(self, "seen_radius", as_positive(self.seen_radius, "RodMesh.seen_radius", "m"))

    @staticmethod
    def load(path: str | os.PathLike, radius: float | None = None, seen_radius: float | None = None) -> RodMesh:
        """Read rods from a file: polylines of ``.obj``, edges of ``.ply``, ``.swc``, ``.hair``, lines of ``.gltf``.

        Points of one place are merged where lines meet in them, and segments without a length are left out; `notes`
        say so.

        Args:
            path: the file; ``.obj``, ``.ply`` and ``.swc`` may be compressed (``.gz``).
            radius: of all segments [m]; that of the file if not given, or 0.005 m where it has none.
            seen_radius: of the tubes that it is drawn as [m]; the radius if not given.
        """
        from pliant.mesh.io import rod_files

        return dataclasses.replace(rod_files.read(path, radius), seen_radius=seen_radius)

    def save(self, path: str | os.PathLike) -> None:
        """Write the rods in the format that the suffix names: ``.swc`` (exactly), ``.obj`` or ``.ply``.

        OBJ has no radii, and they are left out of it.
        """
        from pliant.mesh.io import rod_files

        rod_files.write(self, path)

    # Validity

    def check(self, where: str = "") -> list[str]:
        """Raise `InputError` for what cannot be simulated; return notes on what is only suspicious.

        Args:
            where: file or scene key to name in messages; the mesh's own name when empty.
        """
        where = where or self.name or "rod mesh"
        if not len(self.segments):
            raise InputError("has no segments", where, "Give at least one segment")
        arrays.check_finite(self.vertices, where)
        arrays.check_indices(self.segments, len(self.vertices), "segment", where)
        arrays.check_used(self.segments, len(self.vertices), "segment", where)
        bad = ~(np.isfinite(self.radius) & (self.radius > 0.0))
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(f"segment {row} has the radius {self.radius[row]:g} m", where, "Give radii above 0")
        length = self.lengths()
        short = length <= SHORT_SEGMENT * float(np.ptp(self.vertices, axis=0).max())
        if short.any():
            row = int(np.argmax(short))
            raise InputError(
                f"segment {row} {self.segments[row].tolist()} has the length {length[row]:.3g} m "
                f"({int(short.sum())} such in all)",
                where,
                "Merge the ends of segments without a length",
            )
        pieces, _ = arrays.connected_parts(self.segments, len(self.vertices))
        if len(self.vertices) - pieces != len(self.segments):
            raise InputError(
                f"{len(self.segments) - len(self.vertices) + pieces} segments close loops",
                where,
                "Take one segment out of each loop, and attach its ends to each other in the scene",
            )
        return []

    # The trees

    @functools.cached_property
    def parents(self) -> np.ndarray:
        """The vertex before each one on the way from its root (n,) int32; -1 for roots."""
        return self._walked[0]

    @functools.cached_property
    def depth_first(self) -> np.ndarray:
        """All vertices from root to tip (n,) int64: each after its parent, and long chains in a row."""
        return self._walked[1]

    @functools.cached_property
    def _walked(self) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.vertices)
        ends = np.concatenate([self.segments, self.segments[:, ::-1]]).astype(np.int64)
        ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        first = np.searchsorted(ends[:, 0], np.arange(count + 1)).tolist()
        near = ends[:, 1].tolist()
        parent = [-2] * count
        met: list[int] = []
        for root in range(count):
            if parent[root] != -2:
                continue
            parent[root] = -1
            todo = [root]
            while todo:
                here = todo.pop()
                met.append(here)
                for there in near[first[here] : first[here + 1]]:
                    if parent[there] == -2:
                        parent[there] = here
                        todo.append(there)
        # the child with the most vertices behind it goes on in the row
        behind = [1] * count
        for here in reversed(met):
            if parent[here] >= 0:
                behind[parent[here]] += behind[here]
        order: list[int] = []
        for root in range(count):
            if parent[root] != -1:
                continue
            todo = [root]
            while todo:
                here = todo.pop()
                order.append(here)
                children = [there for there in near[first[here] : first[here + 1]] if parent[there] == here]
                todo += sorted(children, key=lambda there: (behind[there], -there))
        return np.array(parent, np.int32), np.array(order, np.int64)

    def roots(self) -> np.ndarray:
        """The root of each part (p,) int64."""
        return np.flatnonzero(self.parents < 0)

    def root_segments(self) -> np.ndarray:
        """The root of each part and the vertex after it, where its longest chain goes (2p,) int64; to be pinned.

        Both ends of a first segment that are held keep its direction as well as its place.
        """
        place = np.flatnonzero(self.parents[self.depth_first] < 0)
        return np.stack([self.depth_first[place], self.depth_first[place + 1]], axis=1).reshape(-1)

    # Measures

    def edges(self) -> np.ndarray:
        """Every segment with its smaller number first (m, 2) int32, sorted."""
        return arrays.unique_edges(self.segments, ((0, 1),))

    def lengths(self) -> np.ndarray:
        """Length of each segment [m] (m,)."""
        return arrays.edge_lengths(self.vertices, self.segments)

    def volumes(self) -> np.ndarray:
        """Volume of each segment, a cylinder [m^3] (m,)."""
        return np.pi * self.radius**2 * self.lengths()

    def vertex_radius(self) -> np.ndarray:
        """Largest radius of the segments at each vertex [m] (n,)."""
        radius = np.zeros(len(self.vertices))
        for corner in range(2):
            np.maximum.at(radius, self.segments[:, corner], self.radius)
        return radius

    def surface(self) -> np.ndarray:
        """Triangles of its outside: none, (0, 3) int32."""
        return np.zeros((0, 3), np.int32)

    # Placement

    def translated(self, by: Any) -> RodMesh:
        """A copy moved by (x, y, z) [m]."""
        return dataclasses.replace(self, vertices=self.vertices + arrays.offset(by, "translated(by)"))

    def rotated(self, axis: Any, angle: float) -> RodMesh:
        """A copy turned about an axis through the origin by ``angle`` [rad], right-handed."""
        return dataclasses.replace(self, vertices=self.vertices @ arrays.rotation(axis, angle, "rotated(axis)").T)

    def scaled(self, factor: Any) -> RodMesh:
        """A copy scaled about the origin by one positive factor, or by three; radii by their geometric mean."""
        factors = arrays.scale_factors(factor, "scaled(factor)")
        mean = float(factors.prod()) ** (1.0 / 3.0)
        return dataclasses.replace(
            self,
            vertices=self.vertices * factors,
            radius=self.radius * mean,
            seen_radius=None if self.seen_radius is None else self.seen_radius * mean,
        )

    @staticmethod
    def joined(parts: Sequence[RodMesh], name: str = "") -> RodMesh:
        """Several meshes as one; nothing is merged. They are drawn as thick as the first is."""
        first = np.cumsum([0, *(len(part.vertices) for part in parts)])
        return RodMesh(
            np.concatenate([part.vertices for part in parts]),
            np.concatenate([part.segments + start for part, start in zip(parts, first, strict=False)]),
            np.concatenate([part.radius for part in parts]),
            name,
            tuple(dict.fromkeys(note for part in parts for note in part.notes)),
            parts[0].seen_radius,
        )
