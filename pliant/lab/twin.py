"""A test as a simulation: in natural time, so that steel and jelly take as many frames."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.lab.specimen import Specimen
from pliant.materials import Material
from pliant.mesh.surface import SurfaceMesh
from pliant.scene import Scene
from pliant.simulation import Simulation

FRAMES_PER_PERIOD = 24
FRAME = 1.0 / 60.0


@dataclasses.dataclass(frozen=True)
class Method:
    """How a specimen is simulated.

    Attributes:
        name: of the method. settings: of the method. matching: of a shape-matched body.
        frame_dt: duration of a frame [s]; from the period of the motion if None.
        substeps: steps per frame; chosen if None.
        calibrate: whether it is fitted to finite elements first, as for a body of a scene.
        device: where it runs.
    """

    name: str = "mass_spring"
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    matching: Mapping[str, Any] | None = None
    frame_dt: float | None = None
    substeps: int | None = None
    calibrate: bool | str = "auto"
    device: str = "cpu"


@dataclasses.dataclass(eq=False)
class Watched:
    """Times [s] (k,), and positions of all vertices at them (k, n, 3) [m]; the first is the rest shape."""

    times: np.ndarray
    positions: np.ndarray
    sim: Simulation


def watch(
    specimen: Specimen,
    material: Material,
    method: Method,
    period: float,
    periods: float,
    gravity: np.ndarray,
    spin: np.ndarray | None = None,
) -> Watched:
    """Simulate a specimen that is held at one end, and watch it for some periods.

    With no frame time given, what is simulated is a copy of other moduli whose period is 24 frames of 1/60 s; the times
    that come back are those of the original. Dimensional analysis says that both move alike: moduli go with 1/time^2,
    damping with time, accelerations with 1/time^2.

    Args:
        period: that of the motion expected [s]. periods: how many to watch.
        gravity: acceleration (3,) that begins at time 0 [m/s^2].
        spin: angular velocity about the specimen's middle at time 0 [rad/s].
    """
    factor = 1.0 if method.frame_dt is not None else FRAMES_PER_PERIOD * FRAME / period
    frame_dt = method.frame_dt or FRAME
    stuff = dataclasses.replace(
        material,
        young=material.young / factor**2,
        young_weft=None if material.young_weft is None else material.young_weft / factor**2,
        shear=None if material.shear is None else material.shear / factor**2,
        bending=None if material.bending is None else material.bending / factor**2,
        damping=min(material.damping * factor, 10.0),
        drag=material.drag / factor,
        yield_strain=None,
        yield_stress=None,
        fracture_strain=None,
        tear_strength=None,
    )
    scene = Scene(
        gravity=tuple(gravity / factor**2), frame_dt=frame_dt, substeps=method.substeps, stretch_limit=1e3, name="lab"
    )
    if method.settings:
        scene.configure(method.name, **method.settings)
    turning = np.zeros(3) if spin is None else spin / factor
    scene.add_body(
        specimen.mesh,
        stuff,
        method=method.name,
        name="specimen",
        angular_velocity=tuple(turning),
        matching=method.matching,
        calibrate=method.calibrate,
        warp=specimen.warp if isinstance(specimen.mesh, SurfaceMesh) else None,
    )
    scene.pin("specimen", specimen.held)
    sim = scene.build(method.device)
    frames = max(int(np.ceil(periods * period * factor / frame_dt)), 8)
    kept = [sim.positions("specimen")]
    for _ in range(frames):
        sim.frame()
        kept.append(sim.positions("specimen"))
    times = np.arange(frames + 1) * frame_dt / factor
    return Watched(times, np.array(kept, float), sim)
