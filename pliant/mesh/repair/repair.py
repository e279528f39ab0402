"""A surface repaired as far as that is safe, with a report of what was done and what is left."""

from __future__ import annotations

import dataclasses

from pliant.mesh.repair import steps
from pliant.mesh.repair.diagnose import Diagnosis, diagnose
from pliant.mesh.repair.settings import RepairSettings
from pliant.mesh.repair.survey import survey
from pliant.mesh.surface import SurfaceMesh

__all__ = ["RepairSettings", "Repaired", "classify", "repair"]

MOST_PASSES = 6
"""Passes over all steps: a filled hole may hide a wall, which is then dropped in the next pass."""


@dataclasses.dataclass(frozen=True, eq=False)
class Repaired:
    """What `repair` made.

    Attributes:
        mesh: the surface; the very one that was given if nothing was to be done.
        actions: what was done, with counts; empty if nothing was.
        before, after: what was wrong before and is still.
        left: what could not be repaired, and whether that matters.
    """

    mesh: SurfaceMesh
    actions: list[str]
    before: Diagnosis
    after: Diagnosis
    left: list[str]

    @property
    def kind(self) -> str:
        """'solid', 'open', 'sheet' or 'nothing'; see `pliant.mesh.repair.survey.Survey`."""
        return self.after.kind

    def lines(self) -> list[str]:
        """The report for people."""
        done = [f"done: {action}" for action in self.actions] or ["nothing was to be done: the surface is unchanged"]
        return [*done, *self.left]


def classify(mesh: SurfaceMesh) -> str:
    """'solid', 'open', 'sheet' or 'nothing': see `pliant.mesh.repair.survey.Survey`. The mesh may be broken."""
    return diagnose(mesh, intersections=False).kind


def repair(mesh: SurfaceMesh, settings: RepairSettings | None = None) -> Repaired:
    """Repair a surface; the same bytes come out for the same surface, and a second repair changes nothing.

    In this order: triangles with bad vertices and vertices of no triangle are dropped; vertices at the same place are
    joined; flat triangles are dropped, all but the first of those with the same corners whichever way they wind, and
    both sides of flaps (see `pliant.mesh.repair.defects.repeats_to_drop`);
    cracks where vertices lie on the edges of others are closed by splitting; neighbours are made to agree on the
    winding; walls inside a body that nobody outside can see are dropped; small parts are dropped if asked for; holes
    are filled, but not in a sheet; patches are turned to face outward; and, if asked for, the surface is cut where
    more than two triangles meet. Edges of more than two triangles are kept otherwise: inside and outside are well
    defined all the same.
    """
    settings = settings or RepairSettings()
    before = diagnose(mesh, settings.intersections)
    actions: list[str] = []
    current = mesh
    for _ in range(MOST_PASSES):
        passed = _one_pass(current, settings, actions)
        if passed is current:
            break
        current = passed
    if settings.cut_non_manifold and len(current.triangles):
        current = steps.cut_non_manifold(current, actions)
    if current is mesh:
        return Repaired(mesh, [], before, before, _left(before, settings))
    after = diagnose(current, settings.intersections)
    return Repaired(current, actions, before, after, _left(after, settings))


def _one_pass(mesh: SurfaceMesh, settings: RepairSettings, actions: list[str]) -> SurfaceMesh:
    """All steps once; the same object comes back if none had anything to do."""
    mesh = steps.drop_bad(mesh, actions)
    mesh = steps.drop_unused(mesh, actions)
    if settings.weld_tolerance > 0.0:
        mesh = steps.weld_vertices(mesh, settings.weld_tolerance, actions)
    mesh = steps.drop_flat_and_repeated(mesh, actions)
    if settings.close_cracks:
        mesh = steps.close_cracks(mesh, settings.weld_tolerance, actions)
    mesh = steps.drop_unused(mesh, actions)
    if not len(mesh.triangles):
        return mesh
    found = survey(mesh.vertices, mesh.triangles)
    if found.turn.any():
        mesh = steps.make_agree(mesh, found, actions)
        found = survey(mesh.vertices, mesh.triangles)
    if settings.drop_walls:
        mesh, found = steps.drop_walls(mesh, found, actions)
    if settings.smallest_part > 0.0:
        mesh, found = steps.drop_small_parts(mesh, found, settings.smallest_part, actions)
    if settings.fill_holes and found.kind != "sheet":
        mesh, found = steps.fill_holes(mesh, found, settings, actions)
    if settings.face_outward:
        mesh = steps.face_outward(mesh, found, actions)
    return steps.drop_unused(mesh, actions)


def _left(after: Diagnosis, settings: RepairSettings) -> list[str]:
    """What is still wrong, and whether it matters."""
    left: list[str] = []
    if after.kind == "nothing":
        return ["no usable triangle remains: nothing can be made of this surface"]
    if after.kind == "sheet":
        left.append("the surface encloses no space: it can be simulated as a sheet, not as a solid")
    elif after.holes:
        longest = f"the longest of {after.hole_edges[0]} edges and {after.hole_perimeters[0]:.3g} m"
        left.append(
            f"still open: {steps.counted(after.holes, 'hole')}, {longest}: a solid made of it is closed smoothly "
            f"across them (repair fills holes up to largest_hole = {settings.largest_hole:g} of the size)"
        )
    told = [
        (
            after.non_manifold_edges,
            "edge",
            "of more than two triangles: harmless for a solid; a sheet is cut there by repair's cut_non_manifold",
        ),
        (after.non_manifold_vertices, "vertex", "where parts only touch: harmless for a solid"),
        (after.one_sided_parts, "part", "with one side only, which encloses nothing: good for a sheet only"),
        (
            0 if after.one_sided_parts else after.winding_edges,
            "edge",
            "between opposite windings: inside and outside are unclear there",
        ),
        (
            after.intersecting_triangles,
            "triangle",
            "cutting others: harmless for a solid; a sheet may catch on itself there",
        ),
        (after.duplicate_vertices, "vertex", "at the place of others: the surface is cut there"),
    ]
    return left + [f"left as it is: {steps.counted(count, what)} {why}" for count, what, why in told if count]
