"""What fills a closed surface without tets: the kinds, which meshes can have one, and the forces of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.forces.clear_kernels import clear_force
from pliant.forces.enclosed import EnclosedPressure
from pliant.forces.global_volume import GlobalVolume
from pliant.forces.pressure import Pressure
from pliant.forces.support import Supports, SupportSprings
from pliant.launch import launch
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.model.model import Model
from pliant.model.state import State

Inside = Pressure | SupportSprings | GlobalVolume
INSIDES: dict[str, type[Inside]] = {cls.kind: cls for cls in (Pressure, SupportSprings, GlobalVolume)}
# The force is found once a substep; these integrators would need it at every stage, and feed energy in without.
STAGED_INTEGRATORS = ("euler", "midpoint", "rk4")


class Force(Protocol):
    """A force that acts at every substep.

    Attributes:
        active: whether it acts now.
        fastest: bounds of omega^2 [1/s^2] and of the damping rate [1/s] of what it adds to the bodies.
    """

    active: bool
    fastest: tuple[float, float]

    def apply(self, state: State, dt: float) -> None:
        """Add to state.f_ext, from state.x and v, for a step of dt [s]."""
        ...

    def arrays(self) -> dict[str, wp.array]:
        """What a checkpoint must hold."""
        ...

    def energy(self, x: np.ndarray) -> float:
        """Energy of positions x [m] (n, 3) [J]."""
        ...


def clear_forces(state: State, device: str) -> None:
    """Set state.f_ext to zero, before every force adds its own."""
    launch(clear_force, state.count, [], [state.f_ext], device=device, grain=65536)


def as_inside(value: Any, where: str) -> Inside:
    """Settings of an inside from one of the classes, the name of a kind, or a table with its 'kind'."""
    names = ", ".join(INSIDES)
    if isinstance(value, (Pressure, SupportSprings, GlobalVolume)):
        return value
    if isinstance(value, str):
        value = {"kind": value}
    if not isinstance(value, dict) or value.get("kind") not in INSIDES:
        raise InputError(f"{value!r} is no way to fill a surface", where, f"Give one of the kinds: {names}")
    given = {key: entry for key, entry in value.items() if key != "kind"}
    try:
        return INSIDES[value["kind"]](**given)
    except TypeError:
        known = ", ".join(INSIDES[value["kind"]].__dataclass_fields__)
        raise InputError(f"{value!r} has an unknown setting", where, f"The settings are: {known}") from None


def check_inside(mesh: Any, where: str) -> list[str]:
    """Refuse a mesh that encloses no volume; notes on one that encloses several."""
    if not isinstance(mesh, SurfaceMesh):
        made_of = "tets" if isinstance(mesh, TetMesh) else "cells"
        raise InputError(
            f"a {type(mesh).__name__} has {made_of} already, which keep its volume",
            where,
            "Leave 'volume' out, or give its surface alone (surface_mesh(), or solid = 'surface' in a file)",
        )
    if not mesh.is_closed():
        edges = np.sort(mesh.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        _, times = np.unique(edges, axis=0, return_counts=True)
        border, shared = int((times == 1).sum()), int((times > 2).sum())
        if border:
            what, remedy = f"the surface is open: it has {border} boundary edges", "Close its holes, or merge its seams"
        elif shared:
            what = f"{shared} edges belong to more than two triangles"
            remedy = "Separate the parts that touch along them"
        else:
            what, remedy = "neighbouring triangles wind in opposite directions", "Turn them to face outwards"
        raise InputError(what, where, f"{remedy}; only a closed surface has an inside")
    volume = mesh.volume()
    if volume <= 0.0:
        raise InputError(
            f"the surface encloses a volume of {volume:.3g} m^3: its triangles face inwards",
            where,
            "Turn all triangles (counter-clockwise seen from outside)",
        )
    parts, _ = mesh.components()
    return [f"the surface has {parts} separate parts, which share one inside"] if parts > 1 else []


def inside_forces(model: Model, device: str) -> list[Force]:
    """The forces that fill the bodies of a model; none if no body asks for one."""
    asked = [(body, body.options["volume"]) for body in model.bodies if body.options.get("volume") is not None]
    pushed = [(b, s) for b, s in asked if isinstance(s, (Pressure, GlobalVolume))]
    held = [(b, s) for b, s in asked if isinstance(s, SupportSprings)]
    forces: list[Force] = []
    if pushed:
        forces.append(EnclosedPressure(model, [b for b, _ in pushed], [s for _, s in pushed], device))
    if held:
        forces.append(Supports(model, [b for b, _ in held], [s for _, s in held], device))
    return forces


def surround(forces: Sequence[Force], gravity: Sequence[float], air_density: float) -> None:
    """Tell the forces of the gravity [m/s^2] and the air [kg/m^3] around the bodies, between frames."""
    for force in forces:
        if isinstance(force, EnclosedPressure):
            force.surround(gravity, air_density)


def gas_of(forces: Sequence[Force], name: str) -> EnclosedPressure:
    """The force of the gas in a body."""
    for force in forces:
        if isinstance(force, EnclosedPressure) and name in force.names:
            if isinstance(force.settings[force.names.index(name)], Pressure):
                return force
    raise InputError(
        "no gas is in the body", f"body '{name}'.volume", "Add it with volume=Pressure(...), which holds a gas"
    )


def check_integrator(integrator: str) -> None:
    """Refuse integrators that see the force of a substep at several moments."""
    if integrator in STAGED_INTEGRATORS:
        raise InputError(
            f"the integrator {integrator!r} is not stable with a 'volume', whose force is found once a substep",
            "mass_spring.integrator",
            "Use 'symplectic', 'verlet' or 'implicit'",
        )


def stable_step_with(stable_dt: float, forces: Sequence[Force]) -> float:
    """The stable step [s] of bodies that alone have `stable_dt`, with the forces added.

    One explicit step is stable while (omega h)^2 + 2 c h <= 4. That is convex in h, so at h the bodies use up at most
    4 h / stable_dt of it; frequencies squared and damping rates of two forces add at most.
    """
    square = max((f.fastest[0] for f in forces), default=0.0)
    damping = max((f.fastest[1] for f in forces), default=0.0)
    if square <= 0.0:
        return stable_dt
    used = 2.0 / stable_dt + damping
    return 4.0 / (used + math.sqrt(used * used + 4.0 * square))
