"""Colliders other than planes as a recording holds them: triangles that stand still in its pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pliant.collide.collider import Collider
from pliant.errors import InputError

VERTICES = "solid_vertices"
TRIANGLES = "solid_triangles"


def solids_of(colliders: Sequence[Collider]) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Names, kinds and ranges of triangles of all that has some, and the arrays that hold them."""
    tables: list[dict[str, Any]] = []
    points, faces, vertices, triangles = [], [], 0, 0
    for collider in colliders:
        own, corners = collider.triangles()
        if len(corners):
            end = triangles + len(corners)
            tables.append({"name": collider.name, "kind": collider.kind, "triangles": [triangles, end]})
            points.append(own)
            faces.append(corners + vertices)
            vertices, triangles = vertices + len(own), end
    if not tables:
        return [], {}
    return tables, {
        VERTICES: np.concatenate(points).astype(np.float32),
        TRIANGLES: np.concatenate(faces).astype(np.int32),
    }


def recorded_solids(arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) float32 [m] and triangles (k, 3) among a recording's arrays; an `InputError` if they are bad."""
    points, triangles = arrays.get(VERTICES), arrays.get(TRIANGLES)
    if points is None and triangles is None:
        return np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32)
    if points is None or triangles is None:
        raise InputError(f"only one of {VERTICES} and {TRIANGLES} is there")
    if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind != "f" or not np.isfinite(points).all():
        raise InputError(f"{VERTICES} is an array of shape {points.shape} and type {points.dtype}, or not finite")
    if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
        raise InputError(f"{TRIANGLES} is an array of shape {triangles.shape} and type {triangles.dtype}")
    if len(triangles) and (triangles.min() < 0 or triangles.max() >= len(points)):
        raise InputError(f"{TRIANGLES} names vertices that are not among the {len(points):,}")
    return points.astype(np.float32), triangles.astype(np.int32)
