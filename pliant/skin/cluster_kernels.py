"""Device code of a skin on clusters: their affine maps from the particles, and the vertices from the maps."""

import functools
from typing import Any

import warp as wp

from pliant.skin.kernels import unit

wp.set_module_options({"enable_backward": False})

NEIGHBOURS = 9
"""Particles looked for around a vertex: eight to follow, and one more that tells where their influence ends."""

ids_type = wp.types.vector(length=NEIGHBOURS, dtype=int)
distances_type = wp.types.vector(length=NEIGHBOURS, dtype=float)


@wp.kernel
def find_nearest_particles(
    start: int,
    bvh: wp.uint64,
    particles: wp.array(dtype=wp.vec3),
    points: wp.array(dtype=wp.vec3),
    spacing: float,
    wanted: int,
    nearest_out: wp.array(dtype=ids_type),
):
    """The `wanted` nearest particles of each point, nearest first, lowest first of those at one distance.

    Particles fill a box of length 1 around the origin; the radius doubles until it holds enough of them.
    """
    i = start + wp.tid()
    p = points[i]
    beyond = wp.vec3(wp.max(wp.abs(p[0]) - 0.5, 0.0), wp.max(wp.abs(p[1]) - 0.5, 0.0), wp.max(wp.abs(p[2]) - 0.5, 0.0))
    away = wp.length(beyond)
    radius = away + spacing
    ids = ids_type()
    distances = distances_type()
    last = wanted - 1
    searching = int(1)
    while searching == 1:
        for j in range(wp.static(NEIGHBOURS)):
            ids[j] = 2147483647
            distances[j] = 1.0e30
        reach = wp.vec3(radius, radius, radius)
        query = wp.bvh_query_aabb(bvh, p - reach, p + reach)
        e = int(0)
        while wp.bvh_query_next(query, e):
            d = wp.length(particles[e] - p)
            if d < distances[last] or (d == distances[last] and e < ids[last]):
                j = int(last)
                while j > 0 and (d < distances[j - 1] or (d == distances[j - 1] and e < ids[j - 1])):
                    distances[j] = distances[j - 1]
                    ids[j] = ids[j - 1]
                    j = j - 1
                distances[j] = d
                ids[j] = e
        if distances[last] <= radius or radius > away + 4.0:
            searching = 0
        radius = away + 2.0 * (radius - away)
    nearest_out[i] = ids


@wp.kernel
def sum_members(
    start: int,
    chunk_starts: wp.array(dtype=int),
    anchors: wp.array(dtype=int),
    members: wp.array(dtype=int),
    factors: wp.array(dtype=wp.vec4),
    x: wp.array(dtype=wp.vec3),
    moves_out: wp.array(dtype=wp.vec3),
    matrices_out: wp.array(dtype=wp.mat33),
):
    """Sums over a chunk of a cluster, about the cluster's first particle: of mass share * x, and of x g^T."""
    c = start + wp.tid()
    anchor = x[anchors[c]]
    move = wp.vec3(0.0, 0.0, 0.0)
    matrix = wp.mat33(0.0)
    for k in range(chunk_starts[c], chunk_starts[c + 1]):
        d = x[members[k]] - anchor
        f = factors[k]
        move += f[3] * d
        matrix += wp.outer(d, wp.vec3(f[0], f[1], f[2]))
    moves_out[c] = move
    matrices_out[c] = matrix


@wp.kernel
def sum_partials(
    start: int,
    starts: wp.array(dtype=int),
    moves: wp.array(dtype=wp.vec3),
    matrices: wp.array(dtype=wp.mat33),
    moves_out: wp.array(dtype=wp.vec3),
    matrices_out: wp.array(dtype=wp.mat33),
):
    """Sums of some partial sums, in their order."""
    c = start + wp.tid()
    move = wp.vec3(0.0, 0.0, 0.0)
    matrix = wp.mat33(0.0)
    for k in range(starts[c], starts[c + 1]):
        move += moves[k]
        matrix += matrices[k]
    moves_out[c] = move
    matrices_out[c] = matrix


@wp.func
def completed(matrix: wp.mat33, axes: wp.mat33, rank: int) -> wp.mat33:
    """A cluster's map with the directions in which its particles do not extend.

    A flat cluster's normal follows the cross product of its mapped axes, at its old length; a straight one takes the
    smallest turn that brings it into its new direction; a point does not turn. Axes are rows, the longest first.
    """
    if rank == 3:
        return matrix
    a = wp.vec3(axes[0, 0], axes[0, 1], axes[0, 2])
    b = wp.vec3(axes[1, 0], axes[1, 1], axes[1, 2])
    c = wp.vec3(axes[2, 0], axes[2, 1], axes[2, 2])
    if rank == 2:
        normal = unit(wp.cross(matrix * a, matrix * b))
        if wp.dot(normal, normal) == 0.0:
            normal = c
        return matrix + wp.outer(normal, c)
    new_b = b
    new_c = c
    if rank == 1:
        along = unit(matrix * a)
        cosine = wp.dot(a, along)
        if cosine < -0.9999:
            # Half a turn about b: the smallest turn has no direction of its own here.
            new_c = -c
        elif wp.dot(along, along) > 0.0:
            turn = wp.cross(a, along)
            share = 1.0 / (1.0 + cosine)
            new_b = cosine * b + wp.cross(turn, b) + (share * wp.dot(turn, b)) * turn
            new_c = cosine * c + wp.cross(turn, c) + (share * wp.dot(turn, c)) * turn
    else:
        matrix = wp.outer(a, a)
    return matrix + wp.outer(new_b, b) + wp.outer(new_c, c)


@wp.kernel
def finish_maps(
    start: int,
    starts: wp.array(dtype=int),
    anchors: wp.array(dtype=int),
    ranks: wp.array(dtype=int),
    axes: wp.array(dtype=wp.mat33),
    moves: wp.array(dtype=wp.vec3),
    matrices: wp.array(dtype=wp.mat33),
    x: wp.array(dtype=wp.vec3),
    centres_out: wp.array(dtype=wp.vec3),
    matrices_out: wp.array(dtype=wp.mat33),
):
    """Centre of mass and completed map of each cluster from its last partial sums."""
    c = start + wp.tid()
    move = wp.vec3(0.0, 0.0, 0.0)
    matrix = wp.mat33(0.0)
    for k in range(starts[c], starts[c + 1]):
        move += moves[k]
        matrix += matrices[k]
    centres_out[c] = x[anchors[c]] + move
    matrices_out[c] = completed(matrix, axes[c], ranks[c])


@wp.kernel
def fold_maps(
    start: int,
    rest_centres: wp.array(dtype=wp.vec3),
    centres: wp.array(dtype=wp.vec3),
    matrices: wp.array(dtype=wp.mat33),
    columns_out: wp.array(dtype=wp.vec4),
):
    """Each map as four columns, p -> columns (p, 1): those of A_c and the move x_c - A_c q_c."""
    c = start + wp.tid()
    m = matrices[c]
    move = centres[c] - m * rest_centres[c]
    for k in range(3):
        columns_out[4 * c + k] = wp.vec4(m[0, k], m[1, k], m[2, k], 0.0)
    columns_out[4 * c + 3] = wp.vec4(move[0], move[1], move[2], 0.0)


@functools.cache
def follow_kernel(width: int) -> Any:
    """The kernel that places vertices that follow at most `width` clusters each.

    As with hosts, moves are taken against the first cluster's, so that rounding is that of the body's size.
    """
    cluster_type = wp.types.vector(length=width, dtype=int)
    weight_type = wp.types.vector(length=width, dtype=float)

    @wp.kernel(module="unique", enable_backward=False)
    def follow_clusters(
        start: int,
        clusters: wp.array(dtype=cluster_type),
        weights: wp.array(dtype=weight_type),
        rest: wp.array(dtype=wp.vec3),
        columns: wp.array(dtype=wp.vec4),
        x_out: wp.array(dtype=wp.vec3),
    ):
        i = start + wp.tid()
        cluster = clusters[i]
        weight = weights[i]
        p = rest[i]
        base = columns[4 * cluster[0] + 3]
        away = wp.vec4(0.0, 0.0, 0.0, 0.0)
        for j in range(wp.static(width)):
            c = 4 * cluster[j]
            turned = p[0] * columns[c] + p[1] * columns[c + 1] + p[2] * columns[c + 2]
            away += weight[j] * (turned + (columns[c + 3] - base))
        x = base + away
        x_out[i] = wp.vec3(x[0], x[1], x[2])

    return follow_clusters
