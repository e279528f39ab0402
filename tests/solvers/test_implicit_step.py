"""Implicit Euler: large steps, pins, contacts, and that its linear solve really solves."""

import numpy as np
import pytest
from bodies import build, deformed, jittered, make_scene, make_sim, precise_positions
from reference import Reference

from pliant import Material, Scene, shapes

STIFF = Material(young=1e6, poisson=0.4, damping=0.0)
SOFT = Material(young=1e4, poisson=0.4, damping=0.002)


def test_fifty_times_the_explicit_limit(device):
    """A stiff body shaken hard, at a step fifty times what symplectic Euler stands, calms down."""
    mesh = jittered(shapes.box((0.4, 0.3, 0.3), (4, 3, 3)))
    limit = make_sim(mesh, STIFF).stable_dt
    dt = 50 * limit
    sim = make_sim(mesh, STIFF, integrator="implicit", frame_dt=dt, substeps=1, cg_iterations=400, device=device)
    assert np.isinf(sim.stable_dt) and not sim.notes
    sim.set_state("body", deformed(mesh, 0.08))
    energies = [sim.diagnostics().energy]
    for _ in range(60):
        sim.frame()
        energies.append(sim.diagnostics().energy)
    # large steps damp, and never blow up
    assert max(energies) <= energies[0] * 1.0001
    assert energies[-1] < 0.05 * energies[0]
    # the body is whole again, somewhere, turned somehow
    assert sim.diagnostics().mean_stretch < 0.02
    assert sim.diagnostics().inverted == 0


def test_the_explicit_step_of_that_size_does_not_stand(device):
    mesh = jittered(shapes.box((0.4, 0.3, 0.3), (4, 3, 3)))
    limit = make_sim(mesh, STIFF).stable_dt
    sim = make_sim(mesh, STIFF, frame_dt=50 * limit, substeps=1, device=device)
    sim.set_state("body", deformed(mesh, 0.08))
    with np.errstate(all="ignore"):
        sim.frame(20, check=False)
    assert not sim.diagnostics().max_stretch < 20


def test_pins_hold_and_lead_at_large_steps(device):
    mesh = shapes.box((0.6, 0.2, 0.2), (6, 2, 2))
    scene = make_scene(mesh, STIFF, gravity=(0, -9.81, 0), integrator="implicit", frame_dt=0.05, substeps=1)
    left = mesh.vertices[:, 0] < -0.29
    scene.pin("body", lambda x: x[:, 0] < -0.29, path=[(0.0, (0, 0, 0)), (0.5, (0, 0.2, 0)), (1.0, (0.1, 0.2, 0))])
    sim = build(scene, device)
    for k in range(1, 25):
        sim.frame()
        t = 0.05 * k
        offset = [np.interp(t, [0.5, 1.0], [0, 0.1]), np.interp(t, [0, 0.5], [0, 0.2]), 0]
        np.testing.assert_allclose(sim.positions()[left], mesh.vertices[left] + offset, atol=1e-6)
    sim.frame(20)
    np.testing.assert_allclose(sim.positions()[left], mesh.vertices[left] + [0.1, 0.2, 0], atol=1e-7)
    # a beam of 1 MPa hardly bends
    np.testing.assert_allclose(sim.positions().mean(axis=0), [0.1, 0.2, 0], atol=0.02)


def implicit_residual(reference, before, after, dt, gravity, free):
    """How far a step is from implicit Euler: M (v' - v) - h f(x', v'), over the same with v' = v, in float64."""
    (x, v), (x_next, v_next) = before, after
    mass = reference.mass[:, None]
    residual = mass * (v_next - v) - dt * mass * reference.acceleration(x_next, v_next, gravity)
    start = dt * mass * reference.acceleration(x + dt * v, v, gravity)
    # the position follows from the velocity
    assert np.abs(x_next - x - dt * v_next)[free].max() < 1e-6
    return np.abs(residual[free]).max() / np.abs(start[free]).max()


@pytest.mark.parametrize("damping", [0.0, 0.01])
@pytest.mark.parametrize("pinned", [False, True], ids=["free", "pinned"])
def test_the_step_solves_the_equation_of_implicit_euler(damping, pinned, device):
    """One large step of a strongly deformed body, put into the equation with forces of the float64 twin."""
    mesh = jittered(shapes.box((0.4, 0.3, 0.2), (2, 2, 1)))
    material = Material(young=5e4, poisson=0.4, damping=damping, drag=0.3)
    rng = np.random.default_rng(0)
    x = deformed(mesh, 0.06).astype(np.float32).astype(np.float64)
    v = rng.normal(size=x.shape).astype(np.float32).astype(np.float64)
    dt, gravity = 0.01, (0.0, -9.81, 0.0)
    free = np.ones(len(x), bool)
    if pinned:
        free[[0, 5, 7]] = False
        x[~free], v[~free] = mesh.vertices[~free].astype(np.float32), 0.0
    residuals = []
    for steps in (1, 3, 12):
        scene = make_scene(
            mesh, material, gravity=gravity, integrator="implicit", frame_dt=dt, substeps=1, cg_iterations=500,
            cg_tolerance=1e-6, newton_steps=steps,
        )  # fmt: skip
        if pinned:
            scene.pin("body", np.flatnonzero(~free))
        sim = build(scene, device)
        sim.set_state("body", x, v)
        sim.frame()
        after = precise_positions(sim), sim.velocities().astype(np.float64)
        residuals.append(implicit_residual(Reference(mesh, material), (x, v), after, dt, gravity, free))
    # measured: 0.03, 5e-5 and 4e-7
    assert residuals[0] < 0.1 and residuals[1] < 1e-3 and residuals[2] < 1e-5


def test_conjugate_gradients_stop_at_the_tolerance(device):
    """A tighter tolerance takes more iterations and leaves less error; the bound on iterations holds."""
    mesh = shapes.box((0.6, 0.3, 0.3), (6, 3, 3))
    x = deformed(mesh, 0.06)
    runs = {}
    for tolerance, most in ((1e-1, 500), (1e-3, 500), (1e-7, 500), (1e-7, 5)):
        sim = make_sim(
            mesh, STIFF, integrator="implicit", frame_dt=0.02, substeps=1, cg_tolerance=tolerance, cg_iterations=most,
            device=device,
        )  # fmt: skip
        sim.set_state("body", x)
        sim.frame()
        runs[tolerance, most] = (sim.solvers[0].implicit.last_iterations(), sim.velocities())
    counts = [runs[key][0] for key in ((1e-1, 500), (1e-3, 500), (1e-7, 500))]
    assert 1 < counts[0] < counts[1] < counts[2] < 500
    assert runs[1e-7, 5][0] == 5
    exact = runs[1e-7, 500][1]
    errors = [np.abs(runs[key][1] - exact).max() / np.abs(exact).max() for key in ((1e-1, 500), (1e-3, 500))]
    assert errors[1] < 0.02 and errors[1] < 0.2 * errors[0]


def test_a_body_at_rest_stays_there(device):
    sim = make_sim(shapes.box(0.3, 2), SOFT, integrator="implicit", device=device)
    sim.frame()
    assert sim.solvers[0].implicit.last_iterations() <= 20
    assert np.abs(sim.velocities()).max() < (1e-6 if device == "cpu" else 5e-6)


def test_momentum_in_free_flight(device):
    mesh = shapes.box((0.4, 0.3, 0.3), (4, 3, 3))
    sim = make_sim(
        mesh, STIFF, integrator="implicit", frame_dt=0.01, substeps=1, cg_tolerance=1e-6, cg_iterations=500,
        device=device,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    sim.set_state("body", deformed(mesh, 0.05), rng.normal(size=mesh.vertices.shape) + [1.0, 0.5, 0.0])
    before = sim.diagnostics()
    sim.frame(20)
    after = sim.diagnostics()
    scale = np.sqrt(2 * sim.model.particles.mass.sum() * before.kinetic)
    drift = np.abs(after.momentum - before.momentum).max() / scale
    assert drift < (1e-6 if device == "cpu" else 5e-6)


def test_agrees_with_small_symplectic_steps(device):
    """A short soft motion: the two methods, far apart in everything else, meet as their steps shrink."""
    mesh = shapes.box((0.4, 0.2, 0.2), (3, 2, 2))
    ends = {}
    for integrator, substeps in (("symplectic", 2000), ("implicit", 100), ("implicit", 400)):
        scene = make_scene(
            mesh, SOFT, gravity=(0, -9.81, 0), frame_dt=0.1, substeps=substeps, integrator=integrator, cg_tolerance=1e-6
        )
        scene.pin("body", lambda x: x[:, 0] < -0.19)
        sim = build(scene, device)
        sim.frame()
        ends[integrator, substeps] = precise_positions(sim)
    moved = np.abs(ends["symplectic", 2000] - mesh.vertices).max()
    errors = [np.abs(ends["implicit", n] - ends["symplectic", 2000]).max() / moved for n in (100, 400)]
    assert moved > 0.02
    assert errors[0] < 0.05 and errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("substeps", [1, 4])
def test_rests_on_the_floor_at_large_steps(substeps, device):
    """A heavy body on the floor, at a sixtieth of a second: it does not sink, creep, jitter or stick when lifted."""
    scene = Scene(gravity=(0, -9.81, 0), frame_dt=1 / 60, substeps=substeps)
    scene.add_body(shapes.box(0.3, 3), Material(young=5e5, damping=0.002), name="body", position=(0, 0.16, 0))
    scene.add_plane()
    scene.configure("mass_spring", integrator="implicit", cg_iterations=200)
    sim = build(scene, device)
    sim.frame(120)
    settled = sim.positions()
    assert settled[:, 1].min() > -1e-6
    sim.frame(60)
    assert np.abs(sim.positions() - settled).max() < 1e-5
    assert np.abs(sim.velocities()).max() < 1e-3
    # thrown upwards it leaves, as if there were no floor
    sim.set_state("body", velocities=np.tile([0.0, 3.0, 0.0], (len(settled), 1)))
    sim.frame(12)
    height = (sim.positions() - settled)[:, 1].mean()
    assert height == pytest.approx(3.0 * 0.2 - 0.5 * 9.81 * 0.2**2, rel=0.12)


def test_a_sheet(device):
    """Triangles take part in the implicit step too."""
    mesh = shapes.sheet(0.5, 6)
    scene = make_scene(
        mesh, Material(young=1e5, poisson=0.45, thickness=0.002, damping=0.001), gravity=(0, -9.81, 0),
        integrator="implicit", frame_dt=0.02, substeps=1, cg_iterations=300,
    )  # fmt: skip
    corners = [i for i, p in enumerate(mesh.vertices) if abs(p[0]) > 0.24 and abs(p[2]) > 0.24]
    scene.pin("body", corners)
    sim = build(scene, device)
    sim.frame(100)
    assert sim.diagnostics().max_stretch < 1.2
    assert sim.positions()[:, 1].min() < -0.05
    np.testing.assert_array_equal(sim.positions()[corners], mesh.vertices[corners].astype(np.float32))
