"""How far the edges of a mesh are stretched and how far its volume strays: measured alike for every method."""

from __future__ import annotations

import numpy as np

from pliant.mesh.arrays import edge_lengths, unique_edges
from pliant.model.tets import signed_volumes
from pliant.simulation import Simulation

TET_EDGES = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
TRIANGLE_EDGES = ((0, 1), (1, 2), (2, 0))


class ShapeChange:
    """The longest and the shortest edge and the largest change of volume of all that was looked at.

    Edges are those of tets, of the triangles of what has none, and of rods, whatever a method makes of them.

    Attributes:
        longest, shortest: edges over their length at rest; 1 where there are none.
        drift: largest |volume of all tets / that at rest - 1|; 0 where there are none.
    """

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        model = sim.model
        self._tets = model.tets.corners
        parts = []
        for body in model.bodies:
            tets = model.tets.corners[slice(*body.tets)]
            parts.append(unique_edges(tets, TET_EDGES) if len(tets) else unique_edges(body.surface, TRIANGLE_EDGES))
            if body.segments is not None:
                parts.append(body.segments.astype(np.int64) + body.particles[0])
        self._pairs = np.concatenate(parts)
        rest = np.asarray(model.particles.rest, np.float64)
        self._length = edge_lengths(rest, self._pairs)
        self._volume = float(np.abs(signed_volumes(rest, self._tets)).sum())
        self.longest, self.shortest, self.drift = 1.0, 1.0, 0.0

    def look(self) -> None:
        """Take in the present state."""
        x = self._sim.state.x.numpy().astype(np.float64)
        if len(self._pairs):
            stretch = edge_lengths(x, self._pairs) / self._length
            self.longest = max(self.longest, float(stretch.max()))
            self.shortest = min(self.shortest, float(stretch.min()))
        if self._volume:
            now = float(signed_volumes(x, self._tets).sum())
            self.drift = max(self.drift, abs(now / self._volume - 1.0))
