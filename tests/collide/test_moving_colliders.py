"""Colliders on paths and moved by hand: where they are, how fast, what they carry, and what files hold of it."""

import dataclasses

import numpy as np
import pytest
from bodies import STILL, bits, build
from detecting import detect, put

from pliant import InputError, Scene, load_checkpoint, save_checkpoint, shapes
from pliant.collide.contacts import Contacts
from pliant.collide.pipeline import Pipeline
from pliant.collide.shapes.box import Box
from pliant.collide.shapes.capsule import Capsule
from pliant.collide.shapes.mesh import Mesh
from pliant.collide.shapes.plane import Plane
from pliant.collide.shapes.sphere import Sphere
from pliant.mesh.surface import SurfaceMesh
from pliant.motion import MotionPath
from pliant.run import open_recording
from pliant.scene_file import load_scene, load_tables
from pliant.scene_file.python_code import python_code

KEYS = [(0.0, (0, 0, 0)), {"time": 0.5, "offset": (0.4, 0.1, 0.0), "rotation": (0, 0, 60)}, (1.0, (0.4, 0.3, 0.2))]
TABLE = SurfaceMesh(shapes.box((1.0, 0.1, 1.0), 2).vertices, shapes.box((1.0, 0.1, 1.0), 2).surface())
KINDS = {
    "sphere": Sphere(0.3, (0.2, 0.1, 0.0), path=KEYS),
    "capsule": Capsule(0.1, (-0.3, 0, 0), (0.5, 0.2, 0.1), path=KEYS),
    "box": Box((0.4, 0.2, 0.6), (0.1, 0, 0), (0, 30, 0), path=KEYS),
    "mesh": Mesh(TABLE, (0.1, 0.0, 0.0), (0, 30, 0), 0.5, path=KEYS),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_a_path_is_exact_at_the_ends_of_frames_and_straight_between(kind, device):
    collider = dataclasses.replace(KINDS[kind], name="c")
    path = collider.motion
    points, triangles = collider.triangles()
    pipeline = Pipeline([collider], 1, device)
    contacts, x, before = Contacts(1, 1, device), put([[9, 9, 9]], device), put([[9, 9, 9]], device)
    for frame in range(8):
        begin, end = 0.125 * frame, 0.125 * (frame + 1)
        pipeline.aim(begin, end, 5)
        for step in range(1, 6):
            pipeline.detect(x, contacts, before=before)
            # the keys are at the ends of frames, so a path about its own center is the same in every step
            wanted = path.moved(points, begin + 0.025 * step)
            if kind != "sphere":  # which looks the same however it is turned
                np.testing.assert_allclose(pipeline.now("c").triangles()[0], wanted, atol=2e-6)
            matrix, shift = pipeline.pose("c")
            np.testing.assert_allclose(points @ matrix.T + shift, wanted, atol=2e-6)
        np.testing.assert_allclose(pipeline.pose_at("c", end)[0], pipeline.pose("c")[0], atol=1e-6)
    still = dataclasses.replace(KINDS[kind], path=None)
    assert still.motion is None and repr(still) != repr(KINDS[kind])
    np.testing.assert_array_equal(still.triangles()[1], triangles)


@kinds
def test_contacts_see_where_it_is_and_how_fast(kind, device):
    collider = dataclasses.replace(KINDS[kind], name="c")
    rng = np.random.default_rng(0)
    x = collider.motion.at(0.29)[1] + rng.uniform(-0.5, 0.7, (6000, 3))
    pipeline = Pipeline([collider], len(x), device)
    pipeline.aim(0.25, 0.3, 4)
    for _ in range(3):
        found = detect([collider], x, device, before=x, pipeline=pipeline)
    now = pipeline.now("c")
    distance = now.distance(x)
    touching = found.depth[:, 0] >= 0
    # what the collider swept over counts too
    assert touching[distance < -1e-5].all() and np.count_nonzero(distance < 0) > 30
    deep = touching & (distance < -1e-3)
    # velocity of the surface at the place where it leads out, from the path itself
    place = x - found.gap[:, :1] * found.normal[:, 0]
    path, t, h = collider.motion, 0.25 + 0.05 * 0.75, 1e-5
    later, sooner = path.at(t + h), path.at(t - h)
    home = (place - path.at(t)[1]) @ path.at(t)[0]
    velocity = ((home @ later[0].T + later[1]) - (home @ sooner[0].T + sooner[1])) / (2 * h)
    np.testing.assert_allclose(found.velocity[deep, 0], velocity[deep], atol=0.02)


@pytest.mark.parametrize("kind", ["box", "mesh"])
def test_a_turntable_carries_a_body(kind, device):
    """A quarter turn in half a second, held by friction."""
    scene = Scene(substeps=16)
    scene.add_body(shapes.box((0.1, 0.05, 0.1), 1), position=(0.2, 0.025, 0.0), method="shape_matching", name="block")
    keys = [{"time": 0.0}, {"time": 0.25, "rotation": (0, 45, 0)}, {"time": 1.0, "rotation": (0, 210, 0)}]
    if kind == "box":
        scene.add_box((1.0, 0.1, 1.0), (0, -0.05, 0), friction=100.0, path=keys)
    else:
        scene.add_mesh_collider(TABLE, (0, -0.05, 0), friction=100.0, path=keys)
    sim = build(scene, device)
    sim.frame(30)
    turn = np.radians(45.0 + 165.0 / 3.0)
    middle = sim.positions().mean(axis=0)
    angle = np.arctan2(-middle[2], middle[0])
    assert angle == pytest.approx(turn, abs=0.05)
    assert np.hypot(middle[0], middle[2]) == pytest.approx(0.2, abs=0.01)
    assert sim.positions()[:, 1].min() > -1e-4


def test_a_lift_carries_a_body_up_and_along(device):
    scene = Scene(substeps=10)
    scene.add_body(shapes.box((0.1, 0.1, 0.1), 1), position=(0, 0.05, 0), method="shape_matching", name="block")
    scene.add_box((1.0, 0.1, 1.0), (0, -0.05, 0), path=[(0.0, (0, 0, 0)), (1.0, (0.5, 0.3, 0))])
    sim = build(scene, device)
    sim.frame(60)
    np.testing.assert_allclose(sim.positions().mean(axis=0), [0.5, 0.35, 0.0], atol=0.02)
    np.testing.assert_allclose(sim.velocities().mean(axis=0), [0.5, 0.3, 0.0], atol=0.05)


@kinds
def test_every_movable_kind_is_moved_by_hand(kind, device):
    scene = Scene(gravity=STILL, substeps=10)
    scene.add_body(shapes.box((0.2, 0.2, 0.2), 2), position=(0, 2, 0), method="shape_matching", name="block")
    scene.add_collider(dataclasses.replace(KINDS[kind], path=None, name="c"))
    sim = build(scene, device)
    center = KINDS[kind].center
    for k in range(1, 21):
        sim.move_collider("c", center + [0, 0.1 * k, 0], rotation=(0, 4.5 * k, 0))
        sim.frame()
    now = sim.collider("c")
    np.testing.assert_allclose(now.center, center + [0, 2, 0], atol=1e-6)
    turn = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    wanted = (KINDS[kind].triangles()[0] - center) @ turn.T + now.center
    if kind != "sphere":
        np.testing.assert_allclose(now.triangles()[0], wanted, atol=1e-5)
    assert now.distance(sim.positions()).min() > -1e-4
    assert sim.velocities()[:, 1].mean() > 3.0


@kinds
def test_a_checkpoint_goes_on_bit_for_bit(kind, tmp_path, device):
    def made():
        scene = Scene(substeps=8)
        scene.add_body(shapes.box((0.2, 0.2, 0.2), 2), position=(0.2, 0.5, 0), name="block")
        scene.add_plane((0, -0.2, 0))
        scene.add_collider(dataclasses.replace(KINDS[kind], name="led"))
        scene.add_collider(dataclasses.replace(KINDS[kind], path=None, name="moved"))
        return build(scene, device)

    sim, other = made(), made()
    sim.frame(3)
    sim.move_collider("moved", (0.1, 0.2, 0.0))
    sim.frame(2)
    sim.move_collider("moved", (0.15, 0.25, 0.0), rotation=(0, 0, 20))
    save_checkpoint(sim, tmp_path / "a.ckpt")
    sim.frame(6)
    load_checkpoint(other, tmp_path / "a.ckpt")
    other.frame(6)
    assert bits(sim) == bits(other)
    np.testing.assert_array_equal(sim.collider("moved").triangles()[0], other.collider("moved").triangles()[0])


@kinds
def test_a_recorded_frame_is_the_frame_step_by_step(kind, device):
    def made():
        scene = Scene(substeps=6)
        scene.add_body(shapes.box((0.2, 0.2, 0.2), 2), position=(0.2, 0.5, 0), name="block")
        scene.add_collider(dataclasses.replace(KINDS[kind], name="led"))
        return build(scene, device)

    sim, eager = made(), made()
    sim.frame(4)
    for _ in range(4):
        eager.pins.aim(eager.time + eager.frame_dt)
        eager.pipeline.aim(eager.time, eager.time + eager.frame_dt, eager.substeps)
        eager._issue_frame()
        eager.frame_number += 1
    assert bits(sim) == bits(eager)


def test_contact_forces_and_stage_times_change_nothing(device):
    scene = Scene(substeps=6)
    scene.add_body(shapes.box((0.1, 0.1, 0.1), 1), position=(0, 0.05, 0), method="shape_matching", name="block")
    scene.add_box((1.0, 0.1, 1.0), (0, -0.05, 0), path=[(0.0, (0, 0, 0)), (1.0, (0.5, 0.3, 0))], name="lift")
    sim, other = build(scene, device), build(scene, device)
    for s in (sim, other):
        s.frame(20)
    found, force = sim.contact_forces()
    sim.stage_times(1)
    assert len(found) and force[:, 1].sum() == pytest.approx(9.81 * sim.model.particles.mass.sum(), rel=0.3)
    sim.frame(5)
    other.frame(5)
    assert bits(sim) == bits(other)


def test_bad_paths_are_named():
    with pytest.raises(InputError, match=r"'c'\.path.*scale"):
        Sphere(0.5, name="c", path=[{"time": 0, "scale": 2.0}])
    with pytest.raises(InputError, match=r"'c'\.path"):
        Capsule(0.5, name="c", path=[(1, (0, 0, 0)), (0, (0, 0, 0))])
    scene = Scene()
    scene.add_body(shapes.box((0.1, 0.1, 0.1), 1), method="shape_matching")
    scene.add_sphere(0.1, (0, -1, 0), path=[(0, (0, 0, 0))], name="led")
    scene.add_box((0.1, 0.1, 0.1), (0, -1, 0), name="box")
    sim = scene.build("cpu")
    with pytest.raises(InputError, match="follows a path"):
        sim.move_collider("led", (0, 0, 0))
    with pytest.raises(InputError, match="radius of a box"):
        sim.move_collider("box", (0, 0, 0), radius=0.3)


def test_a_path_may_turn_about_any_point(device):
    path = MotionPath(np.array([0.0, 1.0]), np.zeros((2, 3)), np.array([[0, 0, 0], [0, np.pi / 2, 0]]))
    pipeline = Pipeline([Sphere(0.1, (1, 0, 0), name="s", path=path)], 1, device)
    pipeline.aim(0.5, 1.0, 1)
    detect([], [[0, 5, 0]], device, before=[[0, 5, 0]], pipeline=pipeline)
    np.testing.assert_allclose(pipeline.now("s").position, [0, 0, -1], atol=1e-6)


# ---- thickness --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plane", "heightmap", "box", "sphere", "capsule", "mesh"])
@pytest.mark.parametrize("margin", [0.0, 0.004])
def test_every_kind_keeps_a_sheet_off_by_half_its_thickness(kind, margin, device):
    from pliant import PRESETS

    cloth = dataclasses.replace(PRESETS["soft_rubber"], thickness=0.02, drag=5.0)
    scene = Scene(substeps=30)
    sheet = SurfaceMesh([[-0.1, 0, -0.1], [0.1, 0, -0.1], [0.1, 0, 0.1], [-0.1, 0, 0.1]], [[0, 2, 1], [0, 3, 2]])
    scene.add_body(sheet, cloth, position=(0, 0.03, 0), name="sheet")
    flat = SurfaceMesh(shapes.box((2.0, 0.2, 2.0), 2).vertices, shapes.box((2.0, 0.2, 2.0), 2).surface())
    from pliant.collide.collider import Surface
    from pliant.collide.shapes.heightmap import Heightmap
    from pliant.collide.shapes.plane import PlaneSurface

    surface = Surface(margin=margin)
    made = {
        "plane": lambda: Plane(surface=PlaneSurface(margin=margin)),
        "heightmap": lambda: Heightmap(np.zeros((3, 3)), surface=surface),
        "box": lambda: Box((2, 0.2, 2), (0, -0.1, 0), surface=surface),
        "sphere": lambda: Sphere(50.0, (0, -50.0, 0), surface=surface),
        "capsule": lambda: Capsule(50.0, (-1, -50.0, 0), (1, -50.0, 0), surface=surface),
        "mesh": lambda: Mesh(flat, (0, -0.1, 0), surface=surface),
    }
    scene.add_collider(made[kind]())
    sim = build(scene, device)
    np.testing.assert_allclose(sim.model.particles.radius, 0.01)
    sim.frame(40)
    height = scene.colliders[0].distance(sim.positions().astype(np.float64))
    np.testing.assert_allclose(height, 0.01 + margin, atol=1e-3)


# ---- files ------------------------------------------------------------------------------------------------------

FILE = """version = 1

[scene]
substeps = 4

[[body]]
shape = {kind = "ball", radius = 0.2, cells = 2}
position = [0, 1.0, 0]

[[sphere]]
name = "ball"
radius = 0.2
path = [[0, [0, 0, 0]], {time = 1, offset = [0.6, 0, 0], rotation = [0, 90, 0]}]

[[capsule]]
name = "bar"
radius = 0.05
start = [0, 0, -1]
end = [0, 0, 1]
friction = 0.2
margin = 0.01

[[box]]
size = [1, 0.1, 1]
margin = 0.002
path = [{time = 0, offset = [0, -1, 0]}]

[[mesh]]
name = "shape"
file = "shape.ply"
position = [2, 0, 0]
scale = 0.5
thickness = 0.01
path = [[0, [0, 0, 0]], [1, [0, 0.6, 0]]]

[[mesh]]
name = "sample"
file = "SAMPLE"
position = [-4, 0, 0]
solid = true

[film]
size = [48, 32]
samples = 1
"""


@pytest.fixture
def scene_file(tmp_path):
    from pliant.mesh.assets import asset_names
    from pliant.mesh.io import write_mesh

    write_mesh(TABLE, tmp_path / "shape.ply")
    path = tmp_path / "scene.toml"
    path.write_text(FILE.replace("SAMPLE", sorted(asset_names())[0]))
    return path


def test_a_file_and_its_program_are_the_same_scene(scene_file, monkeypatch):
    import tomllib

    colliders = load_scene(scene_file).scene.colliders
    assert [c.kind for c in colliders] == ["box", "capsule", "mesh", "mesh", "sphere"]
    tables = tomllib.loads(scene_file.read_text())
    again = load_tables(tables, scene_file.parent).scene.colliders
    assert repr(again) == repr(colliders)
    code = python_code(tables).split("sim = scene.build()")[0]
    monkeypatch.chdir(scene_file.parent)
    names = {}
    exec(code, names)
    assert sorted(map(repr, names["scene"].colliders)) == sorted(map(repr, colliders))


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("radius = 0.05", "radius = 0", ["capsule[0].radius", "0"]),
        ('file = "shape.ply"', 'file = "sea.ply"', ["mesh[0].file", "sea.ply"]),
        ('file = "shape.ply"\n', "", ["mesh[0]", "file"]),
        ("[1, [0, 0.6, 0]]", "{time = 1, scale = 2}", ["mesh[0].path", "scale"]),
        ("[1, [0, 0.6, 0]]", "[-1, [0, 0.6, 0]]", ["mesh[0].path", "rise"]),
        ("margin = 0.01", "margin = -1", ["capsule[0].margin", "-1"]),
    ],
)
def test_what_is_wrong_in_a_file_is_named(scene_file, old, new, says):
    text = scene_file.read_text()
    assert old in text
    scene_file.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_scene(scene_file)
    assert all(word in str(caught.value) for word in says), str(caught.value)


def test_a_recording_and_its_exports_show_colliders_where_they_are(scene_file, tmp_path):
    from pliant.run.export import recorded_clip
    from pliant.run.recording import Stage, film_settings, start_recording
    from pliant.run.seen import recorded_positions

    loaded = load_scene(scene_file)
    sim = loaded.scene.build("cpu", estimate_step=False)
    path = tmp_path / "a.plf"
    with start_recording(path, sim, loaded) as writer:
        for frame in range(7):
            writer.add(frame, frame / 60, recorded_positions(sim))
            sim.frame()
            if frame == 3:
                sim.move_collider("bar", (0.0, 0.5, 0.0))
    with open_recording(path) as reader:
        clip = recorded_clip(reader)
        names = [body.name for body in clip.bodies]
        assert set(names[1:]) == {"ball", "bar", "shape", "box0"} and [m.name for m in clip.still] == ["sample"]
        last = clip.positions(6)
        ball = loaded.scene.colliders[-1]
        assert ball.name == "ball"
        centre = last[names.index("ball")].mean(axis=0)
        np.testing.assert_allclose(centre, ball.motion.moved(np.zeros((1, 3)), 0.1)[0], atol=1e-5)
        assert last[names.index("bar")][:, 1].mean() == pytest.approx(0.5, abs=1e-5)
        stage = Stage(reader, film_settings(reader), "cpu")
        assert (stage.draw(reader[0][2]) != stage.draw(reader[6][2])).any()
