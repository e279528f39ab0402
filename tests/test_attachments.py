"""Attachments between bodies and to colliders: where they hold, how strongly, until when, and what they conserve."""

import importlib

import numpy as np
import pytest
from bodies import bits, build

import pliant
from pliant import Material, Scene, SurfaceMesh, TetMesh, VoxelLattice, shapes
from pliant.carry import carry_state
from pliant.checkpoint import load_checkpoint, save_checkpoint
from pliant.errors import InputError
from pliant.mesh.closest import closest_points
from pliant.mesh.rods import RodMesh

SOFT = Material(young=2e4, poisson=0.3, damping=0.002)


def top(x):
    return x[:, 1] > x[:, 1].max() - 1e-6


def bottom(x):
    return x[:, 1] < x[:, 1].min() + 1e-6


def gaps(sim, name=None):
    """Distance between each attached vertex and its point, less the one it keeps [m]."""
    x = sim.state.x.numpy().astype(np.float64)
    found = []
    for tie in sim.attachments.host:
        if name in (None, tie.entry.name):
            way = x[tie.particles] - np.einsum("nk,nkd->nd", tie.weights, x[tie.host_particles])
            found.append(np.linalg.norm(way, axis=1) - tie.target)
    return np.concatenate(found)


def momentum(sim):
    """Momentum [kg m/s] and angular momentum about the origin [kg m^2/s]."""
    x, v = sim.state.x.numpy().astype(np.float64), sim.state.v.numpy().astype(np.float64)
    mass = sim.model.particles.mass[:, None]
    return np.concatenate([(mass * v).sum(axis=0), np.cross(x, mass * v).sum(axis=0)])


def tumbling(second="shape_matching", shift=(0.4, 0.05, 0.03), **options):
    """Two boxes in free flight, attached side to side."""
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=20)
    spin = {"velocity": (0.3, 0, 0.2), "angular_velocity": (1, 2, 0)}
    scene.add_body(shapes.box(0.4, 3), SOFT, name="a", **spin)
    scene.add_body(shapes.box(0.4, 3), SOFT, name="b", method=second, position=shift, angular_velocity=(0, -1, 3))
    scene.attach("a", lambda x: x[:, 0] > 0.19, "b", name="joint", **options)
    return scene


def hanging(mass=2.0, method="mass_spring", **options):
    """A pinned block, and below it a second one that hangs on it by its four upper corners."""
    scene = Scene(frame_dt=0.01, substeps=20)
    scene.add_body(shapes.box(0.2, 1), Material(young=1e6, damping=0.002), name="beam", position=(0, 1, 0))
    scene.pin("beam", lambda x: np.ones(len(x), bool))
    heavy = Material(young=2e4, density=mass / 0.2**3, damping=0.02, drag=5.0)
    scene.add_body(shapes.box(0.2, 1), heavy, name="load", method=method, position=(0, 0.8, 0))
    scene.attach("load", top, "beam", name="hook", **options)
    return scene


# ---- what they conserve ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["shape_matching", "mass_spring", "xpbd"])
@pytest.mark.parametrize("options", [{}, {"stiffness": 500.0}, {"distance": 0.0}], ids=["rods", "springs", "closing"])
def test_free_bodies_keep_their_momentum(second, options, device):
    sim = build(tumbling(second, **options), device)
    before = momentum(sim)
    sim.frame(60)
    scale = np.abs(before).max()
    # XPBD itself keeps the angular momentum of a body that spins and swings to no more than this
    np.testing.assert_allclose(momentum(sim), before, atol=(1e-3 if second == "xpbd" else 2e-4) * scale)
    if "stiffness" not in options:
        sim.frame(40)
        assert np.abs(gaps(sim)).max() < 1e-5


def test_a_rod_swings_without_loss(device):
    """A pendulum on a rod of 0.5 m: its energy stays, which tells that the rod's direction is that of SHAKE."""
    tet = TetMesh(0.01 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), [[0, 1, 2, 3]])
    scene = Scene(gravity=(0, -9.81, 0), frame_dt=0.01, substeps=10)
    stiff = Material(young=1e5, damping=0.0)
    scene.add_body(tet, stiff, name="nail")
    scene.pin("nail", [0, 1, 2, 3])
    scene.add_body(tet, stiff, name="bob", method="shape_matching", position=(0.5, 0.0, 0.0))
    scene.attach("bob", [0], "nail", at=[0])
    sim = build(scene, device)
    mass = sim.model.particles.mass[sim.body("bob").particle_of]
    heights = []
    for _ in range(180):
        sim.frame()
        heights.append(float(mass @ sim.positions("bob")[:, 1] / mass.sum()))
        assert abs(np.linalg.norm(sim.positions("bob")[0]) - 0.5) < 1e-5
    assert min(heights) < -0.45
    # it comes back to where it began
    assert max(heights[150:]) > -0.02


# ---- how they hold --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["mass_spring", "shape_matching"])
def test_a_heavy_load_stays_where_it_is_attached(method, device):
    sim = build(hanging(20.0, method), device)
    sim.frame(150)
    assert np.abs(gaps(sim)).max() < 1e-6
    force = sim.attachment_forces()["hook"]
    assert force.shape == (4, 3)
    np.testing.assert_allclose(force.sum(axis=0), [0, 20.0 * 9.81, 0], atol=0.02 * 20 * 9.81)


def test_a_spring_stretches_by_force_over_stiffness(device):
    stiffness = 400.0
    sim = build(hanging(2.0, "shape_matching", stiffness=stiffness), device)
    sim.frame(400)
    force = np.linalg.norm(sim.attachment_forces()["hook"], axis=1)
    np.testing.assert_allclose(gaps(sim), force / stiffness, rtol=1e-3)
    assert force.sum() == pytest.approx(2.0 * 9.81, rel=2e-3)
    assert gaps(sim).mean() == pytest.approx(2.0 * 9.81 / 4 / stiffness, rel=2e-3)


def test_the_stable_step_of_springs_is_not_spoilt():
    """A light, stiff block hangs on a heavy one: rigid attachments do not make the explicit step shorter."""
    scene = Scene(frame_dt=0.01)
    scene.add_body(shapes.box(0.2, 2), Material(young=2e5, density=100.0, damping=0.001), name="light")
    scene.add_body(shapes.box(0.2, 2), Material(young=2e5, density=5000.0, damping=0.001), name="heavy",
                   position=(0.0, -0.2, 0.0))  # fmt: skip
    scene.pin("light", top)
    scene.attach("heavy", top, "light")
    sim = scene.build("cpu")
    assert sim.dt > 0.5 * sim.stable_dt
    sim.frame(100)
    assert np.abs(gaps(sim)).max() < 1e-6
    assert np.abs(sim.velocities()).max() < 5.0


def rope(links=10, length=0.4):
    y = -np.linspace(0.0, length, links + 1)
    return RodMesh(np.stack([0 * y, y, 0 * y], axis=1), [[k, k + 1] for k in range(links)], 0.005)


@pytest.mark.parametrize("mass", [4.0, 40.0])
def test_a_light_rope_feels_the_heavy_load_that_hangs_on_it(mass, device):
    """A load has a thousand times the mass of a rope's last particle: still no link stretches much more than F / EA."""
    scene = Scene(frame_dt=1 / 60, substeps=10)
    scene.add_body(rope(), Material(young=1e8, density=1000.0, damping=0.001), method="xpbd", name="rope")
    scene.pin("rope", [0])
    load = Material(young=1e5, density=mass / 0.2**3, damping=0.01, drag=4.0)
    scene.add_body(shapes.box(0.2, 1), load, method="shape_matching", name="load", position=(0, -0.5, 0))
    scene.attach("rope", [10], "load", name="hook")
    sim = build(scene, device)
    sim.frame(250)
    links = np.linalg.norm(np.diff(sim.positions("rope"), axis=0), axis=1) / 0.04 - 1.0
    np.testing.assert_allclose(links, mass * 9.81 / (1e8 * np.pi * 0.005**2), atol=0.01)
    assert sim.attachment_forces()["hook"][0, 1] == pytest.approx(-mass * 9.81, rel=0.01)
    free = ~sim.pins.is_pinned(np.arange(sim.state.count))
    np.testing.assert_allclose(sim.state.inv_mass.numpy(), free / sim.model.particles.mass, rtol=1e-6)


def test_an_implicit_cloth_carries_a_load_in_long_steps(device):
    """A strip of 20 g carries 10 kg at two steps a frame: it stretches by F / EA, and beside the load not much more."""
    scene = Scene(frame_dt=1 / 60, substeps=2)
    flat = shapes.sheet((0.1, 0.4), (2, 8))
    upright = SurfaceMesh(np.stack([flat.vertices[:, 0], flat.vertices[:, 2], 0 * flat.vertices[:, 0]], axis=1),
                          flat.triangles)  # fmt: skip
    strip = Material(young=1e7, density=500.0, thickness=0.001, damping=0.001, drag=2.0)
    scene.add_body(upright, strip, method="baraff_witkin", name="strip")
    scene.pin("strip", top)
    load = Material(young=1e5, density=1250.0, damping=0.01, drag=4.0)
    scene.add_body(shapes.box(0.2, 1), load, method="shape_matching", name="load", position=(0, -0.3, 0))
    scene.attach("strip", bottom, "load")
    sim = build(scene, device)
    sim.frame(200)
    height = sim.positions("strip").reshape(9, 3, 3)[:, :, 1].mean(axis=1)
    rows = np.abs(np.diff(height)) / 0.05 - 1.0
    wanted = 10.0 * 9.81 / (1e7 * 0.1 * 0.001)
    np.testing.assert_allclose(rows[1:], wanted, rtol=0.1)
    assert rows[0] < 2.0 * wanted


def test_ropes_that_are_tied_to_each_other_are_stable(device):
    """Two taut ropes between two pins, tip to tip: what each lends the other does not drive them."""
    scene = Scene(frame_dt=1 / 60, substeps=10)
    for name, sign in (("left", -1.0), ("right", 1.0)):
        mesh = rope(20).rotated((0, 0, 1), -sign * np.pi / 2).translated((0.4 * sign, 0, 0))
        scene.add_body(mesh, Material(young=1e9, density=1000.0), method="xpbd", name=name)
        scene.pin(name, [0])
    scene.attach("left", [20], "right", at=[20])
    sim = build(scene, device)
    sim.frame(300)
    assert np.abs(gaps(sim)).max() < 1e-6
    assert np.abs(sim.velocities()).max() < 0.5
    assert np.abs(sim.positions()[:, 1]).max() < 0.1


def test_many_tips_share_what_they_are_tied_to(device):
    """Twelve ropes hold one side of a block: they lend no more mass than there is."""
    scene = Scene(frame_dt=1 / 60, substeps=10)
    spots = [(x, z) for x in np.linspace(-0.09, 0.09, 4) for z in np.linspace(-0.08, 0.08, 3)]
    ropes = RodMesh.joined([rope(4).translated((x, 0.5, z)) for x, z in spots])
    scene.add_body(ropes, Material(young=1e8, density=1000.0, damping=0.001), method="xpbd", name="ropes")
    scene.pin("ropes", lambda x: x[:, 1] > 0.49)
    scene.add_body(shapes.box(0.2, 1), Material(young=1e5, density=1000.0, damping=0.01), method="shape_matching",
                   name="block")  # fmt: skip
    scene.attach("ropes", lambda x: x[:, 1] < 0.11, "block", name="ties")
    sim = build(scene, device)
    sim.frame(200)
    assert np.abs(gaps(sim)).max() < 1e-3
    assert abs(sim.positions("block")[:, 1].mean()) < 0.02
    assert np.abs(sim.velocities("block")).max() < 0.2


def test_a_gap_closes_without_a_jerk(device):
    sim = build(tumbling(shift=(0.5, 0.0, 0.0), distance=0.0), device)
    assert gaps(sim).max() == pytest.approx(0.1, abs=1e-6)
    fastest = []
    for _ in range(80):
        sim.frame()
        fastest.append(np.abs(sim.velocities()).max())
    assert np.abs(gaps(sim)).max() < 1e-5
    assert max(fastest) < 4.0


def test_a_sheet_is_closed_into_a_ring(device):
    """Both edges of a strip are sewn to each other: vertices of one body, in pairs."""
    width, count = 0.1, 24
    t = 2 * np.pi * np.arange(count) / count
    ring = np.stack([np.cos(t), 0 * t, np.sin(t)], axis=1) * 0.3
    vertices = np.concatenate([ring, ring + [0, width, 0]])
    quads = [[k, k + 1, count + k + 1, count + k] for k in range(count - 1)]
    triangles = [[a, b, c] for a, b, c, d in quads] + [[a, c, d] for a, b, c, d in quads]
    scene = Scene(gravity=(0, -9.81, 0), frame_dt=0.01)
    scene.add_body(SurfaceMesh(vertices, triangles), Material(young=1e5, thickness=0.002), name="strip")
    scene.attach("strip", [0, count], "strip", at=[count - 1, 2 * count - 1], distance=0.0)
    scene.pin("strip", [count // 2])
    sim = build(scene, device)
    sim.frame(80)
    x = sim.positions("strip")
    np.testing.assert_allclose(x[[0, count]], x[[count - 1, 2 * count - 1]], atol=1e-5)


def test_a_point_inside_a_tet_is_held_by_its_four_corners(device):
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=10)
    scene.add_body(shapes.box(1.0, 2), SOFT, name="host", angular_velocity=(0, 3, 0))
    scene.add_body(shapes.box(0.1, 1), SOFT, name="guest", position=(0.21, 0.13, 0.18))
    scene.attach("guest", [0, 3], "host")
    sim = build(scene, device)
    assert all((tie.weights > 0).sum() == 8 for tie in sim.attachments.host)
    sim.frame(30)
    assert np.abs(gaps(sim)).max() < 1e-6


# ---- closest points -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tets", "sheet", "lattice", "rods", "points"])
def test_the_closest_point_is_the_closest(kind):
    rng = np.random.default_rng(3)
    ball = shapes.ball(0.5, 4)
    cubes = np.indices((3, 3, 3)).reshape(3, -1).T
    mesh, corners = {
        "tets": lambda: (ball, ball.tets),
        "sheet": lambda: (ball.surface_mesh(), ball.surface_mesh().triangles),
        "lattice": lambda: (lattice := VoxelLattice.from_cells(cubes, 0.3), lattice.surface()),
        "rods": lambda: (RodMesh(rng.random((9, 3)), chain := np.array([[k, k + 1] for k in range(8)])), chain),
        "points": lambda: (pliant.PointCloud(rng.random((40, 3)), volume=1.0), np.arange(40)[:, None]),
    }[kind]()
    points = rng.uniform(-1, 1, (60, 3))
    hosts, weights = closest_points(points, mesh)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert (weights >= 0).all()
    found = np.linalg.norm(np.einsum("nk,nkd->nd", weights, mesh.vertices[hosts]) - points, axis=1)
    # no sample of any element is nearer
    share = rng.dirichlet(np.ones(corners.shape[1]), 300)
    samples = np.einsum("sk,mkd->smd", share, mesh.vertices[corners]).reshape(-1, 3)
    nearest = np.array([np.linalg.norm(samples - p, axis=1).min() for p in points])
    assert (found <= nearest + 1e-9).all()
    if kind == "sheet":
        assert (found >= nearest - 0.05).all()


# ---- colliders ------------------------------------------------------------------------------------------------------


def test_vertices_follow_a_collider_that_is_moved(device):
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=10)
    scene.add_sphere(0.1, (0, -0.3, 0), name="head")
    scene.add_body(shapes.box(0.2, 2), SOFT, name="block")
    scene.attach("block", bottom, "head", name="roots")
    sim = build(scene, device)
    start, low = sim.positions("block"), bottom(sim.positions("block"))
    sim.frame(2)
    for k in range(1, 11):
        sim.move_collider("head", (0.01 * k, -0.3, 0.005 * k))
        sim.frame()
        np.testing.assert_allclose(sim.positions("block")[low], start[low] + [0.01 * k, 0, 0.005 * k], atol=1e-6)
    assert sim.pins.count == low.sum()
    sim.detach("roots")
    assert sim.pins.count == 0
    sim.frame()


def test_vertices_ride_on_a_collider_with_a_path(device):
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=10)
    path = [{"time": 0.0}, {"time": 0.2, "offset": (0.1, 0, 0), "rotation": (0, 90, 0)}]
    scene.add_sphere(0.1, (0.0, -0.3, 0.0), path=path, name="head")
    scene.add_body(shapes.box(0.2, 2), SOFT, name="block")
    scene.attach("block", bottom, "head")
    sim = build(scene, device)
    start, low = sim.positions("block"), bottom(sim.positions("block"))
    sim.frame(20)
    x, y, z = start[low].T
    np.testing.assert_allclose(sim.positions("block")[low], np.stack([z + 0.1, y, -x], axis=1), atol=1e-6)


# ---- breaking and letting go ----------------------------------------------------------------------------------------


def test_what_carries_too_much_breaks_and_is_told_once(device):
    weight = 2.0 * 9.81
    strong = build(hanging(2.0, "shape_matching", strength=weight), device)
    weak = build(hanging(2.0, "shape_matching", strength=0.5 * weight / 4), device)
    for sim in (strong, weak):
        sim.frame(60)
    assert strong.attachments_intact()["hook"].all()
    assert not weak.attachments_intact()["hook"].any()
    assert weak.positions("load")[:, 1].max() < 0.5 < strong.positions("load")[:, 1].max()
    assert sum("Attachment 'hook' b" in note for note in weak.notes) == 1
    assert not any("Attachment 'hook' b" in note for note in strong.notes)
    weak.frame()
    assert not weak.attachment_forces()["hook"].any()


def test_detaching_lets_go(device):
    sim = build(hanging(), device)
    sim.frame(5)
    sim.detach("hook")
    sim.frame(20)
    assert sim.positions("load")[:, 1].max() < 0.8
    with pytest.raises(InputError, match="hooks"):
        sim.detach("hooks")


# ---- runs -----------------------------------------------------------------------------------------------------------


def test_recorded_equals_eager_and_runs_repeat(device):
    recorded, again, eager = (build(tumbling(strength=50.0), device) for _ in range(3))
    for _ in range(4):
        recorded.frame()
        again.frame()
        eager.pins.aim(eager.time + eager.frame_dt)
        eager._issue_frame()
        eager.frame_number += 1
    assert bits(recorded) == bits(eager) == bits(again)
    assert any(name.startswith("attachments.") for name in bits(recorded))


def test_batches_give_what_one_thread_gives(monkeypatch, set_threads, device):
    serial = build(tumbling(), device)
    serial.frame(5)
    module = importlib.import_module("pliant.attachments")
    monkeypatch.setattr(module, "SPLIT", 0)
    monkeypatch.setattr(module, "SERIAL", 0)
    monkeypatch.setitem(pliant.launch.launch.__kwdefaults__, "grain", 1)
    set_threads(3)
    batches = build(tumbling(), device)
    batches.frame(5)
    assert bits(serial) == bits(batches)


def test_a_checkpoint_goes_on_bit_for_bit(tmp_path, device):
    scene = tumbling(distance=0.0, strength=500.0)
    scene.add_sphere(0.1, (0, -0.5, 0), name="ball")
    scene.attach("a", [0], "ball")
    first, second = build(scene, device), build(scene, device)
    first.move_collider("ball", (0.05, -0.5, 0))
    first.frame(7)
    save_checkpoint(first, tmp_path / "a.ckpt")
    load_checkpoint(second, tmp_path / "a.ckpt")
    for sim in (first, second):
        sim.move_collider("ball", (0.1, -0.5, 0))
        sim.frame(7)
    assert bits(first) == bits(second)
    other = build(tumbling(), device)
    with pytest.raises(InputError, match="another scene"):
        load_checkpoint(other, tmp_path / "a.ckpt")


def test_a_changed_scene_goes_on_with_what_is_broken():
    old, new = (build(hanging(strength=strength)) for strength in (3.0, 30.0))
    old.frame(10)
    assert not old.attachments_intact()["hook"].any()
    assert set(carry_state(old, new)) == {"beam", "load"}
    assert not new.attachments_intact()["hook"].any()


def test_a_new_attachment_of_bodies_that_have_moved_does_not_snap():
    old, new = build(hanging()), build(hanging())
    old.detach("hook")
    old.frame(10)
    old.attachments.host[0].entry.name = "another"
    gap = gaps(old).max()
    assert gap > 0.02
    carry_state(old, new)
    new.frame()
    assert np.abs(new.velocities()).max() < 3.0
    assert 0.5 * gap < gaps(new).max() < 1.5 * gap
    new.frame(80)
    assert np.abs(gaps(new)).max() < 1e-5


def test_a_body_put_elsewhere_comes_back():
    sim = build(hanging())
    sim.set_state("load", sim.positions("load") + np.float32([0, -0.1, 0]))
    sim.frame()
    assert gaps(sim).max() > 0.05
    sim.frame(80)
    assert np.abs(gaps(sim)).max() < 1e-5


# ---- bad input ------------------------------------------------------------------------------------------------------

BAD = {
    "unknown body": (lambda s: s.attach("c", [0], "b"), "no body 'c'"),
    "unknown other": (lambda s: s.attach("a", [0], "c"), "no body or collider 'c'"),
    "no vertices": (lambda s: s.attach("a", lambda x: x[:, 0] > 9, "b"), "no vertex"),
    "no such vertex": (lambda s: s.attach("a", [0], "b", at=[99]), "no vertex"),
    "itself": (lambda s: (s.attach("a", [0, 1], "a", at=[2, 1]), s.build("cpu")), "vertex 1 is attached to itself"),
    "own body": (lambda s: s.attach("a", [0], "a"), "nearest point of its own body"),
    "stiffness": (lambda s: s.attach("a", [0], "b", stiffness=-1.0), "-1.0"),
    "distance": (lambda s: s.attach("a", [0], "b", distance=float("nan")), "nan"),
    "strength": (lambda s: s.attach("a", [0], "b", strength=0), "attachment 'attachment0'.strength"),
    "soft collider": (lambda s: s.attach("a", [0], "floor", stiffness=9.0), "pinned to it"),
    "roots of a box": (lambda s: s.attach("a", "roots", "b"), "only rods have roots"),
    "name": (lambda s: [s.attach("a", [0], "b", name="x") for _ in range(2)], "taken"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_named(case):
    act, words = BAD[case]
    scene = Scene()
    scene.add_plane(name="floor")
    scene.add_body(shapes.box(0.2, 1), name="a", position=(0, 1, 0))
    scene.add_body(shapes.box(0.2, 1), name="b", position=(0.2, 1, 0))
    with pytest.raises(InputError) as error:
        act(scene)
    assert words in str(error.value)


def test_attaching_what_is_pinned_on_both_sides_is_refused():
    scene = hanging()
    scene.pin("load", top)
    with pytest.raises(InputError, match="both sides are pinned"):
        build(scene)
