"""What XPBD knows of sheets that tear: how they are at rest, and what is left of their edges and constraints."""

from __future__ import annotations

import numpy as np

from pliant.mesh.surface import SurfaceMesh
from pliant.model.model import Body, Model
from pliant.solvers.common.tearing import Sheet, Tearing, rest_inverse
from pliant.solvers.xpbd.constraint_kernels import Tables
from pliant.solvers.xpbd.constraints import Constraints, Law
from pliant.solvers.xpbd.levels import Runs


def torn_sheet(model: Model, body: Body) -> Sheet:
    """A sheet as `Tearing` wants it; its triangles are in the order of `Body.surface`."""
    first, end = body.own_particles
    rest, mass = model.particles.rest, model.particles.mass
    corners = body.surface.astype(np.int64)
    mesh = SurfaceMesh(rest[first:end], corners - first)
    edges = rest[corners[:, 1:]] - rest[corners[:, :1]]
    sizes = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    around = np.bincount(corners.reshape(-1), np.repeat(sizes, 3), model.particles.count)
    limit = body.material.breaks_at
    assert limit is not None
    return Sheet(
        body.name,
        corners,
        rest_inverse(mesh),
        # each vertex has the mass it was given, shared out by the areas around it
        (mass[corners] * sizes[:, None]) / around[corners],
        (first, end, body.particles[1]),
        limit,
    )


def parted_springs(model: Model, body: Body, tearing: Tearing, first: int) -> np.ndarray:
    """Which edges of a sheet join two vertices that no triangle joins any more (e,) bool.

    `first` is the number of the model's first spring.
    """
    count = np.int64(model.particles.count)
    sides = tearing.corners_of(body.name)[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    pairs = model.springs.pairs[body.springs[0] - first : body.springs[1] - first].astype(np.int64)
    key = lambda a: a.min(axis=1) * count + a.max(axis=1)
    return ~np.isin(key(pairs), key(sides))


def followed(constraints: Constraints, runs: Runs, tables: Tables) -> Constraints:
    """The constraints as they hang now: those of hinges that have come apart are left out."""
    laws = []
    for name, law, order in zip(Constraints.KINDS, constraints.laws(), runs.orders, strict=True):
        corners = getattr(tables, name).numpy().reshape(-1, law.corners.shape[1])
        whole = corners[:, 0] >= 0
        laws.append(Law(corners[whole], law.values[order][whole], law.damping[order][whole]))
    return Constraints(*laws)
