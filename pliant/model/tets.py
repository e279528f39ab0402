"""Tetrahedra that keep their volume."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.errors import InputError


@dataclasses.dataclass
class Tets:
    """Tet-sized arrays.

    Attributes:
        corners: particle numbers, positively oriented at rest (m, 4) int32.
        rest_volume: [m^3] (m,) float64.
    """

    corners: np.ndarray
    rest_volume: np.ndarray

    @property
    def count(self) -> int:
        return len(self.corners)

    @staticmethod
    def build(rest: np.ndarray, corners: np.ndarray) -> Tets:
        return Tets(corners.astype(np.int32), signed_volumes(rest, corners))

    @staticmethod
    def concat(groups: Sequence[Tets], offsets: Sequence[int]) -> Tets:
        return Tets(
            np.concatenate([g.corners + o for g, o in zip(groups, offsets, strict=True)])
            .astype(np.int32)
            .reshape(-1, 4),
            np.concatenate([g.rest_volume for g in groups]),
        )

    def check(self, where: str = "tets") -> None:
        bad = ~(np.isfinite(self.rest_volume) & (self.rest_volume > 0))
        if bad.any():
            i = int(np.argmax(bad))
            raise InputError(
                f"tet {i} with corners {self.corners[i].tolist()} has the rest volume {self.rest_volume[i]:g} m^3",
                where,
                "Remove flat tets and orient the others (TetMesh.oriented)",
            )


def signed_volumes(x: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Signed volumes [m^3] (m,) of tets in positions x [m]."""
    if len(corners) == 0:
        return np.zeros(0)
    e = x[corners[:, 1:]] - x[corners[:, :1]]
    return np.einsum("ij,ij->i", e[:, 0], np.cross(e[:, 1], e[:, 2])) / 6.0
