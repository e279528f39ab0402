"""All pairs: what every search for candidates is compared with.

The functions work on the host in float64, whole tables at once; `BruteForce` does the same on the device, for times.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.collide.soft.candidate_kernels import meets
from pliant.collide.soft.candidates import Table
from pliant.collide.soft.features import Features
from pliant.collide.soft.tree_kernels import apart, grown, no_box
from pliant.launch import launch

wp.set_module_options({"enable_backward": False})

ROWS = 512
"""Boxes that are compared with all others at once."""


def touching(low: np.ndarray, high: np.ndarray, other_low: np.ndarray, other_high: np.ndarray) -> np.ndarray:
    """Pairs of boxes of two sets that touch (k, 2), sorted; boxes are (n, 3) and (m, 3) [m]."""
    found: list[np.ndarray] = [np.zeros((0, 2), np.int64)]
    for k in range(0, len(low), ROWS):
        here = slice(k, k + ROWS)
        hit = (low[here, None] <= other_high) & (high[here, None] >= other_low)
        found.append(np.argwhere(hit.all(axis=2)) + [k, 0])
    return np.concatenate(found)


def touching_pairs(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Pairs of boxes (n, 3) of one set that touch (k, 2), the smaller number first, sorted."""
    pairs = touching(low, high, low, high)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def way_boxes(points: np.ndarray, moving: tuple[np.ndarray, ...], around: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes around items with the given corners (m, k) at all of several times: low and high (m, 3) [m].

    Args:
        points: particles of each item.
        moving: positions of all particles at each time (n, 3).
        around: distance around each particle [m] (n,).
    """
    places = np.stack([x[points] for x in moving])
    wide = around[points][..., None]
    return (places - wide).min(axis=(0, 2)), (places + wide).max(axis=(0, 2))


def near_triangles(
    features: Features, moving: tuple[np.ndarray, ...], radius: np.ndarray, selfs: np.ndarray, more: float = 0.0
) -> np.ndarray:
    """Candidates as numbers of vertex and triangle (k, 2), sorted.

    Args:
        features: what can touch.
        moving: positions of all particles now, after the step and a time ahead (n, 3) [m].
        radius: what is kept free around each particle [m] (n,).
        selfs: bodies that may meet themselves (b,) bool.
        more: added around triangles [m]; negative to leave out what is so close to the limit that rounding decides.
    """
    low, high = way_boxes(features.vertices[:, None], moving, radius)
    wide = way_boxes(features.triangles, moving, radius + features.reach + more)
    pairs = touching(low, high, *wide)
    one, two = features.vertex_body[pairs[:, 0]], features.triangle_body[pairs[:, 1]]
    own = (features.triangles[pairs[:, 1]] == features.vertices[pairs[:, 0], None]).any(axis=1)
    return pairs[((one != two) | selfs[one]) & ~own]


def near_edges(
    features: Features, moving: tuple[np.ndarray, ...], radius: np.ndarray, selfs: np.ndarray, more: float = 0.0
) -> np.ndarray:
    """Candidates as numbers of two edges (k, 2), the smaller first, sorted; see `near_triangles`."""
    low, high = way_boxes(features.edges, moving, radius + 0.5 * (features.reach + more))
    pairs = touching_pairs(low, high)
    one, two = features.edge_body[pairs].T
    own = (features.edges[pairs[:, 0], :, None] == features.edges[pairs[:, 1], None, :]).any(axis=(1, 2))
    return pairs[((one != two) | selfs[one]) & ~own]


@wp.kernel
def find_by_all(
    start: int,
    vertex: wp.array(dtype=int),
    vertex_body: wp.array(dtype=int),
    corners: wp.array(dtype=wp.vec3i),
    triangle_body: wp.array(dtype=int),
    selfs: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    ahead: float,
    low: wp.array(dtype=wp.vec3),
    high: wp.array(dtype=wp.vec3),
    room: int,
    found_out: wp.array(dtype=int),
    count_out: wp.array(dtype=int),
    full_out: wp.array(dtype=int),
):
    """The triangles whose boxes touch that of each vertex, of all triangles."""
    k = start + wp.tid()
    i = vertex[k]
    box = grown(no_box(), x[i], x_next[i], v[i], ahead, radius[i])
    found = int(0)
    for t in range(len(triangle_body)):
        if not apart(low[t], high[t], box) and meets(vertex_body[k], triangle_body[t], selfs):
            corner = corners[t]
            if corner[0] != i and corner[1] != i and corner[2] != i:
                if found < room:
                    found_out[k * room + found] = t
                found += 1
    count_out[k] = found
    if found > room:
        full_out[0] = 1


@wp.kernel
def box_triangles(
    start: int,
    corners: wp.array(dtype=wp.vec3i),
    x: wp.array(dtype=wp.vec3),
    x_next: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    radius: wp.array(dtype=float),
    ahead: float,
    reach: float,
    low_out: wp.array(dtype=wp.vec3),
    high_out: wp.array(dtype=wp.vec3),
):
    """The box of each triangle."""
    t = start + wp.tid()
    box = no_box()
    for k in range(3):
        p = corners[t][k]
        box = grown(box, x[p], x_next[p], v[p], ahead, radius[p] + reach)
    low_out[t] = box.low
    high_out[t] = box.high


class BruteForce:
    """Candidates of vertices among triangles, by looking at all pairs.

    Args:
        features: what can touch.
        selfs: bodies that may meet themselves (b,) bool.
        radius: what is kept free around each particle [m], on the device.
        device: where they are.

    Attributes:
        near: for each vertex the numbers of triangles, as in `features.triangles`.
        full: set when there was too little room for them.
    """

    def __init__(self, features: Features, selfs: np.ndarray, radius: wp.array, device: str):
        self.device, self.radius, self.reach = device, radius, features.reach
        ints = lambda values: wp.array(np.ascontiguousarray(values, np.int32), dtype=int, device=device)
        self.corners = wp.array(features.triangles, dtype=wp.vec3i, device=device)
        self.bodies = [ints(features.vertex_body), self.corners, ints(features.triangle_body), ints(selfs)]
        self.vertex = ints(features.vertices)
        boxes = max(len(features.triangles), 1)
        self.low, self.high = (wp.zeros(boxes, dtype=wp.vec3, device=device) for _ in range(2))
        self.near = Table(len(features.vertices), 16, device)
        self.full = wp.zeros(1, dtype=int, device=device)

    def search(self, x: wp.array, x_next: wp.array, v: wp.array, ahead: float) -> None:
        """Find all candidates; see `Candidates.follow` for what is given."""
        there = [x, x_next, v, self.radius, ahead]
        boxes = [self.low, self.high]
        inputs = [self.corners, *there, self.reach]
        launch(box_triangles, len(self.corners), inputs, boxes, device=self.device, grain=2048)
        inputs = [self.vertex, *self.bodies, *there, *boxes, self.near.room]
        outputs = [self.near.found, self.near.count, self.full]
        launch(find_by_all, self.near.things, inputs, outputs, device=self.device, grain=16)

    def grow(self) -> bool:
        """Make room where there was too little; whether there was."""
        if not self.full.numpy()[0]:
            return False
        self.full.zero_()
        return self.near.grow()

    def pairs(self) -> np.ndarray:
        """Candidates as numbers of vertex and triangle (k, 2), sorted."""
        return np.unique(self.near.pairs(), axis=0)
