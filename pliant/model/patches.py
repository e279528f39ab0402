"""Patches: the particles of a body cut into small neighbourhoods, with everything that acts on them.

A patch owns a run of particles and lists its halo: the particles of other patches that share an element
with it. On CUDA one block loads a patch and its halo into shared memory and sums, for each particle it
owns, the forces of all elements around it; on the CPU one thread walks a patch's elements. Nobody writes a
particle that another patch owns, so nothing races and every sum has a fixed order.

The tables around a particle are stored in slices of one warp, transposed (SELL): row r of a slice holds
the r-th entry of each of its lanes, so a warp reads 32 neighbouring words.
"""

from __future__ import annotations

import dataclasses

import numpy as np

WARP = 32

# The other corners of a tet in the order that keeps its volume positive seen from each corner.
OTHER_CORNERS = np.array([[1, 2, 3], [0, 3, 2], [3, 0, 1], [2, 1, 0]])


@dataclasses.dataclass
class Slices:
    """Entries around each particle in transposed slices.

    Attributes:
        rows: rows of each slice (slices,) int32.
        starts: first entry of each slice (slices,) int32.
        entry: element number of each slot, -1 where padded (slots,) int64.
        corner: corner of that element the particle is (slots,) int8.
        owner: particle of each slot (slots,) int32, also where padded.
    """

    rows: np.ndarray
    starts: np.ndarray
    entry: np.ndarray
    corner: np.ndarray
    owner: np.ndarray


def incidence(elements: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Element and corner numbers around each particle, ordered by particle, then element.

    Args:
        elements: particle numbers (m, c).
        count: number of particles.

    Returns:
        starts (count + 1,), element (m*c,), corner (m*c,).
    """
    corners = elements.shape[1] if elements.ndim == 2 and len(elements) else 1
    flat = elements.reshape(-1)
    order = np.argsort(flat, kind="stable")
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(flat, minlength=count), out=starts[1:])
    return starts, order // corners, (order % corners).astype(np.int8)


def slice_incidence(
    starts: np.ndarray, element: np.ndarray, corner: np.ndarray, slot_particles: np.ndarray, lanes: int
) -> Slices:
    """Lay an incidence table out in slices of a warp.

    Args:
        starts, element, corner: from `incidence`.
        slot_particles: particle of each vertex slot, -1 where a patch is not full (a multiple of 32/lanes).
        lanes: threads that share one particle.
    """
    per_slice = WARP // lanes
    slots = slot_particles.reshape(-1, per_slice)
    counts = np.where(slots >= 0, starts[slots + 1] - starts[slots], 0)
    rows = -(-counts.max(axis=1) // lanes)
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(rows * WARP, out=offsets[1:])
    entry = np.full(offsets[-1], -1, np.int64)
    corner_of = np.zeros(offsets[-1], np.int8)
    owner = np.zeros(offsets[-1], np.int32)
    slice_of = np.repeat(np.arange(len(rows)), rows * WARP)
    within = np.arange(offsets[-1]) - offsets[slice_of]
    owner[:] = np.maximum(slots[slice_of, (within % WARP) // lanes], 0)
    flat_slots = slots.reshape(-1)
    flat_counts = counts.reshape(-1)
    vertex = np.repeat(np.arange(len(flat_slots)), flat_counts)
    first = np.zeros(len(flat_slots) + 1, np.int64)
    np.cumsum(flat_counts, out=first[1:])
    rank = np.arange(first[-1]) - first[vertex]
    source = starts[flat_slots[vertex]] + rank
    target = offsets[vertex // per_slice] + (rank // lanes) * WARP + (vertex % per_slice) * lanes + rank % lanes
    entry[target] = element[source]
    corner_of[target] = corner[source]
    return Slices(rows.astype(np.int32), offsets[:-1].astype(np.int32), entry, corner_of, owner)


@dataclasses.dataclass
class Patches:
    """Which particles each patch owns and borrows.

    Attributes:
        starts: first owned particle of each patch, and the end (patches + 1,) int32.
        halo_starts: first halo entry of each patch, and the end (patches + 1,) int32.
        halo: borrowed particles, sorted within a patch (h,) int32.
        patch_of: patch of each particle (n,) int32.
    """

    starts: np.ndarray
    halo_starts: np.ndarray
    halo: np.ndarray
    patch_of: np.ndarray

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def largest(self) -> int:
        """Most particles, owned and borrowed, that any patch holds."""
        return int((np.diff(self.starts) + np.diff(self.halo_starts)).max(initial=0))

    def local(self, patch: np.ndarray, particle: np.ndarray) -> np.ndarray:
        """Number of a particle inside a patch: owned ones first, then the halo."""
        owned = self.patch_of[particle] == patch
        result = particle - self.starts[patch]
        borrowed = ~owned
        keys = np.repeat(np.arange(self.count, dtype=np.int64), np.diff(self.halo_starts)) * len(self.patch_of)
        keys += self.halo
        wanted = patch[borrowed].astype(np.int64) * len(self.patch_of) + particle[borrowed]
        found = np.searchsorted(keys, wanted)
        p = patch[borrowed]
        result[borrowed] = found - self.halo_starts[p] + (self.starts[p + 1] - self.starts[p])
        return result


def build_patches(starts: np.ndarray, pairs: np.ndarray, count: int) -> Patches:
    """Find the halo of each patch.

    Args:
        starts: first owned particle of each patch, and the end (patches + 1,).
        pairs: particles that share an element (p, 2).
        count: number of particles.
    """
    patch_of = (np.searchsorted(starts, np.arange(count), side="right") - 1).astype(np.int32)
    a, b = patch_of[pairs[:, 0]], patch_of[pairs[:, 1]]
    across = a != b
    keys = np.concatenate(
        [
            a[across].astype(np.int64) * count + pairs[across, 1],
            b[across].astype(np.int64) * count + pairs[across, 0],
        ]
    )
    keys = np.unique(keys)
    patches = len(starts) - 1
    halo_starts = np.searchsorted(keys, np.arange(patches + 1, dtype=np.int64) * count)
    return Patches(
        np.asarray(starts, np.int32), halo_starts.astype(np.int32), (keys % count).astype(np.int32), patch_of
    )
