"""Settings of how a mesh becomes a body; apart from the work, so that the command line starts at once."""

from __future__ import annotations

import dataclasses

from pliant.settings import Described, setting


@dataclasses.dataclass(frozen=True)
class PrepareSettings(Described):
    """How a mesh becomes a body."""

    size: float | None = setting(
        None, "longest side of the body; as in the file if not given", unit="m", above=0.0, high=1e6
    )
    up: str = setting("y", "the axis that points up in the file", choices=("y", "z"))
    repair: bool = setting(True, "repair the surface before it is made solid")
    solid: str = setting(
        "auto",
        "'stuffing': tets of good shape along the surface; 'voxels': tets of cubes around it; 'lattice': cubes and "
        "their springs; 'conforming': tets that end in the surface (pytetwild); 'surface': its triangles; "
        "'tets': those of the file; 'auto': tets of the file if they are sound, else stuffing if the surface encloses "
        "space, else its triangles",
        choices=("auto", "stuffing", "voxels", "lattice", "conforming", "surface", "tets"),
    )
    tets: int | None = setting(None, "about how many tets (or cubes of a lattice) to make", low=12, high=10_000_000)
    element_size: float | None = setting(None, "length of an element's edge, instead of a number", unit="m", above=0.0)
    enclose: bool = setting(False, "let the solid reach so far beyond the surface that all of it lies inside")
    skin: bool = setting(True, "show the surface itself, carried by the solid, rather than the solid's own outside")
    time_limit: float = setting(
        120.0, "after this the solid is made coarser or of voxels rather than going on", unit="s", above=0.0
    )
