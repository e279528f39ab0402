"""The multigrid solve against whole matrices, with nodes held in every way."""

import numpy as np
import pytest
from bodies import layered, make_sim

from pliant import Material, shapes
from pliant.launch import record
from pliant.solvers.layered import levels
from pliant.solvers.layered.levels import Columns

STUFF = Material(density=500.0, young=3e5, poisson=0.35, damping=0.003)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_cycles_solve_with_any_nodes_held(share, device, monkeypatch):
    for name, value in (("SMALL", 5), ("MILD", 0.0), ("EASY", 0), ("OVERHEAD", 0.0)):
        monkeypatch.setattr(levels, name, value)
    body = layered(shapes.ball(0.4, 6).surface_mesh(), 0.55)
    sim = make_sim(body, STUFF, method="layered", substeps=1, frame_dt=1 / 60, device=device)
    own = sim.solvers[0]
    constants = own.constants(sim.dt)
    assert len(constants.matrices.levels) > 2 and constants.solver.rate > 0.0
    n = own.count
    rng = np.random.default_rng(1)
    # half of what is held cannot move at all, the rest not along a normal
    mode = np.where(rng.random(n) < share, rng.integers(1, 3, n), 0)
    normal = rng.normal(size=(n, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    free = np.tile(np.eye(3), (n, 1, 1)) - (mode == 1)[:, None, None] * normal[:, :, None] * normal[:, None, :]
    free[mode == 2] = 0.0
    level = constants.matrices.levels[0]
    whole = np.zeros((n, 3, n, 3))
    whole[np.arange(n), :, np.arange(n), :] = level.diagonal.numpy()
    rows = np.repeat(np.arange(n), np.diff(level.row_starts.numpy()))
    whole[rows, :, level.row_other.numpy(), :] = level.block.numpy()
    part = np.zeros((n, 3, n, 3))
    part[np.arange(n), :, np.arange(n), :] = free
    part, whole = part.reshape(3 * n, 3 * n), whole.reshape(3 * n, 3 * n)
    inside = part @ whole @ part + (np.eye(3 * n) - part)
    b = rng.normal(size=(n, 3, 8)).astype(np.float32)
    wanted = np.linalg.solve(inside, part @ b.reshape(3 * n, 8))
    inverse = level.inverse.numpy().copy()
    along = np.einsum("nij,nj->ni", inverse, normal)
    slides = along[:, :, None] * along[:, None, :] / np.einsum("ni,ni->n", normal, along)[:, None, None]
    inverse[mode == 1] -= slides[mode == 1]
    inverse[mode == 2] = 0.0
    room = Columns(constants.matrices.counts, 8, device)
    room.b[0].assign(b)
    own.inverse.assign(inverse)
    own.free.assign(free.astype(np.float32))
    own.held.assign(mode.astype(np.int32))
    with record() as recording:
        constants.matrices.hold(own.held, own.free)
        constants.solver.solve(room, own.inverse, own.free, tolerance=1e-5)
    recording.replay()
    found = room.x.numpy().astype(np.float64).reshape(3 * n, 8)
    size = lambda values: np.sqrt(np.einsum("ic,ij,jc->c", values, inside, values))
    assert (size(found - wanted) < 3e-5 * size(wanted)).all()
