"""Preconditioned conjugate gradients whose scalars stay on the device; a method brings its matrix and its move."""

from __future__ import annotations

from collections.abc import Callable

import warp as wp

from pliant.launch import launch, repeat_while
from pliant.solvers.common import cg_kernels as kernels


class ConjugateGradients:
    """The vectors and scalars of a solve over a run of particles.

    Args:
        particles: all there are; first, count: the run that is solved for.
        chunks: parts that dot products are added up from.
        grain: particles per thread.

    Attributes:
        d, q, r, z: direction, its product with the matrix, residual, preconditioned residual.
        parts: of the last dot product.
        scalars: see `cg_kernels`; going: whether to go on.
    """

    def __init__(self, particles: int, first: int, count: int, chunks: int, device: str, grain: int = 4096) -> None:
        self.first, self.count, self.chunks, self.device, self.grain = first, count, chunks, device, grain
        self.d, self.q, self.r, self.z = (wp.zeros(particles, dtype=wp.vec3, device=device) for _ in range(4))
        self.parts = wp.zeros(chunks, dtype=wp.float64, device=device)
        self.scalars = wp.zeros(5, dtype=wp.float64, device=device)
        self.going = wp.zeros(1, dtype=int, device=device)

    def dot(self, a: wp.array, b: wp.array, parts: wp.array | None = None) -> None:
        """Write the parts of a dot product, to `self.parts` if nothing else is given."""
        grain = max(1, 65536 * self.chunks // max(self.count, 1))
        inputs, out = [a, b, self.first, self.count, self.chunks], self.parts if parts is None else parts
        launch(kernels.dot_parts, self.chunks, inputs, [out], device=self.device, grain=grain)

    def begin(self, tolerance: float) -> None:
        """Begin with r and d as they are, to end at a relative residual."""
        self.dot(self.r, self.d)
        self._one(kernels.begin_solve, [self.parts, tolerance], [self.scalars, self.going])

    def run(self, product: Callable[[], None], descend: Callable[[], None], most: int) -> None:
        """Iterate until the end or `most` times.

        Args:
            product: writes q = A d.
            descend: moves the solution by alpha d and r by -alpha q, and writes z.
        """

        def iterate() -> None:
            product()
            self.dot(self.d, self.q)
            self._one(kernels.find_alpha, [self.parts], [self.scalars])
            descend()
            self.dot(self.r, self.z)
            self._one(kernels.find_beta, [self.parts, most], [self.scalars, self.going])
            turned = [self.z, self.scalars]
            launch(kernels.turn, self.count, turned, [self.d], device=self.device, first=self.first, grain=self.grain)

        repeat_while(self.going, iterate, device=self.device)

    def _one(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, 1, inputs, outputs, device=self.device)

    def iterations(self) -> int:
        """Iterations of the last solve; reads back from the device."""
        return int(self.scalars.numpy()[4])
