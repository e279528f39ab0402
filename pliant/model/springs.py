"""Springs between pairs of particles."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.errors import InputError

# What a spring is there for (Provot 1995; the Lecture's ropes).
STRUCTURAL = 0  # along an edge of the mesh, against stretch
SHEAR = 1  # along a diagonal of a quad or cube
BEND = 2  # over two edges
TORSION = 3  # over three segments of a rod
KINDS = {"structural": STRUCTURAL, "shear": SHEAR, "bend": BEND, "torsion": TORSION}


@dataclasses.dataclass
class Springs:
    """Spring-sized arrays.

    Attributes:
        pairs: particle numbers (e, 2) int32.
        rest_length: [m] (e,) float64.
        stiffness: [N/m] (e,) float64.
        kind: STRUCTURAL, SHEAR, BEND or TORSION (e,) int8; all structural if not given.
    """

    pairs: np.ndarray
    rest_length: np.ndarray
    stiffness: np.ndarray
    kind: np.ndarray = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.kind is None:
            self.kind = np.zeros(len(self.pairs), np.int8)

    @property
    def count(self) -> int:
        return len(self.pairs)

    @staticmethod
    def build(
        rest: np.ndarray, pairs: np.ndarray, stiffness: np.ndarray | float, kind: np.ndarray | None = None
    ) -> Springs:
        """Springs at rest in the given positions."""
        length = np.linalg.norm(rest[pairs[:, 0]] - rest[pairs[:, 1]], axis=1)
        constants = np.broadcast_to(np.asarray(stiffness, float), length.shape).copy()
        return Springs(pairs.astype(np.int32), length, constants, kind)  # type: ignore[arg-type]

    @staticmethod
    def concat(groups: Sequence[Springs], offsets: Sequence[int]) -> Springs:
        return Springs(
            np.concatenate([g.pairs + o for g, o in zip(groups, offsets, strict=True)]).astype(np.int32).reshape(-1, 2),
            np.concatenate([g.rest_length for g in groups]),
            np.concatenate([g.stiffness for g in groups]),
            np.concatenate([g.kind for g in groups]).astype(np.int8),
        )

    def check(self, where: str = "springs") -> None:
        bad = ~(np.isfinite(self.rest_length) & (self.rest_length > 0))
        if bad.any():
            i = int(np.argmax(bad))
            raise InputError(
                f"spring {i} between particles {self.pairs[i].tolist()} has the rest length {self.rest_length[i]:g} m",
                where,
                "Merge coincident vertices",
            )
        bad = ~(np.isfinite(self.stiffness) & (self.stiffness >= 0))
        if bad.any():
            i = int(np.argmax(bad))
            raise InputError(
                f"spring {i} has the stiffness {self.stiffness[i]:g} N/m", where, "Give finite numbers of at least 0"
            )


def edge_volumes(tets: np.ndarray, volumes: np.ndarray, edges: np.ndarray, count: int) -> np.ndarray:
    """Sum of the volumes of the tets around each edge [m^3] (e,); edges sorted by (low, high)."""
    keys = edges[:, 0].astype(np.int64) * count + edges[:, 1]
    total = np.zeros(len(edges))
    for i in range(4):
        for j in range(i + 1, 4):
            low = np.minimum(tets[:, i], tets[:, j]).astype(np.int64)
            high = np.maximum(tets[:, i], tets[:, j])
            total += np.bincount(np.searchsorted(keys, low * count + high), volumes, len(edges))
    return total
