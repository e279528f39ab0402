"""Kernels that split the vertices of a sheet where its triangles are stretched too far.

Each particle owns its row of the fan table: the corner slots (3 * triangle + corner) that are this particle. A thread
writes its own row, and in the table of corners its own slots, so nothing races.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})

# Members of a chunk in which the splits are counted by one thread.
CHUNK = wp.constant(64)


@wp.struct
class Stretch:
    """The largest stretch of a triangle, and its direction in space."""

    amount: float
    direction: wp.vec3


@wp.func
def largest_stretch(a: wp.vec3, b: wp.vec3, rest_inv: wp.mat22) -> Stretch:
    """Largest stretch of a triangle with the edges a and b from its first corner.

    F = [a b] rest_inv maps rest lengths to lengths now; the stretch is the square root of the larger eigenvalue of
    F^T F, and its direction F times the eigenvector.
    """
    u = a * rest_inv[0, 0] + b * rest_inv[1, 0]
    w = a * rest_inv[0, 1] + b * rest_inv[1, 1]
    uu = wp.dot(u, u)
    ww = wp.dot(w, w)
    uw = wp.dot(u, w)
    half = 0.5 * (uu - ww)
    root = wp.sqrt(half * half + uw * uw)
    found = Stretch()
    found.amount = wp.sqrt(wp.max(0.5 * (uu + ww) + root, 0.0))
    # the larger of the two expressions for the eigenvector, so that neither vanishes
    p = root + half
    q = uw
    if half < 0.0:
        p = uw
        q = root - half
    found.direction = wp.normalize(p * u + q * w)
    if p * p + q * q <= 0.0:
        found.direction = wp.normalize(u)
    return found


@wp.kernel
def measure_triangles(
    start: int,
    corners: wp.array(dtype=int),
    rest_inv: wp.array(dtype=wp.mat22),
    x: wp.array(dtype=wp.vec3),
    stretch_out: wp.array(dtype=float),
    direction_out: wp.array(dtype=wp.vec3),
):
    """Largest stretch of each triangle, and its direction."""
    t = start + wp.tid()
    first = x[corners[3 * t]]
    found = largest_stretch(x[corners[3 * t + 1]] - first, x[corners[3 * t + 2]] - first, rest_inv[t])
    stretch_out[t] = found.amount
    direction_out[t] = found.direction


@wp.func
def lies_behind(
    corners: wp.array(dtype=int), x: wp.array(dtype=wp.vec3), t: int, here: wp.vec3, normal: wp.vec3
) -> int:
    """Whether the middle of triangle t lies behind a plane through a point."""
    middle = (x[corners[3 * t]] + x[corners[3 * t + 1]] + x[corners[3 * t + 2]]) / 3.0
    return wp.where(wp.dot(middle - here, normal) < 0.0, 1, 0)


@wp.kernel
def score_members(
    start: int,
    member: wp.array(dtype=int),
    limit: wp.array(dtype=float),
    fan_start: wp.array(dtype=int),
    fan_count: wp.array(dtype=int),
    fan: wp.array(dtype=int),
    corners: wp.array(dtype=int),
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    stretch: wp.array(dtype=float),
    direction: wp.array(dtype=wp.vec3),
    score_out: wp.array(dtype=float),
    worst_out: wp.array(dtype=int),
):
    """How far the worst triangle around each particle is beyond its limit, and which that is; -1 for none.

    Pinned particles do not split, nor those with all triangles on one side of the tear.
    """
    m = start + wp.tid()
    p = member[m]
    score = float(0.0)
    worst = int(-1)
    if inv_mass[p] > 0.0:
        for k in range(fan_start[p], fan_start[p] + fan_count[p]):
            t = fan[k] // 3
            over = stretch[t] - limit[m]
            if over > score:
                score = over
                worst = t
    if worst >= 0:
        other = int(0)
        for k in range(fan_start[p], fan_start[p] + fan_count[p]):
            other += lies_behind(corners, x, fan[k] // 3, x[p], direction[worst])
        if other == 0 or other == fan_count[p]:
            score = 0.0
    score_out[p] = score
    worst_out[p] = worst


@wp.func
def shares_edge(corners: wp.array(dtype=int), s: int, t: int, p: int) -> int:
    """Whether triangles s and t have a corner besides p in common."""
    found = int(0)
    for i in range(3):
        a = corners[3 * s + i]
        if a != p:
            for j in range(3):
                if corners[3 * t + j] == a:
                    found = 1
    return found


@wp.kernel
def decide(
    start: int,
    member: wp.array(dtype=int),
    corners: wp.array(dtype=int),
    fan_start: wp.array(dtype=int),
    fan_count: wp.array(dtype=int),
    fan: wp.array(dtype=int),
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    direction: wp.array(dtype=wp.vec3),
    score: wp.array(dtype=float),
    worst: wp.array(dtype=int),
    dirty_inout: wp.array(dtype=int),
    side_out: wp.array(dtype=int),
    splits_out: wp.array(dtype=int),
):
    """Which particles split, and which triangles go with the new one (side 1).

    A marked particle whose triangles hang together at nothing but itself splits at once. One under too much stretch
    splits across the direction of the worst triangle, if none of its neighbours is worse.
    """
    m = start + wp.tid()
    p = member[m]
    first = fan_start[p]
    end = first + fan_count[p]
    splits = int(0)
    whole = int(1)
    if inv_mass[p] > 0.0 and end - first > 1 and dirty_inout[p] != 0:
        # what hangs together with the first triangle by edges
        for k in range(first, end):
            side_out[k] = wp.where(k == first, 0, 1)
        reached = int(1)
        last = int(0)
        while reached > last:
            last = reached
            for k in range(first, end):
                if side_out[k] == 1:
                    joined = int(0)
                    for j in range(first, end):
                        if side_out[j] == 0 and joined == 0:
                            joined = shares_edge(corners, fan[k] // 3, fan[j] // 3, p)
                    if joined != 0:
                        side_out[k] = 0
                        reached += 1
        if reached < end - first:
            splits = 1
            whole = 0
    dirty_inout[p] = 0
    if whole != 0 and score[p] > 0.0 and end - first > 1:
        most = int(1)
        for k in range(first, end):
            t = fan[k] // 3
            for i in range(3):
                q = corners[3 * t + i]
                if q != p and (score[q] > score[p] or (score[q] == score[p] and q < p)):
                    most = 0
        if most != 0:
            normal = direction[worst[p]]
            for k in range(first, end):
                side_out[k] = lies_behind(corners, x, fan[k] // 3, x[p], normal)
            splits = 1
    splits_out[m] = splits


@wp.kernel
def count_chunks(splits: wp.array(dtype=int), chunk_end: wp.array(dtype=int), count_out: wp.array(dtype=int)):
    """Splits in each chunk of members; a chunk is of one body."""
    c = wp.tid()
    total = int(0)
    first = int(0)
    if c > 0:
        first = chunk_end[c - 1]
    for m in range(first, chunk_end[c]):
        total += splits[m]
    count_out[c] = total


@wp.kernel
def reserve(
    body_chunks: wp.array(dtype=int),
    spares: wp.array(dtype=int),
    count: wp.array(dtype=int),
    used_inout: wp.array(dtype=int),
    spent_inout: wp.array(dtype=int),
    chunk_first_out: wp.array(dtype=int),
):
    """The first spare particle of each chunk, counted within its body. One thread per body."""
    b = wp.tid()
    used = used_inout[b]
    for c in range(body_chunks[b], body_chunks[b + 1]):
        chunk_first_out[c] = used
        used += count[c]
    if used > spares[b]:
        spent_inout[b] = 1
        used = spares[b]
    used_inout[b] = used


@wp.kernel
def split(
    chunk_end: wp.array(dtype=int),
    chunk_body: wp.array(dtype=int),
    chunk_first: wp.array(dtype=int),
    spare_first: wp.array(dtype=int),
    spares: wp.array(dtype=int),
    member: wp.array(dtype=int),
    splits: wp.array(dtype=int),
    corner_mass: wp.array(dtype=float),
    side_inout: wp.array(dtype=int),
    fan_inout: wp.array(dtype=int),
    fan_start_inout: wp.array(dtype=int),
    fan_count_inout: wp.array(dtype=int),
    corners_inout: wp.array(dtype=int),
    home_inout: wp.array(dtype=int),
    inv_mass_inout: wp.array(dtype=float),
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
    carry_inout: wp.array(dtype=wp.vec3),
    dirty_out: wp.array(dtype=int),
):
    """Split the chosen particles of a chunk: the triangles of side 1 go to a spare particle at the same place.

    The row of a particle is cut in two: its head stays, its tail becomes the row of the new one. Mass goes with the
    triangles. All corners around are marked, for what hangs together there must be looked at again; several threads
    may write the same mark.
    """
    c = wp.tid()
    b = chunk_body[c]
    spare = chunk_first[c]
    first_member = int(0)
    if c > 0:
        first_member = chunk_end[c - 1]
    for m in range(first_member, chunk_end[c]):
        if splits[m] != 0 and spare < spares[b]:
            p = member[m]
            q = spare_first[b] + spare
            spare += 1
            first = fan_start_inout[p]
            count = fan_count_inout[p]
            # side 0 to the front, each in its order
            for _ in range(count):
                for k in range(first, first + count - 1):
                    if side_inout[k] == 1 and side_inout[k + 1] == 0:
                        slot = fan_inout[k]
                        fan_inout[k] = fan_inout[k + 1]
                        fan_inout[k + 1] = slot
                        side_inout[k] = 0
                        side_inout[k + 1] = 1
            kept = int(0)
            mass = float(0.0)
            gone = float(0.0)
            for k in range(first, first + count):
                slot = fan_inout[k]
                if side_inout[k] == 0:
                    kept += 1
                    mass += corner_mass[slot]
                else:
                    gone += corner_mass[slot]
                    corners_inout[slot] = q
                for i in range(3):
                    dirty_out[corners_inout[3 * (slot // 3) + i]] = 1
            dirty_out[p] = 1
            fan_start_inout[q] = first + kept
            fan_count_inout[q] = count - kept
            fan_count_inout[p] = kept
            home_inout[q] = home_inout[p]
            inv_mass_inout[p] = 1.0 / mass
            inv_mass_inout[q] = 1.0 / gone
            x_inout[q] = x_inout[p]
            v_inout[q] = v_inout[p]
            carry_inout[q] = carry_inout[p]
