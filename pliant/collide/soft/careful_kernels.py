"""The last check of a step: sheets that would still pass through something are stopped short of it.

A particle's way in the step is cut to a share of it. Where a vertex would pass through a triangle, or an edge through
an edge, the ways of all four particles are cut to less than where they meet; then all is looked at again, since they
now move otherwise. Shares are whole numbers, of which the smallest counts, so that the order of threads does not matter.
"""

import warp as wp

from pliant.collide.soft.narrow_kernels import Surfaces
from pliant.collide.soft.tree_kernels import TreeData
from pliant.physics.crossing import NEVER, time_of_edges, time_of_meeting

wp.set_module_options({"enable_backward": False})

WHOLE_WAY = wp.constant(1 << 20)
"""The share of a particle that goes all its way."""
SHORT_OF = wp.constant(0.8)
"""Share of the way to where two would meet that they are let go."""


@wp.struct
class Ways:
    """A step: positions before it and after it [m], and what share of its way each particle goes."""

    x: wp.array(dtype=wp.vec3)
    x_after: wp.array(dtype=wp.vec3)
    share: wp.array(dtype=int)
    inv_mass: wp.array(dtype=float)


@wp.func
def way(i: int, of: Ways) -> wp.vec3:
    return (float(of.share[i]) / float(WHOLE_WAY)) * (of.x_after[i] - of.x[i])


@wp.func
def shorten(i: int, t: float, of: Ways, share_out: wp.array(dtype=int)):
    """Cut the way of a particle that is free."""
    if of.inv_mass[i] > 0.0:
        wp.atomic_min(share_out, i, int(SHORT_OF * t * float(of.share[i])))


@wp.func
def far_apart(low: wp.vec3, high: wp.vec3, low2: wp.vec3, high2: wp.vec3) -> bool:
    return (
        low[0] > high2[0]
        or high[0] < low2[0]
        or low[1] > high2[1]
        or high[1] < low2[1]
        or low[2] > high2[2]
        or high[2] < low2[2]
    )


@wp.kernel
def stop_vertices(
    start: int,
    vertex: wp.array(dtype=int),
    tree: TreeData,
    candidate: wp.array(dtype=int),
    candidates: wp.array(dtype=int),
    room: int,
    surfaces: Surfaces,
    of: Ways,
    share_out: wp.array(dtype=int),
    met_out: wp.array(dtype=int),
):
    """Cut the ways of vertices that would pass through triangles of something thin. Not to be split on the CPU."""
    k = start + wp.tid()
    i = vertex[k]
    p = of.x[i]
    dp = way(i, of)
    low = wp.min(p, p + dp)
    high = wp.max(p, p + dp)
    for j in range(wp.min(candidates[k], room)):
        corner = tree.corners[candidate[k * room + j]]
        if surfaces.kind[surfaces.body[corner[0]]] != 0:
            a = of.x[corner[0]]
            b = of.x[corner[1]]
            c = of.x[corner[2]]
            da = way(corner[0], of)
            db = way(corner[1], of)
            dc = way(corner[2], of)
            low2 = wp.min(wp.min(wp.min(a, a + da), wp.min(b, b + db)), wp.min(c, c + dc))
            high2 = wp.max(wp.max(wp.max(a, a + da), wp.max(b, b + db)), wp.max(c, c + dc))
            if not far_apart(low, high, low2, high2):
                near = 0.02 * (surfaces.radius[i] + surfaces.radius[corner[0]])
                t = time_of_meeting(p, a, b, c, dp, da, db, dc, near)
                if t < NEVER:
                    met_out[0] = 1
                    shorten(i, t, of, share_out)
                    for n in range(3):
                        shorten(corner[n], t, of, share_out)


@wp.kernel
def stop_edges(
    start: int,
    tree: TreeData,
    candidate: wp.array(dtype=int),
    candidates: wp.array(dtype=int),
    room: int,
    surfaces: Surfaces,
    of: Ways,
    share_out: wp.array(dtype=int),
    met_out: wp.array(dtype=int),
):
    """Cut the ways of edges that would pass through edges, of which one is of something thin. Not to be split on the
    CPU."""
    k = start + wp.tid()
    one = tree.corners[k]
    count = wp.min(candidates[k], room)
    if count > 0:
        a = of.x[one[0]]
        b = of.x[one[1]]
        da = way(one[0], of)
        db = way(one[1], of)
        low = wp.min(wp.min(a, a + da), wp.min(b, b + db))
        high = wp.max(wp.max(a, a + da), wp.max(b, b + db))
        thin = surfaces.kind[surfaces.body[one[0]]]
        for j in range(count):
            two = tree.corners[candidate[k * room + j]]
            if thin != 0 or surfaces.kind[surfaces.body[two[0]]] != 0:
                c = of.x[two[0]]
                d = of.x[two[1]]
                dc = way(two[0], of)
                dd = way(two[1], of)
                low2 = wp.min(wp.min(c, c + dc), wp.min(d, d + dd))
                high2 = wp.max(wp.max(c, c + dc), wp.max(d, d + dd))
                if not far_apart(low, high, low2, high2):
                    near = 0.02 * (surfaces.radius[one[0]] + surfaces.radius[two[0]])
                    t = time_of_edges(a, b, c, d, da, db, dc, dd, near)
                    if t < NEVER:
                        met_out[0] = 1
                        for n in range(2):
                            shorten(one[n], t, of, share_out)
                            shorten(two[n], t, of, share_out)


@wp.kernel
def begin_ways(start: int, vertex: wp.array(dtype=int), share_out: wp.array(dtype=int), more_out: wp.array(dtype=int)):
    """Everything goes all its way."""
    i = vertex[start + wp.tid()]
    share_out[i] = WHOLE_WAY
    more_out[i] = WHOLE_WAY


@wp.kernel
def take_shares(start: int, vertex: wp.array(dtype=int), found: wp.array(dtype=int), share_out: wp.array(dtype=int)):
    """Use the shares that were found."""
    i = vertex[start + wp.tid()]
    share_out[i] = found[i]


@wp.kernel
def cut_ways(
    start: int,
    vertex: wp.array(dtype=int),
    of: Ways,
    dt: float,
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Put each particle where its share of the way ends; the rest of the way is taken from its velocity too."""
    i = vertex[start + wp.tid()]
    if of.share[i] < WHOLE_WAY:
        x = of.x[i] + way(i, of)
        v_inout[i] = v_inout[i] - (of.x_after[i] - x) / dt
        x_inout[i] = x


@wp.kernel
def begin_rounds(round_out: wp.array(dtype=int), going_out: wp.array(dtype=int)):
    """The first round comes."""
    round_out[0] = 1
    going_out[0] = 1


@wp.kernel
def end_round(
    rounds: int,
    met: wp.array(dtype=int),
    round_inout: wp.array(dtype=int),
    going_out: wp.array(dtype=int),
    left_out: wp.array(dtype=int),
):
    """Go on while something met something, up to so many rounds; what is left then is told."""
    going_out[0] = 0
    if met[0] != 0:
        if round_inout[0] < rounds:
            going_out[0] = 1
        else:
            left_out[0] = 1
    round_inout[0] = round_inout[0] + 1
    met[0] = 0
