"""Sets of half-spaces: distances, contacts against brute force, rooms and funnels, pictures, files, errors."""

import dataclasses

import numpy as np
import pytest
from bodies import build, rotation
from detecting import detect

from pliant import PRESETS, InputError, Scene, shapes
from pliant.collide.shapes.box import Box
from pliant.collide.shapes.halfspaces import Halfspaces
from pliant.scene_file import load_tables
from pliant.scene_file.python_code import python_code

CALM = dataclasses.replace(PRESETS["soft_rubber"], drag=3.0)


def random_planes(count, seed=0, size=0.4):
    """Planes around the origin, which make a bounded solid if they are many."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    return np.column_stack([normal, rng.uniform(0.5 * size, size, count)])


def cube(half):
    return np.column_stack([np.concatenate([np.eye(3), -np.eye(3)]), np.full(6, half)])


SETS = {
    "cube": cube(0.3),
    "one": [[0.2, 1.0, 0.1, 0.1]],
    "slab": [[0, 1, 0, 0.0005], [0, -1, 0, 0.0005]],
    "wedge": [[1, 1, 0, 0], [-1, 1, 0, 0]],
    "prism": [[1, 1, 0, 0.3], [-1, 1, 0, 0.3], [0, -1, 0, 0.1]],
    "pyramid": [[0, -1, 0, 0], [1, 1, 0, 0.5], [-1, 1, 0, 0.5], [0, 1, 1, 0.5], [0, 1, -1, 0.5]],
    "many": random_planes(40).tolist(),
    "most": random_planes(64, 3).tolist(),
}
PLACE = {"position": (0.1, -0.2, 0.3), "rotation": (20.0, 40.0, -30.0)}
sets = pytest.mark.parametrize("which", SETS)


def projected(planes, points, sweeps=4000):
    """The nearest points of the solid, by Dykstra's alternating projections."""
    planes = np.asarray(planes, float)
    planes = planes / np.linalg.norm(planes[:, :3], axis=1)[:, None]
    y = points.copy()
    carried = np.zeros((len(planes), *points.shape))
    for _ in range(sweeps // len(planes) + 200):
        for k, (a, b, c, d) in enumerate(planes):
            z = y + carried[k]
            over = np.maximum(z @ [a, b, c] - d, 0.0)
            y = z - over[:, None] * [a, b, c]
            carried[k] = z - y
    return y


def points_around(count, seed=0, size=0.7):
    return np.random.default_rng(seed).uniform(-size, size, (count, 3))


@sets
def test_distance_is_that_to_the_nearest_point(which):
    points = points_around(150)
    found = Halfspaces(SETS[which]).distance(points)
    outside = found > 0
    nearest = projected(SETS[which], points[outside])
    np.testing.assert_allclose(found[outside], np.linalg.norm(points[outside] - nearest, axis=1), atol=2e-4)
    planes = np.asarray(SETS[which], float)
    planes = planes / np.linalg.norm(planes[:, :3], axis=1)[:, None]
    np.testing.assert_allclose(found[~outside], (points @ planes[:, :3].T - planes[:, 3]).max(axis=1)[~outside])
    room = Halfspaces(SETS[which], inside=True)
    np.testing.assert_array_equal(room.distance(points), -found)


def test_a_cube_is_a_box_wherever_it_stands():
    solid, box = Halfspaces(cube(0.3), **PLACE), Box((0.6, 0.6, 0.6), PLACE["position"], PLACE["rotation"])
    points = points_around(500, 2, 1.0)
    np.testing.assert_allclose(solid.distance(points), box.distance(points), atol=1e-9)
    # the length of a normal does not matter
    np.testing.assert_allclose(Halfspaces(7.0 * cube(0.3), **PLACE).distance(points), box.distance(points), atol=1e-9)


@sets
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_the_device_finds_what_the_distance_says(which, inside, margin, device):
    solid = Halfspaces(SETS[which], **PLACE, inside=inside)
    points = (points_around(800, 1) + PLACE["position"]).astype(np.float32).astype(np.float64)
    distance = solid.distance(points)
    clear = np.abs(distance - margin) > 1e-5
    found = detect([solid], points, device, margin)
    touching = found.depth[:, 0] >= 0
    np.testing.assert_array_equal(touching[clear], (distance <= margin)[clear])
    # what is put back is on the surface, and gets there by the shortest way but for a corner of several planes
    gap, normal = found.gap[touching], found.normal[touching, 0]
    after = points[touching] - gap * normal
    if not inside:
        np.testing.assert_allclose(gap[:, 0], distance[touching], atol=5e-6)
        np.testing.assert_allclose(solid.distance(after), 0.0, atol=1e-5)
    else:
        assert np.abs(solid.distance(after)).max() < 2e-3
        # of many planes, those that meet where it is nearest to a point far outside are not always found
        assert np.mean(np.abs(gap[:, 0] - distance[touching]) < 1e-5) > (0.8 if len(solid.planes) > 6 else 0.999)
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-5)


@pytest.mark.parametrize("which", ["slab", "prism", "many"])
def test_ways_into_it_are_those_that_sampling_finds(which, device):
    solid = Halfspaces(SETS[which])
    rng = np.random.default_rng(3)
    before = points_around(1500, 4)
    before = before[solid.distance(before) > 0.01]
    x = (before + rng.normal(0.0, 0.5, before.shape)).astype(np.float32).astype(np.float64)
    share = np.linspace(0, 1, 400)[:, None, None]
    least = solid.distance((before + share * (x - before)).reshape(-1, 3)).reshape(400, -1).min(axis=0)
    found = detect([solid], x, device, before=before)
    touching = found.depth[:, 0] >= 0
    surely, never = least < (-0.02 if which != "slab" else -1e-5), least > 5e-3
    if which == "slab":  # sampling can miss what is thinner than its steps
        surely, never = before[:, 1] * x[:, 1] < 0, before[:, 1] * x[:, 1] > 0.01
    assert touching[surely].all() and not touching[never].any()
    assert np.count_nonzero(surely) > 30 and np.count_nonzero(never) > 30
    assert np.all(np.einsum("ij,ij->i", found.normal[:, 0], x - before)[touching] < 0)
    # and it ends on the side from which it came
    after = x - found.gap * found.normal[:, 0]
    if which == "slab":
        assert (after[touching, 1] * before[touching, 1] > 0).all()


def test_a_ball_rests_on_a_pyramid_and_cloth_does_not_pass_a_slab(device):
    scene = Scene()
    scene.add_body(shapes.ball(0.2, 3), CALM, position=(0, 0.8, 0), name="ball")
    scene.add_halfspaces(SETS["pyramid"], name="pyramid")
    scene.add_plane()
    sim = build(scene, device)
    for _ in range(40):
        sim.frame()
        assert scene.colliders[0].distance(sim.positions().astype(np.float64)).min() > -1e-5
    scene = Scene()
    cloth = {"method": "baraff_witkin", "position": (0, 0.1, 0), "velocity": (0, -10, 0)}
    scene.add_body(shapes.sheet((0.3, 0.3), 5), "cotton", **cloth)
    scene.add_halfspaces(SETS["slab"])
    sim = build(scene, device)
    sim.frame(10)
    assert sim.positions()[:, 1].min() > 0.0005


@pytest.mark.parametrize("method", ["mass_spring", "shape_matching", "xpbd"])
def test_a_funnel_keeps_what_falls_into_it(method, device):
    """Four slanted walls and a floor, open above."""
    walls = [[1, -1, 0, 0.1], [-1, -1, 0, 0.1], [0, -1, 1, 0.1], [0, -1, -1, 0.1], [0, -1, 0, 0.0]]
    scene = Scene()
    scene.add_body(shapes.box(0.15, 2), CALM, method=method, position=(0.1, 0.6, 0.05), velocity=(1, -5, 2), name="b")
    scene.add_halfspaces(walls, inside=True, friction=0.1)
    sim = build(scene, device)
    for _ in range(60):
        sim.frame()
        assert scene.colliders[0].distance(sim.positions().astype(np.float64)).min() > -1e-3
    assert sim.positions()[:, 1].min() < 0.05 and len(sim.contact_list())


def test_it_moves_along_a_path_and_by_hand(device):
    scene = Scene(substeps=10)
    scene.add_body(shapes.box((0.1, 0.1, 0.1), 1), position=(0, 0.05, 0), method="shape_matching", name="block")
    table = [[0, 1, 0, 0.05], [0, -1, 0, 0.05], [1, 0, 0, 0.5], [-1, 0, 0, 0.5], [0, 0, 1, 0.5], [0, 0, -1, 0.5]]
    lift = [(0.0, (0, 0, 0)), (1.0, (0.5, 0.3, 0))]
    scene.add_halfspaces(table, (0, -0.05, 0), path=lift, name="lift")
    scene.add_halfspaces(table, (5, 0, 0), name="hand")
    sim = build(scene, device)
    for k in range(60):
        sim.move_collider("hand", (5, 0.01 * k, 0), rotation=(0, 0, 1.5 * k))
        sim.frame()
    np.testing.assert_allclose(sim.positions().mean(axis=0), [0.5, 0.35, 0.0], atol=0.02)
    now = sim.collider("hand")
    turned = (np.array(now.planes)[:, :3]) @ now.turn().T
    wanted = np.array(table, float)[:, :3] @ rotation((0, 0, 1), np.radians(1.5 * 59)).T
    np.testing.assert_allclose(turned, wanted, atol=1e-5)


@sets
def test_triangles_are_the_closed_surface(which):
    solid = Halfspaces(SETS[which], **PLACE)
    points, triangles = solid.triangles()
    corners = points[triangles]
    np.testing.assert_allclose(solid.distance(points), 0.0, atol=1e-9)
    middles = corners.mean(axis=1)
    np.testing.assert_allclose(solid.distance(middles), 0.0, atol=1e-9)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (solid.distance(middles + 1e-4 * normal / np.linalg.norm(normal, axis=1)[:, None]) > 0).all()
    if solid.is_bounded:
        shifted = corners - np.array(solid.position)
        volume = np.einsum("ij,ij->i", shifted[:, 0], np.cross(shifted[:, 1], shifted[:, 2])).sum() / 6
        inside = points_around(200_000, 5, 1.0)
        planes = np.array(solid.planes)
        share = np.mean((inside @ planes[:, :3].T <= planes[:, 3]).all(axis=1))
        assert volume == pytest.approx(8.0 * share, rel=0.05)
    else:
        assert which in ("one", "slab", "wedge", "prism")
    room, faces = Halfspaces(SETS[which], inside=True).triangles()
    if len(faces):
        seen = room[faces]
        assert (np.cross(seen[:, 1] - seen[:, 0], seen[:, 2] - seen[:, 0])[:, 1] > 0).all()


@pytest.mark.parametrize(
    "planes, says",
    [
        ([], "shape"),
        ([[0, 1, 0]], "shape"),
        ([[0, 0, 0, 1]], "direction"),
        ([[0, np.nan, 0, 1]], "finite"),
        ([[0, 1, 0, 1e9]], "far"),
        ("many", "rows"),
        ([[0, 1, 0, -1], [0, -1, 0, -1]], "no point"),
        ([[0, 1, 0, 1], [0, -1, 0, -1]], "flat"),
        ([[1, 1, 0, -1], [-1, 1, 0, -1], [0, -1, 0, 0.5]], "no point"),
        ([[0, 1, 0, 1]] * 65, "shape"),
    ],
)
def test_bad_sets_are_refused(planes, says):
    with pytest.raises(InputError) as error:
        Scene().add_halfspaces(planes)
    assert error.value.where == "collider 'halfspaces0'.planes" and says in error.value.what and error.value.remedy


def test_far_away_and_needle_shaped_sets_are_taken():
    assert Halfspaces([[0, 1, 0, -50.0]]).distance(np.array([[0.0, 0, 0]]))[0] == pytest.approx(50.0)
    needle = Halfspaces([[0.001, 1, 0, -1], [0.001, -1, 0, 0.9]])
    assert needle.distance(np.array([[-1e3, -1.0, 0]]))[0] < 0


TABLES = {
    "version": 1,
    "body": [{"shape": {"kind": "box"}}],
    "halfspaces": [
        {"planes": [[0, 1, 0, 0.1], [1, 0, 0, 0.5]], "inside": True, "static_friction": 0.9, "position": [0, 1, 0]},
        {"name": "led", "path": [[0, [0, 0, 0]], [1, [0, 1, 0]]]},
    ],
}


def test_scene_files_and_their_programs_have_them(tmp_path):
    colliders = load_tables(TABLES, tmp_path).scene.colliders
    assert [c.kind for c in colliders] == ["halfspaces"] * 2 and colliders[0].inside
    assert colliders[0].surface.holding == 0.9 and len(colliders[1].planes) == 5
    names = {}
    exec(python_code({**TABLES, "halfspaces": TABLES["halfspaces"][:1]}).split("sim = scene.build()")[0], names)
    assert repr(names["scene"].colliders) == repr(colliders[:1])


@pytest.mark.parametrize("planes", [[[0, 1, 0]], [["a", 1, 0, 0]], 3, [[0, 1, 0, 1], [0, -1, 0, -2]]])
def test_what_is_wrong_in_a_file_is_named(planes, tmp_path):
    with pytest.raises(InputError) as error:
        load_tables({**TABLES, "halfspaces": [{"planes": planes}]}, tmp_path)
    assert "halfspaces" in error.value.where and "planes" in error.value.where
