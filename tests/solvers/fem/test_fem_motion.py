"""Bodies of finite elements in motion: energy, crushed and inverted bodies, friction, plasticity, Newton's method."""

import numpy as np
import pytest
from bodies import build, deformed, make_scene, make_sim, rotation

from pliant import Material, Scene, shapes
from pliant.errors import InputError
from pliant.settle import settle

SOFT = Material(young=5e4, poisson=0.4, damping=0.002)
ENERGIES = ["corotated", "neo_hookean"]


@pytest.mark.parametrize("energy", ENERGIES)
def test_forces_are_the_slope_of_the_energy(energy, device):
    """Forces that move the bodies against the energy that the diagnostics know, by finite differences."""
    mesh = shapes.box((0.5, 0.4, 0.4), (2, 2, 2))
    sim = make_sim(mesh, SOFT, method="fem", energy=energy, device=device)
    sim.set_state("body", deformed(mesh, 0.15))
    solver = sim.solvers[0]
    solver.implicit.assemble(sim.state.x, solver.carry, 1.0)
    force = solver.implicit.force.numpy()[: sim.state.count]
    x = sim.state.x.numpy().astype(np.float64)
    rng = np.random.default_rng(0)
    for _ in range(5):
        step = 1e-6 * rng.normal(size=x.shape)
        change = (solver.energy(x + step) - solver.energy(x - step)) / 2.0
        assert change == pytest.approx(-(force * step).sum(), rel=2e-3)
    assert np.abs(force.sum(axis=0)).max() < 1e-5 * np.abs(force).max()


@pytest.mark.parametrize("energy", ENERGIES)
@pytest.mark.parametrize("how", ["flat", "inside out", "a point", "shaken"])
def test_what_was_crushed_recovers(energy, how, device):
    mesh = shapes.box((0.4, 0.4, 0.4), (3, 3, 3))
    x = mesh.vertices.copy()
    rng = np.random.default_rng(2)
    if how == "flat":
        x[:, 1] *= 0.0
    elif how == "inside out":
        x[:, 1] *= -1.0
    elif how == "a point":
        x *= 0.0
    else:
        x = rng.uniform(-0.2, 0.2, x.shape)
    # an exactly flat body has no way out by symmetry alone
    x += 1e-3 * rng.normal(size=x.shape)
    sim = make_sim(mesh, Material(young=5e4, poisson=0.4, damping=0.02), method="fem", energy=energy, iterations=2, device=device)
    sim.set_state("body", x)
    sim.frame(100)
    edges = mesh.edges()
    length = lambda p: np.linalg.norm(p[edges[:, 0]] - p[edges[:, 1]], axis=1)
    now = sim.positions().astype(np.float64)
    np.testing.assert_allclose(length(now), length(mesh.vertices), rtol=0.05)
    volumes = type(mesh)(now, mesh.tets).volumes()
    assert (volumes > 0).all()


def test_energy_only_falls(device):
    """A body that vibrates and spins in free flight loses energy to implicit Euler, and never gains any."""
    mesh = shapes.box((0.6, 0.3, 0.3), (4, 2, 2))
    sim = make_sim(mesh, Material(young=1e5, damping=0.0), method="fem", frame_dt=1 / 60, device=device)
    sim.set_state("body", deformed(mesh, 0.1), np.cross([0.0, 3.0, 1.0], mesh.vertices))
    energies = []
    for _ in range(30):
        energies.append(sim.diagnostics().energy)
        sim.frame()
    assert (np.diff(energies) < 1e-3 * energies[0]).all()
    assert energies[-1] < 0.9 * energies[0]


def test_smaller_steps_keep_energy(device):
    """What implicit Euler takes of the energy of an undamped vibration is in proportion to the step."""
    mesh = shapes.box((0.6, 0.2, 0.2), (4, 2, 2))
    lost = []
    for substeps in (8, 16):
        sim = make_sim(
            mesh, Material(young=1e5, damping=0.0), method="fem", substeps=substeps, cg_tolerance=1e-6, device=device
        )
        sim.set_state("body", mesh.vertices * [1.02, 1.0, 1.0])
        start = sim.diagnostics().energy
        sim.frame(1)
        lost.append(1.0 - sim.diagnostics().energy / start)
    assert 0.0 < lost[1] < 0.75 * lost[0]


def test_damping_slows_a_vibration_as_its_time_says(device):
    """A lengthwise wave of a rod decays by exp(-beta omega^2 t / 2), besides what the step itself takes."""
    mesh = shapes.box((1.0, 0.05, 0.05), (20, 1, 1), split="five")
    omega = np.pi * np.sqrt(1e5 / 1000.0)
    ends = []
    for damping in (0.0, 0.004):
        material = Material(young=1e5, poisson=0.0, damping=damping)
        sim = make_sim(mesh, material, method="fem", frame_dt=0.05, substeps=50, cg_tolerance=1e-6, device=device)
        v = np.zeros_like(mesh.vertices)
        v[:, 0] = 0.01 * np.sin(np.pi * mesh.vertices[:, 0])
        sim.set_state("body", velocities=v)
        sim.frame(4)
        ends.append(sim.diagnostics().energy)
    assert ends[1] / ends[0] == pytest.approx(np.exp(-0.004 * omega**2 * 0.2), rel=0.1)


def test_newton_satisfies_the_step(device):
    """With enough linear solves the step is that of implicit Euler: inertia, gravity and elastic force balance."""
    mesh = shapes.box((0.6, 0.2, 0.2), (4, 2, 2))
    left = []
    for iterations in (1, 6):
        scene = make_scene(
            mesh, Material(young=2e4, poisson=0.4, damping=0.0), gravity=(0, -9.81, 0), substeps=1,
            method="fem", energy="neo_hookean", iterations=iterations, cg_tolerance=1e-6,
        )  # fmt: skip
        scene.pin("body", lambda x: x[:, 0] < -0.29)
        sim = build(scene, device)
        sim.frame(6)
        v = sim.state.v.numpy().copy()
        sim.frame()
        solver = sim.solvers[0]
        solver.implicit.assemble(sim.state.x, solver.carry, sim.dt)
        mass = sim.model.particles.mass[:, None]
        force = solver.implicit.force.numpy()[: len(v)] + mass * [0.0, -9.81, 0.0]
        wrong = mass * (sim.state.v.numpy() - v) - sim.dt * force
        free = sim.state.inv_mass.numpy() > 0
        left.append(np.abs(wrong[free]).max() / np.abs(sim.dt * mass * 9.81).max())
    assert left[1] < 2e-3
    assert left[1] < 0.05 * left[0]


def test_a_block_sticks_on_a_slope_or_slides(device):
    """Friction of 0.6 holds it on a slope of 25 degrees, one of 0.2 lets it go with g (sin - mu cos)."""
    angle = np.radians(25.0)
    mesh = shapes.box((0.3, 0.2, 0.3), (3, 2, 3))
    normal = (np.sin(angle), np.cos(angle), 0.0)
    for friction in (0.8, 0.2):
        scene = Scene()
        scene.add_plane(normal=normal, friction=friction)
        turn = rotation([0, 0, 1], -angle)
        scene.add_body(
            type(mesh)(mesh.vertices @ turn.T, mesh.tets),
            Material(young=2e5, friction=friction, damping=0.005), method="fem", name="body",
            position=tuple(0.1005 * np.array(normal)),
        )  # fmt: skip
        sim = scene.build(device)
        sim.frame(30)
        down = np.array([np.cos(angle), -np.sin(angle), 0.0])
        before = sim.positions().mean(axis=0) @ down
        sim.frame(30)
        moved, speed = sim.positions().mean(axis=0) @ down - before, sim.velocities().mean(axis=0) @ down
        if friction == 0.8:
            assert abs(moved) < 1e-4
        else:
            expected = 9.81 * (np.sin(angle) - 0.2 * np.cos(angle)) * 1.0
            assert speed == pytest.approx(expected, rel=0.1)


def test_a_block_on_a_sphere_and_in_a_bowl(device):
    """Round colliders hold it too; nothing ends inside of them."""
    scene = Scene()
    scene.add_sphere(0.8, inside=True)
    scene.add_sphere(0.15, position=(0.0, -0.6, 0.0))
    scene.add_body(shapes.box(0.4, 3), Material(young=5e4, damping=0.01), method="fem", name="body")
    sim = scene.build(device)
    for _ in range(80):
        sim.frame()
        r = np.linalg.norm(sim.positions().astype(np.float64), axis=1)
        assert r.max() < 0.8 + 2e-3
        away = np.linalg.norm(sim.positions().astype(np.float64) - [0.0, -0.6, 0.0], axis=1)
        assert away.min() > 0.15 - 2e-3
    assert np.abs(sim.velocities()).max() < 0.5


def test_settling_is_where_motion_ends(device):
    mesh = shapes.box((0.6, 0.1, 0.1), (8, 2, 2))
    ends = []
    for how in ("settle", "wait"):
        scene = make_scene(mesh, Material(young=2e5, damping=0.02, drag=5.0), gravity=(0, -9.81, 0), method="fem")
        scene.pin("body", lambda x: x[:, 0] < -0.29)
        sim = build(scene, device)
        if how == "settle":
            assert settle(sim).found
            sim.frame(2)
        else:
            sim.frame(150)
        ends.append(sim.positions())
    assert np.abs(ends[0] - mesh.vertices).max() > 0.02
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-4)


def test_settling_on_the_floor(device):
    """A block on the floor is pressed by its own weight; its lowest layer lies on the floor."""
    scene = make_scene(shapes.box(0.5, 4), Material(young=5e4), gravity=(0, -9.81, 0), method="fem", body={"position": (0, 0.2501, 0)})
    scene.add_plane()
    sim = build(scene, device)
    settle(sim)
    before = sim.positions()
    assert before[:, 1].min() == pytest.approx(0.0, abs=1e-6)
    assert before[:, 1].max() < 0.4995
    sim.frame(20)
    assert np.abs(sim.positions() - before).max() < 5e-3


def test_settling_is_for_finite_elements():
    sim = make_sim(shapes.box(0.5, 2), SOFT, method="mass_spring")
    with pytest.raises(InputError, match="finds no equilibrium"):
        settle(sim)


def test_raw_constants_are_refused():
    from pliant import RawConstants

    scene = Scene()
    scene.add_body(shapes.box(0.5, 2), raw=RawConstants(), method="fem")
    with pytest.raises(InputError, match="finite elements have none"):
        scene.build("cpu")
