"""What every method must do: fall, rest, keep its pins and its momentum, stay out of planes, converge."""

import numpy as np
from bodies import build, deformed, make_scene, make_sim, precise_positions, rotation

from pliant import Material, SurfaceMesh, shapes

SOFT = Material(young=2e4, poisson=0.4, damping=0.004)

# Positions after n steps of h without forces but gravity g, over h^2 g: each integrator's own sum.
FALL = {
    "euler": lambda n: n * (n - 1) / 2,
    "symplectic": lambda n: n * (n + 1) / 2,
    "implicit": lambda n: n * (n + 1) / 2,
    "hybrid": lambda n: n * (n + 1) / 2,
    "descent": lambda n: n * (n + 1) / 2,
    "verlet": lambda n: n * n / 2,
    "midpoint": lambda n: n * n / 2,
    "rk4": lambda n: n * n / 2,
}

# Noise of velocities [m/s]: a CUDA block settles positions to a grain of about 1e-6 of an edge.
GRAIN = {True: 1e-5, False: 3e-5}


def _grain(variant, device):
    """Some methods carry no remainders of float32: their velocities are as fine as positions are, over the step."""
    return 3e-5 if variant.method in ("shape_matching", "baraff_witkin") else GRAIN[device == "cpu"]


def test_free_fall_is_exact(variant, device):
    mesh = variant.taken(shapes.ball(0.4, 3))
    velocity = np.array([0.7, 3.0, -0.4])
    gravity = np.array([0.3, -9.81, 0.1])
    sim = make_sim(
        mesh, SOFT, gravity=gravity, frame_dt=0.0175, substeps=7, device=device, body={"velocity": velocity},
        **variant.keywords,
    )  # fmt: skip
    start = precise_positions(sim)
    sim.frame(20)
    n, h = 140, 0.0025
    fell = precise_positions(sim) - start - velocity * n * h
    if variant.integrator in FALL:
        expected = FALL[variant.integrator](n) * h * h * gravity
        slack = 3e-6
    else:
        expected, slack = 0.5 * (n * h) ** 2 * gravity, n * h * h * 9.9
    np.testing.assert_allclose(fell.mean(axis=0), expected, atol=slack)
    # all of the body falls alike: its shape is that of the start (implicit: to the tolerance of its solve)
    assert np.abs(fell - fell.mean(axis=0)).max() < (3e-7 if variant.integrator != "implicit" else 3e-6)
    np.testing.assert_allclose(
        sim.velocities(), np.tile(velocity + n * h * gravity, (len(start), 1)), atol=_grain(variant, device)
    )


def test_rest_rests(variant, device):
    mesh = variant.taken(shapes.box((1.0, 0.7, 0.5), (4, 3, 3)))
    sim = make_sim(mesh, SOFT, frame_dt=0.05, substeps=50, device=device, **variant.keywords)
    start = precise_positions(sim)
    sim.frame(20 if not variant.is_slow else 2)
    assert np.abs(precise_positions(sim) - start).max() < 1e-6
    assert np.abs(sim.velocities()).max() < _grain(variant, device)


def test_a_moved_rest_shape_feels_no_force(variant, device):
    mesh = variant.taken(shapes.ball(0.4, 3))
    sim = make_sim(mesh, SOFT, frame_dt=0.01, substeps=10, device=device, **variant.keywords)
    x = (mesh.vertices @ rotation([1, 2, -1], 2.0).T + [3.0, -1.0, 2.0]).astype(np.float32)
    sim.set_state("body", x, np.zeros_like(x))
    sim.frame(5)
    # float32 rounds positions of about 3 m to 2e-7 m, and that strain is all there is
    assert np.abs(precise_positions(sim) - x).max() < 2e-6


def test_pins_hold_exactly(variant, device):
    mesh = variant.taken(shapes.box((1.0, 0.3, 0.3), (6, 2, 2)))
    scene = make_scene(mesh, SOFT, gravity=(0, -9.81, 0), frame_dt=0.02, substeps=12, **variant.keywords)
    left = mesh.vertices[:, 0] < -0.49
    assert scene.pin("body", lambda x: x[:, 0] < -0.49) == left.sum()
    sim = build(scene, device)
    start = sim.positions()
    sim.frame(15)
    np.testing.assert_array_equal(sim.positions()[left], start[left])
    assert (sim.velocities()[left] == 0).all()
    assert (start - sim.positions())[~left, 1].max() > 0.01


def test_moving_pins_arrive(variant, device):
    """Led along a path, pinned vertices are where the path says at every frame, and the rest of the body follows."""
    mesh = variant.taken(shapes.box((0.6, 0.3, 0.3), (4, 2, 2)))
    scene = make_scene(mesh, SOFT, frame_dt=0.02, substeps=9, **variant.keywords)
    path = [(0.0, (0, 0, 0)), (0.1, (0.0, 0.05, 0.0)), (0.3, (-0.1, 0.05, 0.0))]
    scene.pin("body", lambda x: x[:, 0] < -0.29, path=path)
    sim = build(scene, device)
    left = mesh.vertices[:, 0] < -0.29
    for k in range(1, 21):
        sim.frame()
        t = 0.02 * k
        offset = [np.interp(t, [0.1, 0.3], [0, -0.1]), np.interp(t, [0, 0.1], [0, 0.05]), 0]
        np.testing.assert_allclose(sim.positions()[left], mesh.vertices[left] + offset, atol=1e-6)
    sim.frame(20)
    np.testing.assert_allclose(sim.positions()[left], mesh.vertices[left] + [-0.1, 0.05, 0], atol=1e-7)
    follow = sim.positions()[~left] - mesh.vertices[~left]
    if isinstance(mesh, SurfaceMesh):
        # a limp sheet that was pulled flies on without air
        assert follow.mean(axis=0)[0] < -0.1
    else:
        # the soft body still swings about where it is led
        np.testing.assert_allclose(follow.mean(axis=0), [-0.1, 0.05, 0], atol=0.08)


def test_momentum_is_kept(variant, device):
    """A body that spins and vibrates in free flight keeps its linear and its angular momentum."""
    mesh = variant.taken(shapes.box((0.8, 0.5, 0.4), (5, 3, 3)))
    # a thousand steps, each a twelfth of the stable one or less
    sim = make_sim(mesh, SOFT, frame_dt=0.01, substeps=20, device=device, **variant.keywords)
    rng = np.random.default_rng(0)
    x = deformed(mesh, 0.08)
    v = np.cross([2.0, -1.0, 3.0], x) + 0.5 * rng.normal(size=x.shape) + [1.0, 2.0, -0.5]
    sim.set_state("body", x, v)
    before = sim.diagnostics()
    centre = before.mass_centre
    sim.frame(50 if not variant.is_slow else 10)
    after = sim.diagnostics()
    assert before.elastic > 0.01 * before.kinetic
    mass = before.mass
    scale = np.sqrt(2 * mass * before.kinetic)
    # implicit Euler keeps it to the tolerance of its solve
    slack = {"implicit": 1e-5}.get(variant.integrator, 1e-7 if variant.method != "baraff_witkin" else 1e-5)
    # without the remainders of float32 a thousand steps leave about ten roundings
    slack = 2e-6 if variant.method in ("shape_matching", "xpbd") else slack
    assert np.abs(after.momentum - before.momentum).max() < slack * scale
    spin = lambda d: d.angular_momentum - np.cross(d.mass_centre, d.momentum)
    drift = np.abs(spin(after) - spin(before)).max() / np.linalg.norm(spin(before))
    # symplectic keeps angular momentum exactly, and so does Verlet, whose velocity is read half a correction early;
    # the others keep it to their order
    if variant.method == "shape_matching":
        assert drift < 5e-6
    limit = {
        "symplectic": 3e-7,
        "verlet": 1e-5,
        "midpoint": 1e-5,
        "rk4": 3e-7,
        "euler": 2e-2,
        "implicit": 1e-2,
        "descent": 1e-2,
    }
    # XPBD is an implicit Euler step, whose forces act where the step ends: a spin decays with its rate squared and dt
    assert drift < limit.get(variant.integrator, 1e-2 if variant.method in ("xpbd", "baraff_witkin") else 1e-3)
    moved = after.mass_centre - centre - before.momentum / mass * sim.time
    assert np.abs(moved).max() < 2e-5 if variant.integrator != "implicit" else 1e-3


def test_nothing_ends_inside_a_plane(variant, device):
    """Thrown into the corner of a floor and a tilted wall, no particle is ever found behind either."""
    mesh = variant.taken(shapes.ball(0.3, 3))
    wall = np.array([1.0, 0.4, 0.1])
    wall /= np.linalg.norm(wall)
    scene = make_scene(
        mesh, SOFT, gravity=(0, -9.81, 0), frame_dt=0.01, substeps=13,
        body={"position": (0.1, 0.45, 0.0), "velocity": (-6.0, -3.0, 0.0), "angular_velocity": (0, 0, 9.0)},
        **variant.keywords,
    )  # fmt: skip
    scene.add_plane(restitution=0.3)
    scene.add_plane(point=(-0.5, 0, 0), normal=wall, friction=0.2)
    sim = build(scene, device)
    touched = 0
    # the middle of a sheet stays half its thickness away
    reach = 1e-6 + (0.5 * SOFT.thickness if isinstance(mesh, SurfaceMesh) else 0.0)
    for _ in range(60):
        sim.frame()
        x = sim.positions().astype(np.float64)
        # put out of one plane after the other, a particle in the corner may be left in the first by rounding
        assert x[:, 1].min() >= -2e-6
        assert ((x - [-0.5, 0, 0]) @ wall).min() >= -1e-6
        touched += (x[:, 1] < reach).sum() + ((x - [-0.5, 0, 0]) @ wall < reach).sum()
    assert touched > 20
    contacts = sim.contact_list()
    assert len(contacts.particle) == len(contacts.depth) == len(contacts.normal)


def test_halving_the_step_converges(variant, device):
    """The error against a much finer run falls at least as fast as a method of first order promises."""
    mesh = variant.taken(shapes.box((0.6, 0.3, 0.3), (3, 2, 2)))
    ends = []
    counts = [10, 20, 40, 320] if variant.integrator != "implicit" else [10, 20, 40, 160]
    if variant.integrator in ("euler", "hybrid"):
        # the hybrid damps what bends freely until h^2 k is small beside the masses
        counts = [40, 80, 160, 1280]
    if variant.method == "shape_matching":
        # it is at float32's rounding soon
        counts = [2, 4, 8, 64]
    for count in counts:
        scene = make_scene(mesh, SOFT, gravity=(0, -9.81, 0), frame_dt=0.06, substeps=count, **variant.keywords)
        scene.pin("body", lambda x: x[:, 0] < -0.29)
        sim = build(scene, device)
        sim.frame(2)
        ends.append(precise_positions(sim))
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    assert errors[0] > errors[1] > errors[2] or errors[2] < 2e-6
    assert errors[2] < errors[0] / 2.5
