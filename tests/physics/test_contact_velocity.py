"""Restitution and Coulomb friction of one particle, against float64."""

import numpy as np
import pytest
import warp as wp

from pliant.physics.contact import SLOW, PlaneData, contact_velocity, meet_planes

wp.set_module_options({"enable_backward": False})

UP = np.array([0.0, 1.0, 0.0])


@wp.kernel
def call_contact(
    v: wp.array(dtype=wp.vec3),
    surface_v: wp.vec3,
    normal: wp.vec3,
    friction: wp.vec2,
    restitution: float,
    rest_speed: float,
    v_out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    came = wp.dot(v[i] - surface_v, normal)
    v_out[i] = contact_velocity(v[i], surface_v, normal, came, friction, restitution, rest_speed)


@wp.kernel
def call_planes(
    planes: wp.array(dtype=PlaneData),
    count: int,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    before: wp.array(dtype=wp.vec3),
    friction: wp.vec2,
    restitution: float,
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    touched_out: wp.array(dtype=int),
):
    i = wp.tid()
    met = meet_planes(x[i], v[i], before[i], planes, count, friction, restitution, 0.0, dt)
    x_out[i] = met.x
    v_out[i] = met.v
    touched_out[i] = met.touched


def both(friction):
    """Kinetic and static coefficient, which are the same if one is given."""
    return wp.vec2(*(friction if isinstance(friction, tuple) else (friction, friction)))


def after(v, friction=0.0, restitution=0.0, rest_speed=0.0, surface=(0.0, 0.0, 0.0), normal=UP, device="cpu"):
    v = np.atleast_2d(np.asarray(v, float))
    source = wp.array(v.astype(np.float32), dtype=wp.vec3, device=device)
    out = wp.zeros(len(v), dtype=wp.vec3, device=device)
    inputs = [source, wp.vec3(*surface), wp.vec3(*normal), both(friction), restitution, rest_speed]
    wp.launch(call_contact, len(v), inputs=inputs, outputs=[out], device=device)
    return out.numpy().astype(np.float64)


@pytest.fixture(scope="module")
def normal():
    n = np.array([0.3, 0.9, -0.2])
    return n / np.linalg.norm(n)


@pytest.fixture(scope="module")
def speeds():
    return np.random.default_rng(8).normal(size=(400, 3))


@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_restitution_without_friction(speeds, normal, restitution, device):
    before, result = speeds @ normal, after(speeds, restitution=restitution, normal=normal, device=device)
    hit = before < 0
    np.testing.assert_allclose(result[hit] @ normal, -restitution * before[hit], atol=1e-6)
    tangent = np.eye(3) - np.outer(normal, normal)
    np.testing.assert_allclose(result @ tangent, speeds @ tangent, atol=1e-6)


def test_leaving_particles_are_left_alone(speeds, normal, device):
    leaving = speeds[speeds @ normal >= 1e-6]
    np.testing.assert_array_equal(
        after(leaving, 0.9, 0.5, normal=normal, device=device), leaving.astype(np.float32).astype(np.float64)
    )


@pytest.mark.parametrize("friction", [0.0, 0.2, 0.7, 3.0])
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_coulomb_cone(speeds, normal, friction, restitution, device):
    surface = np.cross(normal, [0.4, 0.1, -0.7])
    relative = speeds - surface
    approach = relative @ normal
    hit = approach < 0
    result = after(speeds, friction, restitution, surface=surface, normal=normal, device=device) - surface
    tangent = np.eye(3) - np.outer(normal, normal)
    before, behind = relative[hit] @ tangent, result[hit] @ tangent
    lost = np.linalg.norm(before - behind, axis=1)
    most = friction * (1 + restitution) * -approach[hit]
    assert (lost <= most + 1e-6).all()
    # sliding loses exactly mu times the normal change and keeps its direction; sticking stops
    sliding = np.linalg.norm(before, axis=1) > most
    np.testing.assert_allclose(lost[sliding], most[sliding], atol=1e-6)
    np.testing.assert_allclose(behind[~sliding], 0.0, atol=1e-6)
    assert (np.einsum("ij,ij->i", before, behind) >= -1e-6).all()
    # nothing gains energy
    assert (np.linalg.norm(result[hit], axis=1) <= np.linalg.norm(relative[hit], axis=1) + 1e-6).all()


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_what_static_friction_can_stop_stops_and_the_rest_feels_the_kinetic_one(speeds, normal, restitution, device):
    kinetic, static = 0.2, 0.7
    result = after(speeds, (kinetic, static), restitution, normal=normal, device=device)
    hit = speeds @ normal < 0
    tangent = np.eye(3) - np.outer(normal, normal)
    before, behind = np.linalg.norm(speeds[hit] @ tangent, axis=1), np.linalg.norm(result[hit] @ tangent, axis=1)
    push = -(1 + restitution) * (speeds[hit] @ normal)
    holds = before <= static * push
    assert 10 < np.count_nonzero(holds) < len(holds) - 10 and np.any(holds & (before > kinetic * push))
    slow = before <= static * push + SLOW
    wanted = np.where(slow, np.maximum(before - static * push, 0.0), before - kinetic * push)
    np.testing.assert_allclose(behind, wanted, atol=1e-5)
    assert np.any(slow & ~holds)


def test_slow_approach_does_not_bounce(device):
    result = after([[0, -0.019, 0], [0, -0.021, 0]], restitution=0.5, rest_speed=0.02, device=device)
    np.testing.assert_allclose(result[:, 1], [0.0, 0.0105], atol=1e-7)


def planes_meet(planes, x, v, friction=0.0, restitution=0.0, before=None, dt=0.1, device="cpu"):
    """Positions, velocities and whether anything was touched; `before` is where the particles came from."""
    rows = []
    for normal, offset, mu, e, *surface in planes:
        data = PlaneData()
        data.normal, data.offset, data.restitution = wp.vec3(*normal), offset, e
        data.friction, data.static_friction = both(mu)
        data.velocity = wp.vec3(*(surface[0] if surface else (0.0, 0.0, 0.0)))
        rows.append(data)
    make = lambda a: wp.array(np.atleast_2d(a).astype(np.float32), dtype=wp.vec3, device=device)
    before = make(x if before is None else before)
    x, v = make(x), make(v)
    x_out, v_out = wp.zeros_like(x), wp.zeros_like(v)
    touched = wp.zeros(len(x), dtype=int, device=device)
    table = wp.array(rows, dtype=PlaneData, device=device)
    inputs = [table, len(rows), x, v, before, both(friction), restitution, dt]
    wp.launch(call_planes, len(x), inputs=inputs, outputs=[x_out, v_out, touched], device=device)
    return x_out.numpy(), v_out.numpy(), touched.numpy()


def test_particles_are_put_back_on_the_plane(device):
    x = np.array([[0.3, -0.2, 1.0], [0.0, 0.2, 0.0], [0.0, 0.1, 0.0]])
    out, v, touched = planes_meet([(UP, 0.1, 0.0, 0.0)], x, [[1.0, -1, 0]] * 3, device=device)
    np.testing.assert_allclose(out[:, 1], [0.1, 0.2, 0.1], atol=1e-7)
    assert touched.tolist() == [1, 0, 0]
    np.testing.assert_allclose(v, [[1, 0, 0], [1, -1, 0], [1, -1, 0]], atol=1e-7)


def test_friction_is_the_geometric_mean_and_restitution_the_larger(device):
    plane = (UP, 0.0, 0.9, 0.2)
    _, v, _ = planes_meet([plane], [0, -0.1, 0], [10.0, -1, 0], 0.4, 0.5, before=[-1.0, 0, 0], device=device)
    np.testing.assert_allclose(v[0], [10 - 0.6 * 1.5, 0.5, 0], rtol=1e-6)


def test_static_friction_is_the_geometric_mean_too(device):
    """0.4 and 0.9 make 0.6, 0.5 and 1.62 make 0.9: what needs less than 0.9 of the push is held."""
    plane = (UP, 0.0, (0.9, 1.62), 0.0)
    x, v, before = [[0, -0.1, 0]] * 2, [[0.89, -1.0, 0], [0.96, -1.0, 0]], [[-0.1, 0, 0]] * 2
    _, found, _ = planes_meet([plane], x, v, (0.4, 0.5), before=before, device=device)
    np.testing.assert_allclose(found, [[0, 0, 0], [0.36, 0, 0]], atol=1e-6)
    # a surface of which no static friction is known holds no less than it drags
    _, found, _ = planes_meet([(UP, 0.0, (0.9, 0.0), 0.0)], x, v, (0.4, 0.4), before=before, device=device)
    np.testing.assert_allclose(found, [[0.29, 0, 0], [0.36, 0, 0]], atol=1e-6)


def test_a_bounce_gives_back_what_came_not_what_was_added(device):
    # half the speed was added on the way: the mean of both speeds made it 0.15 m long
    for speed, depth, came in ((-2.0, 0.15, 1.0), (-2.0, 0.2, 2.0), (-2.0, 0.05, 0.0), (-2.0, 0.3, 2.0)):
        _, v, _ = planes_meet([(UP, 0.0, 0.0, 1.0)], [0, -depth, 0], [0, speed, 0], before=[0, 0, 0], device=device)
        np.testing.assert_allclose(v[0], [0, came, 0], atol=1e-6)


def test_a_corner_of_two_planes(device):
    walls = [(UP, 0.0, 0.0, 0.0), ((1.0, 0, 0), -0.5, 0.0, 0.0)]
    x, v, _ = planes_meet(walls, [-0.7, -0.1, 0.0], [-1.0, -1, 1], device=device)
    np.testing.assert_allclose(x[0], [-0.5, 0, 0], atol=1e-7)
    np.testing.assert_allclose(v[0], [0, 0, 1], atol=1e-7)


def test_what_sticks_stays_where_it_was(device):
    """Friction shortens the way as it does the speed: a stuck particle does not creep, a sliding one goes less far."""
    before, x, v = [0.3, 0.0, 0.2], [0.32, -0.05, 0.19], [0.2, -0.5, -0.1]
    out, speed, _ = planes_meet([(UP, 0.0, 1.0, 0.0)], x, v, 1.0, before=before, device=device)
    np.testing.assert_allclose(out[0], before, atol=1e-7)
    np.testing.assert_allclose(speed[0], 0.0, atol=1e-7)
    mu = 0.2
    out, speed, _ = planes_meet([(UP, 0.0, mu, 0.0)], x, v, mu, before=before, device=device)
    kept = 1 - mu * 0.5 / np.hypot(0.2, 0.1)
    np.testing.assert_allclose(speed[0], [0.2 * kept, 0, -0.1 * kept], atol=1e-6)
    np.testing.assert_allclose(out[0], [0.3 + 0.02 * kept, 0, 0.2 - 0.01 * kept], atol=1e-6)
    # without friction the way is the particle's own
    out, _, _ = planes_meet([(UP, 0.0, 0.0, 0.0)], x, v, 1.0, before=before, device=device)
    np.testing.assert_allclose(out[0], [0.32, 0.0, 0.19], atol=1e-7)


def test_what_comes_from_afar_sticks_where_it_came_in(device):
    """Halfway down it meets the floor: it is put there, not straight below where it came from."""
    before, x, v = [0.0, 0.1, 0.0], [0.2, -0.1, 0.0], [2.0, -2.0, 0.0]
    out, speed, _ = planes_meet([(UP, 0.0, 4.0, 0.0)], x, v, 4.0, before=before, device=device)
    np.testing.assert_allclose(out[0], [0.1, 0.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(speed[0], 0.0, atol=1e-7)


def test_what_sticks_to_a_belt_goes_with_it(device):
    belt = (UP, 0.0, 4.0, 0.0, (0.5, 0.0, 0.0))
    out, speed, _ = planes_meet([belt], [0.0, -0.05, 0], [0.0, -0.5, 0], 4.0, before=[0.0, 0, 0], dt=0.1, device=device)
    np.testing.assert_allclose(out[0], [0.05, 0, 0], atol=1e-7)
    np.testing.assert_allclose(speed[0], [0.5, 0, 0], atol=1e-7)
