"""Bodies of finite elements in motion: energy, crushed and inverted bodies, friction, plasticity, Newton's method."""

import dataclasses

import numpy as np
import pytest
from bodies import build, deformed, jittered, make_scene, make_sim, rotation

from pliant import Material, RawConstants, Scene, shapes
from pliant.errors import InputError
from pliant.launch import launch
from pliant.settle import settle
from pliant.solvers.fem import row_kernels, tet_kernels

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
    sim = make_sim(
        mesh, Material(young=5e4, poisson=0.4, damping=0.02), method="fem", energy=energy, iterations=2, device=device
    )
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
    scene = make_scene(
        shapes.box(0.5, 4), Material(young=5e4), gravity=(0, -9.81, 0), method="fem", body={"position": (0, 0.2501, 0)}
    )
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
    scene = Scene()
    scene.add_body(shapes.box(0.5, 2), raw=RawConstants(), method="fem")
    with pytest.raises(InputError, match="finite elements have none"):
        scene.build("cpu")


def bent(material, device, energy="corotated"):
    """How far a bar stays bent [m] after its middle was pressed down for half a second and it was let go."""
    mesh = shapes.box((0.8, 0.1, 0.1), (12, 2, 2))
    scene = make_scene(mesh, material, method="fem", energy=energy)
    ends, middle = np.abs(mesh.vertices[:, 0]) > 0.39, np.abs(mesh.vertices[:, 0]) < 0.01
    scene.pin("body", ends)
    scene.pin("body", middle, path=[(0.0, (0, 0, 0)), (0.3, (0, -0.2, 0))])
    sim = build(scene, device)
    sim.frame(30)
    sim.unpin("body", ends | middle)
    sim.frame(60)
    sag = lambda: float(abs(sim.positions()[middle, 1].mean() - sim.positions()[ends, 1].mean()))
    return sim, sag


@pytest.mark.parametrize("energy", ENERGIES)
def test_what_yields_stays_bent(energy, device):
    elastic = Material(young=2e5, damping=0.02)
    plastic = Material(young=2e5, damping=0.02, yield_strain=0.03, creep=40.0)
    assert bent(elastic, device, energy)[1]() < 5e-3
    sim, sag = bent(plastic, device, energy)
    assert sag() > 0.05
    # flow keeps the volume of every tet
    volumes = np.linalg.det(sim.solvers[0].implicit.rest_inv.numpy().astype(np.float64))
    np.testing.assert_allclose(volumes * sim.solvers[0].tables.volume, 1 / 6, rtol=1e-3)
    sim.reset_shape("body")
    solver = sim.solvers[0]
    np.testing.assert_allclose(solver.implicit.rest_inv.numpy(), solver.tables.rest_inv, rtol=1e-6, atol=1e-5)


def test_plastic_strain_ends_at_its_limit(device):
    material = Material(young=2e5, damping=0.02, yield_strain=0.01, creep=100.0, plastic_limit=0.05)
    assert bent(material, device)[1]() < 0.6 * bent(dataclasses.replace(material, plastic_limit=0.8), device)[1]()


def test_fields_of_tets(device):
    """A stretched block has the stress of its stretch in every tet, along the way it was turned to."""
    mesh = shapes.box((0.6, 0.3, 0.3), (4, 2, 2))
    material = Material(young=1e5, poisson=0.3)
    sim = make_sim(mesh, material, method="fem", device=device)
    turn, stretch = rotation([0, 0, 1], np.pi / 2), np.diag([1.01, 1.0, 1.0])
    sim.set_state("body", mesh.vertices @ (turn @ stretch).T)
    fields = sim.tet_fields("body")
    assert len(fields.tets) == len(mesh.tets)
    assert {tuple(sorted(t)) for t in fields.tets.tolist()} == {tuple(sorted(t)) for t in mesh.tets.tolist()}
    np.testing.assert_allclose(fields.strain, np.tile(stretch - np.eye(3), (len(mesh.tets), 1, 1)), atol=2e-6)
    along = 1e5 * 0.7 / (1.3 * 0.4) * 0.01
    np.testing.assert_allclose(fields.stress[:, 1, 1], along * 1.01 / 1.01, rtol=0.015)
    np.testing.assert_allclose(fields.von_mises, 2 * material.shear_modulus * 0.01, rtol=0.015)
    np.testing.assert_allclose(fields.volume, 1.01, rtol=1e-5)
    with pytest.raises(InputError, match="has no stress in its tets"):
        make_sim(mesh, material, method="mass_spring").tet_fields("body")


@pytest.mark.parametrize("energy", ENERGIES)
def test_descent_does_what_the_implicit_step_does(energy, device):
    """With many sweeps vertex block descent ends where Newton's method does."""
    mesh = shapes.box((0.4, 0.2, 0.2), (3, 2, 2))
    ends = []
    for settings in (
        {"integrator": "implicit", "iterations": 6, "cg_tolerance": 1e-6},
        {"integrator": "descent", "sweeps": 150},
    ):
        scene = make_scene(
            mesh,
            Material(young=5e4, damping=0.0),
            gravity=(0, -9.81, 0),
            substeps=1,
            method="fem",
            energy=energy,
            **settings,
        )
        scene.pin("body", lambda x: x[:, 0] < -0.19)
        sim = build(scene, device)
        sim.frame(5)
        ends.append(sim.positions())
    assert np.abs(ends[0] - mesh.vertices).max() > 5e-3
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-5)


def test_descent_is_stable_in_long_steps(device):
    """Few sweeps at 1/60 s, a stiff body that hits the floor hard: it stays whole."""
    scene = make_scene(
        shapes.box(0.4, 3), Material(young=5e6, poisson=0.45), gravity=(0, -9.81, 0), substeps=1, method="fem",
        integrator="descent", sweeps=5,
        body={"position": (0, 0.4, 0), "velocity": (2.0, -10.0, 0), "rotation": (20, 30, 0)},
    )  # fmt: skip
    scene.add_plane()
    sim = build(scene, device)
    sim.frame(60)
    d = sim.diagnostics()
    assert d.inverted == 0
    assert d.max_speed < 6.0


def test_iterations_hardly_grow_with_the_mesh(device):
    """With lattices the linear solves of a fall take about as many iterations on a mesh eight times as fine."""
    most = {}
    for kind in ("lattices", "blocks"):
        for cells in (6, 12):
            scene = make_scene(
                shapes.box(1.0, cells, split="five"), Material(young=2.5e5, poisson=0.4), gravity=(0, -9.81, 0),
                method="fem", preconditioner=kind, body={"position": (0, 0.51, 0)},
            )  # fmt: skip
            scene.add_plane()
            sim = build(scene, device)
            counts = []
            for _ in range(8):
                sim.frame()
                counts.append(sim.solvers[0].last_iterations())
            most[kind, cells] = max(counts)
    assert most["lattices", 12] < 1.8 * most["lattices", 6] + 1
    assert most["lattices", 12] < 0.7 * most["blocks", 12]


def test_loops_of_the_cpu_are_those_of_the_kernels():
    """Sixteen tets at a time and blocks in registers give what the plain kernels give, for odd tets too."""
    mesh = jittered(shapes.box((0.6, 0.5, 0.4), (4, 3, 3)), 0.1)
    rng = np.random.default_rng(3)
    for x in (deformed(mesh, 0.3), -mesh.vertices, rng.normal(size=mesh.vertices.shape), mesh.vertices * [1, 0, 1]):
        sim = make_sim(mesh, SOFT, method="fem")
        sim.set_state("body", x)
        step, carry = sim.solvers[0].implicit, sim.solvers[0].carry
        step.assemble(sim.state.x, carry, 0.01)
        ours = [a.numpy().copy() for a in (step.pieces.force, step.pieces.gradient, step.block)]
        step.turn.assign(np.tile(np.array([0, 0, 0, 1], np.float32), (step.tets, 1)))
        given = [step.mesh, step.rest_inv, sim.state.x, carry, 0.01]
        launch(tet_kernels.corotated_tets, step.tets, given, [step.turn, step.pieces], device="cpu")
        launch(row_kernels.corotated_edges, step.edges, [step.mesh, step.pieces], [step.block], device="cpu")
        for mine, plain in zip(ours, (step.pieces.force, step.pieces.gradient, step.block), strict=True):
            plain = plain.numpy()
            np.testing.assert_allclose(mine, plain, atol=2e-5 * np.abs(plain).max())


def test_blocks_stack(device):
    """Three blocks on each other with contact between bodies come to rest in a stack, whole and apart."""
    material = Material(young=5e4, poisson=0.4, density=500.0, damping=0.01, friction=0.8)
    scene = Scene(contact="bodies")
    scene.add_plane()
    for k in range(3):
        place = (0.01 * k, 0.101 + 0.21 * k, 0.0)
        scene.add_body(shapes.box(0.2, 3), material, method="fem", name=f"b{k}", position=place)
    sim = scene.build(device)
    sim.frame(60)
    heights = [sim.positions(f"b{k}")[:, 1].mean() for k in range(3)]
    assert sim.diagnostics().inverted == 0
    assert np.abs(sim.velocities()).max() < 0.2
    np.testing.assert_allclose(heights, [0.095, 0.285, 0.475], atol=0.01)


def test_attachments_carry_a_body(device):
    """A block that hangs by an attachment from another one that is pinned comes to rest below it."""
    scene = Scene()
    material = Material(young=2e5, damping=0.02, drag=2.0)
    mesh = shapes.box(0.2, 2)
    scene.add_body(mesh, material, method="fem", name="upper", position=(0, 1.0, 0))
    scene.add_body(mesh, material, method="fem", name="lower", position=(0, 0.75, 0))
    scene.pin("upper", lambda x: x[:, 1] > 1.05)
    scene.attach("lower", lambda x: x[:, 1] > 0.84, "upper")
    sim = scene.build(device)
    sim.frame(90)
    assert sim.positions("lower")[:, 1].mean() == pytest.approx(0.75, abs=0.08)
    assert np.abs(sim.velocities("lower")).max() < 0.3


def test_what_nothing_holds_stays_where_it_is(device):
    scene = Scene()
    scene.add_body(shapes.box((0.4, 0.1, 0.1), (4, 1, 1)), SOFT, method="fem", name="bar", velocity=(0.0, 1.0, 0.0))
    sim = scene.build(device)
    sim.frame(3)
    before = sim.positions(), sim.velocities()
    with pytest.warns(UserWarning, match="no equilibrium"):
        found = sim.settle()
    assert not found.found and any("no equilibrium" in note for note in sim.notes)
    np.testing.assert_array_equal(sim.positions(), before[0])
    np.testing.assert_array_equal(sim.velocities(), before[1])
    # without anything that acts it is at rest where it is
    sim.set_gravity((0.0, 0.0, 0.0))
    assert sim.settle().found
