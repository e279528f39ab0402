"""PreparedBody: a mesh made ready to be simulated, and its file (``.plb``).

The file is a ZIP archive of ``.npy`` arrays, one of them ``about.npy`` with UTF-8 JSON; nothing in it is pickled.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.mesh import arrays as mesh_arrays
from pliant.mesh.embed import Embedding
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

SUFFIX = ".plb"
VERSION = 1
# A fixed date, so that the same body is the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)
ELEMENTS: dict[str, tuple[Any, str]] = {
    "tets": (TetMesh, "tets"),
    "lattice": (VoxelLattice, "cubes"),
    "surface": (SurfaceMesh, "triangles"),
    "layered": (LayeredMesh, "tets"),
}
LAYER_ARRAYS = ("feet", "foot", "triangles", "core_vertices", "core_triangles", "texel", "node_of_texel", "stiffness",
                "plasticity", "chart_of")  # fmt: skip
"""What a layered solid has besides its vertices, the nodes, and its elements, the tets."""
REMEDY = "Give a file written by 'pliant prep', as it was written; or prepare the mesh again"


@dataclasses.dataclass(frozen=True, eq=False)
class PreparedBody:
    """What is simulated, and what is seen of it.

    Attributes:
        name: of the mesh it was made from.
        solid: what is simulated.
        skin: the surface that rides on it; None where the solid's own surface is seen.
        embedding: the skin's vertices in terms of the solid's.
        notes: what was done on the way, for the user.
        facts: JSON-able: diagnosis before and after the repair, quality, counts, settings, times.
    """

    name: str
    solid: TetMesh | VoxelLattice | SurfaceMesh | LayeredMesh
    skin: SurfaceMesh | None = None
    embedding: Embedding | None = None
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def carried(self) -> tuple[SurfaceMesh, Embedding] | None:
        """The skin and its embedding, if there is one."""
        return None if self.skin is None or self.embedding is None else (self.skin, self.embedding)

    @property
    def fill(self) -> float:
        """Part of the solid's volume that the surface encloses, at most 1; 1 where it is not known."""
        return float(self.facts.get("fill", 1.0))

    @property
    def uneven(self) -> bool:
        """Whether its elements come from a surface, so that some may be much smaller than others."""
        return self.kind in ("tets", "surface") and "method" in self.facts

    @property
    def kind(self) -> str:
        """'tets', 'lattice', 'surface' or 'layered'."""
        return next(kind for kind, (cls, _) in ELEMENTS.items() if isinstance(self.solid, cls))


def write_body(body: PreparedBody, path: str | os.PathLike) -> Path:
    """Write a prepared body to a ``.plb`` file, at once and whole."""
    path = Path(path)
    if path.suffix.lower() != SUFFIX:
        raise InputError(f"the suffix {path.suffix!r} is not that of a prepared body", str(path), f"Use {SUFFIX}")
    arrays: dict[str, np.ndarray] = {
        "solid_vertices": body.solid.vertices,
        "solid_elements": getattr(body.solid, ELEMENTS[body.kind][1]),
    }
    if isinstance(body.solid, VoxelLattice):
        arrays["solid_cells"] = body.solid.cells
    if isinstance(body.solid, LayeredMesh):
        arrays |= {f"solid_{name}": getattr(body.solid, name) for name in LAYER_ARRAYS}
    about: dict[str, Any] = {
        "pliant_body": VERSION,
        "name": body.name,
        "kind": body.kind,
        "solid_name": body.solid.name,
        "notes": list(body.notes),
        "facts": body.facts,
        "skin": None,
    }
    if isinstance(body.solid, SurfaceMesh):
        about["solid_look"] = _pack_look(body.solid.look, "solid_", arrays)
    if body.skin is not None:
        assert body.embedding is not None
        arrays |= {
            "skin_vertices": body.skin.vertices,
            "skin_triangles": body.skin.triangles,
            **{f"embedding_{name}": array for name, array in body.embedding.arrays().items()},
        }
        about["skin"] = {"name": body.skin.name, "look": _pack_look(body.skin.look, "skin_", arrays)}
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with replace_file(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in sorted(arrays):
            data = io.BytesIO()
            np.lib.format.write_array(data, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data.getvalue(), compresslevel=1)
    return path


def read_body(path: str | os.PathLike) -> PreparedBody:
    """Read a prepared body; raises `InputError` for a file that is none, is damaged or does not fit together."""
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except FileNotFoundError:
        raise InputError("there is no such file", str(path), "Check the name") from None
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror or error})", str(path), "Check the name and permissions"
        ) from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        ValueError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        MemoryError,
    ) as error:
        raise InputError(f"is not a prepared body, or is damaged ({error})", str(path), REMEDY) from error
    try:
        about = json.loads(arrays["about"].tobytes())
        if about["pliant_body"] != VERSION:
            raise InputError(
                f"has version {about['pliant_body']!r} of the format", str(path), f"Version {VERSION} is read"
            )
        return _unpack(about, arrays)
    except InputError as error:
        raise InputError(error.what, str(path), error.remedy or REMEDY) from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(f"lacks a part or holds a wrong one ({error!r})", str(path), REMEDY) from error


def _unpack(about: dict[str, Any], arrays: dict[str, np.ndarray]) -> PreparedBody:
    vertices, elements = arrays["solid_vertices"], arrays["solid_elements"]
    name = str(about["solid_name"])
    solid: TetMesh | VoxelLattice | SurfaceMesh | LayeredMesh
    if about["kind"] == "tets":
        solid = TetMesh(vertices, elements, name)
    elif about["kind"] == "lattice":
        solid = VoxelLattice(vertices, elements, arrays["solid_cells"], name)
    elif about["kind"] == "surface":
        solid = SurfaceMesh(vertices, elements, name, (), _unpack_look(about["solid_look"], "solid_", arrays))
    elif about["kind"] == "layered":
        named: dict[str, Any] = {key: arrays[f"solid_{key}"] for key in LAYER_ARRAYS}
        solid = LayeredMesh(nodes=vertices, tets=elements, texture=len(named["node_of_texel"]), name=name, **named)
    else:
        raise ValueError(f"kind {about['kind']!r}")
    solid.check(name)
    skin = embedding = None
    if about["skin"] is not None:
        look = _unpack_look(about["skin"]["look"], "skin_", arrays)
        skin = SurfaceMesh(arrays["skin_vertices"], arrays["skin_triangles"], str(about["skin"]["name"]), (), look)
        prefix = "embedding_"
        embedding = Embedding.from_arrays(
            {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
        )
        embedding.check(len(solid.vertices))
        if len(embedding.hosts) != len(skin.vertices) or not len(skin.triangles):
            raise ValueError("the skin does not fit its embedding")
        mesh_arrays.check_finite(skin.vertices, "skin")
        mesh_arrays.check_indices(skin.triangles, len(skin.vertices), "triangle", "skin")
    notes = tuple(str(note) for note in about["notes"])
    if isinstance(solid, LayeredMesh):
        solid = dataclasses.replace(solid, notes=notes, skin=skin, embedding=embedding)
    return PreparedBody(str(about["name"]), solid, skin, embedding, notes, dict(about["facts"]))


def _pack_look(look: Look | None, prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """The look's texts and numbers as JSON; its arrays go to `arrays`."""
    if look is None:
        return None
    for name in ("uv", "paint_of", "part_of", "vertex_colors"):
        array = getattr(look, name)
        if array is not None:
            arrays[prefix + name] = array
    return {"parts": list(look.parts), "paints": [dataclasses.asdict(paint) for paint in look.paints]}


def _unpack_look(about: dict[str, Any] | None, prefix: str, arrays: dict[str, np.ndarray]) -> Look | None:
    if about is None:
        return None
    paints = tuple(Paint(str(p["name"]), tuple(p["color"]), str(p["texture"])) for p in about["paints"])
    found = {name: arrays.get(prefix + name) for name in ("uv", "paint_of", "part_of", "vertex_colors")}
    return Look(paints=paints, parts=tuple(str(part) for part in about["parts"]), **found)
