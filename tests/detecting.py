"""Contacts of single positions, and the closest points of triangles by brute force."""

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.collide.pipeline import Pipeline


def put(x, device):
    return wp.array(np.asarray(x, np.float32).reshape(-1, 3), dtype=wp.vec3, device=device)


class Found:
    """Depth (n, slots), normal, gap to the local plane and its velocity of a detection."""

    def __init__(self, contacts, x):
        shape = (contacts.particles, contacts.slots)
        planes = contacts.surface.numpy()
        self.depth = contacts.depth.numpy().reshape(shape)
        self.normal = np.array(planes["normal"]).reshape(*shape, 3)
        self.velocity = np.array(planes["velocity"]).reshape(*shape, 3)
        self.gap = np.einsum("ikj,ij->ik", self.normal, np.asarray(x).reshape(-1, 3))
        self.gap -= np.array(planes["offset"]).reshape(shape)


def detect(colliders, x, device, margin=0.0, before=None, radius=0.0, pipeline=None):
    """The contacts of positions x."""
    x = np.asarray(x, np.float64).reshape(-1, 3)
    pipeline = pipeline or Pipeline(colliders, len(x), device, np.full(len(x), radius))
    contacts = Contacts(len(x), pipeline.slots, device)
    pipeline.detect(put(x, device), contacts, margin, None if before is None else put(before, device))
    return Found(contacts, x)


def closest_points(points, corners):
    """The nearest point of any triangle (k, 3, 3) to each point (n, 3), and its distance (n,): all pairs."""
    best = np.full(len(points), np.inf)
    where = np.zeros((len(points), 3))
    for a, b, c in corners:
        normal = np.cross(b - a, c - a)
        length = np.linalg.norm(normal)
        if length > 0.0:
            normal = normal / length
            flat = points - ((points - a) @ normal)[:, None] * normal
            sides = [np.cross(q - p, flat - p) @ normal for p, q in ((a, b), (b, c), (c, a))]
            inside = np.min(sides, axis=0) >= 0.0
            _better(points, flat, inside, best, where)
        for p, q in ((a, b), (b, c), (c, a)):
            edge = q - p
            share = np.clip((points - p) @ edge / max(edge @ edge, 1e-300), 0.0, 1.0)
            _better(points, p + share[:, None] * edge, np.ones(len(points), bool), best, where)
    return where, best


def _better(points, found, valid, best, where):
    distance = np.linalg.norm(points - found, axis=1)
    nearer = valid & (distance < best)
    best[nearer], where[nearer] = distance[nearer], found[nearer]


def winding(points, corners):
    """How often closed triangles wind around each point (n,), by solid angles (van Oosterom and Strackee 1983)."""
    total = np.zeros(len(points))
    for triangle in corners:
        a, b, c = (corner - points for corner in triangle)
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        dots = [np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a))]
        below = la * lb * lc + dots[0] * lc + dots[1] * la + dots[2] * lb
        total += 2.0 * np.arctan2(np.einsum("ij,ij->i", a, np.cross(b, c)), below)
    return total / (4.0 * np.pi)
