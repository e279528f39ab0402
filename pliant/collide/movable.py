"""Colliders that can move: along a path, or between frames by `move_collider`."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar, Self

import numpy as np

from pliant.collide.collider import Collider
from pliant.errors import InputError
from pliant.motion import MotionPath


class Movable(Collider):
    """A collider that can move as a rigid body.

    Attributes:
        path: keys or a `MotionPath`; keys turn about `center`. None where no path leads it.
        path_digest: stands for the path where colliders are compared.
    """

    movable: ClassVar[bool] = True
    path: Any

    @property
    def motion(self) -> MotionPath | None:
        """Its motion in the world, from where it was built; None where no path leads it."""
        return self.path

    @property
    def center(self) -> np.ndarray:
        """The point that `move_collider` moves [m] (3,)."""
        return np.array(self.position)  # type: ignore[attr-defined]

    @property
    def reach(self) -> float:
        """The longest way of a frame that it glides [m]; a longer one is a jump, which sweeps nothing along."""
        raise NotImplementedError

    @property
    def own_radius(self) -> float:
        """Its radius [m], where it can change."""
        return 0.0

    def posed(self, turn: np.ndarray, center: np.ndarray, radius: float) -> Self:
        """The same collider turned by a rotation (3, 3) about its center, which then is here [m] (3,)."""
        raise NotImplementedError

    def settle_path(self) -> None:
        """Turn keys into a `MotionPath`, and refuse what is none."""
        path = self.path
        if path is None:
            return
        if not isinstance(path, MotionPath):
            path = MotionPath.make(path, self.where("path"), tuple(self.center.tolist()))
        if not path.is_rigid:
            raise InputError(
                "a collider keeps its size, and the path has a scale", self.where("path"), "Leave 'scale' out"
            )
        digest = hashlib.sha256()
        for array in path.arrays().values():
            digest.update(np.ascontiguousarray(array).tobytes())
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "path_digest", digest.hexdigest()[:16])


def path_keys(collider: Movable) -> list[dict[str, Any]]:
    """The keys of a collider's path as in scene files; an `InputError` for one that turns about another point."""
    path = collider.motion
    if path is None:
        return []
    offsets = path.offsets
    if path.rotations.any() and not np.allclose(path.center, collider.center, atol=1e-12):
        raise InputError(
            f"the path turns about {path.center.tolist()}, and scene files know none but the collider's own place",
            collider.where("path"),
            "Give the path as keys",
        )
    keys = []
    for time, offset, rotation in zip(path.times, offsets, np.degrees(path.rotations), strict=True):
        key: dict[str, Any] = {"time": float(time), "offset": offset.tolist()}
        if rotation.any():
            key["rotation"] = rotation.tolist()
        keys.append(key)
    return keys
