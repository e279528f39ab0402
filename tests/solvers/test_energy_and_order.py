"""Energy over long runs, and the order of every integrator on problems with a closed form."""

import numpy as np
import pytest
from bodies import deformed, equilateral, make_sim, precise_positions
from reference import Reference

from pliant import Material, RawConstants, shapes

ORDERS = {"euler": 1, "symplectic": 1, "implicit": 1, "verlet": 2, "midpoint": 2, "rk4": 4}


@pytest.mark.parametrize("integrator", ["symplectic", "verlet"])
def test_undamped_energy_stays_bounded(integrator, device):
    """20,000 steps at a quarter of the stable step: the energy wavers, and does not drift; momentum stays zero."""
    mesh = shapes.box((0.5, 0.3, 0.3), (4, 2, 2))
    material = Material(young=5e4, poisson=0.35, damping=0.0)
    probe = make_sim(mesh, material, integrator=integrator)
    substeps = 500
    sim = make_sim(
        mesh, material, integrator=integrator, frame_dt=substeps * probe.stable_dt / 4, substeps=substeps, device=device
    )
    sim.set_state("body", deformed(mesh, 0.05))
    energies = [sim.diagnostics().energy]
    first = sim.diagnostics()
    for _ in range(40):
        sim.frame()
        energies.append(sim.diagnostics().energy)
    energies = np.array(energies) / energies[0]
    # it wavers by the step's error; the means of the first and the last quarter agree
    assert np.abs(energies - 1).max() < 0.1
    assert abs(energies[-10:].mean() - energies[1:11].mean()) < 0.02
    last = sim.diagnostics()
    scale = np.sqrt(2 * sim.model.particles.mass.sum() * first.energy)
    # on CUDA the corners of a tet round its volume differently
    assert np.abs(last.momentum - first.momentum).max() < (1e-6 if device == "cpu" else 5e-6) * scale
    # Verlet keeps it as well, but its velocity is read half a correction early: a wavering of second order
    slack = 1e-6 if integrator == "symplectic" else 5e-5
    assert np.abs(last.angular_momentum - first.angular_momentum).max() < slack * scale


def test_damping_only_takes_energy_away(device):
    mesh = shapes.ball(0.3, 3)
    sim = make_sim(mesh, Material(young=5e4, damping=0.003), frame_dt=0.005, substeps=20, device=device)
    sim.set_state("body", deformed(mesh, 0.08))
    energies = [sim.diagnostics().energy]
    for _ in range(40):
        sim.frame()
        energies.append(sim.diagnostics().energy)
    assert (np.diff(energies) < 1e-6 * energies[0]).all()
    assert energies[-1] < 0.1 * energies[0]


def breathing(integrator, damping_ratio, steps, device="cpu"):
    """Error at the end of the breathing of an equilateral triangle of springs, and of its velocity.

    The three corners move along rays from the centre: the spring law is linear in the radius, so
    m r'' = -3 k (r - r0) - 3 c r' exactly, whatever the amplitude.
    """
    k, mass, r0, a0 = 30.0, 3.0, 1.0, 0.4
    omega = np.sqrt(3 * k / (mass / 3))
    c = 2 * damping_ratio * omega * (mass / 3) / 3
    raw = RawConstants(spring=k, spring_damping=c, volume=0.0, volume_damping=0.0, mass=mass)
    mesh = equilateral(r0)
    duration = 4.0 / omega
    sim = make_sim(
        mesh, Material(damping=0.0), body={"raw": raw}, frame_dt=duration, substeps=steps, integrator=integrator,
        device=device, cg_iterations=500, cg_tolerance=1e-6,
    )  # fmt: skip
    unit = mesh.vertices / r0
    sim.set_state("body", (r0 + a0) * unit)
    sim.frame()
    radius = np.einsum("ij,ij->i", precise_positions(sim), unit)
    assert np.ptp(radius) < 1e-5
    speed = np.einsum("ij,ij->i", sim.velocities().astype(np.float64), unit)
    # r - r0 = exp(-zeta w t) a0 (cos + zeta / sqrt(1 - zeta^2) sin)
    w = omega * np.sqrt(1 - damping_ratio**2)
    decay = np.exp(-damping_ratio * omega * duration)
    sine, cosine = np.sin(w * duration), np.cos(w * duration)
    exact = decay * a0 * (cosine + damping_ratio * omega / w * sine)
    exact_speed = -decay * a0 * omega**2 / w * sine
    return np.hypot(radius.mean() - r0 - exact, (speed.mean() - exact_speed) / omega) / a0


def slope(errors, counts):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


@pytest.mark.parametrize("damping_ratio", [0.0, 0.15], ids=["undamped", "damped"])
@pytest.mark.parametrize("integrator", ORDERS)
def test_order_on_a_damped_oscillator(integrator, damping_ratio, device):
    # steps so large that float32 (6e-8) does not hide the error of the method
    counts = [8, 12, 16, 24] if ORDERS[integrator] == 4 else [64, 96, 128, 192]
    errors = [breathing(integrator, damping_ratio, count, device) for count in counts]
    measured = slope(errors, counts)
    assert measured == pytest.approx(ORDERS[integrator], abs=0.25)
    # and not by being exact: the errors are those of a method, far above rounding
    assert errors[-1] > 1e-6


def falling_with_drag(integrator, steps, device="cpu"):
    """Relative error of the position of a body that falls through air that slows it: v' = g - d v."""
    drag, gravity, duration = 2.0, 9.81, 1.5
    mesh = shapes.tetrahedron(0.2)
    sim = make_sim(
        mesh, Material(young=10.0, damping=0.0, drag=drag), gravity=(0, -gravity, 0), frame_dt=duration, substeps=steps,
        integrator=integrator, device=device, cg_iterations=500, cg_tolerance=1e-6, body={"velocity": (0, 3.0, 0)},
    )  # fmt: skip
    start = precise_positions(sim)
    sim.frame()
    end = -gravity / drag
    exact = end * duration + (3.0 - end) * (1 - np.exp(-drag * duration)) / drag
    return abs((precise_positions(sim) - start)[:, 1].mean() - exact) / abs(exact)


@pytest.mark.parametrize("integrator", ORDERS)
def test_order_of_a_fall_with_drag(integrator, device):
    counts = [8, 12, 16] if ORDERS[integrator] == 4 else [32, 48, 64, 96]
    errors = [falling_with_drag(integrator, count, device) for count in counts]
    measured = slope(errors, counts)
    assert measured == pytest.approx(ORDERS[integrator], abs=0.3)


@pytest.fixture(scope="module")
def vibration():
    """A small body with everything in it, and where it ends after 0.04 s in float64 with a tiny step."""
    mesh = shapes.box((0.4, 0.3, 0.2), (2, 2, 1))
    material = Material(young=1e4, poisson=0.4, damping=0.003, drag=0.5)
    x = deformed(mesh, 0.08).astype(np.float32).astype(np.float64)
    reference = Reference(mesh, material)
    coarse, _ = reference.run(x, 0 * x, 4e-5, 1000, gravity=(0, -3.0, 0))
    fine, _ = reference.run(x, 0 * x, 2e-5, 2000, gravity=(0, -3.0, 0))
    return mesh, material, x, 2 * fine - coarse


@pytest.mark.parametrize("integrator", ORDERS)
def test_converges_to_the_reference(integrator, vibration, device):
    mesh, material, x, exact = vibration
    substeps = {1: 640, 2: 80, 4: 20}[ORDERS[integrator]]
    sim = make_sim(
        mesh, material, gravity=(0, -3.0, 0), frame_dt=0.04, substeps=substeps, integrator=integrator, device=device,
        cg_tolerance=1e-6, cg_iterations=200,
    )  # fmt: skip
    sim.set_state("body", x)
    sim.frame()
    error = np.abs(precise_positions(sim) - exact).max() / np.abs(exact - x).max()
    assert error < {1: 4e-3, 2: 2e-4, 4: 1e-5}[ORDERS[integrator]]
