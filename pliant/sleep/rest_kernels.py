"""Which bodies are at rest, which of them with all that they touch, and what becomes of a body that falls asleep."""

import warp as wp

from pliant.attachment_kernels import Ties, TieState
from pliant.collide.soft.contact_rows import Rows

wp.set_module_options({"enable_backward": False})

NOISE = wp.constant(0.15)
"""Straying that says nothing about whether a body gets faster, over the most that a body at rest may stray."""
ASLEEP = wp.constant(1.0e30)
"""Time of rest of a body that sleeps [s]."""


@wp.kernel
def measure(
    start: int,
    chunks: wp.array(dtype=wp.vec3i),
    slots: int,
    depth: wp.array(dtype=float),
    awake: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    anchor: wp.array(dtype=wp.vec3),
    leans_out: wp.array(dtype=int),
    stray_out: wp.array(dtype=float),
):
    """How far a part of a body has strayed since it is at rest, as the root of the mean square over its particles [m];
    single ones tremble where they are pressed against something. And on which colliders the body leans. A chunk is a
    body, its first particle of the chunk, and the end."""
    c = start + wp.tid()
    chunk = chunks[c]
    b = chunk[0]
    total = float(0.0)
    if awake[b] != 0:
        for i in range(chunk[1], chunk[2]):
            total += wp.length_sq(x[i] - anchor[i])
            for k in range(slots):
                if depth[i * slots + k] >= 0.0:
                    leans_out[b * slots + k] = 1
    stray_out[c] = wp.sqrt(total / float(chunk[2] - chunk[1]))


@wp.kernel
def count_calm(
    start: int,
    body_chunks: wp.array(dtype=int),
    slots: int,
    stirred: wp.array(dtype=int),
    filling: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    stray: wp.array(dtype=float),
    most: float,
    time: float,
    frame: float,
    calm_inout: wp.array(dtype=float),
    half_inout: wp.array(dtype=float),
    leans_out: wp.array(dtype=int),
    anew_out: wp.array(dtype=int),
    island_out: wp.array(dtype=float),
):
    """How long each body has been at rest [s].

    It is while no part of it strays further than so much [m] from where it was when that began, and if it has not
    strayed more in the second half of the time than in the first: what begins to slide does.
    """
    b = start + wp.tid()
    anew = int(0)
    if awake[b] == 0:
        island_out[b] = ASLEEP
    else:
        far = float(0.0)
        for c in range(body_chunks[b], body_chunks[b + 1]):
            far = wp.max(far, stray[c])
        before = calm_inout[b]
        calm = before + frame
        if before < 0.5 * time and calm >= 0.5 * time:
            half_inout[b] = far
        still = far <= most and stirred[b] == 0 and filling[b] == 0
        if before < time and calm >= time:
            still = still and far <= 2.0 * half_inout[b] + NOISE * most
        if not still:
            calm = 0.0
            anew = 1
            for k in range(slots):
                leans_out[b * slots + k] = 0
        calm_inout[b] = calm
        island_out[b] = calm
    anew_out[b] = anew


@wp.kernel
def drop_anchors(
    start: int,
    chunks: wp.array(dtype=wp.vec3i),
    anew: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    anchor_out: wp.array(dtype=wp.vec3),
):
    """Bodies that are not at rest begin anew from where they are."""
    chunk = chunks[start + wp.tid()]
    if anew[chunk[0]] != 0:
        for i in range(chunk[1], chunk[2]):
            anchor_out[i] = x[i]


@wp.func
def share(
    one: int,
    two: int,
    awake: wp.array(dtype=int),
    island: wp.array(dtype=float),
    changed: wp.array(dtype=int),
):
    """Two bodies that touch have been at rest as long as the one that has been so for less."""
    if one != two and awake[one] != 0 and awake[two] != 0:
        mine = island[one]
        other = island[two]
        if mine < other:
            wp.atomic_min(island, two, mine)
            changed[0] = 1
        elif other < mine:
            wp.atomic_min(island, one, other)
            changed[0] = 1


@wp.kernel
def begin_islands(changed_out: wp.array(dtype=int), going_out: wp.array(dtype=int)):
    """The first round comes."""
    changed_out[0] = 0
    going_out[0] = 1


@wp.kernel
def share_touching(
    stride: int,
    vertices: Rows,
    edges: Rows,
    body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    island_inout: wp.array(dtype=float),
    changed_out: wp.array(dtype=int),
):
    """Share times of rest [s] over all contacts. The smallest does not depend on the order; on the CPU one thread."""
    for f in range(wp.tid(), vertices.things, stride):
        for j in range(vertices.count[f]):
            ids = vertices.contact[f * vertices.room + j].ids
            share(body[ids[0]], body[ids[3]], awake, island_inout, changed_out)
    for f in range(wp.tid(), edges.things, stride):
        for j in range(edges.count[f]):
            ids = edges.contact[f * edges.room + j].ids
            share(body[ids[0]], body[ids[3]], awake, island_inout, changed_out)


@wp.kernel
def share_tied(
    stride: int,
    count: int,
    ties: Ties,
    now: TieState,
    body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    island_inout: wp.array(dtype=float),
    changed_out: wp.array(dtype=int),
):
    """The same over attachments that hold."""
    for k in range(wp.tid(), count, stride):
        if now.intact[k] > 0.0:
            share(body[ties.particle[k]], body[ties.host[k][0]], awake, island_inout, changed_out)


@wp.kernel
def end_round(changed_inout: wp.array(dtype=int), going_out: wp.array(dtype=int)):
    """Another round comes while something changes."""
    going_out[0] = changed_inout[0]
    changed_inout[0] = 0


@wp.kernel
def fall_asleep(
    start: int,
    island: wp.array(dtype=float),
    time: float,
    awake_inout: wp.array(dtype=int),
    fallen_out: wp.array(dtype=int),
):
    """Bodies whose island has been at rest for the time [s] fall asleep."""
    b = start + wp.tid()
    fallen = int(0)
    if awake_inout[b] != 0 and island[b] >= time:
        awake_inout[b] = 0
        fallen = 1
    fallen_out[b] = fallen


@wp.kernel
def settle(
    start: int,
    chunks: wp.array(dtype=wp.vec3i),
    fallen: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    v_out: wp.array(dtype=wp.vec3),
    x_next_out: wp.array(dtype=wp.vec3),
    v_next_out: wp.array(dtype=wp.vec3),
    inv_mass_inout: wp.array(dtype=float),
    kept_out: wp.array(dtype=float),
):
    """Bodies that have just fallen asleep stop, and nothing moves them: their masses are put aside."""
    chunk = chunks[start + wp.tid()]
    if fallen[chunk[0]] != 0:
        zero = wp.vec3(0.0, 0.0, 0.0)
        for i in range(chunk[1], chunk[2]):
            v_out[i] = zero
            x_next_out[i] = x[i]
            v_next_out[i] = zero
            kept_out[i] = inv_mass_inout[i]
            inv_mass_inout[i] = 0.0


@wp.kernel
def forget_rate(
    start: int, chunks: wp.array(dtype=wp.vec3i), fallen: wp.array(dtype=int), rate_out: wp.array(dtype=wp.vec3)
):
    """What a method remembers of velocities is zero too."""
    chunk = chunks[start + wp.tid()]
    if fallen[chunk[0]] != 0:
        for i in range(chunk[1], chunk[2]):
            rate_out[i] = wp.vec3(0.0, 0.0, 0.0)


@wp.kernel
def count_awake(bodies: int, awake: wp.array(dtype=int), any_out: wp.array(dtype=int)):
    """Whether any body is awake."""
    found = int(0)
    for b in range(bodies):
        found = wp.max(found, awake[b])
    any_out[0] = found


@wp.kernel
def own_masses(
    start: int,
    chunks: wp.array(dtype=wp.vec3i),
    awake: wp.array(dtype=int),
    inv_mass: wp.array(dtype=float),
    kept: wp.array(dtype=float),
    own_out: wp.array(dtype=float),
):
    """Inverse masses as if nothing slept [1/kg]."""
    chunk = chunks[start + wp.tid()]
    for i in range(chunk[1], chunk[2]):
        own_out[i] = wp.where(awake[chunk[0]] == 0, kept[i], inv_mass[i])
