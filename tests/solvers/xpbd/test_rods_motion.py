"""How rods and chains move: momentum, length, pins, steps that are too long, starts that make no sense."""

import dataclasses

import numpy as np
import pytest
from bodies import bits, build, make_scene
from rod_bodies import NYLON, clamped, helix, part_of, rod_sim, rope, strain, tree

from pliant import Material, Scene
from pliant.checkpoint import load_checkpoint, save_checkpoint
from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh import shapes
from pliant.mesh.arrays import rotation
from pliant.mesh.rods import RodMesh

GRAVITY = (0.0, -9.81, 0.0)
STEEL = Material(density=7800.0, young=2e11, poisson=0.3, damping=0.0)
both = pytest.mark.parametrize("bends", [True, False], ids=["rod", "chain"])


@both
def test_a_thousand_links_swing_within_a_percent(bends, device):
    mesh = rope(1000, length=10.0)
    sim = rod_sim(mesh, pins=[0], bends=bends, gravity=GRAVITY, substeps=4, device=device)
    lowest = worst = 0.0
    for _ in range(150):
        sim.frame()
        worst = max(worst, np.abs(strain(mesh, sim)).max())
        lowest = min(lowest, sim.positions()[:, 1].min())
    assert worst < 0.01
    # it has swung through
    assert lowest < -9.5


def spin_and_momentum(sim):
    """Momentum [N s] and angular momentum with that of the segments [N m s]."""
    mass = sim.model.particles.mass
    x, v = sim.state.x.numpy().astype(float), sim.state.v.numpy().astype(float)
    momentum = (mass[:, None] * v).sum(axis=0)
    angular = np.cross(x - np.average(x, axis=0, weights=mass), mass[:, None] * v).sum(axis=0)
    for group in part_of(sim).groups:
        if group.bends:
            angular += (group.segment.numpy()[:, 1:2].astype(float) * group.omega.numpy()).sum(axis=0)
    return momentum, angular


@both
def test_momentum_is_kept_in_free_flight(bends, device):
    mesh = tree(2)
    drifts = []
    for substeps in (8, 32):
        sim = rod_sim(mesh, bends=bends, substeps=substeps, frame_dt=0.01, device=device)
        rng = np.random.default_rng(0)
        v = np.cross([1.0, 0.5, 2.0], mesh.vertices) + 0.1 * rng.normal(size=mesh.vertices.shape) + [0.5, 0.0, 0.2]
        sim.set_state("body", mesh.vertices.astype(np.float32), v.astype(np.float32))
        before, spin = spin_and_momentum(sim)
        sim.frame(20)
        after, spin_after = spin_and_momentum(sim)
        np.testing.assert_allclose(after, before, atol=2e-6 * np.abs(before).max())
        drifts.append(np.abs(spin_after - spin).max() / np.linalg.norm(spin))
    # of first order in the step, as of implicit Euler
    assert drifts[0] < 0.1
    assert drifts[1] < 0.5 * drifts[0] or drifts[1] < 1e-4


def test_a_stiff_tumbling_stick_keeps_its_spin():
    """A rigid body in free flight: a bent stick turns on with its angular momentum."""
    mesh = rope(10)
    drifts = []
    for substeps in (10, 40):
        sim = rod_sim(mesh, STEEL, substeps=substeps, frame_dt=0.01)
        v = np.cross([0.0, 3.0, 0.0], mesh.vertices - [0.5, 0, 0])
        sim.set_state("body", mesh.vertices.astype(np.float32), v.astype(np.float32))
        spin = spin_and_momentum(sim)[1]
        sim.frame(50)
        drifts.append(np.abs(spin_and_momentum(sim)[1] - spin).max() / np.linalg.norm(spin))
    assert drifts[1] < 0.01
    assert drifts[1] < 0.4 * drifts[0]


@both
def test_rest_shapes_stay_at_rest_wherever_they_are(bends, device):
    for mesh in (tree(1), helix(2)):
        sim = rod_sim(mesh, bends=bends, substeps=4, device=device)
        x = (mesh.vertices @ rotation([1, 2, -1], 2.0, "").T + [3.0, -1.0, 2.0]).astype(np.float32)
        sim.set_state("body", x, np.zeros_like(x))
        sim.frame(5)
        assert np.abs(sim.positions() - x).max() < 5e-6


def test_pins_hold_and_clamps_lead(device):
    """A pinned pair holds a rod's direction; led along a path it takes the rod with it."""
    mesh = clamped(10)
    scene = make_scene(mesh, dataclasses.replace(NYLON, young=2e10, damping=0.02), method="xpbd", substeps=4)
    scene.pin("body", [0, 1], path=[(0.0, (0, 0, 0)), (0.5, (0, 0.2, 0))])
    sim = build(scene, device)
    sim.frame(120)
    np.testing.assert_allclose(sim.positions()[:2], mesh.vertices[:2] + [0, 0.2, 0], atol=1e-6)
    np.testing.assert_allclose(sim.positions(), mesh.vertices + [0, 0.2, 0], atol=5e-3)


def test_roots_turn_with_what_they_grow_on(device):
    """A comb of curved strands on a plate that turns by half a turn: each comes along, also about its own root."""
    strand = helix(1, 12, 0.03, 0.05, 0.002).rotated((1, 0, 0), np.pi)
    mesh = RodMesh.joined([strand.translated((x, 0.0, z)) for x in (-0.2, 0.0, 0.2) for z in (-0.2, 0.1)])
    scene = make_scene(mesh, dataclasses.replace(NYLON, damping=0.02, drag=2.0), method="xpbd", substeps=4)
    keys = [{"time": t, "rotation": (0.0, 180.0 * t, 0.0)} for t in (0.0, 1.0)]
    scene.pin("body", "roots", keys, center=(0.0, 0.0, 0.0))
    sim = build(scene, device)
    sim.frame(150)
    np.testing.assert_allclose(sim.positions(), mesh.vertices * [-1, 1, -1], atol=3e-3)


def test_a_pin_between_and_at_both_ends(device):
    """A rope over a pin in the middle of it hangs on both sides of it, alike."""
    mesh = rope(20)
    soft = dataclasses.replace(NYLON, young=1e8, damping=0.05, drag=2.0)
    sim = rod_sim(mesh, soft, pins=[10], gravity=GRAVITY, substeps=2, device=device)
    sim.frame(200)
    x = sim.positions().astype(float)
    np.testing.assert_array_equal(x[10], np.float32(mesh.vertices[10]))
    np.testing.assert_allclose(x[0] - x[10], (x[20] - x[10]) * [-1, 1, 1], atol=1e-3)
    assert x[0, 1] < -0.1


@both
def test_the_order_of_vertices_does_not_matter(bends):
    """A rope whose first vertex is in its middle moves as the one that is numbered along it."""
    mesh = rope(12)
    order = np.array([6, 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12])
    place = np.argsort(order)
    mixed = RodMesh(mesh.vertices[order], place[mesh.segments], mesh.radius)
    ends = []
    for body, pins in ((mesh, [0, 1]), (mixed, place[[0, 1]])):
        sim = rod_sim(body, pins=pins, bends=bends, gravity=GRAVITY, substeps=4)
        sim.frame(30)
        ends.append(sim.positions())
    np.testing.assert_allclose(ends[1][place], ends[0], atol=1e-5)


@both
def test_a_steel_wire_bears_the_longest_step(bends, device):
    """One step of 1/60 s a frame, with a wire of 2 mm: nothing explodes, and it is as long as before."""
    mesh = rope(100, length=2.0, radius=0.001)
    sim = rod_sim(mesh, STEEL, pins=[0], bends=bends, gravity=GRAVITY, substeps=1, device=device)
    for _ in range(120):
        sim.frame()
        assert np.abs(strain(mesh, sim)).max() < 0.05
    assert np.abs(sim.velocities()).max() < 20.0


@both
def test_a_scramble_comes_back(bends, device):
    """Vertices thrown about at random, or all at one place: no NaN, and the segments find their length."""
    mesh = rope(30, length=1.0)
    for scale in (0.3, 0.0):
        sim = rod_sim(
            mesh, dataclasses.replace(NYLON, young=1e7, damping=0.02, drag=5.0), bends=bends, substeps=8,
            stretch_limit=1000.0, device=device,
        )  # fmt: skip
        x = (scale * np.random.default_rng(0).normal(size=mesh.vertices.shape)).astype(np.float32)
        sim.set_state("body", x, np.zeros_like(x))
        sim.frame(200)
        assert np.isfinite(sim.positions()).all()
        assert np.abs(strain(mesh, sim)).max() < 0.02


@both
def test_a_segment_without_length_is_no_end(bends):
    mesh = rope(10)
    sim = rod_sim(mesh, dataclasses.replace(NYLON, damping=0.01), pins=[0], bends=bends, gravity=GRAVITY, substeps=4)
    x = mesh.vertices.astype(np.float32)
    x[6] = x[5]
    sim.set_state("body", x, np.zeros_like(x))
    sim.frame(60)
    assert np.abs(strain(mesh, sim)).max() < 0.02


@both
def test_threads_do_not_matter(bends, set_threads, monkeypatch):
    monkeypatch.setitem(launch.__kwdefaults__, "grain", 1)
    monkeypatch.setattr("pliant.solvers.xpbd.rod_group.ROD_GRAIN", 1)
    monkeypatch.setattr("pliant.solvers.xpbd.rod_group.CHAIN_GRAIN", 1)
    strands = RodMesh.joined([rope(6 + k % 3, 0.2).translated((0, 0, 0.01 * k)) for k in range(50)])
    runs = []
    for threads in (1, 2, 3):
        set_threads(threads)
        sim = rod_sim(strands, pins="roots", bends=bends, gravity=GRAVITY, substeps=3)
        sim.frame(4)
        runs.append(bits(sim))
    assert runs[0] == runs[1] == runs[2]


@both
def test_a_checkpoint_goes_on_bit_for_bit(bends, tmp_path):
    make = lambda: rod_sim(tree(3), pins=[0], bends=bends, gravity=GRAVITY, substeps=4)
    sim, other = make(), make()
    sim.frame(5)
    save_checkpoint(sim, tmp_path / "a.ckpt")
    load_checkpoint(other, tmp_path / "a.ckpt")
    sim.frame(3)
    other.frame(3)
    assert bits(sim) == bits(other)


@both
def test_a_rope_breaks_where_it_is_weakest(bends, tmp_path, device):
    """A rope that narrows in its middle is pulled too hard by its weight: it breaks there, once, and the rest falls."""
    mesh = rope(20, direction=(0.0, -1.0, 0.0))
    radius = np.full(20, 0.01)
    radius[12] = 0.001
    weak = RodMesh(mesh.vertices, mesh.segments, radius)
    material = Material(density=1200.0, young=2e7, damping=0.001, fracture_strain=0.015)
    make = lambda: rod_sim(weak, material, pins=[0], bends=bends, gravity=GRAVITY, substeps=4, device=device)
    sim = make()
    assert any("can break" in note for note in sim.notes)
    save_checkpoint(sim, tmp_path / "early.ckpt")
    sim.frame(90)
    broken = part_of(sim).broken("body")
    assert broken.tolist() == [sim.model.bodies[0].rank[12]]
    x = sim.positions().astype(float)
    # a second and a half of fall, and what hangs on is whole
    assert x[13, 1] < -5.0 and x[12, 1] > -0.7
    assert np.abs(np.delete(strain(weak, sim), 12)).max() < 0.015
    save_checkpoint(sim, tmp_path / "late.ckpt")
    other = make()
    load_checkpoint(other, tmp_path / "late.ckpt")
    sim.frame(10)
    other.frame(10)
    assert bits(sim) == bits(other)
    load_checkpoint(sim, tmp_path / "early.ckpt")
    assert len(part_of(sim).broken("body")) == 0
    sim.frame(90)
    assert part_of(sim).broken("body").tolist() == broken.tolist()


def test_only_rods_are_chains():
    with pytest.raises(InputError, match="only rods"):
        Scene().add_body(shapes.ball(0.2, 2), bends=False)
    with pytest.raises(InputError, match="neither true nor false"):
        Scene().add_body(rope(3), method="xpbd", bends="no")


def test_a_tapered_rod_gives_way_at_its_thin_end(device):
    """Bent by its weight, a rod that narrows is curved most where it is thin."""
    mesh = clamped(16)
    taper = RodMesh(mesh.vertices, mesh.segments, np.linspace(0.006, 0.001, 17))
    sim = rod_sim(taper, dataclasses.replace(NYLON, damping=0.05), pins=[0, 1], gravity=GRAVITY, device=device)
    sim.frame(150)
    x = sim.positions().astype(float)
    turn = np.diff(np.arctan2(np.diff(x[:, 1]), np.diff(x[:, 0])))
    even = rod_sim(mesh, dataclasses.replace(NYLON, damping=0.05), pins=[0, 1], gravity=GRAVITY, device=device)
    even.frame(150)
    y = even.positions().astype(float)
    other = np.diff(np.arctan2(np.diff(y[:, 1]), np.diff(y[:, 0])))
    middle = lambda a: (np.abs(a) * np.arange(len(a))).sum() / np.abs(a).sum()
    assert middle(turn) > middle(other) + 0.5
