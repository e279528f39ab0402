"""Ropes made by formula."""

from __future__ import annotations

import numpy as np

from pliant.mesh.rods import RodMesh
from pliant.mesh.shape_arguments import as_length, as_whole, bound


def rope(length: float = 1.0, segments: int = 32, radius: float = 0.008) -> RodMesh:
    """A straight rope along x, its root at the origin.

    Args:
        length: [m].
        segments: of equal length.
        radius: of the rope [m].
    """
    length, radius = as_length(length, "rope(length)"), as_length(radius, "rope(radius)")
    segments = as_whole(segments, "rope", "segments")
    bound(segments, "rope(segments)")
    vertices = np.zeros((segments + 1, 3))
    vertices[:, 0] = np.linspace(0.0, length, segments + 1)
    return RodMesh(vertices, chain(segments), radius, "rope")


def chain(segments: int) -> np.ndarray:
    """Segments from each of a row of vertices to the next (segments, 2) int32."""
    first = np.arange(segments, dtype=np.int32)
    return np.stack([first, first + 1], axis=1)
