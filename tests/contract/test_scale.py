"""A body of a millimetre, a metre and a hundred metres moves as scaled copies, where dimensional analysis says so.

Lengths go with s. Under gravity g, times go with sqrt(s), speeds with sqrt(s), moduli with s, damping times with
sqrt(s), bending rigidities with s^4; densities and g stay.
"""

import dataclasses
import math

import numpy as np
import pytest

import pliant
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.solvers import solver_classes

SCALES = (1e-3, 100.0)
STUFF = pliant.Material(density=1000.0, young=5e4, poisson=0.35, damping=0.004, thickness=0.01, drag=0.1)


def scaled_material(s: float) -> pliant.Material:
    return dataclasses.replace(
        STUFF,
        young=STUFF.young * s,
        damping=STUFF.damping * math.sqrt(s),
        thickness=STUFF.thickness * s,
        drag=STUFF.drag / math.sqrt(s),
    )


def mesh_for(method: str, s: float):
    takes = solver_classes()[method].takes
    if TetMesh in takes:
        mesh = pliant.shapes.box((0.6, 0.2, 0.2), (3, 1, 1))
        return TetMesh(mesh.vertices * s, mesh.tets)
    if SurfaceMesh in takes:
        sheet = pliant.shapes.sheet((0.6, 0.3), (4, 2))
        return SurfaceMesh(sheet.vertices * s, sheet.triangles)
    assert LayeredMesh in takes
    return None


def fall(method: str, s: float, device: str, substeps: int | None = None, frames: int = 20):
    """Positions over s: held at one end it swings, and its other end meets a floor."""
    mesh = mesh_for(method, s)
    scene = pliant.Scene(frame_dt=math.sqrt(s) / 60.0, substeps=substeps)
    settings = {f.name: f for f in dataclasses.fields(solver_classes()[method].Settings)}
    if "rest_speed" in settings:
        scene.configure(method, rest_speed=settings["rest_speed"].default * math.sqrt(s))
    scene.add_body(mesh, scaled_material(s), method=method, name="body")
    end = mesh.vertices[:, 0]
    scene.pin("body", np.flatnonzero(end < end.min() + 1e-6 * s))
    scene.add_plane(point=(0.0, mesh.vertices[:, 1].min() - 0.05 * s, 0.0))
    sim = scene.build(device)
    path = []
    for _ in range(frames):
        sim.frame()
        path.append(sim.positions("body") / s)
    return np.array(path), sim


@pytest.mark.parametrize("method", [m for m in solver_classes() if m != "layered"])
def test_scaled_copies_move_alike(method, device):
    path, sim = fall(method, 1.0, device)
    moved = np.abs(path[-1] - path[0]).max()
    assert moved > 0.01, "nothing happens"
    for s in SCALES:
        other, twin = fall(method, s, device, sim.substeps)
        if math.isfinite(sim.stable_dt):
            assert twin.stable_dt == pytest.approx(math.sqrt(s) * sim.stable_dt, rel=0.01)
        assert np.abs(other - path).max() < 2e-3 * moved
