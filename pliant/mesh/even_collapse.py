"""Edges of a triangle net collapsed, an independent set in a round, and triangles that stick out dropped.

An edge is collapsed where the net stays a surface (link condition: Dey, Edelsbrunner, Guha, Nekhayev 1999), no triangle
turns over, and neither the surface nor its outline moves by more than the net's tolerance in all.
"""

from __future__ import annotations

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.even_net import GAIN, OWN_TURN, Net, Tables, first_of, ranks
from pliant.mesh.repair import topology

# Cosine of how far a triangle may lean from the mean around it: thin triangles have no normal of their own to go by.
MEAN_TURN = 0.2


def collapse(net: Net, short: float, thin: float) -> int:
    """Collapse an independent set of edges shorter than `short`, or of triangles thinner than `thin` [m].

    Returns how many were collapsed.
    """
    tables = Tables(net)
    x, t, ends = net.x, net.triangles, tables.edges.ends.astype(np.int64)
    length = arrays.edge_lengths(x, ends)
    altitude = net.thicknesses()
    # the two shorter edges of each thin triangle
    sides = tables.edges.edge_of.reshape(-1, 3)[altitude < thin]
    longest = np.argmax(length[sides], axis=1) if len(sides) else np.zeros(0, np.int64)
    wanted = length < short
    wanted[sides[np.arange(3) != longest[:, None]]] = True
    regular = ~net.fixed[ends].any(axis=1) & (tables.edges.count <= 2)
    picked = np.flatnonzero(wanted & regular)
    picked = picked[_stays_surface(net, tables, picked)]
    if not len(picked):
        return 0
    u, v, free = ends[picked, 0], ends[picked, 1], tables.edges.count[picked] == 1
    places, allowed, dent = _places(net, tables, u, v, free)
    owner, triangle = tables.around(np.concatenate([u, v]))
    owner %= len(picked)
    corners = t[triangle]
    hits_u, hits_v = corners == u[owner, None], corners == v[owner, None]
    gone = hits_u.any(axis=1) & hits_v.any(axis=1)
    old, old_altitude = net.shape(x[corners])
    clear = old_altitude >= 0.5 * thin
    mean = np.zeros((len(picked), 3))
    area = np.linalg.norm(np.cross(x[corners[:, 1]] - x[corners[:, 0]], x[corners[:, 2]] - x[corners[:, 0]]), axis=1)
    np.add.at(mean, owner, area[:, None] * old)
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), np.finfo(float).tiny)
    was = np.full(len(picked), np.inf)
    np.minimum.at(was, owner, old_altitude)
    need = np.where(length[picked] < short, np.minimum(was, 0.5 * thin), GAIN * was)
    best, choice = np.full(len(picked), -1.0), np.zeros(len(picked), np.int64)
    moved = np.zeros(len(picked))
    for option in range(3):
        place = places[option]
        away = np.abs(np.einsum("ij,ij->i", place[owner] - x[corners[:, 0]], old)) * (old_altitude >= 0.1 * thin)
        error = np.zeros(len(picked))
        np.maximum.at(error, owner, away)
        error += np.maximum(net.error[u], net.error[v])
        new, new_altitude = net.shape(np.where((hits_u | hits_v)[:, :, None], place[owner, None], x[corners]))
        own = np.einsum("ij,ij->i", new, old)
        wrong = (clear & (own < OWN_TURN)) | (np.einsum("ij,ij->i", new, mean[owner]) < MEAN_TURN)
        least = np.full(len(picked), np.inf)
        np.minimum.at(least, owner, np.where(gone, np.inf, np.where(wrong, -1.0, new_altitude)))
        good = (
            allowed[option]
            & (error <= net.tolerance)
            & (dent[option] <= net.slack)
            & np.isfinite(least)
            & (least >= need)
            & (least > best)
        )
        best, choice, moved = (np.where(good, a, b) for a, b in ((least, best), (option, choice), (error, moved)))
    feasible = np.flatnonzero(best > 0.0)
    rank = np.full(len(picked), len(picked), np.int64)
    rank[feasible] = ranks(length[picked[feasible]])
    rows = best[owner] > 0.0
    done = (best > 0.0) & first_of(owner[rows], triangle[rows], rank, len(t))
    keep, drop = v[done], u[done]
    net.x = x.copy()
    net.x[keep] = places[choice[done], done]
    net.corner = net.corner.copy()
    net.corner[keep] |= net.corner[drop]
    net.error = net.error.copy()
    net.error[keep] = moved[done]
    net.dent = net.dent.copy()
    net.dent[keep] = dent[choice[done], done]
    to = np.arange(len(x))
    to[drop] = keep
    t = to[t]
    left = (t != np.roll(t, -1, axis=1)).all(axis=1)
    net.triangles, net.row = t[left], net.row[left]
    return int(done.sum())


def _stays_surface(net: Net, tables: Tables, picked: np.ndarray) -> np.ndarray:
    """Whether the net is still a surface, with the same holes, after each edge (m,) alone is collapsed."""
    table = tables.edges
    u, v = table.ends[picked].astype(np.int64).T
    owner, other = tables.beside(u)
    shared = np.bincount(owner[tables.joined(v[owner], other)], minlength=len(picked))
    good = shared == table.count[picked]
    # between two places of the rim only along it
    good &= ~(tables.rim[u] & tables.rim[v]) | (table.count[picked] == 1)
    degree = np.diff(tables.near_from)
    edge_of = table.edge_of.reshape(-1, 3)
    for place in range(2):
        side = table.sides[table.first[picked] + np.minimum(place, table.count[picked] - 1)]
        triangle = side // 3
        opposite = net.triangles[triangle, (side + 2) % 3]
        good &= tables.rim[opposite] | (degree[opposite] > 3)
        inner = table.count[edge_of[triangle]] == 2
        inner[np.arange(len(side)), side % 3] = False
        good &= inner.any(axis=1)
    return good


def _places(
    net: Net, tables: Tables, u: np.ndarray, v: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the ends u and v (m,) of edges may go together: at v, at u, in the middle.

    Returns the places (3, m, 3) [m], whether each is allowed (3, m), and by how much the outline
    has moved then (3, m) [m].
    """
    x, rim = net.x, tables.rim
    places = np.stack([x[v], x[u], 0.5 * (x[u] + x[v])])
    allowed = np.stack([~rim[u] | free, ~rim[v] | free, ~rim[u] & ~rim[v]])
    # a corner gives way to another corner only
    allowed[0] &= net.corner[v] | ~net.corner[u]
    allowed[1] &= net.corner[u] | ~net.corner[v]
    dent = np.zeros((3, len(u)))
    for option, (kept, lost) in enumerate(((v, u), (u, v))):
        beyond = np.where(tables.after[lost] == kept, tables.before[lost], tables.after[lost])
        dent[option] = np.where(free, _to_segment(x[lost], x[kept], x[beyond]), 0.0)
    return places, allowed, dent + np.maximum(net.dent[u], net.dent[v])


def _to_segment(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance of points p from segments a to b (m,) [m]."""
    along = b - a
    square = (along**2).sum(axis=1)
    part = np.divide(((p - a) * along).sum(axis=1), square, out=np.zeros(len(p)), where=square > 0.0)
    return np.linalg.norm(p - a - np.clip(part, 0.0, 1.0)[:, None] * along, axis=1)


def drop_ears(net: Net, thin: float) -> int:
    """Drop triangles thinner than `thin` [m] that hang on the others by one edge only; how many were dropped."""
    table = topology.edge_table(net.triangles)
    free = (table.count[table.edge_of] == 1).reshape(-1, 3)
    ear = (free.sum(axis=1) == 2) & ~net.fixed[net.triangles].any(axis=1)
    pairs = table.manifold_pairs() // 3
    # two ears on one edge are a part of their own
    ear[pairs[ear[pairs].all(axis=1)].ravel()] = False
    left = ~(ear & (net.thicknesses() < thin))
    net.triangles, net.row = net.triangles[left], net.row[left]
    return int((~left).sum())
