"""The layered step against whole matrices in float64."""

import numpy as np
import pytest
from bodies import build, layered, make_scene, make_sim
from layered_dense import DenseBody

from pliant import Material, shapes
from pliant.solvers.layered import levels

STUFF = Material(density=500.0, young=3e4, poisson=0.35, damping=0.003)
GRAVITY = np.array([0.2, -9.81, 0.4])


def body(**factors):
    return layered(shapes.ball(0.4, 3).surface_mesh(), 0.55, **factors)


def shaken(sim, seed=0, size=0.01):
    """Set a random state; the same in the dense body."""
    solver = sim.solvers[0]
    rng = np.random.default_rng(seed)
    dense = DenseBody(solver.rests[0], STUFF.damping)
    n = dense.n
    values = {
        "u": size * rng.normal(size=(n, 3)),
        "rate": 0.3 * rng.normal(size=(n, 3)),
        "v": rng.normal(size=(1, 3)),
        "w": 3.0 * rng.normal(size=(1, 3)),
    }
    for name, value in values.items():
        getattr(solver.moment, name).assign(value)
    dense.u = solver.moment.u.numpy().astype(np.float64)
    dense.v = np.concatenate([values["v"][0], values["w"][0], solver.moment.rate.numpy().astype(np.float64).ravel()])
    state = [(sim.state.x, solver.known_x, dense.positions()), (sim.state.v, solver.known_v, dense.velocities())]
    for array, known, value in state:
        array.assign(value)
        known.assign(value)
    return dense


@pytest.mark.parametrize("dt", [1 / 60, 1 / 1000])
def test_a_step_is_that_of_whole_matrices(dt, device):
    sim = make_sim(
        body(), STUFF, method="layered", gravity=GRAVITY, frame_dt=dt, substeps=1, device=device,
        keep_momentum=False, tolerance=1e-7,
    )  # fmt: skip
    dense = shaken(sim)
    start = dense.positions()
    for _ in range(3):
        sim.frame()
        dense.step(dt, GRAVITY)
    moved = np.abs(dense.positions() - start).max()
    x, v = sim.state.x.numpy(), sim.state.v.numpy()
    # measured: 3e-8 m and 3e-7 m/s
    assert np.abs(x - dense.positions()).max() < 1e-6 * moved + 1e-7
    assert np.abs(v - dense.velocities()).max() < 3e-6
    np.testing.assert_allclose(sim.solvers[0].cores().position[0], dense.c, atol=1e-6)
    np.testing.assert_allclose(sim.solvers[0].cores().rotation[0], dense.turn, atol=1e-6)


def test_pulled_nodes_are_those_of_whole_matrices(device):
    dt = 1 / 100
    sim = make_sim(
        body(), STUFF, method="layered", gravity=GRAVITY, frame_dt=dt, substeps=1, device=device,
        keep_momentum=False, tolerance=1e-7,
    )  # fmt: skip
    dense = shaken(sim)
    sim.pull("body", 5, (3.0, 2.0, 0.0), stiffness=100.0, damping=0.0, spread=1)
    for _ in range(3):
        sim.frame()
        f_ext = sim.state.f_ext.numpy().astype(np.float64)
        assert np.abs(f_ext).max() > 100.0
        dense.step(dt, GRAVITY, f_ext)
    assert np.abs(sim.state.x.numpy() - dense.positions()).max() < 3e-7
    assert np.abs(sim.state.v.numpy() - dense.velocities()).max() < 5e-6


@pytest.mark.parametrize("on_levels", [False, True])
def test_pinned_nodes_are_those_of_whole_matrices(device, on_levels, monkeypatch):
    dt = 1 / 60
    if on_levels:
        monkeypatch.setattr(levels, "SMALL", 5)
        monkeypatch.setattr(levels, "MILD", 0.0)
        monkeypatch.setattr(levels, "EASY", 0)
        monkeypatch.setattr(levels, "OVERHEAD", 0.0)
    scene = make_scene(body(), STUFF, method="layered", gravity=GRAVITY, frame_dt=dt, substeps=1, tolerance=1e-7)
    scene.pin("body", lambda x: x[:, 1] > 0.25)
    sim = build(scene, device)
    solver = sim.solvers[0].constants(sim.dt).solver
    assert (solver.rate > 0.0 and len(solver.matrices.levels) > 2) == on_levels
    held = np.flatnonzero(sim.state.inv_mass.numpy() == 0.0)
    assert 3 < len(held) < 40
    dense = DenseBody(sim.solvers[0].rests[0], STUFF.damping)
    dense.hold(held)
    start = dense.positions()
    for _ in range(20):
        sim.frame()
        dense.step(dt, GRAVITY, held={i: np.zeros(3) for i in held})
    fell = np.abs(dense.positions() - start).max()
    assert fell > 0.003
    assert np.abs(sim.state.x.numpy() - dense.positions()).max() < 3e-7
