"""The conditions of a cloth against finite differences of its energy in float64, and the linear system they make."""

import numpy as np
import pytest
import warp as wp
from bodies import deformed, make_sim

from pliant import Material, shapes

CLOTH = Material(
    density=400.0, thickness=1e-3, young=4e5, young_weft=2e5, shear=5e4, bending=1e-4, poisson=0.3, damping=0.0
)


def assembled(sim, x, v=None, h=1e-3):
    """The linear system about positions x: matrix (3n, 3n) of A, residual r (n, 3), in the order of particles."""
    solver = sim.solvers[0]
    step = solver.implicit
    sim.set_state("body", x, np.zeros_like(x) if v is None else v)
    state = sim.state
    wp.copy(state.x_next, state.x)
    wp.copy(state.v_next, state.v)
    step.a.zero_()
    step.step.assign(np.array([h], np.float32))
    step.assemble(state, solver.grip)
    n = state.count
    matrix = np.zeros((n, 3, n, 3))
    matrix[np.arange(n), :, np.arange(n), :] = step.diagonal.numpy()
    starts, other = step.cloth.row_starts.numpy(), step.cloth.row_other.numpy()
    owner = np.repeat(np.arange(n), np.diff(starts))
    matrix[owner, :, other, :] = step.block.numpy()
    return matrix.reshape(3 * n, 3 * n), step.cg.r.numpy().astype(float)


def force_differences(solver, x, eps=1e-6):
    """Minus the gradient of the energy at x (n, 3), by central differences."""
    out = np.zeros_like(x)
    for i in range(len(x)):
        for k in range(3):
            step = np.zeros_like(x)
            step[i, k] = eps
            out[i, k] = -(solver.energy(x + step) - solver.energy(x - step)) / (2 * eps)
    return out


@pytest.fixture(params=[True, False], ids=["poisson", "paper"])
def bent(request):
    """A small sheet that is stretched, sheared and folded everywhere, in the order of particles."""
    mesh = shapes.sheet((0.3, 0.2), (3, 2))
    sim = make_sim(mesh, CLOTH, method="baraff_witkin", poisson=request.param, body={"warp": (1.0, 0.0, 0.4)})
    return mesh, sim, deformed(mesh, 0.15)


def test_the_force_is_minus_the_gradient(bent):
    _, sim, x = bent
    _, r = assembled(sim, x, h=1e-3)
    expected = force_differences(sim.solvers[0], sim.state.x.numpy().astype(float))
    np.testing.assert_allclose(r / 1e-3, expected, atol=2e-4 * np.abs(expected).max())


def test_gauss_newton_is_the_hessian_at_rest(bent):
    """At rest no second derivative has a factor: the stiffness is the whole Hessian of the energy."""
    mesh, sim, _ = bent
    h = 1.0
    matrix, _ = assembled(sim, mesh.vertices, h=h)
    x = sim.state.x.numpy().astype(float)
    stiffness = (matrix - np.kron(np.diag(sim.model.particles.mass), np.eye(3))) / h**2
    columns = []
    for direction in np.eye(x.size).reshape(-1, *x.shape):
        step = 1e-5 * direction
        up = force_differences(sim.solvers[0], x + step, 1e-5)
        down = force_differences(sim.solvers[0], x - step, 1e-5)
        columns.append(-(up - down).ravel() / 2e-5)
    expected = np.array(columns).T
    np.testing.assert_allclose(stiffness, expected, atol=2e-3 * np.abs(expected).max())


def test_the_matrix_is_symmetric_and_positive(bent):
    mesh, sim, _ = bent
    for seed in range(4):
        matrix, _ = assembled(sim, deformed(mesh, 0.4, seed), h=0.05)
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-5 * np.abs(matrix).max())
        least = np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min()
        assert least > 0.9 * sim.model.particles.mass.min()


def test_tension_stiffens_as_the_hessian_says():
    """Pulled, a sheet resists a small move out of its plane: the second derivative of stretch, against differences."""
    mesh = shapes.sheet((0.2, 0.2), (2, 2))
    sim = make_sim(mesh, Material(**{**vars(CLOTH), "bending": 0.0}), method="baraff_witkin", poisson=False)
    matrix, _ = assembled(sim, mesh.vertices * [1.05, 1.0, 1.03], h=1.0)
    x = sim.state.x.numpy().astype(float)
    i = int(np.argmin(np.abs(x).sum(axis=1)))
    step = np.zeros_like(x)
    step[i, 1] = 1e-5
    up, down = (force_differences(sim.solvers[0], x + s * step, 1e-5)[i, 1] for s in (1, -1))
    found = matrix[3 * i + 1, 3 * i + 1] - sim.model.particles.mass[i]
    assert found == pytest.approx(-(up - down) / 2e-5, rel=1e-3) and found > 0


def test_damping_takes_energy_and_no_momentum(bent):
    """What damping adds to the matrix is a force against each condition's rate: it resists, and sums to nothing."""
    mesh, _, x = bent
    h, tau = 1e-3, 0.02
    rng = np.random.default_rng(2)
    v = rng.normal(size=x.shape)
    sims = [
        make_sim(mesh, Material(**{**vars(CLOTH), "damping": damping}), method="baraff_witkin")
        for damping in (0.0, tau)
    ]
    (plain, _), (damped, _) = (assembled(sim, x, h=h) for sim in sims)
    force = -((damped - plain) / h) @ v.ravel()
    assert force @ v.ravel() < 0
    assert np.abs(force.reshape(-1, 3).sum(axis=0)).max() < 1e-4 * np.abs(force).sum()
    # turning as a whole changes no condition
    spin = np.cross([1.0, -2.0, 0.5], sims[0].state.x.numpy()).ravel()
    assert np.abs(((damped - plain) / h) @ spin).max() < 1e-3 * np.abs(force).max()


def test_modified_cg_equals_a_dense_constrained_solve(bent):
    """Pinned particles do not move, sliding ones move in their plane, the others solve the equations that are left."""
    _, sim, x = bent
    solver, step = sim.solvers[0], sim.solvers[0].implicit
    rng = np.random.default_rng(4)
    n = sim.state.count
    sim.pin("body", np.array([0, 3]))
    hold = np.zeros(n, np.int32)
    inv_mass = sim.state.inv_mass.numpy()
    free = np.flatnonzero(inv_mass > 0)
    hold[free[:3]], hold[free[3]] = 1, 2
    normal = rng.normal(size=(n, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    normal = normal.astype(np.float32)
    sim.set_state("body", x, 0.3 * rng.normal(size=x.shape))
    step.hold.assign(hold)
    step.normal.assign(normal)
    state = sim.state
    h = 5e-3
    v = state.v.numpy()
    surface = rng.normal(size=(n, 3)).astype(np.float32)
    solver.grip.assign(surface)
    object.__setattr__(sim.solvers[0].settings, "cg_tolerance", 1e-6)
    matrix, _ = assembled(sim, sim.positions(), sim.velocities(), h)
    step.solve(state.inv_mass)
    dv = step.dv.numpy().astype(float)
    z = np.where((hold == 2)[:, None], surface - v, 0.0)
    along = ((surface - v) * normal).sum(axis=1)[:, None] * normal
    z = np.where((hold == 1)[:, None], along, z)
    z[inv_mass == 0] = 0.0
    projection = np.zeros((n, 3, n, 3))
    for i in range(n):
        block = np.eye(3)
        if inv_mass[i] == 0 or hold[i] == 2:
            block = np.zeros((3, 3))
        elif hold[i] == 1:
            block = np.eye(3) - np.outer(normal[i], normal[i])
        projection[i, :, i, :] = block
    s = projection.reshape(3 * n, 3 * n)
    step.a.zero_()
    step.assemble(state, solver.grip)
    r = step.cg.r.numpy().astype(float).ravel()  # what is left at dv = z
    expected = z.ravel() + np.linalg.pinv(s @ matrix @ s, rcond=1e-9) @ (s @ r)
    np.testing.assert_allclose(dv.ravel(), expected, atol=2e-4 * np.abs(expected).max())
