"""The end of a step: cores and nodes where the contacts want them, and what holds nodes from now on."""

import warp as wp

from pliant.physics.contact import PlaneData
from pliant.physics.rigid import double3, first_half, second_half, single3, turned_by, vec6d
from pliant.solvers.layered.contact_kernels import Press
from pliant.solvers.layered.data import FREE, SLIDES, STICKS, Holds, Layer, Moment

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

# speed of leaving [m/s] above which a node is not held by the surface it met
CALM = wp.constant(1.0e-4)
# how far above a surface a node still lies on it, over its distance from the centre
LOOSE = wp.constant(1.0e-3)


@wp.kernel
def put_cores(shift: wp.array(dtype=vec6d), moment_inout: Moment):
    """Put the cores where the contacts want them; their velocities stay the same in the world."""
    b = wp.tid()
    turn = moment_inout.turn[b]
    moved = shift[b]
    moment_inout.c[b] = moment_inout.c[b] + turn * first_half(moved)
    next = turned_by(turn, second_half(moved))
    moment_inout.turn[b] = next
    moment_inout.v[b] = wp.transpose(next) * (turn * moment_inout.v[b])
    moment_inout.w[b] = wp.transpose(next) * (turn * moment_inout.w[b])


@wp.kernel
def put_nodes(
    start: int,
    layer: Layer,
    surface: wp.array(dtype=PlaneData),
    depth: wp.array(dtype=float),
    slots: int,
    planes: wp.array(dtype=PlaneData),
    plane_count: int,
    inv_mass: wp.array(dtype=float),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    press: Press,
    holds: Holds,
    moment_inout: Moment,
    x_out: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    x_known_out: wp.array(dtype=wp.vec3),
    v_known_out: wp.array(dtype=wp.vec3),
    holds_out: Holds,
):
    """World positions and velocities; what is inside a surface still put on it, and what it is held by from now on."""
    i = start + wp.tid()
    p = layer.first + i
    b = layer.body[i]
    turn = moment_inout.turn[b]
    centre = moment_inout.c[b]
    changed = int(0)
    x = x_next[p]
    v = v_next[p]
    if inv_mass[p] > 0.0:
        r = double3(layer.rest[i]) + double3(moment_inout.u[i])
        x = single3(centre + turn * r)
        v = single3(turn * (moment_inout.v[b] + wp.cross(moment_inout.w[b], r) + double3(moment_inout.rate[i])))
        mode = int(FREE)
        rub = wp.vec3()
        if press.slot[i] >= 0:
            plane = surface[press.slot[i]]
            push = press.push[i] + wp.dot(holds.impulse[i], plane.normal)
            leaves = wp.dot(v - plane.velocity, plane.normal)
            deep = plane.offset - wp.dot(plane.normal, x)
            # what was lifted off with its core by deeper contacts is not held
            lies = deep > -LOOSE * wp.length(layer.rest[i])
            if push > 0.0 and lies and (holds.mode[i] != FREE or leaves <= CALM):
                mode = SLIDES
                if holds.mode[i] == FREE:
                    # friction that was not used up
                    if wp.length(press.rub[i]) < 0.999 * press.grip[i][1] * press.push[i]:
                        mode = STICKS
                else:
                    mode = holds.mode[i]
                    rub = holds.rub[i]
                x += deep * plane.normal
                v -= leaves * plane.normal
                changed = 1
            holds_out.normal[i] = plane.normal
            holds_out.speed[i] = plane.velocity
            holds_out.grip[i] = press.grip[i]
        holds_out.mode[i] = mode
        holds_out.rub[i] = rub
        for k in range(slots + plane_count):
            plane = planes[wp.max(k - slots, 0)]
            meets = k >= slots
            if k < slots:
                if depth[p * slots + k] >= 0.0:
                    plane = surface[p * slots + k]
                    meets = True
            if meets:
                deep = plane.offset - wp.dot(plane.normal, x)
                if deep > 0.0:
                    x += deep * plane.normal
                    approach = wp.dot(v - plane.velocity, plane.normal)
                    v -= wp.min(approach, 0.0) * plane.normal
                    changed = 1
    else:
        changed = 1
    if changed != 0:
        r = wp.transpose(turn) * (double3(x) - centre)
        moment_inout.u[i] = single3(r - double3(layer.rest[i]))
        rate = wp.transpose(turn) * double3(v) - moment_inout.v[b] - wp.cross(moment_inout.w[b], r)
        moment_inout.rate[i] = single3(rate)
    x_out[p] = x
    v_out[p] = v
    x_known_out[i] = x
    v_known_out[i] = v
