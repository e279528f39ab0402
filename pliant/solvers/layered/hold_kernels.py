"""What surfaces do to nodes that lie on them: read from the step's equations, and what it means for the next one.

A node that was stopped by a surface is held in the next step, as in Baraff and Witkin 1998 (5.3, 5.4): the implicit
step then knows of the surface, and what rests on it rests. The row of a held node tells what the surface had to push
with: where it would have to pull it lets go, and where friction cannot hold it the node slides.
"""

import warp as wp

from pliant.physics.rigid import first_half, second_half, single, single3, vec6d
from pliant.solvers.layered.data import FREE, SLIDES, STICKS, Constants, Holds, Layer, Moment
from pliant.solvers.layered.load_kernels import in_frame

wp.set_module_options({"enable_backward": False})


@wp.kernel
def read_holds(
    start: int,
    layer: Layer,
    constants: Constants,
    begin: Moment,
    next: Moment,
    load: wp.array(dtype=wp.vec3),
    change: wp.array(dtype=vec6d),
    inv_mass: wp.array(dtype=float),
    holds: Holds,
    dt: float,
    holds_out: Holds,
):
    """The impulse of each hold, A dw + M_ec dv_c - F_e, and how the node is held from now on."""
    i = start + wp.tid()
    b = layer.body[i]
    mode = holds.mode[i]
    holds_out.normal[i] = holds.normal[i]
    holds_out.speed[i] = holds.speed[i]
    holds_out.grip[i] = holds.grip[i]
    impulse = wp.vec3()
    rub = wp.vec3()
    if inv_mass[layer.first + i] == 0.0:
        mode = FREE
    if mode != FREE:
        r = layer.rest[i] + begin.u[i]
        dw = next.rate[i] - begin.rate[i]
        q = layer.diagonal[i] * dw
        for s in range(layer.row_starts[i], layer.row_starts[i + 1]):
            j = layer.row_other[s]
            q += layer.block[s] * (next.rate[j] - begin.rate[j])
        rigid = single3(first_half(change[b])) + wp.cross(single3(second_half(change[b])), r)
        p = layer.mass[i] * (dw + rigid) + constants.scale[b] * q - load[i]
        n = in_frame(begin.turn[b], holds.normal[i])
        push = wp.dot(p, n)
        along = p - push * n
        turn = single(begin.turn[b])
        if push <= 0.0:
            mode = FREE
        elif mode == STICKS:
            impulse = turn * p
            size = wp.length(along)
            if size > holds.grip[i][1] * push:
                mode = SLIDES
                rub = (holds.grip[i][0] * push / (dt * size)) * (turn * along)
                impulse = turn * (push * n)
        else:
            impulse = turn * (push * n) + dt * holds.rub[i]
            v = single3(begin.v[b]) + wp.cross(single3(begin.w[b]), r) + begin.rate[i] + dw + rigid
            slip = turn * v - holds.speed[i]
            slip -= wp.dot(slip, holds.normal[i]) * holds.normal[i]
            size = wp.length(slip)
            if wp.dot(slip, holds.rub[i]) > 0.0 or size < 1.0e-9:
                mode = STICKS
            else:
                rub = -(holds.grip[i][0] * push / (dt * size)) * slip
    holds_out.mode[i] = mode
    holds_out.impulse[i] = impulse
    holds_out.rub[i] = rub
