"""Tubes around rods: closed, round, without twist, and seen everywhere a body is seen."""

import dataclasses
import math
import tomllib

import numpy as np
import pytest
import warp as wp
from drifting import use_drifting

from pliant import InputError, RodMesh, Scene, SurfaceMesh, read_surface, shapes, write_mesh
from pliant.cli import main
from pliant.mesh.rod_shapes import chain
from pliant.mesh.tubes import CAP, Tubes
from pliant.run.recording import open_recording, start_recording
from pliant.run.seen import SeenVertices, recorded_positions
from pliant.scene_file import load_scene, load_tables, python_code, scene_text
from pliant.skin.tubes import TubeSkin
from pliant.studio.packing import Packer, scene_sections
from pliant.studio.scene_tables import scene_tables

TREE = shapes.tree(levels=3, branches=3)
ROPE = shapes.rope(1.0, 20, 0.02)
SMALL = ["--size", "64", "36", "--quiet"]


def helix(turns=3.0, segments=120):
    t = np.linspace(0.0, math.tau * turns, segments + 1)
    return RodMesh(np.stack([0.3 * np.cos(t), 0.05 * t, 0.3 * np.sin(t)], axis=1), chain(segments), 0.02)


def shuffled(mesh, seed=0):
    order = np.random.default_rng(seed).permutation(len(mesh.vertices))
    place = np.argsort(order)
    return RodMesh(mesh.vertices[order], place[mesh.segments], mesh.radius)


def on_device(tubes, x, device="cpu"):
    skin = TubeSkin(tubes, device)
    skin.update(wp.array(np.asarray(x, np.float32), dtype=wp.vec3, device=skin.device))
    return skin.x.numpy(), skin.normals.numpy()


def rings(tubes, x):
    """The vertices of the rings (r, sides, 3)."""
    return x[: tubes.rings * tubes.sides].reshape(tubes.rings, tubes.sides, 3)


@pytest.fixture
def drifting(monkeypatch):
    use_drifting(monkeypatch)


# ---- their shape ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mesh", [ROPE, helix(), TREE, shuffled(TREE), shuffled(helix(), 4)])
@pytest.mark.parametrize("sides", [3, 8])
def test_every_chain_is_closed_and_faces_outward(mesh, sides):
    tubes = Tubes.of(mesh, sides)
    surface = tubes.surface(mesh.vertices)
    assert len(surface.vertices) == tubes.count and surface.is_closed() and surface.check() == []
    assert surface.components()[0] == len(tubes.chains) - 1
    assert surface.volume() > 0.0
    # branches begin with rings of their own, around the vertex that they leave
    tips = (np.bincount(mesh.segments.ravel()) == 1).sum() - np.isin(mesh.roots(), _tips(mesh)).sum()
    assert len(tubes.chains) - 1 == tips
    assert set(tubes.centres.tolist()) == set(range(len(mesh.vertices)))


def _tips(mesh):
    return np.flatnonzero(np.bincount(mesh.segments.ravel()) == 1)


def test_a_straight_tube_has_the_volume_of_its_prism():
    tubes = Tubes.of(ROPE, 8)
    area = 0.5 * 8 * math.sin(math.tau / 8) * 0.02**2
    assert tubes.surface(ROPE.vertices).volume() == pytest.approx(area * (1.0 + 2.0 * CAP * 0.02 / 3.0))


@pytest.mark.parametrize("mesh", [ROPE, helix(), TREE])
def test_rings_are_round_and_perpendicular(mesh):
    tubes = Tubes.of(mesh, 6)
    around = rings(tubes, tubes.placed(mesh.vertices))
    out = around - tubes.middles(mesh.vertices)[:, None]
    assert np.linalg.norm(out, axis=2) == pytest.approx(np.repeat(tubes.radius[:, None], 6, axis=1))
    along, across = tubes.frames(mesh.vertices)
    assert np.abs(np.einsum("rsi,ri->rs", out, along)).max() < 1e-12
    assert np.abs(np.einsum("ri,ri->r", along, across)).max() < 1e-12


def test_radii_are_those_of_the_segments():
    mesh = RodMesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], chain(2), [0.2, 0.1])
    assert Tubes.of(mesh, steps=1).radius == pytest.approx([0.2, 0.15, 0.1])
    assert Tubes.of(mesh, steps=2).radius == pytest.approx([0.2, 0.175, 0.15, 0.125, 0.1])
    fork = RodMesh(
        [[0, 0, 0], [0, 1, 0], [0, 2, 0], [0, 3, 0], [1, 2, 0]], [[0, 1], [1, 2], [2, 3], [1, 4]], [4, 3, 2, 1]
    )
    tubes = Tubes.of(fork, steps=1)
    assert tubes.centres.tolist() == [0, 1, 2, 3, 1, 4] and tubes.radius == pytest.approx([4, 3.5, 2.5, 2, 1, 1])


def test_more_segments_have_fewer_sides():
    found = [Tubes.of(shapes.rope(1.0, n)) for n in (100, 5_000, 20_000, 200_000)]
    assert [tubes.sides for tubes in found] == [8, 6, 4, 3]
    assert [tubes.rings for tubes in found] == [401, 10_001, 40_001, 200_001]


@pytest.mark.parametrize("mesh", [helix(2.0, 20), TREE, shuffled(TREE)])
def test_a_smooth_curve_goes_through_the_vertices(mesh):
    tubes, plain = Tubes.of(mesh, steps=5), Tubes.of(mesh, steps=1)
    x = mesh.vertices + [3.0, 0.0, 0.0]
    assert tubes.weights.sum(axis=1) == pytest.approx(np.ones(tubes.rings))
    middles, knots = tubes.middles(x), plain.middles(x)
    assert np.abs(knots - x[plain.centres]).max() < 1e-12, "one ring for a segment lies at its vertex"
    for k, (first, end) in enumerate(zip(tubes.chains[:-1], tubes.chains[1:], strict=True)):
        assert np.allclose(middles[first:end:5], knots[plain.chains[k] : plain.chains[k + 1]], atol=1e-12)
    # an affine map of the vertices is one of the curve
    matrix = np.random.default_rng(0).normal(size=(3, 3))
    assert np.abs(tubes.middles(x @ matrix) - middles @ matrix).max() < 1e-12
    assert tubes.length[-1] == pytest.approx(plain.length[-1])


def test_a_smooth_curve_bends_less_than_its_polygon():
    mesh = helix(2.0, 20)
    fine = Tubes.of(mesh, steps=8).middles(mesh.vertices)
    assert bend_of(fine, chain(len(fine) - 1)) < 0.3 * bend_of(mesh.vertices, mesh.segments)
    # and lies nearer to the helix than the polygon does, but for its ends
    assert np.abs(np.linalg.norm(fine[16:-16, [0, 2]], axis=1) - 0.3).max() < 0.005
    middle = 0.5 * (mesh.vertices[1:] + mesh.vertices[:-1])
    assert np.abs(np.linalg.norm(middle[:, [0, 2]], axis=1) - 0.3).max() > 0.01


def test_texture_coordinates_go_around_and_along():
    tubes = Tubes.of(ROPE, 6, steps=1)
    uv = tubes.uv().astype(float)
    walls = uv[: 2 * 6 * 20]
    assert (np.ptp(walls[..., 0], axis=1) < 1.0 / 6.0 + 1e-6).all(), "no triangle goes back around"
    assert walls[..., 1].max() == pytest.approx(1.0 / (math.tau * 0.02)) and uv.min() >= 0.0


# ---- how they move --------------------------------------------------------------------------------------------------


def bend_of(x, segments):
    """Largest angle between neighbouring segments [rad]."""
    way = np.diff(x[segments], axis=1)[:, 0]
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    return np.arccos(np.clip(np.einsum("ij,ij->i", way[1:], way[:-1]), -1.0, 1.0)).max()


def test_there_is_no_twist_along_a_helix(device):
    """Each line along the tube is no longer than the bends make it; a twist would add its own way around."""
    mesh = helix()
    tubes = Tubes.of(mesh, 8, steps=1)
    around = rings(tubes, on_device(tubes, mesh.vertices, device)[0])
    steps = np.linalg.norm(np.diff(around, axis=0), axis=2)
    bend = bend_of(mesh.vertices, mesh.segments)
    segment = mesh.lengths().mean()
    assert (steps < segment + 1.01 * 0.02 * bend).all() and (steps > segment - 1.01 * 0.02 * bend).all()
    # and the frame itself turns only across the chain
    along, across = tubes.frames(mesh.vertices)
    turn = np.einsum("ij,ij->i", np.cross(across[:-1], across[1:]), along[:-1] + along[1:])
    assert np.abs(turn).max() < 1e-12


@pytest.mark.parametrize(
    "way",
    [(1, 0, 0), (-1, 0, 0), (-1, 1e-7, 0), (-1, 0, 1e-3), (0, -1, 0), (0, 1, 0), (0, 0, 1), (1, -2, 3)],
    ids=str,
)
def test_a_rope_hangs_in_any_direction(way, device):
    """Also against its direction at rest, where the smallest rotation is not the only one."""
    way = np.array(way, float) / np.linalg.norm(way)
    tubes = Tubes.of(ROPE, 8, steps=1)
    x = np.linspace(0.0, 1.0, 21)[:, None] * way
    found, normals = on_device(tubes, x, device)
    surface = SurfaceMesh(found, tubes.triangles())
    assert surface.is_closed() and surface.volume() == pytest.approx(
        Tubes.of(ROPE, 8).surface(ROPE.vertices).volume(), rel=1e-4
    )
    around = rings(tubes, found)
    assert np.linalg.norm(around - x[:, None], axis=2) == pytest.approx(np.full((21, 8), 0.02), rel=1e-4)
    assert np.abs((around - x[:, None]) @ way).max() < 1e-6
    lines = np.diff(around, axis=0)
    assert np.abs(lines - 0.05 * way).max() < 1e-6, "straight lines along a straight rope"
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(normals)), abs=1e-5)


@pytest.mark.parametrize("mesh", [ROPE, helix(), TREE])
def test_a_rigid_motion_moves_rings_rigidly(mesh, device):
    """Rings turn with their segments; about the rod itself a ring may turn as a whole, which a round tube hides."""
    axis = np.array([0.3, 1.0, -0.5])
    moved = mesh.rotated(axis, 2.2).translated((0.5, -1.0, 2.0))
    tubes = Tubes.of(mesh, 8)
    before, after = (rings(tubes, on_device(tubes, m.vertices, device)[0]).astype(float) for m in (mesh, moved))
    turn = RodMesh(np.eye(3), [[0, 1], [1, 2]]).rotated(axis, 2.2).vertices
    normal = lambda x: np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    # seen from where the ring would be, it lies in the same plane, on the same circle
    n = normal(before) @ turn
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    out = after - tubes.middles(moved.vertices)[:, None]
    assert np.abs(np.einsum("rsi,ri->rs", out, n)).max() < 3e-6
    assert np.linalg.norm(out, axis=2) == pytest.approx(np.repeat(tubes.radius[:, None], 8, axis=1), rel=1e-3, abs=1e-6)


def test_moving_along_is_exact_and_forgets_nothing(device):
    """What is placed depends on the particles alone: a detour changes no bit."""
    mesh, tubes = helix(), Tubes.of(helix())
    skin = TubeSkin(tubes, device)
    put = lambda x: wp.array(np.asarray(x, np.float32), dtype=wp.vec3, device=skin.device)
    skin.update(put(mesh.vertices))
    first = skin.x.numpy().copy()
    skin.update(put(-mesh.vertices[::-1]))
    skin.update(put(mesh.vertices))
    assert np.array_equal(skin.x.numpy(), first)
    assert np.abs(first - tubes.placed(mesh.vertices)).max() < 1e-5, "the device does what the host does"


def test_folds_and_lost_lengths_leave_rings_finite(device):
    x = ROPE.vertices.copy()
    x[11:] = x[9::-1]
    x[5] = x[4]
    found, normals = on_device(Tubes.of(ROPE), x, device)
    assert np.isfinite(found).all() and np.linalg.norm(normals, axis=1) == pytest.approx(
        np.ones(len(normals)), abs=1e-4
    )


@pytest.mark.parametrize("mesh", [TREE, helix()])
def test_host_and_device_agree_where_lengths_are_lost(mesh, device):
    tubes = Tubes.of(mesh, 5, steps=1)
    x = np.random.default_rng(1).normal(0.0, 0.002, mesh.vertices.shape) + mesh.vertices
    x[1], x[5] = x[0], x[4]
    assert np.abs(on_device(tubes, x, device)[0] - tubes.placed(x)).max() < 2e-4


def test_normals_point_out(device):
    tubes = Tubes.of(TREE)
    x, normals = on_device(tubes, TREE.vertices, device)
    middle = np.repeat(tubes.middles(TREE.vertices), tubes.sides, axis=0)
    ends = tubes.middles(TREE.vertices)[np.stack([tubes.chains[:-1], tubes.chains[1:] - 1], axis=1)]
    out = x - np.concatenate([middle, ends.reshape(-1, 3)])
    assert (np.einsum("ij,ij->i", out, normals) > 0.99 * np.linalg.norm(out, axis=1)).all()
    assert [int(tubes.host(v)[0]) for v in range(tubes.count)] == tubes.hosts().tolist()


# ---- bodies ---------------------------------------------------------------------------------------------------------


def scene():
    made = Scene(gravity=(0.0, 0.0, 0.0), substeps=1)
    spin = {"angular_velocity": (0.0, 0.0, 4.0)}
    made.add_body(shuffled(TREE), method="drifting", name="tree", position=(1.0, 0.0, 0.0), **spin)
    made.add_body(shapes.ball(0.2, 3), method="drifting", name="ball")
    made.add_body(ROPE, method="drifting", name="rope", rotation=(0.0, 0.0, 90.0), **spin)
    made.add_body(shapes.hair(30, segments=10, turns=2.0), method="drifting", name="hair", position=(0.0, 2.0, 0.0))
    return made


def test_bodies_are_seen_as_tubes(drifting, device):
    sim = scene().build(device)
    sim.frame(3)
    for body in (sim.body("tree"), sim.body("rope"), sim.body("hair")):
        x = sim.state.x.numpy()[slice(*body.particles)]
        assert body.is_skin_recorded and not body.follows_clusters
        assert np.abs(sim.surface_positions(body.name) - body.tubes.placed(x)).max() < 1e-5
        assert sim.surface(body.name).max() + 1 == body.seen_vertices == body.tubes.count
    # a rope that was turned and moved has its root where it was put
    assert sim.positions("rope")[0] == pytest.approx([0, 0, 0], abs=0.2)
    assert len(sim.positions("tree")) == len(TREE.vertices)


def test_rods_that_are_given_a_skin_are_seen_as_that(drifting):
    made = Scene(gravity=(0.0, 0.0, 0.0), substeps=1)
    worn = shapes.ball(0.5, 3).surface_mesh()
    made.add(ROPE, method="drifting", name="rope", skin=worn)
    sim = made.build("cpu")
    assert sim.body("rope").tubes is None and sim.body("rope").follows_clusters
    assert np.array_equal(sim.surface(), worn.triangles)


def test_strain_of_rods_is_that_of_their_segments(drifting, device):
    """Bending costs none, whatever the neighbours; a longer segment shows at both its ends."""
    sim = scene().build(device)
    assert sim.quantity("strain").max() < 2e-5
    t = np.linspace(0.0, 4.0, 21)
    arc = np.cumsum(0.05 * np.stack([np.cos(t), np.sin(t), 0.0 * t], axis=1), axis=0)
    sim.set_state("rope", arc)
    assert sim.quantity("strain", "rope").max() < 2e-5, "a rope that bends is not strained"
    arc[15:] += 0.2 * (arc[15] - arc[14])
    sim.set_state("rope", arc)
    expected = np.zeros(21)
    expected[14:16] = 0.2
    assert sim.quantity("strain", "rope") == pytest.approx(expected, abs=1e-5)
    young = sim.body("rope").material.young
    assert sim.quantity("stress", "rope") == pytest.approx(young * expected, abs=2e-5 * young)


def test_a_tube_is_pulled_by_the_particle_inside_it(drifting):
    sim = scene().build("cpu")
    body = sim.body("tree")
    vertex = 3 * body.tubes.sides + 1
    slot = sim.pull_seen("tree", vertex, (0.0, 5.0, 0.0), 1.0, spread=1)
    assert slot == 0
    sim.pull_seen("tree", body.seen_vertices - 1, (0.0, 5.0, 0.0), 1.0)
    assert sim.pulls.active


def test_the_stream_shows_tubes_and_their_heat(drifting, device):
    sim = scene().build(device)
    sim.frame(2)
    packed = Packer(sim).pack("speed")
    seen, boxes = sim.surface_positions(), np.array(packed.boxes)
    body_of = np.repeat(np.arange(len(sim.model.bodies)), [b.seen_vertices for b in sim.model.bodies])
    decoded = boxes[body_of, :3] + boxes[body_of, 3:] * packed.x[:, :3] / 65535.0
    assert np.abs(decoded - seen).max() < 1e-4
    described, sections = scene_sections(sim, 0)
    rope = next(k for k, about in enumerate(described) if about["name"] == "rope")
    assert described[rope]["particles"] == 21 and len(sections[f"0.{rope}.triangles"]) == described[rope]["triangles"]
    # all the way around a ring the heat is that of its particle
    first = sum(b.seen_vertices for b in sim.model.bodies[:rope])
    tubes = sim.body("rope").tubes
    heat = packed.x[first : first + tubes.rings * tubes.sides, 3].reshape(tubes.rings, -1)
    assert (heat == heat[:, :1]).all() and heat[-1, 0] > heat[10, 0]


def test_recordings_films_and_exports_show_tubes(drifting, tmp_path):
    path = tmp_path / "rods.toml"
    path.write_text('version = 1\nname = "rods"\n[[body]]\nshape = {kind = "tetrahedron"}\n')
    loaded = dataclasses.replace(load_scene(path), scene=scene(), frames=3)
    sim = loaded.scene.build("cpu")
    seen = []
    with start_recording(tmp_path / "rods.plf", sim, loaded) as writer:
        for k in range(3):
            writer.add(k, sim.time, recorded_positions(sim))
            seen.append(sim.surface_positions())
            sim.frame()
    with open_recording(tmp_path / "rods.plf") as reader:
        for k in range(3):
            assert np.array_equal(SeenVertices(reader).of(reader[k][2]), seen[k])
    recording = str(tmp_path / "rods.plf")
    assert main(["render", recording, "--picture", str(tmp_path / "a.png"), *SMALL]) == 0
    assert (tmp_path / "a.png").stat().st_size > 0
    for kind in ("ply", "obj", "glb"):
        assert main(["export", recording, "--sequence", kind, "--out", str(tmp_path / kind), "--quiet"]) == 0
        mesh = read_surface(tmp_path / kind / f"frame_00002.{kind}")
        assert len(mesh.triangles) == len(sim.surface())
        assert np.allclose(mesh.vertices.max(axis=0), seen[2].max(axis=0), atol=1e-5)
    assert main(["export", recording, "--out", str(tmp_path / "moving.glb"), "--quiet"]) == 0
    assert (tmp_path / "moving.glb").stat().st_size > 0


# ---- scene files ----------------------------------------------------------------------------------------------------

BODIES = {
    "rope": '[[body]]\nname = "a"\nshape = { kind = "rope", length = 2.0, segments = 10, radius = 0.01 }\n',
    "hair": '[[body]]\nname = "a"\nshape = { kind = "hair", strands = 20, tufts = 3, curl = 0.0, seed = 4 }\n',
    "scalp": '[[body]]\nname = "a"\nshape = { kind = "hair", strands = 20, scalp = "ball.ply", fall = 0.5 }\n',
    "tree": '[[body]]\nname = "a"\nshape = { kind = "tree", levels = 2, angle = 30.0, lift = -0.5 }\n',
    "file": '[[body]]\nname = "a"\nrods = "tree.swc"\nscale = 2.0\n',
    "thick": '[[body]]\nname = "a"\nrods = { file = "tree.swc", radius = 0.1 }\n',
}


@pytest.mark.parametrize("name", BODIES)
def test_scene_files_hold_rods(name, tmp_path, monkeypatch):
    write_mesh(shapes.ball(0.1, 3).surface_mesh(), tmp_path / "ball.ply")
    TREE.save(tmp_path / "tree.swc")
    path = tmp_path / "rods.toml"
    path.write_text(f'version = 1\n[scene]\nsubsteps = 4\n{BODIES[name]}method = "xpbd"\n')
    mesh = load_scene(path).scene.bodies[0].mesh
    assert isinstance(mesh, RodMesh)
    if name in ("file", "thick"):
        assert np.allclose(mesh.vertices, TREE.vertices * (2.0 if name == "file" else 1.0))
        assert (set(mesh.radius) == {0.1}) == (name == "thick")
    tables = tomllib.loads(path.read_text())
    again = tmp_path / "again.toml"
    again.write_text(scene_text(tables))
    assert np.array_equal(load_scene(again).scene.bodies[0].mesh.vertices, mesh.vertices)
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(python_code(tables).replace("range(240)", "range(1)"), namespace)
    assert np.array_equal(namespace["scene"].bodies[0].mesh.vertices, mesh.vertices)


def test_rods_that_were_made_in_python_can_be_saved_with_their_scene(tmp_path):
    made = Scene()
    made.add_body(
        shapes.hair(20, segments=15), "hair", method="xpbd", name="hair", position=(1, 2, 3), rotation=(0, 9, 0)
    )
    made.add_body(shuffled(TREE), "wood", method="xpbd", name="tree")
    made.pin("hair", "roots")
    again = load_tables(scene_tables(made, tmp_path), tmp_path).scene
    for before, after in zip(made.bodies, again.bodies, strict=True):
        assert np.allclose(after.mesh.vertices, before.mesh.vertices, atol=1e-9)
        assert after.mesh.seen_radius == before.mesh.seen_radius
        assert after.mesh.volumes().sum() == pytest.approx(before.mesh.volumes().sum())
    assert np.array_equal(again.bodies[0].pins[0][0], made.bodies[0].mesh.root_segments())


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('rods = "none.swc"', "no such file"),
        ('rods = "tree.swc"\nsize = 2.0', "'size' means nothing to rods"),
        ('shape = { kind = "rope" }\nsolid = "voxels"', "'solid' means nothing to rods"),
        ('shape = { kind = "hair", scalp = "nobody" }', "no file"),
        ('shape = { kind = "hair", tightness = 2.0 }', "2.0"),
        ('shape = { kind = "rope" }\nrods = "tree.swc"', "rods"),
        ('shape = { kind = "rope" }\nmethod = "shape_matching"', "cannot simulate a RodMesh"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(body, message, tmp_path):
    TREE.save(tmp_path / "tree.swc")
    path = tmp_path / "rods.toml"
    path.write_text(f"version = 1\n[[body]]\n{body}\n")
    with pytest.raises(InputError, match=message) as found:
        load_scene(path)
    assert "rods.toml" in str(found.value)
