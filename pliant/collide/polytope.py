"""Convex solids given by half-spaces: their edges, corners and faces, and the nearest points of them, on the host."""

from __future__ import annotations

import numpy as np

# Planes whose normals are closer than this (sine of the angle) are parallel.
PARALLEL = 1e-9
# What counts as on a plane, over the size of the solid.
ROUNDING = 1e-10
# Points whose candidates are looked at at once.
CHUNK = 256


class Polytope:
    """The set of all x with ``normals x <= offsets``.

    Args:
        normals: out of the solid, of length one (k, 3).
        offsets: [m] (k,).

    Attributes:
        pairs: planes that meet in an edge (e, 2). ends: of the edges [m] (e, 2, 3), infinite where one has no end.
        corners: [m] (c, 3).
    """

    def __init__(self, normals: np.ndarray, offsets: np.ndarray):
        self.normals, self.offsets = normals, offsets
        first, second = np.triu_indices(len(normals), 1)
        direction = np.cross(normals[first], normals[second])
        sine = np.linalg.norm(direction, axis=1)
        keep = sine > PARALLEL
        first, second, direction = first[keep], second[keep], direction[keep] / sine[keep, None]
        cosine = np.einsum("ij,ij->i", normals[first], normals[second])
        squared = 1.0 - cosine**2
        share = (offsets[first] - cosine * offsets[second]) / squared
        other = (offsets[second] - cosine * offsets[first]) / squared
        place = share[:, None] * normals[first] + other[:, None] * normals[second]
        # each line is cut by all planes
        rate = direction @ normals.T
        room = offsets - place @ normals.T
        self.size = 1.0 + float(np.abs(offsets).max(initial=0.0))
        slack = ROUNDING * (self.size + np.abs(place).max(initial=0.0))
        own = np.arange(len(normals))
        own_plane = (own == first[:, None]) | (own == second[:, None])
        flat = np.abs(rate) < PARALLEL
        lost = ((room < -slack) & flat & ~own_plane).any(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(flat | own_plane, np.nan, room / rate)
        low = np.where(rate < 0.0, t, -np.inf)
        high = np.where(rate > 0.0, t, np.inf)
        low, high = np.nan_to_num(low, nan=-np.inf, neginf=-np.inf), np.nan_to_num(high, nan=np.inf, posinf=np.inf)
        begin, end = low.max(axis=1, initial=-np.inf), high.min(axis=1, initial=np.inf)
        good = ~lost & (begin <= end + slack)
        self.pairs = np.stack([first, second], axis=1)[good]
        self.place, self.direction = place[good], direction[good]
        self.begin, self.end = begin[good], np.maximum(end[good], begin[good])
        with np.errstate(invalid="ignore"):
            ends = np.stack([self.begin, self.end], axis=1)
        finite = np.isfinite(ends)
        points = self.place[:, None] + np.where(finite, ends, 0.0)[..., None] * self.direction[:, None]
        self.ends = np.where(finite[..., None], points, np.inf)
        self.corners = points[finite]

    def distances(self, points: np.ndarray) -> np.ndarray:
        """Signed distances of points (n, 3) [m], negative inside (n,).

        The nearest point of a convex solid is the foot of the perpendicular on a face, an edge or a corner that lies
        in the solid; and whatever lies in it is no nearer.
        """
        points = np.asarray(points, np.float64)
        over = points @ self.normals.T - self.offsets
        found = over.max(axis=1)
        outside = np.flatnonzero(found > 0.0)
        for first in range(0, len(outside), CHUNK):
            some = outside[first : first + CHUNK]
            found[some] = self._outside(points[some], over[some])
        return found

    def _outside(self, points: np.ndarray, over: np.ndarray) -> np.ndarray:
        slack = ROUNDING * (self.size + np.abs(points).max())
        feet = points[:, None] - over[..., None] * self.normals
        fits = ((feet @ self.normals.T - self.offsets) <= slack).all(axis=2)
        best = np.where(fits & (over > 0.0), over, np.inf).min(axis=1)
        if len(self.pairs):
            away = points[:, None] - self.place
            t = np.clip(np.einsum("nej,ej->ne", away, self.direction), self.begin, self.end)
            best = np.minimum(best, np.linalg.norm(away - t[..., None] * self.direction, axis=2).min(axis=1))
        return best

    def faces(self, count: int) -> list[np.ndarray]:
        """The corners of each of the first faces in their order, counter-clockwise seen from outside [m] (m, 3).

        The solid must be bounded; planes that touch it nowhere have no face.
        """
        found = []
        for k, normal in enumerate(self.normals[:count]):
            corners = self.ends[(self.pairs == k).any(axis=1)].reshape(-1, 3)
            if len(corners) < 3:
                continue
            away = corners - corners.mean(axis=0)
            along = np.cross(normal, [1.0, 0.0, 0.0] if abs(normal[0]) < 0.7 else [0.0, 1.0, 0.0])
            along /= np.linalg.norm(along)
            angle = np.arctan2(away @ np.cross(normal, along), away @ along)
            ring = corners[np.argsort(angle)]
            apart = np.linalg.norm(ring - np.roll(ring, 1, axis=0), axis=1) > 1e-7 * self.size
            if np.count_nonzero(apart) >= 3:
                found.append(ring[apart])
        return found


def cut_to(normals: np.ndarray, offsets: np.ndarray, half: float) -> Polytope:
    """The part of a convex solid that lies in a cube about the origin with sides of twice `half` [m]."""
    sides = np.concatenate([np.eye(3), -np.eye(3)])
    return Polytope(np.concatenate([normals, sides]), np.concatenate([offsets, np.full(6, half)]))
