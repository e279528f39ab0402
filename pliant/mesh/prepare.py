"""Any mesh becomes a body: read, placed, diagnosed, repaired, made solid, embedded; kept on disk once it is done."""

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
from pliant.mesh import arrays, cache
from pliant.mesh.embed import embed
from pliant.mesh.even import even_out
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import SUFFIX, PreparedBody, read_body, write_body
from pliant.mesh.repair.diagnose import diagnose, unit_warning
from pliant.mesh.repair.repair import classify, repair
from pliant.mesh.repair.settings import RepairSettings
from pliant.mesh.solid.checks import quality_of
from pliant.mesh.solid.tetrahedralize import SolidSettings, tetrahedralize
from pliant.mesh.source import Mesh, as_cover, as_surface, contents, load_mesh, placed, size_factor, way_home
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

ProgressCall = Callable[[str, float], None]

# What a volume mesh is without being made again.
KEPT_AS: dict[type, str] = {TetMesh: "tets", VoxelLattice: "lattice"}
# Smallest angle between two faces of a tet that is simulated as it comes [degrees].
SOUND_ANGLE = 1.0
# Part of a solid's volume that must be filled for its material to be taken as it is, and the least reckoned with.
NOTED_FILL, LEAST_FILL = 0.97, 1e-3
# Raised when preparing makes something else of the same mesh, so that what was kept is not used any more.
RECIPE = 5
# Part of a mean edge by which the skin may lie outside the solid without a word.
STICKS_OUT = 0.5


def prepare(
    source: str | os.PathLike | Mesh,
    settings: PrepareSettings | None = None,
    *,
    skin: str | os.PathLike | SurfaceMesh | None = None,
    device: str = "cpu",
    use_cache: bool = True,
    progress: ProgressCall | None = None,
) -> PreparedBody:
    """Make a body of a mesh.

    Args:
        source: a file of any format in `pliant.mesh.io.FORMATS` or a ``.plb``, the name of a sample mesh, or a mesh.
        settings: see `PrepareSettings`.
        skin: another surface to be carried by the body, in the same place and units as the source.
        device: where distances are measured.
        use_cache: take the result from disk if the same was made before, and keep it there.
        progress: called with the stage and how much of it is done, from 0 to 1.
    """
    settings = settings or PrepareSettings()
    name = _called(source)
    tell = (lambda stage, done: progress(f"{name}{stage}", done)) if progress else (lambda stage, done: None)
    tell("reading", 0.0)
    cover = None if skin is None else as_cover(load_mesh(skin))
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() == SUFFIX:
        return _read_ready(source, settings, cover, device)
    if settings.tets is not None and settings.element_size is not None:
        raise InputError("element_size and tets are given together", "PrepareSettings", "Give one of them")
    mesh = load_mesh(source)
    if not isinstance(mesh, SurfaceMesh):
        corners, what = (mesh.tets, "tet") if isinstance(mesh, TetMesh) else (mesh.cubes, "cube")
        arrays.check_indices(corners, len(mesh.vertices), what, mesh.name or "mesh")
    key = cache.fingerprint(RECIPE, dataclasses.asdict(settings), *contents(mesh), *contents(cover))
    if use_cache and (kept := cache.find(key, SUFFIX)) is not None:
        try:
            body = read_body(kept)
            return dataclasses.replace(body, facts={**body.facts, "cached": True})
        except InputError:
            cache.drop(kept)
    body = _make(mesh, cover, settings, device, tell)
    place = cache.path_for(key, SUFFIX) if use_cache else None
    if place is not None:
        # a full disk costs time on the next run, and nothing else
        with contextlib.suppress(InputError):
            write_body(dataclasses.replace(body, facts={k: v for k, v in body.facts.items() if k != "seconds"}), place)
    return body


def _called(source: str | os.PathLike | Mesh) -> str:
    """The source's name with a colon, to begin a line of progress with."""
    name = (
        source.name if isinstance(source, Mesh) else Path(source).name if isinstance(source, (str, os.PathLike)) else ""
    )
    return f"{name}: " if name else ""


def _make(
    mesh: Mesh, cover: SurfaceMesh | None, settings: PrepareSettings, device: str, tell: ProgressCall
) -> PreparedBody:
    """The body of a mesh as it was read."""
    clock = _Clock()
    factor = size_factor(mesh, settings.size)
    mesh = placed(mesh, settings.up, factor)
    notes = list(mesh.notes)
    shift = way_home(mesh)
    if shift.any():
        mesh = mesh.translated(shift)
        notes.append(f"The mesh lies {np.linalg.norm(shift):.3g} m from the origin and was moved there")
    facts: dict[str, Any] = {"settings": dataclasses.asdict(settings), "scale": factor, "cached": False}
    solid: Mesh
    if _must_be_made(mesh, settings.solid, notes):
        surface = as_surface(mesh)
        with clock("repair"):
            surface = _repaired(surface, settings, notes, facts)
        with clock("solid"):
            solid = _solid(surface, settings, device, tell, notes, facts)
        shown = surface if settings.skin and solid is not surface else None
    else:
        assert not isinstance(mesh, SurfaceMesh)
        solid, shown = _sound(mesh), None
        notes += [note for note in solid.notes if note not in notes]
        if isinstance(solid, TetMesh):
            facts["quality"] = quality_of(solid)
        if settings.size is None and (doubt := unit_warning(float(np.linalg.norm(np.ptp(solid.vertices, axis=0))))):
            notes.append(doubt)
    if cover is not None:
        shown = placed(cover, settings.up, factor).translated(shift)
    embedding = None
    if shown is not None:
        with clock("embed"):
            tell("embedding the surface", 0.0)
            embedding = embed(shown.vertices, solid, device=device)
        _note_outside(embedding.outside, solid, notes)
    facts["counts"] = _counts(solid, shown)
    facts["seconds"] = clock.seconds
    return PreparedBody(mesh.name, solid, shown, embedding, tuple(dict.fromkeys(notes)), facts)


def _must_be_made(mesh: Mesh, solid: str, notes: list[str]) -> bool:
    """Whether elements are made from the mesh's surface; else it is simulated as it is."""
    if solid == "tets" and not isinstance(mesh, TetMesh):
        only = "triangles" if isinstance(mesh, SurfaceMesh) else "cubes"
        raise InputError(f"the mesh has no tets, only {only}", mesh.name or "mesh", "Leave out solid = 'tets'")
    if isinstance(mesh, SurfaceMesh):
        return True
    if solid != "auto" or isinstance(mesh, VoxelLattice):
        return solid not in ("auto", KEPT_AS[type(mesh)])
    smallest, largest = mesh.dihedral_range()
    if smallest >= SOUND_ANGLE and largest <= 180.0 - SOUND_ANGLE:
        return False
    notes.append(
        f"The tets have angles from {smallest:.2g} to {largest:.4g} degrees and would force tiny steps: new ones were "
        "made from their surface. solid = 'tets' keeps them"
    )
    return True


class _Clock:
    """Seconds that each stage took."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[stage] = round(time.perf_counter() - begin, 3)


def _repaired(surface: SurfaceMesh, settings: PrepareSettings, notes: list[str], facts: dict[str, Any]) -> SurfaceMesh:
    """The surface after its repair, or as it is if none is wanted."""
    if not settings.repair:
        found = diagnose(surface)
        facts["before"] = facts["after"] = found.as_dict()
        notes += [f"Not repaired: {problem}" for problem in found.problems()]
        surface.check()
        return surface
    # the openings of what is simulated as it is belong to it: a shirt keeps its neck
    result = repair(surface, RepairSettings(fill_holes=settings.solid != "surface"))
    if result.after.kind == "nothing":
        raise InputError(
            "; ".join(result.before.problems()) or "there are no triangles to use",
            surface.name or "mesh",
            "Give a mesh with at least one whole triangle",
        )
    facts["before"], facts["after"] = result.before.as_dict(), result.after.as_dict()
    # that a sheet encloses nothing is told where it is made a body of
    left = [text for text in result.left if result.after.kind != "sheet" or "encloses no space" not in text]
    facts["actions"], facts["left"] = list(result.actions), left
    notes += [f"Repaired: {action}" for action in result.actions] + left
    if result.before.unit_warning and settings.size is None:
        notes.append(result.before.unit_warning)
    return result.mesh


def _solid(
    surface: SurfaceMesh,
    settings: PrepareSettings,
    device: str,
    tell: ProgressCall,
    notes: list[str],
    facts: dict[str, Any],
) -> Mesh:
    """What is simulated of a surface; the surface itself where it encloses nothing or is asked for."""
    kind = classify(surface)
    facts["kind"] = kind
    method = settings.solid
    if method == "auto":
        method = "surface" if kind == "sheet" else "stuffing"
        if method == "surface":
            notes.append("The surface encloses no space: its triangles are simulated as a sheet")
    facts["method"] = method
    if method == "surface":
        even = even_out(surface)
        notes += [note for note in (*even.notes, *even.check()) if note not in notes]
        return even
    solid = tetrahedralize(
        surface,
        SolidSettings(
            method=method,
            # a cube counts as six tets there
            tets=_wanted_tets(settings, method),
            element_size=settings.element_size,
            enclose=settings.enclose,
            time_limit=settings.time_limit,
        ),
        device=device,
        progress=tell,
    )
    facts["method"], facts["quality"] = solid.method, solid.quality
    enclosed, made = facts["after"]["volume"], _volume(solid.mesh)
    if enclosed and 0.0 < enclosed < NOTED_FILL * made:
        facts["fill"] = max(enclosed / made, LEAST_FILL)
        notes.append(
            f"the solid has {made / enclosed:.2f} times the volume of the surface: its density and stiffness are taken "
            f"as {facts['fill']:.2f} of the material's, so that it weighs what the surface encloses"
        )
    notes += solid.notes
    return solid.mesh


def _wanted_tets(settings: PrepareSettings, method: str) -> int | None:
    """How many tets to ask for: of a lattice the cubes are counted, and each is as good as six."""
    if settings.tets is None or method != "lattice":
        return settings.tets
    return min(6 * settings.tets, 10_000_000)


def _sound(mesh: TetMesh | VoxelLattice) -> TetMesh | VoxelLattice:
    """A volume mesh as it is, its tets turned and its unused vertices left out."""
    if isinstance(mesh, TetMesh):
        mesh, _ = mesh.drop_unused().oriented()
    return dataclasses.replace(mesh, notes=(*mesh.notes, *mesh.check()))


def _note_outside(outside: np.ndarray, solid: Mesh, notes: list[str]) -> None:
    """Tell of skin that sticks out of the solid farther than its elements are coarse."""
    ends = solid.vertices[solid.edges()]
    edge = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())
    count = int((outside > STICKS_OUT * edge).sum())
    if count:
        notes.append(
            f"{count:,} of {len(outside):,} vertices of the skin stick out of the solid by more than half an element, "
            f"at most {outside.max():.3g} m: they move with the nearest element. More tets, or enclose, takes them in"
        )


def _volume(solid: TetMesh | VoxelLattice) -> float:
    """Volume of all elements [m^3]."""
    return float((solid.volumes() if isinstance(solid, TetMesh) else solid.cube_volumes()).sum())


def _counts(solid: Mesh, shown: SurfaceMesh | None) -> dict[str, int]:
    counts = {"vertices": len(solid.vertices)}
    if isinstance(solid, TetMesh):
        counts["tets"] = len(solid.tets)
    elif isinstance(solid, VoxelLattice):
        counts["cubes"] = len(solid.cubes)
    else:
        counts["triangles"] = len(solid.triangles)
    if shown is not None:
        counts |= {"skin_vertices": len(shown.vertices), "skin_triangles": len(shown.triangles)}
    return counts


def _read_ready(
    path: str | os.PathLike, settings: PrepareSettings, cover: SurfaceMesh | None, device: str
) -> PreparedBody:
    """A body from its file: only its size and skin can still be chosen."""
    changed = [
        field.name
        for field in dataclasses.fields(settings)
        if field.name not in ("size", "skin", "time_limit") and getattr(settings, field.name) != field.default
    ]
    if changed:
        raise InputError(
            f"is prepared already, so that {' and '.join(repr(name) for name in changed)} cannot be set any more",
            str(path),
            "Prepare the mesh it was made of again",
        )
    body = read_body(path)
    if isinstance(body.solid, LayeredMesh):
        if cover is not None:
            raise InputError("a layered body carries its own surface only", str(path), "Leave the other skin out")
        return _layer_resized(body, settings)
    if cover is not None:
        embedding = embed(cover.vertices, body.solid, device=device)
        notes = list(body.notes)
        _note_outside(embedding.outside, body.solid, notes)
        body = dataclasses.replace(body, skin=cover, embedding=embedding, notes=tuple(notes))
    elif not settings.skin:
        body = dataclasses.replace(body, skin=None, embedding=None)
    body = _resized(body, settings.size)
    assert not isinstance(body.solid, LayeredMesh)
    return dataclasses.replace(body, facts={**body.facts, "counts": _counts(body.solid, body.skin)})


def _layer_resized(body: PreparedBody, settings: PrepareSettings) -> PreparedBody:
    """A layered body with another longest side, or without its skin."""
    solid = body.solid
    assert isinstance(solid, LayeredMesh)
    if settings.size is not None:
        solid = solid.scaled(size_factor(body.skin or solid.surface_mesh(), settings.size))
    if not settings.skin:
        solid = dataclasses.replace(solid, skin=None, embedding=None)
    return dataclasses.replace(body, solid=solid, skin=solid.skin, embedding=solid.embedding)


def _resized(body: PreparedBody, size: float | None) -> PreparedBody:
    """A prepared body with another longest side."""
    if size is None:
        return body
    assert not isinstance(body.solid, LayeredMesh)
    factor = size_factor(body.skin or body.solid, size)
    embedding = body.embedding
    if embedding is not None:
        height = None if embedding.height is None else embedding.height * factor
        embedding = dataclasses.replace(embedding, outside=embedding.outside * factor, height=height)
    skin = None if body.skin is None else body.skin.scaled(factor)
    return dataclasses.replace(body, solid=body.solid.scaled(factor), skin=skin, embedding=embedding)
