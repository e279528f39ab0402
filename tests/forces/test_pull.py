"""Pulls that hold a patch of a body: how much of it, how strongly, and that the force is what it says."""

import numpy as np
import pytest
from bodies import bits, build, make_scene, make_sim

from pliant import InputError, Material, PointCloud, Scene, load_checkpoint, save_checkpoint, shapes
from pliant.mesh.embed import embed
from pliant.mesh.surface import SurfaceMesh

SOFT = Material(young=2e4, poisson=0.4, damping=0.004)
RATE = 225.0  # stiffness over the body's mass [1/s^2]
BOX = shapes.box(0.2, 6)


def held_mass(sim, handle):
    pull = sim.pulls.get(handle)
    return 1.0 / np.sum(pull.weights**2 / sim.model.particles.mass[pull.members])


@pytest.mark.parametrize("method, substeps", [("mass_spring", None), ("shape_matching", 2), ("shape_matching", 8)])
@pytest.mark.parametrize("seen", [False, True], ids=["vertex", "seen"])
def test_a_body_is_lifted(method, substeps, seen, device):
    """A body of 5 kg hangs g / 225 below the hand, whatever the step: it is held by enough of its particles."""
    stuff = Material(young=5e4, density=625.0, damping=0.01, drag=1.0)
    scene = Scene(substeps=substeps)
    scene.add_body(BOX, stuff, method=method, name="box", position=(0, 0.1, 0))
    scene.add_plane()
    sim = build(scene, device)
    mass = float(sim.model.particles.mass.sum())
    assert mass == pytest.approx(5.0)
    top = int(np.argmin(np.linalg.norm(BOX.vertices - [0, 0.1, 0], axis=1)))
    damping = 30.0 * mass
    if seen:
        handle = sim.pull_seen("box", top, sim.positions("box")[top], RATE * mass)
    else:
        handle = sim.pull("box", top, sim.positions("box")[top], RATE * mass, damping)
    assert not any("weakened" in note for note in sim.notes)
    start = sim.pull_point(handle)
    np.testing.assert_allclose(start, sim.positions("box")[top], atol=1e-6)
    for k in range(60):
        sim.move_pull(handle, start + [0.0, 0.5 * (k + 1) / 60, 0.0])
        sim.frame()
    sim.frame(120)
    sag = 0.5 + start[1] - sim.pull_point(handle)[1]
    assert sag == pytest.approx(9.81 / RATE, abs=1.5e-3)
    assert sim.pull_force(handle) == pytest.approx(mass * 9.81, rel=0.05)
    assert sim.positions("box")[:, 1].min() > 0.2


def test_no_more_is_held_than_is_needed():
    sim = make_sim(BOX, SOFT, frame_dt=0.01, substeps=4)
    masses = sim.model.particles.mass
    limit = 0.25 * masses[sim.body("body").particle_of[0]] / sim.dt**2
    one, many = sim.pull("body", 0, (1, 1, 1), 0.99 * limit), sim.pull("body", 0, (1, 1, 1), 30 * limit)
    assert list(sim.pulls.get(one).members) == [sim.body("body").particle_of[0]]
    assert not any("weakened" in note for note in sim.notes)
    pull = sim.pulls.get(many)
    needed = 4 * 30 * limit * sim.dt**2
    assert held_mass(sim, many) >= needed * (1 - 1e-6)
    assert held_mass(sim, many) < 2 * needed and len(pull.members) < 0.5 * len(masses)
    for handle in (one, many):
        assert sim.pulls.get(handle).weights.sum() == pytest.approx(1.0)
    # the nearest: nothing that is not held is nearer than what is
    x = sim.state.x.numpy()
    far = np.linalg.norm(x - x[pull.members[0]], axis=1)
    assert far[pull.members].max() <= np.delete(far, pull.members).min() + 1e-6


def test_damping_that_is_asked_for_counts_too():
    sim = make_sim(BOX, SOFT, frame_dt=0.01, substeps=4)
    handle = sim.pull("body", 0, (1, 1, 1), 10.0, damping=50.0)
    assert sim.pulls.get(handle).damping == pytest.approx(50.0)
    assert held_mass(sim, handle) >= 4 * 50.0 * sim.dt * (1 - 1e-6)


@pytest.mark.parametrize("spread, count", [(0, 1), (1, 1), (7, 7), (256, 256)])
def test_the_spread_that_is_asked_for(spread, count):
    sim = make_sim(BOX, SOFT, frame_dt=0.01, substeps=4)
    handle = sim.pull("body", 5, (1, 1, 1), 1e9, spread=spread)
    pull = sim.pulls.get(handle)
    assert len(pull.members) == count == len(set(pull.members)) and "weakened" in sim.notes[-1]
    assert pull.stiffness == pytest.approx(0.25 * held_mass(sim, handle) / sim.dt**2)


@pytest.mark.parametrize("spread", [-1, 257, 1.5, "all", True])
def test_a_spread_that_makes_no_sense_is_refused(spread):
    sim = make_sim(BOX, SOFT)
    with pytest.raises(InputError, match=r"pull\.spread"):
        sim.pull("body", 0, (0, 0, 0), spread=spread)
    assert not sim.pulls.active


def test_overlapping_patches_give_their_forces_and_no_more(device):
    """Two pulls that share particles: the force on each particle is the sum of its shares, and so is the momentum."""
    sim = make_sim(BOX, Material(young=1e3, damping=0.0), frame_dt=0.001, substeps=1, device=device)
    handles = [
        sim.pull("body", 0, (1.0, 0.2, 0.0), 30.0, damping=1.0, spread=60),
        sim.pull("body", 3, (0.0, 1.0, 0.3), 50.0, damping=0.5, spread=100),
    ]
    sim.set_state("body", velocities=np.random.default_rng(0).normal(0, 0.1, (len(BOX.vertices), 3)))
    x, v = (a.numpy().astype(np.float64) for a in (sim.state.x, sim.state.v))
    force = np.zeros_like(x)
    total = np.zeros(3)
    for handle in handles:
        p = sim.pulls.get(handle)
        point = p.weights @ x[p.members]
        np.testing.assert_allclose(sim.pull_point(handle), point + p.offset, atol=1e-6)
        pulled = p.stiffness * (np.array(p.target) - p.offset - point) - p.damping * (p.weights @ v[p.members])
        assert sim.pull_force(handle) == pytest.approx(np.linalg.norm(pulled), rel=1e-5)
        np.add.at(force, p.members, p.weights[:, None] * pulled)
        total += pulled
    shared = set(sim.pulls.get(handles[0]).members) & set(sim.pulls.get(handles[1]).members)
    assert len(shared) > 10
    sim.apply_forces()
    np.testing.assert_allclose(sim.state.f_ext.numpy(), force, atol=2e-5)
    before = sim.diagnostics().momentum
    sim.frame()
    np.testing.assert_allclose(sim.diagnostics().momentum - before, 0.001 * total, rtol=2e-3, atol=1e-5)
    for handle in handles:
        sim.release(handle)
    assert not sim.state.f_ext.numpy().any()


def skinned(device, method="mass_spring", carried=True, **options):
    solid = shapes.box(0.2, 4)
    surface = shapes.ball(0.08, 3)
    skin = SurfaceMesh(surface.vertices, surface.surface()).drop_unused()
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=10)
    embedding = embed(skin.vertices, solid) if carried else None
    scene.add_body(
        solid, SOFT, method=method, name="body", skin=(skin, embedding), position=(0, 0.3, 0), rotation=(0, 0, 30),
        **options,
    )  # fmt: skip
    return build(scene, device)


def test_a_vertex_of_a_skin_is_held_where_it_is(device):
    sim = skinned(device)
    target = sim.surface_positions("body")[11] + [0.0, 0.02, 0.0]
    handle = sim.pull_seen("body", 11, target, 20.0, damping=0.1, spread=1)
    pull = sim.pulls.get(handle)
    assert 1 <= len(pull.members) <= 4 and pull.weights.sum() == pytest.approx(1.0)
    for _ in range(3):
        np.testing.assert_allclose(sim.pull_point(handle), sim.surface_positions("body")[11], atol=1e-6)
        sim.frame(10)
    wide = sim.pull_seen("body", 11, target, 20.0, spread=40)
    assert len(sim.pulls.get(wide).members) == 40
    np.testing.assert_allclose(sim.pull_point(wide), sim.surface_positions("body")[11], atol=1e-6)


def test_a_skin_that_follows_clusters_and_balls_can_be_held(device):
    sims = [skinned(device, "shape_matching", False, matching={"clusters": 4})]
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=4)
    scene.add_body(PointCloud(BOX.vertices[::3], volume=0.008), SOFT, method="shape_matching", name="body")
    sims.append(build(scene, device))
    for sim in sims:
        before = sim.surface_positions("body")[25].astype(np.float64)
        mass = float(sim.model.particles.mass.sum())
        handle = sim.pull_seen("body", 25, before + [0.0, 0.1, 0.0], RATE * mass)
        np.testing.assert_allclose(sim.pull_point(handle), before, atol=1e-6)
        sim.frame(150)
        np.testing.assert_allclose(sim.pull_point(handle), before + [0, 0.1, 0], atol=0.005)
        assert np.linalg.norm(sim.surface_positions("body")[25] - before) > 0.05


def test_bad_seen_vertices_are_refused():
    sim = skinned("cpu")
    for vertex in (-1, 10**6, 1.5, None):
        with pytest.raises(InputError, match="vertex"):
            sim.pull_seen("body", vertex, (0, 0, 0))
    with pytest.raises(InputError, match="not active"):
        sim.pull_point(3)
    with pytest.raises(InputError, match="not active"):
        sim.pull_force(0)


def test_a_patch_is_of_one_piece(device):
    """What has come apart is not held by the hand on the other piece."""
    scene = Scene(gravity=(0, 0, 0), substeps=4)
    scene.add_body(
        shapes.box((0.4, 0.1, 0.1), (12, 3, 3)), Material(young=1e5, fracture_strain=0.05), method="shape_matching",
        name="bar", matching={"clusters": 8},
    )  # fmt: skip
    sim = build(scene, device)
    x = sim.positions("bar")
    sim.set_state("bar", x + np.where(x[:, :1] > 0, [[0.15, 0, 0]], [[-0.15, 0, 0]]))
    sim.frame(20)
    piece = sim.piece_of_particles()
    assert sim.pieces("bar") > 1
    handle = sim.pull("bar", 0, (0, 1, 0), 10.0, spread=200)
    members = sim.pulls.get(handle).members
    assert 1 < len(members) < len(x) and len(set(piece[members])) == 1


@pytest.mark.parametrize("method", ["mass_spring", "xpbd", "baraff_witkin"])
def test_the_corner_of_a_sheet_is_held_by_what_is_near_it(method):
    """A sheet folds: its corner is not where the rest of it says, and pins take no share of the force."""
    scene = Scene(gravity=(0, 0, 0), substeps=4)
    sheet = shapes.sheet(size=(0.4, 0.4), cells=(8, 8))
    scene.add_body(sheet, Material(young=1e5, thickness=0.002), method=method, name="sheet")
    corner, beside = np.argsort(np.linalg.norm(sheet.vertices - sheet.vertices.max(axis=0), axis=1))[:2]
    scene.pin("sheet", [int(beside)])
    sim = build(scene, "cpu")
    mass = float(sim.model.particles.mass.sum())
    start = sim.surface_positions("sheet")[corner]
    pull = sim.pulls.get(sim.pull_seen("sheet", int(corner), start, RATE * mass))
    assert not any("weakened" in note for note in sim.notes)
    assert (pull.weights >= 0.0).all() and pull.weights.sum() == pytest.approx(1.0)
    assert np.linalg.norm(sim.state.x.numpy()[pull.members] - start, axis=1).max() < 0.15
    several = sim.pulls.get(sim.pull_seen("sheet", int(corner), start, RATE * mass, spread=20))
    assert len(several.members) == 20 and sim.body("sheet").particle_of[beside] not in several.members


def pulled(device="cpu"):
    sim = build(make_scene(BOX, SOFT, gravity=(0, -9.81, 0), frame_dt=0.01, substeps=9), device)
    sim.pull("body", 0, (0.3, 0.5, 0.1), 300.0, spread=50)
    return sim


def test_recorded_equals_eager_and_pulls_change_without_a_new_recording(device):
    recorded, eager = pulled(device), pulled(device)
    for k in range(6):
        recorded.frame()
        eager._issue_frame()
        eager.frame_number += 1
        if k == 0:
            programs = dict(recorded._programs)
        for sim in (recorded, eager):
            sim.move_pull(0, (0.3, 0.5 + 0.1 * k, 0.1))
            if k == 2:
                sim.pull("body", 20, (0.0, 1.0, 0.0), 200.0, spread=80)
            if k == 4:
                sim.release(0)
                sim.pull("body", 9, (0.0, 1.0, 0.0), 20.0)
    assert bits(recorded) == bits(eager)
    assert recorded._programs == programs


def test_measuring_changes_nothing(device):
    measured, plain = pulled(device), pulled(device)
    for _ in range(4):
        measured.frame()
        measured.pull_point(0)
        measured.pull_force(0)
        plain.frame()
    assert bits(measured) == bits(plain)


def test_going_on_from_a_checkpoint(tmp_path, device):
    through = pulled(device)
    through.pull_seen("body", 30, (0, 1, 0), 500.0)
    through.frame(3)
    save_checkpoint(through, tmp_path / "a.ckpt")
    resumed = build(make_scene(BOX, SOFT, gravity=(0, -9.81, 0), frame_dt=0.01, substeps=9), device)
    load_checkpoint(resumed, tmp_path / "a.ckpt")
    for sim in (through, resumed):
        sim.move_pull(1, (0.2, 1, 0))
        sim.frame(3)
        sim.release(0)
        sim.frame(3)
    assert bits(resumed) == bits(through)


def test_pulls_of_older_files_hold_one_particle(device):
    """Files of before hold (16, 6) numbers: particle, target, stiffness, damping."""
    one = build(make_scene(BOX, SOFT, gravity=(0, -9.81, 0), frame_dt=0.01, substeps=9), device)
    other = build(make_scene(BOX, SOFT, gravity=(0, -9.81, 0), frame_dt=0.01, substeps=9), device)
    one.pull("body", 4, (0, 1, 0), 5.0, damping=0.1, spread=1)
    old = one.pulls.saved()[:, :6]
    assert other.pulls.fits(old, other.state.count) == ""
    other.pulls.load(old)
    one.frame(4)
    other.frame(4)
    assert bits(one) == bits(other)
    old[3, 0] = 1e6
    assert "does not exist" in other.pulls.fits(old, other.state.count)


def test_the_point_that_is_held_turns_with_the_body():
    """The force acts at the vertex, with its torque; a patch inside the body is centred about it."""
    sim = make_sim(BOX, SOFT, frame_dt=0.01, substeps=8)
    face = int(np.argmin(np.linalg.norm(BOX.vertices - [0, 0.1, 0], axis=1)))
    handle = sim.pull("body", face, (0, 1, 0), 100.0, damping=1.0, spread=90)
    x = sim.positions("body").astype(np.float64)
    sim.apply_forces()
    force = sim.state.f_ext.numpy()[sim.body("body").particle_of].astype(np.float64)
    assert np.abs(sim.pulls.get(handle).weights).sum() <= 2.0 + 1e-9
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), np.cross(x[face], force.sum(axis=0)), atol=1e-4)
    turned = x[:, [1, 2, 0]] + [0.5, 0.0, 0.2]
    sim.set_state("body", positions=turned)
    np.testing.assert_allclose(sim.pull_point(handle), turned[face], atol=1e-5)
