"""The model's elements laid out for the step kernels, on the CPU and on CUDA.

Every edge of a tet or triangle of this method is a spring, so the springs alone tell which particles share an element.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.model.model import Body, Model
from pliant.model.patches import OTHER_CORNERS, WARP, Patches, build_patches, incidence, slice_incidence
from pliant.model.springs import Springs
from pliant.solvers.mass_spring.cpu_kernels import CpuPatches

# Most particles a CPU patch aims to own.
CPU_PATCH = 1536
# Shared memory holds two float4 per particle, and 48 KB less what Warp keeps.
CUDA_CAPACITY = 1408
# Above this many particles a block does best with few lanes per particle and a large patch.
CUDA_LARGE = 150_000


@dataclasses.dataclass
class CpuLayout:
    """Tables of the CPU kernel; `spring` and `triangle` are the elements that their rows are of, `triangle_corners`
    those of bodies that are whole."""

    patches: CpuPatches
    count: int
    spring: np.ndarray
    triangle: np.ndarray
    triangle_corners: np.ndarray

    def set_springs(self, springs: Springs) -> None:
        """Take other constants of the same springs."""
        self.patches.spring_stiffness_length.assign(_stiffness_length(springs, self.spring))

    def set_torn(self, torn: np.ndarray) -> None:
        """Collapse the triangles of a mask (t,), which feel nothing then."""
        corners = self.triangle_corners.copy()
        collapsed = torn[self.triangle]
        corners[collapsed] = corners[collapsed][:, :1]
        self.patches.triangle_corners.assign(corners)


@dataclasses.dataclass
class CudaLayout:
    """Tables of the CUDA kernel and the shape of its launch; `spring` and `triangle` are the elements that their rows
    are of, -1 where they are padded, and `triangle_others` those of bodies that are whole."""

    patches: Any
    count: int
    block: int
    lanes: int
    capacity: int
    extent: list[float]
    spring: np.ndarray
    triangle: np.ndarray
    triangle_others: np.ndarray

    def set_springs(self, springs: Springs) -> None:
        """Take other constants of the same springs."""
        self.patches.spring_stiffness_length.assign(_padded_constants(springs, self.spring))

    def set_torn(self, torn: np.ndarray) -> None:
        """Collapse the triangles of a mask (t,), which feel nothing then."""
        others = self.triangle_others.copy()
        collapsed = (self.triangle >= 0) & torn[np.maximum(self.triangle, 0)] if len(torn) else np.zeros(0, np.int64)
        others[collapsed, 1] = others[collapsed, 0]
        self.patches.triangle_others.assign(others)


def _grouped_blocks(bodies: Sequence[Body], most: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs of spatial blocks of at most `most` particles: starts (p + 1,) and the body of each (p,)."""
    starts: list[int] = []
    body_of: list[int] = []
    for number, body in enumerate(bodies):
        sizes = np.diff(body.blocks)
        held = most + 1
        for block, size in zip(body.blocks[:-1], sizes, strict=True):
            if held + size // 2 > most:
                starts.append(int(block))
                body_of.append(number)
                held = 0
            held += int(size)
    starts.append(bodies[-1].particles[1])
    return np.array(starts, np.int32), np.array(body_of, np.int32)


def _elements_by_patch(corners: np.ndarray, patches: Patches) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Elements that touch each patch: starts (p + 1,), element numbers, and the patch of each."""
    count = patches.count
    if len(corners) == 0:
        return np.zeros(count + 1, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32)
    owner = np.sort(patches.patch_of[corners], axis=1)
    keep = np.ones(owner.shape, bool)
    keep[:, 1:] = owner[:, 1:] != owner[:, :-1]
    element = np.broadcast_to(np.arange(len(corners))[:, None], owner.shape)[keep]
    patch = owner[keep]
    order = np.lexsort((element, patch))
    starts = np.searchsorted(patch[order], np.arange(count + 1)).astype(np.int32)
    return starts, element[order], patch[order]


def cpu_patch_size(particles: int) -> int:
    """Particles per CPU patch: large, so that few elements are computed twice, but a few patches for small bodies too.

    It does not depend on the number of threads, so neither does the result.
    """
    count = max(math.ceil(particles / CPU_PATCH), min(4, particles // 256), 1)
    return math.ceil(particles / count)


def cpu_layout(model: Model) -> CpuLayout:
    """Lay the model out for the CPU kernel."""
    patch = cpu_patch_size(sum(b.particles[1] - b.particles[0] for b in model.bodies))
    starts, body_of = _grouped_blocks(model.bodies, patch)
    patches = build_patches(starts, model.springs.pairs, model.particles.count)
    held = np.concatenate([[0], np.cumsum(np.diff(patches.starts) + np.diff(patches.halo_starts))])
    tables = CpuPatches()

    def put(name: str, array: np.ndarray, dtype: Any) -> None:
        setattr(tables, name, wp.array(np.ascontiguousarray(array), dtype=dtype, device="cpu"))

    def put_elements(name: str, places: str, corners: np.ndarray, dtype: Any) -> np.ndarray:
        """Store the elements that touch each patch, with their corners' places in its copy; return their numbers."""
        first, element, patch_of = _elements_by_patch(corners, patches)
        put(f"{name}_starts", first, int)
        local = [held[patch_of] + patches.local(patch_of, corners[element, c]) for c in range(corners.shape[1])]
        put(f"{name}_{places}", np.stack(local, 1).astype(np.int32), dtype)
        return element

    put("starts", patches.starts, int)
    put("body", body_of, int)
    put("halo_starts", patches.halo_starts, int)
    put("halo", patches.halo, int)
    put("held", held.astype(np.int32), int)
    tet = put_elements("tet", "corners", model.tets.corners, wp.vec4i)
    put("tet_inv_six_volume", (1.0 / (6.0 * model.tets.rest_volume[tet])).astype(np.float32), float)
    spring = put_elements("spring", "pairs", model.springs.pairs, wp.vec2i)
    put("spring_stiffness_length", _stiffness_length(model.springs, spring), wp.vec2)
    triangle = put_elements("triangle", "corners", model.triangles.corners, wp.vec3i)
    put("triangle_inv_double_area", (0.5 / model.triangles.rest_area[triangle]).astype(np.float32), float)
    tables.x = wp.zeros(int(held[-1]), dtype=wp.vec4d, device="cpu")
    tables.v = wp.zeros(int(held[-1]), dtype=wp.vec4, device="cpu")
    tables.force = wp.zeros(int(held[-1]), dtype=wp.vec4, device="cpu")
    # a copy: on the CPU an array's numbers are seen through its memory
    return CpuLayout(tables, patches.count, spring, triangle, tables.triangle_corners.numpy().copy())


def _stiffness_length(springs: Springs, rows: np.ndarray) -> np.ndarray:
    return np.stack([springs.stiffness[rows], springs.rest_length[rows]], 1).astype(np.float32)


def _padded_constants(springs: Springs, entry: np.ndarray) -> np.ndarray:
    """Stiffness and length of each slot (m, 2) float32, zero where it is padded (-1)."""
    constants = np.zeros((len(entry), 2), np.float32)
    constants[entry >= 0] = _stiffness_length(springs, entry[entry >= 0])
    return constants


def cuda_shape(particles: int) -> tuple[int, int]:
    """Particles per block and lanes per particle, by measurement on an H200."""
    return (128, 1) if particles > CUDA_LARGE else (64, 4)


def cuda_layout(model: Model, device: str, shape: tuple[int, int] | None = None) -> CudaLayout:
    """Lay the model out for the CUDA kernel; smaller patches where a halo would not fit into shared memory."""
    from pliant.solvers.mass_spring.cuda_kernels import CudaPatches

    owned, lanes = shape or cuda_shape(model.particles.count)
    while True:
        starts, body_of = _grouped_blocks(_refined(model.bodies, owned), owned)
        patches = build_patches(starts, model.springs.pairs, model.particles.count)
        if patches.largest() <= CUDA_CAPACITY or owned <= WARP // lanes:
            break
        owned //= 2
    # powers of two, so that scenes share their compiled kernels
    capacity = min(CUDA_CAPACITY, max(128, 2 ** math.ceil(math.log2(patches.largest()))))
    slots = np.full((patches.count, owned), -1, np.int64)
    sizes = np.diff(starts)
    column = np.arange(owned)
    filled = column[None, :] < sizes[:, None]
    slots[filled] = (starts[:-1, None] + column[None, :])[filled]
    flat_slots = slots.reshape(-1)

    tables = CudaPatches()

    def put(name: str, array: np.ndarray, dtype: Any) -> None:
        setattr(tables, name, wp.array(np.ascontiguousarray(array), dtype=dtype, device=device))

    put("starts", patches.starts, int)
    put("body", body_of, int)
    put("halo_starts", patches.halo_starts, int)
    put("halo", patches.halo, int)

    entry, others = _sliced(model.tets.corners, OTHER_CORNERS, patches, flat_slots, lanes, put, "tet")
    packed = np.stack([others[:, 0] | (others[:, 1] << 16), others[:, 2]], 1).astype(np.uint32).view(np.int32)
    put("tet_others", packed, wp.vec2i)
    inverse = np.zeros(len(entry), np.float32)
    inverse[entry >= 0] = 1.0 / (6.0 * model.tets.rest_volume[entry[entry >= 0]])
    put("tet_inv_six_volume", inverse, float)

    spring, others = _sliced(model.springs.pairs, np.array([[1], [0]]), patches, flat_slots, lanes, put, "spring")
    put("spring_other", others[:, 0].astype(np.uint16), wp.uint16)
    put("spring_stiffness_length", _padded_constants(model.springs, spring), wp.vec2)

    entry, others = _sliced(
        model.triangles.corners, np.array([[1, 2], [2, 0], [0, 1]]), patches, flat_slots, lanes, put, "triangle"
    )
    put("triangle_others", others.astype(np.int32), wp.vec2i)
    inverse = np.zeros(len(entry), np.float32)
    inverse[entry >= 0] = 0.5 / model.triangles.rest_area[entry[entry >= 0]]
    put("triangle_inv_double_area", inverse, float)
    extents = _extents(model, patches, body_of)
    seen = others.astype(np.int32)
    return CudaLayout(tables, patches.count, owned * lanes, lanes, capacity, extents, spring, entry, seen)


def _refined(bodies: Sequence[Body], owned: int) -> list[Body]:
    """The bodies with blocks cut so that none is larger than `owned`."""
    refined = []
    for body in bodies:
        pieces = [np.arange(a, b, owned) for a, b in zip(body.blocks[:-1], body.blocks[1:], strict=True)]
        refined.append(dataclasses.replace(body, blocks=np.append(np.concatenate(pieces), body.blocks[-1])))
    return refined


def _sliced(
    corners: np.ndarray, others_of: np.ndarray, patches: Patches, slots: np.ndarray, lanes: int, put: Any, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Lay out the elements around each particle; store starts and rows; return entries and the others' places."""
    table = slice_incidence(*incidence(corners, len(patches.patch_of)), slots, lanes)
    put(f"{name}_starts", table.starts, int)
    put(f"{name}_rows", table.rows, int)
    patch = patches.patch_of[table.owner]
    real = table.entry >= 0
    width = others_of.shape[1]
    # slots that no particle fills name particle 0, which may belong to a body of another method
    itself = np.where(patch >= 0, table.owner - patches.starts[patch], 0)
    others = np.repeat(itself[:, None], width, axis=1).astype(np.int64)
    if real.any():
        rows = corners[table.entry[real]]
        columns = others_of[table.corner[real]]
        particle = np.take_along_axis(rows, columns, axis=1)
        for c in range(width):
            others[real, c] = patches.local(patch[real], particle[:, c])
    return table.entry, others


def _extents(model: Model, patches: Patches, body_of: np.ndarray) -> list[float]:
    """Largest extent of a patch with its halo, for each body [m]."""
    x = model.particles.rest
    owned = np.arange(patches.starts[0], patches.starts[-1])
    members = np.concatenate([owned, patches.halo])
    patch = np.concatenate([patches.patch_of[owned], np.repeat(np.arange(patches.count), np.diff(patches.halo_starts))])
    order = np.argsort(patch, kind="stable")
    starts = np.searchsorted(patch[order], np.arange(patches.count))
    low = np.minimum.reduceat(x[members[order]], starts)
    high = np.maximum.reduceat(x[members[order]], starts)
    size = (high - low).max(axis=1)
    return [float(size[body_of == b].max()) for b in range(len(model.bodies))]
