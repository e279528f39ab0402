"""Long-range attachments (Kim, Chentanez, Mueller-Fischer 2012): a cloth that hangs from pins does not sag.

A vertex can be no further from a pin than along the cloth. This is known before any force has travelled through the
cloth, so one look at each vertex does what many passes over its edges would have to do.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh import arrays
from pliant.model.model import Body
from pliant.solvers.xpbd.long_range_kernels import ANCHORS, find_ways, keep_near


class LongRange:
    """The ways to the nearest pins of one sheet's particles."""

    def __init__(self, body: Body, slack: float, device: str) -> None:
        self.device = device
        self.first, end = body.particles
        self.count = end - self.first
        self.slack = slack
        mesh = body.own.mesh
        edges = mesh.edges()
        ends = np.concatenate([edges, edges[:, ::-1]])
        order = np.argsort(ends[:, 0], kind="stable")
        length = np.tile(arrays.edge_lengths(mesh.vertices, edges), 2)[order]
        starts = np.searchsorted(ends[order, 0], np.arange(self.count + 1))
        host = lambda a, t: wp.array(np.ascontiguousarray(a), dtype=t, device="cpu")
        self._edges = [
            host(starts.astype(np.int32), int),
            host(ends[order, 1].astype(np.int32), int),
            host(length.astype(np.float32), float),
        ]
        self.anchors = wp.array(np.full(ANCHORS * self.count, -1, np.int32), dtype=int, device=device)
        self.ways = wp.zeros(ANCHORS * self.count, dtype=float, device=device)

    def follow(self, pinned: np.ndarray) -> None:
        """Find the ways to these pins, by the model's particle numbers."""
        mine = pinned[(pinned >= self.first) & (pinned < self.first + self.count)] - self.first
        anchors = np.full((self.count, ANCHORS), -1, np.int32)
        ways = np.full((self.count, ANCHORS), np.inf, np.float32)
        anchors[mine, 0], ways[mine, 0] = mine, 0.0
        found = [wp.array(anchors.ravel(), dtype=int, device="cpu"), wp.array(ways.ravel(), dtype=float, device="cpu")]
        wp.launch(find_ways, 1, inputs=[*self._edges, self.count], outputs=found, device="cpu")
        known = found[0].numpy()
        self.anchors.assign(np.where(known >= 0, known + self.first, -1).astype(np.int32))
        self.ways.assign(((1.0 + self.slack) * np.where(known >= 0, found[1].numpy(), 0.0)).astype(np.float32))

    def apply(self, base: wp.array, move: wp.array) -> None:
        """Bring back what is too far."""
        launch(
            keep_near,
            self.count,
            [self.anchors, self.ways, base, self.first],
            [move],
            device=self.device,
            first=self.first,
        )
