"""Settings of how a surface becomes a layered body; apart from the work, so that the command line starts at once."""

from __future__ import annotations

import dataclasses

from pliant.settings import Described, setting

ATLASES = ("auto", "planes", "xatlas", "mesh")


@dataclasses.dataclass(frozen=True)
class LayerSettings(Described):
    """How a closed surface becomes a core under a soft layer."""

    texture: int = setting(256, "side of the texture whose texels are the nodes", low=16, high=4096)
    layer_thickness: float | None = setting(
        None, "of the soft layer, less in thin parts; a fifth of 3 volume / area if not given", unit="m", above=0.0
    )
    atlas: str = setting(
        "auto",
        "'planes': triangles that face one way are laid flat together; 'xatlas': by the package of this name, slow for "
        "fine meshes; 'mesh': the mesh's own texture coordinates; 'auto': planes",
        choices=ATLASES,
    )
    core_triangles: int = setting(
        300,
        "about how many triangles the core has; more where fewer would reach out of the body",
        low=4,
        high=1_000_000,
    )
    upper_stiffness: float = setting(
        1.0, "factor on Young's modulus where the surface's own y is above the middle of its box", above=0.0, high=1e6
    )
