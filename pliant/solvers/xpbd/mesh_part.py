"""All sheets and solids of XPBD: their constraints in tables on the device, and the passes over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh.surface import SurfaceMesh
from pliant.model.model import Body, Model
from pliant.model.state import State
from pliant.solvers.common.tearing import Tearing
from pliant.solvers.xpbd.constraint_kernels import Pass, Tables
from pliant.solvers.xpbd.constraints import Constraints, body_constraints
from pliant.solvers.xpbd.cuda_shared import KINDS, SharedPatches
from pliant.solvers.xpbd.energy import elastic_energy
from pliant.solvers.xpbd.levels import CUDA_LARGE, CUDA_PATCH, PATCH, Runs, order_constraints
from pliant.solvers.xpbd.long_range import LongRange
from pliant.solvers.xpbd.settings import XpbdSettings
from pliant.solvers.xpbd.ties import Ties, can_tear
from pliant.solvers.xpbd.torn import followed, torn_sheet

CUDA_BLOCKS = True
"""Whether a CUDA block walks a patch with barriers; if not, there is a launch for each colour."""
NANOSECONDS = {"bend": 20.0, "fold": 150.0, "tet": 250.0, "triangle": 60.0, "distance": 8.0}
"""About what a constraint costs one CPU thread [ns]."""
WORTH_A_THREAD = 1.5e5
"""Work below which a CPU thread costs more than it saves [ns]."""


class MeshPart:
    """The constraints of the sheets and solids of a model."""

    def __init__(
        self,
        model: Model,
        bodies: list[Body],
        state: State,
        settings: XpbdSettings,
        base: wp.array,
        pace: wp.array,
        device: str,
    ) -> None:
        self.device = device
        self.settings = settings
        self.base = base
        self.pace = pace
        firsts = [body.particles[0] for body in bodies]
        parts = [body_constraints(body, settings) for body in bodies]
        self.constraints = Constraints.joined(parts, firsts)
        laws = self.constraints.laws()
        self.runs = order_constraints(
            [law.corners for law in laws],
            model.particles.rest,
            [body.particles for body in bodies],
            PATCH if device == "cpu" or state.count < CUDA_LARGE else CUDA_PATCH,
        )
        self._pinned = np.zeros(0, np.int64)
        self._body = model.particles.body - model.body_numbers[0]
        self._awake = state.awake_of(model.body_numbers)
        self.tables = self._tables(self.runs, state)
        self.long_range = [
            LongRange(body, settings.long_range_slack, device)
            for body in bodies
            if settings.long_range and isinstance(body.own.mesh, SurfaceMesh) and not can_tear(body)
        ]
        sheets = [body for body in bodies if can_tear(body)]
        self.ties = Ties(sheets, self.constraints, self.runs, device) if sheets else None
        self.tearing = Tearing([torn_sheet(model, body) for body in sheets], state.count, device) if sheets else None
        self._grains = [self._grain(level) for level in range(self.runs.levels)]
        self._kernel: Any
        self._shared: Any = None
        if device == "cpu":
            from pliant.solvers.xpbd.cpu_kernels import solve_patches

            self._kernel = solve_patches
        else:
            from pliant.solvers.xpbd.cuda_kernels import BLOCK, block_kernel, solve_round

            present = {name: len(law.corners) > 0 for name, law in zip(Constraints.KINDS, laws, strict=True)}
            self._block = BLOCK // 2 if present["tet"] else BLOCK
            self._kernel = block_kernel(self._block, **present) if CUDA_BLOCKS else solve_round
            if self.ties is None and not any(present[name] for name in present if name not in KINDS):
                self._shared = self._shared_patches(state.count)

    # ---- tables -------------------------------------------------------------------------------------------------

    def _tables(self, runs: Runs, state: State) -> Tables:
        """Everything the kernels read, in the order of the runs."""
        out = Tables()
        several = self.settings.iterations > 1

        def put(name: str, values: np.ndarray, dtype: Any) -> None:
            kind = np.int32 if dtype in (int, wp.vec2i, wp.vec3i, wp.vec4i) else np.float32
            setattr(out, name, wp.array(np.ascontiguousarray(values, kind), dtype=dtype, device=self.device))

        def sums(name: str, count: int, dtype: Any) -> None:
            setattr(out, name, wp.zeros(count if several else 0, dtype=dtype, device=self.device))

        for name, values in (
            ("patch_runs", runs.patch_runs),
            ("run_kind", runs.kind),
            ("run_first", runs.first),
            ("run_end", runs.end),
        ):
            put(name, values, int)
        put("patch_bodies", self._patch_bodies(runs), wp.vec2i)
        out.awake = self._awake
        ordered = {}
        for name, law, order in zip(Constraints.KINDS, self.constraints.laws(), runs.orders, strict=True):
            ordered[name] = (law.corners[order], law.values[order], law.damping[order])
        corners, values, damping = ordered["bend"]
        put("bend", corners, wp.vec4i)
        put("bend_law", values[:, 1:5], wp.vec4)
        put("bend_damping", damping, float)
        sums("bend_sum", len(corners), wp.vec3)
        corners, values, damping = ordered["fold"]
        put("fold", corners, wp.vec4i)
        put("fold_law", np.column_stack([values, damping]), wp.vec3)
        sums("fold_sum", len(corners), float)
        corners, values, damping = ordered["triangle"]
        put("triangle", corners, wp.vec3i)
        put("triangle_inverse", values[:, :4], wp.vec4)
        put("triangle_law", values[:, 4:8], wp.vec4)
        put("triangle_damping", damping, float)
        sums("triangle_sum", len(corners), wp.vec3)
        corners, values, damping = ordered["distance"]
        put("distance", corners, wp.vec2i)
        put("distance_law", np.column_stack([values, damping]), wp.vec3)
        sums("distance_sum", len(corners), float)
        corners, values, damping = ordered["tet"]
        put("tet", corners, wp.vec4i)
        work, nu = values[:, 9], values[:, 10]
        put("tet_law", np.column_stack([(1.0 + nu) / work, nu / work, damping]), wp.vec3)
        sums("tet_sum", 2 * len(corners), wp.vec3)
        self._tet = (corners, values[:, :9].reshape(-1, 3, 3))
        inverse, weight, axes = block_axes(*self._tet, state.inv_mass.numpy().astype(np.float64))
        put("tet_inverse", inverse, wp.mat33)
        put("tet_weight", weight, wp.vec3)
        put("tet_turn", as_quaternions(axes), wp.quat)
        return out

    def _patch_bodies(self, runs: Runs) -> np.ndarray:
        """The first and the last body that each patch has constraints of (p, 2)."""
        patches = len(runs.patch_runs) - 1
        found = np.stack([np.full(patches, len(self._awake)), np.full(patches, -1)], axis=1)
        patch = np.repeat(np.arange(patches), np.diff(runs.patch_runs))
        for kind, (law, order) in enumerate(zip(self.constraints.laws(), runs.orders, strict=True)):
            mine = runs.kind == kind
            if not mine.any():
                continue
            place = np.argsort(runs.first[mine], kind="stable")
            rows = np.repeat(patch[mine][place], (runs.end - runs.first)[mine][place])
            body = self._body[law.corners[order][:, 0]]
            np.minimum.at(found[:, 0], rows, body)
            np.maximum.at(found[:, 1], rows, body)
        return found

    def _shared_patches(self, particles: int) -> SharedPatches:
        """The same in shared memory, where there are distances and flat hinges alone."""
        laws = dict(zip(Constraints.KINDS, self.constraints.laws(), strict=True))
        found = []
        for name in KINDS:
            law, order = laws[name], self.runs.orders[Constraints.KINDS.index(name)]
            found.append((law.corners[order].astype(np.int64), law.values[order], law.damping[order]))
        sums = (self.tables.distance_sum, self.tables.bend_sum)
        sleeping = (self.tables.patch_bodies, self.tables.awake)
        return SharedPatches(self.runs, Constraints.KINDS, found[0], found[1], sums, sleeping, particles, self.device)

    def _grain(self, level: int) -> int:
        """Fewest patches of a level that are worth a CPU thread of their own."""
        first, end = self.runs.level_starts[level : level + 2]
        rows = slice(*self.runs.patch_runs[[first, end]])
        cost = np.array([NANOSECONDS[name] for name in Constraints.KINDS])
        each = (self.runs.end - self.runs.first)[rows] * cost[self.runs.kind[rows]]
        return max(1, int(np.ceil(WORTH_A_THREAD * (end - first) / max(float(each.sum()), 1.0))))

    # ---- the step -----------------------------------------------------------------------------------------------

    def solve(self, move: wp.array, dt: float, iteration: int) -> None:
        """One pass over all constraints."""
        if iteration == 0:
            self.follow()
        step = Pass()
        step.inv_dt = 1.0 / dt
        step.inv_dt2 = 1.0 / (dt * dt)
        step.reads = int(iteration > 0)
        step.keeps = int(iteration + 1 < self.settings.iterations)
        for level in range(self.runs.levels):
            first, end = self.runs.level_starts[level : level + 2]
            inputs = [self.tables, self.base, step]
            if self.device == "cpu":
                grain = self._grains[level]
                launch(self._kernel, end - first, inputs, [self.pace, move], device="cpu", first=first, grain=grain)
            else:
                self._solve_on_cuda(level, inputs, [self.pace, move])
        for held in self.long_range:
            held.apply(self.base, move)

    def _solve_on_cuda(self, level: int, inputs: list, outputs: list) -> None:
        if self._shared is not None and self._shared.fits(level):
            self._shared.solve(level, *inputs[1:], *outputs)
            return
        first, end = self.runs.level_starts[level : level + 2]
        shape: dict[str, Any] = {"dim": (end - first) * self._block, "device": self.device, "block_dim": self._block}
        if CUDA_BLOCKS:
            launch(self._kernel, inputs=[first, *inputs], outputs=outputs, **shape)
            return
        for number in range(self.runs.most_runs(level)):
            launch(self._kernel, inputs=[first, number, self._block, *inputs], outputs=outputs, **shape)

    # ---- around the step ----------------------------------------------------------------------------------------

    def pins_changed(self, state: State, pinned: np.ndarray) -> None:
        """Blocks of tets with a pinned corner are made anew, and the ways along sheets."""
        corners, inverse = self._tet
        touched = np.isin(corners, np.union1d(pinned, self._pinned)).any(axis=1)
        self._pinned = pinned
        if touched.any():
            rows = np.flatnonzero(touched)
            found = block_axes(corners[rows], inverse[rows], state.inv_mass.numpy().astype(np.float64))
            for array, new in zip((self.tables.tet_inverse, self.tables.tet_weight), found[:2], strict=True):
                values = array.numpy().copy()
                values[rows] = new
                array.assign(values)
        for held in self.long_range:
            held.follow(pinned)

    def scratch(self) -> dict[str, wp.array]:
        found = {"turn": self.tables.tet_turn} if len(self._tet[0]) else {}
        return found if self.tearing is None else found | self.tearing.scratch()

    def energy(self, x: np.ndarray) -> float:
        if self.tearing is None:
            return elastic_energy(self.constraints, x)
        self.follow()
        return elastic_energy(followed(self.constraints, self.runs, self.tables), x)

    # ---- tearing ------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Hang the constraints of torn sheets on the particles that their triangles have now."""
        if self.tearing is not None and self.ties is not None:
            self.ties.follow(self.tearing.corners, self.tables)

    def tear(self, state: State, carry: wp.array) -> None:
        """Split what is stretched too far at the end of a step."""
        if self.tearing is not None:
            self.tearing.apply(state, carry)


def block_axes(
    corners: np.ndarray, inverse: np.ndarray, inv_mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The axes of W = sum w_a b_a b_a^T of tets, in which their blocks are diagonal.

    Returns:
        inverse: of the rest shapes, in those axes (m, 3, 3).
        weight: eigenvalues (m, 3).
        axes: as columns, right-handed (m, 3, 3).
    """
    if not len(corners):
        return inverse, np.zeros((0, 3)), inverse
    rows = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
    whole = np.einsum("ma,mai,maj->mij", inv_mass[corners], rows, rows)
    weight, axes = np.linalg.eigh(whole)
    axes[:, :, 0] *= np.linalg.det(axes)[:, None]
    return inverse @ axes, np.maximum(weight, 0.0), axes


def as_quaternions(rotation: np.ndarray) -> np.ndarray:
    """Unit quaternions x, y, z, w (m, 4) of rotation matrices; near half a turn their signs are a guess."""
    m = rotation
    half = lambda a, b, c: 0.5 * np.sqrt(np.maximum(1.0 + a * m[:, 0, 0] + b * m[:, 1, 1] + c * m[:, 2, 2], 0.0))
    q = np.stack(
        [
            np.copysign(half(1, -1, -1), m[:, 2, 1] - m[:, 1, 2]),
            np.copysign(half(-1, 1, -1), m[:, 0, 2] - m[:, 2, 0]),
            np.copysign(half(-1, -1, 1), m[:, 1, 0] - m[:, 0, 1]),
            half(1, 1, 1),
        ],
        axis=1,
    )
    return q / np.linalg.norm(q, axis=1, keepdims=True)
