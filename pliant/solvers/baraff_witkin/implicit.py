"""The implicit step: one linear solve about the present state, thrown away and halved where it is too violent."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch, repeat_while
from pliant.model.model import Model
from pliant.model.state import State
from pliant.solvers.baraff_witkin import sheet_kernels, solve_kernels, step_kernels
from pliant.solvers.baraff_witkin.settings import BaraffWitkinSettings
from pliant.solvers.baraff_witkin.tables import cloth_tables, make_pieces
from pliant.solvers.common.cg_kernels import block_product
from pliant.solvers.common.conjugate_gradients import ConjugateGradients
from pliant.solvers.protocol import World

# Parts of a dot product: one after the other on the CPU, a thread for each on CUDA.
CHUNKS = {"cpu": 32, "cuda": 1024}
# Change of velocity that a solve need not resolve [m/s].
STILL = 1e-8
# How far held particles are put into what holds them, over the median edge.
LEAN = 5e-3

# What holds each particle: how, the surface's normal and velocity [m/s], its kinetic and static friction, and what
# friction does to it [N].
Holds = tuple[wp.array, wp.array, wp.array, wp.array, wp.array]


class ImplicitStep:
    """The tables and scratch arrays of the step.

    Attributes:
        hold, normal, rub: what holds the particles during a step, and its friction [N].
        tally: counts of `step_kernels`; a: the last acceleration, from which a solve starts.
        impulse: what held each particle gave it in the last step [N s].
    """

    def __init__(self, model: Model, state: State, world: World, settings: BaraffWitkinSettings, device: str) -> None:
        self.device = device
        self.world = world
        self.settings = settings
        self.first = model.bodies[0].particles[0]
        self.count = model.bodies[-1].particles[1] - self.first
        self.cloth = cloth_tables(model, state.awake_of(model.body_numbers), poisson=settings.poisson, device=device)
        self.triangles, self.hinges = len(self.cloth.corners), len(self.cloth.hinges)
        self.pieces = make_pieces(self.triangles, self.hinges, device)
        self.chunks = CHUNKS["cpu" if device == "cpu" else "cuda"]
        n = model.particles.count
        mass = float(model.particles.mass[self.first : self.first + self.count].sum())
        self.floor = mass * STILL**2
        self.lean = LEAN * float(np.median(model.springs.rest_length))
        rest = model.particles.rest[self.first : self.first + self.count]
        # roundings of many particles cancel in part
        self.grain = float(0.1 * 2.0**-24 * np.abs(rest).max())
        vectors = lambda k: [wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(k)]
        self.b, self.b_scaled, self.z, self.guess, self.dv, self.noise = vectors(6)
        self.x_new, self.v_new, self.push, self.impulse, self.normal, self.a, self.rub, self.rub_new = vectors(8)
        self.hold, self.hold_new = (wp.zeros(n, dtype=int, device=device) for _ in range(2))
        self.diagonal, self.inverse = (wp.zeros(n, dtype=wp.mat33, device=device) for _ in range(2))
        self.block = wp.zeros(len(self.cloth.row_other), dtype=wp.mat33, device=device)
        self.cg = ConjugateGradients(n, self.first, self.count, self.chunks, device, grain=8192)
        self.b_parts, self.noise_parts = (wp.zeros(self.chunks, dtype=wp.float64, device=device) for _ in range(2))
        self.worst = wp.zeros(self.chunks, dtype=float, device=device)
        self.trying = wp.zeros(1, dtype=int, device=device)
        self.step = wp.zeros(1, dtype=float, device=device)
        self.tally = wp.zeros(step_kernels.SIZE, dtype=int, device=device)

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 8192) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def _one(self, kernel: object, inputs: list, outputs: list) -> None:
        launch(kernel, 1, inputs, outputs, device=self.device)

    def advance(self, state: State, held_by: Holds, dt: float) -> None:
        """From state.x and v to x_next and v_next, dt [s] later, in as many steps as it takes."""
        s = self.settings
        hold, normal, grip, mu, rub = held_by
        here = [state.x_next, state.v_next, self.hold, self.normal, self.rub]
        self._each(
            step_kernels.start_from, [state.inv_mass, state.x, state.v, hold, normal, rub], [*here, self.impulse]
        )
        self._one(step_kernels.begin_step, [s.halvings], [self.tally, self.trying])

        def attempt() -> None:
            self._one(step_kernels.begin_attempt, [self.tally, s.halvings, dt], [self.step])
            self.assemble(state, grip)
            self.solve(state.inv_mass)
            held = [state.inv_mass, self.hold, self.normal, grip]
            self._each(
                step_kernels.move,
                [*held, mu, self.rub, state.x_next, state.v_next, self.dv, self.cg.r, self.step],
                [self.x_new, self.v_new, self.hold_new, self.rub_new, self.push],
            )
            launch(
                step_kernels.worst_change,
                self.chunks,
                [self.cloth, state.x_next, self.x_new, self.triangles, self.chunks],
                [self.worst],
                device=self.device,
                grain=max(1, 16384 * self.chunks // max(self.triangles, 1)),
            )
            self._one(
                step_kernels.judge,
                [self.worst, self.cg.scalars, s.stretch_change, s.halvings, s.good_steps],
                [self.tally, self.trying],
            )
            self._each(
                step_kernels.keep_attempt,
                [self.tally, self.step, self.x_new, self.v_new, self.hold_new, self.rub_new, self.push],
                [state.x_next, state.v_next, self.hold, self.rub, self.a, self.impulse],
            )

        repeat_while(self.trying, attempt, device=self.device)
        self._each(step_kernels.lean_in, [self.hold, self.normal, self.lean], [state.x_next])

    def assemble(self, state: State, grip: wp.array) -> None:
        """The linear system about x_next and v_next for a step of `self.step`, and where its solve begins."""
        held = [state.inv_mass, self.hold, self.normal, grip]
        self._each(step_kernels.prescribe, [*held, state.v_next, self.a, self.step], [self.z, self.guess, self.dv])
        x = [self.cloth, state.x_next, self.step]
        launch(sheet_kernels.stretch_triangles, self.triangles, x, [self.pieces], device=self.device, grain=4096)
        launch(sheet_kernels.fold_hinges, self.hinges, x, [self.pieces], device=self.device, grain=4096)
        self._each(
            sheet_kernels.assemble_rows,
            [
                self.cloth,
                self.pieces,
                state.inv_mass,
                state.f_ext,
                int(self.world.has_f_ext),
                state.v_next,
                self.hold,
                self.normal,
                self.rub,
                self.z,
                self.guess,
                wp.vec3(*self.world.gravity),
                self.grain,
                self.step,
            ],
            [self.diagonal, self.block, self.inverse, self.b, self.b_scaled, self.cg.r, self.cg.d, self.noise],
            grain=512,
        )

    def solve(self, inv_mass: wp.array) -> None:
        """Modified conjugate gradients for dv, which holds what is prescribed and the guess."""
        s, cg = self.settings, self.cg
        cg.dot(self.b, self.b_scaled, self.b_parts)
        cg.dot(cg.r, cg.d)
        cg.dot(self.noise, self.noise, self.noise_parts)
        self._one(
            solve_kernels.begin_solve,
            [self.b_parts, cg.parts, self.noise_parts, s.cg_tolerance, self.floor],
            [cg.scalars, cg.going],
        )
        rows, held = [self.cloth.row_starts, self.cloth.row_other], [inv_mass, self.hold, self.normal, self.inverse]
        sleeping = [self.cloth.body, self.cloth.awake]
        cg.run(
            lambda: self._each(block_product, [*rows, *sleeping, self.diagonal, self.block, cg.d], [cg.q], grain=1536),
            lambda: self._each(solve_kernels.descend, [*held, cg.d, cg.q, cg.scalars], [self.dv, cg.r, cg.z]),
            s.cg_iterations,
        )
