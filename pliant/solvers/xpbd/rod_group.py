"""Rods that are solved alike, as tables on the device: all that bend, or all chains."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body
from pliant.model.state import State
from pliant.solvers.xpbd import rod_frames
from pliant.solvers.xpbd.rod_elements import RodOwn
from pliant.solvers.xpbd.rod_kernels import (
    ENDLESS,
    Lead,
    begin_rods,
    break_segments,
    clear_tension,
    copy_base,
    finish_chains,
    finish_rods,
    fit_leads,
    solve_chains,
    solve_rods,
)
from pliant.solvers.xpbd.rod_native import CHAIN_WORK, JOINT, LAST_CHILD, LEAF, ROD_WORK, ROOT

if TYPE_CHECKING:
    from pliant.guard import Guard

CHUNKS = 32
"""Parts that the trees are cut into on the CPU, to be shared out among threads."""
MOST_LEADS = 128
"""Pinned particles of a body, at most, that its pins' common motion is read from."""
ROD_GRAIN, CHAIN_GRAIN = 1000, 10_000
"""Nodes that are worth a CPU thread of their own."""


class RodGroup:
    """The trees of several bodies, one after the other.

    Attributes:
        bends: whether they are rods, or chains.
        nodes: run of nodes of each body.
        particle: particle of each node (n,), in the model's numbers.
        q, omega: orientation, and spin [rad/s], of each node's segment; of rods.
        broken: 1 where a node's segment has broken (n,).
    """

    def __init__(
        self,
        bodies: list[Body],
        x: np.ndarray,
        v: np.ndarray,
        device: str,
        base: wp.array | None = None,
        awake: tuple[wp.array, list[int]] | None = None,
    ) -> None:
        self.bodies, self.device = bodies, device
        self.owns: list[RodOwn] = [body.own for body in bodies]
        self.bends = self.owns[0].bends
        offsets = np.concatenate([[0], np.cumsum([own.count for own in self.owns])]).tolist()
        self.nodes = list(itertools.pairwise(offsets))
        self.count = offsets[-1]
        join = lambda name: np.concatenate([getattr(own, name) for own in self.owns])
        placed = list(zip(self.owns, bodies, offsets[:-1], strict=True))
        self.particle = np.concatenate([own.vertex + body.particles[0] for own, body, _ in placed]).astype(np.int64)
        parent = np.concatenate([np.where(own.parent < 0, -1, own.parent + start) for own, _, start in placed])
        self.parent, self.has_joint = parent, join("has_joint")
        self.is_root = parent < 0
        self.length, self.joint, self.compliance = join("length"), join("joint"), join("compliance")
        starts = np.concatenate([own.starts[:-1] + start for own, _, start in placed])
        self.starts = np.append(starts, self.count).astype(np.int32)
        each = lambda values: np.repeat(np.array(values, float), [own.count for own in self.owns])
        materials = [body.material for body in bodies]
        damping, drag = each([m.damping for m in materials]), each([m.drag for m in materials])
        second = join("inertia") if self.bends else self.compliance[:, 0]
        segment = np.stack([self.length, second, damping, drag], axis=1)
        limits = each([m.breaks_at or 0.0 for m in materials])
        self.breaks = bool(limits.any())
        self.link = wp.array(self._links(), dtype=wp.vec4i, device=device)
        floats = lambda a, dtype: wp.array(a.astype(np.float32), dtype=dtype, device=device)
        self.segment, self.limit = floats(segment, wp.vec4), floats(limits, float)
        self.tree_starts = wp.array(self.starts, dtype=int, device=device)
        self.broken = wp.zeros(self.count, dtype=float, device=device)
        self.pull = wp.zeros(self.count, dtype=float, device=device)
        # positions at the start of a step in float64: the method's own, or a copy of the state's
        self._copies = base is None
        self.base = wp.zeros(len(x), dtype=wp.vec4d, device=device) if base is None else base
        self._particle = wp.array(self.particle.astype(np.int32), dtype=int, device=device)
        # which bodies of the method are awake, and which of them each node belongs to
        self._awake, places = awake or (wp.ones(len(bodies), dtype=int, device=device), list(range(len(bodies))))
        self._node_body = wp.array(each(places).astype(np.int32), dtype=int, device=device)
        self._cut_into_chunks()
        if self.bends:
            self._compliance, self._joint = floats(self.compliance, wp.vec4), floats(self.joint, wp.quat)
            self.q = floats(np.concatenate([own.frame for own in self.owns]), wp.quat)
            self.q_start = wp.clone(self.q)
            self._body = wp.array(each(np.arange(len(bodies))).astype(np.int32), dtype=int, device=device)
            self._pinned = wp.full((len(bodies), MOST_LEADS), -1, dtype=int, device=device)
            self._leads = wp.zeros(len(bodies), dtype=Lead, device=device)
            self.omega = floats(self._spins(x, v), wp.vec3)
            self.force = wp.zeros(self.count, dtype=wp.vec3, device=device)
            self.torque = wp.zeros(self.count, dtype=wp.vec3, device=device)
        else:
            self.tension = wp.zeros(self.count, dtype=float, device=device)
        self._led = np.zeros(self.count, bool)
        spring = np.concatenate([np.where(own.row < 0, -1, own.row + body.springs[0]) for own, body, _ in placed])
        self._spring = wp.array(spring.astype(np.int32), dtype=int, device=device)
        # a stand-in until a guard is there
        self._watched = wp.zeros(int(spring.max()) + 1, dtype=float, device=device)
        self._watched_whole = self._watched.numpy()

    def _links(self) -> np.ndarray:
        """Particle, node before, flags and particle before, of each node (n, 4) int32."""
        children = np.bincount(self.parent[~self.is_root], minlength=self.count)
        last = np.zeros(self.count, np.int64)
        np.maximum.at(last, self.parent[~self.is_root], np.flatnonzero(~self.is_root))
        is_last = ~self.is_root & (last[self.parent] == np.arange(self.count))
        flags = ROOT * self.is_root + LEAF * (children == 0) + LAST_CHILD * is_last + JOINT * self.has_joint
        before = np.where(self.is_root, -1, self.particle[self.parent])
        return np.stack([self.particle, self.parent, flags, before], axis=1).astype(np.int32)

    def _cut_into_chunks(self) -> None:
        """Trees that one thread solves in one workspace: each of its own on CUDA, even shares on the CPU."""
        trees = len(self.starts) - 1
        size = np.diff(self.starts)
        cuts = np.arange(trees + 1)
        if self.device == "cpu" and trees > CHUNKS:
            cuts = np.unique(np.searchsorted(self.starts, np.linspace(0, self.count, CHUNKS + 1)))
        largest = np.maximum.reduceat(size, cuts[:-1])
        work = np.concatenate([[0], np.cumsum(largest)])
        self.chunks = len(cuts) - 1
        self._chunk_starts = wp.array(cuts.astype(np.int32), dtype=int, device=self.device)
        self._work_starts = wp.array(work.astype(np.int32), dtype=int, device=self.device)
        width, grain = (ROD_WORK, ROD_GRAIN) if self.bends else (CHAIN_WORK, CHAIN_GRAIN)
        self._work = wp.zeros(int(work[-1]) * width, dtype=wp.float64, device=self.device)
        self._grain = max(1, -(-self.chunks * grain // self.count))

    def _spins(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """How each segment turns with its ends [rad/s] (n, 3), from x [m] and v [m/s] of all particles."""
        before = self.particle[self.parent]
        e, de = x[self.particle] - x[before], v[self.particle] - v[before]
        squared = (e * e).sum(axis=1)
        found = np.cross(e, de) / np.where(squared > 0.0, squared, 1.0)[:, None]
        return np.where((self.is_root | (squared <= 0.0))[:, None], 0.0, found)

    # ---- the step -----------------------------------------------------------------------------------------------

    def begin(self, state: State, move: wp.array, dt: float) -> None:
        if self._copies:
            launch(copy_base, self.count, [self._particle, state.x], [self.base], device=self.device)
        if self.bends:
            bodies = len(self.bodies)
            launch(fit_leads, bodies, [self._pinned, state.x, move, dt], [self._leads], device=self.device)
            around = [self._body, self._leads, state.inv_mass, state.x, move]
            inputs = [self.link, self.segment, self._node_body, self._awake, *around, self.omega, dt]
            outputs = [self.q, self.q_start, self.force, self.torque]
            launch(begin_rods, self.count, inputs, outputs, device=self.device)
        else:
            launch(clear_tension, self.count, [], [self.tension], device=self.device)

    def solve(self, state: State, move: wp.array, dt: float) -> None:
        chunks = [self._chunk_starts, self._work_starts, self.tree_starts, self.link, self.segment]
        now: list[Any] = [self._node_body, self._awake, self.broken, state.inv_mass, self.base]
        if self.bends:
            inputs = [*chunks, self._compliance, self._joint, *now, self.q_start, self.pull, dt]
            outputs = [self._work, move, self.q, self.force, self.torque]
        else:
            inputs, outputs = [*chunks, *now, self.pull, dt], [self._work, move, self.tension]
        kernel = solve_rods if self.bends else solve_chains
        launch(kernel, self.chunks, inputs, outputs, device=self.device, grain=self._grain, block_dim=32)

    def finish(self, state: State, move: wp.array, dt: float) -> None:
        if self.bends:
            inputs = [self._node_body, self._awake, self.q, self.q_start, self.force, dt]
            launch(finish_rods, self.count, inputs, [self.omega, self.pull], device=self.device)
        else:
            launch(
                finish_chains,
                self.count,
                [self._node_body, self._awake, self.tension, dt],
                [self.pull],
                device=self.device,
            )
        if self.breaks:
            inputs = [self.link, self.segment, self.limit, self._spring, state.x, move]
            launch(break_segments, self.count, inputs, [self.broken, self._watched], device=self.device)

    # ---- around the step ----------------------------------------------------------------------------------------

    def reset(self, state: State, particles: tuple[int, int]) -> None:
        """Orientations and spins that fit the positions and velocities of a run of particles, and no pull."""
        pull = self.pull.numpy()
        pull[(self.particle >= particles[0]) & (self.particle < particles[1])] = 0.0
        self.pull.assign(pull)
        if not self.bends:
            return
        x, v = state.x.numpy().astype(np.float64), state.v.numpy().astype(np.float64)
        q, omega, spins = self.q.numpy(), self.omega.numpy(), self._spins(x, v)
        for own, body, (first, end) in zip(self.owns, self.bodies, self.nodes, strict=True):
            if body.particles[0] < particles[1] and particles[0] < body.particles[1]:
                q[first:end] = own.fitted_frames(x[slice(*body.particles)])
                omega[first:end] = spins[first:end]
        self.q.assign(q)
        self.omega.assign(omega)

    def pins_changed(self, pinned: np.ndarray) -> None:
        """Remember the segments pinned at both ends, which do not bend, and pins to read a common turn from."""
        fixed = np.isin(self.particle, pinned)
        self._led = ~self.is_root & fixed & fixed[self.parent]
        if not self.bends:
            return
        table = np.full((len(self.bodies), MOST_LEADS), -1, np.int32)
        for k, (first, end) in enumerate(self.nodes):
            found = np.sort(self.particle[first:end][fixed[first:end]])
            found = found[np.unique(np.linspace(0, len(found) - 1, MOST_LEADS).astype(int))] if len(found) else found
            table[k, : len(found)] = found
        self._pinned.assign(table)

    def scratch(self) -> dict[str, wp.array]:
        arrays = {"pull": self.pull} | ({"broken": self.broken} if self.breaks else {})
        return arrays | ({"q": self.q, "omega": self.omega} if self.bends else {})

    def watched_by(self, guard: Guard) -> None:
        """Take the lengths by which a guard watches the springs: those of broken segments become endless."""
        self._watched, self._watched_whole = guard.rest, guard.rest.numpy()

    def restored(self) -> None:
        """Follow `broken`, which was set from outside."""
        if self.breaks:
            rest = self._watched.numpy()
            mine = np.flatnonzero(~self.is_root)
            spring = self._spring.numpy()[mine]
            rest[spring] = np.where(self.broken.numpy()[mine] != 0.0, ENDLESS, self._watched_whole[spring])
            self._watched.assign(rest)

    def energy(self, x: np.ndarray) -> float:
        """Elastic energy of positions x [m] of all particles (n, 3), with the present orientations [J]."""
        whole = ~self.is_root & (self.broken.numpy() == 0.0)
        e = (x[self.particle] - x[self.particle[self.parent]]).astype(np.float64)
        if not self.bends:
            stretch = np.linalg.norm(e, axis=1) - self.length
            return float((0.5 * stretch**2 / self.compliance[:, 0])[whole].sum())
        q = self.q.numpy().astype(np.float64)
        d = rod_frames.third_axis(q)
        held = rod_frames.product(q[self.parent], self.joint)
        bent = rod_frames.vectors_of(rod_frames.product(q, rod_frames.conjugate(held)))
        t = d + rod_frames.third_axis(held)
        stretch = _energies(e - self.length[:, None] * d, d, self.compliance[:, :2])
        jointed = whole & self.has_joint & whole[self.parent] & ~(self._led & self._led[self.parent])
        half = np.where(self._led[:, None], 0.0, self.compliance[:, 2:])
        halves = half + half[self.parent]
        halves[~jointed] = 1.0
        bending = _energies(bent, t / np.maximum(np.linalg.norm(t, axis=1, keepdims=True), 1e-12), halves[:, ::-1])
        return float(stretch[whole].sum() + bending[jointed].sum())


def _energies(c: np.ndarray, axis: np.ndarray, compliance: np.ndarray) -> np.ndarray:
    """Half of c^2 over its compliance along and across an axis (n,) [J]."""
    along = (c * axis).sum(axis=1)
    across = (c * c).sum(axis=1) - along**2
    return 0.5 * (along**2 / compliance[:, 0] + np.maximum(across, 0.0) / compliance[:, 1])
