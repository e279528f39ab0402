"""Bodies that start inside each other: found, and told of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.surface import SurfaceMesh
from pliant.model.model import Body
from pliant.simulation import Simulation

MOST_TOLD = 4
"""Pairs of bodies that are told of one by one."""
LEAST_DEPTH = 1e-4
"""Depth over the size of the smaller body below which bodies only touch."""


def warn_about_overlaps(sim: Simulation) -> None:
    """Note and warn where vertices of a body start inside another's closed surface, if bodies meet at all."""
    if not sim.body_contacts.active and not any(getattr(solver, "keeps_apart", False) for solver in sim.solvers):
        return
    found = sorted(_overlaps(sim), key=lambda pair: -pair[0])
    for depth, one, other in found[:MOST_TOLD]:
        _tell(sim, f"Body '{one}' starts {depth:.3g} m inside '{other}'; they will be pushed apart.")
    if len(found) > MOST_TOLD:
        _tell(sim, f"{len(found) - MOST_TOLD} more pairs of bodies start inside each other.")


def _overlaps(sim: Simulation) -> Iterator[tuple[float, str, str]]:
    """Depth [m] and names of two bodies, of which the first has a vertex inside the second; each pair once."""
    bodies = sim.model.bodies
    places = sim.model.particles.rest
    boxes = [places[slice(*body.own_particles)] for body in bodies]
    low, high = (np.array([f(points, axis=0) for points in boxes]) for f in (np.min, np.max))
    size = np.linalg.norm(high - low, axis=1)
    known: dict[int, SignedDistance] = {}
    for a, b in _near(low, high):
        deepest = (0.0, "", "")
        for inner, outer in ((a, b), (b, a)):
            if not _is_closed(bodies[outer]):
                continue
            points = places[_outside(bodies[inner])]
            points = points[((points > low[outer]) & (points < high[outer])).all(axis=1)]
            if not len(points):
                continue
            if outer not in known:
                known[outer] = SignedDistance(SurfaceMesh(places, bodies[outer].surface))
            depth = -float(known[outer].at(points).min())
            if depth > deepest[0]:
                deepest = (depth, bodies[inner].name, bodies[outer].name)
        if deepest[0] > LEAST_DEPTH * min(size[a], size[b]):
            yield deepest


def _near(low: np.ndarray, high: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs whose boxes overlap, from a walk along x."""
    order = np.argsort(low[:, 0], kind="stable")
    for k, a in enumerate(order):
        end = k + 1 + int(np.searchsorted(low[order[k + 1 :], 0], high[a, 0]))
        others = order[k + 1 : end]
        meet = ((low[others] < high[a]) & (high[others] > low[a])).all(axis=1)
        yield from ((int(a), int(b)) for b in others[meet])


def _is_closed(body: Body) -> bool:
    return bool(body.options.get("is_solid")) and len(body.surface) > 0


def _outside(body: Body) -> np.ndarray:
    """The particles of a body's outside; all of them where it has no surface of triangles."""
    if len(body.surface) and body.segments is None:
        return np.unique(body.surface)
    return np.arange(*body.own_particles)


def _tell(sim: Simulation, text: str) -> None:
    sim.notes.append(text)
    warnings.warn(text, stacklevel=4)
