"""How large a time step an explicit integrator stands: the hardest modes of the bodies, and the integrator's own limit.

The stiffest mode is found by Krylov iteration on M^-1 K, the most damped one on M^-1 D. A product with K is a
difference of two accelerations, one with the damping is one acceleration, so both include every force the method has.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

KRYLOV_STEPS = 24
# The iteration ends when the largest eigenvalue is known to this share.
CLOSE_ENOUGH = 0.01
# A growth per step below this counts as stable: a factor of e in ten thousand steps.
GROWTH = 1e-4


@dataclasses.dataclass(frozen=True)
class Mode:
    """One mode of the bodies.

    Attributes:
        omega: angular frequency [1/s].
        damping: rate c in x'' = -omega^2 x - c x' [1/s].
    """

    omega: float
    damping: float


Operator = Callable[[np.ndarray], np.ndarray]


def hardest_modes(
    stiffness: Operator, damping: Operator, mass: np.ndarray, free: np.ndarray, *, proportional: bool
) -> list[Mode]:
    """The stiffest mode and, unless the damping is proportional to the stiffness, the most damped one.

    Args:
        stiffness: p -> M^-1 K p, (n, 3) to (n, 3).
        damping: p -> M^-1 D p.
        mass: [kg] (n,).
        free: particles that can move (n,) bool.
        proportional: whether the stiffest mode is the most damped one too.
    """
    if not free.any():
        return []
    weight = np.where(free, mass, 0.0)[:, None]
    value, top = _largest(stiffness, weight, free)
    rate = max(float(np.sum(weight * top * damping(top))), 0.0)
    modes = [Mode(math.sqrt(max(value, 0.0)), rate)]
    if not proportional:
        value, top = _largest(damping, weight, free)
        square = max(float(np.sum(weight * top * stiffness(top))), 0.0)
        modes.append(Mode(math.sqrt(square), max(value, 0.0)))
    return modes


def _largest(
    operator: Operator, weight: np.ndarray, free: np.ndarray, steps: int = KRYLOV_STEPS
) -> tuple[float, np.ndarray]:
    """Largest eigenvalue and its vector, by Arnoldi iteration in the inner product of the masses.

    That is Lanczos with full orthogonalization for K; the damping of Lesmes 3.11 is not symmetric.
    """
    dot = lambda a, b: float(np.sum(weight * a * b))
    p = np.random.default_rng(7).standard_normal((len(free), 3)) * free[:, None]
    p /= math.sqrt(dot(p, p))
    basis: list[np.ndarray] = []
    steps = min(steps, 3 * int(free.sum()))
    hessenberg = np.zeros((steps + 1, steps))
    size = 0.0
    for k in range(steps):
        basis.append(p)
        q = operator(p) * free[:, None]
        for i, b in enumerate(basis):
            hessenberg[i, k] = dot(b, q)
            q = q - hessenberg[i, k] * b
        size = math.sqrt(max(dot(q, q), 0.0))
        hessenberg[k + 1, k] = size
        if not math.isfinite(size) or size <= 1e-6 * np.abs(np.diag(hessenberg)).max():
            size = 0.0
            break
        p = q / size
        if k % 4 == 3:
            value, vector = _largest_ritz(hessenberg[: k + 1, : k + 1])
            if abs(vector[-1]) * size < CLOSE_ENOUGH * abs(value):
                break
    value, vector = _largest_ritz(hessenberg[: len(basis), : len(basis)])
    top = sum(c * b for c, b in zip(vector, basis, strict=True))
    # the largest Ritz value approaches from below: add the residual, which bounds the distance
    return value + min(abs(vector[-1]) * size, 0.1 * abs(value)), np.asarray(top)


def _largest_ritz(hessenberg: np.ndarray) -> tuple[float, np.ndarray]:
    """The largest eigenvalue of the small matrix, and its unit vector."""
    values, vectors = np.linalg.eig(hessenberg)
    best = int(np.argmax(values.real))
    vector = vectors[:, best].real
    return float(values[best].real), vector / np.linalg.norm(vector)


def amplification(integrator: str, h: float, omega: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """Spectral radius of one step of x'' = -omega^2 x - damping x', for many modes at once (m,)."""
    force = lambda x, v: -omega * omega * x - damping * v

    def step(x: np.ndarray, v: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        a = force(x, v)
        if integrator == "euler":
            return x + h * v, v + h * a, a
        if integrator == "symplectic":
            return x + h * (v + h * a), v + h * a, a
        if integrator == "verlet":
            v = v + 0.5 * h * (a - before)
            return x + h * v + 0.5 * h * h * a, v + h * a, a
        if integrator == "midpoint":
            xm, vm = x + 0.5 * h * v, v + 0.5 * h * a
            return x + h * vm, v + h * force(xm, vm), a
        if integrator == "rk4":
            v2, a2 = v + 0.5 * h * a, force(x + 0.5 * h * v, v + 0.5 * h * a)
            v3, a3 = v + 0.5 * h * a2, force(x + 0.5 * h * v2, v + 0.5 * h * a2)
            v4, a4 = v + h * a3, force(x + h * v3, v + h * a3)
            return x + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a + 2 * a2 + 2 * a3 + a4), a
        raise ValueError(integrator)

    one, none = np.ones_like(omega), np.zeros_like(omega)
    matrix = np.array([step(one, none, none), step(none, one, none), step(none, none, one)]).T
    if integrator != "verlet":
        matrix = matrix[:, :2, :2]
    return np.abs(np.linalg.eigvals(matrix)).max(axis=1)


def largest_step(integrator: str, modes: Sequence[Mode], least_damping: Mode | None = None) -> float:
    """Largest stable step [s] of an integrator; infinity for implicit Euler and the hybrid, or without stiffness.

    Softer modes are tried too, damped as their frequency squared. Euler, whose limit is damping over stiffness, fails
    first at the least damped mode, which may be given.
    """
    if integrator in ("implicit", "hybrid"):
        return math.inf
    if integrator == "euler" and least_damping is not None:
        modes = [*modes, least_damping]
    shares = np.geomspace(0.05, 1.0, 24)

    def stable(mode: Mode, h: float) -> bool:
        growth = amplification(integrator, h, shares * mode.omega, shares**2 * mode.damping)
        return bool((growth <= 1.0 + GROWTH).all())

    limit = math.inf
    for mode in modes:
        speed = max(mode.omega, mode.damping)
        if speed <= 0.0:
            continue
        low, high = 0.0, 6.0 / speed
        if mode.damping > 0.0:
            high = max(high, 6.0 / mode.damping)
        high = min(high, limit)
        if stable(mode, high):
            continue
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if stable(mode, middle) else (low, middle)
        limit = low
    return limit
