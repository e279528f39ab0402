"""What to tell the user when a simulation left the realm of sense: which element, by how much, and what to do."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from pliant.guard import GuardReport
from pliant.model.model import Body, Model
from pliant.model.tets import signed_volumes


@dataclasses.dataclass(frozen=True)
class Moment:
    """When it happened: frame and substep (0 if it could not be told), the step used and the stable one [s]."""

    frame: int
    substep: int
    substeps: int
    frame_dt: float
    stable_dt: float
    safety: float
    last_good_frame: int

    @property
    def dt(self) -> float:
        return self.frame_dt / self.substeps


def describe(
    model: Model, report: GuardReport, x: np.ndarray, v: np.ndarray, calm: np.ndarray, moment: Moment
) -> dict[str, Any]:
    """The message and the details of a blow-up.

    Args:
        report: what the guard saw.
        x, v: positions [m] and velocities [m/s] at that moment (n, 3).
        calm: the last positions that made sense (n, 3).
    """
    if report.particle >= 0:
        body = model.body_of_particle(report.particle)
        vertex = _vertex(body, report.particle)
        what = (
            f"vertex {vertex} of body '{body.name}' is at {x[report.particle].tolist()} m "
            f"with velocity {v[report.particle].tolist()} m/s"
        )
        element: dict[str, Any] = {"vertex": vertex, **_worst_around(model, body, report.particle, calm)}
        if "stretch" in element:
            what += f"; just before, a spring at it was {element['stretch']:.3g} times its rest length"
        if "volume_ratio" in element:
            what += f" and a tet at it had {element['volume_ratio']:.3g} of its rest volume"
    else:
        body = model.body_of_spring(report.spring)
        vertices = [_vertex(body, end) for end in model.springs.pairs[report.spring]]
        what = (
            f"the spring between vertices {vertices[0]} and {vertices[1]} of body '{body.name}' is "
            f"{report.stretch:.3g} times its rest length"
        )
        element = {"spring": int(report.spring - body.springs[0]), "vertices": vertices, "stretch": report.stretch}
    place = f", substep {moment.substep} of {moment.substeps}" if moment.substep else ""
    return {
        "message": f"Blow-up in frame {moment.frame}{place}: {what}. {_remedy(moment)}. "
        f"The simulation stands at the last good frame, {moment.last_good_frame}.",
        "frame": moment.frame,
        "substep": moment.substep,
        "body": body.name,
        "step": moment.dt,
        "stable_step": moment.stable_dt if math.isfinite(moment.stable_dt) else None,
        "last_good_frame": moment.last_good_frame,
        **element,
    }


def _vertex(body: Body, particle: int) -> int:
    """The user's number of a particle."""
    return int(np.flatnonzero(body.particle_of == particle)[0])


def _worst_around(model: Model, body: Body, particle: int, x: np.ndarray) -> dict[str, Any]:
    """The most stretched spring and the most deformed tet at a particle."""
    worst: dict[str, Any] = {}
    springs = np.flatnonzero((model.springs.pairs == particle).any(axis=1))
    if len(springs):
        d = x[model.springs.pairs[springs, 1]] - x[model.springs.pairs[springs, 0]]
        stretch = np.linalg.norm(d, axis=1) / model.springs.rest_length[springs]
        k = int(np.argmax(np.abs(stretch - 1.0)))
        worst |= {"spring": int(springs[k] - body.springs[0]), "stretch": float(stretch[k])}
    tets = np.flatnonzero((model.tets.corners == particle).any(axis=1))
    if len(tets):
        ratio = signed_volumes(x, model.tets.corners[tets]) / model.tets.rest_volume[tets]
        k = int(np.argmax(np.abs(ratio - 1.0)))
        worst |= {"tet": int(tets[k] - body.tets[0]), "volume_ratio": float(ratio[k])}
    return worst


def _remedy(moment: Moment) -> str:
    if moment.dt > moment.stable_dt:
        return (
            f"The step of {moment.dt:.3g} s is larger than the {moment.stable_dt:.3g} s that are stable: use at least "
            f"{math.ceil(moment.frame_dt / (moment.safety * moment.stable_dt))} substeps, or the implicit integrator"
        )
    known = ""
    if math.isfinite(moment.stable_dt):
        known = f", below the {moment.stable_dt:.3g} s that are stable at rest"
    return (
        f"The step was {moment.dt:.3g} s{known}: the body was driven too far. Use more substeps, gentler pins and "
        "pulls, a stiffer material or a strain limit"
    )
