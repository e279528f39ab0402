"""Sample meshes that come with Pliant, by name."""

from __future__ import annotations

from pathlib import Path

from pliant.errors import InputError
from pliant.mesh.surface import SurfaceMesh

FOLDER = Path(__file__).parent.parent / "assets"
SUFFIX = ".ply.gz"


def asset_names() -> list[str]:
    """The names of the sample meshes."""
    return sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}"))


def asset_path(name: str) -> Path:
    """The file of a sample mesh; raises `InputError` for a name that is not one."""
    path = FOLDER / f"{name}{SUFFIX}"
    if name not in asset_names():
        raise InputError(f"no sample mesh {name!r}", "asset", f"The sample meshes are: {', '.join(asset_names())}")
    return path


def asset(name: str) -> SurfaceMesh:
    """A sample mesh [m], standing at height zero, y up; origins and terms are in ``assets/CREDITS.md``."""
    from pliant.mesh.io import read_surface

    return read_surface(asset_path(name))
