"""The search behind `embed`: frames of a host's elements, and which of them each point belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh import arrays, embed_kernels
from pliant.mesh.lattice import CUBE_CORNERS, VoxelLattice
from pliant.mesh.surface import FLAT_TRIANGLE, SurfaceMesh
from pliant.mesh.tets import FACE_CORNERS, FLAT_TET, TetMesh

CUBE_SIDES = ((0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6))
"""Corners of a cube's sides, each once around, counter-clockwise from outside."""
WEIGHT_BOUND = 10.0
"""A point outside looks for a better host nearby when a weight is larger than this."""
FAR = 100.0
"""Distance from the host's middle, in lengths of its box, beyond which the nearest element is found by direction."""
BOX_MARGIN = 1e-6
"""Added around each element's box, in lengths of the host's box: covers the rounding to single precision."""
ROUNDING = 1e-9
"""Weights of points inside that are this little below zero are set to zero."""
TOUCHING = 1e-12
"""Distance from the host, in lengths of its box, that counts as none."""
FINDING_GRAIN = 512


class Frames:
    """The elements of a host as frames, in lengths of the host's box: p = origin + axes u.

    Attributes:
        kind: TET, CUBE or TRIANGLE.
        elements: vertex numbers (m, k).
        middle, size: middle of the box of the elements (3,) and its longest side [m].
        corners: corner positions (m, k, 3), scaled.
        axes, inverse: (m, 3, 3); the axes are columns.
    """

    def __init__(self, host: TetMesh | VoxelLattice | SurfaceMesh):
        if isinstance(host, TetMesh):
            self.kind, self.elements, what = embed_kernels.TET, host.tets, "tet"
        elif isinstance(host, VoxelLattice):
            self.kind, self.elements, what = embed_kernels.CUBE, host.cubes, "cube"
        elif isinstance(host, SurfaceMesh):
            self.kind, self.elements, what = embed_kernels.TRIANGLE, host.triangles, "triangle"
        else:
            raise InputError(
                f"{type(host).__name__} cannot hold a surface",
                "embed(host)",
                "Give a TetMesh, a VoxelLattice or a SurfaceMesh",
            )
        where = host.name or "embed(host)"
        if not len(self.elements):
            raise InputError(f"has no {what}s", where, f"Give at least one {what}")
        arrays.check_finite(host.vertices, where)
        arrays.check_indices(self.elements, len(host.vertices), what, where)
        used = host.vertices[arrays.used_vertices(self.elements, len(host.vertices))]
        low, high = used.min(axis=0), used.max(axis=0)
        self.middle = 0.5 * (low + high)
        self.size = float((high - low).max()) or 1.0
        self.vertices = (host.vertices - self.middle) / self.size
        self.corners = self.vertices[self.elements]
        self._keep_usable(where)

    def _keep_usable(self, where: str) -> None:
        """Build the frames, without the elements that are flat."""
        corners = self.corners
        ends = (1, 2, 4) if self.kind == embed_kernels.CUBE else (1, 2, 3) if self.kind == embed_kernels.TET else (1, 2)
        axes = np.stack([corners[:, i] - corners[:, 0] for i in ends], axis=2)
        longest = np.sqrt((axes**2).sum(axis=1).max(axis=1))
        if self.kind == embed_kernels.TRIANGLE:
            normal = np.cross(axes[:, :, 0], axes[:, :, 1])
            length = np.linalg.norm(normal, axis=1)
            good = length > FLAT_TRIANGLE * longest**2
            unit = np.divide(normal, length[:, None], out=np.zeros_like(normal), where=good[:, None])
            axes = np.concatenate([axes, unit[:, :, None]], axis=2)
        else:
            good = np.abs(np.linalg.det(axes)) > FLAT_TET * longest**3
        if not good.any():
            raise InputError(f"all {len(good)} elements are flat", where, "Give elements with a volume, or an area")
        self.elements, self.corners, self.axes = self.elements[good], corners[good], axes[good]
        self.numbers = np.flatnonzero(good)
        self.origins = np.ascontiguousarray(self.corners[:, 0])
        self.inverse = np.linalg.inv(self.axes)
        if self.kind == embed_kernels.CUBE:
            expected = self.origins[:, None] + CUBE_CORNERS @ self.axes.transpose(0, 2, 1)
            off = np.abs(expected - self.corners).max(axis=(1, 2)) > 1e-6 * longest[good]
            if off.any():
                raise InputError(
                    f"{off.sum()} cubes are bent, the first cube {self.numbers[np.argmax(off)]}",
                    where,
                    "Embed in the lattice at rest, where cubes are cubes or boxes with parallel sides",
                )

    def boundary(self) -> tuple[np.ndarray, np.ndarray]:
        """Triangles of the boundary (b, 3) int32 and the element behind each (b,) int32."""
        if self.kind == embed_kernels.TRIANGLE:
            return self.elements, np.arange(len(self.elements), dtype=np.int32)
        sides = np.array(FACE_CORNERS if self.kind == embed_kernels.TET else CUBE_SIDES)
        faces = self.elements[:, sides].reshape(-1, sides.shape[1])
        owner = np.repeat(np.arange(len(self.elements), dtype=np.int32), len(sides))
        # Three corners tell a side of a cube as well.
        key = np.sort(faces, axis=1)[:, :3].astype(np.int64)
        order = np.lexsort(key.T[::-1])
        repeats = (key[order[1:]] == key[order[:-1]]).all(axis=1)
        alone = np.ones(len(order), bool)
        alone[1:] &= ~repeats
        alone[:-1] &= ~repeats
        # Elements given twice leave no boundary; then every side counts.
        at = np.sort(order[alone]) if alone.any() else np.arange(len(order))
        faces, owner = faces[at], owner[at]
        if faces.shape[1] == 4:
            faces = np.stack([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]], axis=1).reshape(-1, 3)
            owner = np.repeat(owner, 2)
        return np.ascontiguousarray(faces), owner

    def weights(
        self, points: np.ndarray, element: np.ndarray, inside: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Hosts (n, k), weights (n, k) and, on triangles, heights [m] (n,) in the elements found.

        Args:
            points: (n, 3), scaled.
            element: of each point (n,).
            inside: whether the point lies in it (n,) bool.
        """
        away = points - self.origins[element]
        u = np.einsum("nij,nj->ni", self.inverse[element], away)
        # Once more on what is left over, for thin elements.
        left = away - np.einsum("nij,nj->ni", self.axes[element], u)
        u += np.einsum("nij,nj->ni", self.inverse[element], left)
        height = None
        if self.kind == embed_kernels.CUBE:
            weights = _cube_weights(u)
        else:
            barycentric = u[:, :2] if self.kind == embed_kernels.TRIANGLE else u
            weights = np.concatenate([1.0 - barycentric.sum(axis=1, keepdims=True), barycentric], axis=1)
            if self.kind == embed_kernels.TRIANGLE:
                height = u[:, 2] * self.size
            rounded = inside & (weights >= -ROUNDING).all(axis=1)
            weights[rounded] = np.maximum(weights[rounded], 0.0)
            weights[rounded] /= weights[rounded].sum(axis=1, keepdims=True)
        return self.elements[element], weights, height


def _cube_weights(u: np.ndarray) -> np.ndarray:
    """Trilinear weights (n, 8) at places u (n, 3) in a cube, along the tangent outside it."""
    nearest = np.clip(u, 0.0, 1.0)
    beyond = np.where(np.abs(u - nearest) <= ROUNDING, 0.0, u - nearest)
    factors = np.where(CUBE_CORNERS[None], nearest[:, None], 1.0 - nearest[:, None])
    weights = factors.prod(axis=2)
    slopes = np.where(CUBE_CORNERS, 1.0, -1.0)
    for axis in range(3):
        others = factors[:, :, (axis + 1) % 3] * factors[:, :, (axis + 2) % 3]
        weights += beyond[:, axis : axis + 1] * slopes[:, axis] * others
    return weights


class Search:
    """The searches on a device, over scaled points (n, 3)."""

    def __init__(self, frames: Frames, device: str):
        self.frames = frames
        self.device = device
        self.origins = wp.array(frames.origins, dtype=wp.vec3d, device=device)
        self.inverses = wp.array(frames.inverse, dtype=wp.mat33d, device=device)

    def _launch(self, kernel: Any, count: int, inputs: list, outputs: list) -> None:
        launch(kernel, count, inputs, outputs, device=self.device, grain=FINDING_GRAIN)

    def containing(self, points: np.ndarray) -> np.ndarray:
        """Element around each point (n,) int32, -1 outside."""
        frames = self.frames
        if frames.kind == embed_kernels.TRIANGLE:
            return np.full(len(points), -1, np.int32)
        low = (frames.corners.min(axis=1) - BOX_MARGIN).astype(np.float32)
        high = (frames.corners.max(axis=1) + BOX_MARGIN).astype(np.float32)
        boxes = [wp.array(side, dtype=wp.vec3, device=self.device) for side in (low, high)]
        bvh = wp.Bvh(*boxes)
        found = wp.empty(len(points), dtype=int, device=self.device)
        asked = wp.array(points, dtype=wp.vec3d, device=self.device)
        inputs = [bvh.id, self.origins, self.inverses, asked, frames.kind]
        self._launch(embed_kernels.find_containing, len(points), inputs, [found])
        return found.numpy()

    def nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Element nearest to each point (n,) int32, or a better one nearby, and the distance from the host (n,)."""
        frames = self.frames
        triangles, owner = frames.boundary()
        corners = wp.array(frames.vertices.astype(np.float32), dtype=wp.vec3, device=self.device)
        mesh = wp.Mesh(corners, wp.array(triangles.ravel(), dtype=int, device=self.device))
        face = wp.empty(len(points), dtype=int, device=self.device)
        distance = wp.empty(len(points), dtype=wp.float64, device=self.device)
        inputs = [
            mesh.id,
            wp.array(frames.vertices, dtype=wp.vec3d, device=self.device),
            wp.array(triangles, dtype=wp.vec3i, device=self.device),
            wp.array(points, dtype=wp.vec3d, device=self.device),
            FAR,
        ]
        self._launch(embed_kernels.find_nearest, len(points), inputs, [face, distance])
        faces = face.numpy()
        element = owner[faces]
        if frames.kind != embed_kernels.CUBE:
            self._improve(points, triangles[faces], element)
        distances = distance.numpy()
        distances[distances <= TOUCHING] = 0.0
        return element, distances

    def _improve(self, points: np.ndarray, triangles: np.ndarray, element: np.ndarray) -> None:
        """Change elements in which a point has too large a weight for better ones around its nearest triangle."""
        frames = self.frames
        u = np.einsum("nij,nj->ni", frames.inverse[element], points - frames.origins[element])
        u = u[:, : frames.elements.shape[1] - 1]
        worst = np.maximum(np.abs(u).max(axis=1), np.abs(1.0 - u.sum(axis=1)))
        poor = np.flatnonzero(worst > WEIGHT_BOUND)
        if not len(poor):
            return
        flat = frames.elements.ravel()
        starts = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=len(frames.vertices)))])
        around = np.argsort(flat, kind="stable") // frames.elements.shape[1]
        chosen = wp.array(element[poor], dtype=int, device=self.device)
        inputs = [
            self.origins,
            self.inverses,
            wp.array(starts.astype(np.int32), dtype=int, device=self.device),
            wp.array(around.astype(np.int32), dtype=int, device=self.device),
            wp.array(points[poor], dtype=wp.vec3d, device=self.device),
            wp.array(triangles[poor], dtype=wp.vec3i, device=self.device),
            frames.kind,
        ]
        self._launch(embed_kernels.find_well_shaped, len(poor), inputs, [chosen])
        element[poor] = chosen.numpy()
