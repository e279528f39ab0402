"""Newton's method for implicit Euler: contacts as constraints, the residual, the merit of a trial, the commit."""

import warp as wp

from pliant.physics.contact import PlaneData, friction_leaves, shared_friction
from pliant.physics.integrate import add_carried
from pliant.physics.spring import spring_energy
from pliant.physics.volume import pressure_scale, six_volume_rate
from pliant.solvers.common.cg_kernels import total_of
from pliant.solvers.mass_spring.constants import RATE, BodyConstants
from pliant.solvers.mass_spring.implicit_kernels import Around, filtered

wp.set_module_options({"enable_backward": False})


@wp.kernel
def contact_constraints(
    start: int,
    planes: wp.array(dtype=PlaneData),
    plane_count: int,
    around: Around,
    bodies: wp.array(dtype=BodyConstants),
    inv_mass: wp.array(dtype=float),
    full: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    v_before: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    push: wp.vec3,
    dt: float,
    rest_speed: float,
    first_look: int,
    normal_inout: wp.array(dtype=wp.vec3),
    z_out: wp.array(dtype=wp.vec3),
    grip_out: wp.array(dtype=wp.vec3),
    friction_out: wp.array(dtype=wp.vec2),
):
    """A particle about to pass a plane may not move along its normal, except by the z that lands it there.

    The solve then carries the impact through the whole body at once; putting particles back afterwards would squash
    the elements at the floor. A plane that would have to pull lets go. `full` is the residual of the equation, `push`
    the velocity gravity adds, `grip` the plane's velocity; friction is the kinetic and the static coefficient.
    """
    i = start + wp.tid()
    held = normal_inout[i]
    if first_look != 0 or wp.dot(full[i], held) > 0.0:
        held = wp.vec3(0.0, 0.0, 0.0)
    normal_inout[i] = held
    z = wp.vec3()
    if inv_mass[i] > 0.0 and wp.length_sq(held) == 0.0:
        body = bodies[around.body[i]]
        deepest = float(0.0)
        for k in range(plane_count):
            plane = planes[k]
            n = plane.normal
            height = wp.dot(n, x[i]) - plane.offset - body.radius
            ahead = height + dt * wp.dot(v[i] + push, n)
            if ahead < deepest:
                deepest = ahead
                wanted = -height / dt
                approach = wp.dot(v_before[i], n)
                if -approach > rest_speed:
                    wanted = wp.max(wanted, -wp.max(body.restitution, plane.restitution) * approach)
                normal_inout[i] = n
                z = (wanted - wp.dot(v[i], n)) * n
                grip_out[i] = plane.velocity
                friction_out[i] = shared_friction(body.friction, plane)
    z_out[i] = z


@wp.kernel
def trial(
    start: int,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dv: wp.array(dtype=wp.vec3),
    fraction: float,
    dt: float,
    v_out: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
):
    """Velocities v + fraction dv and the positions they lead to."""
    i = start + wp.tid()
    u = v[i] + fraction * dv[i]
    v_out[i] = u
    x_out[i] = x[i] + dt * u


@wp.kernel
def residual(
    start: int,
    mass: wp.array(dtype=float),
    a: wp.array(dtype=wp.vec3),
    v_before: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dt: float,
    full_out: wp.array(dtype=wp.vec3),
):
    """dt f - M (v - v_before): zero where implicit Euler is satisfied, and the impulse of what holds a particle."""
    i = start + wp.tid()
    full_out[i] = mass[i] * (dt * a[i] - (v[i] - v_before[i]))


@wp.kernel
def first_direction(
    start: int,
    inv_mass: wp.array(dtype=float),
    full: wp.array(dtype=wp.vec3),
    az: wp.array(dtype=wp.vec3),
    normal: wp.array(dtype=wp.vec3),
    inverse: wp.array(dtype=wp.mat33),
    r_out: wp.array(dtype=wp.vec3),
    d_out: wp.array(dtype=wp.vec3),
):
    """The residual of the linear system at dv = z, and the direction in which its solve begins."""
    i = start + wp.tid()
    r = filtered(full[i] - az[i], inv_mass[i], normal[i])
    r_out[i] = r
    d_out[i] = filtered(inverse[i] * r, inv_mass[i], normal[i])


@wp.kernel
def merit_particles(
    start: int,
    around: Around,
    bodies: wp.array(dtype=BodyConstants),
    mass: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    f_ext: wp.array(dtype=wp.vec3),
    has_f_ext: int,
    v_before: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    gravity: wp.vec3,
    dt: float,
    first: int,
    count: int,
    chunks: int,
    parts_out: wp.array(dtype=wp.float64),
):
    """Inertia, external forces and drag: their part of what implicit Euler minimises."""
    c = start + wp.tid()
    total = wp.float64(0.0)
    for k in range(c, count, chunks):
        i = first + k
        if inv_mass[i] > 0.0:
            change = v[i] - v_before[i]
            drag = bodies[around.body[i]].drag
            energy = mass[i] * (
                0.5 * wp.dot(change, change) - dt * wp.dot(gravity, v[i]) + 0.5 * dt * drag * wp.dot(v[i], v[i])
            )
            if has_f_ext != 0:
                energy -= dt * wp.dot(f_ext[i], v[i])
            total += wp.float64(energy)
    parts_out[c] = total


@wp.kernel
def merit_elements(
    start: int,
    around: Around,
    bodies: wp.array(dtype=BodyConstants),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    dt: float,
    first: int,
    count: int,
    tets: int,
    chunks: int,
    parts_inout: wp.array(dtype=wp.float64),
):
    """Elastic energy and the work of the dampers over the step, added to the part of the particles."""
    c = start + wp.tid()
    total = wp.float64(0.0)
    for k in range(c, count, chunks):
        i = first + k
        body = bodies[around.body[i]]
        for s in range(around.spring_starts[i], around.spring_starts[i + 1]):
            j = around.spring_other[s]
            if j > i:
                constants = around.spring_constants[s]
                d = x[j] - x[i]
                energy = spring_energy(d, constants[1], constants[0])
                squared = wp.dot(d, d)
                if squared > 0.0:
                    rate = wp.dot(d, v[j] - v[i])
                    energy += 0.5 * dt * constants[0] * body.spring_damping_time * rate * rate / squared
                total += wp.float64(energy)
        for s in range(around.triangle_starts[i], around.triangle_starts[i + 1]):
            others = around.triangle_others[s]
            inv = around.triangle_inv_double_area[s]
            strain = wp.length(wp.cross(x[others[0]] - x[i], x[others[1]] - x[i])) * inv - 1.0
            # each triangle is met at its three corners
            total += wp.float64(0.5 * body.area_stiffness * (0.5 / inv) * strain * strain / 3.0)
    for t in range(c, tets, chunks):
        corners = around.tet_corners[t]
        body = bodies[around.tet_body[t]]
        inv = around.tet_inv_six_volume[t]
        i = corners[0]
        e1 = x[corners[1]] - x[i]
        e2 = x[corners[2]] - x[i]
        e3 = x[corners[3]] - x[i]
        strain = wp.dot(e1, wp.cross(e2, e3)) * inv - 1.0
        scale = pressure_scale(inv, body.volume_stiffness, body.volume_form) / (6.0 * inv)
        energy = 0.5 * scale * strain * strain
        if body.volume_damping_form == RATE:
            rate = inv * six_volume_rate(e1, e2, e3, v[corners[1]] - v[i], v[corners[2]] - v[i], v[corners[3]] - v[i])
            energy += 0.5 * dt * scale * body.volume_damping * rate * rate
        total += wp.float64(energy)
    parts_inout[c] = parts_inout[c] + total


@wp.kernel
def note_merit(parts: wp.array(dtype=wp.float64), place: int, merit_out: wp.array(dtype=wp.float64)):
    merit_out[place] = total_of(parts)


@wp.kernel
def choose_fraction(merit: wp.array(dtype=wp.float64), trials: int, fraction_out: wp.array(dtype=float)):
    """The largest of the fractions 1, 1/2, 1/4, ... that does not raise the merit; the smallest if all do."""
    fraction = float(1.0)
    chosen = float(0.0)
    for k in range(trials):
        slack = wp.float64(1.0e-6) * wp.abs(merit[0])
        if chosen == 0.0 and merit[1 + k] <= merit[0] + slack:
            chosen = fraction
        if k < trials - 1:
            fraction = 0.5 * fraction
    if chosen == 0.0:
        chosen = fraction
    fraction_out[0] = chosen


@wp.kernel
def move(
    start: int,
    dv: wp.array(dtype=wp.vec3),
    fraction: wp.array(dtype=float),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Change the velocities by a fraction of dv."""
    i = start + wp.tid()
    v_inout[i] = v_inout[i] + fraction[0] * dv[i]


@wp.kernel
def finish(
    start: int,
    inv_mass: wp.array(dtype=float),
    normal: wp.array(dtype=wp.vec3),
    grip: wp.array(dtype=wp.vec3),
    friction: wp.array(dtype=wp.vec2),
    full: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    carry: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    v_carry: wp.array(dtype=wp.vec3),
    v_new: wp.array(dtype=wp.vec3),
    dt: float,
    x_out: wp.array(dtype=wp.vec3),
    carry_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    v_carry_out: wp.array(dtype=wp.vec3),
):
    """Commit the velocity change, with Coulomb friction where a plane pushes."""
    i = start + wp.tid()
    gain = v_new[i] - v[i]
    n = normal[i]
    if wp.length_sq(n) > 0.0:
        # what is left of the equation along the normal is the impulse the plane gives
        push = wp.max(0.0, -wp.dot(full[i], n))
        slip = v_new[i] - grip[i]
        slip = slip - wp.dot(slip, n) * n
        gain = gain - (1.0 - friction_leaves(push * inv_mass[i], wp.length(slip), friction[i])) * slip
    if inv_mass[i] == 0.0:
        gain = wp.vec3(0.0, 0.0, 0.0)
    speed = add_carried(v[i], v_carry[i], gain)
    total = add_carried(x[i], carry[i] + dt * speed.carry, dt * speed.high)
    x_out[i] = total.high
    carry_out[i] = total.carry
    v_out[i] = speed.high
    v_carry_out[i] = speed.carry
