"""TornSkin: what is seen of sheets that tear: every triangle has corners of its own, which follow the particles."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.mesh.surface import SurfaceMesh
from pliant.skin.surface import SkinSurface
from pliant.solvers.common.tearing import Tearing

wp.set_module_options({"enable_backward": False})

GRAIN = 4096


@wp.kernel
def place_corners(
    start: int,
    corners: wp.array(dtype=int),
    fan_start: wp.array(dtype=int),
    fan_count: wp.array(dtype=int),
    fan: wp.array(dtype=int),
    x: wp.array(dtype=wp.vec3),
    x_out: wp.array(dtype=wp.vec3),
    normal_out: wp.array(dtype=wp.vec3),
):
    """Each corner at its particle, with the normal of all triangles that are still around it, weighted by area."""
    s = start + wp.tid()
    p = corners[s]
    x_out[s] = x[p]
    normal = wp.vec3(0.0, 0.0, 0.0)
    for k in range(fan_start[p], fan_start[p] + fan_count[p]):
        t = fan[k] // 3
        first = x[corners[3 * t]]
        normal += wp.cross(x[corners[3 * t + 1]] - first, x[corners[3 * t + 2]] - first)
    normal_out[s] = wp.normalize(normal)


class TornSkin(SkinSurface):
    """The triangles of all sheets of a `Tearing`, in its order: vertex 3 t + c is corner c of triangle t."""

    def __init__(self, tearing: Tearing, device: str):
        count = 3 * tearing.triangles
        super().__init__(count, np.arange(count, dtype=np.int32).reshape(-1, 3), device, "TornSkin")
        self._tearing = tearing

    def _build_normals(self, count: int) -> None:
        """Nothing: the normals follow the triangles around each particle."""

    def update_normals(self) -> None:
        """Nothing: `update` writes them."""

    def update(self, x: wp.array) -> None:
        """Move all corners to the particles' positions (N,) vec3 [m]; nothing is read back."""
        t = self._tearing
        launch(
            place_corners,
            len(self),
            [t.corners, t.fan_start, t.fan_count, t.fan, x],
            [self.x, self.normals],
            device=self.device,
            grain=GRAIN,
        )


def corner_surface(mesh: SurfaceMesh) -> SurfaceMesh:
    """A surface of which every triangle has corners of its own, in the order of the triangles."""
    corners = mesh.triangles.reshape(-1)
    look = None if mesh.look is None else mesh.look.of_vertices(corners)
    triangles = np.arange(len(corners), dtype=np.int32).reshape(-1, 3)
    return SurfaceMesh(mesh.vertices[corners], triangles, mesh.name, mesh.notes, look)
