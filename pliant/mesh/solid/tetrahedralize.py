"""The front door from a surface to a solid: picks the element size, makes the solid, and falls back when it must."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.solid.bcc import TooFineError
from pliant.mesh.solid.checks import Samples, quality_of
from pliant.mesh.solid.conforming import ConformingError, conform
from pliant.mesh.solid.distance import OutOfTimeError, Progress, SignedDistance
from pliant.mesh.solid.filling import Filler, Made
from pliant.mesh.solid.fit_size import Target, fit_size
from pliant.mesh.solid.stuffing import stuff
from pliant.mesh.solid.voxelize import voxelize
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.settings import Described, setting

METHODS = ("stuffing", "voxels", "lattice", "conforming")
DEFAULT_TETS = 8000
TETS_PER_CELL, TETS_PER_CUBE = 12.0, 6.0
SKIN = 0.75
"""Volume of touched cells beyond the surface, per area and cell size."""
PROBE_CELLS = 20
"""Cells along the longest side with which the enclosed volume is estimated."""
ENCLOSING = 1.0
"""Offset, as a part of the element size meant, for the elements of twice that size made when time has run out."""
CAGE_CELLS = 64
"""Cells along the longest side of the cage that is made when time has run out."""


@dataclasses.dataclass(frozen=True)
class SolidSettings(Described):
    """How a surface is turned into a solid."""

    method: str = setting(
        "stuffing",
        "'stuffing': tets with good angles; 'voxels': the tets of a cage of cubes; 'lattice': the cubes themselves; "
        "'conforming': tets that follow the surface closely, through the extra 'tetwild'",
        choices=METHODS,
    )
    element_size: float | None = setting(None, "edge of a lattice cell", unit="m", above=0.0)
    tets: int | None = setting(
        None, f"wanted number of tets; {DEFAULT_TETS} if nothing else says how fine", low=12, high=10_000_000
    )
    vertices: int | None = setting(None, "wanted number of vertices", low=8, high=2_000_000)
    enclose: bool = setting(
        False, "move the boundary outward, where and as far as it must be, so that the whole surface lies inside"
    )
    keep_thin: bool = setting(
        True, "make thin parts thicker, and if need be the elements smaller, where they would be missed"
    )
    time_limit: float = setting(120.0, "after which something coarser is made", unit="s", above=0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("element_size", "tets", "vertices") if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} are given together", "SolidSettings", "Give one of them")

    @property
    def target(self) -> Target | None:
        """What the element size is fitted to; none if it is given."""
        if self.element_size is not None:
            return None
        if self.vertices is not None:
            return Target("vertices", self.vertices)
        return Target("tets", self.tets or DEFAULT_TETS)


@dataclasses.dataclass(frozen=True, eq=False)
class Solid:
    """A solid made from a surface.

    Attributes:
        mesh: the tets, or the cubes for method 'lattice'.
        method: the one that was used in the end.
        element_size: edge of a lattice cell [m].
        offset: how far the boundary was moved outward, at most [m].
        notes: what was done and why, for the user.
        quality: counts and extremes, see `quality_of`.
    """

    mesh: TetMesh | VoxelLattice
    method: str
    element_size: float
    offset: float = 0.0
    notes: list[str] = dataclasses.field(default_factory=list)
    quality: dict[str, Any] = dataclasses.field(default_factory=dict)


def tetrahedralize(
    surface: SurfaceMesh,
    settings: SolidSettings = SolidSettings(),
    device: str = "cpu",
    progress: Progress | None = None,
) -> Solid:
    """Turn any triangles into a solid; what could not be done as asked is told in the notes.

    Args:
        surface: closed or open; overlaps, holes and inside-out surfaces are taken.
        settings: see `SolidSettings`.
        device: where distances are found.
        progress: called with the name of a stage and how much of it is done, 0 to 1.
    """
    work = _Work(surface, settings, device, progress)
    mesh, method, size, offset, _ = work.made()
    if not len(mesh.vertices):
        raise InputError(
            f"elements of {size:.3g} m are too large: none lies inside the surface", work.where, "Use smaller elements"
        )
    notes = [*mesh.notes, *work.notes]
    mesh = dataclasses.replace(mesh, name=surface.name, notes=(*surface.notes, *notes))
    mesh.check(surface.name or "solid")
    quality = quality_of(mesh)
    if quality.get("pinches"):
        notes.append(f"the boundary touches itself at {quality['pinches']} vertices")
    return Solid(mesh, method, size, offset, notes, quality)


class _Work:
    """One surface on its way to a solid: the distance to it, the time left, the notes so far."""

    def __init__(self, surface: SurfaceMesh, settings: SolidSettings, device: str, progress: Progress | None):
        self.surface, self.settings, self.progress = surface, settings, progress
        self.start = time.monotonic()
        self.distance = SignedDistance(surface, device)
        self.device = self.distance.device
        self.where = surface.name or "surface mesh"
        self.notes: list[str] = []
        self._refuse_large_elements()

    def made(self) -> Made:
        """The solid, its method, element size [m] and offset [m]."""
        method = self.settings.method
        if method in ("voxels", "lattice"):
            return self._cage(method)
        if method == "conforming":
            size = self.settings.element_size or self._first_size(self._volume())
            try:
                return Made(conform(self.surface, size, self.settings.time_limit), method, size, 0.0)
            except ConformingError as error:
                self.notes.append(f"{error}; the surface was filled by stuffing instead")
                self.start = time.monotonic()
        return self._stuffed()

    def _until(self, part: float) -> float:
        """The moment when this part of the time limit is spent."""
        return self.start + part * self.settings.time_limit

    def _volume(self) -> float:
        """Estimate of the enclosed volume [m^3], from samples and, for what they miss, from the triangles."""
        d = self.distance
        step = d.scale / PROBE_CELLS
        cells = np.maximum(np.ceil((d.high - d.low) / step), 1).astype(int)
        axes = [(np.arange(n) + 0.5) * (side / n) for n, side in zip(cells, d.high - d.low, strict=True)]
        points = d.low + np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        sampled = float(d.inside(points).mean() * np.prod(d.high - d.low))
        return sampled or abs(d.signed_volume) * d.scale**3

    def _first_size(self, volume: float) -> float:
        """Element size at which stuffing gives about the wanted count [m]."""
        size = (TETS_PER_CELL * volume / self._wanted_tets()) ** (1.0 / 3.0)
        area = float(self.surface.areas().sum())
        if size * area >= 2.0 * volume:
            # Walls thinner than a cell: one layer of cells for each wall, that is for half the area.
            size = math.sqrt(0.5 * TETS_PER_CELL * area / self._wanted_tets())
        return size

    def _wanted_tets(self) -> float:
        target = self.settings.target
        if target is None:
            raise ValueError("the element size is given")
        return float(target.count) if target.kind == "tets" else 4.5 * target.count

    # Cubes

    def _cage(self, method: str) -> Made:
        target = self.settings.target

        def make(size: float) -> VoxelLattice:
            return voxelize(self.distance, size, True, self.device, self.progress, self._until(0.6))

        def count(mesh: VoxelLattice) -> int:
            return len(mesh.vertices) if target is not None and target.kind == "vertices" else 6 * len(mesh.cubes)

        try:
            if target is None:
                size = float(self.settings.element_size or 0.0)
                lattice = make(size)
            else:
                # Touched cells lie half outside, so a skin of them comes on top of the volume.
                volume, area = self._volume(), float(self.surface.areas().sum())
                first = math.sqrt(TETS_PER_CUBE * SKIN * area / self._wanted_tets())
                for _ in range(20):
                    first = (TETS_PER_CUBE * (volume + SKIN * area * first) / self._wanted_tets()) ** (1.0 / 3.0)
                fit = fit_size(make, count, first, target)
                lattice, size = fit.mesh, fit.size
                self.notes += fit.notes
        except OutOfTimeError:
            lattice, size = self._coarse_cage()
        return Made(lattice if method == "lattice" else lattice.tets(), method, size, 0.0)

    def _coarse_cage(self) -> tuple[VoxelLattice, float]:
        size = max(self.distance.scale / CAGE_CELLS, 2.0 * (self.settings.element_size or 0.0))
        self.notes.append(
            f"the time limit of {self.settings.time_limit:g} s was reached; a cage of cubes of {size:.3g} m was made"
        )
        return voxelize(self.distance, size, True, self.device), size

    # Stuffing

    def _stuffed(self) -> Made:
        target = self.settings.target
        volume = self._volume()
        self._refuse_sheet(volume)
        size = float(self.settings.element_size or 0.0) if target is None else self._first_size(volume)
        filler = Filler(self.surface, self.distance, self.progress)
        filler.notes = self.notes
        try:
            if self.settings.enclose:
                return filler.enclosed(size, target, self._until(0.6))
            return filler.filled(size, target, self._until(0.6), self.settings.keep_thin)
        except TooFineError as error:
            if target is None:
                raise
            return self._around_hair(error)
        except OutOfTimeError:
            pass
        try:
            # Twice the size is an eighth of the work.
            offset = ENCLOSING * size if self.settings.enclose else 0.0
            mesh = stuff(self.distance, 2.0 * size, offset, self.device, self.progress, self._until(0.9), self.where)
            if len(mesh.tets):
                self.notes.append(
                    f"the time limit of {self.settings.time_limit:g} s was reached; elements of {2.0 * size:.3g} m, "
                    "twice the size meant, were made"
                )
                return Made(mesh, "stuffing", 2.0 * size, offset)
        except OutOfTimeError:
            pass
        lattice, size = self._coarse_cage()
        return Made(lattice.tets(), "voxels", size, 0.0)

    def _around_hair(self, error: TooFineError) -> Made:
        """A cage of cubes around what is too thin and too long to be filled."""
        size = self.distance.scale / CAGE_CELLS
        self.notes.append(
            f"{error.what}: the surface is too thin for its length; a cage of cubes of {size:.3g} m was made"
        )
        return Made(voxelize(self.distance, size, True, self.device).tets(), "voxels", size, 0.0)

    def _refuse_large_elements(self) -> None:
        """Raise when the element size given cannot show the surface's shape."""
        size, longest = self.settings.element_size, self.distance.scale
        cubes = self.settings.method in ("voxels", "lattice")
        if size is not None and size > (1.0 + 1e-9) * (longest if cubes else 0.5 * longest):
            raise InputError(
                f"element_size {size:.3g} m is larger than {'' if cubes else 'half '}the longest side of the surface, "
                f"which is {longest:.3g} m",
                self.where,
                f"Use elements of at most {longest / 8.0:.2g} m, and check the unit of the surface",
            )

    def _refuse_sheet(self, volume: float) -> None:
        """Raise when the surface encloses nothing."""
        closed = self.surface.is_closed()
        inside = closed and abs(self.distance.signed_volume) > 1e-9
        if not inside and (volume <= 0.0 or not self._anything_inside()):
            raise InputError(
                "the surface encloses no volume, so it cannot be filled with tets",
                self.where,
                'Simulate it as a sheet (solid="surface"), give it a thickness, or use the method "voxels", '
                "which makes a cage of cubes around any surface",
            )

    def _anything_inside(self) -> bool:
        """Whether points just below the triangles are inside."""
        samples = Samples.on(self.surface, 4000)
        spread = self.distance.scale / 64.0
        shifts = spread * np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]) / math.sqrt(3.0)
        around = (samples.points[:, None, :] + shifts[None]).reshape(-1, 3)
        return float(self.distance.inside(around).mean()) > 1e-3
