"""Sheets that tear: their constraints hang on corners of triangles, and follow them to other particles.

A vertex splits where its triangles part: some of them, and the hinges between those, get a new particle for a corner.
The constraints of the new particle are some of those of the old one. So what shares no particle shares none after it,
and levels, patches and colours stay good.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh.surface import SurfaceMesh
from pliant.model.model import Body
from pliant.solvers.xpbd.constraint_kernels import Tables
from pliant.solvers.xpbd.constraints import Constraints
from pliant.solvers.xpbd.levels import Runs
from pliant.solvers.xpbd.tie_kernels import retie_hinges, retie_triangles


def can_tear(body: Body) -> bool:
    """Whether a body is a sheet with a fracture strain, and particles set aside for where it splits."""
    sheet = body.raw is None and isinstance(getattr(body.own, "mesh", None), SurfaceMesh)
    return sheet and body.splits and body.material.breaks_at is not None


class Ties:
    """Which corners of which triangles the constraints of sheets hang on.

    Slot 3 t + c is corner c of triangle t, where the triangles of all `sheets` are counted one after the other, in the
    order of `Body.surface`.
    """

    def __init__(self, sheets: Sequence[Body], constraints: Constraints, runs: Runs, device: str) -> None:
        self.device = device
        triangles = np.concatenate([body.surface for body in sheets]).astype(np.int64)
        if triangles.max() >= 1 << 21:
            raise InputError(
                f"a sheet that can tear has particle {int(triangles.max())}",
                f"body '{sheets[-1].name}'.material.fracture_strain",
                f"Give scenes with sheets that tear at most {1 << 21} particles",
            )
        self.count = 3 * len(triangles)
        self._keys, self._order = _sorted_keys(triangles)
        self._triangles = triangles
        put = lambda a: wp.array(np.ascontiguousarray(a, np.int32), dtype=wp.vec3i, device=device)
        rows = lambda a: wp.array(np.ascontiguousarray(a, np.int32), dtype=int, device=device)
        found = {}
        for name, law, order in zip(Constraints.KINDS, constraints.laws(), runs.orders, strict=True):
            corners = law.corners[order].astype(np.int64)
            if name == "triangle":
                mine, slots = self._slots(corners, [[0, 1, 2]])
                found[name] = [rows(mine), put(slots[0])]
            elif name in ("bend", "fold"):
                mine, slots = self._slots(corners, [[0, 1, 2], [0, 1, 3]])
                found[name] = [rows(mine), put(slots[0]), put(slots[1])]
        self._tables = found

    def _slots(self, corners: np.ndarray, parts: list[list[int]]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Constraints (k,) all of whose triangles are here, and the slots of the corners of each triangle (k, 3)."""
        at = [self._find(corners[:, part]) for part in parts]
        mine = np.flatnonzero(np.logical_and.reduce([t >= 0 for t in at]))
        slots = []
        for t, part in zip(at, parts, strict=True):
            same = self._triangles[t[mine]][:, None, :] == corners[mine][:, part][:, :, None]
            slots.append(3 * t[mine][:, None] + same.argmax(axis=2))
        return mine, slots

    def _find(self, corners: np.ndarray) -> np.ndarray:
        """The triangle with these corners in any order (k,), -1 where there is none."""
        if not len(corners):
            return np.zeros(0, np.int64)
        wanted = _keys(corners)
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, self._order[place], -1)

    def follow(self, corners: wp.array, tables: Tables) -> None:
        """Hang all constraints on the particles of the slots (slots,) int, as they are now."""
        inputs = self._tables["triangle"]
        launch(retie_triangles, len(inputs[0]), [*inputs, corners], [tables.triangle], device=self.device)
        for name, table in (("bend", tables.bend), ("fold", tables.fold)):
            inputs = self._tables[name]
            launch(retie_hinges, len(inputs[0]), [*inputs, corners], [table], device=self.device)


def _keys(corners: np.ndarray) -> np.ndarray:
    """A number for each three corners, in any order (k,) int64."""
    low = np.sort(corners, axis=1)
    return (low[:, 0] << 42) | (low[:, 1] << 21) | low[:, 2]


def _sorted_keys(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keys = _keys(triangles)
    order = np.argsort(keys, kind="stable")
    return keys[order], order
