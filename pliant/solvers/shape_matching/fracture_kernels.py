"""Device code of fracture: how far two linked clusters have come apart."""

import functools
from typing import Any

import warp as wp

from pliant.physics.shape_match import basis_types
from pliant.solvers.shape_matching.fracture_links import SAMPLES
from pliant.solvers.shape_matching.member_kernels import member_code

wp.set_module_options({"enable_backward": False})


@functools.cache
def stretch_kernel(order: int) -> Any:
    """The kernel that keeps the largest stretch of each link, for clusters with goals of 3 or 9 functions."""
    functions = member_code(order).functions
    vec_n, _ = basis_types(order)

    @wp.func
    def rigid_goal(
        c: int,
        t: int,
        q: wp.vec3,
        radius: wp.array(dtype=float),
        means: wp.array2d(dtype=float),
        anchor: wp.array(dtype=wp.vec3),
        rotation: wp.array(dtype=wp.quat),
        plastic: wp.array2d(dtype=float),
    ) -> wp.vec3:
        """Where cluster c, turned but not strained, would have the rest place q: what it holds on to for good."""
        f = functions(q)
        g = vec_n()
        for k in range(order):
            g[k] = f[k] - means[t, k]
        shaped = wp.vec3(0.0, 0.0, 0.0)
        for i in range(3):
            for k in range(order):
                shaped[i] += plastic[c, order * i + k] * g[k]
        return anchor[c] + radius[t] * wp.quat_rotate(rotation[c], shaped)

    @wp.kernel(module="unique", enable_backward=False)
    def keep_largest_stretch(
        start: int,
        pairs: wp.array(dtype=wp.vec2i),
        places: wp.array2d(dtype=wp.vec3),
        inverse_distance: wp.array(dtype=float),
        cluster_rest: wp.array(dtype=int),
        radius: wp.array(dtype=float),
        means: wp.array2d(dtype=float),
        anchor: wp.array(dtype=wp.vec3),
        rotation: wp.array(dtype=wp.quat),
        plastic: wp.array2d(dtype=float),
        relieved: wp.array(dtype=float),
        stretch_inout: wp.array(dtype=float),
    ):
        """The gap between the two clusters' turned rest shapes at particles of both, over the centres' distance.

        A uniform strain of the body shows as that strain. Pressing the two together counts for nothing, shear and
        pulling do. A link that is gone has the inverse distance 0. Of one that a break has relieved, only what is left
        in the end counts.
        """
        i = start + wp.tid()
        scale = inverse_distance[i]
        if scale > 0.0:
            a = pairs[i][0]
            b = pairs[i][1]
            ta = cluster_rest[a]
            tb = cluster_rest[b]
            along = wp.normalize(anchor[b] - anchor[a])
            worst = (1.0 - relieved[i]) * stretch_inout[i]
            for k in range(wp.static(SAMPLES)):
                at_a = rigid_goal(a, ta, places[i, 2 * k], radius, means, anchor, rotation, plastic)
                at_b = rigid_goal(b, tb, places[i, 2 * k + 1], radius, means, anchor, rotation, plastic)
                gap = at_b - at_a
                pressed = wp.min(wp.dot(gap, along), 0.0)
                worst = wp.max(worst, scale * wp.length(gap - pressed * along))
            stretch_inout[i] = worst

    return keep_largest_stretch
