"""Sheets and rods of springs that tear: where they are stretched too far, for good, and what is seen follows."""

import numpy as np
import pytest
from bodies import build, make_scene

from pliant import Material, RawConstants, Scene, shapes
from pliant.checkpoint import load_checkpoint, save_checkpoint
from pliant.model.springs import BEND
from pliant.solvers.mass_spring.settings import INTEGRATORS

from .rod_bodies import chain

CLOTH = Material(young=1e5, density=300.0, thickness=1e-3, damping=2e-3, bending=1e-5, fracture_strain=0.3)
ROPE = Material(young=1e6, density=1000.0, damping=2e-3, fracture_strain=0.2)


def pulled_cloth(device="cpu", springs="grid", material=CLOTH, cells=8, distance=0.4, **settings):
    """A sheet pinned at one side, the other side of which is led away within a second."""
    scene = make_scene(shapes.sheet(0.5, cells), material, body={"springs": springs}, **settings)
    scene.pin("body", lambda x: x[:, 2] > 0.249)
    scene.pin("body", lambda x: x[:, 2] < -0.249, path=[(0.0, (0, 0, 0)), (1.0, (0, 0, -distance))])
    return build(scene, device)


def parts_of(sim):
    """The piece of each particle of the model, by what springs are left."""
    pairs = sim.model.springs.pairs[~sim.broken_springs("body")]
    label = np.arange(sim.state.count)
    for _ in range(sim.state.count):
        low = np.minimum(label[pairs[:, 0]], label[pairs[:, 1]])
        before = label.copy()
        np.minimum.at(label, pairs[:, 0], low)
        np.minimum.at(label, pairs[:, 1], low)
        if (label == before).all():
            return label
    return label


@pytest.mark.parametrize("springs", ["one_ring", "two_ring", "grid"])
def test_a_cloth_is_torn_in_two(springs, device):
    sim = pulled_cloth(device, springs)
    sim.frame(10)
    assert not sim.broken_springs("body").any() and sim.diagnostics().max_stretch < 1.3
    sim.frame(80)
    label = parts_of(sim)
    x = sim.state.x.numpy()
    top, bottom = label[np.argmax(x[:, 2])], label[np.argmin(x[:, 2])]
    assert top != bottom
    # it tears and does not shatter: at most at both clamps
    assert np.sort(np.bincount(label))[-3:].sum() > 0.6 * len(label)
    # nothing of what is left is stretched, and the notes say when it began
    assert sim.diagnostics().max_stretch < 1.1
    assert any("'body' began to break in frame" in note for note in sim.notes)
    assert any("its springs break at a strain of 0.3" in note for note in sim.notes)


def test_a_weak_row_is_where_it_tears():
    """A sheet that narrows in the middle tears there."""
    mesh = shapes.sheet((0.3, 0.6), (6, 12))
    x = mesh.vertices.copy()
    x[:, 0] *= 0.4 + 0.6 * (np.abs(x[:, 2]) / 0.3)
    scene = make_scene(type(mesh)(x, mesh.triangles), CLOTH)
    scene.pin("body", lambda p: p[:, 2] > 0.299)
    scene.pin("body", lambda p: p[:, 2] < -0.299, path=[(0.0, (0, 0, 0)), (2.0, (0, 0, -0.4))])
    sim = build(scene)
    while not sim.broken_springs("body").any():
        sim.frame()
        assert sim.frame_number < 100
    middle = sim.model.particles.rest[sim.model.springs.pairs[sim.broken_springs("body")]].mean(axis=1)
    assert np.abs(middle[:, 2]).max() < 0.1


def test_torn_triangles_shrink_to_a_point(device):
    sim = pulled_cloth(device)
    triangles = sim.surface("body")
    assert len(triangles) == 128 and sim.surface_positions("body").shape == (384, 3)
    sim.frame(90)
    torn = sim.torn_triangles("body")
    assert 8 <= torn.sum() < 64
    x = sim.surface_positions("body").astype(np.float64)[triangles]
    area = np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
    np.testing.assert_array_equal(area == 0.0, torn)
    assert area.max() < 2.0 * 0.0625**2
    # a triangle is torn exactly where one of its sides is broken
    broken = {tuple(sorted(p)) for p in sim.model.springs.pairs[sim.broken_springs("body")].tolist()}
    sides = np.stack([sim.body("body").surface[:, [i, (i + 1) % 3]] for i in range(3)], axis=1)
    has = [any(tuple(sorted(side)) in broken for side in sides[t].tolist()) for t in range(len(sides))]
    np.testing.assert_array_equal(has, torn)


@pytest.mark.parametrize("springs", ["two_ring", "grid"])
def test_stress_goes_with_what_held_it(springs):
    """What is left of a sheet that was flat under its own stress stays flat and at rest."""
    sim = pulled_cloth(springs=springs)
    sim.frame(90)
    solver = sim.solvers[0]
    live = solver.live.springs
    x = sim.model.particles.rest
    d = x[live.pairs[:, 1]] - x[live.pairs[:, 0]]
    length = np.linalg.norm(d, axis=1)
    pull = (live.stiffness * (length - live.rest_length) / length)[:, None] * d
    force = np.zeros_like(x)
    np.add.at(force, live.pairs[:, 0], pull)
    np.add.at(force, live.pairs[:, 1], -pull)
    assert np.abs(pull).max() > 0
    assert np.abs(force).max() < 1e-9 * live.stiffness.max()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_rope_breaks_under_every_integrator(integrator, device):
    scene = make_scene(chain(12), ROPE, integrator=integrator)
    scene.pin("body", [0])
    scene.pin("body", [12], path=[(0.0, (0, 0, 0)), (0.5, (0.5, 0, 0))])
    sim = build(scene, device)
    sim.frame(40)
    broken = sim.broken_springs("body")
    kinds = sim.model.springs.kind
    assert 1 <= (broken & (kinds != BEND)).sum() <= 4
    # bend springs go with the segments under them, and no others
    gone = sim.model.springs.pairs[broken & (kinds != BEND)].min(axis=1)
    over = sim.model.springs.pairs[broken & (kinds == BEND)].min(axis=1)
    assert set(over) == {k for s in gone for k in (s, s - 1) if 0 <= k < 11}
    assert parts_of(sim)[0] != parts_of(sim)[-1]


@pytest.mark.parametrize(("strain", "breaks"), [(0.19, False), (0.21, True)])
def test_it_breaks_at_its_strain(strain, breaks, device):
    mesh = chain(10)
    sim = build(make_scene(mesh, ROPE, frame_dt=1e-5, substeps=1), device)
    sim.set_state("body", mesh.vertices * (1.0 + strain))
    sim.frame()
    assert sim.broken_springs("body").any() == breaks


@pytest.mark.parametrize("integrator", ["symplectic", "implicit", "hybrid"])
def test_a_checkpoint_holds_what_is_broken(integrator, tmp_path, device):
    sim = pulled_cloth(device, cells=5, integrator=integrator)
    sim.frame(45)
    assert sim.broken_springs("body").any()
    save_checkpoint(sim, tmp_path / "torn.ckpt")
    again = pulled_cloth(device, cells=5, integrator=integrator)
    load_checkpoint(again, tmp_path / "torn.ckpt")
    np.testing.assert_array_equal(again.broken_springs("body"), sim.broken_springs("body"))
    np.testing.assert_array_equal(again.torn_triangles("body"), sim.torn_triangles("body"))
    sim.frame(10)
    again.frame(10)
    np.testing.assert_array_equal(again.positions(), sim.positions())
    np.testing.assert_array_equal(again.surface_positions("body"), sim.surface_positions("body"))
    assert again.diagnostics().elastic == sim.diagnostics().elastic


def test_raw_constants_tear_too():
    raw = RawConstants(spring=50.0, spring_damping=0.05, volume=0.0, volume_damping=0.0, mass=0.1)
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(shapes.sheet(0.5, 5), Material(fracture_strain=0.3), raw=raw, springs="two_ring", name="body")
    scene.pin("body", lambda x: x[:, 2] > 0.249)
    scene.pin("body", lambda x: x[:, 2] < -0.249, path=[(0.0, (0, 0, 0)), (1.0, (0, 0, -0.4))])
    sim = build(scene)
    sim.frame(80)
    assert parts_of(sim).max() > 0 and sim.broken_springs("body").any()


def test_without_a_fracture_strain_nothing_changes():
    scene = make_scene(shapes.sheet(0.5, 4), Material(thickness=1e-3))
    sim = build(scene)
    assert sim.body("body").skin is None and "broken" not in sim.solvers[0].scratch()
    assert not sim.broken_springs("body").any() and not sim.torn_triangles("body").any()
