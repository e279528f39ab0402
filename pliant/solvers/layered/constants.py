"""What stays the same while the length of the step does: bounds of the spectrum, iterations, how layers lag."""

from __future__ import annotations

import math

import numpy as np
import warp as wp

from pliant.launch import launch, record
from pliant.solvers.layered import cpu_native, load_kernels, solve_kernels
from pliant.solvers.layered.data import Constants, Layer
from pliant.solvers.layered.settings import LayeredSettings

LANCZOS = 60
"""Iterations that find the bounds of the spectrum."""
FINE = 1e-7
"""Error of what is solved for once."""


class StepConstants:
    """Constants of a step of dt [s].

    Attributes:
        data: for the kernels.
        iterations: of a solve.
        condition: largest over smallest eigenvalue of the preconditioned matrix, of the worst body.
    """

    def __init__(self, layer: Layer, starts: np.ndarray, dt: float, settings: LayeredSettings, device: str) -> None:
        self.device = device
        self.layer = layer
        self.count = int(starts[-1])
        mass = layer.mass.numpy().astype(np.float64)
        scale = dt * (dt + layer.damping.numpy().astype(np.float64))
        owner = layer.body.numpy()
        blocks = mass[:, None, None] * np.eye(3) + scale[owner, None, None] * layer.diagonal.numpy()
        inverse = np.linalg.inv(blocks)
        low, high = self._bounds(mass, scale[owner], inverse, starts)
        self.condition = float((high / low).max())
        data = Constants()
        data.scale = wp.array(scale.astype(np.float32), dtype=float, device=device)
        data.inverse = wp.array(inverse.astype(np.float32), dtype=wp.mat33, device=device)
        self.data = data
        self._schedule(low, high, _iterations(self.condition, FINE, 4 * settings.most_iterations))
        self._follow_cores(mass)
        self.iterations = _iterations(self.condition, settings.tolerance, settings.most_iterations)
        self._schedule(low, high, self.iterations)

    def _now(self, kernel: object, inputs: list, outputs: list) -> None:
        """Launch at once, also while a frame is recorded."""
        with record() as recording:
            launch(kernel, self.count, inputs, outputs, device=self.device)
        recording.replay()

    def _bounds(
        self, mass: np.ndarray, scale: np.ndarray, inverse: np.ndarray, starts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest eigenvalue of D^-1 A for each body (b,), from the coefficients of conjugate gradients
        (Golub and Van Loan, Matrix Computations, 10.2: they are those of Lanczos' tridiagonal matrix)."""
        p, q = (wp.zeros(self.count, dtype=wp.vec3, device=self.device) for _ in range(2))

        def product(values: np.ndarray) -> np.ndarray:
            p.assign(values.astype(np.float32))
            self._now(solve_kernels.stiffness_product, [self.layer, p], [q])
            return mass[:, None] * values + scale[:, None] * q.numpy()

        dot = lambda a, b: np.add.reduceat((a * b).sum(axis=1), starts[:-1])
        spread = lambda values: np.repeat(values, np.diff(starts))[:, None]
        r = np.random.default_rng(0).normal(size=(self.count, 3)) * np.sqrt(mass)[:, None]
        z = np.einsum("nij,nj->ni", inverse, r)
        d, rz = z.copy(), dot(r, z)
        first = rz.copy()
        alphas, betas = [], []
        for _ in range(min(LANCZOS, 3 * self.count)):
            q_now = product(d)
            alpha = rz / np.maximum(dot(d, q_now), 1e-300)
            r = r - spread(alpha) * q_now
            z = np.einsum("nij,nj->ni", inverse, r)
            after = dot(r, z)
            beta = after / np.maximum(rz, 1e-300)
            alphas.append(alpha)
            betas.append(beta)
            d, rz = z + spread(beta) * d, after
            if (after < 1e-8 * first).all():
                break
        low, high = np.empty(len(first)), np.empty(len(first))
        for b in range(len(first)):
            a, c = np.array([alpha[b] for alpha in alphas]), np.array([beta[b] for beta in betas])
            diagonal = 1.0 / a
            diagonal[1:] += c[:-1] / a[:-1]
            off = np.sqrt(np.maximum(c[:-1], 0.0)) / a[:-1]
            found = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
            low[b], high[b] = max(found[0], 1e-9), found[-1]
        # Lanczos' values lie inside the spectrum: what is above the largest would grow
        return 0.95 * low, 1.05 * high

    def _schedule(self, low: np.ndarray, high: np.ndarray, count: int) -> None:
        """The factors of each iteration: d = alpha D^-1 r + beta d."""
        middle, half = 0.5 * (high + low), 0.5 * np.maximum(high - low, 1e-9 * high)
        sigma = middle / half
        rho = 1.0 / sigma
        alpha, beta = [1.0 / middle], [np.zeros_like(rho)]
        for _ in range(count - 1):
            following = 1.0 / (2.0 * sigma - rho)
            alpha.append(2.0 * following / half)
            beta.append(following * rho)
            rho = following
        table = lambda rows: wp.array(np.stack(rows, axis=1).astype(np.float32), dtype=float, device=self.device)
        self.data.alpha, self.data.beta = table(alpha), table(beta)
        self.length = count

    def _follow_cores(self, mass: np.ndarray) -> None:
        """How the layer lags behind its core, A^-1 M_ec, and what a node gives where all are pushed."""
        b, x, other, d = (wp.zeros(self.count, dtype=load_kernels.mat38, device=self.device) for _ in range(4))
        self._now(load_kernels.load_core, [self.layer], [b])
        self._now(solve_kernels.start_at_zero, [self.layer, self.data, b], [x, d])
        for k in range(1, self.length):
            with record() as recording:
                iterate(self.layer, self.data, self.data.inverse, (b, x, other, d), k, self.device)
            recording.replay()
            x, other = other, x
        found = x.numpy().astype(np.float64)
        drift, swing = found[:, :, 1:4], found[:, :, 4:7]
        give = drift / mass[:, None, None]
        values, vectors = np.linalg.eigh(0.5 * (give + give.transpose(0, 2, 1)))
        # a node gives way no more than it would alone, and a little always
        values = np.clip(values, 1e-6 / mass[:, None], (1.0 - 1e-6) / mass[:, None])
        give = np.einsum("nij,nj,nkj->nik", vectors, values, vectors)
        for name, table in (("drift", drift), ("swing", swing), ("give", give)):
            values = np.ascontiguousarray(table.astype(np.float32))
            setattr(self.data, name, wp.array(values, dtype=wp.mat33, device=self.device))


def iterate(
    layer: Layer,
    data: Constants,
    inverse: wp.array,
    vectors: tuple[wp.array, wp.array, wp.array, wp.array],
    step: int,
    device: str,
) -> None:
    """One iteration of a solve: from b, x, room for the next x, and the last move d."""
    b, x, after, d = vectors
    inputs = [layer, data, inverse, b, x, step]
    count = len(layer.mass)
    if device == "cpu":
        kernel = cpu_native.iterate8 if b.dtype is load_kernels.mat38 else cpu_native.iterate4
        run = int(cpu_native.RUN)
        launch(kernel, -(-count // run), inputs, [after, d], device=device, grain=2048 // run)
    else:
        launch(solve_kernels.iterate, count, inputs, [after, d], device=device)


def _iterations(condition: float, tolerance: float, most: int) -> int:
    """Iterations after which the error is below a share of the first: 2 rho^k with rho from the condition number."""
    root = math.sqrt(max(condition, 1.0 + 1e-9))
    rho = (root - 1.0) / (root + 1.0)
    return max(2, min(most, math.ceil(math.log(0.5 * tolerance) / math.log(max(rho, 1e-9)))))
