"""Pulls on the bodies of a simulation: which particles a hand holds, and how strongly the step lets it pull."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import InputError
from pliant.forces.pull_kernels import MEMBERS
from pliant.model.model import Body
from pliant.vectors import FARTHEST, as_bounded, as_count, as_positive

if TYPE_CHECKING:
    from pliant.touching import Touching

# What an explicit pull may use of the step: k <= LIMIT m / dt^2 and c <= LIMIT m / dt. Of (omega h)^2 + 2 c h <= 4
# that takes 0.75, and a body with a step of 0.7 times its own stable one at most 2.8.
LIMIT = 0.25
# Most that the sizes of a patch's weights may add up to; they themselves add up to 1. A body that folds does not keep
# its rim where the rest of it says: what is pushed back there to pull the rim only drives the two apart.
MOST_PUSH = 2.0
MOST_PUSH_FOLDING = 1.0
# Methods whose velocity is that of before the forces' kick: under a force f it is -f h / 2 m at rest, not zero.
EARLY_VELOCITY = ("shape_matching",)


def pull_particle(
    sim: Touching,
    body: Body,
    particle: int,
    target: Sequence[float],
    stiffness: float,
    damping: float | None,
    spread: int | None,
) -> int:
    """Pull a particle of a body (model's number) and as many around it as are asked for; see `Simulation.pull`."""
    strength, drag = _checked(stiffness, damping)
    count = _as_spread(spread)
    goal = as_bounded(target, FARTHEST, "pull.target", "m")
    near = np.array([particle])
    if count != 1:
        x = sim.state.x.numpy().astype(np.float64)
        near = _nearest(sim, body, x, x[particle], particle)
        if count is None:
            count = _enough(sim, body, x, near, x[particle], _needed_mass(sim, strength, drag))
    return _start(sim, body, near[:count], None, None, goal, strength, drag)


def pull_seen(
    sim: Touching,
    body: Body,
    vertex: Any,
    target: Sequence[float],
    stiffness: float,
    damping: float | None,
    spread: int | None,
) -> int:
    """Pull a vertex of what is seen of a body; see `Simulation.pull_seen`."""
    number = as_count(vertex, f"pull of body '{body.name}': vertex", 0, body.seen_vertices - 1)
    strength, drag = _checked(stiffness, damping)
    count = _as_spread(spread)
    goal = as_bounded(target, FARTHEST, "pull.target", "m")
    needed = _needed_mass(sim, strength, drag)
    if drag is None:
        drag = math.sqrt(strength * float(sim.model.particles.mass[slice(*body.particles)].sum()))
        if not _folds(body):  # a patch large enough to damp all of a sheet no longer is where its vertex is
            needed = _needed_mass(sim, strength, drag)
    seen = sim.surface_positions(body.name)[number].astype(np.float64)
    x = sim.state.x.numpy().astype(np.float64)
    hosts, weights = _hosts(sim, body, number)
    mass = sim.masses()
    if len(hosts) and (count == 1 or (count is None and _held_mass(weights, mass[hosts]) >= needed)):
        return _start(sim, body, hosts, weights, seen, goal, strength, drag)
    near = _nearest(sim, body, x, seen, int(hosts[np.argmax(weights)]) if len(hosts) else None)
    if count is None:
        count = _enough(sim, body, x, near, seen, needed)
    return _start(sim, body, near[:count], None, seen, goal, strength, drag)


def _start(
    sim: Touching,
    body: Body,
    members: np.ndarray,
    weights: np.ndarray | None,
    point: np.ndarray | None,
    target: tuple[float, float, float],
    stiffness: float,
    damping: float | None,
) -> int:
    """Begin a pull on particles with the weights of `_weights` if none are given.

    The point that is held is the first particle if none is given.
    """
    slot = sim.pulls.free_slot()
    x = sim.state.x.numpy()[members].astype(np.float64)
    mass = sim.masses()[members]
    point = x[0] if point is None else point
    if weights is None:
        weights = _weights(x, mass, point, _most_push(body), stiffness * sim.dt**2 / LIMIT)
    held = _held_mass(weights, mass)
    used = min(stiffness, LIMIT * held / sim.dt**2)
    drag = min(2.0 * math.sqrt(used * held) if damping is None else damping, LIMIT * held / sim.dt)
    if used < stiffness:
        sim.notes.append(f"The pull of {stiffness:g} N/m was weakened to {used:.3g} N/m, which the step allows.")
    give = 0.5 * drag * sim.dt / held if body.method in EARLY_VELOCITY else 0.0
    offset = point - weights @ x
    sim.pulls.set(slot, members, target, used, drag, weights, tuple(offset.tolist()), give)
    return slot


def _folds(body: Body) -> bool:
    """Whether a body is thin and nothing but bending keeps it from folding: sheets and rods without clusters."""
    return body.clusters is None and body.tets[0] == body.tets[1]


def _most_push(body: Body) -> float:
    return MOST_PUSH_FOLDING if _folds(body) else MOST_PUSH


def _weights(x: np.ndarray, mass: np.ndarray, point: np.ndarray, most: float, least: float = 0.0) -> np.ndarray:
    """Weights (n,) of particles x [m] (n, 3) that add up to 1 and have the point as their mean, as far as they can.

    Of all such weights w_i = m_i (a + b . (x_i - p)) hold the most mass. The force then acts at the point itself, with
    its torque, and the point turns with the body. Where they would push many particles back to pull others, so that
    their sizes add up to more than `most`, or hold less than the `least` mass [kg], they are mixed with weights that go
    with the masses.
    """
    plain = mass / mass.sum()
    way = x - point
    size = float(np.linalg.norm(way, axis=1).max())
    if size == 0.0:
        return plain
    basis = np.column_stack([np.ones(len(x)), way / size])
    a = np.linalg.pinv(basis.T @ (plain[:, None] * basis), rcond=1e-6, hermitian=True)[:, 0]
    exact = plain * (basis @ a)
    if exact.sum() <= 0.0:
        return plain
    exact /= exact.sum()
    for part in np.linspace(1.0, 0.0, 21):
        mixed = plain + part * (exact - plain)
        if np.abs(mixed).sum() <= most + 1e-9 and _held_mass(mixed, mass) >= least:
            return mixed
    return plain


def _held_mass(weights: np.ndarray, mass: np.ndarray) -> float:
    """Mass that a force on the point sum of w_i x_i feels [kg]: 1 / sum of w_i^2 / m_i."""
    return float(1.0 / np.sum(weights**2 / mass))


def _needed_mass(sim: Touching, stiffness: float, damping: float | None) -> float:
    """Mass that must be held for the step to allow a pull [kg]."""
    return max(stiffness * sim.dt**2, (damping or 0.0) * sim.dt) / LIMIT


def _enough(sim: Touching, body: Body, x: np.ndarray, near: np.ndarray, point: np.ndarray, needed: float) -> int:
    """How many of these particles must be held for the mass that is needed, growing by a third at a time, or all."""
    mass, count = sim.masses()[near], 1
    while count < len(near):
        weights = _weights(x[near[:count]], mass[:count], point, _most_push(body))
        if _held_mass(weights, mass[:count]) >= needed * (1.0 - 1e-9):
            break
        count += 1 + count // 3
    return min(count, len(near))


def _nearest(sim: Touching, body: Body, x: np.ndarray, point: np.ndarray, first: int | None) -> np.ndarray:
    """The particles of a body nearest to a point, at most 256, the nearest first.

    Of a body that has come apart only those of one piece count: the one of `first`, or of the nearest. Of pinned ones
    none counts but this first: a force on them is lost.
    """
    own = np.arange(*body.particles)
    if body.splits:
        own = own[sim.masses()[own] > 0.0]
    distance = np.linalg.norm(x[own] - point, axis=1)
    start = own[int(np.argmin(distance))] if first is None else first
    piece = sim.piece_of_particles()
    if piece is not None:
        kept = piece[own] == piece[start]
        own, distance = own[kept], distance[kept]
    kept = (sim.state.inv_mass.numpy()[own] > 0.0) | (own == start)
    own, distance = own[kept], distance[kept]
    distance[own == start] = -1.0
    if len(own) > MEMBERS:
        # all that are as near as the 256th, so that which of them are taken does not depend on a partition
        kept = distance <= np.partition(distance, MEMBERS - 1)[MEMBERS - 1]
        own, distance = own[kept], distance[kept]
    return own[np.argsort(distance, kind="stable")][:MEMBERS]


def _hosts(sim: Touching, body: Body, vertex: int) -> tuple[np.ndarray, np.ndarray]:
    """Particles and weights that place a seen vertex; none where it follows clusters."""
    if body.embedding is not None:
        hosts, weights = body.embedding.hosts[vertex], body.embedding.weights[vertex]
        used, place = np.unique(hosts, return_inverse=True)
        share = np.bincount(place, weights)
        return used[share != 0.0].astype(np.int64), share[share != 0.0]
    if sim.tearing is not None and body.splits:
        return sim.tearing.corners_of(body.name).reshape(-1)[vertex : vertex + 1], np.ones(1)
    if body.follows_clusters:
        return np.zeros(0, np.int64), np.zeros(0)
    if body.tubes is not None:
        return body.particles[0] + body.tubes.host(vertex), np.ones(1)
    if body.ball_radius is not None:
        vertex //= len(body.ball())
    return body.particle_of[vertex : vertex + 1], np.ones(1)


def _checked(stiffness: float, damping: float | None) -> tuple[float, float | None]:
    stiffness = as_positive(stiffness, "pull.stiffness", "N/m")
    if damping is not None and damping != 0.0:
        damping = as_positive(damping, "pull.damping", "N s/m")
    return stiffness, damping


def _as_spread(spread: Any) -> int | None:
    """Number of particles; None for as many as the pull needs."""
    return None if spread is None else max(1, as_count(spread, "pull.spread", 0, MEMBERS))


def one_vertex(particles: np.ndarray, vertex: Any) -> int:
    """The particle of what names one vertex."""
    if len(particles) != 1:
        raise InputError(
            f"{vertex!r} names {len(particles)} vertices", "pull.vertex", "Give one; start a pull for each"
        )
    return int(particles[0])
