"""Cutting: which links between clusters a knife crosses that is drawn from one ray of sight to another."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from pliant.errors import InputError
from pliant.solvers.shape_matching.fracture_links import ClusterLinks, cluster_centres
from pliant.vectors import FARTHEST, as_bounded

NARROWEST = 1e-9
"""Sine of the angle between two rays below which there is no plane between them."""


@dataclasses.dataclass(frozen=True)
class Wedge:
    """The part of a plane between two rays from one point, as far as they go.

    Attributes:
        eye: where both begin [m] (3,).
        first, last: their directions, of length one (3,).
    """

    eye: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def between(cls, first: Sequence[float], last: Sequence[float], eye: Sequence[float]) -> Wedge:
        """The wedge of the rays from the eye through two points [m]."""
        origin = np.array(as_bounded(eye, FARTHEST, "cut.eye", "m"))
        rays = []
        for name, point in (("first", first), ("last", last)):
            ray = np.array(as_bounded(point, FARTHEST, f"cut.{name}", "m")) - origin
            length = float(np.linalg.norm(ray))
            if length == 0.0:
                raise InputError("the point is where the eye is", f"cut.{name}", "Give a point away from the eye")
            rays.append(ray / length)
        if float(np.linalg.norm(np.cross(rays[0], rays[1]))) < NARROWEST:
            raise InputError(
                f"{list(first)} and {list(last)} m lie on one line with the eye",
                "cut",
                "Give two points between which a stroke is seen from the eye",
            )
        return cls(origin, rays[0], rays[1])

    def crossed(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Which of the segments from a to b [m] (n, 3) cross the wedge (n,) bool; an end that lies in the plane
        counts to its front."""
        normal = np.cross(self.first, self.last)
        above, below = (a - self.eye) @ normal, (b - self.eye) @ normal
        apart = (above >= 0.0) != (below >= 0.0)
        share = np.where(apart, above / np.where(apart, above - below, 1.0), 0.0)
        place = a + share[:, None] * (b - a) - self.eye
        # place = s first + t last: the areas of the triangles opposite to each ray
        s, t = np.cross(place, self.last) @ normal, np.cross(self.first, place) @ normal
        return apart & (s >= 0.0) & (t >= 0.0)


def crossed_links(links: ClusterLinks, x: np.ndarray, mass: np.ndarray, wedge: Wedge) -> np.ndarray:
    """Numbers of the links that hold and cross a wedge, between the present centres of their clusters (k,).

    Args:
        links: of one body.
        x: present positions of its particles [m] (n, 3).
        mass: [kg] (n,).
        wedge: the cut.
    """
    centres = cluster_centres(x.astype(np.float64), mass, links.members())
    a, b = (centres[links.pairs[:, side]] for side in range(2))
    return np.flatnonzero(links.whole() & wedge.crossed(a, b))
