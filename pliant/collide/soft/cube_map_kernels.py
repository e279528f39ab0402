"""Cube maps of clusters, made and looked into; and what contacts found in them do."""

import warp as wp

from pliant.collide.soft.contact_rows import held_back, taken, whole
from pliant.physics.cube_map import (
    FACE,
    NODES,
    SIDE,
    cross_triangle,
    face_of,
    node_direction,
    node_range,
    on_face,
)

wp.set_module_options({"enable_backward": False})

LAST = wp.constant(1073741823)
"""The lower half of a map's entry is this less the triangle's row: of rows at one distance the first wins."""
DEEPEST = wp.constant(0.3)
"""What is deeper than this share of the map's distance is pushed no harder."""
SAMPLES = wp.constant(4)
"""Nodes around a direction."""
PARTS = wp.constant(1.0e6)
"""Sums of weights are taken in whole multiples of 1 over this."""


@wp.struct
class Maps:
    """Clusters with a surface, sorted by body, and their maps.

    Attributes:
        chunks: first member, members and cluster of each run of members (k,). chunk_starts: runs of a cluster (c + 1).
        member, share: particles of the clusters, and their part of the cluster's mass.
        row_starts: surface triangles of each cluster (c + 1). corner: their particles (r,). owner: their cluster (r,).
        body: of each cluster. body_starts: clusters of each body (b + 1).
        centre: centre of mass [m] (c,). low, high: boxes of clusters [m] (c,). body_low, body_high: of bodies (b,).
        far: farthest crossing with a triangle that faces outwards, at NODES nodes each: bits of its height [m], then
            LAST less its row; zero where there is none. near: bits of the height of the farthest crossing with one
            that faces inwards.
    """

    chunks: wp.array(dtype=wp.vec3i)
    chunk_starts: wp.array(dtype=int)
    chunk_sum: wp.array(dtype=wp.vec3d)
    chunk_low: wp.array(dtype=wp.vec3)
    chunk_high: wp.array(dtype=wp.vec3)
    member: wp.array(dtype=int)
    share: wp.array(dtype=float)
    row_starts: wp.array(dtype=int)
    corner: wp.array(dtype=wp.vec3i)
    owner: wp.array(dtype=int)
    body: wp.array(dtype=int)
    body_starts: wp.array(dtype=int)
    centre: wp.array(dtype=wp.vec3)
    low: wp.array(dtype=wp.vec3)
    high: wp.array(dtype=wp.vec3)
    body_low: wp.array(dtype=wp.vec3)
    body_high: wp.array(dtype=wp.vec3)
    far: wp.array(dtype=wp.int64)
    near: wp.array(dtype=int)


@wp.struct
class Vertices:
    """What is looked up in maps: particles in runs of one body each, and what is known of them and of the bodies.

    `young` [Pa], `friction` and `rebound` (restitution) are of bodies, `width` [m] is the root of the area around a
    vertex, `radius` [m] half of what is kept free around a particle. `found` and `count` list the clusters whose box
    a run's box meets, up to `room`.
    """

    particle: wp.array(dtype=int)
    run: wp.array(dtype=int)
    run_starts: wp.array(dtype=int)
    run_body: wp.array(dtype=int)
    body: wp.array(dtype=int)
    width: wp.array(dtype=float)
    radius: wp.array(dtype=float)
    young: wp.array(dtype=float)
    friction: wp.array(dtype=float)
    rebound: wp.array(dtype=float)
    room: int
    found: wp.array(dtype=int)
    count: wp.array(dtype=int)


@wp.struct
class MapRows:
    """Contacts: `room` rows for each vertex, of which the first `count` are in use.

    Attributes:
        cluster: whose map it is.
        corners, weights: four rows each: particles of a triangle of that cluster, and their weights; all weights of a
            contact add up to one.
        normal: along the radius, outwards. depth: [m].
        part: one over the contacts of the vertex with the same body.
        impulse: on the vertex [N s].
    """

    room: int
    count: wp.array(dtype=int)
    cluster: wp.array(dtype=int)
    corners: wp.array(dtype=wp.vec3i)
    weights: wp.array(dtype=wp.vec3)
    normal: wp.array(dtype=wp.vec3)
    depth: wp.array(dtype=float)
    limit: wp.array(dtype=float)
    part: wp.array(dtype=float)
    impulse: wp.array(dtype=wp.vec3)


@wp.struct
class MapSums:
    """What contacts add up for each particle: their weights, in whole parts; what they do to position and velocity, in
    whole multiples of 1 / scale."""

    weight: wp.array(dtype=wp.int64)
    push: wp.array2d(dtype=wp.int64)
    kick: wp.array2d(dtype=wp.int64)
    scale: wp.float64


# ---- centres and boxes --------------------------------------------------------------------------------------------


@wp.kernel
def sum_chunks(start: int, x: wp.array(dtype=wp.vec3), maps_out: Maps):
    """Centre and box of each run of members."""
    k = start + wp.tid()
    chunk = maps_out.chunks[k]
    total = wp.vec3d()
    low = x[maps_out.member[chunk[0]]]
    high = low
    for m in range(chunk[0], chunk[0] + chunk[1]):
        p = x[maps_out.member[m]]
        w = wp.float64(maps_out.share[m])
        total += wp.vec3d(w * wp.float64(p[0]), w * wp.float64(p[1]), w * wp.float64(p[2]))
        low = wp.min(low, p)
        high = wp.max(high, p)
    maps_out.chunk_sum[k] = total
    maps_out.chunk_low[k] = low
    maps_out.chunk_high[k] = high


@wp.kernel
def sum_clusters(start: int, radius: float, maps_out: Maps):
    """Centre of mass and box of each cluster, `radius` [m] wider."""
    c = start + wp.tid()
    first = maps_out.chunk_starts[c]
    total = wp.vec3d()
    low = maps_out.chunk_low[first]
    high = maps_out.chunk_high[first]
    for k in range(first, maps_out.chunk_starts[c + 1]):
        total += maps_out.chunk_sum[k]
        low = wp.min(low, maps_out.chunk_low[k])
        high = wp.max(high, maps_out.chunk_high[k])
    maps_out.centre[c] = wp.vec3(float(total[0]), float(total[1]), float(total[2]))
    wide = wp.vec3(radius, radius, radius)
    maps_out.low[c] = low - wide
    maps_out.high[c] = high + wide


@wp.kernel
def box_bodies(maps_out: Maps):
    """Box of the clusters of each body; empty for a body without."""
    b = wp.tid()
    low = wp.vec3(1.0e30, 1.0e30, 1.0e30)
    high = -low
    for c in range(maps_out.body_starts[b], maps_out.body_starts[b + 1]):
        low = wp.min(low, maps_out.low[c])
        high = wp.max(high, maps_out.high[c])
    maps_out.body_low[b] = low
    maps_out.body_high[b] = high


# ---- maps -----------------------------------------------------------------------------------------------------------


@wp.func
def draw_node(maps: Maps, row: int, node: int, d: wp.vec3, a: wp.vec3, b: wp.vec3, c: wp.vec3, shared: int):
    """Enter a triangle at one node; where `shared`, other threads may write there too."""
    hit = cross_triangle(d, a, b, c)
    bits = wp.cast(hit.height, int)
    if hit.facing > 0:
        key = (wp.int64(bits) << wp.int64(32)) | wp.int64(LAST - row)
        if shared != 0:
            wp.atomic_max(maps.far, node, key)
        elif key > maps.far[node]:
            maps.far[node] = key
    elif hit.facing < 0:
        if shared != 0:
            wp.atomic_max(maps.near, node, bits)
        elif bits > maps.near[node]:
            maps.near[node] = bits


@wp.func
def draw_triangle(maps: Maps, row: int, x: wp.array(dtype=wp.vec3), shared: int):
    """Enter a triangle into the map of its cluster: at the nodes within the box of its picture on each face."""
    cluster = maps.owner[row]
    middle = maps.centre[cluster]
    corner = maps.corner[row]
    a = x[corner[0]] - middle
    b = x[corner[1]] - middle
    c = x[corner[2]] - middle
    for face in range(6):
        fa = on_face(a, face)
        fb = on_face(b, face)
        fc = on_face(c, face)
        seen = fa[2] > 0.0 or fb[2] > 0.0 or fc[2] > 0.0
        for k in range(2):
            # beyond one of the sides of the face's pyramid with all corners
            if fa[k] > 1.001 * fa[2] and fb[k] > 1.001 * fb[2] and fc[k] > 1.001 * fc[2]:
                seen = False
            if -fa[k] > 1.001 * fa[2] and -fb[k] > 1.001 * fb[2] and -fc[k] > 1.001 * fc[2]:
                seen = False
        if seen:
            across = wp.vec2i(0, SIDE - 1)
            along = wp.vec2i(0, SIDE - 1)
            if fa[2] > 0.0 and fb[2] > 0.0 and fc[2] > 0.0:
                s = wp.vec3(fa[0] / fa[2], fb[0] / fb[2], fc[0] / fc[2])
                t = wp.vec3(fa[1] / fa[2], fb[1] / fb[2], fc[1] / fc[2])
                across = node_range(wp.min(s), wp.max(s))
                along = node_range(wp.min(t), wp.max(t))
            for i in range(across[0], across[1] + 1):
                for j in range(along[0], along[1] + 1):
                    node = cluster * NODES + face * FACE + i * SIDE + j
                    draw_node(maps, row, node, node_direction(face, i, j), a, b, c, shared)


@wp.kernel
def draw_clusters(start: int, x: wp.array(dtype=wp.vec3), maps_out: Maps):
    """The map of each cluster, by one thread that owns it."""
    cluster = start + wp.tid()
    for node in range(cluster * NODES, (cluster + 1) * NODES):
        maps_out.far[node] = wp.int64(0)
        maps_out.near[node] = 0
    for row in range(maps_out.row_starts[cluster], maps_out.row_starts[cluster + 1]):
        draw_triangle(maps_out, row, x, 0)


@wp.kernel
def clear_maps(maps_out: Maps):
    node = wp.tid()
    maps_out.far[node] = wp.int64(0)
    maps_out.near[node] = 0


@wp.kernel
def draw_rows(x: wp.array(dtype=wp.vec3), maps_out: Maps):
    """The maps by one thread for each triangle: the largest whole number wins, in whatever order they come."""
    draw_triangle(maps_out, wp.tid(), x, 1)


# ---- looking up -----------------------------------------------------------------------------------------------------


@wp.func
def apart(low: wp.vec3, high: wp.vec3, other_low: wp.vec3, other_high: wp.vec3) -> bool:
    """Whether two boxes have nothing in common."""
    over = wp.max(low - other_high, other_low - high)
    return wp.max(over) > 0.0


@wp.kernel
def meet_boxes(
    start: int, x: wp.array(dtype=wp.vec3), maps: Maps, vertices_out: Vertices, full_out: wp.array(dtype=int)
):
    """The clusters of other bodies whose boxes each run of vertices meets."""
    run = start + wp.tid()
    first = vertices_out.run_starts[run]
    low = x[vertices_out.particle[first]]
    high = low
    for k in range(first, vertices_out.run_starts[run + 1]):
        p = x[vertices_out.particle[k]]
        low = wp.min(low, p)
        high = wp.max(high, p)
    count = int(0)
    for b in range(maps.body_low.shape[0]):
        if b != vertices_out.run_body[run] and not apart(low, high, maps.body_low[b], maps.body_high[b]):
            for c in range(maps.body_starts[b], maps.body_starts[b + 1]):
                if not apart(low, high, maps.low[c], maps.high[c]):
                    if count < vertices_out.room:
                        vertices_out.found[run * vertices_out.room + count] = c
                    count += 1
    vertices_out.count[run] = wp.min(count, vertices_out.room)
    if count > vertices_out.room:
        full_out[0] = 1


@wp.func
def row_of(key: wp.int64) -> int:
    # the upper half is cut off by the conversion
    return LAST - wp.int32(key)


@wp.func
def height_of(key: wp.int64) -> float:
    return wp.cast(int(key >> wp.int64(32)), float)


@wp.func
def look_up(
    d: wp.vec3, kept: float, cluster: int, maps: Maps, x: wp.array(dtype=wp.vec3), row: int, rows_out: MapRows
) -> bool:
    """Look into a map along d [m], from its centre to a vertex; writes the contact if it is inside, or nearer than is
    `kept` free [m].

    The inverse of heights is interpolated between four nodes, which is exact for planes. With the weights that this
    gives, the points of the surface at the nodes have their mean on the ray itself.
    """
    face = face_of(d)
    f = on_face(d, face)
    z = f[2]
    if z <= 1.0e-9:
        return False
    half = 0.5 * float(SIDE - 1)
    s = (f[0] / z + 1.0) * half
    t = (f[1] / z + 1.0) * half
    i = wp.clamp(int(s), 0, SIDE - 2)
    j = wp.clamp(int(t), 0, SIDE - 2)
    s = wp.clamp(s - float(i), 0.0, 1.0)
    t = wp.clamp(t - float(j), 0.0, 1.0)
    base = cluster * NODES + face * FACE + i * SIDE + j
    nearest = base + wp.where(s > 0.5, SIDE, 0) + wp.where(t > 0.5, 1, 0)
    # what lies before a triangle that faces inwards is outside
    if z < wp.cast(maps.near[nearest], float):
        return False
    inverse = float(0.0)
    holes = int(0)
    for k in range(SAMPLES):
        key = maps.far[base + (k // 2) * SIDE + k % 2]
        if key == wp.int64(0):
            holes += 1
        else:
            inverse += wp.where(k // 2 == 1, s, 1.0 - s) * wp.where(k % 2 == 1, t, 1.0 - t) / height_of(key)
    length = wp.length(d)
    middle = maps.centre[cluster]
    if holes == SAMPLES:
        return False
    height = float(0.0)
    if holes == 0:
        height = 1.0 / inverse
        if (height - z) * length / z + kept <= 0.0:
            return False
        for k in range(SAMPLES):
            key = maps.far[base + (k // 2) * SIDE + k % 2]
            share = wp.where(k // 2 == 1, s, 1.0 - s) * wp.where(k % 2 == 1, t, 1.0 - t) / height_of(key)
            corner = maps.corner[row_of(key)]
            hit = cross_triangle(
                node_direction(face, i + k // 2, j + k % 2),
                x[corner[0]] - middle,
                x[corner[1]] - middle,
                x[corner[2]] - middle,
            )
            rows_out.corners[SAMPLES * row + k] = corner
            rows_out.weights[SAMPLES * row + k] = (share * height) * hit.weights
    else:
        # at the border of a cluster's surface the ray itself must cross one of the triangles around
        for k in range(SAMPLES):
            key = maps.far[base + (k // 2) * SIDE + k % 2]
            rows_out.weights[SAMPLES * row + k] = wp.vec3(0.0, 0.0, 0.0)
            if key != wp.int64(0):
                corner = maps.corner[row_of(key)]
                hit = cross_triangle(d / z, x[corner[0]] - middle, x[corner[1]] - middle, x[corner[2]] - middle)
                rows_out.corners[SAMPLES * row + k] = corner
                if hit.facing > 0 and height == 0.0:
                    height = hit.height
                    rows_out.weights[SAMPLES * row + k] = hit.weights
            else:
                rows_out.corners[SAMPLES * row + k] = maps.corner[maps.row_starts[cluster]]
        if height == 0.0 or (height - z) * length / z + kept <= 0.0:
            return False
    rows_out.cluster[row] = cluster
    rows_out.normal[row] = d / length
    rows_out.depth[row] = (height - z) * length / z + kept
    rows_out.limit[row] = DEEPEST * height * length / z
    return True


@wp.kernel
def find_contacts(
    start: int,
    x: wp.array(dtype=wp.vec3),
    maps: Maps,
    vertices: Vertices,
    rows_out: MapRows,
    full_out: wp.array(dtype=int),
):
    """The contacts of each vertex with clusters of other bodies; those with one body share their weight."""
    k = start + wp.tid()
    i = vertices.particle[k]
    p = x[i]
    run = vertices.run[k]
    count = int(0)
    first = int(0)
    body = int(-1)
    for m in range(vertices.count[run]):
        cluster = vertices.found[run * vertices.room + m]
        if maps.body[cluster] != body:
            for r in range(first, count):
                rows_out.part[k * rows_out.room + r] = 1.0 / float(count - first)
            first = count
            body = maps.body[cluster]
        if not apart(p, p, maps.low[cluster], maps.high[cluster]):
            if count == rows_out.room:
                full_out[0] = 1
            else:
                there = maps.corner[maps.row_starts[cluster]][0]
                kept = vertices.radius[i] + vertices.radius[there]
                if look_up(p - maps.centre[cluster], kept, cluster, maps, x, k * rows_out.room + count, rows_out):
                    count += 1
    for r in range(first, count):
        rows_out.part[k * rows_out.room + r] = 1.0 / float(count - first)
    rows_out.count[k] = count


# ---- what contacts do -------------------------------------------------------------------------------------------


@wp.kernel
def add_weights(start: int, vertices: Vertices, rows: MapRows, sums_inout: MapSums):
    """How much weight contacts have on each particle. Not to be split on the CPU, where sums are not atomic."""
    k = start + wp.tid()
    for r in range(k * rows.room, k * rows.room + rows.count[k]):
        part = PARTS * rows.part[r]
        wp.atomic_add(sums_inout.weight, vertices.particle[k], wp.int64(wp.ceil(part)))
        for q in range(SAMPLES * r, SAMPLES * (r + 1)):
            for c in range(3):
                w = part * wp.abs(rows.weights[q][c])
                if w > 0.0:
                    wp.atomic_add(sums_inout.weight, rows.corners[q][c], wp.int64(wp.ceil(w)))


@wp.func
def give(sums: wp.array2d(dtype=wp.int64), i: int, value: wp.vec3, scale: wp.float64):
    """Add to a particle's sum."""
    for a in range(3):
        wp.atomic_add(sums, i, a, whole(value[a], scale))


@wp.kernel
def push_vertices(
    start: int,
    vertices: Vertices,
    maps: Maps,
    inv_mass: wp.array(dtype=float),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v_next: wp.array(dtype=wp.vec3),
    steepest: float,
    dt: float,
    rows_inout: MapRows,
    sums_inout: MapSums,
):
    """The penalty of each contact, on its vertex and on the surface under it. Not to be split on the CPU.

    A contact sees of each particle the share of mass that its weight has among all weights on it. Along no direction
    does the sum of all contacts then change a velocity by more than the stiffest contact alone would: `steepest` is
    its frequency times the step.
    """
    k = start + wp.tid()
    i = vertices.particle[k]
    for r in range(k * rows_inout.room, k * rows_inout.room + rows_inout.count[k]):
        n = rows_inout.normal[r]
        part = rows_inout.part[r]
        total = inv_mass[i] * float(sums_inout.weight[i]) / PARTS
        speed = v_next[i]
        moved = x_next[i] - x[i]
        for q in range(SAMPLES * r, SAMPLES * (r + 1)):
            for c in range(3):
                j = rows_inout.corners[q][c]
                w = rows_inout.weights[q][c]
                total += wp.abs(w) * inv_mass[j] * float(sums_inout.weight[j]) / PARTS
                speed -= w * v_next[j]
                moved -= w * (x_next[j] - x[j])
        impulse = wp.vec3(0.0, 0.0, 0.0)
        if total > 0.0:
            mass = 1.0 / total
            mine = vertices.body[i]
            other = maps.body[rows_inout.cluster[r]]
            stiffness = wp.max(vertices.young[mine], vertices.young[other]) * vertices.width[i]
            stiffness = wp.min(stiffness, mass * (steepest / dt) * (steepest / dt))
            # the dashpot that leaves the asked share of the speed to a mass on this spring
            rebound = wp.log(wp.max(wp.max(vertices.rebound[mine], vertices.rebound[other]), 1.0e-6))
            ratio = -rebound / wp.sqrt(wp.PI * wp.PI + rebound * rebound)
            damping = wp.min(2.0 * ratio * wp.sqrt(stiffness * mass), mass / dt)
            leaving = wp.dot(speed, n)
            deep = wp.min(rows_inout.depth[r], rows_inout.limit[r])
            push = part * wp.max(dt * (stiffness * deep - damping * leaving), 0.0)
            most = wp.sqrt(vertices.friction[mine] * vertices.friction[other]) * push
            rub = held_back(-(part * mass) * (speed - leaving * n), most)
            slid = moved - wp.dot(moved, n) * n
            grip = held_back(-(part * mass) * slid, 0.5 * dt * most)
            impulse = push * n + rub
            give(sums_inout.kick, i, impulse, sums_inout.scale)
            give(sums_inout.push, i, grip, sums_inout.scale)
            for q in range(SAMPLES * r, SAMPLES * (r + 1)):
                for c in range(3):
                    w = rows_inout.weights[q][c]
                    if w != 0.0:
                        give(sums_inout.kick, rows_inout.corners[q][c], -w * impulse, sums_inout.scale)
                        give(sums_inout.push, rows_inout.corners[q][c], -w * grip, sums_inout.scale)
        rows_inout.impulse[r] = impulse


@wp.kernel
def move_vertices(
    start: int,
    particle: wp.array(dtype=int),
    inv_mass: wp.array(dtype=float),
    sums_inout: MapSums,
    x_inout: wp.array(dtype=wp.vec3),
    v_inout: wp.array(dtype=wp.vec3),
):
    """Move each particle by what its contacts did together, and forget that."""
    i = particle[start + wp.tid()]
    if sums_inout.weight[i] > wp.int64(0):
        factor = wp.float64(inv_mass[i]) / sums_inout.scale
        x_inout[i] = x_inout[i] + taken(sums_inout.push, i, factor)
        v_inout[i] = v_inout[i] + taken(sums_inout.kick, i, factor)
        sums_inout.weight[i] = wp.int64(0)
