"""Skin: surfaces moved by their hosts, the vertices of tets, voxels or triangles."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh import arrays
from pliant.mesh.embed import Embedding
from pliant.skin import kernels
from pliant.skin.surface import SkinSurface


@dataclasses.dataclass
class _Run:
    """Vertices in a row that have the same number of hosts: one launch."""

    kernel: Any
    first: int
    count: int
    tables: list[wp.array]


class Skin(SkinSurface):
    """One surface, or those of several bodies in a row, moved by their hosts.

    Args:
        embedding: hosts and weights of the vertices; a list for several bodies.
        triangles: (k, 3), numbered within the body; a list for several bodies.
        device: where it lives.
        first_particle: added to the hosts' numbers, where the body's particles start; a list for several bodies.

    Attributes:
        vertex_starts: where the vertices of each body start, and the total (bodies + 1,).
        triangle_starts: the same for `triangles`, which are numbered throughout.
    """

    def __init__(
        self,
        embedding: Embedding | Sequence[Embedding],
        triangles: Any,
        device: str = "cpu",
        first_particle: int | Sequence[int] = 0,
    ):
        parts = [embedding] if isinstance(embedding, Embedding) else list(embedding)
        given = [triangles] if isinstance(embedding, Embedding) else list(triangles)
        firsts = [first_particle] * len(parts) if isinstance(first_particle, int) else list(first_particle)
        if not len(parts) == len(given) == len(firsts):
            raise InputError(
                f"{len(parts)} embeddings, {len(given)} sets of triangles and {len(firsts)} first particles",
                "Skin",
                "Give one of each per body",
            )
        tables = [arrays.as_indices(part, 3, "Skin.triangles") for part in given]
        for part, table in zip(parts, tables, strict=True):
            part.check(where="Skin.embedding")
            arrays.check_indices(table, len(part), "triangle", "Skin.triangles")
        self.vertex_starts = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
        self.triangle_starts = np.concatenate([[0], np.cumsum([len(table) for table in tables], dtype=np.int64)])
        shifted = [table + first for table, first in zip(tables, self.vertex_starts[:-1], strict=True)]
        joined = np.concatenate([np.zeros((0, 3), np.int64), *shifted]).astype(np.int32)
        super().__init__(int(self.vertex_starts[-1]), joined, device, "Skin")
        hosts = [part.hosts + first for part, first in zip(parts, firsts, strict=True)]
        self._host_count = max((int(host.max()) + 1 for host in hosts if host.size), default=0)
        self._runs = self._build_runs(parts, hosts)

    def _build_runs(self, parts: list[Embedding], hosts: list[np.ndarray]) -> list[_Run]:
        runs: list[_Run] = []
        kinds = [(part.hosts.shape[1], part.height is not None) for part in parts]
        begin = 0
        for end in range(1, len(parts) + 1):
            if end < len(parts) and kinds[end] == kinds[begin]:
                continue
            chosen = parts[begin:end]
            joined = np.concatenate(hosts[begin:end])
            heights = np.concatenate([part.height for part in chosen if part.height is not None] or [np.zeros(0)])
            weights = np.concatenate([part.weights for part in chosen])
            runs.append(self._build_run(int(self.vertex_starts[begin]), joined, weights, heights, *kinds[begin]))
            begin = end
        return [run for run in runs if run.count]

    def _build_run(
        self, first: int, hosts: np.ndarray, weights: np.ndarray, heights: np.ndarray, width: int, over: bool
    ) -> _Run:
        def upload(values: np.ndarray, dtype: Any) -> wp.array:
            return wp.array(np.ascontiguousarray(values), dtype=dtype, device=self.device)

        if width == 1:
            return _Run(kernels.copy_vertices, first, len(hosts), [upload(hosts[:, 0].astype(np.int32), int)])
        # The host with the largest weight comes first, the others after it in their cyclic order, which a normal needs.
        turn = (np.abs(weights).argmax(axis=1)[:, None] + np.arange(width)) % width
        hosts = np.take_along_axis(hosts, turn, axis=1).astype(np.int32)
        weights = np.take_along_axis(weights, turn, axis=1)[:, 1:].astype(np.float32)
        if over:
            tables = [upload(hosts, wp.vec3i), upload(weights, wp.vec2), upload(heights.astype(np.float32), float)]
            return _Run(kernels.place_over_triangles, first, len(hosts), tables)
        host_type = wp.types.vector(length=width, dtype=int)
        weight_type = wp.types.vector(length=width - 1, dtype=float)
        tables = [upload(hosts, host_type), upload(weights, weight_type)]
        return _Run(self._code.place_kernel(width), first, len(hosts), tables)

    def copy_others(self, first: int, hosts: np.ndarray) -> None:
        """Let the vertices from `first` on, each of which copies one host, copy these (n,), between frames."""
        for run in self._runs:
            if run.kernel is kernels.copy_vertices and run.first <= first < run.first + run.count:
                table = run.tables[0].numpy().copy()
                table[first - run.first : first - run.first + len(hosts)] = hosts
                run.tables[0].assign(table)

    def update(self, x: wp.array, normals: bool = True) -> None:
        """Write `x`, and `normals` if asked for, from the particles' positions (N,) vec3 [m]; nothing is read back."""
        if len(x) < self._host_count:
            raise InputError(
                f"{len(x)} particles, but the skin has hosts up to {self._host_count - 1}",
                "Skin.update(x)",
                "Give the positions of all particles",
            )
        if not x.is_contiguous:
            raise InputError("the positions do not lie in a row", "Skin.update(x)", "Give a contiguous array")
        for run in self._runs:
            launch(run.kernel, run.count, [*run.tables, x, run.first], [self.x], device=self.device, first=run.first)
        if normals:
            self.update_normals()
