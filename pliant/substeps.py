"""How many steps a frame is cut into, and what the user should know of a simulation that is about to start."""

from __future__ import annotations

import math
import warnings
from typing import Any

from pliant.errors import InputError
from pliant.forces.inside import stable_step_with
from pliant.plan import make_plan, softness, substep_cost
from pliant.simulation import SAFETY, Simulation

MOST_SUBSTEPS = 100_000
# Substeps beyond which the user is told what would need fewer.
MANY_SUBSTEPS = 500
# Substeps that are spent on resolving a motion which a longer step would only slow down, whatever they cost; and where
# they cost little.
RESOLVING_SUBSTEPS = 8
CHEAP_SUBSTEPS = 60
# Part of a frame that may be spent on the latter, by one core.
REAL_TIME = 0.5
# Softness that is not worth a word.
SLIGHT = 0.1
# Substeps that are spent on contacts of fast bodies with thin ones.
MEETING_SUBSTEPS = 60


def choose_substeps(sim: Simulation, asked: int | None, name: str) -> None:
    """Substeps from the stable step, or a warning if the ones asked for are too few."""
    alone = min(solver.stable_step(sim.state) for solver in sim.solvers)
    sim.stable_dt = stable_step_with(alone, sim.forces)
    frame_dt = sim.frame_dt
    fewest = max(getattr(solver, "fewest_substeps", 2) for solver in sim.solvers)
    if sim.body_contacts.active:
        fewest = max(fewest, *(getattr(solver, "fewest_substeps_touching", 1) for solver in sim.solvers))
    needed = fewest if math.isinf(sim.stable_dt) else math.ceil(frame_dt / (SAFETY * max(sim.stable_dt, 1e-30)))
    reason = "stable" if needed > fewest else "least"
    wanted = min(solver.wanted_step() for solver in sim.solvers)
    affordable = _affordable(sim)
    for solver in sim.solvers:
        resolving = min(math.ceil(frame_dt / solver.wanted_step()), max(_always(solver, frame_dt), affordable))
        if resolving > needed:
            needed, reason = resolving, "resolved"
    meeting = getattr(sim.body_contacts, "wanted_step", lambda: math.inf)()
    for_contacts = min(math.ceil(frame_dt / meeting), MEETING_SUBSTEPS)
    if for_contacts > needed:
        needed, reason = for_contacts, "contacts"
    if asked is not None:
        sim.substeps = asked
        sim.plan = make_plan(sim, "asked", wanted)
        if sim.dt > sim.stable_dt:
            _note(
                sim,
                f"The step of {sim.dt:.3g} s is larger than the {sim.stable_dt:.3g} s estimated to be stable; "
                f"expect a blow-up. Leave 'substeps' out, or use at least {needed}.",
            )
        _note_coarse_step(sim, wanted)
        if asked < for_contacts:
            sim.notes.append(
                f"With {asked} substeps bodies may pass through thin ones, or tremble where they touch; "
                f"their contacts want at least {for_contacts}."
            )
        return
    if sim.stable_dt <= 0 or needed > MOST_SUBSTEPS:
        raise InputError(
            f"the stable step is {sim.stable_dt:.3g} s, so a frame would take {needed} substeps",
            f"scene '{name}'",
            "Use a softer or less damped material (damping counts with the square of the fineness), fewer or "
            "better elements, a larger mass_shift, or the implicit integrator",
        )
    sim.substeps = max(1, needed)
    sim.plan = make_plan(sim, reason, wanted)
    _note_coarse_step(sim, wanted)
    if needed > MANY_SUBSTEPS:
        sim.notes.append(
            f"A frame takes {needed} substeps. Fewer or larger elements, a softer or less damped material, or the "
            "implicit integrator make it faster; damping counts with the square of the fineness."
        )


def _always(solver: Any, frame_dt: float) -> int:
    """Substeps that a method is given for its stiffness, whatever they cost."""
    rough = getattr(solver, "rough_step", None)
    most = getattr(solver, "most_substeps", RESOLVING_SUBSTEPS)
    return most if rough is None else min(math.ceil(frame_dt / rough()), most)


def _affordable(sim: Simulation) -> int:
    """Substeps of a frame that one core does in real time; none where what they cost is not known."""
    cost = substep_cost(sim)
    return 0 if cost is None else min(math.floor(REAL_TIME * sim.frame_dt / cost), CHEAP_SUBSTEPS)


def _note_coarse_step(sim: Simulation, wanted: float) -> None:
    """Tell where a step is too long for a stiffness: the body is as stiff as the step allows, and no stiffer."""
    if any(solver.is_held(sim.dt) for solver in sim.solvers):
        soft = softness(sim)
        share = f" by about {100.0 * soft:.0f} %" if soft >= SLIGHT else ""
        sim.notes.append(
            f"A step of {sim.dt:.3g} s is too long for the stiffest body, which is stable but softer than its "
            f"material{share}; with {math.ceil(sim.frame_dt / wanted)} substeps it is as stiff as that."
        )


def warn_about_start(sim: Simulation) -> None:
    for body in sim.model.bodies:
        points = sim.model.particles.rest[slice(*body.own_particles)]
        for collider in map(sim.pipeline.collider_now, range(sim.pipeline.slots)):
            depth = -float(collider.distance(points).min())
            if depth > 1e-6:
                _note(
                    sim,
                    f"Body '{body.name}' starts {depth:.3g} m inside '{collider.name}' and will be put back.",
                )


def _note(sim: Simulation, text: str) -> None:
    sim.notes.append(text)
    warnings.warn(text, stacklevel=4)
