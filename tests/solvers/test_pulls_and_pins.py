"""Hands on a running simulation: pins set and let go, pulls on particles."""

import numpy as np
import pytest
from bodies import bits, build, make_scene, make_sim

from pliant import InputError, Material, Scene, shapes

SOFT = Material(young=2e4, poisson=0.4, damping=0.004)
INTEGRATORS = ["symplectic", "verlet", "euler", "midpoint", "rk4", "implicit"]


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_pins_set_in_flight_hold_and_let_go(integrator, device):
    """Vertices caught in motion stop where they are, to the bit, and fall on when they are let go."""
    mesh = shapes.box(0.4, 3)
    sim = make_sim(
        mesh, SOFT, gravity=(0.1, -9.81, 0.2), frame_dt=0.01, substeps=10, integrator=integrator, device=device,
        body={"velocity": (1.0, 2.0, 0.3), "angular_velocity": (1, 2, 3)},
    )  # fmt: skip
    sim.frame(3)
    caught = [0, 5, 20]
    sim.pin("body", caught)
    place = sim.positions()[caught]
    sim.frame(10)
    np.testing.assert_array_equal(sim.positions()[caught], place)
    assert (sim.velocities()[caught] == 0).all()
    sim.unpin("body", caught)
    before = sim.diagnostics()
    sim.frame(5)
    after = sim.diagnostics()
    assert np.abs(sim.positions()[caught] - place).max() > 1e-3
    # nothing holds it any more: the centre of mass falls
    gained = (after.momentum - before.momentum) / sim.model.particles.mass.sum()
    np.testing.assert_allclose(gained, 0.05 * np.array([0.1, -9.81, 0.2]), atol=1e-4)


def test_a_pin_follows_a_path_given_in_flight(device):
    sim = make_sim(shapes.box(0.4, 2), SOFT, frame_dt=0.01, substeps=10, device=device)
    place = sim.positions()[4].astype(np.float64)
    sim.frame(5)
    sim.pin("body", 4, [(0.0, (0, 0, 0)), (0.1, (0, 0.1, 0))])
    sim.frame(5)
    np.testing.assert_allclose(sim.positions()[4], place + [0, 0.05, 0], atol=2e-6)
    sim.frame(10)
    np.testing.assert_allclose(sim.positions()[4], place + [0, 0.1, 0], atol=1e-6)


def test_a_pull_balances_weight(device):
    """A body that hangs on a spring of 200 N/m: force equals weight, and the spring is as long as it says."""
    mesh = shapes.tetrahedron(0.2)
    material = Material(young=2e5, damping=0.002, density=1000.0, drag=3.0)
    scene = make_scene(mesh, material, gravity=(0, -9.81, 0), frame_dt=0.02, substeps=40)
    sim = build(scene, device)
    corner = int(np.argmax(mesh.vertices[:, 1]))
    target = np.array([0.0, 1.0, 0.0])
    sim.pull("body", corner, target, stiffness=50.0, damping=1.0)
    sim.frame(500)
    mass = sim.model.particles.mass.sum()
    np.testing.assert_allclose(sim.positions()[corner], target - [0, mass * 9.81 / 50.0, 0], atol=2e-3)
    assert np.abs(sim.velocities()).max() < 0.02


def test_pulls_move_add_up_and_end(device):
    sim = make_sim(shapes.tetrahedron(0.2), Material(young=1e3, damping=0.0), frame_dt=0.001, substeps=1, device=device)
    mass = float(sim.model.particles.mass[0])
    handles = [sim.pull("body", 1, (1.0, 0, 0), 10.0, damping=0.0), sim.pull("body", 1, (0, 1.0, 0), 10.0, damping=0.0)]
    x = sim.positions()[1].astype(np.float64)
    sim.frame()
    expected = 0.001 / mass * 10.0 * (np.array([1.0, 1.0, 0]) - 2 * x)
    np.testing.assert_allclose(sim.velocities()[1], expected, rtol=1e-3)
    sim.release(handles[0])
    before = sim.velocities()[1].astype(np.float64)
    x = sim.positions()[1].astype(np.float64)
    sim.move_pull(handles[1], (0, 0, 5.0))
    sim.frame()
    gained = sim.velocities()[1] - before
    np.testing.assert_allclose(gained, 0.001 / mass * 10.0 * (np.array([0, 0, 5.0]) - x), rtol=0.02, atol=1e-3)
    sim.release(handles[1])
    momentum = sim.diagnostics().momentum
    sim.frame(20)
    np.testing.assert_allclose(sim.diagnostics().momentum, momentum, atol=1e-5)


def test_pulling_again_after_a_release_pulls(device):
    """The frame is recorded with and without pulls; going back to the first recording must not forget the force."""
    runs = []
    for forget in (False, True):
        sim = make_sim(shapes.box(0.3, 2), SOFT, frame_dt=0.01, substeps=7, device=device)
        for _ in range(2):
            handle = sim.pull("body", 3, (0, 1, 0), 20.0)
            sim.frame(2)
            sim.release(handle)
            sim.frame(2)
            if forget:
                sim.forget_programs()
        runs.append(bits(sim))
    assert runs[0] == runs[1]


def test_a_pull_too_strong_for_the_step_is_weakened_and_reported(device):
    sim = make_sim(shapes.box(0.3, 2), SOFT, frame_dt=0.02, substeps=4, device=device)
    target = sim.positions()[0] + [0.0, 0.05, 0.0]
    sim.pull("body", 0, target, 1e7)
    assert "weakened" in sim.notes[-1] and "1e+07 N/m" in sim.notes[-1]
    sim.frame(200)
    np.testing.assert_allclose(sim.positions()[0], target, atol=1e-2)


@pytest.mark.parametrize(
    "action, words",
    [
        (lambda s: s.pull("nobody", 0, (0, 0, 0)), "no body 'nobody'"),
        (lambda s: s.pull("body", 999, (0, 0, 0)), "999.*from 0 to 26"),
        (lambda s: s.pull("body", -1, (0, 0, 0)), "from 0 to 26"),
        (lambda s: s.pull("body", 1.5, (0, 0, 0)), "from 0 to 26"),
        (lambda s: s.pull("body", 0, (0, np.nan, 0)), "pull.target.*finite"),
        (lambda s: s.pull("body", 0, (0, 0, 0), -5.0), "pull.stiffness.*above 0"),
        (lambda s: s.pull("body", 0, (0, 0, 0), 5.0, damping=-1.0), "pull.damping"),
        (lambda s: s.move_pull(3, (0, 0, 0)), "pull 3 is not active"),
        (lambda s: s.move_pull(99, (0, 0, 0)), "pull 99 is not active"),
        (lambda s: s.release(99), "pull 99 is not active"),
        (lambda s: [s.pull("body", 0, (0, 0, 0)) for _ in range(17)], "16 pulls"),
        (lambda s: s.pin("body", []), "does not name vertices"),
        (lambda s: s.pin("body", [27]), "from 0 to 26"),
        (lambda s: s.set_state("body", np.zeros((3, 3))), r"shape \(3, 3\).*27 rows"),
        (lambda s: s.set_state("body", np.full((27, 3), np.inf)), "not finite"),
        (lambda s: s.positions("nobody"), "no body 'nobody'"),
    ],
)
def test_bad_hands_are_refused(action, words):
    sim = make_sim(shapes.box(0.3, 2), SOFT)
    before = bits(sim)
    with pytest.raises(InputError, match=words):
        action(sim)
    assert bits(sim) == before


def test_setting_one_body_leaves_the_others_alone(device):
    """Bit for bit: a body whose neighbour is set to what it already is goes on as if nothing had happened."""
    ends = []
    for touch in (False, True):
        scene = Scene(frame_dt=0.01, substeps=10)
        scene.add_body(shapes.ball(0.3, 3), name="a", position=(100.0, 0.0, 0.0), velocity=(0.3, 1.0, 0.0))
        scene.add_body(shapes.ball(0.3, 3), name="b")
        scene.configure("mass_spring", integrator="verlet")
        sim = scene.build(device)
        sim.frame(5)
        if touch:
            sim.set_state("b", velocities=sim.velocities("b"))
        sim.frame(20)
        ends.append(sim.positions("a"))
    np.testing.assert_array_equal(*ends)


def test_the_keys_of_a_path_given_in_flight_count_from_then(device):
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=10)
    scene.add_body(shapes.ball(0.3, 3), name="a")
    sim = scene.build(device)
    sim.frame(50)
    start = sim.positions("a")[0]
    sim.pin("a", [0], path=[(0.0, (0, 0, 0)), (0.5, (0.05, 0, 0))])
    sim.frame(1)
    assert np.abs(sim.positions("a")[0] - start).max() < 0.002
    sim.frame(59)
    np.testing.assert_allclose(sim.positions("a")[0] - start, [0.05, 0, 0], atol=1e-6)
