"""An infinite plane: the half-space behind it is solid."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError
from pliant.physics.contact import PlaneData
from pliant.settings import Described, setting
from pliant.vectors import FARTHEST, FASTEST, as_bounded, as_vector


@dataclasses.dataclass(frozen=True)
class PlaneSurface(Described):
    """How a plane's surface behaves."""

    friction: float = setting(0.6, "Coulomb friction coefficient", low=0.0, high=100.0)
    restitution: float = setting(0.0, "share of the approach speed that is kept", low=0.0, high=1.0)


@dataclasses.dataclass(frozen=True)
class Plane:
    """A plane through `point` [m] whose solid side is behind `normal`; it may slide along itself.

    Args:
        point: any point of the plane [m].
        normal: direction out of the solid; need not be of length one.
        velocity: velocity of the surface [m/s], in the plane, as of a conveyor belt.
        surface: friction and restitution.
    """

    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    surface: PlaneSurface = PlaneSurface()
    name: str = "plane"

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", as_bounded(self.point, FARTHEST, f"collider '{self.name}'.point", "m"))
        normal = np.array(as_vector(self.normal, f"collider '{self.name}'.normal"))
        length = float(np.linalg.norm(normal))
        if length < 1e-12:
            raise InputError(
                "the normal has no length", f"collider '{self.name}'.normal", "Give a direction such as [0, 1, 0]"
            )
        object.__setattr__(self, "normal", tuple((normal / length).tolist()))
        velocity = np.array(as_bounded(self.velocity, FASTEST, f"collider '{self.name}'.velocity", "m/s"))
        if abs(float(velocity @ normal) / length) > 1e-9 * (1.0 + float(np.linalg.norm(velocity))):
            raise InputError(
                f"the velocity {velocity.tolist()} is not along the plane",
                f"collider '{self.name}'.velocity",
                "Give a velocity at right angles to the normal",
            )
        object.__setattr__(self, "velocity", tuple(velocity.tolist()))

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distance of points (n, 3) [m], negative inside the solid (n,)."""
        return (np.asarray(points) - np.array(self.point)) @ np.array(self.normal)

    def data(self) -> PlaneData:
        """The plane as the kernels see it."""
        data = PlaneData()
        data.normal = self.normal
        data.offset = float(np.dot(self.normal, self.point))
        data.velocity = self.velocity
        data.friction = self.surface.friction
        data.restitution = self.surface.restitution
        return data
