"""The deformation around each particle, from its neighbours at rest: the same for every method."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Model
from pliant.quantities import strain_kernels as kernels
from pliant.quantities.neighbours import body_pairs, is_sheet

FLAT = 1e-4
"""A neighbourhood does not extend along a direction whose moment is less than this share of the largest."""
GRAIN = 1024


class Strain:
    """Deformation gradients of all particles of a model, by moving least squares over the neighbours at rest.

    F_i minimises the sum over neighbours j of w_ij |F r_ij - (x_j - x_i)|^2, with r_ij from i to j at rest and w_ij =
    1 / |r_ij|^2 (Mueller et al. 2004, Point based animation of elastic, plastic and melting objects, section 3.2, with
    their displacements replaced by positions): F_i = sum of w (x_j - x_i) r_ij^T (sum of w r r^T)^-1. An affine motion
    gives its matrix exactly. Along directions in which there are no neighbours (across a sheet, around a rod) F is
    zero, and the particle counts as undeformed there. Sheets are measured in their plane even where they are curved.
    Of rods, which bend freely, the strain is that of the segment at the particle that has changed its length most.

    Args:
        model: what is simulated; its particles are at rest as they were built.
        device: where it lives.

    Attributes:
        rank: number of directions in which each particle has neighbours (n,).
    """

    def __init__(self, model: Model, device: str):
        self.device = device
        rest = model.particles.rest
        count = len(rest)
        pairs = [body_pairs(model, body) + body.particles[0] for body in model.bodies]
        a, b = np.concatenate(pairs).T
        keys = np.concatenate([a * count + b, b * count + a])
        keys.sort(kind="stable")
        owner, neighbour = np.divmod(keys, count)
        r = rest[neighbour] - rest[owner]
        squared = np.einsum("ij,ij->i", r, r)
        unit = r / np.sqrt(np.maximum(squared, 1e-300))[:, None]
        unit[squared == 0.0] = 0.0
        moments = np.zeros((count, 3, 3))
        for a in range(3):
            for b in range(a, 3):
                moments[:, a, b] = moments[:, b, a] = np.bincount(owner, unit[:, a] * unit[:, b], count)
        values, vectors = np.linalg.eigh(moments)
        kept = values > FLAT * np.maximum(values[:, 2:], 1e-30)
        sheet = np.array([is_sheet(model, body) for body in model.bodies], bool)
        kept[sheet[model.particles.body], 0] = False
        inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
        pseudo = np.einsum("nij,nj,nkj->nik", vectors, inverse, vectors)
        # w r^T K^-1 with w = 1 / r^2: the unit vector over the length
        length = np.sqrt(np.where(squared > 0.0, squared, 1.0))
        slopes = np.einsum("eij,ej->ei", pseudo[owner], unit) / length[:, None]
        rank = kept.sum(axis=1)
        axes = np.zeros((count, 4))
        axes[:, :3] = np.where((rank == 1)[:, None], vectors[:, :, 2], vectors[:, :, 0])
        axes[:, 3] = rank
        is_rod = np.array([body.segments is not None for body in model.bodies], bool)[model.particles.body]
        axes[is_rod, 3] = kernels.ROD
        rank[is_rod] = 1
        starts = np.searchsorted(owner, np.arange(count + 1))
        self.rank = rank
        self._count = count
        self._starts = wp.array(starts.astype(np.int32), dtype=int, device=device)
        self._neighbours = wp.array(neighbour.astype(np.int32), dtype=int, device=device)
        self._slopes = wp.array(slopes.astype(np.float32), dtype=wp.vec3, device=device)
        self._keys = keys if is_rod.any() else np.zeros(0, np.int64)
        # read of rods only
        self._rest = wp.array((length if is_rod.any() else np.ones(1)).astype(np.float32), dtype=float, device=device)
        self._axes = wp.array(axes.astype(np.float32), dtype=wp.vec4, device=device)
        self._bodies = wp.array(model.particles.body.astype(np.int32), dtype=int, device=device)
        elastic = [(body.material.shear_modulus, body.material.poisson) for body in model.bodies]
        self._elastic = wp.array(np.array(elastic, np.float32), dtype=wp.vec2, device=device)

    def forget(self, broken: np.ndarray) -> None:
        """Count no segments of rods between these pairs of particles (k, 2), in any order, but all others."""
        rest = np.abs(self._rest.numpy())
        ends = np.concatenate([broken, broken[:, ::-1]]).astype(np.int64)
        rest[np.isin(self._keys, ends[:, 0] * self._count + ends[:, 1])] *= -1.0
        self._rest.assign(rest)

    def gradients(self, x: wp.array) -> np.ndarray:
        """Deformation gradients (n, 3, 3) float32 for positions (n,) vec3 [m], in the model's order."""
        found = wp.zeros(self._count, dtype=wp.mat33, device=self.device)
        self._launch(kernels.find_gradients, [x], found)
        return found.numpy()

    def strain(self, x: wp.array, out: wp.array) -> None:
        """Write the largest |principal stretch - 1| of each particle."""
        self._launch(kernels.find_strain, [self._rest, self._axes, x], out)

    def stress(self, x: wp.array, out: wp.array) -> None:
        """Write the von Mises stress of each particle [Pa]."""
        self._launch(kernels.find_stress, [self._rest, self._axes, self._bodies, self._elastic, x], out)

    def _launch(self, kernel: object, inputs: list, out: wp.array) -> None:
        tables = [self._starts, self._neighbours, self._slopes]
        launch(kernel, self._count, [*tables, *inputs], [out], device=self.device, grain=GRAIN)
