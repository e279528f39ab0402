"""Where a picture is taken from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from pliant.errors import InputError


@dataclasses.dataclass(frozen=True)
class Camera:
    """A pinhole camera.

    Args:
        position: where the eye is [m].
        target: the point in the middle of the picture [m].
        up: direction that points up in the picture.
        fov_deg: angle between the lower and the upper edge of the picture [degrees].
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 1.0, 0.0)
    fov_deg: float = 35.0

    def __post_init__(self) -> None:
        for name in ("position", "target", "up"):
            object.__setattr__(self, name, _vector(getattr(self, name), f"Camera.{name}"))
        if not 0.1 <= self.fov_deg <= 170.0:
            raise InputError(f"{self.fov_deg} degrees", "Camera.fov_deg", "Give an angle between 0.1 and 170 degrees")
        if self.position == self.target:
            raise InputError(f"position and target are both {self.position}", "Camera", "Move one of them")

    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Unit vectors to the right, upwards and forwards in the picture, three of shape (3,)."""
        forward = np.subtract(self.target, self.position)
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, self.up)
        if np.linalg.norm(right) < 1.0e-6 * max(float(np.linalg.norm(self.up)), 1.0e-30):
            # Looking along `up`: any direction across will do, the same one every time.
            right = np.cross(forward, np.eye(3)[np.argmin(np.abs(forward))])
        right = right / np.linalg.norm(right)
        return right, np.cross(right, forward), forward

    @classmethod
    def framing(
        cls,
        low: Sequence[float],
        high: Sequence[float],
        aspect: float,
        direction: Sequence[float] = (0.55, 0.42, 1.0),
        up: Sequence[float] = (0.0, 1.0, 0.0),
        fov_deg: float = 35.0,
        margin: float = 1.05,
    ) -> Camera:
        """The nearest camera that sees a whole box.

        Args:
            low: smallest corner of the box [m].
            high: largest corner of the box [m].
            aspect: width of the picture over its height.
            direction: from the middle of the box to the camera.
            up: direction that points up in the picture.
            fov_deg: vertical angle of view [degrees].
            margin: room around the box; 1 touches the edges of the picture.
        """
        least, most = np.array(_vector(low, "low")), np.array(_vector(high, "high"))
        if np.any(most < least):
            raise InputError(f"the box from {least.tolist()} to {most.tolist()} is inside out", "Camera.framing")
        if not (math.isfinite(aspect) and aspect > 0.0):
            raise InputError(f"aspect is {aspect}", "Camera.framing", "Give width / height")
        middle = 0.5 * (least + most)
        away = np.array(_vector(direction, "direction"))
        if not np.any(away):
            raise InputError("direction is zero", "Camera.framing", "Give a direction such as (0.5, 0.4, 1)")
        away = away / np.linalg.norm(away)
        right, upward, forward = cls(tuple(middle + away), tuple(middle), _vector(up, "up"), fov_deg).axes()
        corners = np.array([[(least, most)[i][0], (least, most)[j][1], (least, most)[k][2]]
                            for i in (0, 1) for j in (0, 1) for k in (0, 1)]) - middle  # fmt: skip
        slope = math.tan(math.radians(fov_deg) / 2.0) / margin
        across = np.abs(corners @ right) / (slope * aspect)
        along = np.abs(corners @ upward) / slope
        # A corner that lies nearer to the camera than the middle needs that much more distance.
        distance = float(np.max(np.maximum(across, along) - corners @ forward))
        distance = max(distance, 1.0e-3)
        return cls(tuple(middle + distance * away), tuple(middle), _vector(up, "up"), fov_deg)


def _vector(values: Sequence[float], where: str) -> tuple[float, float, float]:
    numbers = tuple(float(v) for v in values)
    if len(numbers) != 3 or not all(math.isfinite(v) for v in numbers):
        raise InputError(f"{numbers} is not a point in space", where, "Give three finite numbers")
    return numbers
