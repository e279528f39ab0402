"""Stuffing as it is asked for: at the size that gives a count, with thin parts kept, or around the whole surface."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.solid.bcc import TooFineError
from pliant.mesh.solid.checks import LOST, Lost, Samples, lost_parts, outside_of
from pliant.mesh.solid.distance import OutOfTimeError, Progress, SignedDistance
from pliant.mesh.solid.fit_size import Fit, Target, fit_size
from pliant.mesh.solid.stuffing import stuff
from pliant.mesh.solid.voxelize import voxelize
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

LOST_AREA = 0.025
"""Part of the surface's area that a solid may miss before something is done about it."""
LADDER = ((2, 0.0), (2, 0.1), (2, 0.2), (4, 0.0), (4, 0.1), (4, 0.2), (4, 0.3), (4, 0.5))
"""What is tried in turn when a part of the surface is missed: how many times the wanted elements, and the outward
offset in element sizes. An offset of a tenth adds about 5 % to the volume of a scan of 8000 tets."""
MOST_TIMES = 6.0
"""Times the wanted elements beyond which a step of the ladder is not taken."""
BEARABLE_AREA = 0.1
"""Part of the area that may be missed, after the whole ladder, before the solid is wrapped around everything."""
WORTH_A_NOTE = 0.002
"""Part of the surface's area whose loss is told even if nothing is done about it."""
OFFSETS = tuple((1, offset) for offset in (0.1, 0.2, 0.3, 0.5))
"""The same where the element size is given."""
MOST_OFFSET = 1.0
"""Largest outward offset, in element sizes: at this depth every point of the surface has lattice nodes around it."""
FIRST_OFFSET, OFFSET_STEP = 0.2, 0.12
"""Where the search for the smallest enclosing offset starts, and its largest step, in element sizes."""
ENCLOSING_TRIES = 14


class Made(NamedTuple):
    """A solid with its method, element size [m] and offset [m]."""

    mesh: TetMesh | VoxelLattice
    method: str
    size: float
    offset: float


class Filler:
    """A surface to be filled with tets.

    Args:
        surface: any triangles.
        distance: to them.
        progress: called with a stage and how much of it is done.
    """

    def __init__(self, surface: SurfaceMesh, distance: SignedDistance, progress: Progress | None = None):
        self.surface, self.distance, self.progress = surface, distance, progress
        self.device, self.where = distance.device, distance.where
        self.notes: list[str] = []
        """What was done and why, for the user."""

    def filled(self, size: float, target: Target | None, until: float, keep_thin: bool = True) -> Made:
        """Stuffing at the right size; finer, offset or caged where parts of the surface would be missed.

        Args:
            size: of the elements, the first that is tried where there is a target [m].
            target: what the size is fitted to; none to take it as it is.
            until: value of ``time.monotonic()`` after which `OutOfTimeError` is raised, or what there is returned [s].
            keep_thin: do something about parts that are missed.
        """

        def make(size: float, offset: float = 0.0) -> TetMesh:
            return stuff(self.distance, size, offset, self.device, self.progress, until, self.where)

        fit = Fit(make(size), size) if target is None else fit_size(make, counter(target), size, target)
        found = Made(fit.mesh, "stuffing", fit.size, 0.0)
        if not keep_thin and len(fit.mesh.tets):
            self.notes += fit.notes
            return found
        samples = Samples.on(self.surface)

        def missed(mesh: TetMesh) -> Lost:
            """By the element size meant at first."""
            if not len(mesh.tets):
                return Lost(1.0, 0, 0)
            return lost_parts(samples, outside_of(mesh, samples.points, self.device, until), fit.size)

        def fits(mesh: TetMesh) -> bool:
            return target is None or counter(target)(mesh) <= MOST_TIMES * target.count

        lost = missed(fit.mesh)
        if good(lost) and fits(fit.mesh):
            self.notes += fit.notes
            if lost.area > WORTH_A_NOTE or lost.specks:
                told = f"{lost} are missed, that is lie more than {LOST:g} elements of {fit.size:.3g} m outside"
                self.notes.append(f"thin parts: {told}")
            return found
        if lost.area > 0.5 and not self.surface.is_closed():
            self.notes.append('the surface is open and encloses little; it may be meant as a sheet (solid="surface")')
        if not fits(fit.mesh):
            # Larger elements find nothing inside thin walls, smaller ones are far too many.
            fit, lost = Fit(fit.mesh, size), Lost(1.0, 0, 0)
        told = f"elements of {fit.size:.3g} m are too large for thin parts: {lost} would be missed"
        least, closest = BEARABLE_AREA, None
        try:
            for times, offset in OFFSETS if target is None else LADDER:
                finer = fit.size * times ** (-1.0 / 3.0)
                try:
                    mesh = make(finer, offset * finer)
                except TooFineError:
                    break
                if not fits(mesh):
                    break
                left = missed(mesh)
                if left.area < least:
                    least, closest = left.area, Made(mesh, "stuffing", finer, offset * finer)
                if good(left):
                    done = f"{len(mesh.tets):,} tets of {finer:.3g} m were made instead" if times > 1 else ""
                    moved = f"the boundary was moved {offset * finer:.3g} m outward" if offset else ""
                    self.notes.append(f"{told}; {' and '.join(filter(None, (done, moved)))}")
                    return Made(mesh, "stuffing", finer, offset * finer)
            if closest is not None:
                self.notes.append(
                    f"{told}; elements of {closest.size:.3g} m with the boundary moved {closest.offset:.3g} m outward "
                    f"still miss {100.0 * least:.3g} %"
                )
                return closest
            whole = self.enclosed(fit.size, target, until)
        except OutOfTimeError:
            if not len(fit.mesh.tets):
                raise
            self.notes.append(f"{told}; there was no time to do anything about it")
            return found
        if whole.method == "stuffing":
            told += f"; elements of {whole.size:.3g} m were made, with the boundary moved {whole.offset:.3g} m outward"
        self.notes.append(told)
        return whole

    def enclosed(self, size: float, target: Target | None, until: float) -> Made:
        """Stuffing with the smallest outward offset found for which every vertex of the surface lies inside."""
        used = np.unique(self.surface.triangles)
        points = np.concatenate([self.surface.vertices[used], Samples.on(self.surface).points])
        slack = 1e-6 * self.distance.scale
        best: tuple[float, TetMesh, float, float] | None = None
        part = FIRST_OFFSET
        for _ in range(ENCLOSING_TRIES):
            try:
                mesh = stuff(self.distance, size, part * size, self.device, self.progress, until, self.where)
                outside = outside_of(mesh, points, self.device, until) if len(mesh.tets) else np.array([size])
            except OutOfTimeError:
                if best is None:
                    raise
                break
            excess = float(outside.max())
            if excess > slack:
                if part >= MOST_OFFSET:
                    break
                # A thin part that was missed is far outside, yet a little more offset may bring it back.
                part = min(part + min(max(1.02 * excess / size, 0.02), OFFSET_STEP), MOST_OFFSET)
                continue
            ratio = 1.0 if target is None else counter(target)(mesh) / target.count
            error = abs(math.log(ratio))
            if best is None or error < best[0]:
                best = (error, mesh, size, part * size)
            if error <= math.log(1.0 + Target.TOLERANCE):
                break
            size *= ratio ** (1.0 / 3.0)
        if best is None:
            self.notes.append(
                f"no offset up to {MOST_OFFSET:g} element sizes encloses the surface; a cage of cubes does"
            )
            lattice = voxelize(self.distance, size, True, self.device, self.progress, until)
            return Made(lattice.tets(), "voxels", size, 0.0)
        if target is not None and best[0] > math.log(1.0 + Target.WORTH_A_NOTE):
            self.notes.append(f"{counter(target)(best[1]):,} {target.kind} were reached, {target.count:,} were wanted")
        return Made(best[1], "stuffing", best[2], best[3])


def good(lost: Lost) -> bool:
    """Whether what is missed may be."""
    return lost.area <= LOST_AREA and lost.parts == 0


def counter(target: Target) -> Any:
    """A function that counts a mesh's tets or vertices."""
    return (lambda mesh: len(mesh.vertices)) if target.kind == "vertices" else (lambda mesh: len(mesh.tets))
