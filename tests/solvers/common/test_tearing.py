"""Sheets split at their vertices where they are stretched too far; nothing is lost, and capacity is told."""

import numpy as np
import pytest
import warp as wp

from pliant import shapes
from pliant.mesh import arrays
from pliant.model.state import State
from pliant.solvers.common.tearing import Sheet, Tearing, rest_inverse

FAR = 1e5


def make(device, cells=8, spares=200, limit=0.2, pinned=()):
    """A sheet of 1 m in the plane y = 0 with spare particles, and its tearing."""
    mesh = shapes.sheet((1.0, 1.0), (cells, cells))
    count = len(mesh.vertices)
    x = np.concatenate([mesh.vertices, np.full((spares, 3), FAR)])
    each = mesh.areas() / 3.0
    mass = np.zeros(len(x))
    np.add.at(mass, mesh.triangles.reshape(-1), np.repeat(each, 3))
    state = State(x, np.zeros_like(x), np.where(mass > 0, mass, 1.0), device)
    inv_mass = state.inv_mass.numpy()
    inv_mass[count:] = 0.0
    inv_mass[list(pinned)] = 0.0
    state.inv_mass.assign(inv_mass)
    sheet = Sheet("sheet", mesh.triangles, rest_inverse(mesh), each, (0, count, count + spares), limit)
    return mesh, state, Tearing([sheet], len(x), device)


def pull(state, count, by):
    """Stretch along x by a factor, all alike."""
    x = state.x.numpy()
    x[:count, 0] *= by
    state.x.assign(x)


def tear(tearing, state, times=1):
    carry = wp.zeros(state.count, dtype=wp.vec3, device=tearing.device)
    for _ in range(times):
        tearing.apply(state, carry)


def check_fans(tearing):
    """Every slot is in the row of the particle that it names, and in no other."""
    corners, fan = tearing.corners.numpy(), tearing.fan.numpy()
    start, count = tearing.fan_start.numpy(), tearing.fan_count.numpy()
    assert count.sum() == len(corners)
    assert np.array_equal(np.sort(fan), np.arange(len(corners)))
    for p in np.flatnonzero(count):
        assert (corners[fan[start[p] : start[p] + count[p]]] == p).all()


def pieces(tearing):
    """Number of parts of the triangles that hang together by vertices."""
    corners = tearing.corners.numpy().reshape(-1, 3)
    used, index = np.unique(corners, return_inverse=True)
    edges = np.concatenate([index.reshape(-1, 3)[:, [0, 1]], index.reshape(-1, 3)[:, [1, 2]]])
    return arrays.connected_parts(edges, len(used))[0]


def test_nothing_tears_below_the_limit(device):
    mesh, state, tearing = make(device)
    pull(state, len(mesh.vertices), 1.19)
    tear(tearing, state, 3)
    assert tearing.used.numpy()[0] == 0
    np.testing.assert_array_equal(tearing.corners.numpy(), mesh.triangles.reshape(-1))
    np.testing.assert_allclose(tearing.stretch.numpy(), 1.19, rtol=1e-5)
    assert tearing.news() == []


def test_a_sheet_pulled_too_far_comes_apart(device):
    mesh, state, tearing = make(device)
    before = tearing.masses().sum()
    pull(state, len(mesh.vertices), 1.3)
    for _ in range(30):
        tear(tearing, state)
        check_fans(tearing)
    assert tearing.used.numpy()[0] > 20
    assert pieces(tearing) > 3
    assert tearing.masses().sum() == pytest.approx(before, rel=1e-6)
    mass = tearing.masses()
    live = tearing.fan_count.numpy() > 0
    np.testing.assert_allclose(1.0 / state.inv_mass.numpy()[live], mass[live], rtol=1e-5)
    # what was split off lies where it came from, and names it
    home, x = tearing.home.numpy(), state.x.numpy()
    np.testing.assert_array_equal(x[live], x[home[live]])
    assert home.max() < len(mesh.vertices) or (home[~live] >= 0).all()
    assert tearing.news() == [("Body 'sheet' began to tear", False)]
    assert tearing.news() == []


def test_triangles_never_hang_together_at_a_vertex_alone(device):
    mesh, state, tearing = make(device)
    pull(state, len(mesh.vertices), 1.3)
    tear(tearing, state, 5)
    # at rest again nothing new tears; what hangs by vertices is parted in a few passes
    pull(state, len(state.x), 1.0 / 1.3)
    tear(tearing, state, 30)
    corners, fan = tearing.corners.numpy().reshape(-1, 3), tearing.fan.numpy()
    start, count = tearing.fan_start.numpy(), tearing.fan_count.numpy()
    for p in np.flatnonzero(count):
        around = corners[fan[start[p] : start[p] + count[p]] // 3]
        joined = {0}
        for _ in around:
            for k, row in enumerate(around):
                if any((set(row) & set(around[j])) - {p} for j in joined):
                    joined.add(k)
        assert len(joined) == len(around)


def test_the_tear_runs_across_the_pull(device):
    """Stretched in a strip across its middle only, the sheet is parted there into two."""
    mesh, state, tearing = make(device, cells=10)
    x = state.x.numpy()
    count = len(mesh.vertices)
    right = x[:count, 0] > 0.05
    x[:count][right] += [0.05, 0.0, 0.0]
    state.x.assign(x)
    tear(tearing, state, 40)
    assert pieces(tearing) >= 2
    torn = np.unique(tearing.home.numpy()[np.flatnonzero(tearing.fan_count.numpy()[count:]) + count])
    assert (np.abs(x[torn, 0]) < 0.25).all()


def test_pinned_vertices_do_not_split(device):
    pinned = [0, 40, 41]
    mesh, state, tearing = make(device, pinned=pinned)
    pull(state, len(mesh.vertices), 1.5)
    tear(tearing, state, 30)
    assert not np.isin(tearing.home.numpy()[len(mesh.vertices) :][: tearing.used.numpy()[0]], pinned).any()


def test_spent_capacity_is_told_and_nothing_breaks(device):
    mesh, state, tearing = make(device, spares=5)
    pull(state, len(mesh.vertices), 1.5)
    tear(tearing, state, 10)
    check_fans(tearing)
    assert tearing.used.numpy()[0] == 5
    told = tearing.news()
    assert any(loud and "all of its 5 spare vertices" in text for text, loud in told)
    assert tearing.news() == []


def test_same_bits_every_time(device):
    found = []
    for _ in range(2):
        mesh, state, tearing = make(device)
        pull(state, len(mesh.vertices), 1.4)
        tear(tearing, state, 12)
        found.append(tearing.corners.numpy())
    np.testing.assert_array_equal(*found)
