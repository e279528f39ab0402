"""Stuffing as it is asked for: at the size that gives a count, with thin parts kept, or around the whole surface."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pliant.mesh.solid.bcc import Bcc, TooFineError
from pliant.mesh.solid.checks import LOST, Lost, Samples, lost_parts, outside_of
from pliant.mesh.solid.distance import OutOfTimeError, Progress, SignedDistance
from pliant.mesh.solid.fit_size import Fit, Target, fit_size
from pliant.mesh.solid.stuffing import Sampling
from pliant.mesh.solid.thickness import HALF_THICKNESS, LocalOffset, offset_for
from pliant.mesh.solid.voxelize import voxelize
from pliant.mesh.surface import SurfaceMesh

LOST_AREA = 0.025
"""Part of the surface's area that a solid may miss before something is done about it."""
LADDER = ((2, 0.0), (2, 0.1), (4, 0.0), (4, 0.2), (4, 0.5))
"""What is tried in turn when a part of the surface is missed even so: how many times the wanted elements, and the
outward offset of the whole boundary in element sizes."""
MOST_TIMES = 6.0
"""Times the wanted elements beyond which a step of the ladder is not taken."""
HOPELESS_AREA = 0.5
"""Part of the area whose loss is not cured by smaller elements: the solid is wrapped around everything at once."""
BEARABLE_AREA = 0.1
"""Part of the area that may be missed, after the whole ladder, before the solid is wrapped around everything."""
WORTH_A_NOTE = 0.002
"""Part of the surface's area whose loss is told even if nothing is done about it."""
OFFSETS = tuple((1, offset) for offset in (0.1, 0.2, 0.3, 0.5))
"""The same where the element size is given."""
ROUNDS = 8
"""How often the boundary is moved outward where thin parts still stick out."""
STICKING_OUT = 0.15
"""Distance in element sizes that a thin part may lie outside."""
CORE_DEPTH = 0.08
"""Depth in element sizes that the middle of a thin part must have."""
RAISE = (0.05, 0.1)
"""Least and most that one round moves the boundary, in element sizes."""
MOST_OFFSET = 1.0
"""Largest outward offset, in element sizes: at this depth every point of the surface has lattice nodes around it."""
FIRST_OFFSETS = (0.1, 1.0)
"""Offsets of the whole boundary with which the search for an enclosing solid starts, in element sizes."""
ENCLOSING_ROUNDS, ROUNDS_TO_COUNT = 16, 2
"""How often it is moved further outward where points stick out; and how often while the element size is fitted."""
NEAR = 0.05
"""Depth in element sizes below which a point is not looked at again while the boundary is moved elsewhere."""


class Made(NamedTuple):
    """A solid with its method, element size [m] and largest offset [m], and the local part of that."""

    mesh: Any  # TetMesh, or VoxelLattice where cubes are asked for
    method: str
    size: float
    offset: float
    local: LocalOffset | None = None


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
        """Stuffing at the right size, thin parts made thicker; finer, offset or caged where parts would be missed.

        Args:
            size: of the elements, the first that is tried where there is a target [m].
            target: what the size is fitted to; none to take it as it is.
            until: value of ``time.monotonic()`` after which `OutOfTimeError` is raised, or what there is returned [s].
            keep_thin: do something about parts that are missed.
        """

        def make(size: float, offset: float = 0.0) -> Made:
            if keep_thin:
                return self.thickened(size, offset, until)
            return stuffed(self.sampling(size, offset, until), offset, None)

        fit = Fit(make(size), size) if target is None else fit_size(make, counter(target), size, target)
        found: Made = fit.mesh
        if not keep_thin and len(found.mesh.tets):
            self.notes += fit.notes
            return found
        samples = Samples.on(self.surface)

        def missed(made: Made) -> Lost:
            """By the element size meant at first."""
            if not len(made.mesh.tets):
                return Lost(1.0, 0, 0)
            return lost_parts(samples, outside_of(made.mesh, samples.points, self.device, until), found.size)

        def fits(made: Made) -> bool:
            return target is None or counter(target)(made) <= MOST_TIMES * target.count

        lost = missed(found)
        if good(lost) and fits(found):
            self.notes += [*fit.notes, *self.told_of(found)]
            if lost.area > WORTH_A_NOTE or lost.specks:
                told = f"{lost} are missed, that is lie more than {LOST:g} elements of {found.size:.3g} m outside"
                self.notes.append(f"thin parts: {told}")
            return found
        if lost.area > HOPELESS_AREA and not self.surface.is_closed():
            self.notes.append('the surface is open and encloses little; it may be meant as a sheet (solid="surface")')
        meant = found.size
        if not fits(found):
            # Larger elements find nothing inside thin walls, smaller ones are far too many.
            meant, lost = size, Lost(1.0, 0, 0)
        told = f"elements of {meant:.3g} m are too large for thin parts: {lost} would be missed"
        least, closest = BEARABLE_AREA, None
        if lost.area < least and not lost.parts:
            least, closest = lost.area, found
        try:
            for times, offset in steps(lost, target):
                finer = meant * times ** (-1.0 / 3.0)
                try:
                    made = make(finer, offset * finer)
                except TooFineError:
                    break
                if not fits(made):
                    break
                left = missed(made)
                if left.area < least:
                    least, closest = left.area, made
                if good(left):
                    done = f"{len(made.mesh.tets):,} tets of {finer:.3g} m were made instead" if times > 1 else ""
                    moved = f"the boundary was moved {offset * finer:.3g} m outward" if offset else ""
                    self.notes += [f"{told}; {' and '.join(filter(None, (done, moved)))}", *self.told_of(made)]
                    return made
            if closest is not None:
                self.notes += [
                    f"{told}; elements of {closest.size:.3g} m with the boundary moved up to {closest.offset:.3g} m "
                    f"outward still miss {100.0 * least:.3g} %",
                    *self.told_of(closest),
                ]
                return closest
            whole = self.enclosed(meant, target, until)
        except OutOfTimeError:
            if not len(found.mesh.tets):
                raise
            self.notes.append(f"{told}; there was no time to do anything about it")
            return found
        if whole.method == "stuffing":
            told += f"; elements of {whole.size:.3g} m were made, with the boundary moved {whole.offset:.3g} m outward"
        self.notes.append(told)
        return whole

    def thickened(self, size: float, offset: float, until: float) -> Made:
        """Stuffing with thin parts made thick enough for it, see `offset_for`, and more so where they stick out."""
        Bcc.around(self.distance.low, self.distance.high, size, self.where)  # refuses what is too fine
        local, points, middles = offset_for(self.surface, self.distance, size, until)
        if not len(points):
            return stuffed(self.sampling(size, offset, until), offset, None)
        sampling = self.sampling(size, offset, until, MOST_OFFSET * size)
        made = stuffed(sampling, offset, local)
        for _ in range(ROUNDS):
            outside, core = np.split(self.outside(made, np.concatenate([points, middles]), until), 2)
            # A middle that is not well inside is near a hole, however small.
            out = np.flatnonzero((outside > STICKING_OUT * size) | (core > -CORE_DEPTH * size))
            if not len(out):
                break
            by = np.clip(outside[out], RAISE[0] * size, RAISE[1] * size)
            local = local.raised(points[out], by, MOST_OFFSET * size)
            made = stuffed(sampling, offset, local)
        return made

    def sampling(self, size: float, offset: float, until: float, most: float = 0.0) -> Sampling:
        return Sampling(self.distance, size, offset, self.progress, until, self.where, most)

    def outside(self, made: Made, points: np.ndarray, until: float) -> np.ndarray:
        """Distance of points (n, 3) [m] from a solid, negative inside; an element if there is no solid: (n,) [m]."""
        if not len(made.mesh.vertices):
            return np.full(len(points), made.size)
        return outside_of(made.mesh, points, self.device, until)

    def told_of(self, made: Made) -> list[str]:
        """What was made thicker, in words."""
        if made.local is None:
            return []
        share = 100.0 * float((made.local.at(Samples.on(self.surface).points) > 0.01 * made.size).mean())
        if share < 0.05:
            return []
        return [
            f"parts thinner than {2.0 * HALF_THICKNESS * made.size:.2g} m were thickened, by up to "
            f"{made.local.most:.2g} m on each side: {share:.{0 if share >= 10.0 else 1}f} % of the surface"
        ]

    def enclosed(self, size: float, target: Target | None, until: float) -> Made:
        """Stuffing with the boundary moved outward, here more and there less, until the whole surface lies inside."""
        used = np.unique(self.surface.triangles)
        points = np.concatenate([self.surface.vertices[used], Samples.on(self.surface).points])
        notes: tuple[str, ...] = ()
        if target is not None:
            # A few rounds tell the count.
            fit = fit_size(
                lambda size: self._wrapped(points, size, ROUNDS_TO_COUNT, until)[0], counter(target), size, target
            )
            size, notes = fit.size, fit.notes
        for part in FIRST_OFFSETS:
            made, held = self._wrapped(points, size, ENCLOSING_ROUNDS, until, part)
            if held:
                break
        else:
            self.notes.append(
                f"no offset up to {MOST_OFFSET:g} element sizes encloses the surface; a cage of cubes does"
            )
            lattice = voxelize(self.distance, size, True, self.device, self.progress, until)
            return Made(lattice.tets(), "voxels", size, 0.0)
        self.notes += notes
        return made

    def _wrapped(
        self, points: np.ndarray, size: float, rounds: int, until: float, part: float = FIRST_OFFSETS[0]
    ) -> tuple[Made, bool]:
        """Elements of a size around the points of the surface (n, 3) [m], and whether all of them are inside.

        The whole boundary is moved outward by a part of the size to begin with.
        """
        slack = 1e-6 * self.distance.scale
        offset, most = part * size, MOST_OFFSET * size
        sampling = self.sampling(size, offset, until, most)
        local, _, _ = offset_for(self.surface, self.distance, size, until)
        made = stuffed(sampling, offset, local)
        near = np.arange(len(points))
        for k in range(rounds):
            outside = self.outside(made, points[near], until)
            if len(near) < len(points) and outside.max(initial=0.0) <= slack:
                # Little should have changed for the points left out of the last rounds: look once more.
                near = np.arange(len(points))
                outside = self.outside(made, points, until)
            out = np.flatnonzero(outside > slack)
            if not len(out):
                return made, True
            # Ever larger steps for the last few, where a node that is moved onto the boundary may undo a small one.
            by = np.clip(1.1 * outside[out] + 0.02 * (k + 1) * size, 0.0, RAISE[1] * size)
            local = local.raised(points[near[out]], by, most)
            near = near[outside > -NEAR * size]
            made = stuffed(sampling, offset, local)
        return made, False


def stuffed(sampling: Sampling, offset: float, local: LocalOffset | None) -> Made:
    """Stuffing with the boundary moved outward by an offset [m] and, in places, by a further one."""
    most = 0.0 if local is None else local.most
    return Made(sampling.filled(local), "stuffing", sampling.size, offset + most, local)


def steps(lost: Lost, target: Target | None) -> tuple[tuple[int, float], ...]:
    """What is tried when this much of the surface is missed."""
    if target is None:
        return OFFSETS
    return () if lost.area > HOPELESS_AREA else LADDER


def good(lost: Lost) -> bool:
    """Whether what is missed may be."""
    return lost.area <= LOST_AREA and lost.parts == 0


def counter(target: Target) -> Any:
    """A function that counts the tets or vertices of what was made."""
    return lambda made: len(made.mesh.vertices if target.kind == "vertices" else made.mesh.tets)
