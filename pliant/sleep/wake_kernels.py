"""What wakes bodies, and what becomes of a body that wakes.

Bodies are marked in `touched` first, by any number of threads with the same number, and woken then: nothing reads
`awake` while it is written, so the order of threads does not matter.
"""

import warp as wp

from pliant.attachment_kernels import Ties, TieState
from pliant.collide.soft.contact_rows import Rows

wp.set_module_options({"enable_backward": False})

TOUCH_SPEED = wp.constant(0.1)
"""What touches a sleeping body faster than this wakes it at once [m/s]: bodies at rest tremble by less."""
OVERLAP = wp.constant(0.5)
"""Share of what is kept free by which two surfaces may be too near before a body wakes."""


@wp.kernel
def mark_stirred(
    start: int,
    stirred: wp.array(dtype=int),
    filling: wp.array(dtype=int),
    moving: wp.array(dtype=int),
    slots: int,
    leans: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    touched_out: wp.array(dtype=int),
):
    """Bodies that something is done to in this frame, and those that lean on a collider which moves in it."""
    b = start + wp.tid()
    if awake[b] == 0:
        found = wp.max(stirred[b], filling[b])
        for k in range(slots):
            found = wp.max(found, moving[k] * leans[b * slots + k])
        if found != 0:
            touched_out[b] = 1


@wp.kernel
def mark_filled(
    start: int,
    body: wp.array(dtype=int),
    gas: wp.array(dtype=wp.vec3d),
    filling_out: wp.array(dtype=int),
):
    """Bodies whose gas has not the pressure yet that it is going to."""
    k = start + wp.tid()
    filling_out[body[k]] = wp.where(gas[k][0] != gas[k][1], 1, 0)


@wp.func
def is_stirring(b: int, awake: wp.array(dtype=int), calm: wp.array(dtype=float), brief: float) -> bool:
    """Whether a body is awake and has not been at rest for longer than a moment [s]: it wakes what it touches."""
    return awake[b] != 0 and calm[b] < brief


@wp.func
def mark_row(
    row: int,
    rows: Rows,
    body: wp.array(dtype=int),
    radius: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    awake: wp.array(dtype=int),
    calm: wp.array(dtype=float),
    brief: float,
    touched: wp.array(dtype=int),
):
    ids = rows.contact[row].ids
    one = body[ids[0]]
    two = body[ids[3]]
    if awake[one] != awake[two]:
        sleeper = wp.where(awake[one] == 0, one, two)
        other = wp.where(awake[one] == 0, two, one)
        way = wp.vec3(0.0, 0.0, 0.0)
        weights = rows.contact[row].weights
        for k in range(4):
            way += weights[k] * v[ids[k]]
        deep = rows.contact[row].depth > OVERLAP * (radius[ids[0]] + radius[ids[3]])
        if deep or is_stirring(other, awake, calm, brief) or wp.length(way) > TOUCH_SPEED:
            touched[sleeper] = 1


@wp.kernel
def mark_touched(
    stride: int,
    vertices: Rows,
    edges: Rows,
    body: wp.array(dtype=int),
    radius: wp.array(dtype=float),
    v: wp.array(dtype=wp.vec3),
    awake: wp.array(dtype=int),
    calm: wp.array(dtype=float),
    brief: float,
    touched_out: wp.array(dtype=int),
):
    """Sleeping bodies that something touches which moves there, or has done so anywhere in the last moment [s]."""
    for f in range(wp.tid(), vertices.things, stride):
        for j in range(vertices.count[f]):
            mark_row(f * vertices.room + j, vertices, body, radius, v, awake, calm, brief, touched_out)
    for f in range(wp.tid(), edges.things, stride):
        for j in range(edges.count[f]):
            mark_row(f * edges.room + j, edges, body, radius, v, awake, calm, brief, touched_out)


@wp.kernel
def mark_tied(
    start: int,
    ties: Ties,
    now: TieState,
    body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    calm: wp.array(dtype=float),
    brief: float,
    touched_out: wp.array(dtype=int),
):
    """Sleeping bodies that are attached to one that moves."""
    k = start + wp.tid()
    one = body[ties.particle[k]]
    two = body[ties.host[k][0]]
    if now.intact[k] > 0.0 and awake[one] != awake[two]:
        sleeper = wp.where(awake[one] == 0, one, two)
        other = wp.where(awake[one] == 0, two, one)
        if is_stirring(other, awake, calm, brief):
            touched_out[sleeper] = 1


@wp.kernel
def mark_hit(
    start: int,
    chunks: wp.array(dtype=wp.vec3i),
    moving: wp.array(dtype=int),
    slots: int,
    depth: wp.array(dtype=float),
    awake: wp.array(dtype=int),
    touched_out: wp.array(dtype=int),
):
    """Sleeping bodies that a moving collider reaches. A chunk is a body, its first particle of the chunk, and the
    end."""
    chunk = chunks[start + wp.tid()]
    if awake[chunk[0]] == 0:
        for k in range(slots):
            if moving[k] != 0:
                for i in range(chunk[1], chunk[2]):
                    if depth[i * slots + k] >= 0.0:
                        touched_out[chunk[0]] = 1


@wp.kernel
def wake_bodies(
    start: int,
    touched_inout: wp.array(dtype=int),
    awake_inout: wp.array(dtype=int),
    calm_inout: wp.array(dtype=float),
    woken_out: wp.array(dtype=int),
    any_out: wp.array(dtype=int),
    stale_out: wp.array(dtype=int),
):
    """Wake what was touched; what may touch is looked for again where something woke."""
    b = start + wp.tid()
    woken = int(0)
    if touched_inout[b] != 0:
        touched_inout[b] = 0
        if awake_inout[b] == 0:
            awake_inout[b] = 1
            calm_inout[b] = 0.0
            any_out[0] = 1
            stale_out[0] = 1
            woken = 1
    woken_out[b] = woken


@wp.kernel
def wake_particles(
    start: int,
    chunks: wp.array(dtype=wp.vec3i),
    woken: wp.array(dtype=int),
    kept: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    inv_mass_out: wp.array(dtype=float),
    anchor_out: wp.array(dtype=wp.vec3),
):
    """Give the particles of bodies that have just woken their masses again, and begin to look whether they are at rest
    from where they are."""
    chunk = chunks[start + wp.tid()]
    if woken[chunk[0]] != 0:
        for i in range(chunk[1], chunk[2]):
            inv_mass_out[i] = kept[i]
            anchor_out[i] = x[i]


@wp.kernel
def stop_pins(
    start: int,
    particle: wp.array(dtype=int),
    body: wp.array(dtype=int),
    awake: wp.array(dtype=int),
    v_out: wp.array(dtype=wp.vec3),
):
    """Pinned particles of sleeping bodies stay where they are, to the last bit."""
    i = particle[start + wp.tid()]
    if awake[body[i]] == 0:
        v_out[i] = wp.vec3(0.0, 0.0, 0.0)
