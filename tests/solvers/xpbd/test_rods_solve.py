"""The direct solve of rods against dense linear algebra, and the forces against finite differences of the energy."""

import numpy as np
import pytest
import warp as wp
from rod_bodies import NYLON, part_of, rod_sim, tree

from pliant.solvers.xpbd import rod_frames

DT = 1 / 240


def turn_vectors(w):
    """Quaternions of modified Rodrigues vectors w / 4 (n, 4)."""
    s = 0.25 * np.asarray(w, float)
    squared = (s * s).sum(axis=1, keepdims=True)
    return np.concatenate([2 * s, 1 - squared], axis=1) / (1 + squared)


def disturbed(bends, pins, seed=0, **settings):
    """A tree whose particles and orientations are off their rest, some of them pinned, and the group that solves it."""
    mesh = tree(seed)
    sim = rod_sim(mesh, NYLON, pins=pins, bends=bends, substeps=1, **settings)
    rng = np.random.default_rng(seed + 1)
    sim._tell_of_pins()
    group = part_of(sim).groups[0]
    shift = rng.normal(scale=0.01, size=(len(mesh.vertices), 3))
    move = wp.array(shift.astype(np.float32), dtype=wp.vec3)
    state = sim.state
    sim.solvers[0].base.assign(np.concatenate([state.x.numpy(), np.zeros((len(shift), 1))], axis=1).astype(float))
    group.pull.assign(rng.uniform(0, 50, group.count).astype(np.float32))
    if bends:
        group.omega.assign(rng.normal(scale=20, size=(group.count, 3)).astype(np.float32))
    group.begin(state, move, DT)
    return sim, group, move


def conditions(group, x, q, n):
    """Stretch and shear of node n in its own frame, turned to the world that `q` had before (3,)."""
    e = x[group.particle[n]] - x[group.particle[group.parent[n]]]
    return rod_frames.turned(rod_frames.conjugate(q[n : n + 1]), e[None])[0] - [0, 0, group.length[n]]


def dense_step(sim, group, x, q):
    """Moves (n, 3) and turns (n, 3) of all nodes by one dense solve of the whole system, with numeric Jacobians."""
    count = group.count
    inv_mass = sim.state.inv_mass.numpy().astype(float)[group.particle]
    segment, pull = group.segment.numpy().astype(float), group.pull.numpy().astype(float)
    fixed = inv_mass == 0
    led = ~group.is_root & fixed & fixed[group.parent]
    mass = np.zeros((6 * count, 6 * count))
    d = rod_frames.third_axis(q)
    free = np.zeros(6 * count, bool)
    for n in range(count):
        free[6 * n : 6 * n + 3] = not fixed[n]
        mass[6 * n : 6 * n + 3, 6 * n : 6 * n + 3] = np.eye(3) / max(inv_mass[n], 1e-9)
        if not group.is_root[n]:
            free[6 * n + 3 : 6 * n + 6] = not led[n]
            taut = pull[n] * group.length[n] * DT**2 * (np.eye(3) - np.outer(d[n], d[n]))
            mass[6 * n + 3 : 6 * n + 6, 6 * n + 3 : 6 * n + 6] = segment[n, 1] * np.eye(3) + taut
    rows, values, soft = [], [], []
    step = 1e-6
    for n in np.flatnonzero(~group.is_root):
        p = group.parent[n]
        J = np.zeros((3, 6 * count))
        frame = np.stack([rod_frames.turned(q[n : n + 1], a[None])[0] for a in np.eye(3)], axis=1)
        for k in range(3):
            for node in (n, p):
                ahead, back = x.copy(), x.copy()
                ahead[group.particle[node], k] += step
                back[group.particle[node], k] -= step
                difference = conditions(group, ahead, q, n) - conditions(group, back, q, n)
                J[:, 6 * node + k] = frame @ difference / (2 * step)
            turned = []
            for sign in (1, -1):
                other = q.copy()
                other[n] = rod_frames.product(turn_vectors(sign * step * np.eye(3)[k : k + 1]), q[n : n + 1])[0]
                turned.append(conditions(group, x, other, n))
            J[:, 6 * n + 3 + k] = frame @ (turned[0] - turned[1]) / (2 * step)
        c = frame @ conditions(group, x, q, n)
        a = group.compliance[n, 1] * np.eye(3) + (group.compliance[n, 0] - group.compliance[n, 1]) * np.outer(
            d[n], d[n]
        )
        rows.append(J), values.append(c), soft.append(a / DT**2)
        if group.has_joint[n] and not (led[n] and led[p]):
            held = rod_frames.product(q[p : p + 1], group.joint[n : n + 1])
            J = np.zeros((3, 6 * count))
            J[:, 6 * n + 3 : 6 * n + 6], J[:, 6 * p + 3 : 6 * p + 6] = np.eye(3), -np.eye(3)
            c = rod_frames.vectors_of(rod_frames.product(q[n : n + 1], rod_frames.conjugate(held)))[0]
            t = d[n] + rod_frames.third_axis(held)[0]
            t /= np.linalg.norm(t)
            bend, twist = group.compliance[n, 2:] * (not led[n]) + group.compliance[p, 2:] * (not led[p])
            rows.append(J), values.append(c), soft.append((bend * np.eye(3) + (twist - bend) * np.outer(t, t)) / DT**2)
    J = np.concatenate(rows)[:, free]
    compliance = np.zeros((len(J), len(J)))
    for k, block in enumerate(soft):
        compliance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = block
    inverse = np.linalg.inv(mass[np.ix_(free, free)])
    found = np.linalg.solve(J @ inverse @ J.T + compliance, -np.concatenate(values))
    delta = np.zeros(6 * count)
    delta[free] = inverse @ J.T @ found
    return delta.reshape(count, 6)


@pytest.mark.parametrize("pins", [[], [3], [3, 5, 8, 11, 2, 17], list(range(24))], ids=["free", "one", "some", "all"])
@pytest.mark.parametrize("seed", [0, 4])
def test_rods_are_solved_as_a_dense_system(pins, seed, device):
    if device != "cpu":
        pytest.skip("moves are made on the CPU here")
    sim, group, move = disturbed(True, pins, seed)
    assert (np.bincount(group.parent[~group.is_root]) > 1).any()
    before, q = move.numpy().astype(float), group.q.numpy().astype(float)
    delta = dense_step(sim, group, sim.state.x.numpy().astype(float) + before, q)
    group.solve(sim.state, move, DT)
    moved = (move.numpy().astype(float) - before)[group.particle]
    turned = rod_frames.vectors_of(rod_frames.product(group.q.numpy().astype(float), rod_frames.conjugate(q)))
    scale = max(np.abs(delta[:, :3]).max(), 1e-9)
    np.testing.assert_allclose(moved, delta[:, :3], atol=2e-5 * scale)
    np.testing.assert_allclose(turned, delta[:, 3:], atol=2e-5 * max(np.abs(delta[:, 3:]).max(), 1.0))


@pytest.mark.parametrize("pins", [[], [3], [3, 5, 8, 11, 2, 17]], ids=["free", "one", "some"])
def test_chains_are_solved_as_a_dense_system(pins):
    sim, group, move = disturbed(False, pins)
    before = move.numpy().astype(float)
    x = sim.state.x.numpy().astype(float) + before
    count = group.count
    inv_mass = sim.state.inv_mass.numpy().astype(float)[group.particle]
    free = np.repeat(inv_mass > 0, 3)
    mass = np.diag(np.repeat(1 / np.maximum(inv_mass, 1e-9), 3))
    rows, values, soft = [], [], []
    for n in np.flatnonzero(~group.is_root):
        p = group.parent[n]
        e = x[group.particle[n]] - x[group.particle[p]]
        size = np.linalg.norm(e)
        row = np.zeros(3 * count)
        row[3 * n : 3 * n + 3], row[3 * p : 3 * p + 3] = e / size, -e / size
        ends = np.zeros((3, 3 * count))
        ends[:, 3 * n : 3 * n + 3], ends[:, 3 * p : 3 * p + 3] = np.eye(3), -np.eye(3)
        across = ends.T @ (np.eye(3) - np.outer(e, e) / size**2) @ ends
        mass += group.pull.numpy()[n] * DT**2 / group.length[n] * across
        rows.append(row), values.append(size - group.length[n]), soft.append(group.compliance[n, 0] / DT**2)
    J = np.array(rows)[:, free]
    inverse = np.linalg.inv(mass[np.ix_(free, free)])
    tension = np.linalg.solve(J @ inverse @ J.T + np.diag(soft), -np.array(values))
    delta = np.zeros(3 * count)
    delta[free] = inverse @ J.T @ tension
    group.solve(sim.state, move, DT)
    moved = (move.numpy().astype(float) - before)[group.particle]
    np.testing.assert_allclose(moved, delta.reshape(-1, 3), atol=2e-5 * np.abs(delta).max())
    # a link between two pins has none
    held = (J != 0).any(axis=1)
    found = group.tension.numpy()[~group.is_root]
    np.testing.assert_allclose(found[held], tension[held], atol=1e-4 * np.abs(tension[held]).max())


def test_torque_is_the_slope_of_the_energy():
    """Compliance times what holds a joint is its turn: with that, moves along the energy's slope, to second order."""
    sim, group, _ = disturbed(True, [])
    q = group.q.numpy().astype(float)
    x = sim.state.x.numpy().astype(float)
    step = 2e-4

    def energy(orientation):
        group.q.assign(orientation.astype(np.float32))
        return group.energy(x)

    d = rod_frames.third_axis(q)
    held = rod_frames.product(q[group.parent], group.joint)
    bent = rod_frames.vectors_of(rod_frames.product(q, rod_frames.conjugate(held)))
    t = d + rod_frames.third_axis(held)
    t /= np.linalg.norm(t, axis=1, keepdims=True)
    halves = group.compliance[:, 2:] + group.compliance[group.parent, 2:]
    along = (bent * t).sum(axis=1, keepdims=True)
    moment = np.where(group.has_joint[:, None], (bent - along * t) / halves[:, :1] + along * t / halves[:, 1:], 0.0)
    e = x[group.particle] - x[group.particle[group.parent]]
    c = e - group.length[:, None] * d
    pull = (c * d).sum(axis=1, keepdims=True)
    force = (c - pull * d) / group.compliance[:, 1:2] + pull * d / group.compliance[:, :1]
    slope = moment - np.cross(e, force)
    np.add.at(slope, group.parent[group.has_joint], -moment[group.has_joint])
    for n in np.flatnonzero(~group.is_root)[::3]:
        for k in range(3):
            sides = []
            for sign in (1, -1):
                other = q.copy()
                other[n] = rod_frames.product(turn_vectors(sign * step * np.eye(3)[k : k + 1]), q[n : n + 1])[0]
                sides.append(energy(other))
            numeric = (sides[0] - sides[1]) / (2 * step)
            assert numeric == pytest.approx(slope[n, k], abs=0.02 * np.abs(slope).max())
