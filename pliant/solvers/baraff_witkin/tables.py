"""The sheets of the method as tables on the device: elements, and the rows of the particles they act on."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from pliant.model.model import Body, Model
from pliant.model.patches import incidence
from pliant.physics.cloth_conditions import Weave
from pliant.solvers.baraff_witkin.rest import SheetRest, weave_moduli
from pliant.solvers.baraff_witkin.sheet_kernels import Cloth, Pieces


def cloth_tables(model: Model, awake: wp.array, *, poisson: bool, device: str) -> Cloth:
    """The tables of the bodies of a model, all of this method; `awake` tells which of them move, on the device."""
    count = model.particles.count
    bodies = [(body, _rest(body), body.particles[0]) for body in model.bodies]
    corners = np.concatenate([rest.corners + first for _, rest, first in bodies]).astype(np.int32)
    hinges = np.concatenate([rest.hinges + first for _, rest, first in bodies]).astype(np.int32).reshape(-1, 4)
    moduli = [rest.area[:, None] * weave_moduli(body.material, poisson=poisson) for body, rest, _ in bodies]
    constants = [_hinge_constants(body, rest) for body, rest, _ in bodies]
    damping = [np.full(len(rest.corners), body.material.damping) for body, rest, _ in bodies]
    drag = np.zeros(count)
    for body, _, _ in bodies:
        drag[slice(*body.particles)] = body.material.drag
    cloth = Cloth()

    def put(name: str, array: np.ndarray, dtype: object) -> None:
        kind = np.int32 if array.dtype.kind in "iu" else np.float32
        setattr(cloth, name, wp.array(np.ascontiguousarray(array, kind), dtype=dtype, device=device))

    put("corners", corners, wp.vec3i)
    put("along", np.concatenate([rest.along for _, rest, _ in bodies]), wp.vec3)
    put("across", np.concatenate([rest.across for _, rest, _ in bodies]), wp.vec3)
    kind: Any = Weave  # a struct of Warp's
    weaves = np.ascontiguousarray(np.concatenate(moduli), np.float32).view(kind.numpy_dtype()).reshape(-1)
    cloth.weave = wp.array(weaves, dtype=Weave, device=device)
    put("damping", np.concatenate(damping), float)
    put("hinges", hinges, wp.vec4i)
    put("hinge", np.concatenate(constants), wp.vec4)
    put("mass", model.particles.mass, float)
    put("drag", drag, float)
    put("body", model.particles.body - model.body_numbers[0], int)
    cloth.awake = awake
    keys = _row_keys(corners, hinges, count)
    put("row_starts", np.searchsorted(keys, np.arange(count + 1, dtype=np.int64) * count), int)
    put("row_other", keys % count, int)
    for name, elements, vector in (("triangle", corners, wp.vec2i), ("hinge", hinges, wp.vec3i)):
        starts, number, corner = incidence(elements, count)
        size = elements.shape[1]
        after = (corner[:, None].astype(np.int64) + np.arange(1, size)) % size
        others = np.take_along_axis(elements[number], after, axis=1).astype(np.int64)
        owner = np.repeat(np.arange(count, dtype=np.int64), np.diff(starts))
        put(f"{name}_starts", starts, int)
        put(f"{name}_number", number, int)
        put(f"{name}_corner", corner, int)
        put(f"{name}_slots", np.searchsorted(keys, owner[:, None] * count + others), vector)
    return cloth


def _rest(body: Body) -> SheetRest:
    assert isinstance(body.own, SheetRest)
    return body.own


def _hinge_constants(body: Body, rest: SheetRest) -> np.ndarray:
    """Moment per angle, angle at rest, damping time, least squared area (h, 4)."""
    moment = body.material.plate_rigidity * rest.bending
    return np.stack([moment, rest.angle, np.full_like(moment, body.material.damping), rest.least], axis=1)


def _row_keys(corners: np.ndarray, hinges: np.ndarray, count: int) -> np.ndarray:
    """Pairs of different particles that share an element, as sorted keys first * count + second."""
    keys = []
    for elements in (corners.astype(np.int64), hinges.astype(np.int64)):
        size = elements.shape[1]
        keys += [elements[:, a] * count + elements[:, b] for a in range(size) for b in range(size) if a != b]
    return np.unique(np.concatenate(keys))


def make_pieces(triangles: int, hinges: int, device: str) -> Pieces:
    """Scratch for what elements give to rows."""
    pieces = Pieces()
    for name in ("force_u", "force_v"):
        setattr(pieces, name, wp.zeros(triangles, dtype=wp.vec3, device=device))
    for name in ("uu", "vv", "uv"):
        setattr(pieces, name, wp.zeros(triangles, dtype=wp.mat33, device=device))
    for name in ("moment", "stiffness"):
        setattr(pieces, name, wp.zeros(hinges, dtype=float, device=device))
    pieces.fold = wp.zeros(4 * hinges, dtype=wp.vec3, device=device)
    return pieces
