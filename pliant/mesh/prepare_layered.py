"""Any closed surface becomes a layered body: repaired, cut into charts, sampled at texels, given feet and a core."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import cache
from pliant.mesh.atlas import make_atlas
from pliant.mesh.closest import closest_points
from pliant.mesh.embed import embed
from pliant.mesh.layer_core import check_core, coarse_core, outside_of
from pliant.mesh.layer_feet import Net, depths, place_feet, settled, ways_inward
from pliant.mesh.layer_settings import LayerSettings
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import SUFFIX, PreparedBody, read_body, write_body
from pliant.mesh.repair.diagnose import diagnose
from pliant.mesh.repair.repair import repair
from pliant.mesh.repair.settings import RepairSettings
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.source import Mesh, as_surface, contents, load_mesh, placed, size_factor, way_home
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.texel_cells import split_fans
from pliant.mesh.texel_nodes import texel_nodes

ProgressCall = Callable[[str, float], None]

RECIPE = 1
"""Raised when preparing makes something else of the same surface, so that what was kept is not used any more."""
PART = 0.2
"""Thickness of the layer if none is given, in radii of a ball with the same ratio of volume to area."""
THICKEST = 1.0
"""Largest thickness, in longest sides of the body."""
MEANINGLESS = ("solid", "tets", "element_size", "enclose")
"""Settings of other bodies that a layered one has no use for."""


def prepare_layered(
    source: str | os.PathLike | Mesh,
    settings: LayerSettings | None = None,
    general: PrepareSettings | None = None,
    *,
    core: str | os.PathLike | SurfaceMesh | None = None,
    stiffness: Any = None,
    plasticity: Any = None,
    device: str = "cpu",
    use_cache: bool = True,
    progress: ProgressCall | None = None,
) -> PreparedBody:
    """Make a layered body of a closed surface.

    Args:
        source: a mesh file, the name of a sample mesh, or a mesh; what is open is closed by the repair where it can be.
            A ``.plb`` of a layered body is read as it is.
        settings: see `LayerSettings`.
        general: size, axis, repair and skin, see `PrepareSettings`.
        core: a closed surface inside, in the same place and units as the source; made if not given.
        stiffness: factors on Young's modulus, see `layer_material.factors`; 1 if not given.
        plasticity: factors on the yield strain, likewise.
        device: where distances are measured.
        use_cache: take the result from disk if the same was made before, and keep it there.
        progress: called with the stage and how much of it is done, from 0 to 1.

    Returns:
        a body whose ``solid`` is a `LayeredMesh`.
    """
    settings, general = settings or LayerSettings(), general or PrepareSettings()
    told = progress or (lambda stage, done: None)
    for field in dataclasses.fields(general):
        if field.name in MEANINGLESS and getattr(general, field.name) != field.default:
            raise InputError(
                f"{field.name!r} means nothing to a layered body", "prepare_layered", "Leave it out; set the texture"
            )
    told("reading", 0.0)
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() == SUFFIX:
        body = read_body(source)
        if not isinstance(body.solid, LayeredMesh):
            raise InputError("is no layered body", str(source), "Prepare the mesh it was made of with --layered")
    else:
        body = _found(source, settings, general, core, device, use_cache, told)
    assert isinstance(body.solid, LayeredMesh)
    if stiffness is None and settings.upper_stiffness != 1.0:
        middle = 0.5 * float(body.solid.nodes[:, 1].min() + body.solid.nodes[:, 1].max())
        stiffness = lambda places: np.where(places[:, 1] > middle, settings.upper_stiffness, 1.0)
    if stiffness is None and plasticity is None:
        return body
    return dataclasses.replace(body, solid=body.solid.with_material(stiffness, plasticity))


def _found(
    source: str | os.PathLike | Mesh,
    settings: LayerSettings,
    general: PrepareSettings,
    core: str | os.PathLike | SurfaceMesh | None,
    device: str,
    use_cache: bool,
    told: ProgressCall,
) -> PreparedBody:
    """The body from disk, or made."""
    mesh = load_mesh(source)
    given = None if core is None else as_surface(load_mesh(core))
    options = [dataclasses.asdict(settings), dataclasses.asdict(general)]
    key = cache.fingerprint("layered", RECIPE, *options, *contents(mesh), *contents(given))
    if use_cache and (kept := cache.find(key, SUFFIX)) is not None:
        try:
            body = read_body(kept)
            return dataclasses.replace(body, facts={**body.facts, "cached": True})
        except InputError:
            cache.drop(kept)
    body = _made(mesh, given, settings, general, device, told)
    place = cache.path_for(key, SUFFIX) if use_cache else None
    if place is not None:
        # a full disk costs time on the next run, and nothing else
        with contextlib.suppress(InputError):
            write_body(dataclasses.replace(body, facts={k: v for k, v in body.facts.items() if k != "seconds"}), place)
    return body


def _made(
    mesh: Mesh,
    core: SurfaceMesh | None,
    settings: LayerSettings,
    general: PrepareSettings,
    device: str,
    told: ProgressCall,
) -> PreparedBody:
    seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(name: str, done: float) -> Iterator[None]:
        told(name, done)
        begin = time.perf_counter()
        yield
        seconds[name] = round(time.perf_counter() - begin, 3)

    factor = size_factor(mesh, general.size)
    surface = as_surface(placed(mesh, general.up, factor))
    shift = way_home(surface)
    surface = surface.translated(shift)
    notes = list(surface.notes)
    if shift.any():
        notes.append(f"The mesh lies {np.linalg.norm(shift):.3g} m from the origin and was moved there")
    facts: dict[str, Any] = {
        "settings": {**dataclasses.asdict(settings), **dataclasses.asdict(general)},
        "scale": factor,
        "cached": False,
        "method": "layered",
    }
    with stage("repairing", 0.0):
        surface = _closed(surface, general.repair, notes, facts)
    thickness = _thickness(settings, surface)
    with stage("cutting into charts", 0.1):
        atlas = make_atlas(surface, settings.texture, settings.atlas)
    with stage("sampling at texels", 0.2):
        found = texel_nodes(surface, atlas, device)
        net = Net(found.triangles, len(found.nodes))
        nodes, moved = settled(found.nodes, net)
        triangles = found.triangles
    with stage("placing feet", 0.5):
        distance = SignedDistance(SurfaceMesh(nodes, triangles, surface.name), device)
        if core is None:
            ways = ways_inward(nodes, net, thickness)
            reach = ways * depths(nodes, ways, net, thickness, distance)[:, None]
        else:
            core = placed(core, general.up, factor).translated(shift)
            check_core(core, distance, core.name or "core")
            hosts, weights = closest_points(nodes, core)
            reach = np.einsum("nk,nkd->nd", weights, core.vertices[hosts]) - nodes
        feet = place_feet(nodes, triangles, reach, distance)
        nodes = feet.nodes
        if feet.moved:
            distance = SignedDistance(SurfaceMesh(nodes, triangles, surface.name), device)
    with stage("making the core", 0.7):
        if core is None:
            wanted = settings.core_triangles
            core_vertices, core_triangles = coarse_core(feet.feet[feet.foot], triangles, distance, wanted, device)
        else:
            core_vertices, core_triangles = core.vertices, core.triangles
    skin = embedding = None
    if general.skin:
        with stage("embedding the surface", 0.9):
            skin = dataclasses.replace(surface, notes=())
            embedding = embed(surface.vertices, SurfaceMesh(nodes, triangles), device=device)
    layered = LayeredMesh(
        nodes, feet.feet, feet.foot, triangles, feet.tets, core_vertices, core_triangles, settings.texture,
        found.texel, found.node_of_texel, chart_of=found.chart_of, name=surface.name, skin=skin, embedding=embedding,
    )  # fmt: skip
    depth = layered.thickness()
    facts["layer"] = {
        **found.facts,
        "atlas": atlas.kind,
        "thickness": thickness,
        "thinnest": float(depth.min()),
        "thin_nodes": int((depth < 0.5 * thickness).sum()),
        "settled_nodes": moved + feet.moved,
        "drawn_feet": feet.drawn,
        "dropped_tets": feet.dropped,
        "volume": layered.surface_mesh().volume(),
        "layer_volume": float(layered.volumes().sum()),
        "core_volume": layered.core_mesh().volume(),
        "core_outside": int(outside_of(core_vertices, core_triangles, distance).sum()),
    }
    notes += _notes(facts["layer"], len(nodes))
    layered = dataclasses.replace(layered, notes=tuple(dict.fromkeys([*notes, *layered.check()])))
    facts["counts"] = layer_counts(layered)
    facts["seconds"] = seconds
    return PreparedBody(surface.name, layered, skin, embedding, layered.notes, facts)


def layer_counts(mesh: LayeredMesh) -> dict[str, int]:
    """How much there is of everything."""
    counts = {
        "nodes": len(mesh.nodes),
        "triangles": len(mesh.triangles),
        "tets": len(mesh.tets),
        "feet": len(mesh.feet),
        "core_triangles": len(mesh.core_triangles),
    }
    if mesh.skin is not None:
        counts |= {"skin_vertices": len(mesh.skin.vertices), "skin_triangles": len(mesh.skin.triangles)}
    return counts


def _closed(surface: SurfaceMesh, repairs: bool, notes: list[str], facts: dict[str, Any]) -> SurfaceMesh:
    """The surface, repaired if wanted, closed and turned outward; raises where it is not."""
    where = surface.name or "mesh"
    if repairs:
        result = repair(surface, RepairSettings())
        facts["before"], facts["after"] = result.before.as_dict(), result.after.as_dict()
        facts["actions"], facts["left"] = list(result.actions), list(result.left)
        notes += [f"Repaired: {action}" for action in result.actions] + list(result.left)
        surface = result.mesh
    else:
        found = diagnose(surface)
        facts["before"] = facts["after"] = found.as_dict()
        surface.check()
    surface = surface.drop_unused()
    if not len(surface.triangles) or not surface.is_closed():
        raise InputError(
            "is no closed surface" + (", even after its repair" if repairs else ""),
            where,
            "A layered body needs one: close its holes, or prepare it as a solid and take that one's surface",
        )
    surface, split = split_fans(surface)
    if split:
        notes.append(f"{split} vertices at which parts only touch were split")
    volume = surface.volume()
    if volume < 0.0:
        notes.append("The surface was inside out and was turned")
        surface = surface.turned(np.ones(len(surface.triangles), bool))
    elif volume == 0.0:
        raise InputError("encloses nothing", where, "Give a closed surface with an inside")
    return surface


def _thickness(settings: LayerSettings, surface: SurfaceMesh) -> float:
    """The layer's thickness [m]."""
    if settings.layer_thickness is None:
        return PART * 3.0 * surface.volume() / float(surface.areas().sum())
    longest = float(np.ptp(surface.vertices, axis=0).max())
    if settings.layer_thickness > THICKEST * longest:
        raise InputError(
            f"{settings.layer_thickness:g} m is more than the body is long ({longest:.3g} m)",
            "layer_thickness",
            "Give a thinner layer",
        )
    return settings.layer_thickness


def _notes(facts: dict[str, Any], count: int) -> list[str]:
    """What the user should know of the layer."""
    notes = []
    if facts["overlapping_texels"]:
        notes.append(
            f"{facts['overlapping_texels']:,} texels lie in two places of the surface at once: the second ones have "
            "nodes in free texels"
        )
    if facts["settled_nodes"]:
        notes.append(f"{facts['settled_nodes']:,} nodes stood on folds finer than a texel and were moved off them")
    if facts["thin_nodes"]:
        notes.append(
            f"The layer is thinner than half of {facts['thickness']:.3g} m at {facts['thin_nodes']:,} of {count:,} "
            f"nodes, at least {facts['thinnest']:.3g} m: the body is thin or sharp there"
        )
    if facts["core_outside"]:
        notes.append(f"{facts['core_outside']:,} triangles of the core reach out of the body, where it is thinnest")
    if facts["dropped_tets"]:
        notes.append(f"{facts['dropped_tets']:,} tets that stayed flat or inside out were left out")
    return notes
