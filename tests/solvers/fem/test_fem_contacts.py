"""Contacts between bodies in the equations of finite elements: stacks, momentum, friction, other methods."""

import numpy as np
import pytest

from pliant import Material, Scene, shapes
from pliant.bench.pile import deepest, pile
from pliant.checkpoint import load_checkpoint, save_checkpoint

GRAVITY = 9.81
SIDE = 0.2


def cube(cells=3):
    return shapes.box((SIDE,) * 3, cells)


def stuff(young=2e5, density=500.0, friction=0.6, **more):
    return Material(young=young, poisson=0.4, density=density, damping=0.008, friction=friction, **more)


def stacked(device, methods, materials, substeps=None, **settings):
    """Cubes on each other on a floor, a little apart."""
    scene = Scene(contact="bodies", substeps=substeps)
    if settings:
        scene.configure("fem", **settings)
    scene.add_plane(name="floor")
    for k, (method, material) in enumerate(zip(methods, materials, strict=True)):
        place = (0.0, 0.5 * SIDE + 1e-3 + (SIDE + 2e-3) * k, 0.0)
        scene.add_body(cube(), material, method=method, name=f"b{k}", position=place)
    return scene.build(device)


def weights(sim):
    return [GRAVITY * sim.masses()[slice(*body.particles)].sum() for body in sim.model.bodies]


def mean_forces(sim, pairs, frames=10):
    found = []
    for _ in range(frames):
        sim.frame()
        found.append([sim.contact_force_between(*pair) for pair in pairs])
    return np.mean(found, axis=0)


def momentum(sim):
    return sim.masses().astype(np.float64) @ sim.state.v.numpy().astype(np.float64)


@pytest.mark.parametrize("substeps", [1, None])
@pytest.mark.parametrize("energy", ["corotated", "neo_hookean"])
def test_a_stack_of_soft_and_stiff_blocks_stands(energy, substeps, device):
    """Four blocks, whose stiffness differs by 300 times: each carries those above it, and none sinks or drifts."""
    materials = [stuff(1e6), stuff(1e5), stuff(3e7), stuff(2e5)]
    sim = stacked(device, ["fem"] * 4, materials, substeps, energy=energy)
    assert sim.substeps <= 3
    sim.frame(150)
    places = [sim.positions(f"b{k}").mean(axis=0) for k in range(4)]
    weight = weights(sim)
    pairs = [(f"b{k + 1}", f"b{k}") for k in range(3)] + [("b0", "floor")]
    carried = np.array([[0.0, sum(weight[k + 1 :]), 0.0] for k in range(3)] + [[0.0, sum(weight), 0.0]])
    # 0.2 % off was measured
    np.testing.assert_allclose(mean_forces(sim, pairs), carried, atol=0.02 * sum(weight))
    sim.frame(60)
    for k, place in enumerate(places):
        # they sway by some tenths of a millimetre
        np.testing.assert_allclose(sim.positions(f"b{k}").mean(axis=0), place, atol=1.5e-3)
        assert np.abs(place[[0, 2]]).max() < 0.01
    assert sim.diagnostics().inverted == 0
    assert np.abs(sim.velocities()).max() < 0.04
    assert deepest(sim) < 1e-3


@pytest.mark.parametrize("substeps", [1, 4])
def test_two_free_bodies_keep_momentum_to_rounding(substeps, device):
    scene = Scene(gravity=(0, 0, 0), contact="bodies", substeps=substeps)
    for k, density in enumerate((500.0, 2000.0)):
        place = (0.04 * k, 1.3 * SIDE * k, 0.03 * k)
        given = {"position": place, "rotation": (10.0 * k, 0, 20.0 * k), "velocity": (0.3 * k, -1.5 * k, 0)}
        scene.add_body(cube(3 + k), stuff(density=density), method="fem", name=f"b{k}", **given)
    sim = scene.build(device)
    before = momentum(sim)
    met = 0.0
    for _ in range(30):
        sim.frame()
        met = max(met, np.abs(sim.body_contacts.read(sim.state, sim.dt).force).max(initial=0.0))
    assert met > 10.0 and sim.velocities("b0")[:, 1].mean() < -0.5
    np.testing.assert_allclose(momentum(sim), before, atol=2e-6 * np.abs(before).max())


@pytest.mark.parametrize("other", ["xpbd", "shape_matching", "mass_spring"])
@pytest.mark.parametrize("is_below", [True, False])
def test_a_body_of_another_method_carries_and_is_carried(other, is_below, device):
    methods = ["fem", other] if is_below else [other, "fem"]
    sim = stacked(device, methods, [stuff(), stuff()])
    sim.frame(100)
    found = mean_forces(sim, [("b1", "b0"), ("b0", "b1"), ("b0", "floor")], 15)
    upper, both = weights(sim)[1], sum(weights(sim))
    # 2 % off was measured
    expected = np.array([[0, upper, 0], [0, -upper, 0], [0, both, 0]])
    np.testing.assert_allclose(found, expected, atol=0.04 * both)
    np.testing.assert_allclose(sim.positions("b1").mean(axis=0), [0.0, 1.5 * SIDE, 0.0], atol=0.012)
    assert deepest(sim) < 1e-3


def test_a_soft_block_between_two_others_is_squeezed_and_stays_whole(device):
    """Two stiff blocks close on a soft one from both sides, at one step a frame, to less than half of its height."""
    scene = Scene(gravity=(0, 0, 0), contact="bodies", substeps=1)
    soft, hard = stuff(5e3, friction=0.3), stuff(1e6, friction=0.3)
    scene.add_body(cube(5), soft, method="fem", name="soft")
    for name, sign in (("low", -1.0), ("high", 1.0)):
        plate = shapes.box((2.0 * SIDE, 0.1, 2.0 * SIDE), (6, 2, 6))
        scene.add_body(plate, hard, method="fem", name=name, position=(0, sign * (0.5 * SIDE + 0.053), 0))
        goal = (0, -sign * 0.28 * SIDE, 0)
        scene.pin(name, lambda x, s=sign: s * x[:, 1] > 0.19, path=[(0.0, (0, 0, 0)), (1.0, goal)])
    sim = scene.build(device)
    for _ in range(75):
        sim.frame()
        assert sim.diagnostics().inverted == 0
    height = np.ptp(sim.positions("soft")[:, 1])
    assert height < 0.5 * SIDE
    assert sim.tet_fields("soft").volume.min() > 0.1
    assert deepest(sim) < 1e-3


def test_friction_slides_and_holds_at_two_steps_a_frame(device):
    """A block on a pinned one, under gravity that is tilted: what Coulomb says, and no creep."""

    def slid(mu):
        tilt = 0.4
        scene = Scene(gravity=(GRAVITY * np.sin(tilt), -GRAVITY * np.cos(tilt), 0.0), contact="bodies", substeps=2)
        material = Material(young=1e5, density=1000.0, damping=0.002, friction=mu)
        scene.add_body(shapes.box((1.0, 0.1, 0.4), (10, 1, 4)), material, method="fem", name="table")
        scene.pin("table", lambda p: np.ones(len(p), bool))
        scene.add_body(shapes.box(0.1, 2), material, method="fem", name="b", position=(-0.2, 0.101, 0.0))
        sim = scene.build(device)
        sim.frame(10)
        place, speed = (values("b")[:, 0].mean() for values in (sim.positions, sim.velocities))
        sim.frame(18)
        gained = (sim.velocities("b")[:, 0].mean() - speed) / 0.3
        return sim.positions("b")[:, 0].mean() - place, gained, GRAVITY * (np.sin(tilt) - mu * np.cos(tilt))

    assert abs(slid(0.6)[0]) < 1e-4
    _, gained, expected = slid(0.2)
    # 0.1 % off was measured
    assert gained == pytest.approx(expected, rel=0.1)


def test_a_pile_at_one_step_a_frame_comes_to_rest(device):
    sim = pile(12, device, "fem")
    sim.substeps = 1
    for _ in range(6):
        sim.frame(15)
        assert sim.diagnostics().inverted == 0
        assert deepest(sim) < 1e-3
    assert np.sqrt((sim.state.v.numpy() ** 2).sum(axis=1).mean()) < 0.01


def test_it_goes_on_from_a_checkpoint_in_the_same_way(device, tmp_path):
    def built():
        sim = stacked(device, ["fem"] * 3, [stuff(), stuff(5e4), stuff()])
        sim.frame(20)
        return sim

    one, two = built(), built()
    path = tmp_path / "stack.npz"
    save_checkpoint(one, path)
    one.frame(20)
    two.frame(3)
    load_checkpoint(two, path)
    two.frame(20)
    np.testing.assert_array_equal(one.state.x.numpy(), two.state.x.numpy())


@pytest.mark.parametrize("settings", [{"integrator": "descent"}, {"iterations": 2}])
def test_other_ways_to_solve_a_step_take_many_short_ones(settings, device):
    sim = stacked(device, ["fem"] * 2, [stuff(), stuff()], **settings)
    assert sim.substeps >= 16 and sim.body_contacts.joiner is None
    sim.frame(2)
    assert np.isfinite(sim.positions()).all()
