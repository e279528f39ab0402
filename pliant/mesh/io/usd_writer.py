"""USD written: one prim with the mesh, subsets for parts and paints, and preview materials."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from pliant.files import replace_file
from pliant.mesh.io.screen_color import to_linear
from pliant.mesh.io.usd import library
from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh


def write(mesh: SurfaceMesh | TetMesh, path: Path) -> None:
    """Write a scene in metres, y up."""
    pxr = library()
    stage = pxr.Usd.Stage.CreateInMemory()
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.y)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    root = pxr.UsdGeom.Xform.Define(stage, "/model")
    stage.SetDefaultPrim(root.GetPrim())
    name = mesh.name or "mesh"
    place = f"/model/{pxr.Tf.MakeValidIdentifier(name)}"
    points = pxr.Vt.Vec3fArray.FromNumpy(mesh.vertices.astype(np.float32))
    if isinstance(mesh, TetMesh):
        solid = pxr.UsdGeom.TetMesh.Define(stage, place)
        tets, _ = mesh.oriented()
        solid.CreatePointsAttr(points)
        solid.CreateTetVertexIndicesAttr(pxr.Vt.Vec4iArray.FromNumpy(tets.tets))
        solid.CreateSurfaceFaceVertexIndicesAttr(pxr.Vt.Vec3iArray.FromNumpy(tets.surface()))
        geometry = solid
    else:
        geometry = define_surface(pxr, stage, place, mesh, points)
    geometry.GetPrim().SetDisplayName(name)
    extent = np.stack([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)]).astype(np.float32)
    geometry.CreateExtentAttr(pxr.Vt.Vec3fArray.FromNumpy(extent))
    _save(stage, path)


def _save(stage: Any, path: Path) -> None:
    """Put the scene under its name: USD takes the format from the suffix, so a temporary name has to have it."""
    with tempfile.TemporaryDirectory() as folder:
        kind = ".usda" if path.suffix.lower() == ".usda" else ".usdc"
        temporary = Path(folder) / f"scene{kind}"
        stage.GetRootLayer().Export(str(temporary))
        data = temporary.read_bytes()
    with replace_file(path) as file:
        file.write(data)


def define_surface(
    pxr: Any, stage: Any, place: str, surface: SurfaceMesh, points: Any, materials: str = "/model/materials"
) -> Any:
    """The prim of a surface at ``place``, with its look; its paints become materials under ``materials``."""
    look = surface.look or Look()
    count = len(surface.triangles)
    mesh = pxr.UsdGeom.Mesh.Define(stage, place)
    mesh.CreatePointsAttr(points)
    mesh.CreateFaceVertexCountsAttr(pxr.Vt.IntArray.FromNumpy(np.full(count, 3, dtype=np.int32)))
    mesh.CreateFaceVertexIndicesAttr(pxr.Vt.IntArray.FromNumpy(surface.triangles.ravel()))
    mesh.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)
    primvars = pxr.UsdGeom.PrimvarsAPI(mesh)
    types, tokens = pxr.Sdf.ValueTypeNames, pxr.UsdGeom.Tokens
    if look.uv is not None:
        table = np.ascontiguousarray(look.uv.reshape(-1, 2), dtype=np.float32)
        primvar = primvars.CreatePrimvar("st", types.TexCoord2fArray, tokens.faceVarying)
        primvar.Set(pxr.Vt.Vec2fArray.FromNumpy(table))
    if look.vertex_colors is not None:
        linear = to_linear(look.vertex_colors[:, :3].astype(np.float64)).astype(np.float32)
        primvars.CreatePrimvar("displayColor", types.Color3fArray, tokens.vertex).Set(
            pxr.Vt.Vec3fArray.FromNumpy(linear)
        )
        opacity = np.ascontiguousarray(look.vertex_colors[:, 3], dtype=np.float32)
        primvars.CreatePrimvar("displayOpacity", types.FloatArray, tokens.vertex).Set(
            pxr.Vt.FloatArray.FromNumpy(opacity)
        )
    if look.part_of is not None:
        for number, name in enumerate(look.parts):
            _add_subset(pxr, mesh, f"part_{number}", name, look.part_of == number, "part")
    if look.paint_of is not None:
        for number, paint in enumerate(look.paints):
            subset = _add_subset(pxr, mesh, f"paint_{number}", paint.name, look.paint_of == number, "materialBind")
            material = _add_material(pxr, stage, f"{materials}/paint_{number}", paint)
            if subset is not None:
                pxr.UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(material)
    return mesh


def _add_subset(pxr: Any, mesh: Any, place: str, name: str, chosen: np.ndarray, family: str) -> Any:
    rows = np.flatnonzero(chosen).astype(np.int32)
    if not len(rows):
        return None
    identifier = f"{place}_{pxr.Tf.MakeValidIdentifier(name)}"
    subset = pxr.UsdGeom.Subset.Define(mesh.GetPrim().GetStage(), mesh.GetPath().AppendChild(identifier))
    subset.CreateElementTypeAttr(pxr.UsdGeom.Tokens.face)
    subset.CreateFamilyNameAttr(family)
    subset.CreateIndicesAttr(pxr.Vt.IntArray.FromNumpy(rows))
    subset.GetPrim().SetDisplayName(name)
    return subset


def _add_material(pxr: Any, stage: Any, place: str, paint: Paint) -> Any:
    """A preview material; of one with a picture the colour stands in for it where it cannot be read."""
    types, shade = pxr.Sdf.ValueTypeNames, pxr.UsdShade
    material = shade.Material.Define(stage, place)
    material.GetPrim().SetDisplayName(paint.name)
    surface = shade.Shader.Define(stage, f"{place}/surface")
    surface.CreateIdAttr("UsdPreviewSurface")
    color = [float(value) for value in to_linear(np.array(paint.color[:3], dtype=np.float64))]
    diffuse = surface.CreateInput("diffuseColor", types.Color3f)
    if paint.texture:
        reader = shade.Shader.Define(stage, f"{place}/coordinates")
        reader.CreateIdAttr("UsdPrimvarReader_float2")
        reader.CreateInput("varname", types.String).Set("st")
        picture = shade.Shader.Define(stage, f"{place}/picture")
        picture.CreateIdAttr("UsdUVTexture")
        picture.CreateInput("file", types.Asset).Set(pxr.Sdf.AssetPath(paint.texture))
        picture.CreateInput("fallback", types.Float4).Set(pxr.Gf.Vec4f(*color, 1.0))
        picture.CreateInput("st", types.Float2).ConnectToSource(reader.ConnectableAPI(), "result")
        diffuse.ConnectToSource(picture.ConnectableAPI(), "rgb")
    else:
        diffuse.Set(pxr.Gf.Vec3f(*color))
    surface.CreateInput("opacity", types.Float).Set(float(paint.color[3]))
    material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    return material
