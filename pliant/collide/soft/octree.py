"""An octree of boxes around bodies (Sharma 2013, section 4.2.3), made anew whenever it is asked.

The source cuts space into eight again and again and puts objects into it by their bounding spheres. It does not say
what becomes of one that lies across a cut, and reports that the tree gains nothing where all bodies start at one place.
Here a box is in the cell that holds its middle and is no narrower than the sphere around it: it reaches at most half a
cell beyond, which the walk allows for, so nothing lies across anything. Where all boxes touch, there is nothing to gain
by any search for pairs, since all pairs are asked for; what can help is a search that goes on inside the bodies, as
`Candidates` does.

Nothing is built of nodes: the boxes are sorted by the codes of their cells, and a walk skips runs of them. So it is the
same on every device, from run to run, and a graph can hold it.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.collide.soft import octree_kernels as kernels
from pliant.collide.soft.candidates import Table
from pliant.launch import launch, run


class Octree:
    """Which of several boxes touch.

    Args:
        count: number of boxes.
        device: where they are.

    Attributes:
        data: the boxes, `data.low` and `data.high` [m], to be written before `search`. One whose low corner is above
            its high one is empty and touches nothing.
        near: for each box the others that touch it.
        full: set when there was too little room for them.
    """

    def __init__(self, count: int, device: str):
        self.count, self.device = count, device
        data = kernels.OctreeData()
        data.count = count
        size = max(count, 1)
        data.low, data.high, data.corner = (wp.zeros(n, dtype=wp.vec3, device=device) for n in (size, size, 1))
        data.cell = wp.zeros(size, dtype=wp.vec3i, device=device)
        data.key = wp.zeros(2 * size, dtype=wp.int64, device=device)
        data.item = wp.zeros(2 * size, dtype=int, device=device)
        data.width, data.slack = (wp.zeros(1, dtype=float, device=device) for _ in range(2))
        self.data = data
        self.near = Table(count, min(max(count, 1), 16), device)
        self.full = wp.zeros(1, dtype=int, device=device)
        self._runs = []
        while True:
            size = -(-size // kernels.RUN)
            self._runs.append([wp.zeros(size, dtype=wp.vec3, device=device) for _ in range(2)])
            if size == 1:
                break

    def set_boxes(self, low: np.ndarray, high: np.ndarray) -> None:
        """Give the boxes from the host (n, 3) [m]."""
        if self.count:
            self.data.low.assign(np.asarray(low, np.float32))
            self.data.high.assign(np.asarray(high, np.float32))

    def search(self) -> None:
        """Find all pairs that touch."""
        if not self.count:
            return
        low, high, count = self.data.low, self.data.high, self.count
        for run_low, run_high in self._runs:
            inputs = [low, high, count]
            launch(kernels.join_runs, len(run_low), inputs, [run_low, run_high], device=self.device, grain=1024)
            low, high, count = run_low, run_high, len(run_low)
        launch(kernels.place_root, 1, [low, high], [self.data], device=self.device)
        launch(kernels.place_boxes, self.count, [], [self.data], device=self.device, grain=4096)
        bits = 3 * kernels.DEPTH + kernels.LEVEL_BITS
        run(lambda: wp.utils.radix_sort_pairs(self.data.key, self.data.item, self.count, end_bit=bits))
        launch(
            kernels.find_boxes,
            self.count,
            [self.data, self.near.room],
            [self.near.found, self.near.count, self.full],
            device=self.device,
            grain=64,
        )

    def grow(self) -> bool:
        """Make room where there was too little; whether there was."""
        if not self.full.numpy()[0]:
            return False
        self.full.zero_()
        return self.near.grow()

    def pairs(self) -> np.ndarray:
        """Pairs of boxes that touch (k, 2), the smaller number first, sorted; for tests and pictures."""
        return np.unique(np.sort(self.near.pairs(), axis=1), axis=0)
