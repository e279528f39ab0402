"""Equilibrium of a scene, found by Newton's method instead of by waiting until motion has died."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.vectors import as_count

if TYPE_CHECKING:
    from pliant.simulation import Simulation

# Each good step is so much longer than the last, each bad one so much shorter.
LONGER, SHORTER = 4.0, 1.0 / 16.0
ROUNDING = 50.0
"""A step that can be taken in no part after one that moved less than so many tolerances is one of rounding."""
RUNS_AWAY = 1.0
"""What still moves by so many sizes in a step when the search ends is held by nothing."""
LONGEST = 1e3
"""Longest step over the first: by then inertia has no say."""


@dataclasses.dataclass(frozen=True)
class Settled:
    """How a search for equilibrium ended.

    Attributes:
        found: whether the last step moved nothing by more than the tolerance. If nothing holds a body against what
            acts on it, there is no equilibrium: then all is as it was before.
        steps: steps taken; move: the farthest that the last one moved a particle, over the size of the bodies.
    """

    found: bool
    steps: int
    move: float


def settle(
    sim: Simulation, *, loads: Mapping[str, np.ndarray] | None = None, tolerance: float = 2e-6, most: int = 100
) -> Settled:
    """Bring all bodies to rest where forces balance: gravity, pins, pulls, wind and colliders as they are now.

    Each step is one of implicit Euler from rest, with a search along it, and a longer one each time: at first what
    moves is held back by its inertia, in the end not at all, which is Newton's method. Time does not pass.

    Args:
        sim: a simulation of finite-element bodies.
        loads: forces on the vertices of bodies by name [N] (n, 3), in the order of their meshes, which act besides.
        tolerance: move of a step at which to stop, over the size of the bodies.
        most: steps that may be taken.
    """
    solvers: list[Any] = list(sim.solvers)
    for solver in solvers:
        if not hasattr(solver, "settle"):
            raise InputError(
                f"the method '{solver.name}' finds no equilibrium by itself",
                "settle",
                "Use method='fem' for all bodies",
            )
    as_count(most, "settle(most)")
    state = sim.state
    load = _given_loads(sim, loads or {})
    points = state.x.numpy()
    size = float(np.ptp(points, axis=0).max())
    saved = sim.frame_dt, sim.substeps
    kept = {name: wp.clone(array) for name, array in sim.arrays().items()}
    step, move, last = sim.frame_dt, np.inf, np.inf
    taken, found = 0, False
    for solver in solvers:
        solver.settle(True)
    sim._tell_of_pins()
    sim.world.has_f_ext = sim.is_forced() or load is not None
    try:
        sim.substeps = 1
        while taken < most and not found:
            sim.frame_dt = step
            state.v.zero_()
            for solver in solvers:
                solver.settle(True)
            sim.body_contacts.begin_frame(step)
            sim.attachments.begin_frame()
            _step(sim, load)
            taken += 1
            before, points = points, state.x.numpy().copy()
            move = float(np.abs(points - before).max()) / size
            if min(solver.step_taken() for solver in solvers) == 0.0:
                # nothing better along the way: rounding, if there was little left to do
                found = step >= LONGEST * saved[0] * SHORTER and last <= ROUNDING * tolerance
                step *= SHORTER
                continue
            last = move
            found = move <= tolerance and step >= LONGEST * saved[0]
            step = min(step * LONGER, LONGEST * saved[0])
    finally:
        sim.frame_dt, sim.substeps = saved
        state.v.zero_()
        state.f_ext.zero_()
        for solver in solvers:
            solver.settle(False)
    if not found and not move < RUNS_AWAY:
        for name, array in sim.arrays().items():
            wp.copy(array, kept[name])
        note = "There is no equilibrium: nothing holds a body against what acts on it. All is as it was before."
        sim.notes.append(note)
        warnings.warn(note, stacklevel=2)
    sim.guard.look(state)
    sim._skins_stale = True
    return Settled(found, taken, move)


def _given_loads(sim: Simulation, loads: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Loads of all particles [N] (n, 3); None if there are none."""
    if not loads:
        return None
    total = np.zeros((sim.state.count, 3), np.float32)
    for name, values in loads.items():
        body = sim.body(name)
        values = np.asarray(values, np.float64)
        if values.shape != (len(body.rank), 3) or not np.isfinite(values).all():
            raise InputError(
                f"the loads have the shape {values.shape} or are not finite",
                f"settle(loads), body '{name}'",
                f"Give {len(body.rank)} rows of three finite numbers",
            )
        total[body.particle_of] = values
    return total


def _step(sim: Simulation, load: np.ndarray | None) -> None:
    """A step of the simulation, with loads."""
    state, dt = sim.state, sim.dt
    sim.attachments.begin_step(state, dt, sim.world.gravity)
    state.f_ext.zero_()
    if sim.is_forced():
        sim.apply_forces()
    if load is not None:
        state.f_ext.assign(state.f_ext.numpy() + load)
    for solver in sim.solvers:
        solver.predict(state, dt)
    if sim.body_contacts.active:
        sim.body_contacts.resolve(state, dt)
    sim.pipeline.detect(state.x_next, sim.contacts, before=state.x)
    for solver in sim.solvers:
        solver.resolve(state, sim.contacts, dt)
    sim.attachments.apply(state, dt)
