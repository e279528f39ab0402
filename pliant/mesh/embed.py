"""A surface embedded in a simulated shape: each of its vertices is a weighted sum of the shape's vertices."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class Embedding:
    """Where a surface's vertices are in terms of their hosts: x = sum of weight * x_host.

    Attributes:
        hosts: host vertices of each surface vertex (n, k) int32; k = 4 in tets, 8 in voxels, 3 on triangles.
        weights: (n, k) float64, each row adds up to 1.
        outside: distance of each surface vertex from its element [m] (n,); 0 if it lies inside.
    """

    hosts: np.ndarray
    weights: np.ndarray
    outside: np.ndarray
