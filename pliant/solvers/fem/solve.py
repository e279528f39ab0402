"""The linear solve of a step: conjugate gradients over the rows of the matrix."""

from __future__ import annotations

from typing import Protocol

import warp as wp

from pliant.launch import launch, repeat_while
from pliant.solvers.fem import cpu_kernels
from pliant.solvers.fem import solve_kernels as kernels
from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import Holds
from pliant.solvers.fem.levels import Levels

# Parts that sums are added up from on CUDA; on the CPU they are runs of rows.
CHUNKS = 1024
# Iterations between two looks at the end on CUDA.
AT_ONCE = 3


class Added(Protocol):
    """What the matrix has besides its blocks."""

    def add_products(self, z: wp.array, w: wp.array, parts: wp.array, runs: int) -> None:
        """Add what it does to w = A z, on the CPU in so many runs with their parts of w.z."""
        ...


class Solve:
    """The vectors of a solve over a run of particles.

    Attributes:
        r, z: residual and its preconditioned free part; d, q: direction and its product with the matrix; w: A z.
    """

    def __init__(self, mesh: Mesh, particles: int, first: int, count: int, levels: Levels | None, device: str) -> None:
        self.mesh, self.first, self.count, self.levels, self.device = mesh, first, count, levels, device
        self.runs = device == "cpu"
        self.chunks = -(-count // int(cpu_kernels.RUN)) if self.runs else CHUNKS
        vectors = lambda k: [wp.zeros(particles + 2, dtype=wp.vec3, device=device) for _ in range(k)]
        self.r, self.z, self.d, self.q, self.w, self.free = vectors(6)
        self.size = wp.zeros(particles, dtype=wp.vec2, device=device)
        self.parts = wp.zeros(self.chunks, dtype=wp.vec3d, device=device)
        self.scalars = wp.zeros(kernels.SCALARS, dtype=wp.float64, device=device)
        self.going = wp.zeros(1, dtype=int, device=device)

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 4096) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def _chunked(self, kernel: object, inputs: list) -> None:
        grain = max(1, 65536 * self.chunks // max(self.count, 1))
        span = [self.first, self.count, self.chunks]
        launch(kernel, self.chunks, [*inputs, *span], [self.parts], device=self.device, grain=grain)

    def _run_by_run(self, kernel: object, inputs: list, outputs: list, grain: int) -> None:
        launch(kernel, self.chunks, inputs, outputs, device=self.device, grain=grain)

    def begin(self, inv_mass: wp.array, holds: Holds, tolerance: float, *, is_first: bool) -> None:
        """Begin with r, its free part, z and `size` as they are; `is_first` of a step."""
        self._chunked(kernels.sum_sizes, [self.size])
        launch(
            kernels.begin_solve,
            1,
            [self.parts, self.chunks, tolerance, int(is_first)],
            [self.scalars, self.going],
            device=self.device,
        )
        self._correct(inv_mass, holds)

    def _correct(self, inv_mass: wp.array, holds: Holds) -> None:
        """Add the corrections of the lattices to z."""
        if self.levels is None or not self.levels.lattices:
            return
        self.levels.correct(self.free)
        given = [self.levels.tables[0], self.levels.z[0], inv_mass, holds, self.going, self.first]
        if self.runs:
            self._run_by_run(cpu_kernels.correct_runs, [*given, self.count], [self.z], 16)
        else:
            self._each(kernels.add_corrections, given, [self.z])

    def run(
        self,
        inv_mass: wp.array,
        holds: Holds,
        diagonal: wp.array,
        block: wp.array,
        inverse: wp.array,
        gain: wp.array,
        most: int,
        more: Added | None = None,
    ) -> None:
        """Iterate on the gain of velocity until the end, or `most` times; the matrix has `more` besides its blocks."""

        def iterate() -> None:
            if self.runs:
                matrix = [self.mesh, diagonal, block, self.r, self.z, self.first, self.count]
                self._run_by_run(cpu_kernels.product_runs, matrix, [self.w, self.parts], 8)
            else:
                self._each(kernels.product_rows, [self.mesh, diagonal, block, self.z], [self.w])
            if more is not None:
                more.add_products(self.z, self.w, self.parts, self.chunks if self.runs else 0)
            if not self.runs:
                self._chunked(kernels.dot_triples, [self.r, self.z, self.w, self.size])
            lengths = [self.parts, self.chunks, most]
            launch(kernels.find_lengths, 1, lengths, [self.scalars, self.going], device=self.device)
            given = [inv_mass, holds, inverse, self.w, self.scalars, self.going]
            changed = [self.z, self.d, self.q, gain, self.r, self.free]
            if self.runs:
                changed.append(self.parts)
                self._run_by_run(cpu_kernels.advance_runs, [*given, self.first, self.count], changed, 32)
            else:
                self._each(kernels.advance, given, [*changed, self.size])
            self._correct(inv_mass, holds)

        def several() -> None:
            for _ in range(AT_ONCE):
                iterate()

        # a look at the condition costs as much as half an iteration on CUDA; those after the end change nothing
        repeat_while(self.going, iterate if self.runs else several, device=self.device)

    def iterations(self) -> int:
        """Iterations of all solves of the last step; reads back from the device."""
        return int(self.scalars.numpy()[int(kernels.TOTAL)])
