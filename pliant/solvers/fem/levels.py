"""Lattices around the bodies, each twice as coarse as the last, whose nodes correct what conjugate gradients leave.

Every particle takes its correction from the nodes of the cube it lies in at rest, trilinearly, and every node of a
lattice from those of the next. The preconditioner adds the corrections of all lattices to that of the particles' own
blocks (Bramble, Pasciak and Xu 1990): the number of iterations then hardly grows as a mesh is refined.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Model
from pliant.solvers.fem import cpu_kernels
from pliant.solvers.fem import level_kernels as kernels
from pliant.solvers.fem.data import Mesh
from pliant.solvers.fem.hold_kernels import Holds
from pliant.solvers.fem.tables import Tables, lame

# Spacing of the first lattice over a short edge of the mesh, and the share of particles that it may have nodes.
SPACING, SHARE = 2.0, 0.35


@dataclasses.dataclass
class Lattice:
    """One lattice of every body.

    Attributes:
        starts, source, weight: by node, what it is made of: particles or nodes of the finer lattice.
        up_starts, up_node, up_weight: the same by particle or finer node.
        stiffness: of a node's diagonal, over the step's factor [N/m] (k,); body: of each node (k,).
    """

    starts: np.ndarray
    source: np.ndarray
    weight: np.ndarray
    up_starts: np.ndarray
    up_node: np.ndarray
    up_weight: np.ndarray
    stiffness: np.ndarray
    body: np.ndarray

    @property
    def count(self) -> int:
        return len(self.body)


def _corners(points: np.ndarray, origin: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Whole coordinates of the cubes that points lie in (n, 3), and the places within them (n, 3)."""
    place = (points - origin) / spacing
    # a rounding off a node is on it
    place = np.where(np.abs(place - np.round(place)) < 1e-6, np.round(place), place)
    cell = np.floor(place).astype(np.int64)
    return cell, place - cell


OFFSETS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])


def _weights(within: np.ndarray) -> np.ndarray:
    """Trilinear weights of the eight corners of a cube (n, 8)."""
    one = np.stack([1.0 - within, within], axis=1)
    return one[:, OFFSETS[:, 0], 0] * one[:, OFFSETS[:, 1], 1] * one[:, OFFSETS[:, 2], 2]


def _slopes(within: np.ndarray, spacing: float) -> np.ndarray:
    """Squared slopes of the weights of the eight corners (n, 8) [1/m^2]."""
    one = np.stack([1.0 - within, within], axis=1)
    sign = np.where(OFFSETS == 1, 1.0, -1.0)
    parts = [one[:, OFFSETS[:, k], k] for k in range(3)]
    total = np.zeros((len(within), 8))
    for k in range(3):
        total += (sign[:, k] * parts[(k + 1) % 3] * parts[(k + 2) % 3]) ** 2
    return total / spacing**2


def _keys(cells: np.ndarray, body: np.ndarray) -> np.ndarray:
    """A number for each corner of each cell (n, 8)."""
    corner = cells[:, None, :] + OFFSETS
    return ((body[:, None] * 4096 + corner[..., 0]) * 4096 + corner[..., 1]) * 4096 + corner[..., 2]


def make_lattices(model: Model, tables: Tables) -> list[Lattice]:
    """The lattices of the bodies of one method, the finest first; none for bodies that are too small to need them."""
    first, last = model.bodies[0].particles[0], model.bodies[-1].particles[1]
    rest, body = model.particles.rest[first:last], model.particles.body[first:last].astype(np.int64)
    body = body - body[0]
    bodies = len(model.bodies)
    low = np.array([rest[body == b].min(axis=0) for b in range(bodies)])
    extent = np.array([np.ptp(rest[body == b], axis=0).max() for b in range(bodies)])
    lengths = model.springs.rest_length
    owner = body[model.springs.pairs[:, 0] - first]
    spacing = np.array([SPACING * np.quantile(lengths[owner == b], 0.1) for b in range(bodies)])
    spacing = np.maximum(spacing, extent / 4000.0)
    moduli = np.array([lame(each.material) for each in model.bodies])
    modulus = (moduli[:, 0] + 4.0 * moduli[:, 1]) / 3.0
    middles = model.particles.rest[tables.corners].mean(axis=1)
    tet_body = tables.tet_body.astype(np.int64)
    found: list[Lattice] = []
    points, of = rest, body
    while True:
        cells, within = _corners(points, low[of], spacing[of][:, None])
        weight, keys = _weights(within), _keys(cells, of)
        used = weight > 0.0
        nodes = np.unique(keys[used])
        if not found and len(nodes) > SHARE * len(rest):
            spacing = 1.5 * spacing
            if (spacing > 2.0 * extent).all():
                return []
            continue
        row, column = np.nonzero(used)
        node = np.searchsorted(nodes, keys[row, column])
        values = weight[row, column]
        by_node = np.argsort(node, kind="stable")
        tet_cells, tet_within = _corners(middles, low[tet_body], spacing[tet_body][:, None])
        slopes = _slopes(tet_within, spacing[tet_body][:, None])
        share = slopes * (modulus[tet_body] * tables.volume)[:, None]
        tet_keys = _keys(tet_cells, tet_body)
        place = np.minimum(np.searchsorted(nodes, tet_keys), len(nodes) - 1)
        hit = nodes[place] == tet_keys
        stiffness = np.bincount(place[hit], share[hit], len(nodes))
        node_body = nodes // 4096**3
        found.append(
            Lattice(
                np.searchsorted(node[by_node], np.arange(len(nodes) + 1)),
                row[by_node],
                values[by_node],
                np.searchsorted(row, np.arange(len(points) + 1)),
                node,
                values,
                stiffness,
                node_body,
            )
        )
        # the last lattice is one cube around each body
        if (spacing >= extent * (1.0 - 1e-9)).all() or len(nodes) <= 8 * bodies:
            return found
        whole = np.stack([nodes // 4096**2 % 4096, nodes // 4096 % 4096, nodes % 4096], axis=1)
        points, of = low[node_body] + spacing[node_body][:, None] * whole, node_body
        spacing = 2.0 * spacing


class Levels:
    """The lattices on the device, and what they correct."""

    def __init__(self, model: Model, mesh: Mesh, tables: Tables, device: str) -> None:
        self.mesh, self.device = mesh, device
        self.first = model.bodies[0].particles[0]
        self.count = model.bodies[-1].particles[1] - self.first
        self.lattices = make_lattices(model, tables)
        put = lambda array, dtype: wp.array(np.ascontiguousarray(array), dtype=dtype, device=device)
        # the nodes of all lattices in a row, and those of each
        begins = np.cumsum([0, *(lattice.count for lattice in self.lattices)])
        total = int(begins[-1])
        self.all_r, self.all_z = (wp.zeros(total + 2, dtype=wp.vec3, device=device) for _ in range(2))
        self.all_inverse = wp.zeros(total, dtype=float, device=device)
        # the first lattice that a block of threads has no more than a few nodes of for each
        self.base = next((k for k, lattice in enumerate(self.lattices) if lattice.count <= 1024), 0)
        self.nodes = None if device == "cpu" or len(self.lattices) < 2 else self._put_nodes(begins)
        self.tables, self.r, self.z, self.measure, self.inverse = [], [], [], [], []
        for k, lattice in enumerate(self.lattices):
            shift = self.first if k == 0 else 0
            table = kernels.Level()
            table.starts = put(lattice.starts.astype(np.int32), int)
            table.source = put((lattice.source + shift).astype(np.int32), int)
            table.weight = put(lattice.weight.astype(np.float32), float)
            table.up_starts = put(lattice.up_starts.astype(np.int32), int)
            table.up_node = put(lattice.up_node.astype(np.int32), int)
            table.up_weight = put(lattice.up_weight.astype(np.float32), float)
            table.stiffness = put(lattice.stiffness.astype(np.float32), float)
            table.body = put(lattice.body.astype(np.int32), int)
            self.tables.append(table)
            span = slice(int(begins[k]), int(begins[k + 1]))
            self.r.append(self.all_r[span])
            self.z.append(self.all_z[span])
            self.measure.append(wp.zeros(lattice.count, dtype=float, device=device))
            self.inverse.append(self.all_inverse[span])
        n = model.particles.count
        self.own = wp.zeros(n, dtype=float, device=device)

    def _put_nodes(self, begins: np.ndarray) -> Any:
        """The tables of all lattices in a row, by which one launch goes through all but the first."""
        from pliant.solvers.fem.cuda_kernels import Nodes

        def joined(starts: list[np.ndarray], skipped: int) -> np.ndarray:
            """Starts of rows of several tables one after the other, behind some rows of nothing."""
            lengths = np.concatenate([np.zeros(skipped, np.int64), *(np.diff(each) for each in starts)])
            return np.concatenate([[0], np.cumsum(lengths)])

        later = self.lattices[1:]
        put = lambda array, dtype: wp.array(np.ascontiguousarray(array), dtype=dtype, device=self.device)
        shifted = lambda parts: np.concatenate(parts).astype(np.int32)
        nodes = Nodes()
        nodes.begins = put(begins.astype(np.int32), int)
        first = self.lattices[0].count
        nodes.starts = put(joined([each.starts for each in later], first).astype(np.int32), int)
        nodes.source = put(shifted([each.source + begins[k] for k, each in enumerate(later)]), int)
        nodes.weight = put(np.concatenate([each.weight for each in later]).astype(np.float32), float)
        nodes.up_starts = put(joined([each.up_starts for each in later], 0).astype(np.int32), int)
        nodes.up_node = put(shifted([each.up_node + begins[k + 1] for k, each in enumerate(later)]), int)
        nodes.up_weight = put(np.concatenate([each.up_weight for each in later]).astype(np.float32), float)
        return nodes

    def prepare(
        self,
        inv_mass: wp.array,
        holds: Holds,
        diagonal: wp.array,
        dt: float,
        add_more: Callable[[wp.array], None] | None = None,
    ) -> None:
        """The diagonals of all lattices, for the matrix of a step of dt [s] and what is held in it; `add_more` adds to
        those of particles what the matrix has besides its blocks."""
        if not self.lattices:
            return
        launch(
            kernels.own_measure,
            self.count,
            [self.mesh, inv_mass, holds, diagonal, dt],
            [self.own],
            device=self.device,
            first=self.first,
        )
        if add_more is not None:
            add_more(self.own)
        source = self.own
        for k, lattice in enumerate(self.lattices):
            inputs = [self.mesh, self.tables[k], source, dt]
            outputs = [self.measure[k], self.inverse[k]]
            launch(kernels.measure_nodes, lattice.count, inputs, outputs, device=self.device, grain=1024)
            source = self.measure[k]

    def correct(self, free: wp.array) -> None:
        """Corrections of the first lattice, with those of all others, from what is free of the residual."""
        if self.nodes is not None:
            self._correct_at_once(free)
            return
        source = free
        for k, lattice in enumerate(self.lattices):
            inputs, outputs = [self.tables[k], source, self.inverse[k]], [self.r[k], self.z[k]]
            if self.device == "cpu":
                runs = -(-lattice.count // int(cpu_kernels.RUN))
                inputs = [*inputs, lattice.count]
                launch(cpu_kernels.restrict_runs, runs, inputs, outputs, device=self.device, grain=4)
            else:
                launch(kernels.restrict, lattice.count, inputs, outputs, device=self.device)
            source = self.r[k]
        for k in range(len(self.lattices) - 1, 0, -1):
            inputs = [self.tables[k], self.z[k]]
            count = self.lattices[k - 1].count
            launch(kernels.prolong, count, inputs, [self.z[k - 1]], device=self.device, grain=4096)

    def _correct_at_once(self, free: wp.array) -> None:
        """The same on CUDA, where every launch counts."""
        from pliant.solvers.fem.cuda_kernels import BLOCK, down_and_up

        source, base = free, self.base
        for k in range(base + 1):
            inputs, outputs = [self.tables[k], source, self.inverse[k]], [self.r[k], self.z[k]]
            launch(kernels.restrict, self.lattices[k].count, inputs, outputs, device=self.device, block_dim=64)
            source = self.r[k]
        launch(
            down_and_up,
            int(BLOCK),
            [self.nodes, base, len(self.lattices), self.all_inverse],
            [self.all_r, self.all_z],
            device=self.device,
            block_dim=int(BLOCK),
        )
        for k in range(base, 0, -1):
            inputs = [self.tables[k], self.z[k]]
            launch(kernels.prolong, self.lattices[k - 1].count, inputs, [self.z[k - 1]], device=self.device)
