"""The whole internal force of a deformed body against an independent float64 implementation (reference.py)."""

import numpy as np
import pytest
from bodies import build, deformed, jittered, make_scene, make_sim, precise_positions, rotation, shuffled
from reference import Reference

from pliant import Material, RawConstants, Scene, shapes

SOFT = Material(young=3e4, poisson=0.4, damping=0.004, drag=0.7, density=800.0, thickness=0.01)
BODIES = {
    "box": lambda: jittered(shapes.box((1.0, 0.6, 0.8), (5, 3, 4))),
    "large box": lambda: shapes.box(1.0, 11),
    "ball": lambda: shapes.ball(0.5, 5),
    "sheet": lambda: shapes.sheet((1.0, 1.4), (9, 12)),
    "one tet": lambda: shapes.tetrahedron(0.3),
}


def measured_acceleration(scene_or_sim, x, v, device="cpu"):
    """Accelerations in the user's order: the change of velocity in one step of one second, through the front door."""
    sim = scene_or_sim if not isinstance(scene_or_sim, Scene) else build(scene_or_sim, device)
    sim.set_state("body", x, v)
    sim.frame(check=False)
    return sim.velocities("body").astype(np.float64) - np.asarray(v, np.float32).astype(np.float64)


def one_second_scene(mesh, material, raw=None, **settings):
    body = {"raw": raw} if raw is not None else {}
    return make_scene(mesh, material, frame_dt=1.0, substeps=1, body=body, **settings)


def rounded(a):
    return np.asarray(a, np.float32).astype(np.float64)


@pytest.mark.parametrize("name", BODIES)
def test_force_of_a_deformed_body(name, device):
    mesh = BODIES[name]()
    rng = np.random.default_rng(0)
    x, v = rounded(deformed(mesh, 0.15)), rounded(rng.normal(size=mesh.vertices.shape))
    expected = Reference(mesh, SOFT).acceleration(x, v)
    found = measured_acceleration(one_second_scene(mesh, SOFT), x, v, device)
    # CUDA settles positions to about 2^-23 of a patch: a strain of 1e-6
    assert np.abs(found - expected).max() < (3e-5 if device == "cpu" else 3e-4) * np.abs(expected).max()


@pytest.mark.parametrize("form", ["relative", "absolute"])
@pytest.mark.parametrize("name", ["box", "ball"])
def test_force_of_raw_constants(name, form, device):
    mesh = BODIES[name]()
    raw = RawConstants(
        spring=120.0, spring_damping=0.3, volume=5e4 if form == "absolute" else 0.4, volume_damping=2.0,
        volume_form=form, mass=3.0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    x, v = rounded(deformed(mesh, 0.15)), rounded(rng.normal(size=mesh.vertices.shape))
    expected = Reference(mesh, SOFT, raw).acceleration(x, v)
    found = measured_acceleration(one_second_scene(mesh, SOFT, raw), x, v, device)
    assert np.abs(found - expected).max() < (3e-5 if device == "cpu" else 3e-4) * np.abs(expected).max()


def test_corner_damping_of_a_body(device):
    """Lesmes 3.11 summed over the tets: what the velocities add to the force."""
    mesh = BODIES["box"]()
    raw = RawConstants(spring=0.0, spring_damping=0.0, volume=1.0, volume_damping=0.6, mass=3.0)
    x, v = rounded(deformed(mesh, 0.1)), rounded(np.random.default_rng(0).normal(size=mesh.vertices.shape))
    scene = one_second_scene(mesh, Material(), raw, volume_damping_form="corner")
    found = measured_acceleration(scene, x, v, device) - measured_acceleration(scene, x, 0 * v, device)
    reference = Reference(mesh, Material(), raw)
    expected = np.zeros_like(x)
    for tet in mesh.tets:
        for i in range(4):
            others = np.delete(tet, i)
            a, b, c = x[others]
            n = np.cross(b - a, c - a)
            n /= np.linalg.norm(n)
            expected[tet[i]] -= 0.6 * ((3 * v[tet[i]] - v[others].sum(axis=0)) @ n) * n
    expected /= reference.mass[:, None]
    assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


@pytest.mark.parametrize("name", BODIES)
def test_energy_is_that_of_the_force(name):
    """The documented energy, as the solver reports it, falls along the force it computes (central differences)."""
    mesh = BODIES[name]()
    still = Material(young=3e4, poisson=0.4, damping=0.0, density=800.0, thickness=0.01)
    x = rounded(deformed(mesh, 0.15))
    sim = make_sim(mesh, still, frame_dt=1.0, substeps=1)
    reference = Reference(mesh, still)
    order = sim.body("body").particle_of
    energy = lambda y: sim.solvers[0].energy(y[np.argsort(order)])
    assert energy(x) == pytest.approx(reference.energy(x), rel=1e-10)
    force = measured_acceleration(sim, x, 0 * x) * reference.mass[:, None]
    direction = np.random.default_rng(1).normal(size=x.shape)
    h = 1e-6
    slope = (energy(x + h * direction) - energy(x - h * direction)) / (2 * h)
    assert -np.sum(force * direction) == pytest.approx(slope, rel=2e-4, abs=1e-4 * np.abs(force).sum())


@pytest.mark.parametrize("name", ["box", "ball", "sheet"])
def test_forces_sum_to_zero_and_have_no_torque(name, device):
    mesh = BODIES[name]()
    material = Material(young=3e4, poisson=0.4, damping=0.004, density=800.0, thickness=0.01)
    x, v = rounded(deformed(mesh, 0.15)), rounded(np.random.default_rng(0).normal(size=mesh.vertices.shape))
    force = measured_acceleration(one_second_scene(mesh, material), x, v, device)
    force *= Reference(mesh, material).mass[:, None]
    scale = np.abs(force).sum()
    assert np.abs(force.sum(axis=0)).max() < 1e-6 * scale
    assert np.abs(np.cross(x, force).sum(axis=0)).max() < 2e-6 * scale


@pytest.mark.parametrize("name", ["box", "ball", "sheet"])
def test_a_moved_rest_shape_feels_no_force(name, device):
    mesh = BODIES[name]()
    scene = one_second_scene(mesh, Material(young=3e4, damping=0.004, density=800.0))
    x = mesh.vertices @ rotation([1, 2, -1], 1.1).T + [0.4, -0.3, 0.2]
    away = np.abs(measured_acceleration(scene, deformed(mesh, 0.15), 0 * x, device)).max()
    assert np.abs(measured_acceleration(scene, x, 0 * x, device)).max() < (1e-5 if device == "cpu" else 3e-5) * away


@pytest.mark.parametrize("name", ["box", "ball", "sheet"])
def test_order_of_vertices_and_elements_does_not_matter(name, device):
    """The same body with everything in another order moves the same, in the user's own order."""
    mesh = BODIES[name]()
    material = Material(young=3e4, poisson=0.4, damping=0.002, density=800.0, thickness=0.01)
    mixed, place = shuffled(mesh, 5)
    np.testing.assert_array_equal(mixed.vertices[place], mesh.vertices)
    start = deformed(mesh, 0.1)
    runs = []
    for each, x in ((mesh, start), (mixed, start[np.argsort(place)])):
        sim = make_sim(each, material, gravity=(0, -9.81, 0), frame_dt=0.01, substeps=30, device=device)
        sim.set_state("body", x)
        sim.frame(10)
        runs.append(precise_positions(sim))
    first, second = runs[0], runs[1][place]
    assert np.abs(first - second).max() < 2e-6
    assert np.abs(first - start).max() > 0.01


def test_several_bodies_are_strangers(device):
    """Two bodies in one scene, of different material, feel what each would feel alone."""
    # the reference has the closed forms
    scene = Scene(gravity=(0, 0, 0), frame_dt=1.0, substeps=1, calibrate="off")
    stiff = Material(young=2e5, poisson=0.3, damping=0.001)
    meshes = {"a": (BODIES["box"](), SOFT), "b": (BODIES["ball"](), stiff), "c": (BODIES["sheet"](), SOFT)}
    for name, (mesh, material) in meshes.items():
        scene.add_body(mesh, material, name=name)
    sim = build(scene, device)
    start = {name: rounded(deformed(mesh, 0.1)) for name, (mesh, _) in meshes.items()}
    for name, x in start.items():
        sim.set_state(name, x)
    sim.frame(check=False)
    for name, (mesh, material) in meshes.items():
        expected = Reference(mesh, material).acceleration(start[name], 0 * start[name])
        assert (
            np.abs(sim.velocities(name) - expected).max() < (3e-5 if device == "cpu" else 3e-4) * np.abs(expected).max()
        )
