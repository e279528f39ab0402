"""How a scene is going to be simulated, and why: what was chosen for stability and accuracy, and what it costs."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.simulation import Simulation

REASONS = {
    "asked": "as was asked for",
    "stable": "the fewest that are stable, with three tenths to spare",
    "resolved": "the fewest that resolve the stiffness",
    "contacts": "so that fast bodies meet thin ones",
    "least": "the fewest that the methods take",
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What was chosen.

    Attributes:
        substeps: steps per frame. dt: of a step [s].
        reason: what the number of substeps follows from, one of `REASONS`.
        stable_dt: longest stable step [s]; infinity where there is no limit.
        wanted_dt: longest step that resolves what was asked for [s]; infinity where none is asked for.
        methods: integrator and iterations of each method in use.
        softer: whether some body is softer than its material at this step.
        softness: about by which share the softest gives in too far; 0 where it is not known.
        cost: about what a frame takes one core [ms], besides contacts; None where it is not known.
    """

    substeps: int
    dt: float
    reason: str
    stable_dt: float
    wanted_dt: float
    methods: dict[str, dict[str, Any]]
    softer: bool
    softness: float = 0.0
    cost: float | None = None

    def text(self) -> str:
        """The plan in words."""
        ways = []
        for name, chosen in self.methods.items():
            words = [f"{key.replace('_', ' ')} {value}" for key, value in chosen.items()]
            ways.append(f"{name} ({', '.join(words)})" if words else name)
        limit = "steps of any length are stable"
        if math.isfinite(self.stable_dt):
            limit = f"steps up to {1e3 * self.stable_dt:.3g} ms are stable"
        text = f"{self.substeps} substeps of {1e3 * self.dt:.3g} ms per frame, {REASONS[self.reason]}; {limit}; "
        text += " and ".join(ways)
        if self.cost is not None:
            text += f"; about {self.cost:.2g} ms a frame on one core"
        if self.softness >= 0.01:
            text += f"; bodies give in up to about {100.0 * self.softness:.2g} % too far at this step"
        return text

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {**dataclasses.asdict(self), "text": self.text()}


def make_plan(sim: Simulation, reason: str, wanted: float) -> Plan:
    """The plan of a simulation whose substeps are chosen."""
    methods = {}
    for solver in sim.solvers:
        how = getattr(solver.settings, "integrator", "implicit")
        shown = {"implicit": ("integrator", "iterations", "newton_steps"), "descent": ("integrator", "sweeps")}.get(
            how, ("integrator", "iterations")
        )
        methods[solver.name] = {key: getattr(solver.settings, key) for key in shown if hasattr(solver.settings, key)}
    softer = any(solver.is_held(sim.dt) for solver in sim.solvers)
    cost = substep_cost(sim)
    frame = None if cost is None else 1e3 * cost * sim.substeps
    return Plan(sim.substeps, sim.dt, reason, sim.stable_dt, wanted, methods, softer, softness(sim), frame)


def substep_cost(sim: Simulation) -> float | None:
    """About what a substep takes one core [s]; None where a method does not know, or bodies meet."""
    costs = [getattr(solver, "substep_cost", None) for solver in sim.solvers]
    known = [cost for cost in costs if cost is not None]
    return None if len(known) < len(costs) or sim.body_contacts.active else sum(known)


def softness(sim: Simulation) -> float:
    """About by which share the softest body gives in farther than its material, for want of steps."""
    return max((solver.softness(sim.dt) for solver in sim.solvers if hasattr(solver, "softness")), default=0.0)


def advice(sim: Simulation, ms_per_frame: float) -> str:
    """What is nearest to real time for a simulation whose frames take so long [ms]; nothing where they are fast enough.

    A step that is limited by stability grows with the root of the softness: what real time allows is said in those
    terms, since a stable step cannot be had for less.
    """
    slow = ms_per_frame / (1e3 * sim.frame_dt)
    if slow <= 1.0:
        return ""
    begin = f"A frame takes {ms_per_frame:.3g} ms, {slow:.2g} times its duration"
    begin += f": it plays at {1.0 / slow:.2g} of real time."
    plan = sim.plan
    if plan is None or plan.reason == "asked":
        return f"{begin} Fewer or larger elements, or fewer substeps, are faster."
    choices = []
    explicit = any(
        name == "mass_spring" and chosen.get("integrator") not in ("implicit", "hybrid")
        for name, chosen in plan.methods.items()
    )
    if plan.reason == "stable":
        fits = max(int(plan.substeps / slow), 1)
        softer = (plan.substeps / fits) ** 2
        choices.append(f"a material {softer:.2g} times softer, for which {fits} substeps are stable")
    elif plan.reason == "resolved":
        fits = max(int(plan.substeps / slow), 1)
        choices.append(f"substeps = {fits}, with which it is stable and softer than its material")
    if explicit:
        choices.append("the implicit integrator, or method 'fem', which take few steps and damp more")
    choices.append(f"about {1.0 / slow:.0%} of the elements")
    return f"{begin} In real time: {'; or '.join(choices)}. 'pliant compare' measures what other methods cost."
