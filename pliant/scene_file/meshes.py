"""The mesh of a body in a scene file: a shape made by formula, or any mesh file made into a body."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh.assets import asset_names
from pliant.mesh.embed import Embedding, embed
from pliant.mesh.io import read_mesh
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layer_settings import LayerSettings
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.points import PointCloud
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.rods import RodMesh
from pliant.mesh.shape_arguments import FILES
from pliant.mesh.source import as_cover, load_mesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.scene_file.form import Source, shorten_path
from pliant.scene_file.layout import shape_functions
from pliant.scene_file.lines import KeyPath

PREPARE_KEYS = tuple(field.name for field in dataclasses.fields(PrepareSettings))
LAYER_KEYS = tuple(field.name for field in dataclasses.fields(LayerSettings))
MESH_KEYS = ("shape", "file", "file2", "points", "rods", "scale", *PREPARE_KEYS, *LAYER_KEYS)
LAYERED = "layered"
"""The method whose bodies are made of a closed surface."""
ProgressCall = Callable[[str, float], None]
At = Callable[[KeyPath], contextlib.AbstractContextManager[None]]


@dataclasses.dataclass(frozen=True)
class BodyMesh:
    """What is simulated, and the surface that is seen with its embedding; None where it follows clusters."""

    mesh: TetMesh | SurfaceMesh | VoxelLattice | PointCloud | RodMesh | LayeredMesh
    skin: tuple[SurfaceMesh, Embedding | None] | None = None
    uneven: bool = False
    fill: float = 1.0


MeshStore = dict[str, BodyMesh]


def body_mesh(
    table: dict[str, Any],
    path: KeyPath,
    source: Source,
    at: At,
    progress: ProgressCall | None = None,
    kept: MeshStore | None = None,
) -> BodyMesh:
    """The mesh of a [[body]] table.

    Args:
        table: the checked table.
        path: where it stands in the file.
        source: the scene file.
        at: gives errors of the core their place in the file.
        progress: called with the stage of the work on a mesh and how much of it is done.
        kept: meshes of earlier calls by what they are made of; taken from there, and added to it.
    """
    if kept is None:
        return _make_mesh(table, path, source, at, progress)
    key = _mesh_key(table, Path(source.path).parent)
    if key not in kept:
        kept[key] = _make_mesh(table, path, source, at, progress)
    return kept[key]


def _mesh_key(table: dict[str, Any], folder: Path) -> str:
    """All that the mesh of a [[body]] table is made of: its keys, and the stamps of the files it is read from."""
    keys = {key: table[key] for key in MESH_KEYS if key in table}
    named = [table.get("file"), table.get("file2"), table.get("skin")]
    named += [table.get("shape", {}).get(key) for key in FILES]
    for given in (table.get("points"), table.get("rods")):
        named.append(given.get("file") if isinstance(given, dict) else given)
    stamps: list[tuple[str, int, int]] = []
    for name in named:
        if not isinstance(name, str):
            continue
        file = folder / name
        # files that are read besides, such as .ele beside .node, have the same stem
        stem = file.name.split(".")[0]
        with contextlib.suppress(OSError, ValueError):
            for entry in os.scandir(file.parent):
                if entry.name.split(".")[0] == stem and entry.is_file():
                    about = entry.stat()
                    stamps.append((entry.path, about.st_mtime_ns, about.st_size))
    return repr((keys, table.get("method") == LAYERED, sorted(stamps)))


def _make_mesh(table: dict[str, Any], path: KeyPath, source: Source, at: At, progress: ProgressCall | None) -> BodyMesh:
    """The mesh of a [[body]] table, as in `body_mesh`."""
    settings = {key: table[key] for key in PREPARE_KEYS if key in table}
    layered = table.get("method") == LAYERED
    if not layered:
        _refuse((key for key in LAYER_KEYS if key in table), "a body whose method is not 'layered'", path, source)
    if "points" in table:
        made = _points(table, settings, path, source, at)
        settings = {}
    elif "rods" in table:
        made = _rods(table, settings, path, source, at)
        settings = {}
    elif "shape" in table:
        values = dict(table["shape"])
        for key in FILES:
            if key in values:
                values[key] = _file(values[key], (*path, "shape", key), source)
        with at((*path, "shape")):
            if "file2" in table:
                raise InputError("'file2' is given without 'file'", "", "Leave out 'file2' beside a shape")
            found: Any = shape_functions()[values.pop("kind")](**values)
        made = BodyMesh(found)
        if isinstance(found, RodMesh):
            _refuse(settings, "rods", path, source)
    else:
        found = _from_file(table, path, source, at)
    if layered and ("shape" in table or "file" in table):
        return _layered(found, table, settings, path, source, at, progress)
    if settings or "file" in table:
        cover = None
        if isinstance(settings.get("skin"), str):
            cover = _file(settings.pop("skin"), (*path, "skin"), source)
            settings["skin"] = False
        # imported where it is used: a scene of shapes alone starts sooner
        from pliant.mesh.prepare import prepare

        with at((*path, "file") if "file" in table else path):
            body = prepare(found, PrepareSettings(**settings), skin=cover, progress=progress)
        made = BodyMesh(dataclasses.replace(body.solid, notes=body.notes), body.carried, body.uneven, body.fill)
    if "scale" in table:
        with at((*path, "scale")):
            made = _scaled(made, table["scale"])
    return made


def _layered(
    found: Any,
    table: dict[str, Any],
    settings: dict[str, Any],
    path: KeyPath,
    source: Source,
    at: At,
    progress: ProgressCall | None,
) -> BodyMesh:
    """A core under a soft layer, made of a closed surface."""
    from pliant.mesh.prepare_layered import prepare_layered

    if isinstance(settings.get("skin"), str):
        raise source.error((*path, "skin"), "a layered body carries its own surface only", "Leave it out")
    if "scale" in table:
        raise source.error((*path, "scale"), "a layered body is not scaled", "Give its 'size', or a larger shape")
    layer = LayerSettings(**{key: table[key] for key in LAYER_KEYS if key in table})
    with at((*path, "file") if "file" in table else path):
        body = prepare_layered(found, layer, PrepareSettings(**settings), progress=progress)
    return BodyMesh(dataclasses.replace(body.solid, notes=body.notes), body.carried)


def _scaled(made: BodyMesh, scale: Any) -> BodyMesh:
    """Mesh and skin scaled; weights stay, but a height above triangles does not when the scale differs by axis."""
    mesh = made.mesh.scaled(scale)
    if made.skin is None:
        return dataclasses.replace(made, mesh=mesh)
    skin, embedding = made.skin[0].scaled(scale), made.skin[1]
    if (
        embedding is not None
        and embedding.height is not None
        and not isinstance(mesh, (PointCloud, RodMesh, LayeredMesh))
    ):
        embedding = embed(skin.vertices, mesh)
    return dataclasses.replace(made, mesh=mesh, skin=(skin, embedding))


def _points(table: dict[str, Any], settings: dict[str, Any], path: KeyPath, source: Source, at: At) -> BodyMesh:
    """Loose points, which are taken as they are, and a skin that follows their clusters."""
    cover = settings.pop("skin", True)
    _refuse([key for key in ("file2", *settings) if key in table], "loose points", path, source)
    given = table["points"]
    given = given if isinstance(given, dict) else {"file" if isinstance(given, str) else "at": given}
    measures = {key: given[key] for key in ("volume", "radius") if key in given}
    with at((*path, "points")):
        if "file" in given:
            cloud = PointCloud.load(Path(source.path).parent / given["file"], **measures)
        else:
            cloud = PointCloud(np.array(given["at"], float), **measures)
    if not isinstance(cover, str):
        return BodyMesh(cloud)
    name = _file(cover, (*path, "skin"), source)
    with at((*path, "skin")):
        return BodyMesh(cloud, (as_cover(load_mesh(name)), None))


def _rods(table: dict[str, Any], settings: dict[str, Any], path: KeyPath, source: Source, at: At) -> BodyMesh:
    """Ropes, hair or trees from a file, which are taken as they are."""
    _refuse([key for key in ("file2", *settings) if key in table], "rods", path, source)
    given = table["rods"]
    given = given if isinstance(given, dict) else {"file": given}
    with at((*path, "rods")):
        measures = {key: given[key] for key in ("radius", "seen_radius") if key in given}
        return BodyMesh(RodMesh.load(Path(source.path).parent / given["file"], **measures))


def _refuse(keys: Iterable[str], what: str, path: KeyPath, source: Source) -> None:
    """Raise for keys that only a mesh that is prepared can have."""
    for key in keys:
        raise source.error((*path, key), f"'{key}' means nothing to {what}", "Leave it out, or give a mesh")


def _from_file(table: dict[str, Any], path: KeyPath, source: Source, at: At) -> Any:
    """A mesh that is read, or what `prepare` can read itself: a prepared body or a sample mesh's name."""
    files = [_file(table[key], (*path, key), source) for key in ("file", "file2") if key in table]
    if len(files) == 1:
        return files[0]
    with at((*path, "file")):
        return read_mesh(*files)


def _file(name: str, path: KeyPath, source: Source) -> str:
    """The file as seen from the scene file, or a sample mesh's name."""
    file = Path(source.path).parent / name
    try:
        if file.is_file():
            return str(file)
    except (OSError, ValueError):
        pass
    if name in asset_names():
        return name
    raise source.error(
        path,
        f"there is no file {shorten_path(str(file))!r}",
        f"Give a path as seen from the scene file, or a sample mesh: {', '.join(asset_names())}",
    )
