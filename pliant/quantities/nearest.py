"""The nearest of some points."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch, pick_device
from pliant.quantities.strain_kernels import find_nearest


def nearest_points(points: np.ndarray, of: np.ndarray | None, count: int) -> np.ndarray:
    """The `count` nearest points (n, 3) of each place `of` (m, 3), nearest first, the lowest of several: (m, count).

    Without places those of the points themselves, each without itself. Rows are as short as there are points.
    """
    count = min(count, len(points) - (of is None))
    places = points if of is None else of
    if count < 1 or not len(places):
        return np.zeros((len(places), max(count, 0)), np.int64)
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max()) or 1.0
    scaled = lambda x: ((x - 0.5 * (low + high)) / size).astype(np.float32)
    device = pick_device("cpu")
    spots = wp.array(scaled(points), dtype=wp.vec3, device=device)
    queries = wp.array(scaled(places), dtype=wp.vec3, device=device)
    rows = wp.full((len(places), count), -1, dtype=int, device=device)
    distances = wp.full((len(places), count), 3.0e38, dtype=float, device=device)
    bvh = wp.Bvh(spots, wp.clone(spots))
    # a guess at the reach that holds enough of them; it grows until it does
    reach = 0.7 * float((count + 1) / len(points)) ** (1.0 / 3.0)
    inputs = [bvh.id, spots, queries, count, reach, int(of is None)]
    launch(find_nearest, len(places), inputs, [rows, distances], device=device, grain=256)
    return rows.numpy().astype(np.int64)
