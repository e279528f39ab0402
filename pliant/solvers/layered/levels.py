"""The layer's linear systems A x = b, several right-hand sides at once: Chebyshev iteration, on several levels.

The matrix stays the same while the step does, so the bounds of its spectrum are known, and the iteration needs no dot
products: one launch each, the same polynomial every time (Golub and Varga 1961, Chebyshev semi-iterative methods).
Preconditioned by the 3 x 3 diagonal blocks. Where that would take many iterations, a cycle is cheaper: what coarser
levels find, then a few iterations for what they cannot see; the cycles are put to use by a Chebyshev iteration of their
own. Its number does not grow with the fineness of the texture.

Nodes that are held make the coarser matrices P^T Q A Q P, Q what is free: with them a cycle converges as without.
"""

from __future__ import annotations

import math

import numpy as np
import warp as wp

from pliant.launch import launch, record
from pliant.solvers.layered import level_kernels, level_native
from pliant.solvers.layered.hierarchy import Coarsening, Pattern, coarsened
from pliant.solvers.layered.level_kernels import Level, Transfer

LANCZOS = 60
"""Iterations that find the bounds of a spectrum."""
SMOOTHINGS = 4
"""Iterations of a cycle on each level but the coarsest."""
RANGE = 10.0
"""Part of the spectrum that these are for: from its upper end to this much below."""
EASY = 24
"""Iterations that are not worth a coarser level."""
ROUGH = 0.2
"""Error to which the coarsest system is solved in a cycle."""
LANES = 8
"""CUDA threads that share a block of a coarser matrix."""
MILD = 60.0
"""Condition of a level that needs no coarser one."""
MOST_LEVELS = 4
SMALL = 600
"""Nodes below which no coarser level is made."""
PROBES = 16
"""Cycles that find how well a cycle converges."""
OVERHEAD = 1.5
"""Cost of a cycle over that of its iterations on the finest level."""


class Matrices:
    """A matrix on all levels, and how they hang together, for bodies of one layer.

    Attributes:
        levels: the matrix on each level. ways: between a level and the next.
        held: the same levels where nodes are held; the first is the same.
    """

    def __init__(self, patterns: list[Pattern], ways: list[Transfer], device: str) -> None:
        self.device = device
        self.patterns = patterns
        self.ways = ways
        self.counts = [pattern.count for pattern in patterns]
        self.levels = [_empty(pattern, device) for pattern in patterns]
        self.held = [self.levels[0], *(_empty(pattern, device) for pattern in patterns[1:])]
        self.touched = [wp.zeros(count, dtype=int, device=device) for count in self.counts]
        self.none = wp.zeros(0, dtype=wp.mat33, device=device)

    def keep(self, levels: int) -> None:
        """Leave out what is coarser than so many levels."""
        self.levels, self.held, self.ways = self.levels[:levels], self.held[:levels], self.ways[: levels - 1]

    def fill(self, blocks: np.ndarray, diagonal: np.ndarray) -> None:
        """Set the finest matrix (k, 3, 3), (n, 3, 3), and find the coarser ones."""
        self._set(self.levels[0], blocks, diagonal)
        entries = np.concatenate([blocks, diagonal]).reshape(-1, 9)
        for k, way in enumerate(self.ways):
            terms = way.term_weight.numpy().astype(np.float64)[:, None] * entries[way.term_block.numpy()]
            entries = np.add.reduceat(terms, way.term_starts.numpy()[:-1], axis=0)
            beside = len(self.patterns[k + 1].rows)
            for level in (self.levels[k + 1], self.held[k + 1]):
                self._set(level, entries[:beside].reshape(-1, 3, 3), entries[beside:].reshape(-1, 3, 3))

    def _set(self, level: Level, blocks: np.ndarray, diagonal: np.ndarray) -> None:
        level.block.assign(blocks.astype(np.float32))
        level.diagonal.assign(diagonal.astype(np.float32))
        level.inverse.assign(np.linalg.inv(diagonal).astype(np.float32))

    def hold(self, held: wp.array, free: wp.array) -> None:
        """Find the coarser matrices where nodes are held: `held` is not 0 there, `free` what is left of them."""
        for k, way in enumerate(self.ways):
            source = held if k == 0 else self.touched[k]
            count, blocks = self.counts[k + 1], len(self.levels[k + 1].block) + self.counts[k + 1]
            launch(
                level_kernels.mark_touched, count, [way, source], [self.touched[k + 1]], device=self.device, grain=512
            )
            lanes = 1 if self.device == "cpu" else LANES
            inputs = [lanes, way, self.held[k], free if k == 0 else self.none, self.levels[k + 1], self.touched[k + 1]]
            # whole warps, since their threads add up together
            threads = -(-lanes * blocks // 64) * 64 if lanes > 1 else blocks
            launch(
                level_kernels.gather_blocks, threads, inputs, [self.held[k + 1]], device=self.device, grain=4096,
                block_dim=64,
            )  # fmt: skip
            inputs = [self.levels[k + 1], self.touched[k + 1]]
            launch(level_kernels.invert_blocks, count, inputs, [self.held[k + 1]], device=self.device, grain=2048)


class Columns:
    """Vectors of a solve for some right-hand sides, on every level.

    Attributes:
        b: right-hand sides, x: where to start and what was found, on the finest level (n, 3, columns).
    """

    def __init__(self, counts: list[int], columns: int, device: str) -> None:
        self.columns = columns
        room = lambda count: wp.zeros((count, 3, columns), dtype=float, device=device)
        self.b, self.one, self.other, self.d = ([room(count) for count in counts] for _ in range(4))
        self.x, self.way = room(counts[0]), room(counts[0])

    def matrices(self, values: wp.array, kind: type) -> wp.array:
        """A view of one of the finest vectors, a matrix for each node."""
        return wp.array(ptr=values.ptr, dtype=kind, shape=values.shape[0], device=values.device, copy=False)


class LevelSolver:
    """Solves for one length of the step.

    Attributes:
        condition: largest over smallest eigenvalue of the preconditioned matrix, of the worst body.
        rate: what a cycle leaves of the error, of the worst body; 0 where there are no cycles.
        iterations: products with the finest matrix in a solve.
    """

    def __init__(self, matrices: Matrices, starts: np.ndarray, tolerance: float, most: int, device: str) -> None:
        self.matrices, self.device, self.most = matrices, device, most
        self.empty = wp.zeros(0, dtype=wp.mat33, device=device)
        self.bounds = [self._bounds(0, starts)]
        low, high = self.bounds[0]
        while high / low > MILD and len(self.bounds) < len(matrices.levels):
            low, high = self._bounds(len(self.bounds), None)
            self.bounds.append((low, high))
        matrices.keep(len(self.bounds))
        low, high = self.bounds[0]
        self.condition = high / low
        self.rate = 0.0
        self.low_end = 0.0
        plain = iterations_for(self.condition, tolerance, most)
        if plain > EASY and len(matrices.levels) > 1:
            self.rate = self._probe(starts)
            middle, half = (RANGE + 1.0) / 2.0, (RANGE - 1.0) / 2.0
            self.low_end = 1.0 / math.cosh(SMOOTHINGS * math.acosh(middle / half))
            if OVERHEAD * (SMOOTHINGS + 1) * self._cycles(tolerance) > plain:
                self.rate = 0.0
        self.tolerance = tolerance
        self.iterations = (SMOOTHINGS + 1) * self._cycles(tolerance) if self.rate else plain

    def solve(
        self,
        room: Columns,
        inverse: wp.array | None = None,
        free: wp.array | None = None,
        tolerance: float | None = None,
        most: int | None = None,
    ) -> None:
        """Find `room.x` from `room.b`, beginning with what is in `room.x`.

        Args:
            inverse: of the finest diagonal, without what is held. free: what is left of each node; None for all.
            tolerance, most: other than those of the step.
        """
        wanted = tolerance or self.tolerance
        inverse = self.matrices.levels[0].inverse if inverse is None else inverse
        if self.rate == 0.0:
            count = iterations_for(self.condition, wanted, most or self.most)
            self._plain(room, inverse, count)
            return
        factors = chebyshev(1.0 - self.rate, 1.0 + self.low_end, self._cycles(wanted))
        for ahead, momentum in factors:
            self._cycle(room, inverse, free, ahead, momentum)

    def _cycles(self, tolerance: float) -> int:
        return iterations_for((1.0 + self.low_end) / (1.0 - self.rate), tolerance, 200)

    def _plain(self, room: Columns, inverse: wp.array, count: int) -> None:
        """So many iterations on the finest level alone."""
        low, high = self.bounds[0]
        x, other = room.x, room.one[0]
        # an even number ends where it began
        for alpha, beta in chebyshev(low, high, count + count % 2):
            self._smooth(0, inverse, self.matrices.levels[0], room, x, alpha, beta, other)
            x, other = other, x

    def _cycle(self, room: Columns, inverse: wp.array, free: wp.array | None, ahead: float, momentum: float) -> None:
        """What the coarser levels find, then iterations on each."""
        own = self.matrices
        levels = own.levels if free is None else own.held
        part = self.empty if free is None else free
        last = len(levels) - 1
        self._rows("residual", own.counts[0], [levels[0], part, room.b[0], room.x], room, [room.one[0]])
        for k in range(last):
            self._rows("restrict", own.counts[k + 1], [own.ways[k], room.one[0] if k == 0 else room.b[k]], room,
                       [room.b[k + 1]])  # fmt: skip
        found = self._bottom(room, levels[last], last)
        for k in range(last - 1, -1, -1):
            x, other = room.one[k], room.other[k]
            before = [room.x, 1] if k == 0 else [room.other[k], 0]
            inputs = [own.ways[k], part if k == 0 else self.empty, found, *before]
            self._rows("prolong", own.counts[k], inputs, room, [x])
            own_inverse = inverse if k == 0 else levels[k].inverse
            high = self.bounds[k][1] * (1.0 if k == 0 else 1.1)
            factors = chebyshev(high / RANGE, high, SMOOTHINGS)
            for alpha, beta in factors[: SMOOTHINGS - 1 if k == 0 else SMOOTHINGS]:
                self._smooth(k, own_inverse, levels[k], room, x, alpha, beta, other)
                x, other = other, x
            found = x
        alpha, beta = factors[-1]
        inputs = [levels[0], inverse, room.b[0], found]
        self._rows("last_smooth", own.counts[0], inputs, room, [room.x, room.way],
                   [alpha, beta, room.d[0], ahead, momentum])  # fmt: skip

    def _bottom(self, room: Columns, level: Level, k: int) -> wp.array:
        """The coarsest system, roughly."""
        low, high = self.bounds[k]
        factors = chebyshev(0.9 * low, 1.1 * high, iterations_for(1.25 * high / low, ROUGH, 24))
        x, other = room.one[k], room.other[k]
        launch(
            level_kernels.first_smooth, self.matrices.counts[k] * room.columns,
            [level.inverse, room.b[k], room.columns, factors[0][0]], [x, room.d[k]], device=self.device,
        )  # fmt: skip
        for alpha, beta in factors[1:]:
            self._smooth(k, level.inverse, level, room, x, alpha, beta, other)
            x, other = other, x
        return x

    def _smooth(
        self, k: int, inverse: wp.array, level: Level, room: Columns, x: wp.array, alpha: float, beta: float,
        out: wp.array,
    ) -> None:  # fmt: skip
        inputs = [level, inverse, room.b[k], x]
        self._rows("smooth", self.matrices.counts[k], inputs, room, [out, room.d[k]], [alpha, beta])

    def _rows(
        self, name: str, count: int, inputs: list, room: Columns, outputs: list, factors: list | None = None
    ) -> None:
        """Launch a kernel over nodes, each with all its columns."""
        inputs = [*inputs, room.columns, *(factors or [])]
        if self.device == "cpu":
            run = int(level_native.RUN)
            launch(getattr(level_native, name), -(-count // run), inputs, outputs, device="cpu", grain=1024 // run)
        else:
            launch(getattr(level_kernels, name), count * room.columns, inputs, outputs, device=self.device)

    # ---- what is found once -------------------------------------------------------------------------------------

    def _bounds(self, k: int, starts: np.ndarray | None) -> tuple[float, float]:
        """Smallest and largest eigenvalue of D^-1 A, of the worst body, from the coefficients of conjugate gradients
        (Golub and Van Loan, Matrix Computations, 10.2: they are those of Lanczos' tridiagonal matrix)."""
        level, count = self.matrices.levels[k], self.matrices.counts[k]
        starts = np.array([0, count]) if starts is None else starts
        p, q = (wp.zeros(count, dtype=wp.vec3, device=self.device) for _ in range(2))
        inverse = level.inverse.numpy().astype(np.float64)

        def product(values: np.ndarray) -> np.ndarray:
            p.assign(values.astype(np.float32))
            with record() as recording:
                launch(level_kernels.product, count, [level, p], [q], device=self.device)
            recording.replay()
            return q.numpy().astype(np.float64)

        dot = lambda a, b: np.add.reduceat((a * b).sum(axis=1), starts[:-1])
        spread = lambda values: np.repeat(values, np.diff(starts))[:, None]
        size = np.sqrt(np.trace(level.diagonal.numpy(), axis1=1, axis2=2))[:, None]
        r = np.random.default_rng(0).normal(size=(count, 3)) * size
        z = np.einsum("nij,nj->ni", inverse, r)
        d, rz = z.copy(), dot(r, z)
        first = rz.copy()
        alphas, betas = [], []
        for _ in range(min(LANCZOS, 3 * count)):
            q_now = product(d)
            alpha = rz / np.maximum(dot(d, q_now), 1e-300)
            r = r - spread(alpha) * q_now
            z = np.einsum("nij,nj->ni", inverse, r)
            after = dot(r, z)
            beta = after / np.maximum(rz, 1e-300)
            alphas.append(alpha)
            betas.append(beta)
            d, rz = z + spread(beta) * d, after
            if (after < 1e-8 * first).all():
                break
        low, high = np.empty(len(first)), np.empty(len(first))
        for b in range(len(first)):
            a, c = np.array([alpha[b] for alpha in alphas]), np.array([beta[b] for beta in betas])
            diagonal = 1.0 / a
            diagonal[1:] += c[:-1] / a[:-1]
            off = np.sqrt(np.maximum(c[:-1], 0.0)) / a[:-1]
            found = np.linalg.eigvalsh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
            low[b], high[b] = max(found[0], 1e-9), found[-1]
        # Lanczos' values lie inside the spectrum: what is above the largest would grow
        return 0.95 * float(low.min()), 1.05 * float(high.max())

    def _probe(self, starts: np.ndarray) -> float:
        """What a cycle leaves of an error, of the worst body: cycles on random errors of a system whose solution is
        zero."""
        room = Columns(self.matrices.counts, 4, self.device)
        sizes = []
        values = np.random.default_rng(0).normal(size=room.x.shape).astype(np.float32)
        for _ in range(PROBES):
            room.x.assign(values)
            with record() as recording:
                self._cycle(room, self.matrices.levels[0].inverse, None, 1.0, 0.0)
            recording.replay()
            values = room.x.numpy()
            squares = np.add.reduceat((values.astype(np.float64) ** 2).sum(axis=1), starts[:-1])
            sizes.append(np.sqrt(squares))
            values = values / np.maximum(np.repeat(sizes[-1], np.diff(starts), axis=0), 1e-30)[:, None, :]
        return float(np.clip(1.02 * np.mean(sizes[-4:], axis=0).max(), 0.05, 0.99))


def chebyshev(low: float, high: float, count: int) -> list[tuple[float, float]]:
    """The factors of each iteration for a spectrum: d = alpha D^-1 r + beta d."""
    middle, half = 0.5 * (high + low), 0.5 * max(high - low, 1e-9 * high)
    sigma = middle / half
    rho = 1.0 / sigma
    factors = [(1.0 / middle, 0.0)]
    for _ in range(count - 1):
        following = 1.0 / (2.0 * sigma - rho)
        factors.append((2.0 * following / half, following * rho))
        rho = following
    return factors


def iterations_for(condition: float, tolerance: float, most: int) -> int:
    """Iterations after which the error is below a share of the first: 2 rho^k with rho from the condition number."""
    root = math.sqrt(max(condition, 1.0 + 1e-9))
    rho = (root - 1.0) / (root + 1.0)
    return max(2, min(most, math.ceil(math.log(0.5 * tolerance) / math.log(max(rho, 1e-9)))))


def hierarchy(pattern: Pattern, device: str) -> tuple[list[Pattern], list[Transfer]]:
    """A pattern and those of the coarser levels, and the ways between them."""
    patterns, ways = [pattern], []
    while len(patterns) < MOST_LEVELS and patterns[-1].count > SMALL:
        step = coarsened(patterns[-1])
        if step.coarse.count > 0.5 * patterns[-1].count:
            break
        ways.append(_transfer(step, patterns[-1], device))
        patterns.append(step.coarse)
    return patterns, ways


def _empty(pattern: Pattern, device: str) -> Level:
    level = Level()
    level.row_starts = wp.array(pattern.starts.astype(np.int32), dtype=int, device=device)
    level.row_other = wp.array(pattern.columns.astype(np.int32), dtype=int, device=device)
    level.block = wp.zeros(len(pattern.rows), dtype=wp.mat33, device=device)
    level.diagonal, level.inverse = (wp.zeros(pattern.count, dtype=wp.mat33, device=device) for _ in range(2))
    return level


def _transfer(step: Coarsening, fine: Pattern, device: str) -> Transfer:
    way = Transfer()
    ints = lambda values: wp.array(np.asarray(values).astype(np.int32), dtype=int, device=device)
    floats = lambda values: wp.array(np.asarray(values).astype(np.float32), dtype=float, device=device)
    way.up_starts = ints(np.searchsorted(step.node, np.arange(fine.count + 1)))
    way.up_other, way.up_weight = ints(step.group), floats(step.weight)
    order = np.argsort(step.group, kind="stable")
    way.down_starts = ints(np.searchsorted(step.group[order], np.arange(step.coarse.count + 1)))
    way.down_other, way.down_weight = ints(step.node[order]), floats(step.weight[order])
    way.term_starts, way.term_block, way.term_weight = (
        ints(step.term_starts), ints(step.term_block), floats(step.term_weight),
    )  # fmt: skip
    rows, columns = fine.with_diagonal()
    way.term_row, way.term_column = ints(rows[step.term_block]), ints(columns[step.term_block])
    way.row = ints(step.coarse.rows)
    return way
