"""The estimated stable step against the measured one: within 20 %, on five meshes, with every explicit integrator."""

import numpy as np
import pytest
from bodies import build, jittered, make_scene, make_sim

from pliant import InputError, Material, RawConstants, Scene, shapes

MESHES = {
    "box": lambda: shapes.box((0.6, 0.4, 0.4), (6, 4, 4)),
    "ball": lambda: shapes.ball(0.3, 4),
    "torus": lambda: shapes.torus(0.35, 0.12, 2),
    "stretched box": lambda: shapes.box((2.0, 0.3, 0.3), (5, 5, 5)),
    "jittered box": lambda: jittered(shapes.box(0.5, 5), 0.25),
}
UNDAMPED = Material(young=1e5, poisson=0.4, damping=0.0)
DAMPED = Material(young=1e5, poisson=0.4, damping=0.002)


def blows_up(sim, dt, steps=1200):
    """Whether a tiny noise grows out of all proportion in so many steps of dt."""
    sim.frame_dt, sim.substeps = steps * dt, steps
    rng = np.random.default_rng(0)
    before = 0.0
    for body in sim.model.bodies:
        rest = sim.model.particles.rest[body.particle_of]
        speed = 1e-4 * rng.normal(size=rest.shape)
        sim.set_state(body.name, rest, speed)
        before = max(before, np.abs(speed).max())
    with np.errstate(all="ignore"):
        sim.frame(check=False)
        after = sim.velocities()
    sim.forget_programs()
    return not np.isfinite(after).all() or np.abs(after).max() > 20 * before


def measured_limit(sim, steps=1200):
    """The largest step that does not blow up, by bisection to 2 %."""
    low, high = sim.stable_dt / 3, 2.7 * sim.stable_dt
    assert not blows_up(sim, low, steps) and blows_up(sim, high, steps)
    while high / low > 1.02:
        middle = np.sqrt(low * high)
        low, high = (low, middle) if blows_up(sim, middle, steps) else (middle, high)
    return low


def within_20_percent(sim, steps=1200):
    """The measured limit lies between the estimate over 1.2 and the estimate over 0.8."""
    return not blows_up(sim, sim.stable_dt / 1.2, steps) and blows_up(sim, sim.stable_dt / 0.8, steps)


@pytest.mark.parametrize("integrator", ["symplectic", "verlet"])
@pytest.mark.parametrize("name", MESHES)
def test_undamped(name, integrator):
    sim = make_sim(MESHES[name](), UNDAMPED, integrator=integrator)
    # measured: 1.00 to 1.01
    assert 0.8 < sim.stable_dt / measured_limit(sim) < 1.2


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "midpoint", "rk4", "euler"])
@pytest.mark.parametrize("name", ["box", "jittered box"])
def test_damped(name, integrator):
    mesh = shapes.box((0.6, 0.4, 0.4), (3, 2, 2)) if name == "box" else jittered(shapes.box(0.5, 3), 0.25)
    sim = make_sim(mesh, DAMPED, integrator=integrator)
    # Euler and midpoint fail slowly, at modes that hardly grow
    assert within_20_percent(sim, 4000 if integrator in ("euler", "midpoint") else 1200)


@pytest.mark.parametrize("integrator", ["symplectic", "verlet", "rk4"])
def test_heavy_damping_limits_the_step(integrator):
    """The damper, not the spring, is what an explicit step cannot follow here."""
    mesh = shapes.box((0.6, 0.4, 0.4), (3, 2, 2))
    sim = make_sim(mesh, Material(young=1e5, poisson=0.4, damping=0.05), integrator=integrator)
    light = make_sim(mesh, UNDAMPED, integrator=integrator)
    assert sim.stable_dt < 0.5 * light.stable_dt
    assert within_20_percent(sim)


@pytest.mark.parametrize("form", ["relative", "absolute"])
@pytest.mark.parametrize("damping_form", ["rate", "corner"])
def test_raw_constants(form, damping_form):
    """The source's own kind of constants: damping of springs and volumes in no relation to each other."""
    raw = RawConstants(
        spring=300.0, spring_damping=0.05, volume=1e5 if form == "absolute" else 0.5, volume_damping=1.0 if
        damping_form == "corner" else (1e3 if form == "absolute" else 5e-3), volume_form=form, mass=2.0,
    )  # fmt: skip
    sim = make_sim(MESHES["jittered box"](), UNDAMPED, volume_damping_form=damping_form, body={"raw": raw})
    assert within_20_percent(sim)


def test_two_bodies_of_different_kind():
    """A stiff body without damping beside a soft one with a heavy damper: the damper sets the limit."""
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(MESHES["box"](), UNDAMPED, name="stiff")
    scene.add_body(MESHES["ball"](), Material(young=2e4, poisson=0.4, damping=0.1), name="viscous")
    assert within_20_percent(build(scene))


def test_euler_looks_at_the_least_damped_body():
    """Explicit Euler fails first where there is least damping, however soft that body is."""
    limits = []
    for dampings in ((0.004,), (0.0005,), (0.004, 0.0005)):
        scene = Scene(gravity=(0, 0, 0))
        for damping in dampings:
            scene.add_body(shapes.box(0.5, 2), Material(young=1e4 * damping / 0.0005, poisson=0.4, damping=damping))
        scene.configure("mass_spring", integrator="euler")
        limits.append(build(scene).stable_dt)
    assert limits[2] == pytest.approx(min(limits), rel=0.05)


def test_far_from_the_origin_the_estimate_is_the_same():
    here, there = (
        make_sim(MESHES["ball"](), UNDAMPED, body={"position": position}).stable_dt
        for position in ((0, 0, 0), (700.0, 300.0, -500.0))
    )
    assert there == pytest.approx(here, rel=1e-3)


def test_pinned_particles_do_not_count():
    """The light corner that limits a body limits it no more once it is held."""
    mesh = shapes.box(0.5, 4)
    mesh.vertices[0] = mesh.vertices[0] * 0.72
    free = make_sim(mesh, UNDAMPED)
    scene = make_scene(mesh, UNDAMPED)
    scene.pin("body", lambda x: np.linalg.norm(x - mesh.vertices[0], axis=1) < 0.2)
    held = build(scene)
    assert held.stable_dt > 1.05 * free.stable_dt
    scene = make_scene(mesh, UNDAMPED)
    scene.pin("body", lambda x: np.ones(len(x), bool))
    assert np.isinf(build(scene).stable_dt)


def test_default_substeps_follow_from_it():
    for young in (1e4, 1e6):
        sim = make_sim(MESHES["ball"](), Material(young=young, damping=0.0))
        assert 0.5 * sim.stable_dt < sim.dt <= 0.7 * sim.stable_dt * 1.0001 or sim.substeps == 1
        assert not sim.notes


def test_asking_for_more_warns():
    with pytest.warns(UserWarning, match=r"step of 0\.0167 s is larger than the .* s estimated to be stable"):
        sim = make_scene(MESHES["ball"](), Material(young=1e7), substeps=1).build("cpu")
    assert sim.substeps == 1 and "at least" in sim.notes[-1]
    assert make_sim(MESHES["ball"](), Material(young=1e7), substeps=1, integrator="implicit").notes == []


def test_a_scene_that_needs_too_many_substeps_is_refused():
    with pytest.raises(InputError, match=r"stable step is .* substeps.*implicit"):
        make_sim(shapes.box(1e-3, 4), Material(young=1e12, density=1.0, damping=0.0))


@pytest.mark.parametrize("name", ["box", "ball"])
def test_the_step_shrinks_as_theory_says(name):
    """Stable step ~ size of a cell * sqrt(density / Young's modulus)."""
    base = make_sim(MESHES[name](), UNDAMPED).stable_dt
    stiff = make_sim(MESHES[name](), Material(young=4e5, poisson=0.4, damping=0.0)).stable_dt
    heavy = make_sim(MESHES[name](), Material(young=1e5, poisson=0.4, damping=0.0, density=4000.0)).stable_dt
    small = make_sim(MESHES[name]().scaled(0.5), UNDAMPED).stable_dt
    np.testing.assert_allclose([stiff, heavy, small], [base / 2, base * 2, base / 2], rtol=0.03)
