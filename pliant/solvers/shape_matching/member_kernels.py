"""Sums over the members of clusters: what is summed, and the kernel for the CPU."""

import dataclasses
import functools
from typing import Any

import warp as wp

from pliant.physics.shape_match import basis_types, products
from pliant.solvers.shape_matching.step_kernels import MidStep, external, middle_velocity

wp.set_module_options({"enable_backward": False})


@dataclasses.dataclass(frozen=True)
class MemberCode:
    """What the sums over clusters are made of, for goals of `order` functions.

    Attributes:
        sums: how many numbers are summed; sums_type: the vector of them.
        functions: the functions of a rest position that goals are made of.
        add_member: adds one member's part to the sums.
    """

    sums: int
    sums_type: Any
    functions: Any
    add_member: Any


@functools.cache
def member_code(order: int) -> MemberCode:
    """The sums over members for goals of 3 or 9 functions."""
    vec_n, _ = basis_types(order)
    quadratic = order == 9
    at_v = 3 + 3 * order
    sums = at_v + 12
    sums_type = wp.types.vector(length=sums, dtype=float)

    @wp.func
    def functions(q: wp.vec3) -> vec_n:
        f = vec_n()
        for k in range(3):
            f[k] = q[k]
        if wp.static(quadratic):
            p = products(q)
            for k in range(6):
                f[3 + k] = p[k]
        return f

    @wp.func
    def add_member(total: Any, rest: wp.vec4, y: wp.vec3, v: wp.vec3):
        """rest is the member's place at rest and its weight, y its place about the anchor."""
        f = functions(wp.vec3(rest[0], rest[1], rest[2]))
        wy = rest[3] * y
        moment = wp.cross(wy, v)
        spread = products(y)
        for i in range(3):
            total[i] += wy[i]
            for k in range(order):
                total[3 + order * i + k] += wy[i] * f[k]
            total[at_v + i] += rest[3] * v[i]
            total[at_v + 3 + i] += moment[i]
        for k in range(6):
            total[at_v + 6 + k] += rest[3] * spread[k]
        return total

    return MemberCode(sums, sums_type, functions, add_member)


@functools.cache
def sum_members_kernel(order: int) -> Any:
    """The kernel that sums over chunks of clusters on the CPU."""
    code = member_code(order)
    sums, sums_type, add_member = code.sums, code.sums_type, code.add_member

    @wp.kernel(module="unique", enable_backward=False)
    def sum_members(
        start: int,
        chunks: wp.array(dtype=wp.vec4i),
        cluster_body: wp.array(dtype=int),
        member: wp.array(dtype=int),
        member_rest: wp.array(dtype=wp.vec4),
        anchor: wp.array(dtype=wp.vec3),
        inv_mass: wp.array(dtype=float),
        f_ext: wp.array(dtype=wp.vec3),
        x: wp.array(dtype=wp.vec3),
        v: wp.array(dtype=wp.vec3),
        step: MidStep,
        sums_out: wp.array2d(dtype=float),
    ):
        """Sums over a chunk of a cluster: first entry, number of entries, first particle of the body, cluster."""
        c = start + wp.tid()
        chunk = chunks[c]
        if step.awake[cluster_body[chunk[3]]] == 0:
            return
        origin = anchor[chunk[3]]
        total = sums_type()
        for k in range(chunk[0], chunk[0] + chunk[1]):
            i = chunk[2] + member[k]
            speed = middle_velocity(v[i], external(f_ext, i, step), inv_mass[i], step)
            total = add_member(total, member_rest[k], (x[i] - origin) + (0.5 * step.dt) * speed, v[i])
        for k in range(sums):
            sums_out[c, k] = total[k]

    return sum_members
