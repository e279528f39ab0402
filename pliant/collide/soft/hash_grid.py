"""A hash grid: which vertices may meet which triangles, by cells of one size.

After Teschner, Heidelberger, Mueller, Pomerantes and Gross (2003, Optimized spatial hashing for collision detection of
deformable objects): vertices are put into lists by a hash of their cell, and triangles look through the lists of the
cells they reach. It needs no shape to start from and is made anew each time, but has one size of cell for all.
`Candidates` is what simulations use; this is what it is compared with.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.collide.soft import hash_kernels as kernels
from pliant.collide.soft.candidates import Table
from pliant.collide.soft.features import Features
from pliant.launch import launch, run

FINDING_GRAIN = 256
"""Items below which a CPU thread costs more than it saves."""


class HashGrid:
    """Candidates of triangles among vertices.

    Args:
        features: what can touch.
        rest: rest positions of all particles [m].
        selfs: bodies that may meet themselves (b,) bool.
        radius: what is kept free around each particle [m], on the device.
        device: where they are.
        cell_size: [m]; the median of the triangles' widths and the reach on both sides, if not given.

    Attributes:
        near: for each triangle the numbers of vertices, as in `features.vertices`.
        full: set when there was too little room for them.
    """

    def __init__(
        self,
        features: Features,
        rest: np.ndarray,
        selfs: np.ndarray,
        radius: wp.array,
        device: str,
        cell_size: float | None = None,
    ):
        self.device, self.radius, self.reach = device, radius, features.reach
        ints = lambda values: wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=device)
        self.corners = wp.array(features.triangles, dtype=wp.vec3i, device=device)
        self.triangle_body = ints(features.triangle_body)
        self.vertex, self.vertex_body = ints(features.vertices), ints(features.vertex_body)
        self.selfs = ints(selfs)
        if cell_size is None:
            widths = np.ptp(rest[features.triangles], axis=1).max(axis=1) if len(features.triangles) else np.zeros(1)
            cell_size = max(float(np.median(widths)) + 2.0 * features.reach, 1e-12)
        count = len(features.vertices)
        size = max(count, 1)
        data = kernels.GridData()
        data.count, data.cell_size = count, cell_size
        data.buckets = 2 ** int(np.ceil(np.log2(2 * size)))
        data.low, data.high = (wp.zeros(size, dtype=wp.vec3, device=device) for _ in range(2))
        data.cell = wp.zeros(size, dtype=wp.vec3i, device=device)
        data.key, data.vertex = (wp.zeros(2 * size, dtype=int, device=device) for _ in range(2))
        data.first, data.end = (wp.zeros(data.buckets, dtype=int, device=device) for _ in range(2))
        data.wide = wp.zeros(1, dtype=wp.vec3, device=device)
        self.data = data
        self._runs = wp.zeros(-(-size // kernels.RUN), dtype=wp.vec3, device=device)
        self.near = Table(len(features.triangles), 8, device)
        self.full = wp.zeros(1, dtype=int, device=device)

    def search(self, x: wp.array, x_next: wp.array, v: wp.array, ahead: float) -> None:
        """Put all vertices into the grid and find all candidates; see `Candidates.follow` for what is given."""
        data, count = self.data, self.data.count
        if not count:
            return
        there = [x, x_next, v, self.radius, ahead]
        launch(kernels.place_vertices, count, [self.vertex, *there], [data], device=self.device, grain=4096)
        launch(kernels.widest_of_runs, len(self._runs), [data], [self._runs], device=self.device, grain=256)
        launch(kernels.widest_of_all, 1, [self._runs, len(self._runs)], [data.wide], device=self.device)
        bits = max(int(data.buckets).bit_length() - 1, 1)
        run(lambda: wp.utils.radix_sort_pairs(data.key, data.vertex, count, end_bit=bits))
        launch(kernels.clear_lists, data.buckets, [], [data], device=self.device)
        launch(kernels.mark_lists, count, [], [data], device=self.device)
        launch(
            kernels.find_vertices,
            self.near.things,
            [self.corners, self.triangle_body, self.vertex, self.vertex_body, self.selfs, data, *there, self.reach]
            + [self.near.room],
            [self.near.found, self.near.count, self.full],
            device=self.device,
            grain=FINDING_GRAIN,
        )

    def grow(self) -> bool:
        """Make room where there was too little; whether there was."""
        if not self.full.numpy()[0]:
            return False
        self.full.zero_()
        return self.near.grow()

    def pairs(self) -> np.ndarray:
        """Candidates as numbers of vertex and triangle (k, 2), sorted."""
        return np.unique(self.near.pairs()[:, ::-1], axis=0)
