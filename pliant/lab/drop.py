"""The drop test: a ball, or a body, meets a floor."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from pliant.lab.experiments import Curve, Outcome, Quantity
from pliant.lab.twin import FRAME, Method
from pliant.materials import Material
from pliant.mesh import shapes
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.tets import TetMesh
from pliant.scene import Scene

SPEED = 0.04
"""Speed of the ball over that of a wave in its stuff."""
CELLS = 3
FRAMES = 48
"""Frames that a contact lasts by Hertz's formula."""
WATCHED, LONGEST, AFTER = 3.0, 12.0, 8
"""Watched are at least so many contact times, at most so many, and so many frames after it left."""


def drop(test: str, body: float | TetMesh | VoxelLattice, material: Material, method: Method) -> Outcome:
    """A ball of a radius [m], or a body, meets a floor without gravity, and leaves it again.

    Hertz (1882): an elastic ball on a rigid floor stays for 2.87 (m^2 / (R E*^2 v))^(1/5), E* = E / (1 - nu^2). Of a
    body that is no ball it says only how long to watch.
    """
    wave = math.sqrt(material.young / material.density)
    speed = SPEED * wave
    is_ball = isinstance(body, float)
    mesh: TetMesh | VoxelLattice = shapes.ball(body, CELLS) if isinstance(body, float) else body
    radius = 0.5 * float(np.ptp(mesh.vertices[:, 1]))
    solid = mesh.tets("five") if isinstance(mesh, VoxelLattice) else mesh
    mass = material.density * float(solid.volumes().sum())
    plane = material.young / (1.0 - material.poisson**2)
    expected = 2.87 * (mass**2 / (radius * plane**2 * speed)) ** 0.2
    factor = 1.0 if method.frame_dt is not None else FRAMES * FRAME / expected
    frame_dt = method.frame_dt or FRAME
    stuff = dataclasses.replace(
        material,
        young=material.young / factor**2,
        damping=min(material.damping * factor, 10.0),
        restitution=0.0,
        drag=0.0,
        yield_strain=None,
        yield_stress=None,
        fracture_strain=None,
        tear_strength=None,
    )
    scene = Scene(gravity=(0.0, 0.0, 0.0), frame_dt=frame_dt, substeps=method.substeps, name="drop")
    settings = dict(method.settings)
    if settings:
        scene.configure(method.name, **settings)
    gap = 0.25 * speed * expected
    scene.add_body(
        mesh,
        stuff,
        method=method.name,
        name="body",
        position=(0.0, gap - float(mesh.vertices[:, 1].min()), 0.0),
        velocity=(0.0, -speed / factor, 0.0),
        matching=method.matching,
        calibrate=method.calibrate,
    )
    scene.add_plane()
    sim = scene.build(method.device)
    built = sim.model.bodies[0]
    weights = sim.model.particles.mass[slice(*built.particles)][built.rank]
    heights: list[float] = []
    lowest: list[float] = []
    sizes: list[float] = []
    least, most = (math.ceil(times * expected * factor / frame_dt) for times in (WATCHED, LONGEST))
    touched, since = False, 0
    while len(lowest) < least or (since < AFTER and len(lowest) < most):
        sim.frame()
        x = sim.positions("body")
        heights.append(float(np.average(x[:, 1], weights=weights)))
        lowest.append(float(x[:, 1].min()))
        sizes.append(float(np.ptp(x[:, 1])))
        touches = lowest[-1] < 0.02 * gap
        touched, since = touched or touches, 0 if touches or not touched else since + 1
    frames = len(lowest)
    times = (np.arange(frames) + 1) * frame_dt / factor
    height, low = np.array(heights), np.array(lowest)
    touching = low < 0.02 * gap
    span = np.flatnonzero(touching)
    contact = float((span[-1] - span[0] + 1) * frame_dt / factor) if len(span) else 0.0
    after = slice(min(span[-1] + 2, frames - 3) if len(span) else frames - 3, None)
    rebound = float(np.polyfit(times[after], height[after], 1)[0])
    squeezed = 1.0 - min(sizes) / (2.0 * radius)
    quantities = [
        Quantity(test, "rebound", "", max(rebound / speed, 0.0), None, None),
        Quantity(test, "contact time", "s", contact, None, expected if is_ball else None),
        Quantity(test, "squeeze", "", squeezed, None, None),
    ]
    curve = Curve(test, "height of the middle [m]", times, height, None)
    return Outcome(quantities, curve, sim.substeps, list(sim.notes))
