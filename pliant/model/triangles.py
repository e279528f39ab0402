"""Triangles that keep their area."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.errors import InputError


@dataclasses.dataclass
class Triangles:
    """Triangle-sized arrays.

    Attributes:
        corners: particle numbers (t, 3) int32.
        rest_area: [m^2] (t,) float64.
    """

    corners: np.ndarray
    rest_area: np.ndarray

    @property
    def count(self) -> int:
        return len(self.corners)

    @staticmethod
    def build(rest: np.ndarray, corners: np.ndarray) -> Triangles:
        return Triangles(corners.astype(np.int32).reshape(-1, 3), areas(rest, corners))

    @staticmethod
    def concat(groups: Sequence[Triangles], offsets: Sequence[int]) -> Triangles:
        return Triangles(
            np.concatenate([g.corners + o for g, o in zip(groups, offsets, strict=True)])
            .astype(np.int32)
            .reshape(-1, 3),
            np.concatenate([g.rest_area for g in groups]),
        )

    def check(self, where: str = "triangles") -> None:
        bad = ~(np.isfinite(self.rest_area) & (self.rest_area > 0))
        if bad.any():
            i = int(np.argmax(bad))
            raise InputError(
                f"triangle {i} with corners {self.corners[i].tolist()} has the rest area {self.rest_area[i]:g} m^2",
                where,
                "Remove degenerate triangles",
            )


def areas(x: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Areas [m^2] (t,) of triangles in positions x [m]."""
    if len(corners) == 0:
        return np.zeros(0)
    e1, e2 = x[corners[:, 1]] - x[corners[:, 0]], x[corners[:, 2]] - x[corners[:, 0]]
    return 0.5 * np.linalg.norm(np.cross(e1, e2), axis=1)
