"""Edges of a triangle net flipped and vertices moved where that makes thin triangles thicker, in independent sets."""

from __future__ import annotations

import numpy as np

from pliant.mesh.even_net import GAIN, OWN_TURN, Net, Tables, first_of, ranks


def flip(net: Net, thin: float) -> int:
    """Flip an independent set of edges of triangles thinner than `thin` [m] where the thinner of the two gains.

    The edge between two triangles becomes the one between their far corners. Returns how many were flipped.
    """
    tables = Tables(net)
    x, t, table = net.x, net.triangles, tables.edges
    pairs = table.manifold_pairs()
    pairs = pairs[table.forward[pairs[:, 0]] != table.forward[pairs[:, 1]]]
    altitude = net.thicknesses()
    was = altitude[pairs // 3].min(axis=1)
    pairs, was = pairs[was < thin], was[was < thin]
    triangle, corner = pairs // 3, pairs % 3
    # the edge runs from a to b in the first triangle; c and d are the far corners
    a, b, c = (t[triangle[:, 0], (corner[:, 0] + i) % 3] for i in range(3))
    d = t[triangle[:, 1], (corner[:, 1] + 2) % 3]
    old = [net.shape(x[t[triangle[:, i]]])[0] for i in range(2)]
    halves = [np.stack([a, d, c], axis=1), np.stack([d, b, c], axis=1)]
    new = [net.shape(x[half]) for half in halves]
    now = np.minimum(new[0][1], new[1][1])
    # how far the surface moves: half the distance of the two diagonals' lines
    across = np.cross(x[b] - x[a], x[d] - x[c])
    length = np.linalg.norm(across, axis=1)
    gap = np.abs(np.einsum("ij,ij->i", across, x[c] - x[a]))
    gap = 0.5 * np.divide(gap, length, out=np.full(len(gap), np.inf), where=length > 0.0)
    error = net.error[np.stack([a, b, c, d])].max(axis=0) + gap
    good = (now >= GAIN * was) & (now > 0.0) & (error <= net.tolerance) & ~tables.joined(c, d)
    good &= ~net.fixed[np.stack([a, b, c, d])].any(axis=0)
    # against the thicker of the old two: a thin triangle has no normal to go by
    thicker = np.argmax(altitude[triangle], axis=1)
    normal = np.where(thicker[:, None] == 0, old[0], old[1])
    for turned in new:
        good &= np.einsum("ij,ij->i", turned[0], normal) >= OWN_TURN
    chosen = np.flatnonzero(good)
    if not len(chosen):
        return 0
    key = np.minimum(c, d)[chosen] << 32 | np.maximum(c, d)[chosen]
    owner = np.repeat(np.arange(len(chosen)), 2)
    done = first_of(owner, triangle[chosen].ravel(), ranks(was[chosen]), len(t))
    # no two flips make the same edge
    _, once = np.unique(key[done], return_index=True)
    chosen = chosen[done][once]
    net.triangles = t.copy()
    for i in range(2):
        net.triangles[triangle[chosen, i]] = halves[i][chosen]
    net.error = net.error.copy()
    np.maximum.at(net.error, np.stack([a, b, c, d])[:, chosen].ravel(), np.tile(error[chosen], 4))
    return len(chosen)


def move(net: Net, thin: float) -> int:
    """Move an independent set of inner vertices of triangles thinner than `thin` [m] towards the middle of their
    neighbours, along the surface, where the thinnest triangle around them gains. Returns how many were moved."""
    tables = Tables(net)
    x, t = net.x, net.triangles
    altitude = net.thicknesses()
    near = np.zeros(len(x), bool)
    near[t[altitude < thin].ravel()] = True
    vertex = np.flatnonzero(near & ~tables.rim & ~net.fixed)
    if not len(vertex):
        return 0
    owner, triangle = tables.around(vertex)
    corners = t[triangle]
    hit = corners == vertex[owner, None]
    old, thickness = net.shape(x[corners])
    clear = thickness >= 0.5 * thin
    was = np.full(len(vertex), np.inf)
    np.minimum.at(was, owner, thickness)
    count = np.bincount(owner, minlength=len(vertex))[:, None]
    normal = np.zeros((len(vertex), 3))
    np.add.at(normal, owner, thickness[:, None] * old)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), np.finfo(float).tiny)
    middle = np.zeros((len(vertex), 3))
    np.add.at(middle, owner, (x[corners].sum(axis=1) - x[vertex[owner]]) / 2.0)
    step = middle / count - x[vertex]
    step -= normal * np.einsum("ij,ij->i", step, normal)[:, None]
    best, place, moved = GAIN * was, x[vertex].copy(), np.zeros(len(vertex))
    for part in (1.0, 0.5, 0.25):
        to = x[vertex] + part * step
        new, now = net.shape(np.where(hit[:, :, None], to[owner, None], x[corners]))
        away = np.abs(np.einsum("ij,ij->i", to[owner] - x[corners[:, 0]], old)) * clear
        error = net.error[vertex].copy()
        np.maximum.at(error, owner, net.error[vertex][owner] + away)
        wrong = np.einsum("ij,ij->i", new, np.where(clear[:, None], old, normal[owner])) < OWN_TURN
        least = np.full(len(vertex), np.inf)
        np.minimum.at(least, owner, np.where(wrong, -1.0, now))
        good = (least > best) & (error <= net.tolerance)
        best, moved = np.where(good, least, best), np.where(good, error, moved)
        place[good] = to[good]
    gains = best > GAIN * was
    rank = np.full(len(vertex), len(vertex), np.int64)
    rank[gains] = ranks(was[gains])
    rows = gains[owner]
    done = gains & first_of(owner[rows], triangle[rows], rank, len(t))
    net.x, net.error = x.copy(), net.error.copy()
    net.x[vertex[done]], net.error[vertex[done]] = place[done], moved[done]
    return int(done.sum())
