"""The linear solve of a step: conjugate gradients over the rows of the matrix."""

from __future__ import annotations

import warp as wp

from pliant.launch import launch, repeat_while
from pliant.solvers.fem import solve_kernels as kernels
from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import Holds

# Parts that sums are added up from.
CHUNKS = {"cpu": 32, "cuda": 1024}


class Solve:
    """The vectors of a solve over a run of particles.

    Attributes:
        r, z: residual and its preconditioned free part; d, q: direction and its product with the matrix; w: A z.
    """

    def __init__(self, mesh: Mesh, particles: int, first: int, count: int, device: str) -> None:
        self.mesh, self.first, self.count, self.device = mesh, first, count, device
        self.chunks = CHUNKS["cpu" if device == "cpu" else "cuda"]
        vectors = lambda k: [wp.zeros(particles + 2, dtype=wp.vec3, device=device) for _ in range(k)]
        self.r, self.z, self.d, self.q, self.w = vectors(5)
        self.size = wp.zeros(particles, dtype=wp.vec2, device=device)
        self.parts = wp.zeros(self.chunks, dtype=wp.vec2d, device=device)
        self.scalars = wp.zeros(kernels.SCALARS, dtype=wp.float64, device=device)
        self.going = wp.zeros(1, dtype=int, device=device)

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 4096) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def _chunked(self, kernel: object, inputs: list) -> None:
        grain = max(1, 65536 * self.chunks // max(self.count, 1))
        span = [self.first, self.count, self.chunks]
        launch(kernel, self.chunks, [*inputs, *span], [self.parts], device=self.device, grain=grain)

    def begin(self, tolerance: float) -> None:
        """Begin with r, z and `size` as they are."""
        self._chunked(kernels.sum_pairs, [self.size])
        launch(
            kernels.begin_solve,
            1,
            [self.parts, self.chunks, tolerance],
            [self.scalars, self.going],
            device=self.device,
        )

    def run(
        self,
        inv_mass: wp.array,
        holds: Holds,
        diagonal: wp.array,
        block: wp.array,
        inverse: wp.array,
        gain: wp.array,
        most: int,
    ) -> None:
        """Iterate on the gain of velocity until the end, or `most` times."""

        def iterate() -> None:
            self._each(kernels.product_rows, [self.mesh, diagonal, block, self.z], [self.w], grain=1024)
            self._chunked(kernels.dot_pairs, [self.r, self.z, self.w])
            launch(
                kernels.find_lengths,
                1,
                [self.parts, self.chunks, most],
                [self.scalars, self.going],
                device=self.device,
            )
            self._each(
                kernels.advance,
                [inv_mass, holds, inverse, self.w, self.scalars, self.going],
                [self.z, self.d, self.q, gain, self.r],
            )

        repeat_while(self.going, iterate, device=self.device)

    def iterations(self) -> int:
        """Iterations of the last solve; reads back from the device."""
        return int(self.scalars.numpy()[4])
