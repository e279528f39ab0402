"""Colliders in scenes, scene files, checkpoints, recordings and pictures; the two ways to answer a contact."""

import dataclasses
import json

import jsonschema
import numpy as np
import pytest
import warp as wp
from bodies import build

from pliant import InputError, Scene, load_checkpoint, save_checkpoint, shapes
from pliant.cli import main
from pliant.collide.collider import Collider
from pliant.collide.heights import hills
from pliant.collide.shapes import collider_classes
from pliant.collide.shapes.box import Box
from pliant.collide.shapes.capsule import Capsule
from pliant.collide.shapes.halfspaces import Halfspaces
from pliant.collide.shapes.heightmap import Heightmap
from pliant.collide.shapes.mesh import Mesh
from pliant.collide.shapes.plane import Plane
from pliant.collide.shapes.sphere import Sphere
from pliant.collide.solids import recorded_solids
from pliant.export.frames import FramesReader, FramesWriter
from pliant.launch import launch
from pliant.physics.contact import PlaneData
from pliant.run import open_recording
from pliant.scene_file import load_scene, scene_schema
from pliant.solvers.common.contact_response import resolve_contacts, resolve_penalty

FILE = """version = 1

[scene]
frames = 4
substeps = 12

[[body]]
shape = { kind = "ball", radius = 0.2, cells = 2 }
position = [0, 0.45, 0]

[[box]]
name = "block"
size = [1, 0.5, 2]
position = [0, -0.1, 0]
rotation = [0, 30, 0]
friction = 0.9

[[box]]
size = [4, 4, 4]
inside = true

[[heightmap]]
file = "ground.npy"
size = [6, 8]
scale = 0.5
position = [0, -2, 0]
extend = true
restitution = 0.25

[[heightmap]]
kind = "hills"
amplitude = 0.1
wavelength = 1.5
seed = 4
position = [0, -3, 0]

[[plane]]
point = [0, -5, 0]

[film]
size = [48, 32]
samples = 1
"""


@pytest.fixture
def scene_file(tmp_path):
    np.save(tmp_path / "ground.npy", hills((6, 8), 0.3, 3.0, cells=20))
    path = tmp_path / "scene.toml"
    path.write_text(FILE)
    return path


def test_every_kind_is_found_and_complete():
    kinds = collider_classes()
    standing = {"heightmap": Heightmap, "plane": Plane}
    moving = {"box": Box, "capsule": Capsule, "halfspaces": Halfspaces, "mesh": Mesh, "sphere": Sphere}
    assert kinds == {**moving, **standing}
    assert {kind for kind, cls in kinds.items() if not cls.movable} == standing.keys()
    for kind, cls in kinds.items():
        assert cls.kind == kind and issubclass(cls, Collider) and cls.meaning and dataclasses.is_dataclass(cls)


def test_a_file_says_what_the_scene_has(scene_file, tmp_path):
    block, room, ground, hilly, floor = load_scene(scene_file).scene.colliders
    assert (block.name, block.size, block.rotation, block.inside) == ("block", (1, 0.5, 2), (0, 30, 0), False)
    assert (block.surface.friction, room.inside, room.name) == (0.9, True, "box1")
    assert (ground.size, ground.scale, ground.extend, ground.surface.restitution) == ((6, 8), 0.5, True, 0.25)
    np.testing.assert_array_equal(ground.heights, np.load(tmp_path / "ground.npy"))
    np.testing.assert_array_equal(hilly.heights, hills((10, 10), 0.1, 1.5, 4))
    assert isinstance(floor, Plane) and floor.name == "plane4"
    # the same scene in Python is the same simulation, as its fingerprint says
    scene = Scene(substeps=12)
    scene.add_body(shapes.ball(0.2, 2), position=(0, 0.45, 0))
    scene.add_box((1, 0.5, 2), (0, -0.1, 0), rotation=(0, 30, 0), friction=0.9, name="block")
    scene.add_box((4, 4, 4), inside=True)
    scene.add_heightmap(tmp_path / "ground.npy", (6, 8), (0, -2, 0), scale=0.5, extend=True, restitution=0.25)
    scene.add_heightmap(hills((10, 10), 0.1, 1.5, 4), position=(0, -3, 0))
    scene.add_plane((0, -5, 0))
    assert repr(scene.colliders) == repr(load_scene(scene_file).scene.colliders)


def test_the_schema_takes_the_file(scene_file):
    import tomllib

    schema = scene_schema()
    jsonschema.validate(tomllib.loads(FILE), schema)
    for wrong in (FILE.replace("inside = true", "inside = 1"), FILE.replace('kind = "hills"', 'kind = "dunes"')):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(tomllib.loads(wrong), schema)


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("size = [1, 0.5, 2]", "size = [1, -0.5, 2]", ["box[0].size", "-0.5"]),
        ("size = [1, 0.5, 2]", "size = [1, 2]", ["box[0].size", "[1, 2]"]),
        ("inside = true", "inside = 3", ["box[1].inside", "true or false"]),
        ("inside = true", 'name = "block"', ["box[1]", "taken"]),
        ("inside = true", "outside = true", ["box[1].outside", "inside"]),
        ('"ground.npy"', '"sea.npy"', ["heightmap[0].file", "sea.npy", "no such file"]),
        ('"ground.npy"', '"ground.npy"\nseed = 3', ["heightmap[0].seed", "hills"]),
        ('file = "ground.npy"', "extend = false", ["heightmap[0]", "file, kind"]),
        ('kind = "hills"', 'kind = "dunes"', ["heightmap[1].kind", "hills"]),
        ('kind = "hills"', 'kind = "hills"\nfile = "ground.npy"', ["heightmap[1]", "both file and kind"]),
        ("amplitude = 0.1", "amplitude = -1", ["heightmap[1].amplitude", "above 0"]),
        ("size = [6, 8]", "size = [6, -8]", ["heightmap[0].size", "-8"]),
        ("size = [6, 8]", "size = [6, 8, 1]", ["heightmap[0].size", "3 entries"]),
        ("friction = 0.9", "friction = -1", ["box[0].friction", "-1"]),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(scene_file, old, new, says):
    assert FILE.count(old) == 1 or old == "extend = true"
    text = FILE.replace("extend = true\n", "") if new == "extend = false" else FILE
    scene_file.write_text(text.replace(old, new))
    with pytest.raises(InputError) as error:
        load_scene(scene_file)
    for part in (str(scene_file), *says):
        assert part in str(error.value), (part, str(error.value))


def test_heights_that_are_not_finite_name_the_file_key(scene_file, tmp_path):
    np.save(tmp_path / "ground.npy", np.array([[1.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(InputError, match=r"heightmap\[0\].*row 0, column 1"):
        load_scene(scene_file)


def test_a_start_inside_is_told():
    scene = Scene(gravity=(0, 0, 0), substeps=10)
    scene.add_body(shapes.box(0.2, 1), name="cube")
    scene.add_box((1, 0.1, 1), (0, 0.1, 0), name="lid")
    scene.add_box((0.3, 0.3, 0.3), (0.1, 0, 0), inside=True, name="cell")
    scene.add_heightmap([[0.0, 0.0], [0.0, 0.0]], (1, 1), (0, -0.05, 0), name="ground")
    scene.add_box((1, 1, 1), (5, 0, 0), name="far")
    with pytest.warns(UserWarning, match="inside") as found:
        scene.build("cpu", estimate_step=False)
    told = " ".join(str(warning.message) for warning in found)
    for name, depth in (("lid", "0.05"), ("cell", "0.05"), ("ground", "0.05")):
        assert f"{depth} m inside '{name}'" in told
    assert "far" not in told


def test_any_collider_can_be_added_and_is_named_once():
    scene = Scene()
    scene.add_collider(Box())
    scene.add_collider(Box(name="mine"))
    scene.add_collider(Heightmap(np.zeros((2, 2))))
    assert [c.name for c in scene.colliders] == ["box0", "mine", "heightmap2"]
    with pytest.raises(InputError, match="taken"):
        scene.add_collider(Box(name="mine"))
    with pytest.raises(InputError, match="no collider"):
        scene.add_collider("floor")


def test_a_collider_of_the_users_own_takes_part(device):
    """A class is enough; this one borrows the kernel of planes, and has slots of its own."""

    @dataclasses.dataclass(frozen=True)
    class Shelf(Plane):
        kind = "shelf"

    scene = Scene()
    scene.add_body(shapes.box(0.2, 2), position=(0, 0.3, 0))
    scene.add_collider(Box((1, 0.1, 1), (9, 0, 0)))
    scene.add_collider(Shelf((0, 0.1, 0), name=""))
    assert scene.colliders[1].name == "shelf1"
    sim = build(scene, device)
    sim.frame(30)
    assert sim.positions()[:, 1].min() > 0.1 - 1e-6
    assert set(sim.contact_list().collider.tolist()) <= {1}


def two_things(height=0.0, device="cpu"):
    grid = np.zeros((5, 5))
    grid[2, 2] = height
    scene = Scene(substeps=12)
    scene.add_body(shapes.ball(0.2, 2), position=(0.4, 0.6, 0))
    scene.add_box((0.5, 0.4, 0.5), (0.4, 0.1, 0))
    scene.add_heightmap(grid, (4, 4))
    return build(scene, device)


def test_runs_are_the_same_to_the_bit_and_go_on_from_a_checkpoint(tmp_path, device):
    whole, half = two_things(device=device), two_things(device=device)
    whole.frame(20)
    half.frame(11)
    save_checkpoint(half, tmp_path / "a.ckpt")
    again = two_things(device=device)
    load_checkpoint(again, tmp_path / "a.ckpt")
    again.frame(9)
    assert again.positions().tobytes() == whole.positions().tobytes()
    with pytest.raises(InputError, match="another scene"):
        load_checkpoint(two_things(1e-9, device), tmp_path / "a.ckpt")


def test_a_run_with_every_kind_of_collider(scene_file, tmp_path):
    out = tmp_path / "out"
    assert main(["run", str(scene_file), "--out", str(out), "--film", str(out / "a.gif"), "--quiet"]) == 0
    assert (out / "a.gif").stat().st_size > 500


def recording_of(scene, path):
    """A recording of a scene as a run makes it, drawn small."""
    from pliant.run.recording import start_recording
    from pliant.run.seen import recorded_positions

    loaded = load_scene(scene)
    sim = loaded.scene.build("cpu", estimate_step=False)
    with start_recording(path, sim, loaded) as writer:
        for frame in range(2):
            writer.add(frame, frame / 60, recorded_positions(sim))
            sim.frame()
    return path


def test_a_recording_shows_its_colliders(scene_file, tmp_path):
    from pliant.run.recording import Stage, film_settings

    path = recording_of(scene_file, tmp_path / "a.plf")
    with open_recording(path) as reader:
        kinds = [(solid["name"], solid["kind"]) for solid in reader.meta["solids"]]
        assert kinds == [("block", "box"), ("box1", "box"), ("heightmap2", "heightmap"), ("heightmap3", "heightmap")]
        points, triangles = recorded_solids(reader.arrays)
        block = load_scene(scene_file).scene.colliders[0]
        first, end = reader.meta["solids"][0]["triangles"]
        assert end - first == 12 and np.abs(block.distance(points[triangles[:12]].reshape(-1, 3))).max() < 1e-6
        with_them = Stage(reader, film_settings(reader), "cpu").draw(reader[0][2])
        reader.arrays = {k: a for k, a in reader.arrays.items() if not k.startswith("solid_")}
        without = Stage(reader, film_settings(reader), "cpu").draw(reader[0][2])
    assert np.mean(np.any(with_them != without, axis=2)) > 0.1


def test_a_large_heightmap_is_recorded_and_drawn(tmp_path):
    np.save(tmp_path / "ground.npy", hills((6, 8), 0.3, 1.0, cells=255))
    path = tmp_path / "scene.toml"
    path.write_text(FILE)
    recording = str(recording_of(path, tmp_path / "a.plf"))
    film = tmp_path / "a.gif"
    assert main(["render", recording, "--film", str(film), "--size", "48", "32", "--device", "cpu", "--quiet"]) == 0
    assert film.stat().st_size > 500


BAD = {
    "no triangles": ("solid_triangles", None),
    "no vertices": ("solid_vertices", None),
    "whole numbers": ("solid_vertices", np.zeros((9, 3), np.int32)),
    "flat": ("solid_vertices", np.zeros(9, np.float32)),
    "not finite": ("solid_vertices", np.full((9, 3), np.nan, np.float32)),
    "fractions": ("solid_triangles", np.zeros((2, 3), np.float32)),
    "quads": ("solid_triangles", np.zeros((2, 4), np.int32)),
    "too large": ("solid_triangles", np.full((2, 3), 10**6, np.int32)),
    "negative": ("solid_triangles", np.full((2, 3), -1, np.int32)),
}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.replace(" ", "_"))
def test_bad_solids_in_a_recording_are_one_error(scene_file, tmp_path, case):
    name, array = BAD[case]
    good = recording_of(scene_file, tmp_path / "good.plf")
    with FramesReader(good) as reader:
        arrays = {**reader.arrays, name: array}
        arrays = {key: value for key, value in arrays.items() if value is not None}
        meta = {key: value for key, value in reader.meta.items() if key not in ("version", "arrays")}
        with FramesWriter(tmp_path / "bad.plf", json.loads(json.dumps(meta)), arrays) as writer:
            writer.add(*reader[0])
    with pytest.raises(InputError) as error:
        open_recording(tmp_path / "bad.plf").close()
    assert "solid_" in error.value.what and error.value.remedy


# ---- the two answers to a contact -----------------------------------------------------------------------------------


def one_plane(count, device, friction=0.25, velocity=(0.0, 0.0, 0.0)):
    data = PlaneData()
    data.normal, data.offset, data.velocity = (0.0, 1.0, 0.0), 0.0, velocity
    data.friction, data.restitution = friction, 0.0
    return wp.array([data] * count, dtype=PlaneData, device=device)


def respond(kernel, x, v, device, scalars, friction=1.0, inv_mass=1.0, velocity=(0.0, 0.0, 0.0), x_before=None):
    """Positions and velocities after a kernel answered the contacts with a floor at height zero."""
    x, v = np.atleast_2d(np.asarray(x, np.float32)), np.atleast_2d(np.asarray(v, np.float32))
    n = len(x)
    put = lambda a, t: wp.array(np.ascontiguousarray(a), dtype=t, device=device)
    depth = np.where(x[:, 1] <= 0, -x[:, 1], -1.0).astype(np.float32)
    constants, no_carry = [put(np.full((1, 2), friction, np.float32), wp.vec2)], []
    if kernel is resolve_contacts:
        constants.append(put(np.zeros(1, np.float32), float))
        no_carry = [None]
    x_out = put(x if x_before is None else np.atleast_2d(np.asarray(x_before, np.float32)), wp.vec3)
    v_out = wp.zeros(n, dtype=wp.vec3, device=device)
    contacts = [one_plane(n, device, velocity=velocity), put(depth, float), 1, put(np.zeros(n, np.int32), int)]
    weights = put(np.full(n, inv_mass, np.float32), float)
    launch(
        kernel,
        n,
        [*contacts, *constants, weights, put(x, wp.vec3), *no_carry, put(v, wp.vec3), *no_carry, *scalars],
        [x_out, *no_carry, v_out, *no_carry],
        device=device,
    )
    return x_out.numpy(), v_out.numpy()


def test_a_penalty_pushes_in_proportion_to_depth(device):
    x = [[0, -0.01, 0], [0, -0.02, 0], [0, 0.5, 0]]
    after, v = respond(resolve_penalty, x, np.zeros((3, 3)), device, [1e4, 0.0, 1e-3])
    np.testing.assert_array_equal(after, np.float32(x))
    np.testing.assert_allclose(v[:, 1], [0.1, 0.2, 0.0], rtol=1e-5)


def test_a_penalty_rubs_as_coulomb_says(device):
    """The contact's coefficient is sqrt(1 * 0.25) = 0.5, the push 0.1 m/s: up to 0.05 m/s are taken."""
    v = [[1, 0, 0], [0.03, 0, 0.04], [0, 0, 0.02]]
    _, after = respond(resolve_penalty, [[0, -0.01, 0]] * 3, v, device, [1e4, 0.0, 1e-3])
    np.testing.assert_allclose(after, [[0.95, 0.1, 0], [0, 0.1, 0], [0, 0.1, 0]], atol=1e-6)
    _, carried = respond(resolve_penalty, [[0, -0.01, 0]], [[0, 0, 0]], device, [1e4, 0.0, 1e-3], velocity=(0.04, 0, 0))
    np.testing.assert_allclose(carried, [[0.04, 0.1, 0]], atol=1e-6)


def test_the_damping_of_a_penalty_slows_and_never_pulls(device):
    v = [[0, -1, 0], [0, 0.05, 0], [0, 3, 0]]
    _, after = respond(resolve_penalty, [[0, -0.01, 0]] * 3, v, device, [1e4, 100.0, 1e-3])
    np.testing.assert_allclose(after[:, 1], [-1 + 0.1 + 0.1, 0.05 + 0.1 - 0.005, 3.0], rtol=1e-5)
    # however large, it takes no more than the approach
    _, after = respond(resolve_penalty, [[0, -1e-9, 0]], [[0, -1, 0]], device, [0.0, 1e9, 1e-3])
    np.testing.assert_allclose(after, 0.0, atol=1e-6)


def test_a_particle_on_a_penalty_floor_swings_and_keeps_its_energy(device):
    """Dropped onto it, it comes back to where it was let go; with damping it sinks in by g / stiffness."""
    dt, stiffness = 1e-3, 4e3
    for damping in (0.0, 60.0):
        x, v, highest = np.array([[0, 0.02, 0]]), np.zeros((1, 3)), []
        for _ in range(2000):
            v = v + [0, -9.81 * dt, 0]
            x, v = respond(resolve_penalty, x + dt * v, v, device, [stiffness, damping, dt])
            highest.append(x[0, 1])
        if damping:
            assert x[0, 1] == pytest.approx(-9.81 / stiffness, rel=0.02) and abs(v[0, 1]) < 1.1 * 9.81 * dt
        else:
            assert 0.015 < max(highest[1000:]) < 0.025


def test_pinned_particles_are_left_alone(device):
    for kernel, scalars in ((resolve_penalty, [1e4, 0.0, 1e-3]), (resolve_contacts, [0.01, 1e-3])):
        x, v = respond(kernel, [[0, -0.01, 0]], [[1, -1, 0]], device, scalars, inv_mass=0.0)
        np.testing.assert_allclose(np.concatenate([x, v]), [[0, -0.01, 0], [1, -1, 0]], rtol=1e-6)


def test_a_projection_puts_back_and_rubs(device):
    dt = 0.01
    before = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.5, 0.0]]
    v = np.array([[0.4, -1.0, 0.0], [2.0, -1.0, 0.0], [0.0, -1.0, 0.0]])
    x, after = respond(resolve_contacts, before + dt * v, v, device, [0.01, dt], x_before=before)
    # half of the change of normal speed can be taken: one sticks and stays, one slides on
    np.testing.assert_allclose(x, [[0, 0, 0], [0.015, 0, 0], [0, 0.49, 0]], atol=1e-6)
    np.testing.assert_allclose(after, [[0, 0, 0], [1.5, 0, 0], [0, -1, 0]], atol=1e-6)
