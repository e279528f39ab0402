"""Vertex block descent over coloured particles: another way to solve the implicit step."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh.coloring import color_vertices
from pliant.model.model import Model
from pliant.model.state import State
from pliant.solvers.fem import descent_kernels as kernels
from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import Holds
from pliant.solvers.fem.momentum import Momentum
from pliant.solvers.fem.tables import Tables


class BlockDescent:
    """The colours of the particles, and the sweeps over them."""

    def __init__(self, model: Model, mesh: Mesh, tables: Tables, momentum: Momentum, sweeps: int, device: str) -> None:
        self.mesh, self.sweeps, self.device = mesh, sweeps, device
        self.first = model.bodies[0].particles[0]
        self.count = model.bodies[-1].particles[1] - self.first
        self.tets = len(tables.corners)
        coloring = color_vertices((tables.edges - self.first).astype(np.int32), self.count)
        self.starts = [int(k) for k in coloring.starts]
        self.momentum = momentum
        self.landings = wp.zeros(momentum.bodies * int(kernels.LANDING_PARTS), dtype=int, device=device)
        self.order = wp.array((coloring.order + self.first).astype(np.int32), dtype=int, device=device)

    def solve(
        self,
        step: kernels.Descent,
        holds: Holds,
        turn: wp.array,
        a: wp.array,
        gain: wp.array,
        r: wp.array,
    ) -> None:
        """Improve the gain of velocity by all sweeps, and write what is left; a is the last acceleration."""
        spans = self.momentum.spans
        counted = [self.landings]
        launch(kernels.count_landings, len(self.landings), [spans, holds], counted, device=self.device, grain=8)
        begin_with = [self.mesh, self.landings, step, holds, a]
        launch(kernels.choose_start, self.count, begin_with, [gain], device=self.device, first=self.first)
        for _ in range(self.sweeps):
            for begin, end in zip(self.starts[:-1], self.starts[1:], strict=True):
                launch(
                    kernels.descend,
                    end - begin,
                    [self.order, self.mesh, step, holds],
                    [gain],
                    device=self.device,
                    first=begin,
                    grain=256,
                    block_dim=64,
                )
        inputs = [self.mesh, step, holds, gain]
        launch(kernels.leave, self.count, inputs, [r], device=self.device, first=self.first, grain=256)
        if step.neo_hookean == 0:
            launch(kernels.note_turns, self.tets, [self.mesh, step, gain], [turn], device=self.device, grain=1024)


def make_step(
    state: State,
    now: tuple[wp.array, ...],
    rest_inv: wp.array,
    turn: wp.array,
    gravity: wp.vec3,
    dt: float,
    *,
    has_f_ext: bool,
    neo_hookean: bool,
) -> kernels.Descent:
    """What does not change during a step."""
    step = kernels.Descent()
    step.x, step.carry, step.v = now[:3]
    step.rest_inv, step.turn = rest_inv, turn
    step.f_ext, step.inv_mass = state.f_ext, state.inv_mass
    step.gravity, step.dt = gravity, dt
    step.has_f_ext, step.neo_hookean = int(has_f_ext), int(neo_hookean)
    return step
