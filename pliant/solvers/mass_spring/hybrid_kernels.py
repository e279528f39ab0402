"""The hybrid integrator's linear system, a number per spring, and the rigid motion that it would lose."""

import warp as wp

from pliant.physics.integrate import add_carried
from pliant.solvers.mass_spring.constants import BodyConstants

wp.set_module_options({"enable_backward": False})

# Numbers that a body's rigid motion is found from: pinned particles, mass, m r (3), impulse (3), r x impulse (3), and
# the six second moments of mass.
SUMS = wp.constant(17)


@wp.struct
class Links:
    """The springs around each particle: the other end, and what the spring weighs in the system [N/m]."""

    starts: wp.array(dtype=int)
    other: wp.array(dtype=int)
    weight: wp.array(dtype=float)
    body: wp.array(dtype=int)


@wp.func
def pulls_of_others(links: Links, i: int, p: wp.array(dtype=wp.vec3)) -> wp.vec3:
    """Row i of the Laplacian of the weights times p."""
    total = wp.vec3()
    for s in range(links.starts[i], links.starts[i + 1]):
        total += links.weight[s] * (p[i] - p[links.other[s]])
    return total


@wp.kernel
def begin(
    start: int,
    links: Links,
    bodies: wp.array(dtype=BodyConstants),
    mass: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    a: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    gravity: wp.vec3,
    dt: float,
    inverse_out: wp.array(dtype=float),
    dv_out: wp.array(dtype=wp.vec3),
    r_out: wp.array(dtype=wp.vec3),
    d_out: wp.array(dtype=wp.vec3),
):
    """Begin the solve at the change of velocity of a free fall: the residual there, and the first direction.

    The right side of the system is h m a - h^2 K v; its diagonal is the preconditioner.
    """
    i = start + wp.tid()
    body = bodies[links.body[i]]
    weight = float(0.0)
    held = float(0.0)
    for s in range(links.starts[i], links.starts[i + 1]):
        weight += links.weight[s]
        if inv_mass[links.other[s]] == 0.0:
            held += links.weight[s]
    scale = dt * (dt + body.spring_damping_time)
    inverse = 1.0 / (mass[i] * (1.0 + dt * body.drag) + scale * weight)
    inverse_out[i] = inverse
    fall = wp.vec3()
    r = wp.vec3()
    if inv_mass[i] > 0.0:
        fall = dt * gravity
        r = (dt * mass[i]) * (a[i] - (1.0 + dt * body.drag) * gravity)
        r -= (dt * dt) * pulls_of_others(links, i, v) + (scale * held) * fall
    dv_out[i] = fall
    r_out[i] = r
    d_out[i] = inverse * r


@wp.kernel
def product(
    start: int,
    links: Links,
    bodies: wp.array(dtype=BodyConstants),
    mass: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    d: wp.array(dtype=wp.vec3),
    dt: float,
    q_out: wp.array(dtype=wp.vec3),
):
    """q = (M (1 + h drag) + h (h + damping) K) d; nothing for the pinned."""
    i = start + wp.tid()
    q = wp.vec3()
    if inv_mass[i] > 0.0:
        body = bodies[links.body[i]]
        scale = dt * (dt + body.spring_damping_time)
        q = (mass[i] * (1.0 + dt * body.drag)) * d[i] + scale * pulls_of_others(links, i, d)
    q_out[i] = q


@wp.kernel
def descend(
    start: int,
    inverse: wp.array(dtype=float),
    d: wp.array(dtype=wp.vec3),
    q: wp.array(dtype=wp.vec3),
    scalars: wp.array(dtype=wp.float64),
    dv_inout: wp.array(dtype=wp.vec3),
    r_inout: wp.array(dtype=wp.vec3),
    z_out: wp.array(dtype=wp.vec3),
):
    """A step of conjugate gradients along d, and the preconditioned residual."""
    i = start + wp.tid()
    alpha = float(scalars[1])
    dv_inout[i] = dv_inout[i] + alpha * d[i]
    r = r_inout[i] - alpha * q[i]
    r_inout[i] = r
    z_out[i] = inverse[i] * r


@wp.kernel
def sum_bodies(
    start: int,
    first: wp.array(dtype=int),
    bodies: wp.array(dtype=BodyConstants),
    chunks: int,
    mass: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dv: wp.array(dtype=wp.vec3),
    f_ext: wp.array(dtype=wp.vec3),
    has_f_ext: int,
    gravity: wp.vec3,
    dt: float,
    parts_out: wp.array2d(dtype=wp.float64),
):
    """Sums over a chunk of a body's particles, about its first one: mass, and the impulse that is not from outside."""
    k = start + wp.tid()
    b = k // chunks
    c = k - b * chunks
    begin = first[b]
    count = first[b + 1] - begin
    drag = bodies[b].drag
    for n in range(SUMS):
        parts_out[k, n] = wp.float64(0.0)
    home = x[begin]
    for i in range(begin + count * c // chunks, begin + count * (c + 1) // chunks):
        m = mass[i]
        r = x[i] - home
        outside = gravity - drag * (v[i] + dv[i])
        if has_f_ext != 0:
            outside += inv_mass[i] * f_ext[i]
        p = m * dv[i] - (dt * m) * outside
        t = wp.cross(r, p)
        if inv_mass[i] == 0.0:
            parts_out[k, 0] += wp.float64(1.0)
        parts_out[k, 1] += wp.float64(m)
        for a in range(3):
            parts_out[k, 2 + a] += wp.float64(m * r[a])
            parts_out[k, 5 + a] += wp.float64(p[a])
            parts_out[k, 8 + a] += wp.float64(t[a])
        parts_out[k, 11] += wp.float64(m * r[0] * r[0])
        parts_out[k, 12] += wp.float64(m * r[1] * r[1])
        parts_out[k, 13] += wp.float64(m * r[2] * r[2])
        parts_out[k, 14] += wp.float64(m * r[0] * r[1])
        parts_out[k, 15] += wp.float64(m * r[1] * r[2])
        parts_out[k, 16] += wp.float64(m * r[2] * r[0])


@wp.kernel
def rigid_motion(
    chunks: int,
    parts: wp.array2d(dtype=wp.float64),
    shift_out: wp.array(dtype=wp.vec3),
    spin_out: wp.array(dtype=wp.vec3),
):
    """The velocity of a body's first particle and the spin that give back what the solve lost; zero where it is pinned.

    Internal forces have neither a net impulse nor a torque, so what there is of them is an error. A body that lies on
    a line has no inertia about it; a little is added so that the matrix can be inverted.
    """
    b = wp.tid()
    pinned = wp.float64(0.0)
    mass = wp.float64(0.0)
    s = wp.vec3d()
    p = wp.vec3d()
    t = wp.vec3d()
    xx = wp.float64(0.0)
    yy = wp.float64(0.0)
    zz = wp.float64(0.0)
    xy = wp.float64(0.0)
    yz = wp.float64(0.0)
    zx = wp.float64(0.0)
    for c in range(chunks):
        k = b * chunks + c
        pinned += parts[k, 0]
        mass += parts[k, 1]
        s += wp.vec3d(parts[k, 2], parts[k, 3], parts[k, 4])
        p += wp.vec3d(parts[k, 5], parts[k, 6], parts[k, 7])
        t += wp.vec3d(parts[k, 8], parts[k, 9], parts[k, 10])
        xx += parts[k, 11]
        yy += parts[k, 12]
        zz += parts[k, 13]
        xy += parts[k, 14]
        yz += parts[k, 15]
        zx += parts[k, 16]
    shift_out[b] = wp.vec3(0.0, 0.0, 0.0)
    spin_out[b] = wp.vec3(0.0, 0.0, 0.0)
    if pinned == wp.float64(0.0):
        g = s / mass
        xx -= mass * g[0] * g[0]
        yy -= mass * g[1] * g[1]
        zz -= mass * g[2] * g[2]
        xy -= mass * g[0] * g[1]
        yz -= mass * g[1] * g[2]
        zx -= mass * g[2] * g[0]
        little = wp.float64(1.0e-9) * (xx + yy + zz) + wp.float64(1.0e-30)
        inertia = wp.mat33d(yy + zz + little, -xy, -zx, -xy, xx + zz + little, -yz, -zx, -yz, xx + yy + little)
        spin = -(wp.inverse(inertia) * (t - wp.cross(g, p)))
        middle = -p / mass
        at_home = middle - wp.cross(spin, g)
        shift_out[b] = wp.vec3(float(at_home[0]), float(at_home[1]), float(at_home[2]))
        spin_out[b] = wp.vec3(float(spin[0]), float(spin[1]), float(spin[2]))


@wp.kernel
def finish(
    start: int,
    links: Links,
    first: wp.array(dtype=int),
    inv_mass: wp.array(dtype=float),
    shift: wp.array(dtype=wp.vec3),
    spin: wp.array(dtype=wp.vec3),
    dv: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    v_carry: wp.array(dtype=wp.vec3),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
):
    """The new velocity, with the rigid motion given back, moves the particle."""
    i = start + wp.tid()
    b = links.body[i]
    gain = wp.vec3()
    low = wp.vec3()
    if inv_mass[i] > 0.0:
        gain = dv[i] + shift[b] + wp.cross(spin[b], x[i] - x[first[b]])
        low = v_carry[i]
    speed = add_carried(v[i], low, gain)
    total = add_carried(x[i], carry[i] + dt * speed.carry, dt * speed.high)
    x_out[i] = total.high
    carry_out[i] = total.carry
    v_out[i] = speed.high
    v_carry_out[i] = speed.carry
