"""The implicit step: backward Euler about the present state, or Newton's method on it."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Model
from pliant.model.state import State
from pliant.solvers.fem import hold_kernels, row_kernels, solve_kernels, tet_kernels
from pliant.solvers.fem.data import Mesh, Pieces
from pliant.solvers.fem.hold_kernels import Holds
from pliant.solvers.fem.settings import FemSettings
from pliant.solvers.fem.solve import Solve
from pliant.solvers.fem.tables import Tables
from pliant.solvers.protocol import World

# How far held particles are put into what holds them, over the median edge.
LEAN = 5e-3


def make_holds(n: int, device: str) -> Holds:
    """Nothing holds any particle."""
    holds = Holds()
    holds.how = wp.zeros(n, dtype=int, device=device)
    holds.normal, holds.grip, holds.rub = (wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(3))
    holds.mu = wp.zeros(n, dtype=wp.vec2, device=device)
    return holds


class ImplicitStep:
    """The tables and scratch arrays of the step.

    Attributes:
        rest_inv: inverse edges of each tet at rest [1/m]; plastic flow changes them.
        turn: rotation of each tet, where the next search starts.
        a: the last acceleration [m/s^2], from which a solve starts; impulse: what held each particle gave it [N s].
    """

    def __init__(
        self, model: Model, mesh: Mesh, tables: Tables, world: World, settings: FemSettings, device: str
    ) -> None:
        self.model, self.mesh, self.world, self.settings, self.device = model, mesh, world, settings, device
        self.first = model.bodies[0].particles[0]
        self.count = model.bodies[-1].particles[1] - self.first
        self.tets, self.edges = len(tables.corners), len(tables.edges)
        n = model.particles.count
        self.rest_inv = wp.array(tables.rest_inv.astype(np.float32), dtype=wp.mat33, device=device)
        turn = np.tile(np.array([0, 0, 0, 1], np.float32), (self.tets, 1))
        self.turn = wp.array(turn, dtype=wp.quat, device=device)
        self.neo_hookean = settings.energy == "neo_hookean"
        self.pieces = Pieces()
        self.pieces.gradient = wp.zeros(self.tets, dtype=wp.mat44, device=device)
        self.pieces.force = wp.zeros(self.tets, dtype=wp.mat33, device=device)
        more = self.tets if self.neo_hookean else 0
        self.pieces.left, self.pieces.stretch = (wp.zeros(more, dtype=wp.mat33, device=device) for _ in range(2))
        self.pieces.straight, self.pieces.crossed = (wp.zeros(more, dtype=wp.vec3, device=device) for _ in range(2))
        self.block = wp.zeros(2 * self.edges + 1, dtype=wp.mat33, device=device)
        self.diagonal, self.inverse = (wp.zeros(n, dtype=wp.mat33, device=device) for _ in range(2))
        vectors = lambda k: [wp.zeros(n + 2, dtype=wp.vec3, device=device) for _ in range(k)]
        self.force, self.gain, self.a, self.impulse = vectors(4)
        self.now = make_holds(n, device)
        self.lean = LEAN * float(np.median(model.springs.rest_length))
        self.solve = Solve(mesh, n, self.first, self.count, device)

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 4096) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def assemble(self, x: wp.array, carry: wp.array, dt: float) -> None:
        """Matrix and elastic forces about positions x [m] for a step of dt [s]."""
        tets = tet_kernels.neo_hookean_tets if self.neo_hookean else tet_kernels.corotated_tets
        edges = row_kernels.neo_hookean_edges if self.neo_hookean else row_kernels.corotated_edges
        inputs = [self.mesh, self.rest_inv, x, carry, dt]
        launch(tets, self.tets, inputs, [self.turn, self.pieces], device=self.device, grain=1024)
        launch(edges, self.edges, [self.mesh, self.pieces], [self.block], device=self.device, grain=1024)
        self._each(row_kernels.diagonals, [self.mesh, self.block, dt], [self.diagonal, self.inverse], grain=1024)
        self._each(row_kernels.gather_forces, [self.mesh, self.pieces], [self.force], grain=1024)

    def advance(
        self,
        state: State,
        before: Holds,
        now: tuple[wp.array, ...],
        later: tuple[wp.array, ...],
        dt: float,
    ) -> None:
        """From (x, carry, v, v_carry) now to the same later."""
        x, carry, v, _ = now
        s, w = self.settings, state.inv_mass
        gravity = wp.vec3(*self.world.gravity)
        self._each(
            hold_kernels.begin_step,
            [self.mesh, self.world.planes, self.world.plane_count, w, x, v, self.a, before, gravity, dt, s.rest_speed],
            [self.now, self.gain],
        )
        self.assemble(x, carry, dt)
        self._solve(state, v, gravity, dt, 1.0)
        self._each(
            hold_kernels.end_step,
            [self.mesh, w, *now, self.gain, self.solve.r, dt, self.lean],
            [self.now, self.a, self.impulse, *later],
        )

    def _solve(self, state: State, v: wp.array, gravity: wp.vec3, dt: float, ahead: float) -> None:
        solve, w = self.solve, state.inv_mass
        rows = [self.mesh, self.block, self.diagonal, self.inverse, self.force]
        outside = [state.f_ext, int(self.world.has_f_ext)]
        self._each(
            solve_kernels.begin_rows,
            [*rows, *outside, w, v, self.now, self.gain, gravity, dt, ahead],
            [solve.r, solve.z, solve.size],
            grain=1024,
        )
        solve.begin(self.settings.cg_tolerance)
        solve.run(w, self.now, self.diagonal, self.block, self.inverse, self.gain, self.settings.cg_iterations)
