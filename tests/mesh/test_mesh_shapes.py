"""Solids made by formula: counts, volumes, closed boundaries, angles, and refused arguments."""

import math

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes

SOLIDS = {
    # name: mesh, exact volume, how near, smallest dihedral, Euler characteristic of the boundary
    "box": (lambda: shapes.box((1, 2, 3), (3, 5, 8)), 6.0, 1e-12, 39.8, 2),
    "box of one cell": (lambda: shapes.box(1.0, 1), 1.0, 1e-12, 45.0, 2),
    "box in fives": (lambda: shapes.box((1, 1, 1), (3, 4, 5), split="five"), 1.0, 1e-12, 44.0, 2),
    "tetrahedron": (lambda: shapes.tetrahedron(2.0), 8 / (6 * math.sqrt(2)), 1e-12, 70.5, 2),
    "ball": (lambda: shapes.ball(0.5, 8), math.pi / 6, 0.01, 39.0, 2),
    "ellipsoid": (lambda: shapes.ellipsoid((0.6, 0.4, 0.5), 8), 4 / 3 * math.pi * 0.12, 0.01, 27.0, 2),
    "cylinder": (lambda: shapes.cylinder(0.5, 1.0, 8), math.pi / 4, 0.01, 34.0, 2),
    "flat cylinder": (lambda: shapes.cylinder(1.0, 0.01, 3, layers=1), math.pi / 100, 0.05, 1.0, 2),
    "torus": (lambda: shapes.torus(0.35, 0.15, 6), 2 * math.pi**2 * 0.35 * 0.15**2, 0.02, 25.0, 0),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_solid(name):
    make, volume, near, angle, euler = SOLIDS[name]
    mesh = make()
    assert mesh.check() == [] and mesh.notes == ()
    assert mesh.volumes().min() > 0
    assert mesh.volumes().sum() == pytest.approx(volume, rel=near)
    assert mesh.dihedral_range()[0] > angle - 0.01
    assert mesh.components()[0] == 1
    assert mesh.vertices.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-3)
    surface = mesh.surface_mesh()
    assert surface.check() == [] and surface.is_closed()
    assert surface.volume() == pytest.approx(mesh.volumes().sum())
    assert len(surface.vertices) - len(surface.edges()) + len(surface.triangles) == euler
    # Of the solid itself: vertices - edges + faces - tets, half the boundary's.
    faces = (4 * len(mesh.tets) + len(surface.triangles)) // 2
    assert 2 * (len(mesh.vertices) - len(mesh.edges()) + faces - len(mesh.tets)) == euler


def test_block_of_the_source():
    mesh = shapes.box(1.0, 31)
    assert len(mesh.vertices) == 32**3
    assert len(mesh.tets) == 178_746
    assert len(mesh.edges()) == 217_279
    assert len(mesh.surface()) == 12 * 31**2


def test_box_order_is_lexicographic():
    mesh = shapes.box((1, 2, 3), (2, 3, 4))
    x, y, z = mesh.vertices.T
    assert np.array_equal(np.lexsort((x, y, z)), np.arange(len(mesh.vertices)))
    assert np.ptp(mesh.vertices, axis=0).tolist() == [1.0, 2.0, 3.0]
    assert len(shapes.box(1.0, (2, 3, 4), split="five").tets) == 120


@pytest.mark.parametrize("cells", range(1, 8))
def test_ball_angles_do_not_decay(cells):
    mesh = shapes.ball(1.0, cells)
    assert len(mesh.tets) == 20 * cells**3
    assert mesh.dihedral_range()[0] > 35.0
    layers = np.linalg.norm(mesh.vertices, axis=1) * cells
    assert layers == pytest.approx(np.rint(layers))


def test_ball_converges():
    errors = [1 - shapes.ball(1.0, n).volumes().sum() / (4 / 3 * math.pi) for n in (4, 8, 16)]
    assert errors[0] / errors[1] == pytest.approx(4, abs=0.3) and errors[1] / errors[2] == pytest.approx(4, abs=0.3)


REFUSED = [
    (lambda: shapes.box(size=(1, 0, 1)), r"box\(size\): 0 is not a positive"),
    (lambda: shapes.box(size=(1, 2)), r"box\(size\): \(1, 2\) has 2 entries"),
    (lambda: shapes.box(size="big"), r"box\(size\): 'big'"),
    (lambda: shapes.box(size=math.nan), r"box\(size\): nan"),
    (lambda: shapes.box(size=1e-30), r"box\(size\): 1e-30 m is out of range"),
    (lambda: shapes.box(cells=0), r"box\(cells\): 0 is below 1"),
    (lambda: shapes.box(cells=(2, 2.5, 2)), r"box\(cells\): 2.5 is not a whole number"),
    (lambda: shapes.box(cells=True), r"box\(cells\): True"),
    (lambda: shapes.box(cells="8"), r"box\(cells\): '8'"),
    (lambda: shapes.box(cells=1000), r"box\(cells\): this makes 6,000,000,000 elements.*at most 40,000,000"),
    (lambda: shapes.box(cells=10**30), r"box\(cells\): this makes"),
    (lambda: shapes.box(split="seven"), r"box\(split\): 'seven'.*'six' or 'five'"),
    (lambda: shapes.ball(radius=-1.0), r"ball\(radius\): -1.0"),
    (lambda: shapes.ball(cells=1000), r"ball\(cells\): this makes 20,000,000,000"),
    (lambda: shapes.ellipsoid(radii=(1, 1, math.inf)), r"ellipsoid\(radii\): inf"),
    (lambda: shapes.cylinder(height=None), r"cylinder\(height\): None"),
    (lambda: shapes.cylinder(height=1e8, radius=1e-8), r"cylinder\(cells\): this makes"),
    (lambda: shapes.cylinder(layers=-2), r"cylinder\(layers\): -2"),
    (lambda: shapes.torus(radius=1.0, tube=1.0), r"torus\(tube\): 1 m is not smaller than the radius 1 m"),
    (lambda: shapes.torus(around=2), r"torus\(around\): 2 is below 3"),
    (lambda: shapes.tetrahedron(edge=0), r"tetrahedron\(edge\): 0"),
    (lambda: shapes.sheet(size=(1, 1, 1)), r"sheet\(size\): .*3 entries.*Give 2"),
    (lambda: shapes.sheet(cells=math.nan), r"sheet\(cells\): nan"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_numpy_arguments():
    mesh = shapes.box(np.array([1.0, 2.0, 3.0]), np.array([1, 2, 3]))
    assert len(mesh.tets) == 36
    assert len(shapes.ball(np.float32(0.5), np.int64(2)).tets) == 160
    assert len(shapes.ball(cells=2.0).tets) == 160
