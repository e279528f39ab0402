"""Spheres: their distance, the contacts the device finds with them, and bodies that meet them while they move."""

import dataclasses

import numpy as np
import pytest
import warp as wp
from bodies import STILL, bits, build

from pliant import PRESETS, InputError, Scene, load_checkpoint, save_checkpoint, shapes
from pliant.collide.contacts import Contacts
from pliant.collide.pipeline import Pipeline
from pliant.collide.shapes.plane import Plane
from pliant.collide.shapes.sphere import LONGEST_GLIDE, SMALLEST, Sphere
from pliant.scene_file import load_scene

CALM = dataclasses.replace(PRESETS["soft_rubber"], drag=3.0)
BALL = Sphere(0.7, (0.3, -0.2, 0.1), name="ball")


def put(x, device):
    return wp.array(np.asarray(x, np.float32), dtype=wp.vec3, device=device)


def detect(colliders, x, device, margin=0.0, before=None):
    """The contacts of positions x."""
    pipeline = Pipeline(colliders, len(x), device)
    contacts = Contacts(len(x), pipeline.slots, device)
    pipeline.detect(put(x, device), contacts, margin, None if before is None else put(before, device))
    return contacts


def points_around(count, seed=0):
    """Random points in and near the ball, as float32 sees them."""
    local = np.random.default_rng(seed).uniform(-1.2, 1.2, (count, 3))
    return (np.array(BALL.position) + local).astype(np.float32).astype(np.float64)


def test_distance_is_that_to_the_nearest_point_of_what_is_drawn():
    vertices, triangles = BALL.triangles()
    corners = vertices[triangles]
    outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    middle = corners.mean(axis=1)
    # a closed surface seen from outside, close to the sphere
    assert (np.einsum("ij,ij->i", outward, middle - BALL.position) > 0).all()
    volume = np.einsum("ij,ij->i", corners[:, 0] - BALL.position, outward).sum() / 6.0
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * 0.7**3, rel=0.03)
    np.testing.assert_allclose(BALL.distance(vertices), 0.0, atol=1e-12)
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    points = points_around(200)
    nearest = np.array([np.linalg.norm(vertices - p, axis=1).min() for p in points])
    assert np.all(np.abs(BALL.distance(points)) <= nearest + 1e-9)


def test_a_round_room_is_the_ball_turned_inside_out_and_shows_its_bottom():
    room = dataclasses.replace(BALL, inside=True)
    points = points_around(100)
    np.testing.assert_array_equal(room.distance(points), -BALL.distance(points))
    vertices, triangles = room.triangles()
    corners = vertices[triangles]
    assert len(triangles) > 0 and corners[:, :, 1].max() < BALL.position[1]
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ij->i", facing, corners.mean(axis=1) - BALL.position) < 0).all()


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_the_device_finds_what_the_distance_says(inside, margin, device):
    ball = dataclasses.replace(BALL, inside=inside)
    points = points_around(2000)
    distance = ball.distance(points)
    clear = np.abs(distance - margin) > 1e-5
    contacts = detect([ball], points, device, margin)
    depth = contacts.depth.numpy()
    np.testing.assert_array_equal((depth >= 0)[clear], (distance <= margin)[clear])
    found = depth >= 0
    assert 100 < np.count_nonzero(found) < 2000
    np.testing.assert_allclose(depth[found], np.maximum(-distance[found], 0.0), atol=2e-6)
    planes = contacts.surface.numpy()
    normal, offset = planes["normal"][found].reshape(-1, 3), planes["offset"][found]
    gap = np.einsum("ij,ij->i", normal, points[found]) - offset
    np.testing.assert_allclose(gap, distance[found], atol=3e-6)
    np.testing.assert_allclose(ball.distance(points[found] - gap[:, None] * normal), 0.0, atol=1e-5)


def test_a_particle_leaves_where_it_came_in(device):
    up, right, none = [0, 1, 0], [1, 0, 0], [0, 0, 0]
    cases = {
        "a little way in": ([0, 1.1, 0], [0, 0.9, 0], up, 0.1),
        "deep": ([0, 1.1, 0], [0, -0.9, 0], up, 1.9),
        "right through": ([0, 1.3, 0], [0, -3.0, 0], up, 4.0),
        "from the side": ([1.1, 0, 0], [-0.2, 0, 0], right, 1.2),
        "from rest on it": ([0, 1.0, 0], [0, 0.95, 0], up, 0.05),
        "from inside": ([0.3, 0, 0], [0.5, 0, 0], right, 0.5),
        "to the middle": ([1.5, 0, 0], [0, 0, 0], right, 1.0),
        "past it": ([1.2, 1.3, 0], [1.1, -1.3, 0], none, -1.0),
        "away from it": ([0, 1.0, 0], [0, 1.2, 0], none, -1.0),
        "not yet there": ([0, 3.0, 0], [0, 1.2, 0], none, -1.0),
    }
    before, x, normals, depths = (np.array(column, float) for column in zip(*cases.values(), strict=True))
    contacts = detect([Sphere(1.0)], x, device, before=before)
    np.testing.assert_allclose(contacts.surface.numpy()["normal"].reshape(-1, 3), normals, atol=1e-6)
    np.testing.assert_allclose(contacts.depth.numpy(), depths, atol=1e-6)


def test_ways_into_a_sphere_are_those_that_sampling_finds(device):
    rng = np.random.default_rng(3)
    before = points_around(8000, 1)
    before = before[BALL.distance(before) > 0.01]
    x = (before + rng.normal(0.0, 0.8, before.shape)).astype(np.float32).astype(np.float64)
    ways = before + np.linspace(0, 1, 200)[:, None, None] * (x - before)
    least = BALL.distance(ways.reshape(-1, 3)).reshape(200, -1).min(axis=0)
    contacts = detect([BALL], x, device, before=before)
    found = contacts.depth.numpy() >= 0
    surely, never = least < -0.01, least > 0.005
    assert found[surely].all() and not found[never].any()
    assert np.count_nonzero(surely) > 300 and np.count_nonzero(never) > 300
    normal = contacts.surface.numpy()["normal"].reshape(-1, 3)
    assert np.all(np.einsum("ij,ij->i", normal, x - before)[found] < 0)


def test_only_the_part_of_the_velocity_along_the_surface_counts(device):
    ball = Sphere(1.0, velocity=(2.0, 0.0, 0.0))
    data = detect([ball], [[0, 0.9, 0], [0.9, 0, 0]], device).surface.numpy()
    np.testing.assert_allclose(data["velocity"].reshape(-1, 3), [[2, 0, 0], [0, 0, 0]], atol=1e-6)


def test_slots_follow_the_order_of_the_scene(device):
    colliders = [Sphere(0.5), Plane((0, 0.4, 0)), Sphere(0.5, (5, 0, 0)), Plane((0, -9, 0))]
    found = detect(colliders, [[0, 0.3, 0], [5, 0.3, 0], [9, 9, 9]], device).read()
    assert list(zip(found.particle.tolist(), found.collider.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 1), (1, 2)]


# ---- bodies -----------------------------------------------------------------------------------------------------


def block_scene(position=(0.0, 0.0, 0.0), method="mass_spring", gravity=STILL, **settings):
    scene = Scene(gravity=gravity, substeps=settings.pop("substeps", None), calibrate="off")
    scene.add_body(shapes.box((0.2, 0.2, 0.2), 3), CALM, method=method, position=position, name="block")
    if settings:
        scene.configure(method, **settings)
    return scene


@pytest.mark.parametrize("method", ["mass_spring", "shape_matching"])
def test_a_body_comes_to_rest_in_a_bowl(method, device):
    scene = block_scene((0.0, -0.35, 0.0), method, (0.0, -9.81, 0.0))
    scene.add_sphere(0.6, inside=True)
    sim = build(scene, device)
    sim.frame(90)
    distance = scene.colliders[0].distance(sim.positions())
    assert distance.min() > -1e-4 and distance.min() < 1e-3
    assert np.abs(sim.velocities()).max() < 0.1


@pytest.mark.parametrize("method", ["mass_spring", "shape_matching"])
def test_what_is_fast_does_not_jump_through(method, device):
    scene = block_scene((0.0, 0.5, 0.0), method, substeps=60 if method == "mass_spring" else 1)
    scene.add_sphere(0.15, friction=0.0)
    sim = build(scene, device)
    speed = 60.0 if method == "shape_matching" else 20.0
    sim.set_state("block", velocities=np.tile([0.0, -speed, 0.0], (len(sim.positions()), 1)))
    sim.frame(1)
    # some corners pass beside the ball, nothing is inside it, and the middle was stopped on top
    x = sim.positions()
    assert scene.colliders[0].distance(x).min() > -1e-4
    middle = np.linalg.norm(scene.bodies[0].mesh.vertices[:, [0, 2]], axis=1) < 0.05
    assert middle.any() and x[middle, 1].min() > 0.0


# ---- moving -----------------------------------------------------------------------------------------------------


def moving(device, **options):
    scene = block_scene(**{"substeps": 20, **options})
    scene.add_sphere(0.1, (0.0, -500.0, 0.0), name="poke", friction=0.0)
    return build(scene, device)


def test_a_sphere_glides_to_its_place_within_a_frame(device):
    pipeline = Pipeline([Plane((0, -9, 0)), Sphere(0.5, (1, 2, 3), name="s")], 1, device)
    contacts = Contacts(1, 2, device)
    pipeline.move("s", (2.0, 2.0, 3.0), steps=4, duration=0.1)
    x, other = put([[50, 0, 0]], device), put([[50, 0, 0]], device)
    seen = []
    for _ in range(6):
        pipeline.detect(x, contacts, before=other)
        pose = pipeline.poses.pose.numpy()[0]
        seen.append((pipeline.now("s").position[0], pose["inv_dt"] * pose["step"][0]))
    np.testing.assert_allclose(seen, [(1.25, 10), (1.5, 10), (1.75, 10), (2, 10), (2, 0), (2, 0)], atol=1e-6)


def test_a_way_is_seen_from_the_moving_sphere(device):
    """A still particle that a sphere passes over in one step is met in front of it."""
    pipeline = Pipeline([Sphere(0.5, name="s")], 2, device)
    contacts = Contacts(2, 1, device)
    pipeline.move("s", (4.0, 0.0, 0.0), steps=1, duration=0.1)
    x, before = (put([[2.0, 0, 0], [2.0, 0.6, 0]], device) for _ in range(2))
    pipeline.detect(x, contacts, before=before)
    np.testing.assert_allclose(contacts.depth.numpy(), [2.5, -1.0], atol=1e-5)
    plane = contacts.surface.numpy()[0]
    np.testing.assert_allclose(plane["normal"], [1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(plane["velocity"], [40, 0, 0], atol=1e-3)


@pytest.mark.parametrize("method", ["mass_spring", "shape_matching"])
def test_a_moved_sphere_pushes_a_body_along_without_a_new_recording(method, device):
    sim = moving(device, method=method)
    sim.move_collider("poke", (-0.3, 0.0, 0.0))
    sim.frame()
    programs = dict(sim._programs)
    sim.move_collider("poke", (-0.21, 0.0, 0.0), (0.0, 0.0, 0.0))
    assert sim.collider("poke").position == pytest.approx((-0.21, 0.0, 0.0))
    for k in range(30):
        sim.move_collider("poke", (-0.2 + 0.02 * k, 0.0, 0.0))
        sim.frame()
        assert sim.collider("poke").distance(sim.positions()).min() > -1e-3
    assert sim._programs == programs
    assert sim.collider("poke").position == pytest.approx((0.38, 0.0, 0.0), abs=1e-6)
    # it goes ahead of the ball, which has 1.2 m/s; drag slows it and the ball hits it again
    assert sim.positions()[:, 0].mean() > 0.38 + 0.1
    assert 0.5 < sim.velocities()[:, 0].mean() < 1.5


def test_a_jump_pushes_nothing_away(device):
    sim = moving(device)
    calm = sim.positions()
    # from far below to far above, through the body
    sim.move_collider("poke", (0.0, 500.0, 0.0))
    sim.frame(2)
    sim.move_collider("poke", (0.0, LONGEST_GLIDE * 0.1 + 0.4, 0.0))
    sim.frame()
    sim.move_collider("poke", (0.0, -0.4, 0.0), velocity=(0.0, 0.0, 0.0))
    sim.frame()
    np.testing.assert_allclose(sim.positions(), calm, atol=1e-5)
    assert np.abs(sim.velocities()).max() < 1e-3


def test_a_stated_velocity_carries_bodies_along_until_the_next_move(device):
    scene = block_scene((0.0, 0.11, 0.0), gravity=(0.0, -9.81, 0.0), substeps=20)
    scene.add_sphere(100.0, (0.0, -100.0, 0.0), name="world", friction=1.0)
    sim = build(scene, device)
    sim.frame(10)
    sim.move_collider("world", (0.0, -100.0, 0.0), velocity=(0.5, 0.0, 0.0))
    sim.frame(40)
    assert sim.velocities()[:, 0].mean() == pytest.approx(0.5, rel=0.1)
    sim.move_collider("world", (0.0, -100.0, 0.0))
    sim.frame(40)
    assert abs(sim.velocities()[:, 0].mean()) < 0.05


def test_a_sphere_of_almost_no_size_can_grow(device):
    sim = moving(device)
    sim.move_collider("poke", (0.0, -0.2, 0.0), radius=SMALLEST)
    sim.frame()
    sim.move_collider("poke", (0.0, -0.2, 0.0))
    sim.move_collider("poke", (0.0, -0.2, 0.0), radius=0.12)
    assert sim.collider("poke").radius == pytest.approx(0.12)
    sim.frame()
    assert sim.collider("poke").distance(sim.positions()).min() > -1e-4
    assert sim.positions()[:, 1].min() < -0.05


def test_a_checkpoint_and_the_time_of_stages_know_where_it_glides(tmp_path, device):
    sim, other = moving(device), moving(device)
    for k in range(3):
        sim.move_collider("poke", (-0.2 + 0.05 * k, 0.0, 0.0))
        sim.frame()
    sim.move_collider("poke", (0.05, 0.0, 0.0))
    save_checkpoint(sim, tmp_path / "a.ckpt")
    load_checkpoint(other, tmp_path / "a.ckpt")
    other.stage_times(1)
    assert bits(sim) == bits(other)
    assert other.collider("poke").position == sim.collider("poke").position
    for s in (sim, other):
        s.frame(3)
    assert bits(sim) == bits(other)
    assert sim.collider("poke").position == pytest.approx((0.05, 0.0, 0.0))


def test_only_spheres_can_be_moved_and_only_to_where_something_can_be(device):
    scene = block_scene()
    scene.add_plane((0, -5, 0), name="plane")
    scene.add_sphere(0.1, (0, -2, 0), name="poke")
    sim = build(scene, device)
    before = bits(sim)
    with pytest.raises(InputError, match="a plane cannot be moved"):
        sim.move_collider("plane", (0, 0, 0))
    with pytest.raises(InputError, match="The colliders are: plane, poke"):
        sim.move_collider("ball", (0, 0, 0))
    for bad in ({"position": (0, np.nan, 0)}, {"velocity": (1e9, 0, 0)}, {"radius": 0.0}, {"radius": "big"}):
        with pytest.raises(InputError):
            sim.move_collider("poke", **{"position": (0, 0, 0), **bad})
    assert bits(sim) == before
    assert sim.collider("plane").kind == "plane"


# ---- scenes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", [{"radius": 0.0}, {"radius": "1"}, {"position": (0, 0)}, {"velocity": (1e9, 0, 0)}, {"inside": 1}]
)
def test_bad_spheres_are_refused(bad):
    with pytest.raises(InputError):
        Sphere(**bad)


def test_scene_files_have_spheres(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(
        'version = 1\n[[body]]\nshape = { kind = "ball", radius = 0.2, cells = 2 }\nposition = [0, 1, 0]\n'
        '[[sphere]]\nname = "ball"\nradius = 0.4\nposition = [0, 0.1, 0]\nvelocity = [1, 0, 0]\nfriction = 0.9\n'
        "[[sphere]]\nradius = 3\ninside = true\n"
    )
    first, second = load_scene(path).scene.colliders
    assert (first.name, first.radius, first.position, first.velocity) == ("ball", 0.4, (0.0, 0.1, 0.0), (1.0, 0.0, 0.0))
    assert first.surface.friction == 0.9 and not first.inside
    assert second.inside and second.radius == 3.0 and second.name
