"""Heightmaps: heights from files and by formula, distance, contacts, and bodies that lie on hills and slopes."""

import dataclasses
import math
import sys

import numpy as np
import pytest
import warp as wp
from bodies import build

from pliant import PRESETS, InputError, Scene, shapes
from pliant.collide.contacts import Contacts
from pliant.collide.heights import hills, read_heights
from pliant.collide.pipeline import Pipeline
from pliant.collide.shapes.heightmap import Heightmap
from pliant.errors import MissingExtraError

SIZE = (4.0, 6.0)
PLACE = (0.5, 1.0, -0.3)


def slope(x=0.0, z=0.0, **keywords):
    """A heightmap that is one even slope, height 1 in its middle."""
    u, w = np.linspace(-2, 2, 9), np.linspace(-3, 3, 5)[:, None]
    return Heightmap(x * u + z * w, SIZE, PLACE, **keywords)


def rolling(**keywords):
    return Heightmap(hills(SIZE, 0.4, 2.0, seed=5, cells=48), SIZE, PLACE, **keywords)


def detect(collider, x, device, margin=0.0):
    pipeline = Pipeline([collider], len(x), device)
    contacts = Contacts(len(x), 1, device)
    pipeline.detect(wp.array(np.asarray(x, np.float32), dtype=wp.vec3, device=device), contacts, margin)
    return contacts


def points_near(collider, count, reach=0.3, spread=1.0, seed=0):
    """Random points up to `reach` above and below the ground, as float32 sees them."""
    rng = np.random.default_rng(seed)
    x = np.zeros((count, 3))
    for axis, side in ((0, 0), (2, 1)):
        x[:, axis] = collider.position[axis] + 0.5 * spread * collider.size[side] * rng.uniform(-1, 1, count)
    x[:, 1] = collider.ground(x)[0] + rng.uniform(-reach, reach, count)
    return x.astype(np.float32).astype(np.float64)


def test_heights_lie_as_they_are_written():
    """Row 0 is at the least z, column 0 at the least x; between the points heights are bilinear."""
    collider = Heightmap([[0.0, 1.0, 2.0], [10.0, 11.0, 16.0]], (2.0, 4.0), (1.0, 100.0, 2.0), scale=0.5)
    x, z = (a.ravel() for a in np.meshgrid([0.0, 1.0, 2.0, 0.5, 1.5], [0.0, 4.0, 2.0]))
    height, _ = collider.ground(np.stack([x, 0 * x, z], 1))
    rows = np.array([[0, 1, 2, 0.5, 1.5], [10, 11, 16, 10.5, 13.5], [5, 6, 9, 5.5, 7.5]])
    np.testing.assert_allclose(height, 100 + 0.5 * rows.ravel())


@pytest.mark.parametrize("x, z", [(0.0, 0.0), (0.7, 0.0), (-0.3, 1.2)])
def test_distance_to_an_even_slope_is_that_to_its_plane(x, z):
    points = points_near(slope(), 200, reach=1.0, spread=0.6)
    normal = np.array([-x, 1.0, -z]) / math.sqrt(1 + x * x + z * z)
    np.testing.assert_allclose(slope(x, z).distance(points), (points - PLACE) @ normal, atol=1e-12)


def test_distance_near_hills_is_that_to_their_surface():
    collider = rolling()
    u, w = np.linspace(-2, 2, 401), np.linspace(-3, 3, 601)
    samples = np.zeros((len(u) * len(w), 3))
    samples[:, 0], samples[:, 2] = np.tile(u, len(w)) + PLACE[0], np.repeat(w, len(u)) + PLACE[2]
    samples[:, 1] = collider.ground(samples)[0]
    points = points_near(collider, 40, reach=0.05, spread=0.9)
    nearest = np.array([np.linalg.norm(samples - p, axis=1).min() for p in points])
    found = collider.distance(points)
    np.testing.assert_allclose(np.abs(found), nearest, atol=4e-3)
    np.testing.assert_array_equal(found < 0, points[:, 1] < collider.ground(points)[0])


def test_beyond_the_rim_there_is_nothing_or_the_rim_goes_on(device):
    x = np.array([[3.0, -50.0, 0.0], [0.0, -50.0, 4.0], [3.0, 2.2, 0.0], [0.5, -50.0, 0.0]])
    ends, goes_on = slope(0.5), slope(0.5, extend=True)
    np.testing.assert_allclose(ends.distance(x)[:3], [0.5, 1.3, math.hypot(0.5, 0.2)])
    np.testing.assert_array_equal(detect(ends, x, device).depth.numpy() >= 0, [False, False, False, True])
    # level across the rim, and still sloping along it
    np.testing.assert_allclose(goes_on.distance(x)[[0, 2]], [-52.0, 0.2])
    assert goes_on.distance(x)[1] == pytest.approx(-50.75 / math.hypot(1, 0.5))
    np.testing.assert_array_equal(detect(goes_on, x, device).depth.numpy() >= 0, [True, True, False, True])


@pytest.mark.parametrize("margin", [0.0, 0.05])
@pytest.mark.parametrize("extend", [False, True])
def test_the_device_finds_what_the_distance_says(margin, extend, device):
    collider = rolling(extend=extend)
    points = points_near(collider, 3000, spread=1.3)
    distance = collider.distance(points)
    past = np.abs(points[:, [0, 2]] - np.array(PLACE)[[0, 2]]) - 0.5 * np.array(SIZE)
    there = np.full(len(points), True) if extend else np.all(past < 0, axis=1)
    clear = (np.abs(distance - margin) > 1e-5) & np.all(np.abs(past) > 1e-5, axis=1)
    contacts = detect(collider, points, device, margin)
    depth = contacts.depth.numpy()
    np.testing.assert_array_equal((depth >= 0)[clear], ((distance <= margin) & there)[clear])
    found = clear & (depth >= 0)
    planes = contacts.surface.numpy()
    normal, offset = planes["normal"].reshape(-1, 3)[found].astype(np.float64), planes["offset"][found]
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-5)
    way = offset - np.einsum("ij,ij->i", normal, points[found])
    np.testing.assert_allclose(np.maximum(way, 0.0), depth[found], atol=3e-6)
    # a step across the plane ends outside, and near the surface
    after = collider.distance(points[found] + way[:, None] * normal)
    inside = way > 0
    assert after[inside].min() > -1e-5 and after[inside].max() < 0.05
    slopes = collider.ground(points[found])[1]
    own = np.stack([-slopes[:, 0], np.ones(len(slopes)), -slopes[:, 1]], 1)
    own /= np.linalg.norm(own, axis=1)[:, None]
    along = np.einsum("ij,ij->i", own, normal) > 1 - 1e-4
    assert np.mean(along) > 0.98 and np.all(normal[~along] == [0, 1, 0])


def test_a_valley_does_not_trap_what_went_deep(device):
    """The normal of a steep side leads into the other one: the way out is up."""
    valley = Heightmap([[3.0, 0.0, 3.0], [3.0, 0.0, 3.0]], (2.0, 2.0))
    x = np.array([[-0.1, -0.5, 0.0], [0.2, -2.0, 0.3], [0.0, -1000.0, 0.0]])
    contacts = detect(valley, x, device)
    planes = contacts.surface.numpy()
    after = x + contacts.depth.numpy()[:, None] * planes["normal"].reshape(-1, 3)
    assert np.abs(after[:, [0, 2]]).max() <= 1.0
    assert valley.distance(after).min() > -1e-4


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30])
def test_positions_that_make_no_sense_do_no_harm(bad, device):
    x = np.array([[bad, 0, 0], [0, bad, 0], [0, 0, bad], [bad, bad, bad], [0.5, 0.9, -0.3]])
    for extend in (False, True):
        assert detect(slope(extend=extend), x, device).depth.numpy()[-1] == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("integrator", ["symplectic", "implicit"])
def test_a_ball_comes_to_rest_in_a_dip(integrator, device):
    u = np.linspace(-1, 1, 33)
    scene = Scene()
    scene.configure("mass_spring", integrator=integrator)
    calm = dataclasses.replace(PRESETS["soft_rubber"], drag=3.0)
    scene.add_body(shapes.ball(0.2, 3), calm, position=(0.3, 0.5, 0.1), name="ball")
    scene.add_heightmap(0.4 * (u**2 + u[:, None] ** 2), (2.0, 2.0), friction=1.0)
    sim = build(scene, device)
    assert not sim.can_fuse()
    ground = scene.colliders[0]
    for _ in range(180):
        sim.frame()
        # friction shortens the way along the tangent plane, which may end below the ground of the next cell
        assert ground.distance(sim.positions()).min() > -1e-3
    assert np.abs(sim.velocities()).mean() < 0.05
    assert np.abs(sim.positions().mean(axis=0)[[0, 2]]).max() < 0.1
    assert ground.distance(sim.positions()).min() < 1e-3


@pytest.mark.parametrize("friction, holds", [(0.2, False), (0.6, True)])
def test_friction_on_a_slope_is_coulombs(friction, holds, device):
    """As in the example on planes: tan(20 degrees) = 0.364."""
    tangent = math.tan(math.radians(20.0))
    u = np.linspace(-5, 5, 41)
    scene = Scene()
    material = dataclasses.replace(PRESETS["rubber"], friction=friction**2, restitution=0.0)
    normal = np.array([-math.sin(math.radians(20)), math.cos(math.radians(20)), 0])
    scene.add_body(shapes.box((0.3, 0.15, 0.3), (4, 2, 4)), material, position=0.075 * normal, rotation=(0, 0, 20))
    scene.add_heightmap(tangent * np.tile(u, (5, 1)), (10.0, 4.0), friction=1.0)
    sim = build(scene, device)
    start = sim.positions().mean(axis=0)
    sim.frame(30)
    moved = float(np.linalg.norm(sim.positions().mean(axis=0) - start))
    if holds:
        assert moved < 0.003
    else:
        pull = 9.81 * (math.sin(math.radians(20)) - friction * math.cos(math.radians(20)))
        assert moved == pytest.approx(0.5 * pull * 0.25, rel=0.1)


def test_nothing_is_too_fast_for_the_ground(device):
    """At 2 km/s a substep leads far below: it is put back all the same."""
    scene = Scene(gravity=(0, 0, 0), substeps=8)
    scene.add_body(shapes.box(0.1, 1), "soft_rubber", position=(0, 1.5, 0), velocity=(0, -2000.0, 0))
    scene.add_collider(rolling())
    sim = build(scene, device)
    sim.frame(3)
    assert scene.colliders[0].distance(sim.positions()).min() > -1e-3


def test_hills_are_smooth_and_follow_from_their_seed():
    heights = hills((8.0, 4.0), 0.5, 2.0, seed=7)
    assert heights.shape == (33, 65) and np.abs(heights).max() == pytest.approx(0.5)
    np.testing.assert_array_equal(heights, hills((8.0, 4.0), 0.5, 2.0, seed=7))
    assert np.abs(heights - hills((8.0, 4.0), 0.5, 2.0, seed=8)).max() > 0.1
    # no slope is steeper than that of one wave which has all the height
    assert np.abs(np.diff(heights, axis=1)).max() / 0.125 < 0.5 * 2 * math.pi / (2.0 * 0.7)


def test_triangles_are_the_surface():
    collider = rolling()
    points, triangles = collider.triangles()
    np.testing.assert_allclose(collider.distance(points), 0.0, atol=1e-12)
    corners = points[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.all(normal[:, 1] > 0) and 0.5 * normal[:, 1].sum() == pytest.approx(SIZE[0] * SIZE[1])
    big = Heightmap(np.zeros((1200, 3)), (1.0, 1.0))
    assert len(big.triangles()[1]) == 2 * 512 * 2


def test_repr_tells_heights_apart():
    grid = np.zeros((300, 300))
    one = Heightmap(grid, name="a")
    grid[150, 150] = 1e-9
    other = Heightmap(grid, name="a")
    assert repr(one) != repr(other) and one != other and len(repr(one)) < 500
    assert one.heights[150, 150] == 0.0, "the caller's array is not ours"
    assert repr(one) == repr(Heightmap(np.zeros((300, 300)), name="a"))
    assert repr(Heightmap(np.zeros((2, 8)))) != repr(Heightmap(np.zeros((4, 4))))


def test_files_give_the_heights_back(tmp_path):
    grid = np.random.default_rng(0).uniform(size=(5, 7))
    np.save(tmp_path / "a.npy", grid)
    np.savetxt(tmp_path / "a.txt", grid)
    np.savetxt(tmp_path / "a.csv", grid, delimiter=",")
    (tmp_path / "semicolon.csv").write_text("# heights\n1;2\n\n3;4\n")
    np.testing.assert_array_equal(read_heights(tmp_path / "a.npy"), grid)
    np.testing.assert_allclose(read_heights(tmp_path / "a.txt"), grid, rtol=1e-15)
    np.testing.assert_allclose(read_heights(str(tmp_path / "a.csv")), grid, rtol=1e-15)
    np.testing.assert_array_equal(read_heights(tmp_path / "semicolon.csv"), [[1, 2], [3, 4]])


def test_pictures_give_heights_from_black_to_white(tmp_path):
    image = pytest.importorskip("PIL.Image")
    fine = np.array([[0, 65535, 1000], [40000, 1, 2]], np.uint16)
    coarse = np.array([[0, 255, 3], [4, 5, 6]], np.uint8)
    image.fromarray(fine).save(tmp_path / "fine.png")
    image.fromarray(coarse).save(tmp_path / "coarse.png")
    image.fromarray(np.repeat(coarse[..., None], 3, axis=2)).save(tmp_path / "rgb.png")
    np.testing.assert_allclose(read_heights(tmp_path / "fine.png"), fine / 65535)
    np.testing.assert_allclose(read_heights(tmp_path / "coarse.png"), coarse / 255)
    np.testing.assert_allclose(read_heights(tmp_path / "rgb.png"), coarse / 255)


def test_a_picture_without_pillow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    (tmp_path / "a.png").write_bytes(b"anything")
    with pytest.raises(MissingExtraError, match="film"):
        read_heights(tmp_path / "a.png")


def bad_files(folder):
    """Files that cannot be used, by what is wrong with them."""
    texts = {"empty.csv": "", "ragged.csv": "1,2\n3\n", "word.txt": "1 2\n3 four\n", "comment.txt": "# nothing\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "binary.csv").write_bytes(bytes(range(256)))
    np.save(folder / "whole.npy", np.zeros((50, 50)))
    data = (folder / "whole.npy").read_bytes()
    (folder / "torn.npy").write_bytes(data[: len(data) // 2])
    (folder / "greedy.npy").write_bytes(data.replace(b"(50, 50)", b"(99, 99)"))
    np.save(folder / "words.npy", np.array([["a", "b"], ["c", "d"]]))
    np.save(folder / "objects.npy", np.array([{}, None]), allow_pickle=True)
    (folder / "nothing.npy").write_bytes(b"")
    (folder / "heights.xyz").write_text("1 2\n3 4\n")
    (folder / "folder.csv").mkdir()
    return [*texts, "binary.csv", "torn.npy", "greedy.npy", "words.npy", "objects.npy", "nothing.npy", "heights.xyz",
            "folder.csv", "missing.png", "missing.npy"]  # fmt: skip


def test_bad_files_are_one_clear_error(tmp_path):
    for name in bad_files(tmp_path):
        with pytest.raises(InputError) as error:
            read_heights(tmp_path / name)
        assert error.value.where == str(tmp_path / name) and error.value.what and error.value.remedy, name


def test_torn_pictures_are_one_clear_error(tmp_path):
    image = pytest.importorskip("PIL.Image")
    image.fromarray((255 * np.random.default_rng(0).uniform(size=(64, 64))).astype(np.uint8)).save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    for k, torn in enumerate((b"", data[:4], data[:20], data[:60], data[: len(data) // 2], b"GIF89a" + data)):
        path = tmp_path / f"{k}.png"
        path.write_bytes(torn)
        with pytest.raises(InputError) as error:
            read_heights(path)
        assert error.value.where == str(path) and error.value.remedy


@pytest.mark.parametrize(
    "keywords, where, says",
    [
        ({"heights": [[1, 2], [3, np.nan]]}, "heights", "row 1, column 1"),
        ({"heights": [[1, 2], [np.inf, 4]]}, "heights", "row 1, column 0"),
        ({"heights": [[1, 2, 3]]}, "heights", "(1, 3)"),
        ({"heights": [[1], [2]]}, "heights", "(2, 1)"),
        ({"heights": [1, 2, 3]}, "heights", "(3,)"),
        ({"heights": [[1, 2], [3]]}, "heights", "not numbers"),
        ({"heights": [["a", "b"], ["c", "d"]]}, "heights", "not numbers"),
        ({"heights": 3}, "heights", "()"),
        ({"size": (1, -1)}, "size", "-1"),
        ({"size": (0, 1)}, "size", "0"),
        ({"size": (1, 2, 3)}, "size", "(1, 2, 3)"),
        ({"size": "big"}, "size", "big"),
        ({"size": (1, 1e9)}, "size", "out of range"),
        ({"position": (0, np.nan, 0)}, "position", "nan"),
        ({"scale": np.nan}, "scale", "nan"),
        ({"scale": 1e9}, "scale", "4e+09"),
        ({"extend": "yes"}, "extend", "yes"),
    ],
)
def test_bad_heightmaps_are_refused(keywords, where, says):
    with pytest.raises(InputError) as error:
        Scene().add_heightmap(**{"heights": [[1, 2], [3, 4]], **keywords})
    assert error.value.where == f"collider 'heightmap0'.{where}" and says in error.value.what and error.value.remedy


@pytest.mark.parametrize("keywords", [{"amplitude": -1}, {"wavelength": 0}, {"seed": -1}, {"cells": 0}, {"size": 3}])
def test_bad_hills_are_refused(keywords):
    with pytest.raises(InputError, match="hills"):
        hills(**keywords)


def test_ground_from_a_picture_has_its_slopes_as_normals(tmp_path, device):
    """A picture that brightens along x and darkens along z: a slope of 0.5 and one of -0.25."""
    image = pytest.importorskip("PIL.Image")
    u, w = np.meshgrid(np.arange(17) / 16, np.arange(9) / 8)
    image.fromarray((65535 * (0.25 + 0.5 * u - 0.25 * w)).astype(np.uint16)).save(tmp_path / "ground.png")
    scene = Scene()
    scene.add_body(shapes.sheet((0.2, 0.2), 2), "soft_rubber", position=(0, 0.6, 0), velocity=(0, -3, 0))
    scene.add_heightmap(tmp_path / "ground.png", (1.0, 1.0))
    wanted = np.array([-0.5, 1.0, 0.25]) / np.linalg.norm([-0.5, 1.0, 0.25])
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.4, 0.4, (200, 3)) + [0.0, 0.375, 0.0]
    height = 0.375 + 0.5 * points[:, 0] - 0.25 * points[:, 2]
    np.testing.assert_allclose(scene.colliders[0].distance(points), (points[:, 1] - height) * wanted[1], atol=1e-4)
    sim = scene.build(device)
    for _ in range(12):
        sim.frame()
        found = sim.contact_list()
        np.testing.assert_allclose(found.normal, np.tile(wanted, (len(found), 1)), atol=2e-3)
        assert scene.colliders[0].distance(sim.positions().astype(np.float64)).min() > -1e-4
    assert len(found)
