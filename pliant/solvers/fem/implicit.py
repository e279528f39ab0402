"""The implicit step: backward Euler about the present state, or Newton's method on it."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.collide.soft.body_contacts import Found
from pliant.launch import copy, launch
from pliant.model.model import Model
from pliant.model.state import State
from pliant.solvers.fem import (
    cpu_kernels,
    hold_kernels,
    newton_kernels,
    pair_kernels,
    plastic_kernels,
    row_kernels,
    solve_kernels,
    tet_kernels,
)
from pliant.solvers.fem.data import Mesh, Pieces
from pliant.solvers.fem.descent import BlockDescent, make_step
from pliant.solvers.fem.hold_kernels import Holds
from pliant.solvers.fem.levels import Levels
from pliant.solvers.fem.momentum import Momentum
from pliant.solvers.fem.pairs import Pairs
from pliant.solvers.fem.settings import FemSettings
from pliant.solvers.fem.solve import Solve
from pliant.solvers.fem.tables import Tables
from pliant.solvers.protocol import World

# How far held particles are put into what holds them, over the median edge.
LEAN = 5e-3
# Fractions of a Newton step that the search tries: 1, 1/2, 1/4, ...
TRIALS = 6
# How often contacts between bodies are found in a step, and the relative residual of the solves before the last time.
FINDS, AHEAD = 2, 0.03
# Linear solves with the contacts that were found last: what each shows of them is taken into account by the next one.
SOLVES = 3
# Parts that the merit of a trial is added up from.
CHUNKS = 512


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
        rest_inv: inverse edges of each tet at rest [1/m]; plastic flow changes them. first_inv: those at build, where
            a body can yield.
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
        plastic = any(body.material.yields_at is not None for body in model.bodies)
        self.first_inv = wp.clone(self.rest_inv) if plastic else None
        turn = np.tile(np.array([0, 0, 0, 1], np.float32), (self.tets, 1))
        self.turn = wp.array(turn, dtype=wp.quat, device=device)
        self.mark = wp.zeros(self.tets if device == "cpu" else 0, dtype=wp.uint8, device=device)
        self.neo_hookean = settings.energy == "neo_hookean"
        self.pieces = Pieces()
        self.pieces.gradient = wp.zeros(self.tets, dtype=wp.mat44, device=device)
        self.pieces.force = wp.zeros(self.tets, dtype=wp.mat33, device=device)
        more = self.tets if self.neo_hookean else 0
        self.pieces.left, self.pieces.stretch = (wp.zeros(more, dtype=wp.mat33, device=device) for _ in range(2))
        self.pieces.straight, self.pieces.crossed = (wp.zeros(more, dtype=wp.vec3, device=device) for _ in range(2))
        self.block = wp.zeros(2 * self.edges + 1, dtype=wp.mat33, device=device)
        self.diagonal, self.inverse = (wp.zeros(n + 1, dtype=wp.mat33, device=device) for _ in range(2))
        vectors = lambda k: [wp.zeros(n + 2, dtype=wp.vec3, device=device) for _ in range(k)]
        self.force, self.gain, self.a, self.impulse = vectors(4)
        self.now = make_holds(n, device)
        self._has_search = False
        if settings.iterations > 1:
            self.allocate_search()
        self.lean = LEAN * float(np.median(model.springs.rest_length))
        self.levels = Levels(model, mesh, tables, device) if settings.preconditioner == "lattices" else None
        # without colliders there is nothing to revise
        self.meets = world.plane_count > 0 or not world.only_planes
        self.momentum = Momentum(model, mesh, device)
        self.descent = None
        if settings.integrator == "descent":
            self.descent = BlockDescent(model, mesh, tables, self.momentum, settings.sweeps, device)
        self.solve = Solve(mesh, n, self.first, self.count, self.levels, device)
        self.pairs: Pairs | None = None

    def allocate_search(self) -> None:
        """Make room for the search along a step of Newton's method."""
        if self._has_search:
            return
        self._has_search = True
        vectors = (wp.zeros(len(self.gain), dtype=wp.vec3, device=self.device) for _ in range(5))
        self.change, self.zero, self.gain_trial, self.x_trial, self.carry_trial = vectors
        self.parts = wp.zeros(CHUNKS, dtype=wp.float64, device=self.device)
        self.merit = wp.zeros(1 + TRIALS, dtype=wp.float64, device=self.device)
        self.fraction = wp.zeros(1, dtype=float, device=self.device)

    def can_meet(self) -> bool:
        """Whether contacts between bodies can act in the equations."""
        return self.descent is None and self.settings.iterations == 1

    def let_meet(self, body: np.ndarray) -> None:
        """Let contacts between bodies act in the equations; `body` of each particle (n,)."""
        self.none = wp.zeros(self.model.particles.count, dtype=wp.vec3, device=self.device)
        self.pairs = Pairs(self.model.particles.count, self.first, self.count, body, self.device)

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 4096) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def assemble(self, x: wp.array, carry: wp.array, dt: float) -> None:
        """Matrix and elastic forces about positions x [m] for a step of dt [s]."""
        inputs, outputs = [self.mesh, self.rest_inv, x, carry, dt], [self.turn, self.pieces]
        if self.neo_hookean or self.device != "cpu":
            tets = tet_kernels.neo_hookean_tets if self.neo_hookean else tet_kernels.corotated_tets
            launch(tets, self.tets, inputs, outputs, device=self.device, grain=1024)
        else:
            runs, inputs = -(-self.tets // int(cpu_kernels.RUN)), [*inputs, self.tets]
            tets = cpu_kernels.corotated_tet_runs
            launch(tets, runs, inputs, [*outputs, self.mark], device=self.device, grain=4)
        self._gather_edges()
        self._each(row_kernels.diagonals, [self.mesh, self.block, dt], [self.diagonal, self.inverse], grain=1024)
        self._each(row_kernels.gather_forces, [self.mesh, self.pieces], [self.force], grain=1024)

    def _gather_edges(self) -> None:
        """The blocks of the matrix beside its diagonal."""
        inputs = [self.mesh, self.pieces]
        if self.neo_hookean or self.device != "cpu":
            edges = row_kernels.neo_hookean_edges if self.neo_hookean else row_kernels.corotated_edges
            launch(edges, self.edges, inputs, [self.block], device=self.device, grain=1024)
        else:
            runs = -(-self.edges // int(cpu_kernels.RUN))
            edges = cpu_kernels.corotated_edge_runs
            launch(edges, runs, [*inputs, self.edges], [self.block], device=self.device, grain=8)

    def advance(
        self,
        state: State,
        before: Holds,
        now: tuple[wp.array, ...],
        later: tuple[wp.array, ...],
        dt: float,
        *,
        at_rest: bool = False,
    ) -> None:
        """From (x, carry, v, v_carry) now to the same later.

        At rest, where all velocities are zero, a step is one of Newton's method towards equilibrium, the better the
        longer it is; planes do not look ahead then.
        """
        x, carry, v, _ = now
        s, w = self.settings, state.inv_mass
        gravity = wp.vec3(*self.world.gravity)
        if self.first_inv is not None and not at_rest:
            inputs = [self.mesh, self.first_inv, x, carry, dt, self.turn]
            launch(plastic_kernels.flow, self.tets, inputs, [self.rest_inv], device=self.device, grain=1024)
        planes = 0 if at_rest else self.world.plane_count
        self._each(
            hold_kernels.begin_step,
            [self.mesh, self.world.planes, planes, w, x, v, self.a, before, gravity, dt, s.rest_speed],
            [self.now, self.gain],
        )
        if self.descent is not None and not at_rest:
            step = make_step(
                state, now, self.rest_inv, self.turn, gravity, dt,
                has_f_ext=self.world.has_f_ext, neo_hookean=self.neo_hookean,
            )  # fmt: skip
            self.descent.solve(step, self.now, self.turn, self.a, self.gain, self.solve.r)
        elif self.pairs is not None and not at_rest:
            # where velocities lead to; `meet` does the rest
            self.assemble(x, carry, dt)
            self._each(pair_kernels.show_ahead, [*now[:3], self.none, dt], [later[0], later[2]])
            return
        elif not at_rest:
            self.assemble(x, carry, dt)
            self._solve(state, v, gravity, dt, self.gain, 1.0, is_first=True)
            if self.meets:
                revised = [self.mesh, w, v, self.solve.r, dt]
                self._each(hold_kernels.revise_holds, revised, [self.now, self.gain])
                self._solve(state, v, gravity, dt, self.gain, 1.0)
        more = 0 if self.descent is not None else s.iterations - 1
        for _ in range(1 if at_rest else more):
            self._improve(state, now, gravity, dt)
        self._end(w, now, later, dt)

    def _end(self, inv_mass: wp.array, now: tuple[wp.array, ...], later: tuple[wp.array, ...], dt: float) -> None:
        """What the solve has left of momenta, positions and velocities, and what holds particles."""
        self.momentum.find(inv_mass, self.now, self.solve.r, dt)
        self._each(
            hold_kernels.end_step,
            [self.mesh, inv_mass, *now, self.gain, self.solve.r, self.momentum.shift, dt, self.lean],
            [self.now, self.a, self.impulse, *later],
        )

    def meet_bodies(
        self,
        state: State,
        found: Found,
        turn: int,
        now: tuple[wp.array, ...],
        later: tuple[wp.array, ...],
        dt: float,
    ) -> None:
        """Go on with the contacts between bodies that were found where the step leads to so far: first where
        velocities lead to, then where a first solve with contacts does, which the last ones end.
        """
        pairs, is_last = self.pairs, turn + 1 == FINDS
        assert pairs is not None
        v, w = now[2], state.inv_mass
        gravity = wp.vec3(*self.world.gravity)
        pairs.take(state, found, self.inverse, dt, self.settings.rest_speed)
        for k in range(SOLVES if is_last else 1):
            is_guess = turn + k == 0
            if not is_guess and self.meets:
                self._each(hold_kernels.revise_holds, [self.mesh, w, v, self.solve.r, dt], [self.now, self.gain])
            pairs.press(v, self.gain, is_new=k == 0, is_guess=is_guess, is_last=k + 1 == SOLVES)
            tolerance = 0.0 if is_last else AHEAD
            self._solve(
                state, v, gravity, dt, self.gain, 1.0, is_first=is_guess, tolerance=tolerance, pairs=pairs
            )  # fmt: skip
        if is_last:
            pairs.finish(v, self.gain)
            self._end(w, now, later, dt)
        else:
            self._each(pair_kernels.show_ahead, [*now[:3], self.gain, dt], [later[0], later[2]])
        pairs.push_others(state, found.light, dt)

    def _improve(self, state: State, now: tuple[wp.array, ...], gravity: wp.vec3, dt: float) -> None:
        """One more step of Newton's method: a solve about where the velocities lead to, and a search along it."""
        x, carry, v, _ = now
        here = [x, carry, v, self.gain]
        there = [self.gain_trial, self.x_trial, self.carry_trial]
        self._each(newton_kernels.trial, [*here, self.gain, 0.0, dt], there)
        self.assemble(self.x_trial, self.carry_trial, dt)
        self._note_merit(state, v, gravity, dt, 0)
        copy(self.change, self.zero)
        self._solve(state, v, gravity, dt, self.change, 0.0)
        for t in range(TRIALS):
            self._each(newton_kernels.trial, [*here, self.change, 0.5**t, dt], there)
            self._note_merit(state, v, gravity, dt, 1 + t)
        launch(newton_kernels.choose_fraction, 1, [self.merit, TRIALS], [self.fraction], device=self.device)
        self._each(newton_kernels.take, [self.change, self.fraction], [self.gain])

    def _note_merit(self, state: State, v: wp.array, gravity: wp.vec3, dt: float, place: int) -> None:
        """Store what implicit Euler minimises at the trial."""
        forced = [state.f_ext, int(self.world.has_f_ext), state.inv_mass, v, self.gain_trial, self.now, gravity, dt]
        span = [self.first, self.count, CHUNKS]
        particles = [self.mesh, self.block, *forced, *span]
        launch(newton_kernels.merit_particles, CHUNKS, particles, [self.parts], device=self.device, grain=64)
        tets = [self.mesh, self.rest_inv, self.x_trial, self.carry_trial, self.turn, int(self.neo_hookean)]
        inputs = [*tets, self.tets, CHUNKS]
        launch(newton_kernels.merit_tets, CHUNKS, inputs, [self.parts], device=self.device, grain=64)
        launch(newton_kernels.note_merit, 1, [self.parts, place], [self.merit], device=self.device)

    def _solve(
        self,
        state: State,
        v: wp.array,
        gravity: wp.vec3,
        dt: float,
        change: wp.array,
        ahead: float,
        *,
        is_first: bool = False,
        tolerance: float = 0.0,
        pairs: Pairs | None = None,
    ) -> None:
        """Solve for the gain itself, or for its change; the residual is that of the present gain.

        The tolerance is that of the settings, or a larger one. Contacts between bodies are those of `pairs`.
        """
        solve, w = self.solve, state.inv_mass
        rows = [self.mesh, self.block, self.diagonal, self.inverse, self.force]
        outside = [state.f_ext, int(self.world.has_f_ext)]
        self._each(
            solve_kernels.begin_rows,
            [*rows, *outside, w, v, self.now, self.gain, gravity, dt, ahead],
            [solve.r, solve.free, solve.z, solve.size],
            grain=1024,
        )
        inverse = self.inverse
        if pairs is not None:
            pairs.load(w, self.now, self.diagonal, self.inverse, solve)
            inverse = pairs.inverse
        if self.levels is not None:
            add_more = None if pairs is None else pairs.add_measures
            self.levels.prepare(w, self.now, self.diagonal, dt, add_more)
        solve.begin(w, self.now, max(self.settings.cg_tolerance, tolerance), is_first=is_first)
        solve.run(w, self.now, self.diagonal, self.block, inverse, change, self.settings.cg_iterations, pairs)
