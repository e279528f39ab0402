"""The single steps of a repair: each says what it did, or returns the very mesh it was given."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.repair import cracks, defects, topology, weld
from pliant.mesh.repair.fill_holes import fill_loops
from pliant.mesh.repair.settings import RepairSettings
from pliant.mesh.repair.survey import ENCLOSES, Survey, survey
from pliant.mesh.surface import SurfaceMesh

MOST_ROUNDS = 32
"""Rounds of splitting at cracks; every round splits one side of each triangle."""


def counted(number: int, what: str) -> str:
    """A number and what it counts, such as '1 vertex' or '1,200 vertices'."""
    plural = {"vertex": "vertices", "patch": "patches", "closed patch": "closed patches"}.get(what, what + "s")
    return f"{number:,} {what if number == 1 else plural}"


def drop_bad(mesh: SurfaceMesh, actions: list[str]) -> SurfaceMesh:
    """Drop triangles that name a vertex which is not there, or one that is not finite."""
    outside, touched = defects.broken_triangles(mesh)
    if outside.any():
        actions.append(f"dropped {counted(int(outside.sum()), 'triangle')} that named a vertex which is not there")
    if touched.any():
        actions.append(f"dropped {counted(int(touched.sum()), 'triangle')} with a vertex that is not finite")
    broken = outside | touched
    return mesh.of_triangles(~broken) if broken.any() else mesh


def drop_unused(mesh: SurfaceMesh, actions: list[str]) -> SurfaceMesh:
    """Drop vertices of no triangle."""
    used = arrays.used_vertices(mesh.triangles, len(mesh.vertices))
    if used.all():
        return mesh
    actions.append(f"dropped {counted(int((~used).sum()), 'vertex')} of no triangle")
    vertices, triangles = arrays.without_unused(mesh.vertices, mesh.triangles)
    look = mesh.look and mesh.look.of_vertices(used)
    return dataclasses.replace(mesh, vertices=vertices, triangles=triangles, look=look)


def weld_vertices(mesh: SurfaceMesh, tolerance: float, actions: list[str]) -> SurfaceMesh:
    """Join vertices at the same place; the first of them stays where it is."""
    place = weld.same_place(mesh.vertices, tolerance)
    kept = place == np.arange(len(place))
    if kept.all():
        return mesh
    actions.append(f"joined {counted(int((~kept).sum()), 'vertex')} with others at the same place")
    number = np.cumsum(kept) - 1
    return mesh.merged(number[place], mesh.vertices[kept])


def drop_flat_and_repeated(mesh: SurfaceMesh, actions: list[str]) -> SurfaceMesh:
    """Drop triangles without area, and those with the corners of an earlier one whichever way they wind."""
    flat = defects.flat(mesh.vertices, mesh.triangles)
    if flat.any():
        actions.append(f"dropped {counted(int(flat.sum()), 'triangle')} without area")
        mesh = mesh.of_triangles(~flat)
    again = defects.repeats_to_drop(mesh.triangles)
    if again.any():
        actions.append(f"dropped {counted(int(again.sum()), 'triangle')} that were there twice")
        mesh = mesh.of_triangles(~again)
    return mesh


def close_cracks(mesh: SurfaceMesh, tolerance: float, actions: list[str]) -> SurfaceMesh:
    """Split triangles whose free edge passes through free vertices, until none does."""
    total = 0
    for _ in range(MOST_ROUNDS):
        mesh, split = cracks.split_at_free_vertices(mesh, max(tolerance, weld.TOLERANCE))
        total += split
        if not split:
            break
        bad = defects.flat(mesh.vertices, mesh.triangles)
        mesh = mesh.of_triangles(~bad) if bad.any() else mesh
    if total:
        actions.append(f"closed cracks at {counted(total, 'vertex')} that lay on the edge of a triangle")
        mesh = drop_flat_and_repeated(mesh, actions)
    return mesh


def make_agree(mesh: SurfaceMesh, found: Survey, actions: list[str]) -> SurfaceMesh:
    """Turn the fewer triangles of each patch so that neighbours wind alike."""
    actions.append(f"turned {counted(int(found.turn.sum()), 'triangle')} to wind as their neighbours do")
    return mesh.turned(found.turn)


def drop_walls(mesh: SurfaceMesh, found: Survey, actions: list[str]) -> tuple[SurfaceMesh, Survey]:
    """Drop open patches inside a body: bounded by other patches all around, no outside seen from either side."""
    table = found.table
    if not (table.count > 2).any() or found.kind == "sheet":
        return mesh, found
    hidden = ~found.closed & (found.front == 0.0) & (found.back == 0.0)
    loose = np.zeros(found.count, bool)
    loose[np.repeat(found.patch, 3)[table.count[table.edge_of] == 1]] = True
    wall = (hidden & ~loose)[found.patch]
    if not wall.any() or wall.all():
        return mesh, found
    without = mesh.of_triangles(~wall)
    survivors = topology.edge_table(without.triangles)
    if (survivors.count == 1).sum() > (table.count == 1).sum():
        return mesh, found  # the walls were holding something up: dropping them would open holes
    actions.append(f"dropped {counted(int(wall.sum()), 'triangle')} of walls inside the body")
    after = survey(without.vertices, without.triangles)
    if after.turn.any():
        without = make_agree(without, after, actions)
        after = survey(without.vertices, without.triangles)
    return without, after


def drop_small_parts(
    mesh: SurfaceMesh, found: Survey, smallest: float, actions: list[str]
) -> tuple[SurfaceMesh, Survey]:
    """Drop parts whose diagonal is below a part of the whole's."""
    count, part = mesh.components()
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, part, mesh.vertices)
    np.maximum.at(high, part, mesh.vertices)
    small = np.linalg.norm(high - low, axis=1) < smallest * weld.diagonal(mesh.vertices)
    if not small.any() or small.all():
        return mesh, found
    actions.append(f"dropped {counted(int(small.sum()), 'part')} smaller than {smallest:g} of the whole")
    mesh = mesh.of_triangles(~small[part[mesh.triangles[:, 0]]])
    return mesh, survey(mesh.vertices, mesh.triangles)


def fill_holes(
    mesh: SurfaceMesh, found: Survey, settings: RepairSettings, actions: list[str]
) -> tuple[SurfaceMesh, Survey]:
    """Fill the holes that are small enough, are one loop each, and lie in patches with two sides."""
    if not (found.table.count == 1).any():
        return mesh, found
    _, fan = topology.fans(found.table)
    holes = topology.holes(mesh.vertices, mesh.triangles, found.table, fan)
    low, high = np.full((holes.count, 3), np.inf), np.full((holes.count, 3), -np.inf)
    at = mesh.vertices[mesh.triangles.ravel()[holes.sides]]
    np.minimum.at(low, holes.hole_of, at)
    np.maximum.at(high, holes.hole_of, at)
    across = np.linalg.norm(high - low, axis=1)
    wanted = holes.simple & (holes.edges >= 3) & (holes.edges <= settings.most_hole_edges)
    wanted &= across <= settings.largest_hole * weld.diagonal(mesh.vertices)
    wanted[holes.hole_of[_poor(found)[found.patch[holes.sides // 3]]]] = False
    if not wanted.any():
        return mesh, found
    loops, hole_of = topology.loops(mesh.triangles, holes, wanted)
    if not loops:
        return mesh, found
    fills = fill_loops(mesh.vertices, loops, found.table.ends, mesh.triangles)
    if not len(fills.triangles):
        return mesh, found
    numbers = np.unique(hole_of[~fills.failed])
    largest = numbers[np.argmax(holes.perimeter[numbers])]
    actions.append(
        f"filled {counted(len(numbers), 'hole')} with {counted(len(fills.triangles), 'triangle')}; the longest had "
        f"{holes.edges[largest]} edges and {holes.perimeter[largest]:.3g} m"
    )
    look = mesh.look and mesh.look.with_more(len(fills.triangles))
    triangles = np.concatenate([mesh.triangles, fills.triangles])
    mesh = dataclasses.replace(mesh, triangles=triangles, look=look)
    return mesh, survey(mesh.vertices, mesh.triangles)


def _poor(found: Survey) -> np.ndarray:
    """Patches whose holes are no holes (p,) bool: one-sided ones, and those that enclose nothing by themselves."""
    return found.one_sided | (np.abs(found.enclosure()) < ENCLOSES)


def face_outward(mesh: SurfaceMesh, found: Survey, actions: list[str]) -> SurfaceMesh:
    """Turn closed patches that are inside out, and open ones that see the outside from their backs; no sheets."""
    if found.inverted.any():
        actions.append(f"turned {counted(int(found.inverted.sum()), 'closed patch')} to face outward")
    turn = found.inverted
    if found.kind != "sheet":
        backward = ~found.closed & ~found.one_sided & (found.enclosure() <= -ENCLOSES)
        if backward.any():
            actions.append(f"turned {counted(int(backward.sum()), 'patch')} with holes to face outward")
        turn = turn | backward
    return mesh.turned(turn[found.patch]) if turn.any() else mesh


def cut_non_manifold(mesh: SurfaceMesh, actions: list[str]) -> SurfaceMesh:
    """Cut at edges of more than two triangles and at vertices where parts only touch, by doubling vertices."""
    table = topology.edge_table(mesh.triangles)
    pairs = table.manifold_pairs()
    following = pairs - pairs % 3 + (pairs + 1) % 3
    alike = table.forward[pairs[:, :1]] == table.forward[pairs[:, 1:]]
    swapped = np.stack([following[:, 0], pairs[:, 0]], axis=1)
    other = np.where(alike, pairs[:, 1:], following[:, 1:]), np.where(alike, following[:, 1:], pairs[:, 1:])
    first = np.stack([swapped[:, 1], other[0][:, 0]], axis=1)
    second = np.stack([swapped[:, 0], other[1][:, 0]], axis=1)
    count, fan = arrays.connected_parts(np.concatenate([first, second]), mesh.triangles.size)
    new = count - len(mesh.vertices)
    if new <= 0:
        return mesh
    _, corner = np.unique(fan, return_index=True)
    source = mesh.triangles.ravel()[corner]
    # The first fan of a vertex keeps its number; the others come last.
    order = np.lexsort((corner, source))
    firsts = np.append(True, source[order][1:] != source[order][:-1])
    number = np.empty(count, np.int64)
    number[order[firsts]] = source[order[firsts]]
    number[order[~firsts]] = len(mesh.vertices) + np.arange(new)
    rows = np.concatenate([np.arange(len(mesh.vertices)), source[order[~firsts]]])
    actions.append(f"cut the surface at {counted(new, 'vertex')} where more than two triangles or parts met")
    look = mesh.look and mesh.look.of_vertices(rows)
    triangles = number[fan].reshape(-1, 3).astype(np.int32)
    return dataclasses.replace(mesh, vertices=mesh.vertices[rows], triangles=triangles, look=look)
