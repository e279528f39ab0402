"""Constraints in an order that many threads can follow: levels of patches, and colours within them.

A level cuts the particles into patches of neighbours. A constraint whose particles are all in one patch belongs to it;
patches of a level share no particle, so they can be solved at once. What reaches over a border is left to the next
level, which cuts the particles of those constraints anew, and so on; there are fewer and fewer of them. Within a patch
the constraints of a kind stand by colour: those of one colour share no particle. A run is one colour of one patch.

One thread walks a patch on the CPU, and a block on CUDA; both go through the same runs in the same order, so that the
result is the same on any number of threads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.coloring import color
from pliant.mesh.order import bisect_order

PATCH = 512
"""Most particles of a patch on the CPU."""
CUDA_PATCH = 256
"""The same on CUDA for many particles, by measurement on an H200."""
CUDA_LARGE = 20_000
"""Particles from which that holds; with fewer, both devices solve in the same order."""
MOST_LEVELS = 8
"""The last level takes all that is left as one patch."""
SMALL_PATCH = 128
"""Particles of a patch of parts that hang together each by itself: many small patches keep many threads busy."""
ASKEW = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3.0
"""A rotation that leaves no axis near another."""
FEW = 400
"""So few constraints that are left make the last patch: another level would cost more than it shares out."""


@dataclasses.dataclass(eq=False)
class Runs:
    """The order of all constraints.

    Attributes:
        orders: for each kind, its constraints in the order in which they are stored.
        level_starts: first patch of each level, and the end (levels + 1,).
        patch_runs: first run of each patch, and the end (patches + 1,) int32.
        kind, first, end: of each run: the kind, and its constraints from `first` to `end` - 1 in the new order, int32.
    """

    orders: list[np.ndarray]
    level_starts: list[int]
    patch_runs: np.ndarray
    kind: np.ndarray
    first: np.ndarray
    end: np.ndarray

    @property
    def levels(self) -> int:
        return len(self.level_starts) - 1

    def most_runs(self, level: int) -> int:
        """Most runs of a patch of a level."""
        runs = np.diff(self.patch_runs)[self.level_starts[level] : self.level_starts[level + 1]]
        return int(runs.max(initial=0))


def order_constraints(
    kinds: Sequence[np.ndarray],
    points: np.ndarray,
    bodies: Sequence[tuple[int, int]],
    patch: int = PATCH,
    few: int = FEW,
) -> Runs:
    """Levels, patches and colours of constraints.

    Args:
        kinds: particles of the constraints of each kind (m, k), in the order in which a patch solves the kinds.
        points: rest positions of all particles [m] (n, 3).
        bodies: their runs of particles.
        patch: most particles of a patch.
        few: constraints that may be left to one last patch.
    """
    patch_of = np.full(len(points), -1, np.int64)
    count = 0
    for first, end in bodies:
        order, starts = bisect_order(points[first:end], _even(end - first, patch))
        patch_of[first + order] = count + np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        count += len(starts) - 1
    patches = [np.full(len(corners), -1, np.int64) for corners in kinds]
    level_of = [np.zeros(len(corners), np.int64) for corners in kinds]
    base = 0
    for level in range(MOST_LEVELS):
        left = 0
        for corners, given, at in zip(kinds, patches, level_of, strict=True):
            rows = np.flatnonzero(given < 0)
            where = patch_of[corners[rows]]
            inside = (where == where[:, :1]).all(axis=1)
            given[rows[inside]] = base + where[inside, 0]
            at[rows[inside]] = level
            left += len(rows) - int(inside.sum())
        base += count
        if not left:
            break
        left_over = [c[g < 0] for c, g in zip(kinds, patches, strict=True)]
        patch_of[:] = -1
        if level == MOST_LEVELS - 2 or left <= few:
            patch_of[np.unique(np.concatenate([c.ravel() for c in left_over]))] = 0
            count = 1
        else:
            count = _cut_again(left_over, points, patch, patch_of)
    return _sorted(kinds, patches, level_of, len(points))


def _cut_again(kinds: Sequence[np.ndarray], points: np.ndarray, patch: int, patch_of: np.ndarray) -> int:
    """Patches of the particles of constraints that are left, written to `patch_of`; returns how many.

    What hangs together and is small enough becomes a patch as it is, several of them if they are tiny: nothing reaches
    over its border. What is larger is cut in space.
    """
    used = np.unique(np.concatenate([c.ravel() for c in kinds]))
    edges = np.concatenate([np.stack([c[:, 0], c[:, k]], axis=1) for c in kinds for k in range(1, c.shape[1])])
    parts, label = arrays.connected_parts(np.searchsorted(used, edges), len(used))
    size = np.bincount(label, minlength=parts)
    small = size <= patch
    # small parts in the order of space, in rows of at most `SMALL_PATCH` particles
    order, _ = bisect_order(points[used], patch)
    first_seen = np.full(parts, len(used))
    np.minimum.at(first_seen, label[order], np.arange(len(order)))
    rows = np.argsort(first_seen, kind="stable")
    rows = rows[small[rows]]
    patch_of_part = np.zeros(parts, np.int64)
    count, held = -1, SMALL_PATCH + 1
    for part in rows.tolist():
        if held + size[part] > SMALL_PATCH:
            count, held = count + 1, 0
        patch_of_part[part] = count
        held += int(size[part])
    count += 1
    inside = small[label]
    patch_of[used[inside]] = patch_of_part[label[inside]]
    for part in np.flatnonzero(~small).tolist():
        mine = used[label == part]
        # askew, so that a cut crosses the borders of the patches before and does not run along one
        order, starts = bisect_order(points[mine] @ ASKEW, _even(len(mine), patch))
        patch_of[mine[order]] = count + np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        count += len(starts) - 1
    return count


def _even(count: int, most: int) -> int:
    """Size of pieces of at most `most` that are about equally large."""
    return max(1, -(-count // max(1, -(-count // most))))


def _sorted(kinds: Sequence[np.ndarray], patches: list[np.ndarray], level_of: list[np.ndarray], particles: int) -> Runs:
    """The runs of constraints whose patches and levels are known."""
    numbers = np.unique(np.concatenate([np.zeros(0, np.int64), *patches]))
    level_of_patch = np.zeros(len(numbers), np.int64)
    orders, rows = [], []
    for kind, (corners, patch, level) in enumerate(zip(kinds, patches, level_of, strict=True)):
        place = np.searchsorted(numbers, patch)
        level_of_patch[place] = level
        shade = np.zeros(len(corners), np.int64)
        for k in range(int(level.max(initial=-1)) + 1):
            of_level = np.flatnonzero(level == k)
            shade[of_level] = color(corners[of_level], particles, balance=False).color
        order = np.lexsort((corners.min(axis=1, initial=particles), shade, place))
        orders.append(order)
        if len(order):
            new = np.ones(len(order), bool)
            new[1:] = (np.diff(place[order]) != 0) | (np.diff(shade[order]) != 0)
            first = np.flatnonzero(new)
            at = order[first]
            rows.append(
                np.stack(
                    [place[at], np.full(len(first), kind), shade[at], first, np.append(first[1:], len(order))], axis=1
                )
            )
    table = np.concatenate(rows) if rows else np.zeros((0, 5), np.int64)
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))].astype(np.int32)
    starts = np.searchsorted(table[:, 0], np.arange(len(numbers) + 1)).astype(np.int32)
    levels = int(level_of_patch.max(initial=-1)) + 1
    level_starts = np.searchsorted(level_of_patch, np.arange(levels + 1)).tolist()
    return Runs(orders, level_starts, starts, table[:, 1].copy(), table[:, 3].copy(), table[:, 4].copy())
