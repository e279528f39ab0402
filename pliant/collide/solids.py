"""Colliders other than planes as a recording holds them: triangles, and for those that can move their pose per frame.

A frame holds, in rows after those of the bodies, four rows of each collider that can move: a matrix and a shift, which
bring its recorded vertices to where they are. Of a mesh that deforms it holds the vertices themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pliant.collide.collider import Collider
from pliant.collide.pipeline import Pipeline
from pliant.errors import InputError

VERTICES = "solid_vertices"
TRIANGLES = "solid_triangles"
POSE_ROWS = 4


def _deforms(collider: Collider) -> bool:
    return bool(getattr(collider, "deforms", False))


def solids_of(pipeline: Pipeline, first: int) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """Names, kinds and ranges of triangles of all that has some, and the arrays that hold them.

    Args:
        pipeline: the colliders.
        first: row of a frame where the colliders begin that can move.
    """
    tables: list[dict[str, Any]] = []
    points, faces, vertices, triangles = [], [], 0, 0
    for collider in pipeline.colliders:
        own, corners = collider.triangles()
        if len(corners):
            end = triangles + len(corners)
            table: dict[str, Any] = {"name": collider.name, "kind": collider.kind, "triangles": [triangles, end]}
            if collider.movable:
                rows = len(own) if _deforms(collider) else POSE_ROWS
                table |= {"vertices": [vertices, vertices + len(own)], "rows": [first, first + rows]}
                table["deforms"] = _deforms(collider)
                first += rows
            tables.append(table)
            points.append(own)
            faces.append(corners + vertices)
            vertices, triangles = vertices + len(own), end
    if not tables:
        return [], {}
    return tables, {
        VERTICES: np.concatenate(points).astype(np.float32),
        TRIANGLES: np.concatenate(faces).astype(np.int32),
    }


def moving_rows(pipeline: Pipeline) -> list[np.ndarray]:
    """The rows of a frame for the colliders that can move, as they are now."""
    rows = []
    for slot, collider in enumerate(pipeline.colliders):
        if collider.movable:
            if _deforms(collider):
                rows.append(pipeline.collider_now(slot).triangles()[0].astype(np.float32))
            else:
                matrix, shift = pipeline.pose(collider.name)
                rows.append(np.concatenate([matrix, shift[None]]).astype(np.float32))
    return rows


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


class MovingSolids:
    """The vertices of a recording's colliders, frame by frame.

    Args:
        meta: the recording's description.
        arrays: its arrays.
        count: rows of a frame.

    Attributes:
        moving: range of triangles of each collider that may move, by its number among the solids.
    """

    def __init__(self, meta: Mapping[str, Any], arrays: Mapping[str, np.ndarray], count: int):
        self.points, self.triangles = recorded_solids(arrays)
        self._parts: list[tuple[slice, slice, bool]] = []
        self.moving: dict[int, tuple[int, int]] = {}
        solids = meta.get("solids") if len(self.points) else None
        for k, table in enumerate(solids if isinstance(solids, list) else []):
            if not isinstance(table, dict) or "rows" not in table:
                continue
            ranges = [table.get(key) for key in ("rows", "vertices", "triangles")]
            ends = (count, len(self.points), len(self.triangles))
            if not all(_is_range(value, end) for value, end in zip(ranges, ends, strict=True)):
                raise InputError(f"solids[{k}] has the ranges {ranges}, and there are {ends}")
            rows, own, faces = (tuple(value) for value in ranges if value is not None)
            deforms = bool(table.get("deforms"))
            if rows[1] - rows[0] != (own[1] - own[0] if deforms else POSE_ROWS):
                raise InputError(f"solids[{k}] has {rows[1] - rows[0]} rows")
            self._parts.append((slice(*rows), slice(*own), deforms))
            self.moving[k] = (faces[0], faces[1])

    def moved(self, frames: Iterable[np.ndarray]) -> set[int]:
        """Which of them are not where they were recorded in any of these frames."""
        found: set[int] = set()
        for x in frames:
            for k, (rows, own, deforms) in zip(self.moving, self._parts, strict=True):
                rest = self.points[own] if deforms else np.concatenate([np.eye(3), np.zeros((1, 3))])
                if not np.array_equal(x[rows], rest.astype(np.float32)):
                    found.add(k)
        return found

    def of(self, x: np.ndarray) -> np.ndarray:
        """Vertices [m] (n, 3) float32 in a frame that holds these rows."""
        if not self._parts:
            return self.points
        found = self.points.copy()
        for rows, own, deforms in self._parts:
            found[own] = x[rows] if deforms else self.points[own] @ x[rows][:3].T + x[rows][3]
        return found


def _is_range(value: Any, end: int) -> bool:
    """Two whole numbers, [first, end)."""
    whole = isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)
    return whole and 0 <= value[0] <= value[1] <= end
