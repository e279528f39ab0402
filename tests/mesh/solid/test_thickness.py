"""Thin parts: how thick they are found to be, and that the solid holds them whole at the wanted count."""

import numpy as np
import pytest

from pliant.mesh import shapes
from pliant.mesh.solid import tetrahedralize as front
from pliant.mesh.solid.checks import Samples
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.solid.filling import Filler
from pliant.mesh.solid.stuffing import ANGLES
from pliant.mesh.solid.tetrahedralize import SolidSettings
from pliant.mesh.solid.thickness import HALF_THICKNESS, RADIUS, LocalOffset, offset_for, thickness_at
from pliant.mesh.surface import SurfaceMesh

STICKS_OUT = 0.4
"""Of an element size: how far a thin part may be outside, with the rounding of its sharp edges."""


def joined(*meshes):
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    return SurfaceMesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, starts[:-1], strict=True)]),
    )


def box(sides, cells=1):
    return shapes.box(sides, cells).surface_mesh()


def cone(radius=0.1, height=1.0, around=24):
    """A closed cone that points up, of long thin triangles."""
    turn = 2.0 * np.pi * np.arange(around) / around
    ring = radius * np.stack([np.cos(turn), 0.0 * turn, np.sin(turn)], axis=1)
    j, k = np.arange(around), (np.arange(around) + 1) % around
    base, tip = np.full(around, around), np.full(around, around + 1)
    return SurfaceMesh(
        np.concatenate([ring, [[0.0, 0.0, 0.0], [0.0, height, 0.0]]]),
        np.concatenate([np.stack([j, k, base], axis=1), np.stack([k, j, tip], axis=1)]),
    )


def anyhow(mesh, seed):
    """Turned and moved at random."""
    rng = np.random.default_rng(seed)
    return mesh.rotated(rng.normal(size=3), rng.uniform(0.2, 3.0)).translated(rng.uniform(0.0, 1.0, 3))


def normals_at(surface, rows):
    return surface.normals()[rows]


def outside(solid, points):
    return SignedDistance(solid.mesh.surface_mesh()).at(points)


def points_of(surface):
    return np.concatenate([surface.vertices, Samples.on(surface, 5000).points])


def assert_sound(solid, wanted):
    assert solid.method == "stuffing" and solid.mesh.check() == []
    assert len(solid.mesh.tets) == pytest.approx(wanted, rel=0.15)
    low, high = solid.mesh.dihedral_range()
    assert low > ANGLES[0] and high < ANGLES[1]


def test_thickness_of_a_plate_a_ball_and_a_box(device):
    plate = anyhow(box((1.0, 0.05, 1.0), (4, 1, 4)), 0)
    points, rows = Samples.places(plate, 2000)
    sides = np.abs(normals_at(plate, rows) @ normals_at(plate, rows[:1]).T).ravel()
    found = thickness_at(SignedDistance(plate, device), points, normals_at(plate, rows), 0.2)
    flat = np.isfinite(found)
    assert flat.mean() > 0.85 and len(np.unique(np.round(sides[flat], 2))) == 1
    np.testing.assert_allclose(found[flat], 0.05, atol=1e-5)

    ball = shapes.ball(0.5, 12).surface_mesh()
    points, rows = Samples.places(ball, 500)
    found = thickness_at(SignedDistance(ball, device), points, normals_at(ball, rows), 2.0)
    # A chord at 30 degrees reaches three quarters of the diameter down.
    assert found.min() > 0.7 and found.max() < 1.0
    cube = box(1.0, 3)
    points, rows = Samples.places(cube, 2000)
    assert np.isinf(thickness_at(SignedDistance(cube, device), points, normals_at(cube, rows), 0.9)).all()


def test_thickness_of_a_surface_that_is_inside_out():
    plate = box((1.0, 0.02, 1.0), 1)
    turned = plate.turned(np.ones(len(plate.triangles), bool))
    one, two = (offset_for(mesh, SignedDistance(mesh), 0.1)[0] for mesh in (plate, turned))
    assert one.most == pytest.approx(two.most, rel=1e-4) and one.most == pytest.approx(0.1 * HALF_THICKNESS - 0.01)


def test_offset_is_the_largest_of_all_at_the_nearest_point(device):
    surface = box((1.0, 0.3, 0.6), 2)
    distance = SignedDistance(surface, device)
    centers = Samples.on(surface, 60).points
    rng = np.random.default_rng(0)
    amounts, radius = rng.uniform(0.0, 0.1, len(centers)), 0.2
    local = LocalOffset(distance, centers, amounts, radius)
    points = rng.uniform(-0.8, 0.8, (400, 3))
    _, rows, weights = distance.nearest(points)
    feet = np.einsum("nk,nkd->nd", weights, surface.vertices[surface.triangles[rows]])
    gaps = np.linalg.norm(feet[:, None] - centers[None], axis=2)
    expected = (amounts * np.clip((1.0 - gaps / radius) / 0.75, 0.0, 1.0)).max(axis=1)
    np.testing.assert_allclose(local.at(points), expected, atol=1e-5)

    raised = local.raised(centers[:5], np.full(5, 0.03), 0.11)
    before, after = local.at(centers), raised.at(centers)
    np.testing.assert_allclose(after[:5], np.minimum(before[:5] + 0.03, 0.11), atol=1e-5)
    assert (after >= before - 1e-7).all() and raised.most <= 0.11 + 1e-9


def test_thick_bodies_are_left_alone():
    for surface in (box(1.0, 3), shapes.ball(0.5, 8).surface_mesh(), shapes.torus(0.35, 0.15, 5, 48).surface_mesh()):
        assert offset_for(surface, SignedDistance(surface), 0.1)[0].most == 0.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("thickness", [0.03, 0.004])
def test_plate_of_any_direction_is_held_whole(seed, thickness):
    plate = anyhow(box((1.0, thickness, 1.0), (6, 1, 6)), seed)
    solid = front.tetrahedralize(plate, SolidSettings(tets=2000))
    assert_sound(solid, 2000)
    assert solid.mesh.components()[0] == 1
    assert outside(solid, points_of(plate)).max() < STICKS_OUT * solid.element_size
    # About as thick as one element, and no more than that.
    assert solid.mesh.volumes().sum() < 1.3 * solid.element_size
    assert any("were thickened" in note for note in solid.notes)


@pytest.mark.parametrize("seed", range(3))
def test_rod_and_cone_of_any_direction_are_held_to_their_ends(seed):
    for surface in (anyhow(box((1.0, 0.01, 0.01), (10, 1, 1)), seed), anyhow(cone(), seed)):
        solid = front.tetrahedralize(surface, SolidSettings(tets=600))
        assert_sound(solid, 600)
        assert solid.mesh.components()[0] == 1
        excess = outside(solid, points_of(surface))
        assert excess.max() < 0.75 * solid.element_size
        assert np.quantile(excess, 0.98) < STICKS_OUT * solid.element_size


def test_body_keeps_its_shape_where_it_is_thick():
    """A ball with a thin arm: the arm is thickened, the ball is not."""
    ball = shapes.ball(0.5, 10).surface_mesh()
    arm = box((1.2, 0.04, 0.04), (30, 2, 2)).rotated((0, 0, 1), 0.7).translated((0.75, 0.6, 0.0))
    surface = joined(ball, arm)
    solid = front.tetrahedralize(surface, SolidSettings(tets=3000))
    assert_sound(solid, 3000)
    far = arm.vertices[np.linalg.norm(arm.vertices, axis=1) > 0.6]
    assert outside(solid, far).max() < STICKS_OUT * solid.element_size
    boundary = solid.mesh.surface_mesh().vertices
    behind = boundary[boundary[:, 0] < -0.1]
    assert np.linalg.norm(behind, axis=1).max() < 1.01
    assert np.linalg.norm(behind, axis=1).max() < ball.vertices.max() + 0.15 * solid.element_size

    lost = front.tetrahedralize(surface, SolidSettings(tets=3000, keep_thin=False))
    assert outside(lost, far).max() > 2.0 * lost.element_size
    assert len(lost.mesh.tets) == pytest.approx(3000, rel=0.15)


def test_hollow_ball_stays_hollow():
    outer = shapes.ball(0.5, 12).surface_mesh()
    inner = outer.scaled(0.92)
    shell = joined(outer, inner.turned(np.ones(len(inner.triangles), bool)))
    solid = front.tetrahedralize(shell, SolidSettings(tets=4000))
    assert_sound(solid, 4000)
    assert solid.element_size > 0.05, "elements are larger than the wall is thick"
    assert outside(solid, points_of(shell)).max() < STICKS_OUT * solid.element_size
    assert solid.mesh.components()[0] == 1
    # Nothing in the middle, and no hole in the wall.
    assert outside(solid, np.zeros((1, 3)))[0] > 0.25
    assert outside(solid, 0.96 * points_of(outer)).max() < 0.0
    assert solid.mesh.volumes().sum() < 0.75 * outer.volume()


def test_plates_merge_only_where_elements_cannot_tell_them_apart():
    plate = box((1.0, 0.01, 1.0), (4, 1, 4))
    parts = {}
    for gap in (0.02, 0.2):
        surface = joined(plate, plate.translated((0.0, 0.01 + gap, 0.0)))
        solid = front.tetrahedralize(surface, SolidSettings(element_size=0.1))
        assert outside(solid, points_of(surface)).max() < STICKS_OUT * solid.element_size
        parts[gap] = solid.mesh.components()[0]
    assert parts == {0.02: 1, 0.2: 2}


def test_enclosing_moves_the_boundary_only_where_it_must(device):
    """A thin plate on a ball: all inside, with far less volume than an offset of the whole boundary gives."""
    ball = shapes.ball(0.5, 10).surface_mesh()
    surface = joined(ball, box((1.0, 0.01, 0.4), (10, 1, 4)).translated((0.8, 0.0, 0.0)))
    solid = front.tetrahedralize(surface, SolidSettings(tets=3000, enclose=True), device)
    assert outside(solid, points_of(surface)).max() < 1e-5
    assert_sound(solid, 3000)
    assert solid.mesh.volumes().sum() < 1.3 * ball.volume()


def test_thickened_solids_are_the_same_every_time(set_threads):
    surface = anyhow(box((1.0, 0.01, 0.5), (4, 1, 4)), 1)
    found = []
    for threads in (1, 2):
        set_threads(threads)
        filler = Filler(surface, SignedDistance(surface))
        found.append(filler.thickened(0.08, 0.0, np.inf).mesh)
    assert found[0].vertices.tobytes() == found[1].vertices.tobytes()
    assert found[0].tets.tobytes() == found[1].tets.tobytes()


def test_reach_of_an_offset():
    plate = box((1.0, 0.01, 1.0), 1)
    local, _, middles = offset_for(plate, SignedDistance(plate), 0.1)
    np.testing.assert_allclose(middles[:, 1], 0.0, atol=1e-6)
    assert local.radius == pytest.approx(0.1 * RADIUS)
    np.testing.assert_allclose(local.at(np.array([[0.0, 0.3, 0.0], [0.1, -0.3, 0.2]])), 0.031, rtol=0.05)
