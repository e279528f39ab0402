"""Boxes: their distance, the contacts the device finds with them, and bodies that rest on them or stay in them."""

import dataclasses

import numpy as np
import pytest
import warp as wp
from bodies import build

from pliant import PRESETS, InputError, Scene, shapes
from pliant.collide.contacts import Contacts
from pliant.collide.pipeline import Pipeline
from pliant.collide.shapes.box import Box
from pliant.collide.shapes.plane import Plane

CALM = dataclasses.replace(PRESETS["soft_rubber"], drag=3.0)
TURNED = Box((0.8, 0.5, 1.2), (0.3, -0.2, 0.1), (20.0, -35.0, 50.0), name="box")


def detect(colliders, x, device, margin=0.0, before=None):
    """The contacts of positions x."""
    pipeline = Pipeline(colliders, len(x), device)
    contacts = Contacts(len(x), pipeline.slots, device)
    put = lambda a: None if a is None else wp.array(np.asarray(a, np.float32), dtype=wp.vec3, device=device)
    pipeline.detect(put(x), contacts, margin, put(before))
    return contacts


def points_around(box, count, seed=0):
    """Random points in and near a box, as float32 sees them."""
    rng = np.random.default_rng(seed)
    local = rng.uniform(-1.0, 1.0, (count, 3)) * np.array(box.size)
    return (np.array(box.position) + local @ box.axes().T).astype(np.float32).astype(np.float64)


def surface_samples(box, cells=60):
    """Points all over a box's faces."""
    side = np.linspace(-0.5, 0.5, cells + 1)
    u, w = (a.ravel() for a in np.meshgrid(side, side))
    half = np.full_like(u, 0.5)
    faces = [np.roll(np.stack([s * half, u, w], 1), k, axis=1) for k in range(3) for s in (-1, 1)]
    return np.array(box.position) + (np.concatenate(faces) * box.size) @ box.axes().T


def test_distance_is_that_to_the_nearest_point_of_the_surface():
    points, samples = points_around(TURNED, 300), surface_samples(TURNED)
    nearest = np.array([np.linalg.norm(samples - p, axis=1).min() for p in points])
    found = TURNED.distance(points)
    np.testing.assert_allclose(np.abs(found), nearest, atol=1.5e-2)
    assert np.all(np.abs(found) <= nearest + 1e-12)
    local = (points - TURNED.position) @ TURNED.axes()
    np.testing.assert_array_equal(found < 0, np.all(np.abs(local) < 0.5 * np.array(TURNED.size), axis=1))
    assert 20 < np.count_nonzero(found < 0) < 200


def test_a_rotation_turns_about_the_centre_by_the_right_hand():
    box = Box((2.0, 1.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.0, 90.0))
    np.testing.assert_allclose(
        box.distance([[1.0, 1.0, 0.0], [1.4, 0.9, 0.0], [2.0, 0.0, 0.0]]), [0, -0.1, 0.5], atol=1e-12
    )


def test_a_room_is_the_box_turned_inside_out():
    room = Box(TURNED.size, TURNED.position, TURNED.rotation, inside=True)
    points = points_around(TURNED, 100)
    np.testing.assert_array_equal(room.distance(points), -TURNED.distance(points))


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_the_device_finds_what_the_distance_says(inside, margin, device):
    box = Box(TURNED.size, TURNED.position, TURNED.rotation, inside)
    points = points_around(box, 2000)
    distance = box.distance(points)
    clear = np.abs(distance - margin) > 1e-5
    contacts = detect([box], points, device, margin)
    depth = contacts.depth.numpy()
    np.testing.assert_array_equal((depth >= 0)[clear], (distance <= margin)[clear])
    found = depth >= 0
    assert 200 < np.count_nonzero(found) < 2000
    np.testing.assert_allclose(depth[found], np.maximum(-distance[found], 0.0), atol=2e-6)
    planes = contacts.surface.numpy()
    normal, offset = planes["normal"][found].reshape(-1, 3), planes["offset"][found]
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-5)
    # the plane is as far away as the surface, and a step across it ends on the surface
    gap = np.einsum("ij,ij->i", normal, points[found]) - offset
    np.testing.assert_allclose(gap, distance[found], atol=3e-6)
    np.testing.assert_allclose(box.distance(points[found] - gap[:, None] * normal), 0.0, atol=1e-5)


def test_edges_and_corners_push_away_from_their_nearest_point(device):
    box = Box((2.0, 2.0, 2.0))
    x = np.array([[1.03, 1.04, 0.0], [1.02, 1.01, -1.02], [0.5, 1.04, 0.5]])
    normal = detect([box], x, device, margin=0.06).surface.numpy()["normal"].reshape(-1, 3)
    np.testing.assert_allclose(normal, [[0.6, 0.8, 0], [2 / 3, 1 / 3, -2 / 3], [0, 1, 0]], atol=1e-4)


def test_a_particle_leaves_through_the_face_it_came_through(device):
    box = Box((2.0, 0.2, 2.0))
    up, down, right, none = [0, 1, 0], [0, -1, 0], [1, 0, 0], [0, 0, 0]
    cases = {
        "from above": ([0, 0.2, 0], [0, -0.09, 0], up, 0.19),
        "from below": ([0, -0.2, 0], [0, 0.09, 0], down, 0.19),
        "right through": ([0, 0.3, 0], [0, -3.0, 0], up, 3.1),
        "from the side": ([1.1, 0, 0], [0.2, 0.05, 0], right, 0.8),
        "from rest on the face": ([0, 0.1, 0], [0.3, -0.05, 0], up, 0.15),
        "from inside": ([0.5, 0, 0], [0.5, 0.02, 0], up, 0.08),
        "past it": ([1.2, 0.3, 0], [1.1, -0.3, 0], none, -1.0),
    }
    before, x, normals, depths = (np.array(column, float) for column in zip(*cases.values(), strict=True))
    contacts = detect([box], x, device, before=before)
    np.testing.assert_allclose(contacts.surface.numpy()["normal"].reshape(-1, 3), normals, atol=1e-6)
    np.testing.assert_allclose(contacts.depth.numpy(), depths, atol=1e-6)


def test_ways_into_a_box_are_those_that_sampling_finds(device):
    rng = np.random.default_rng(3)
    before = points_around(TURNED, 3000, 1)
    before = before[TURNED.distance(before) > 0.01]
    x = before + rng.normal(0.0, 0.5, before.shape).astype(np.float32)
    x = x.astype(np.float32).astype(np.float64)
    inner = Box(np.array(TURNED.size) - 0.02, TURNED.position, TURNED.rotation)
    share = np.linspace(0, 1, 200)[:, None, None]
    ways = before + share * (x - before)
    least = lambda box: box.distance(ways.reshape(-1, 3)).reshape(200, -1).min(axis=0)
    contacts = detect([TURNED], x, device, before=before)
    found = contacts.depth.numpy() >= 0
    surely, never = least(inner) < 0, least(TURNED) > 0.02
    assert found[surely].all() and not found[never].any()
    assert np.count_nonzero(surely) > 300 and np.count_nonzero(never) > 300
    normal = contacts.surface.numpy()["normal"].reshape(-1, 3)
    # every way that is stopped goes against the normal
    assert np.all(np.einsum("ij,ij->i", normal, x - before)[found] < 0)


def test_slots_follow_the_order_of_the_scene(device):
    colliders = [Box((1, 1, 1)), Plane((0, 0.4, 0)), Box((1, 1, 1), (5, 0, 0)), Plane((0, -9, 0))]
    found = detect(colliders, [[0, 0.3, 0], [5, 0.3, 0], [9, 9, 9]], device).read()
    assert list(zip(found.particle.tolist(), found.collider.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 1), (1, 2)]


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "implicit"])
def test_a_ball_comes_to_rest_on_a_box(integrator, device):
    scene = Scene()
    scene.configure("mass_spring", integrator=integrator)
    scene.add_body(shapes.ball(0.2, 3), CALM, position=(0.1, 0.35, 0), name="ball")
    scene.add_box((2.0, 0.4, 2.0), (0.0, -0.2, 0.0), friction=1.0)
    sim = build(scene, device)
    assert not sim.can_fuse()
    box = scene.colliders[0]
    for _ in range(120):
        sim.frame()
        assert box.distance(sim.positions()).min() > -1e-6
    assert np.abs(sim.velocities()).mean() < 0.1
    assert 0.1 < sim.positions()[:, 1].mean() < 0.21
    assert box.distance(sim.positions()).min() < 1e-4


def test_a_flat_box_is_a_floor(device):
    """What falls on a box does just what it does on a plane, when both are met after the step."""
    after = []
    for name in ("plane", "box"):
        scene = Scene(substeps=20)
        scene.configure("mass_spring", integrator="rk4")
        scene.add_body(shapes.box(0.2, 2), position=(0, 0.2, 0), velocity=(1.0, -1.0, 0.3))
        if name == "plane":
            scene.add_plane(friction=0.3, restitution=0.4)
        else:
            scene.add_box((20.0, 2.0, 20.0), (0.0, -1.0, 0.0), friction=0.3, restitution=0.4)
        sim = build(scene, device)
        sim.frame(20)
        after.append(sim.positions())
    np.testing.assert_allclose(after[0], after[1], atol=2e-5)


def test_a_room_keeps_what_is_in_it(device):
    scene = Scene()
    scene.add_body(shapes.box(0.2, 2), "soft_rubber", position=(0, 0.0, 0), velocity=(6.0, 2.0, 4.0))
    scene.add_box((1.0, 1.0, 1.0), rotation=(0, 30, 20), inside=True, restitution=0.8)
    sim = build(scene, device)
    for _ in range(60):
        sim.frame()
        # in an edge friction may lead a little past one of the walls, until the next step
        assert scene.colliders[0].distance(sim.positions()).min() > -1e-3
    assert len(sim.contact_list()) > 0


def test_a_thin_board_stops_a_fast_body(device):
    """One substep takes the body right through the board."""
    scene = Scene(gravity=(0, 0, 0), substeps=8)
    scene.add_body(shapes.box(0.1, 1), "soft_rubber", position=(0, 0.5, 0), velocity=(0, -60.0, 0))
    scene.add_box((1.0, 0.01, 1.0))
    sim = build(scene, device)
    sim.frame(5)
    assert sim.positions()[:, 1].min() > 0.0049


def test_triangles_are_the_closed_surface():
    points, triangles = TURNED.triangles()
    corners = points[triangles]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6
    assert volume == pytest.approx(np.prod(TURNED.size))
    np.testing.assert_allclose(TURNED.distance(points), 0.0, atol=1e-12)
    points, triangles = Box((2, 1, 2), inside=True).triangles()
    floor = points[triangles]
    assert len(floor) == 2 and np.all(floor[..., 1] == -0.5)
    assert np.all(np.cross(floor[:, 1] - floor[:, 0], floor[:, 2] - floor[:, 0])[:, 1] > 0)


@pytest.mark.parametrize(
    "keywords, where",
    [
        ({"size": (1, -1, 1)}, "size"),
        ({"size": (1, 0, 1)}, "size"),
        ({"size": 3}, "size"),
        ({"size": (1, np.nan, 1)}, "size"),
        ({"size": (1, 1e9, 1)}, "size"),
        ({"position": (0, 1)}, "position"),
        ({"position": (0, np.inf, 0)}, "position"),
        ({"rotation": "left"}, "rotation"),
        ({"inside": 1}, "inside"),
    ],
)
def test_bad_boxes_are_refused(keywords, where):
    with pytest.raises(InputError) as error:
        Scene().add_box(**keywords)
    assert error.value.where == f"collider 'box0'.{where}" and error.value.what and error.value.remedy
