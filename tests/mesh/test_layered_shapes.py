"""Shapes with fine relief: closed, outward, of the right kind, and refused where they do not fit."""

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import layered_shapes as shapes

EULER = {"gear": 0, "tyre": 0, "pumpkin": 2, "ridged_cylinder": 2, "can": 2}


@pytest.mark.parametrize("name", EULER)
def test_a_shape_is_closed_and_faces_outward(name):
    mesh = getattr(shapes, name)(detail=144)
    assert mesh.check() == []
    assert mesh.is_closed() and mesh.volume() > 0.0
    assert len(mesh.vertices) - len(mesh.edges()) + len(mesh.triangles) == EULER[name]
    finer = getattr(shapes, name)(detail=288)
    assert len(finer.triangles) > 2 * len(mesh.triangles)
    assert finer.volume() == pytest.approx(mesh.volume(), rel=0.02)


def test_relief_is_there():
    tyre = shapes.tyre(detail=240, tread=0.02)
    smooth = shapes.tyre(detail=240, tread=1e-6)
    gone = np.linalg.norm(tyre.vertices - smooth.vertices, axis=1)
    assert gone.max() == pytest.approx(0.02, rel=0.01)
    assert tyre.volume() < smooth.volume()


@pytest.mark.parametrize(
    "call",
    [
        lambda: shapes.gear(bore=0.45),
        lambda: shapes.gear(teeth=2),
        lambda: shapes.gear(detail=20),
        lambda: shapes.tyre(tube=0.5),
        lambda: shapes.pumpkin(depth=0.3),
        lambda: shapes.ridged_cylinder(depth=0.2),
        lambda: shapes.can(depth=0.02),
        lambda: shapes.can(radius=float("nan")),
        lambda: shapes.tyre(detail=10**7),
    ],
)
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(InputError):
        call()
