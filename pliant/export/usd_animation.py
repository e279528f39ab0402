"""A clip as a USD scene: a mesh for each body with positions, normals and extent at every frame; through usd-core."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.export.clip import Clip, Report, vertex_normals
from pliant.files import replace_path
from pliant.mesh.io.screen_color import to_linear
from pliant.mesh.io.usd import library
from pliant.mesh.io.usd_writer import define_surface
from pliant.mesh.look import Look
from pliant.mesh.surface import SurfaceMesh

SUFFIXES = (".usd", ".usda", ".usdc")
MOST_BYTES = 1 << 32
"""The scene is put together in memory."""
TEXT_FACTOR = 4
"""Bytes of a number in ``.usda`` to those in ``.usdc``, about."""


def write_usd_animation(clip: Clip, path: str | Path, *, normals: bool = True, report: Report | None = None) -> Path:
    """Write a clip as ``.usda`` (text), ``.usdc`` or ``.usd`` (both binary).

    A time code is a frame of the recording, the first 0; where only every n-th is written, time codes are n apart.

    Args:
        clip: what moves.
        path: file to write.
        normals: write normals, too.
        report: called after each frame.
    """
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"a name that ends with {path.suffix!r}", str(path), f"Use one of: {', '.join(SUFFIXES)}")
    pxr = library()
    clip.check_times(time_codes(clip))
    points = sum(len(body.vertices) for body in clip.bodies)
    size = len(clip) * points * (24 if normals else 12)
    clip.check_size(size * (TEXT_FACTOR if path.suffix.lower() == ".usda" else 1), MOST_BYTES, path)
    # Asked for first: a place that cannot be written to is found before the work.
    with replace_path(path) as temporary:
        stage = pxr.Usd.Stage.CreateInMemory()
        _fill(pxr, stage, clip, normals, report)
        # USD takes the format from the suffix.
        named = temporary.with_suffix(".usda" if path.suffix.lower() == ".usda" else ".usdc")
        try:
            if not stage.GetRootLayer().Export(str(named)):
                raise OSError("USD could not write the scene")
            os.replace(named, temporary)
        except pxr.Tf.ErrorException as error:
            raise OSError(" ".join(str(error).split())) from error
        finally:
            with contextlib.suppress(OSError):
                named.unlink()
    return path


def _fill(pxr: Any, stage: Any, clip: Clip, normals: bool, report: Report | None) -> None:
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.y)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    codes = [float(code) for code in time_codes(clip)]
    stage.SetTimeCodesPerSecond(clip.rate)
    stage.SetFramesPerSecond(clip.rate)
    stage.SetStartTimeCode(codes[0])
    stage.SetEndTimeCode(codes[-1])
    root = pxr.UsdGeom.Xform.Define(stage, "/model")
    stage.SetDefaultPrim(root.GetPrim())
    # The folder of the materials is taken.
    taken = {"materials"}
    still = [_define(pxr, stage, surface, taken) for surface in clip.still]
    for mesh, surface in zip(still, clip.still, strict=True):
        _pose(pxr, mesh, surface, surface.vertices.astype(np.float32), pxr.Usd.TimeCode.Default(), normals)
    moving = [_define(pxr, stage, surface, taken) for surface in clip.bodies]
    for code, frame in zip(codes, clip.frames(report), strict=True):
        for mesh, surface, x in zip(moving, clip.bodies, frame, strict=True):
            _pose(pxr, mesh, surface, x, pxr.Usd.TimeCode(code), normals)


def time_codes(clip: Clip) -> np.ndarray:
    """The time code of each frame (k,): whole numbers where the frames are evenly spaced."""
    codes = clip.times * clip.rate
    whole = np.rint(codes)
    return np.where(np.abs(codes - whole) < 1e-3, whole, codes)


def _define(pxr: Any, stage: Any, surface: SurfaceMesh, taken: set[str]) -> Any:
    """The mesh of a surface, under its name, with its look and colours."""
    plain = identifier = pxr.Tf.MakeValidIdentifier(surface.name or "body")
    number = 2
    while identifier in taken:
        identifier, number = f"{plain}_{number}", number + 1
    taken.add(identifier)
    points = pxr.Vt.Vec3fArray.FromNumpy(surface.vertices.astype(np.float32))
    place = f"/model/{identifier}"
    mesh = define_surface(pxr, stage, place, surface, points, materials=f"/model/materials/{identifier}")
    mesh.GetPrim().SetDisplayName(surface.name)
    look = surface.look or Look()
    if look.vertex_colors is None and look.paints:
        _set_colors(pxr, mesh, look.triangle_colors(surface.triangles, look.paints[0].color))
    return mesh


def _set_colors(pxr: Any, mesh: Any, colors: np.ndarray) -> None:
    """Colours of the triangles, or one if they are all the same: for viewers that show no materials."""
    tokens = pxr.UsdGeom.Tokens
    interpolation = tokens.uniform
    if (colors == colors[:1]).all():
        colors, interpolation = colors[:1], tokens.constant
    linear = np.ascontiguousarray(to_linear(colors.astype(np.float64)), np.float32)
    primvar = pxr.UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(
        "displayColor", pxr.Sdf.ValueTypeNames.Color3fArray, interpolation
    )
    primvar.Set(pxr.Vt.Vec3fArray.FromNumpy(linear))


def _pose(pxr: Any, mesh: Any, surface: SurfaceMesh, x: np.ndarray, code: Any, normals: bool) -> None:
    x = np.ascontiguousarray(x, np.float32)
    mesh.GetPointsAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(x), code)
    extent = np.stack([x.min(axis=0), x.max(axis=0)])
    mesh.CreateExtentAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(extent), code)
    if normals:
        directions = vertex_normals(x, surface.triangles)
        mesh.CreateNormalsAttr().Set(pxr.Vt.Vec3fArray.FromNumpy(directions), code)
        mesh.SetNormalsInterpolation(pxr.UsdGeom.Tokens.vertex)
