"""How large a time step an explicit integrator stands: the stiffest mode of the body, and the integrator's own limit.

The stiffest mode is found by Lanczos iteration on M^-1 K. A product with it is a difference of two accelerations,
one with the damping is one acceleration, so it includes every force the method has.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

LANCZOS_STEPS = 24
# A growth per step below this counts as stable: a factor of e in ten thousand steps.
GROWTH = 1e-4


@dataclasses.dataclass(frozen=True)
class StiffestMode:
    """The stiffest mode of a body.

    Attributes:
        omega: angular frequency [1/s].
        damping: rate c in x'' = -omega^2 x - c x' [1/s].
    """

    omega: float
    damping: float


def stiffest_mode(
    stiffness: Callable[[np.ndarray], np.ndarray],
    damping: Callable[[np.ndarray], np.ndarray],
    mass: np.ndarray,
    free: np.ndarray,
    steps: int = LANCZOS_STEPS,
) -> StiffestMode:
    """Lanczos on M^-1 K in the inner product of the masses.

    Args:
        stiffness: p -> M^-1 K p, (n, 3) to (n, 3).
        damping: p -> M^-1 D p.
        mass: [kg] (n,).
        free: particles that can move (n,) bool.
        steps: Krylov dimension.
    """
    if not free.any():
        return StiffestMode(0.0, 0.0)
    weight = np.where(free, mass, 0.0)[:, None]
    dot = lambda a, b: float(np.sum(weight * a * b))  # noqa: E731
    p = np.random.default_rng(7).standard_normal((len(mass), 3)) * free[:, None]
    p /= math.sqrt(dot(p, p))
    basis: list[np.ndarray] = []
    diagonal: list[float] = []
    off: list[float] = []
    steps = min(steps, 3 * int(free.sum()))
    for _ in range(steps):
        basis.append(p)
        q = stiffness(p) * free[:, None]
        diagonal.append(dot(p, q))
        for b in basis:
            q = q - dot(b, q) * b
        size = math.sqrt(max(dot(q, q), 0.0))
        if not math.isfinite(size) or size <= 1e-6 * max(abs(d) for d in diagonal):
            break
        off.append(size)
        p = q / size
    k = len(diagonal)
    tridiagonal = np.diag(diagonal) + np.diag(off[: k - 1], 1) + np.diag(off[: k - 1], -1)
    values, vectors = np.linalg.eigh(tridiagonal)
    top = sum(c * b for c, b in zip(vectors[:, -1], basis, strict=True))
    # the largest Ritz value approaches from below: add the residual, which bounds the distance
    residual = abs(vectors[-1, -1]) * (off[k - 1] if len(off) >= k else 0.0)
    omega_squared = max(values[-1] + min(residual, 0.1 * abs(values[-1])), 0.0)
    rate = max(dot(top, damping(top) * free[:, None]), 0.0)
    return StiffestMode(math.sqrt(omega_squared), rate)


def amplification(integrator: str, h: float, omega: float, damping: float) -> float:
    """Spectral radius of one step of x'' = -omega^2 x - damping x'."""
    force = lambda x, v: -omega * omega * x - damping * v  # noqa: E731

    def step(x: float, v: float, before: float) -> tuple[float, float, float]:
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

    matrix = np.array([step(1.0, 0.0, 0.0), step(0.0, 1.0, 0.0), step(0.0, 0.0, 1.0)]).T
    if integrator != "verlet":
        matrix = matrix[:2, :2]
    return float(np.abs(np.linalg.eigvals(matrix)).max())


def largest_step(integrator: str, mode: StiffestMode, lowest_damping_time: float) -> float:
    """Largest stable step [s] of an integrator; infinity for implicit Euler and for a body without stiffness.

    Softer modes are tried too, damped as their frequency squared (the least damping time is used for Euler, whose limit
    is damping over stiffness): a method such as Euler fails first at the least damped mode.
    """
    if integrator == "implicit" or mode.omega <= 0.0:
        return math.inf
    time = mode.damping / mode.omega**2
    if integrator == "euler":
        time = min(time, lowest_damping_time) if lowest_damping_time > 0 else time
    omegas = mode.omega * np.geomspace(0.05, 1.0, 24)

    def stable(h: float) -> bool:
        return all(amplification(integrator, h, w, time * w * w) <= 1.0 + GROWTH for w in omegas)

    low, high = 0.0, 6.0 / mode.omega
    for _ in range(36):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low
