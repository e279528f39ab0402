"""Bodies that carry a surface: from any mesh to what is seen, frame by frame, in recordings and sequences."""

import dataclasses

import numpy as np
import pytest
from bodies import build

from pliant import BlowUpError, InputError, Material, Scene, shapes
from pliant.checkpoint import load_checkpoint, save_checkpoint
from pliant.cli import main
from pliant.mesh.assets import asset
from pliant.mesh.embed import embed
from pliant.mesh.io import read_surface, write_mesh
from pliant.mesh.look import Look, Paint
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import write_body
from pliant.model.particles import raise_light_masses
from pliant.run.recording import seen_look

BALL = shapes.ball(0.1, 4).surface_mesh()
SOFT = Material(density=1000.0, young=2e4, damping=1e-3)
RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)


def dressed(mesh=BALL):
    """Upper half red, lower half blue; left and right are parts; texture coordinates are x and z."""
    corners = mesh.vertices[mesh.triangles]
    middle = corners.mean(axis=1)
    look = Look(
        uv=(corners[:, :, [0, 2]] + 0.5).astype(np.float32),
        paints=(Paint("red", RED), Paint("blue", BLUE, "sea.png")),
        paint_of=(middle[:, 1] < 0.0).astype(np.int32),
        parts=("left", "right"),
        part_of=(middle[:, 0] > 0.0).astype(np.int32),
    )
    return dataclasses.replace(mesh, look=look)


def ball_scene(**options):
    scene = Scene()
    scene.add(dressed(), SOFT, tets=300, name="ball", **{"position": (0.0, 0.15, 0.0), **options})
    scene.add_plane()
    return scene


def expected_skin(sim, name="ball"):
    """Where the skin must be, by the embedding in float64."""
    body = sim.body(name)
    return body.embedding.apply(sim.state.x.numpy().astype(np.float64))


def check_follows(sim, name="ball"):
    assert np.allclose(sim.surface_positions(name), expected_skin(sim, name), atol=2e-6)


def test_any_mesh_becomes_a_skinned_body(device):
    scene = Scene()
    assert scene.add("small_bunny", SOFT, tets=500) == "body0"
    source = asset("small_bunny")
    sim = build(scene, device)
    assert len(sim.positions()) != len(source.vertices)
    assert np.allclose(sim.surface_positions(), source.vertices, atol=1e-6)
    assert np.array_equal(sim.surface(), source.triangles)
    assert sim.surface_colors().shape == (len(source.triangles), 3)
    assert any("% of the mass was moved" in note for note in sim.model.notes)
    sim.frame(3)
    check_follows(sim, "body0")
    # it fell
    assert sim.surface_positions()[:, 1].mean() < source.vertices[:, 1].mean() - 0.005


def test_without_a_skin_the_surface_is_the_bodys_own():
    scene = Scene()
    scene.add(BALL, SOFT, tets=300, skin=False, name="bare")
    scene.add_body(shapes.sheet(0.2, 4), SOFT, name="sheet", position=(1, 0, 0))
    sim = build(scene)
    for _ in range(2):
        for name in ("bare", "sheet", None):
            np.testing.assert_array_equal(sim.surface_positions(name), sim.positions(name))
        sim.frame(2)
    triangles = sim.surface("bare")
    x = sim.surface_positions("bare").astype(float)[triangles]
    volume = np.einsum("ij,ij->", x[:, 0], np.cross(x[:, 1], x[:, 2])) / 6.0
    assert volume == pytest.approx(BALL.volume(), rel=0.2)


def test_several_bodies_in_a_row():
    scene = ball_scene()
    scene.add_body(shapes.box(0.1, 1), SOFT, name="box", position=(0.5, 0.2, 0))
    scene.add("small_bunny", SOFT, tets=500, name="bunny", position=(1.0, 0.1, 0.0))
    sim = build(scene)
    sim.frame(2)
    parts = [sim.surface_positions(name) for name in ("ball", "box", "bunny")]
    np.testing.assert_array_equal(sim.surface_positions(), np.concatenate(parts))
    check_follows(sim, "ball")
    check_follows(sim, "bunny")
    triangles = sim.surface()
    first = np.cumsum([0, *(len(part) for part in parts)])
    start = 0
    for k, name in enumerate(("ball", "box", "bunny")):
        own = sim.surface(name)
        np.testing.assert_array_equal(triangles[start : start + len(own)], own + first[k])
        start += len(own)
    assert start == len(triangles)


def test_the_skin_follows_whatever_changes_the_state(tmp_path, device):
    sim = build(ball_scene(), device)
    sim.frame(20)
    check_follows(sim)
    save_checkpoint(sim, tmp_path / "c.ckpt")
    at_save = sim.surface_positions()
    x = sim.positions("ball")
    moved = x @ np.diag([1.2, 0.9, 1.1]).astype(np.float32) + np.float32(0.3)
    sim.set_state("ball", moved)
    check_follows(sim)
    # an affine change of the body is the same change of the skin
    assert np.allclose(sim.surface_positions(), at_save @ np.diag([1.2, 0.9, 1.1]) + 0.3, atol=1e-5)
    load_checkpoint(sim, tmp_path / "c.ckpt")
    np.testing.assert_array_equal(sim.surface_positions(), at_save)
    sim.frame(2)
    check_follows(sim)
    sim.stage_times(1)
    check_follows(sim)


def test_after_a_blow_up_the_skin_is_that_of_the_last_good_frame():
    sim = build(ball_scene())
    sim.frame(3)
    before = sim.surface_positions()
    v = np.full((len(sim.positions()), 3), 1e30, np.float32)
    sim.set_state("ball", velocities=v)
    with pytest.raises(BlowUpError):
        sim.frame()
    assert np.isfinite(sim.surface_positions()).all()
    np.testing.assert_array_equal(sim.surface_positions(), before)
    check_follows(sim)


def test_captured_equals_eager(device):
    captured, eager = build(ball_scene(), device), build(ball_scene(), device)
    for _ in range(5):
        captured.frame()
        eager.pins.aim(0.0)
        eager._issue_frame()
    np.testing.assert_array_equal(captured.positions(), eager.positions())
    np.testing.assert_array_equal(captured.surface_positions(), eager.skins.positions("ball"))


def test_rotation_and_position_act_on_both():
    still = Scene(gravity=(0, 0, 0))
    still.add("small_bunny", SOFT, tets=500, name="b", position=(1, 2, 3), rotation=(0, 0, 90))
    sim = build(still)
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    body = prepare("small_bunny", PrepareSettings(tets=500))
    assert np.allclose(sim.positions("b"), body.solid.vertices @ turn.T + [1, 2, 3], atol=1e-6)
    assert np.allclose(sim.surface_positions("b"), body.skin.vertices @ turn.T + [1, 2, 3], atol=1e-6)
    check_follows(sim, "b")


def test_pins_hold_vertices_of_the_solid():
    scene = ball_scene()
    solid = scene.bodies[0].mesh
    top = int(np.argmax(solid.vertices[:, 1]))
    assert scene.pin("ball", [top]) == 1
    with pytest.raises(InputError, match=f"{len(solid.vertices)} vertices"):
        scene.pin("ball", [len(solid.vertices)])
    sim = build(scene)
    sim.frame(10)
    assert np.allclose(sim.positions("ball")[top], solid.vertices[top], atol=1e-6)
    assert sim.positions("ball")[:, 1].min() < solid.vertices[:, 1].min() - 1e-3


def test_options_of_add():
    scene = Scene()
    scene.add(BALL, SOFT, tets=200, size=0.5, solid="lattice", name="cubes", velocity=(1, 0, 0))
    (entry,) = scene.bodies
    assert np.ptp(entry.skin.vertices, axis=0).max() == pytest.approx(0.5) and entry.spec.mass_shift == 0.0
    cover = shapes.box(0.05, 2).surface_mesh()
    scene.add(BALL, SOFT, tets=200, skin=cover, name="covered", mass_shift=0.2)
    assert len(scene.bodies[1].skin.triangles) == 48 and scene.bodies[1].spec.mass_shift == 0.2
    scene.add(shapes.box(0.1, 2), SOFT, name="tets")
    assert scene.bodies[2].skin is None and scene.bodies[2].spec.mass_shift == 0.0
    for options, words in (
        ({"tet": 5}, "no option 'tet'"),
        ({"mesh": BALL}, "no option 'mesh'"),
        ({"tets": 50, "element_size": 0.1}, "together"),
        ({"tets": "many"}, "tets"),
        ({"mass_shift": 0.9}, "mass_shift"),
        ({"skin": 5}, "int"),
    ):
        with pytest.raises(InputError, match=words):
            scene.add(BALL, SOFT, name="bad", **options)
    with pytest.raises(InputError, match=r"rabbit.*small_bunny"):
        scene.add("rabbit")
    assert len(scene.bodies) == 3


def test_a_prepared_body_from_its_file(tmp_path):
    body = prepare(dressed(), PrepareSettings(tets=300))
    path = write_body(body, tmp_path / "ball.plb")
    scenes = Scene(), Scene()
    scenes[0].add(path, SOFT, size=0.4)
    scenes[1].add(dressed(), SOFT, tets=300, size=0.4)
    one, other = (build(scene) for scene in scenes)
    assert np.allclose(one.surface_positions(), other.surface_positions(), atol=1e-6)
    assert np.array_equal(one.surface_colors(), other.surface_colors())


def test_notes_are_told_once():
    scene = Scene()
    box = shapes.box(0.4, 2)
    twice = dataclasses.replace(
        box, vertices=np.vstack([box.vertices, box.vertices]), tets=np.vstack([box.tets, box.tets + len(box.vertices)])
    )
    scene.add(twice, SOFT, name="b")
    notes = build(scene).model.notes
    assert len(notes) == len(set(notes)) and sum("same place" in note for note in notes) == 1


def test_a_skin_must_fit_its_mesh():
    box = shapes.box(0.4, 2)
    embedding = embed(BALL.vertices, box)
    with pytest.raises(InputError, match="embedded"):
        Scene().add_body(box, SOFT, skin=(BALL.of_triangles(np.arange(5)).drop_unused(), embedding))
    with pytest.raises(InputError, match="host"):
        Scene().add_body(shapes.box(0.4, 1), SOFT, skin=(BALL, embedding))


# Looks


def test_paints_are_seen_unless_the_body_has_a_colour():
    sim = build(ball_scene())
    painted = dressed().look.paint_of
    assert np.allclose(sim.surface_colors(), np.array([RED[:3], BLUE[:3]])[painted])
    plain = build(ball_scene(color=(0.1, 0.6, 0.2)))
    assert np.allclose(plain.surface_colors(), [0.1, 0.6, 0.2])
    look = seen_look(plain)
    assert [paint.name for paint in look.paints] == ["ball"] and set(look.paint_of) == {0}
    # parts and texture coordinates stay
    assert look.parts == ("left", "right") and np.array_equal(look.uv, dressed().look.uv)


def test_names_of_several_bodies_are_told_apart():
    scene = ball_scene()
    scene.add(dressed(), SOFT, tets=300, name="second", position=(1, 0.2, 0))
    scene.add_body(shapes.box(0.1, 1), SOFT, name="box", position=(2, 0.2, 0))
    look = seen_look(build(scene))
    assert look.parts == ("ball/left", "ball/right", "second/left", "second/right", "box")
    assert [p.name for p in look.paints] == ["red", "blue", "red", "blue", "box"]
    count = len(BALL.triangles)
    assert np.array_equal(look.part_of[count : 2 * count], look.part_of[:count] + 2)


SCENE = """version = 1
name = "painted"
[scene]
frames = 3
substeps = 40
[[body]]
name = "ball"
file = "ball.obj"
tets = 300
position = [0, 0.15, 0]
{more}
[[plane]]
"""


def recorded(tmp_path, more=""):
    write_mesh(dressed(), tmp_path / "ball.obj")
    (tmp_path / "painted.toml").write_text(SCENE.format(more=more))
    out = tmp_path / "out"
    words = ["run", tmp_path / "painted.toml", "--no-film", "--quiet", "--device", "cpu", "--out", out]
    assert main([str(word) for word in words]) == 0
    return out / "painted.plf"


def test_names_paints_and_texture_coordinates_reach_the_sequence(tmp_path):
    recording = recorded(tmp_path)
    folder = tmp_path / "frames"
    assert main(["export", str(recording), "--sequence", "obj", "--out", str(folder), "--quiet"]) == 0
    files = sorted(folder.glob("*.obj"))
    assert len(files) == 4
    source = read_surface(tmp_path / "ball.obj")
    first, last = read_surface(files[0]), read_surface(files[-1])
    for mesh in (first, last):
        look = mesh.look
        assert set(look.parts) == {"left", "right"} and {p.name for p in look.paints} == {"red", "blue"}
        assert next(p.texture for p in look.paints if p.name == "blue") == "sea.png"
        assert len(mesh.triangles) == len(source.triangles) and look.uv is not None
        # by name and place, whatever the order of the triangles became
        upper = np.array([look.paints[k].name == "red" for k in look.paint_of])
        right = np.array([look.parts[k] == "right" for k in look.part_of])
        middle = mesh.vertices[mesh.triangles].mean(axis=1)
        assert (middle[upper, 1].min() >= middle[~upper, 1].mean()) and middle[right, 0].min() > -0.01
    corners = first.vertices[first.triangles]
    assert np.allclose(first.look.uv, corners[:, :, [0, 2]] + 0.5, atol=1e-5)
    assert last.vertices[:, 1].mean() < first.vertices[:, 1].mean()


def test_the_colour_of_a_body_replaces_its_paints_in_the_sequence(tmp_path):
    recording = recorded(tmp_path, "color = [0.0, 1.0, 0.0]")
    folder = tmp_path / "frames"
    assert main(["export", str(recording), "--sequence", "ply", "--out", str(folder), "--quiet"]) == 0
    look = read_surface(folder / "frame_00000.ply").look
    assert np.allclose(look.vertex_colors[:, :3], [0, 1, 0])


def test_scene_files_take_the_settings_of_prepare(tmp_path):
    from pliant.scene_file import load_scene

    write_mesh(dressed(), tmp_path / "ball.obj")
    more = 'size = 0.4\nsolid = "voxels"\nskin = false'
    (tmp_path / "s.toml").write_text(SCENE.format(more=more))
    (body,) = load_scene(tmp_path / "s.toml").scene.bodies
    # cubes around the ball, all of one size
    assert body.skin is None and 0.4 <= np.ptp(body.mesh.vertices, axis=0).max() < 0.7
    assert np.allclose(body.mesh.volumes(), body.mesh.volumes()[0])
    write_mesh(shapes.box(0.05, 2).surface_mesh(), tmp_path / "cover.ply")
    (tmp_path / "s.toml").write_text(SCENE.format(more='skin = "cover.ply"\nscale = [1, 2, 1]'))
    (body,) = load_scene(tmp_path / "s.toml").scene.bodies
    assert np.allclose(np.ptp(body.skin.vertices, axis=0), [0.05, 0.1, 0.05])
    assert np.allclose(body.embedding.apply(body.mesh.vertices), body.skin.vertices, atol=1e-9)
    (tmp_path / "s.toml").write_text(SCENE.format(more='solid = "tets"'))
    with pytest.raises(InputError, match=r"s\.toml:8: .*no tets"):
        load_scene(tmp_path / "s.toml")


def test_a_run_is_the_same_from_the_cache(tmp_path, monkeypatch):
    """What was kept gives the same recording as what is made."""
    monkeypatch.setenv("PLIANT_CACHE", "off")
    one = recorded(tmp_path).read_bytes()
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "kept"))
    assert recorded(tmp_path).read_bytes() == one and len(list((tmp_path / "kept").iterdir())) == 1
    assert recorded(tmp_path).read_bytes() == one


# Masses


@pytest.mark.parametrize("solid", ["voxels", "lattice"])
def test_a_body_weighs_what_its_surface_encloses(solid):
    """Cubes around a surface hold more than it does."""
    scene = Scene()
    scene.add(BALL, SOFT, tets=200, solid=solid, name="ball")
    scene.add(BALL, SOFT, tets=200, solid=solid, name="full", fill=1.0)
    sim = build(scene)
    mass = [sim.model.particles.mass[slice(*sim.body(name).particles)].sum() for name in ("ball", "full")]
    assert mass[0] == pytest.approx(SOFT.density * BALL.volume(), rel=1e-6)
    assert mass[1] > 1.2 * mass[0]
    for fill in (0.0, 1.5, float("nan"), True, "half"):
        with pytest.raises(InputError, match="fill"):
            scene.add(BALL, SOFT, tets=200, fill=fill)


def test_masses_are_raised_as_water_fills_a_basin():
    mass = np.array([4.0, 1.0, 2.0, 10.0, 3.0])
    raised, count = raise_light_masses(mass, 0.1)
    # 2 kg: the two lightest to 2.5 by 1.5 + 0.5
    assert count == 2
    assert raised.sum() == pytest.approx(mass.sum(), rel=1e-12)
    assert np.allclose(raised, np.array([4.0, 2.5, 2.5, 10.0, 3.0]) * 20.0 / 22.0)
    same, none = raise_light_masses(mass, 0.0)
    assert none == 0 and np.array_equal(same, mass)
    flat, count = raise_light_masses(np.full(7, 0.5), 0.3)
    assert np.allclose(flat, 0.5) and count == 7
    assert raise_light_masses(np.array([2.0]), 0.5)[0] == pytest.approx([2.0])


@pytest.mark.parametrize("share", [0.001, 0.05, 0.3, 0.5])
def test_the_total_stays_and_the_smallest_grows(share):
    mass = np.random.default_rng(4).lognormal(0.0, 2.0, 500)
    raised, count = raise_light_masses(mass, share)
    assert raised.sum() == pytest.approx(mass.sum(), rel=1e-12) and raised.min() > mass.min()
    assert (raised > mass).sum() <= count
    # what was heavier is never lighter than what was lighter
    assert (np.diff(raised[np.argsort(mass)]) >= -1e-12).all()
    # no more than the share is taken from anyone
    assert (raised >= mass / (1.0 + share) - 1e-12).all()


def test_shifted_mass_allows_a_longer_step():
    sims = []
    for shift in (0.0, 0.05, 0.2):
        scene = Scene()
        scene.add("small_bunny", SOFT, tets=500, mass_shift=shift)
        sims.append(build(scene))
    masses = [sim.model.particles.mass for sim in sims]
    assert np.allclose([mass.sum() for mass in masses], masses[0].sum(), rtol=1e-9)
    assert masses[0].min() < masses[1].min() < masses[2].min()
    assert sims[0].stable_dt < 0.9 * sims[1].stable_dt < sims[2].stable_dt
    # the estimate holds: they fall and stay whole
    sims[1].frame(10)
    assert sims[1].diagnostics().max_stretch < 1.05
