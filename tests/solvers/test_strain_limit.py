"""Strain limiting (Lesmes 3.12 with its signs put right): ends come together, momentum is kept, 110 % is the end."""

import numpy as np
import pytest
from bodies import build, jittered, make_scene, make_sim
from reference import edges_of

from pliant import InputError, Material, RawConstants, Scene, SurfaceMesh, shapes

# Springs so weak that the limit alone moves anything.
LIMP = RawConstants(spring=1e-9, spring_damping=0.0, volume=0.0, volume_damping=0.0, mass=3.0)


def stretches(mesh, x):
    elements = mesh.tets if hasattr(mesh, "tets") else mesh.triangles
    i, j = np.array(edges_of(elements)).T
    length = lambda p: np.linalg.norm(p[j] - p[i], axis=1)
    return length(np.asarray(x, np.float64)) / length(mesh.vertices)


def limited(mesh, x, passes, limit=1.1, dt=0.01, pinned=None, device="cpu", **more):
    scene = make_scene(
        mesh, Material(damping=0.0), body={"raw": LIMP}, frame_dt=dt, substeps=1, strain_limit=limit,
        strain_passes=passes, **more,
    )  # fmt: skip
    if pinned is not None:
        scene.pin("body", pinned)
    sim = build(scene, device)
    sim.set_state("body", x)
    sim.frame()
    return sim


def test_one_overstretched_spring(device):
    """Two triangles; one outer edge is too long. Its ends move together, the lighter one further, as 3.12 intends."""
    mesh = SurfaceMesh([[0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1]], [[0, 2, 1], [1, 2, 3]])
    x = mesh.vertices.copy()
    x[0] += [-0.5, 0, 0]
    found = stretches(mesh, x) > 1.4
    assert found.sum() == 1
    sim = limited(mesh, x, 1, limit=1.4, device=device)
    mass = np.array([1.0, 2.0, 2.0, 1.0])
    over = 1.5 - 1.4
    expected = x.copy()
    expected[0] += [over * mass[1] / (mass[0] + mass[1]), 0, 0]
    expected[1] -= [over * mass[0] / (mass[0] + mass[1]), 0, 0]
    np.testing.assert_allclose(sim.positions(), expected, atol=1e-6)
    # the velocity is the one that made the move
    np.testing.assert_allclose(sim.velocities(), (expected - x) / 0.01, atol=1e-4)


@pytest.mark.parametrize("passes", [1, 2, 7])
def test_momentum_is_kept(passes, device):
    mesh = jittered(shapes.box((0.5, 0.3, 0.4), (4, 3, 3)), 0.2)
    x = mesh.vertices * [1.4, 1.0, 1.2]
    sim = limited(mesh, x, passes, device=device)
    mass = sim.model.particles.mass[sim.body("body").particle_of][:, None]
    before, after = np.sum(mass * x, axis=0), np.sum(mass * sim.positions(), axis=0)
    moved = np.abs(mass * (sim.positions() - x)).sum()
    assert moved > 0.01
    assert np.abs(after - before).max() < 1e-6 * mass.sum()
    momentum = np.sum(mass * sim.velocities(), axis=0)
    assert np.abs(momentum).max() < 1e-5 * np.abs(mass * sim.velocities()).sum()
    spin = np.sum(mass * np.cross(sim.positions(), sim.velocities()), axis=0)
    # every spring is put right as it is found; seen from the end, a pull of 40 % turns the body a little
    assert np.abs(spin).max() < 5e-3 * np.abs(mass * sim.velocities()).sum()


@pytest.mark.parametrize("name", ["box", "ball", "sheet"])
def test_a_tenth_leaves_no_spring_longer_than_110_percent(name, device):
    meshes = {"box": shapes.box((0.5, 0.3, 0.3), (3, 2, 2)), "ball": shapes.ball(0.3, 2), "sheet": shapes.sheet(0.5, 4)}
    mesh = meshes[name]
    x = mesh.vertices * [1.6, 1.3, 1.4]
    few = stretches(mesh, limited(mesh, x, 8, device=device).positions()).max()
    many = stretches(mesh, limited(mesh, x, 1000, device=device).positions()).max()
    assert stretches(mesh, x).max() > 1.3
    assert few < stretches(mesh, x).max()
    assert many <= 1.1 + 1e-3


def test_a_heavy_cloth_hangs_no_longer_than_the_limit(device):
    """A soft sheet with a strain limit, hanging by one edge in strong gravity, stays within it all the time."""
    mesh = shapes.sheet(0.5, 5)
    scene = Scene(gravity=(0, 0, -30.0), frame_dt=0.01, substeps=10)
    scene.add_body(mesh, Material(young=5e3, damping=0.002, thickness=0.001), name="body")
    scene.configure("mass_spring", strain_limit=1.1, strain_passes=60)
    scene.pin("body", lambda x: x[:, 2] > 0.249)
    sim = build(scene, device)
    worst = 0.0
    for _ in range(40):
        sim.frame()
        worst = max(worst, stretches(mesh, sim.positions()).max())
    assert worst < 1.12
    free = build(_without_limit(scene), device)
    free.frame(40)
    assert stretches(mesh, free.positions()).max() > 1.2


def _without_limit(scene):
    scene.configure("mass_spring", strain_limit=0.0)
    return scene


def test_a_pinned_end_does_not_move(device):
    mesh = shapes.box((0.4, 0.2, 0.2), (2, 1, 1))
    x = mesh.vertices * [1.5, 1, 1]
    held = mesh.vertices[:, 0] < -0.19
    x[held] = mesh.vertices[held]
    sim = limited(mesh, x, 500, pinned=np.flatnonzero(held), device=device)
    np.testing.assert_array_equal(sim.positions()[held], mesh.vertices[held].astype(np.float32))
    assert stretches(mesh, sim.positions()).max() <= 1.1 + 1e-3


def test_short_springs_are_left_alone(device):
    mesh = shapes.box(0.3, 2)
    x = (mesh.vertices * 1.09).astype(np.float32)
    sim = limited(mesh, x, 8, device=device)
    np.testing.assert_allclose(sim.positions(), x, atol=1e-7)


def test_it_works_with_every_integrator(device):
    mesh = shapes.box((0.5, 0.3, 0.3), (3, 2, 2))
    for integrator in ("symplectic", "verlet", "euler", "midpoint", "rk4", "implicit", "hybrid"):
        sim = limited(mesh, mesh.vertices * [1.3, 1, 1], 400, device=device, integrator=integrator)
        assert stretches(mesh, sim.positions()).max() <= 1.1 + 1e-3, integrator


@pytest.mark.parametrize("value", [0.1, 0.99])
def test_a_limit_below_the_rest_length_is_refused(value):
    """Someone who means tau_c = 0.1 must not get a body that shrinks to a tenth."""
    with pytest.raises(InputError, match=r"strain_limit.*1\.1"):
        make_sim(shapes.box(0.3, 1), strain_limit=value)
    make_sim(shapes.box(0.3, 1), strain_limit=1.0)
