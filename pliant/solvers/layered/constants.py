"""What stays the same while the length of the step does: the matrix on all levels, and how layers lag behind cores."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch, record
from pliant.solvers.layered import load_kernels
from pliant.solvers.layered.data import Constants, Layer
from pliant.solvers.layered.hierarchy import Pattern
from pliant.solvers.layered.level_kernels import Transfer
from pliant.solvers.layered.levels import Columns, LevelSolver, Matrices
from pliant.solvers.layered.settings import LayeredSettings

FINE = 1e-7
"""Error of what is solved for once."""


class StepConstants:
    """Constants of a step of dt [s].

    Attributes:
        data: for the kernels. matrices: A on all levels. solver: of its systems.
        iterations: products with A in a solve. condition: of the preconditioned matrix, of the worst body.
    """

    def __init__(
        self,
        layer: Layer,
        starts: np.ndarray,
        levels: tuple[list[Pattern], list[Transfer]],
        dt: float,
        settings: LayeredSettings,
        device: str,
    ) -> None:
        self.device = device
        self.layer = layer
        self.count = int(starts[-1])
        mass = layer.mass.numpy().astype(np.float64)
        scale = dt * (dt + layer.damping.numpy().astype(np.float64))
        owner = layer.body.numpy()
        diagonal = mass[:, None, None] * np.eye(3) + scale[owner, None, None] * layer.diagonal.numpy()
        rows = levels[0][0].rows
        self.matrices = Matrices(*levels, device)
        self.matrices.fill(scale[owner[rows], None, None] * layer.block.numpy(), diagonal)
        self.solver = LevelSolver(self.matrices, starts, settings.tolerance, settings.most_iterations, device)
        self.iterations, self.condition = self.solver.iterations, self.solver.condition
        data = Constants()
        data.scale = wp.array(scale.astype(np.float32), dtype=float, device=device)
        data.inverse = self.matrices.levels[0].inverse
        self.data = data
        self._follow_cores(mass, 4 * settings.most_iterations)

    def _follow_cores(self, mass: np.ndarray, most: int) -> None:
        """How the layer lags behind its core, A^-1 M_ec, and what a node gives where all are pushed."""
        room = Columns(self.matrices.counts, 8, self.device)
        with record() as recording:
            b = room.matrices(room.b[0], load_kernels.mat38)
            launch(load_kernels.load_core, self.count, [self.layer], [b], device=self.device)
            self.solver.solve(room, tolerance=FINE, most=most)
        recording.replay()
        found = room.x.numpy().astype(np.float64)
        drift, swing = found[:, :, 1:4], found[:, :, 4:7]
        give = drift / mass[:, None, None]
        values, vectors = np.linalg.eigh(0.5 * (give + give.transpose(0, 2, 1)))
        # a node gives way no more than it would alone, and a little always
        values = np.clip(values, 1e-6 / mass[:, None], (1.0 - 1e-6) / mass[:, None])
        give = np.einsum("nij,nj,nkj->nik", vectors, values, vectors)
        for name, table in (("drift", drift), ("swing", swing), ("give", give)):
            values = np.ascontiguousarray(table.astype(np.float32))
            setattr(self.data, name, wp.array(values, dtype=wp.mat33, device=self.device))
