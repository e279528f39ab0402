"""Tets that yield: permanent strains, and the forces that make them the layer's rest."""

import warp as wp

from pliant.solvers.layered.data import Moment

wp.set_module_options({"enable_backward": False})


@wp.struct
class Yielding:
    """Tets of all bodies that can yield.

    Attributes:
        nodes: of each tet, -1 for a foot (m,). g0, g1, g2, g3: gradients of its shape functions [1/m] (m,).
        limits: yield strain, creep [1/s] and largest permanent strain of each tet (m,).
        starts, tet, gradient: tets around each node, with 2 mu V times the gradient there [N] (n + 1,), (k,).
    """

    nodes: wp.array(dtype=wp.vec4i)
    g0: wp.array(dtype=wp.vec3)
    g1: wp.array(dtype=wp.vec3)
    g2: wp.array(dtype=wp.vec3)
    g3: wp.array(dtype=wp.vec3)
    limits: wp.array(dtype=wp.vec3)
    starts: wp.array(dtype=int)
    tet: wp.array(dtype=int)
    gradient: wp.array(dtype=wp.vec3)


@wp.func
def spread(u: wp.array(dtype=wp.vec3), node: int, gradient: wp.vec3) -> wp.mat33:
    """A corner's part of the gradient of the displacement; none of a foot's."""
    if node < 0:
        return wp.mat33()
    return wp.outer(u[node], gradient)


@wp.func
def grown(strain: wp.mat33, permanent: wp.mat33, limits: wp.vec3, dt: float) -> wp.mat33:
    """The permanent strain after a step: e_p + h creep (1 - yield / |d|) d, d the deviator of what is elastic."""
    elastic = strain - permanent
    deviator = elastic - (wp.trace(elastic) / 3.0) * wp.identity(n=3, dtype=float)
    size = wp.sqrt(wp.ddot(deviator, deviator))
    if size <= limits[0]:
        return permanent
    next = permanent + (wp.min(dt * limits[1], 1.0) * (1.0 - limits[0] / size)) * deviator
    most = wp.sqrt(wp.ddot(next, next))
    if most > limits[2]:
        next = next * (limits[2] / most)
    return next


@wp.kernel
def yield_tets(start: int, yielding: Yielding, moment: Moment, dt: float, permanent_inout: wp.array(dtype=wp.mat33)):
    """Permanent strains after a step."""
    t = start + wp.tid()
    n = yielding.nodes[t]
    a = spread(moment.u, n[0], yielding.g0[t]) + spread(moment.u, n[1], yielding.g1[t])
    a += spread(moment.u, n[2], yielding.g2[t]) + spread(moment.u, n[3], yielding.g3[t])
    strain = 0.5 * (a + wp.transpose(a))
    permanent_inout[t] = grown(strain, permanent_inout[t], yielding.limits[t], dt)


@wp.kernel
def plastic_forces(start: int, yielding: Yielding, permanent: wp.array(dtype=wp.mat33), f_out: wp.array(dtype=wp.vec3)):
    """What permanent strains push each node with [N]: sum of V C e_p g over its tets, e_p without trace."""
    i = start + wp.tid()
    f = wp.vec3()
    for s in range(yielding.starts[i], yielding.starts[i + 1]):
        f += permanent[yielding.tet[s]] * yielding.gradient[s]
    f_out[i] = f
