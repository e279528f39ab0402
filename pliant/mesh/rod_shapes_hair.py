"""Hair made by formula: tufts of straight and curly strands that grow on a surface."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh.rods import RodMesh
from pliant.mesh.shape_arguments import as_length, as_number, as_whole, bound
from pliant.mesh.surface import SurfaceMesh

HEAD = 0.09
"""Radius of the head that hair grows on where no surface is given [m]; it is a ball around the origin."""
AWAY = 1.05
"""Distance from the middle of the head, over its radius, that falling strands keep."""
NEAREST = 1.02
"""The same for what was drawn together or curled."""
FEWEST_PER_TURN = 5.0
"""Fewest segments in a turn of a curl."""
CANDIDATES = 12
"""Places for each tuft among which those are chosen that lie far from each other."""


def hair(
    strands: int = 600,
    length: float = 0.25,
    segments: int = 25,
    radius: float = 4e-5,
    seen_radius: float = 0.0006,
    curl: float = 0.008,
    turns: float = 3.0,
    curly: float = 0.5,
    tufts: int = 60,
    tightness: float = 0.6,
    spread: float = 15.0,
    fall: float = 0.0,
    scalp: Any = None,
    seed: int = 0,
) -> RodMesh:
    """Strands of hair in tufts, rooted on a surface along whose normals they leave.

    Each strand is a chain of its own, its root first; its first segment is straight along the normal, to be pinned
    with both its ends: `RodMesh.root_segments`. The same seed gives the same hair.

    Args:
        strands: how many.
        length: of a strand, along its curls [m].
        segments: of a strand.
        radius: of a hair [m], as its weight and stiffness follow from it.
        seen_radius: of the tube that a strand is drawn as [m]: it stands for many hairs.
        curl: radius of the curls [m]; 0 for straight hair.
        turns: of a curl along a strand.
        curly: share of the tufts that are curly; the others are straight.
        tufts: how many the strands draw together in.
        tightness: how far a tuft draws together towards its end, from 0 to 1.
        spread: largest random angle of a strand to the normal [degrees].
        fall: how far strands bend down at rest, from 0 (along the normals) to 1.
        scalp: a `SurfaceMesh`, or a file or sample mesh, all of which grows hair. A head of 0.09 m around the origin,
            its face to the front (z), if not given.
        seed: what the random numbers follow from.
    """
    strands, segments = as_whole(strands, "hair", "strands"), as_whole(segments, "hair", "segments")
    bound(strands * segments, "hair(strands)")
    length, radius = as_length(length, "hair(length)"), as_length(radius, "hair(radius)")
    seen_radius = as_length(seen_radius, "hair(seen_radius)")
    curl, turns = as_number(curl, "hair", "curl"), as_number(turns, "hair", "turns")
    axis = _axis_length(length, segments, curl, turns)
    share, tight = as_number(curly, "hair", "curly"), as_number(tightness, "hair", "tightness")
    down = as_number(fall, "hair", "fall")
    lean = math.radians(as_number(spread, "hair", "spread"))
    tufts = min(as_whole(tufts, "hair", "tufts"), strands)
    random = np.random.default_rng(as_whole(seed, "hair", "seed"))

    places, normals = _roots(scalp, strands, random)
    centres, tuft = _in_tufts(places, tufts)
    guides = _leaning(normals[centres], lean, random)
    # straight strands have no curls to be long along
    is_curly = random.permutation(tufts) < round(share * tufts) if curl * turns > 0.0 else np.zeros(tufts, bool)
    long = np.where(is_curly, axis, length)
    avoid = HEAD if scalp is None else 0.0
    own_way = _leaning(guides[tuft], 0.3 * lean, random)
    own = _grown(places, normals, own_way, long[tuft], segments, down, avoid)
    led = _grown(places[centres], normals[centres], guides, long, segments, down, avoid)

    s = np.linspace(0.0, 1.0, segments + 1)
    drawn = (tight * np.clip(s - s[1], 0.0, 1.0) ** 0.7)[None, :, None]
    x = own + drawn * (led[tuft] - own)
    if is_curly.any():
        turn = math.tau * turns * np.clip(s - s[1], 0.0, 1.0)
        phase = random.uniform(0.0, math.tau, tufts)[tuft] + random.uniform(-0.5, 0.5, strands)
        ease = np.clip((s - s[1]) * max(turns, 1.0), 0.0, 1.0)
        width = np.where(is_curly[tuft], curl, 0.0) * random.uniform(0.8, 1.2, strands)
        first, second = _frames(x)
        angle = phase[:, None] + turn
        offset = np.cos(angle)[..., None] * first + np.sin(angle)[..., None] * second
        x = x + (width[:, None] * ease)[..., None] * offset
    if scalp is None:
        # what was drawn together or curled may have come into the head
        far = np.linalg.norm(x[:, 2:], axis=2, keepdims=True)
        x[:, 2:] *= np.maximum(1.0, NEAREST * HEAD / np.maximum(far, 1e-300))
    chains = np.arange(strands * (segments + 1), dtype=np.int32).reshape(strands, -1)
    ends = np.stack([chains[:, :-1], chains[:, 1:]], axis=-1).reshape(-1, 2)
    return RodMesh(x.reshape(-1, 3), ends, radius, "hair", seen_radius=seen_radius)


def _axis_length(length: float, segments: int, curl: float, turns: float) -> float:
    """Length of the line that a curl of this length winds around [m]."""
    around = math.tau * curl * turns
    if around == 0.0:
        return length
    if segments < FEWEST_PER_TURN * turns:
        raise InputError(
            f"{segments} segments cannot show {turns:g} turns",
            "hair(turns)",
            f"Give at least {math.ceil(FEWEST_PER_TURN * turns)} segments, or fewer turns",
        )
    if around > 0.95 * length:
        raise InputError(
            f"{turns:g} turns of the radius {curl:g} m are {around:.3g} m long, and a strand is {length:g} m",
            "hair(curl)",
            "Give a smaller curl, fewer turns or longer strands",
        )
    return math.sqrt(length**2 - around**2)


def _roots(scalp: Any, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random places on the scalp [m] and the normals there (count, 3)."""
    if scalp is None:
        return _on_head(count, random)
    if isinstance(scalp, (str, os.PathLike)):
        from pliant.mesh.source import as_surface, load_mesh

        scalp = as_surface(load_mesh(scalp))
    if not isinstance(scalp, SurfaceMesh):
        raise InputError(
            f"{type(scalp).__name__} is no surface", "hair(scalp)", "Give a SurfaceMesh, a file or a sample mesh's name"
        )
    areas = scalp.areas()
    if not areas.sum() > 0.0:
        raise InputError("the surface has no area", "hair(scalp)", "Give a surface with triangles")
    face = np.searchsorted(np.cumsum(areas), random.uniform(0.0, areas.sum(), count), side="right")
    face = np.minimum(face, len(areas) - 1)
    a, b = random.uniform(0.0, 1.0, (2, count, 1))
    a, b = np.where(a + b > 1.0, 1.0 - a, a), np.where(a + b > 1.0, 1.0 - b, b)
    corners = scalp.vertices[scalp.triangles[face]]
    places = corners[:, 0] + a * (corners[:, 1] - corners[:, 0]) + b * (corners[:, 2] - corners[:, 0])
    smooth = np.zeros_like(scalp.vertices)
    for corner in range(3):
        np.add.at(smooth, scalp.triangles[:, corner], scalp.normals() * areas[:, None])
    mixed = smooth[scalp.triangles[face]]
    mixed = mixed[:, 0] * (1.0 - a - b) + mixed[:, 1] * a + mixed[:, 2] * b
    size = np.linalg.norm(mixed, axis=1, keepdims=True)
    flat = scalp.normals()[face]
    return places, np.where(size > 1e-12 * areas.max(), mixed / np.maximum(size, 1e-300), flat)


def _on_head(count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Places on the head that have hair: above a line that runs from the forehead to the neck."""
    found = np.zeros((0, 3))
    while len(found) < count:
        height = random.uniform(-0.6, 1.0, 4 * count + 64)
        angle = random.uniform(0.0, math.tau, len(height))
        flat = np.sqrt(1.0 - height**2)
        directions = np.stack([flat * np.sin(angle), height, flat * np.cos(angle)], axis=1)
        # the hairline lies high over the face and low at the neck
        line = 0.12 + 0.55 * directions[:, 2]
        found = np.concatenate([found, directions[directions[:, 1] > line]])
    return HEAD * found[:count], found[:count]


def _in_tufts(places: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The strands (count,) that lead the tufts, far from each other, and the tuft of each strand (n,)."""
    candidates = places[: max(count, min(len(places), CANDIDATES * count))]
    chosen = [0]
    nearest = np.linalg.norm(candidates - candidates[0], axis=1)
    for _ in range(count - 1):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(candidates - candidates[chosen[-1]], axis=1))
    leaders = places[chosen]
    tuft = np.empty(len(places), np.int64)
    for first in range(0, len(places), 4096):
        block = places[first : first + 4096]
        tuft[first : first + 4096] = np.linalg.norm(block[:, None] - leaders, axis=2).argmin(axis=1)
    return np.array(chosen), tuft


def _leaning(normals: np.ndarray, largest: float, random: np.random.Generator) -> np.ndarray:
    """Directions at random angles [rad] to these (n, 3)."""
    aside = np.cross(normals, random.normal(size=normals.shape))
    aside /= np.maximum(np.linalg.norm(aside, axis=1, keepdims=True), 1e-300)
    angle = largest * np.sqrt(random.uniform(0.0, 1.0, (len(normals), 1)))
    return np.cos(angle) * normals + np.sin(angle) * aside


def _grown(
    places: np.ndarray,
    normals: np.ndarray,
    directions: np.ndarray,
    lengths: np.ndarray,
    segments: int,
    fall: float,
    head: float,
) -> np.ndarray:
    """Vertices (n, segments + 1, 3) of strands: a segment along the normal, then bent towards a direction and down.

    Strands that fall keep away from a head of this radius [m] around the origin.
    """
    step = (lengths / segments)[:, None]
    x = np.empty((len(places), segments + 1, 3))
    x[:, 0] = places
    way = normals
    for k in range(1, segments + 1):
        x[:, k] = x[:, k - 1] + step * way
        if k > 1 and head > 0.0 and fall > 0.0:
            distance = np.linalg.norm(x[:, k], axis=1, keepdims=True)
            pushed = x[:, k] * np.maximum(AWAY * head / np.maximum(distance, 1e-300), 1.0)
            way = pushed - x[:, k - 1]
            way = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
            x[:, k] = x[:, k - 1] + step * way
        # most of the bend is done in the first third; what points up goes aside before it goes down
        share = 3.0 / segments
        flat = way * [1.0, 0.0, 1.0]
        flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-300)
        pull = flat * np.maximum(way[:, 1:2], 0.0) - [0.0, 1.0, 0.0]
        way = way + share * (directions - normals) * (k < segments / 3.0) + 4.0 * fall * share * pull
        way = way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
    return x


def _frames(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors across each strand at its vertices (n, m, 3), carried along without a twist."""
    way = np.diff(x, axis=1, append=2.0 * x[:, -1:] - x[:, -2:-1])
    way /= np.maximum(np.linalg.norm(way, axis=2, keepdims=True), 1e-300)
    first = np.empty_like(x)
    axis = np.eye(3)[np.abs(way[:, 0]).argmin(axis=1)]
    side = axis
    for k in range(x.shape[1]):
        side = side - np.einsum("ij,ij->i", side, way[:, k])[:, None] * way[:, k]
        side = side / np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300)
        first[:, k] = side
    return first, np.cross(way, first)
