"""Voxel cages: every surface lies in its cubes, solids are filled, brute force as oracle."""

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.solid.voxelize import voxelize
from pliant.mesh.surface import SurfaceMesh


def klein_bottle(count=40):
    """The figure-eight immersion: closed, one-sided, crossing itself."""
    u, v = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    a, b = 2 * np.pi * u / count, 2 * np.pi * v / count
    r = 2.0 + np.cos(a / 2) * np.sin(b) - np.sin(a / 2) * np.sin(2 * b)
    points = np.stack(
        [r * np.cos(a), r * np.sin(a), np.sin(a / 2) * np.sin(b) + np.cos(a / 2) * np.sin(2 * b)], axis=-1
    )

    def number(i, j):
        # One turn in u mirrors v.
        return np.where(i == count, 0, i) * count + np.where(i == count, -j, j) % count

    corners = number(u, v), number(u + 1, v), number(u + 1, v + 1), number(u, v + 1)
    quads = np.stack(corners, axis=-1).reshape(-1, 4)
    return SurfaceMesh(points.reshape(-1, 3), np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]))


def cells_of(lattice, points, size):
    origin = lattice.vertices[lattice.cubes[0, 0]] - size * lattice.cells[0]
    return (points - origin) / size


def assert_holds(lattice, surface, size):
    """Points all over the surface lie in filled cells, or on the border of one."""
    filled = {tuple(cell) for cell in lattice.cells.tolist()}
    rng = np.random.default_rng(0)
    weights = rng.dirichlet([0.5, 0.5, 0.5], (len(surface.triangles), 8))
    points = np.einsum("mkc,mcx->mkx", weights, surface.vertices[surface.triangles]).reshape(-1, 3)
    points = np.concatenate([points, surface.vertices])
    places = cells_of(lattice, points, size)
    held = np.zeros(len(points), bool)
    for nudge in np.array(np.meshgrid(*[(-1e-5, 1e-5)] * 3)).reshape(3, -1).T:
        held |= [tuple(cell) in filled for cell in np.floor(places + nudge).astype(int).tolist()]
    assert held.all()


@pytest.mark.parametrize(
    "surface",
    [
        shapes.torus().surface_mesh().rotated((1, 2, 3), 0.4),
        shapes.sheet(1.0, 3).rotated((1, 2, 3), 0.4),
        shapes.sheet(1.0, 3),
        klein_bottle().scaled(0.2),
        SurfaceMesh([[0.0, 0, 0], [1, 0.1, 0.2], [0.1, 0.9, 0.3]], [[0, 1, 2]]),
    ],
    ids=["torus", "tilted sheet", "flat sheet", "klein bottle", "one triangle"],
)
def test_every_surface_lies_in_its_cubes(device, surface):
    lattice = voxelize(surface, 0.07, device=device)
    assert lattice.check() is not None
    assert_holds(lattice, surface, 0.07)


def test_only_what_is_touched():
    """A cell is taken exactly if dense points on the triangle, or the triangle itself, reach it."""
    surface = SurfaceMesh([[0.0, 0, 0], [1, 0.13, 0.21], [0.17, 0.9, 0.37]], [[0, 1, 2]])
    lattice = voxelize(surface, 0.1, fill=False)
    u, v = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, 1200), np.linspace(0, 1, 1200)))
    keep = u + v <= 1.0
    a, b, c = surface.vertices
    points = a + u[keep, None] * (b - a) + v[keep, None] * (c - a)
    dense = {tuple(cell) for cell in np.unique(np.floor(cells_of(lattice, points, 0.1) - 1e-9), axis=0).tolist()}
    taken = {tuple(cell) for cell in lattice.cells.tolist()}
    extra = {cell for cell in taken if cell not in dense}
    assert dense - taken <= {cell for cell in dense if min(cell) < 0}
    assert len(extra) <= 0.03 * len(taken)


def test_box_that_fits_is_filled_without_any_more():
    surface = shapes.box((1.0, 0.5, 0.75), 2).surface_mesh()
    lattice = voxelize(surface, 0.125)
    assert len(lattice.cubes) == 8 * 4 * 6
    assert len(voxelize(surface, 0.125, fill=False).cubes) < len(lattice.cubes)


def test_ball_is_filled_and_the_number_grows_as_its_volume():
    ball = shapes.ball(0.5, 8).surface_mesh()
    lattice = voxelize(ball, 0.02)
    assert len(lattice.cubes) * 0.02**3 == pytest.approx(np.pi / 6 * (1 + 3 * 0.02 * 1.5), rel=0.05)
    assert not lattice.notes


def test_parts_are_told():
    ball = shapes.ball(0.5, 4).surface_mesh()
    two = SurfaceMesh(
        np.concatenate([ball.vertices, ball.vertices + [2.0, 0.0, 0.0]]),
        np.concatenate([ball.triangles, ball.triangles + len(ball.vertices)]),
    )
    assert any("2 parts" in note for note in voxelize(two, 0.1).notes)


def test_same_bytes_every_time(set_threads):
    surface = shapes.torus().surface_mesh()
    set_threads(1)
    one = voxelize(surface, 0.02)
    set_threads(2)
    two = voxelize(surface, 0.02)
    assert one.vertices.tobytes() == two.vertices.tobytes() and one.cubes.tobytes() == two.cubes.tobytes()


def test_refused():
    surface = shapes.box(1.0, 1).surface_mesh()
    with pytest.raises(InputError, match="cells"):
        voxelize(surface, 1e-4)
    with pytest.raises(InputError):
        voxelize(surface, 0.0)
