"""SurfaceMesh: measures, closedness, and what check() refuses."""

import math

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.surface import SurfaceMesh


def test_cube_surface():
    cube = shapes.box(2.0, 3).surface_mesh()
    assert cube.check() == []
    assert cube.is_closed()
    assert cube.areas().sum() == pytest.approx(24.0)
    assert cube.volume() == pytest.approx(8.0)
    assert cube.translated((1e6, 0, 0)).volume() == pytest.approx(8.0)
    assert cube.components()[0] == 1
    # Euler: V - E + F = 2.
    assert len(cube.vertices) - len(cube.edges()) + len(cube.triangles) == 2
    # Outward: every normal points away from the centre.
    middles = cube.vertices[cube.triangles].mean(axis=1)
    assert (np.einsum("ij,ij->i", cube.normals(), middles) > 0).all()
    turned = SurfaceMesh(cube.vertices, cube.triangles[:, ::-1])
    assert turned.volume() == pytest.approx(-8.0)


def test_open_surface_has_no_volume():
    cube = shapes.box(1.0, 1).surface_mesh()
    opened = SurfaceMesh(cube.vertices, cube.triangles[1:], "jar")
    assert not opened.is_closed()
    with pytest.raises(InputError, match=r"jar: .*open.*Close its holes"):
        opened.volume()
    triangles = cube.triangles.copy()
    triangles[0] = triangles[0, ::-1]
    twisted = SurfaceMesh(cube.vertices, triangles)
    assert not twisted.is_closed() and "opposite directions" in twisted.check()[0]


def test_sheet():
    cloth = shapes.sheet((2.0, 3.0), (4, 5))
    assert cloth.check() == []
    assert len(cloth.vertices) == 30 and len(cloth.triangles) == 40
    assert cloth.areas().sum() == pytest.approx(6.0)
    assert cloth.normals() == pytest.approx(np.tile([0.0, 1.0, 0.0], (40, 1)))
    assert not cloth.is_closed()
    assert len(cloth.vertices) - len(cloth.edges()) + len(cloth.triangles) == 1
    # Alternating diagonals: an inner vertex has four or eight neighbours, never six.
    degree = np.bincount(cloth.edges().ravel())
    inner = [i + 5 * k for k in range(1, 5) for i in range(1, 4)]
    assert set(degree[inner]) == {4, 8}
    assert cloth.rotated((1, 0, 0), math.pi / 2).normals()[0] == pytest.approx([0, 0, 1], abs=1e-12)
    assert cloth.scaled(2.0).areas().sum() == pytest.approx(24.0)


@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        ([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], r"cape: triangle 0 \[0, 1, 2\] has area 0 .*Remove flat"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 3]], r"cape: triangle 0 .*3 is out of range.*0 to 2"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 1]], r"cape: triangle 0 .*twice"),
        ([[0, 0, 0], [1, 0, 0], [0, math.inf, 0]], [[0, 1, 2]], r"cape: vertex 2 .*inf"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 5, 5]], [[0, 1, 2]], r"cape: 1 of 4 vertices.*vertex 3.*drop_unused"),
        ([[0, 0, 0]], np.zeros((0, 3), dtype=int), r"cape: has no triangles"),
    ],
)
def test_check_refuses(vertices, triangles, message):
    with pytest.raises(InputError, match=message):
        SurfaceMesh(vertices, triangles).check("cape")


def test_drop_unused_and_coincident():
    mesh = SurfaceMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 5, 5]], [[0, 1, 2]]).drop_unused()
    assert mesh.check() == [] and len(mesh.vertices) == 3
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    assert "2 pairs" in SurfaceMesh(points, [[0, 1, 2], [3, 5, 4]]).check()[0]
