"""Pictures by ray casting on any device: no OpenGL, no display."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch, pick_device
from pliant.render import shading
from pliant.render.camera import Camera

# Fewest pixels worth a CPU thread.
PIXEL_GRAIN = 1024
LIGHT = (-0.42, 0.85, 0.48)
LAMP_RADIUS = 0.055  # at distance 1
LAMP_RAYS = 2  # per pixel; sixteen pixels share theirs
AMBIENT_RAYS = 3
SLOTS = 16


class Renderer:
    """Draws triangles over a studio ground.

    Args:
        width: of the picture [pixels].
        height: of the picture [pixels].
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        samples: rays along each side of a pixel that an edge crosses; 1 turns anti-aliasing off.
        light: direction towards the lamp.
        wireframe: draw the edges of the triangles too.
    """

    def __init__(
        self,
        width: int,
        height: int,
        device: str = "auto",
        samples: int = 2,
        light: tuple[float, float, float] = LIGHT,
        wireframe: bool = False,
    ):
        if not (1 <= width <= 16384 and 1 <= height <= 16384):
            raise InputError(f"a picture of {width} x {height} pixels", "Renderer", "Give sides from 1 to 16384")
        if not 1 <= samples <= 16:
            raise InputError(f"samples is {samples}", "Renderer.samples", "Give a whole number from 1 to 16")
        if not (np.shape(light) == (3,) and np.all(np.isfinite(light)) and np.any(light)):
            raise InputError(f"light is {light}", "Renderer.light", "Give a direction such as (-0.4, 0.9, 0.5)")
        self.width, self.height, self.samples = int(width), int(height), int(samples)
        self.device = pick_device(device)
        self.wireframe = wireframe
        self._light = np.asarray(light, dtype=np.float64) / np.linalg.norm(light)
        self._lamp = wp.array(_lamp_points(LAMP_RAYS), dtype=wp.vec2, device=self.device)
        self._dome = wp.array(_dome_points(AMBIENT_RAYS), dtype=wp.vec3, device=self.device)
        pixels = self.width * self.height
        self._hits = wp.empty(pixels, dtype=shading.Hit, device=self.device)
        self._lights = wp.empty(pixels, dtype=wp.vec2, device=self.device)
        self._image = wp.empty(3 * pixels, dtype=wp.uint8, device=self.device)
        self._surface: shading.Surface | None = None
        self._mesh: wp.Mesh | None = None

    def set_geometry(self, triangles: np.ndarray, colors: np.ndarray, n_vertices: int) -> None:
        """Say which triangles to draw, once for many pictures.

        Args:
            triangles: vertex indices, counter-clockwise seen from outside (m, 3).
            colors: sRGB colour of each triangle, 0 to 1 (m, 3), or one for all (3,).
            n_vertices: number of vertices that `draw` will be given.
        """
        triangles = np.asarray(triangles)
        if triangles.ndim != 2 or triangles.shape[1] != 3 or len(triangles) == 0 or triangles.dtype.kind not in "iu":
            raise InputError(
                f"an array of shape {triangles.shape} and type {triangles.dtype}",
                "triangles",
                "Give whole numbers of shape (m, 3), at least one triangle",
            )
        if triangles.min() < 0 or triangles.max() >= n_vertices:
            raise InputError(
                f"indices run from {triangles.min()} to {triangles.max()} with {n_vertices} vertices",
                "triangles",
                f"Use 0 to {n_vertices - 1}",
            )
        colors = np.asarray(colors, dtype=np.float32)
        if colors.shape == (3,):
            colors = np.broadcast_to(colors, triangles.shape)
        if colors.shape != triangles.shape or not np.all((colors >= 0.0) & (colors <= 1.0)):
            raise InputError(
                f"an array of shape {colors.shape}",
                "colors",
                f"Give numbers from 0 to 1 of shape ({len(triangles)}, 3)",
            )
        flat = np.ascontiguousarray(triangles, dtype=np.int32).reshape(-1)
        # Which triangles lie around a vertex: entries first[v] to first[v + 1] of the table.
        counts = np.bincount(flat, minlength=n_vertices)
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        around = (np.argsort(flat, kind="stable") // 3).astype(np.int32)
        device = self.device
        surface = shading.Surface()
        surface.x = wp.zeros(n_vertices, dtype=wp.vec3, device=device)
        surface.triangles = wp.array(flat, dtype=int, device=device)
        surface.normals = wp.zeros(len(flat), dtype=wp.vec3, device=device)
        surface.colors = wp.array(colors.astype(np.float32) ** 2.2, dtype=wp.vec3, device=device)
        self._surface = surface
        self._first = wp.array(first, dtype=int, device=device)
        self._around = wp.array(around, dtype=int, device=device)
        self._area_normals = wp.zeros(len(triangles), dtype=wp.vec3, device=device)
        self._mesh = None
        self._scale = 0.0

    def draw(
        self,
        vertices: wp.array | np.ndarray,
        camera: Camera,
        ground_height: float | None = 0.0,
        wireframe: bool | None = None,
    ) -> np.ndarray:
        """Take a picture.

        Args:
            vertices: positions (n, 3) [m], on the host or on any device.
            camera: where from.
            ground_height: height of the ground [m]; ``None`` leaves it out.
            wireframe: draw the edges of the triangles; the renderer's own choice if not given.

        Returns:
            sRGB bytes of shape (height, width, 3), row 0 on top.
        """
        self._place(vertices)
        stage = self._stage(camera, ground_height, self.wireframe if wireframe is None else wireframe)
        view = self._view(camera)
        pixels = self.width * self.height
        common = [self._surface, stage, view]
        launch(
            shading.trace,
            pixels,
            [*common, self._lamp, self._dome],
            [self._hits, self._lights],
            device=self.device,
            grain=PIXEL_GRAIN,
            block_dim=128,
        )
        launch(
            shading.resolve,
            pixels,
            [*common, self.samples, self._lamp, self._dome, self._hits, self._lights],
            [self._image],
            device=self.device,
            grain=PIXEL_GRAIN,
            block_dim=128,
        )
        return self._image.numpy().reshape(self.height, self.width, 3).copy()

    def corner_normals(self) -> np.ndarray:
        """Unit normals of the latest picture, one per corner of a triangle (m, 3, 3)."""
        if self._mesh is None or self._surface is None:
            raise InputError("nothing has been drawn yet", "Renderer.corner_normals", "Call draw() first")
        return self._surface.normals.numpy().reshape(-1, 3, 3).copy()

    def _place(self, vertices: wp.array | np.ndarray) -> None:
        """Move the triangles: positions, normals, search tree."""
        surface = self._surface
        if surface is None:
            raise InputError("there is nothing to draw", "Renderer.draw", "Call set_geometry() first")
        on_device = not isinstance(vertices, np.ndarray) and isinstance(vertices, wp.array)
        host: Any = vertices.numpy() if on_device else vertices  # type: ignore[union-attr]
        x = np.asarray(host, dtype=np.float32)
        if x.shape != (len(surface.x), 3):
            raise InputError(f"an array of shape {x.shape}", "vertices", f"Give shape ({len(surface.x)}, 3)")
        bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
        if len(bad):
            raise InputError(
                f"vertex {bad[0]} is at {x[bad[0]].tolist()} ({len(bad)} such vertices)",
                "vertices",
                "The simulation has blown up: draw an earlier frame, or use a shorter time step",
            )
        if on_device and vertices.dtype == wp.vec3:
            wp.copy(surface.x, vertices)
        else:
            surface.x.assign(x)
        triangles = len(self._area_normals)
        launch(
            shading.face_normals, triangles, [surface.x, surface.triangles], [self._area_normals], device=self.device
        )
        launch(
            shading.corner_normals,
            3 * triangles,
            [
                surface.triangles,
                self._first,
                self._around,
                self._area_normals,
                math.cos(math.radians(70.0)),
                math.cos(math.radians(45.0)),
            ],
            [surface.normals],
            device=self.device,
        )
        if self._mesh is None or self._scattered(x):
            self._mesh = wp.Mesh(surface.x, surface.triangles)
            surface.mesh = self._mesh.id
            self._built_x = x.copy()
        else:
            self._mesh.refit()
        if self._scale == 0.0:
            # The size of the scene sets lengths such as the ground's tiles: keep the first for the whole film.
            self._scale = max(float(np.linalg.norm(np.ptp(x, axis=0))), 1.0e-6)
            self._extent = float(np.abs(x).max())

    def _scattered(self, x: np.ndarray) -> bool:
        """Whether vertices have moved so far apart since the tree was built that refitting makes it slow."""
        moved = x - self._built_x
        moved = np.abs(moved - moved.mean(axis=0)).max()
        return bool(moved > 0.35 * np.ptp(self._built_x, axis=0).max())

    def _stage(self, camera: Camera, ground_height: float | None, wireframe: bool) -> shading.Stage:
        right = np.cross(self._light, np.eye(3)[np.argmin(np.abs(self._light))])
        right /= np.linalg.norm(right)
        stage = shading.Stage()
        stage.light = wp.vec3(*self._light)
        stage.light_u = wp.vec3(*(LAMP_RADIUS * right))
        stage.light_v = wp.vec3(*(LAMP_RADIUS * np.cross(self._light, right)))
        stage.center = wp.vec3(*camera.target)
        stage.has_ground = int(ground_height is not None)
        stage.ground = float(ground_height or 0.0)
        stage.reach = 0.18 * self._scale
        stage.bias = 2.0e-5 * self._scale + 1.0e-6 * self._extent
        stage.tile = _round_length(0.12 * self._scale)
        # Far enough that what the camera is near to stands on solid ground.
        stage.fade = max(2.2 * self._scale, 1.2 * math.dist(camera.position, camera.target))
        stage.wireframe = int(wireframe)
        stage.lamp_rays = LAMP_RAYS
        stage.ambient_rays = AMBIENT_RAYS
        return stage

    def _view(self, camera: Camera) -> shading.View:
        right, up, forward = camera.axes()
        slope = math.tan(math.radians(camera.fov_deg) / 2.0)
        view = shading.View()
        view.origin = wp.vec3(*camera.position)
        view.forward = wp.vec3(*forward)
        view.right = wp.vec3(*(slope * self.width / self.height * right))
        view.up = wp.vec3(*(slope * up))
        view.width = self.width
        view.height = self.height
        view.pixel = 2.0 * slope / self.height
        stride = max(1, int(0.618 * self.height))
        while math.gcd(stride, self.height) != 1:
            stride += 1
        view.row_stride = stride
        return view


def _round_length(length: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten at or above a length."""
    power = 10.0 ** math.floor(math.log10(length))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= length * 0.999)


def _spread(slots: int, rays: int) -> np.ndarray:
    """Well-spread points of the unit square, ordered so that neighbouring pixels get distant ones (slots rays, 2)."""
    count = slots * rays
    k = np.arange(count)
    # Kronecker points on the plastic number: any stretch of them covers the square evenly (M. Roberts, 2018).
    plastic = 1.32471795724474602596
    points = np.stack([(0.5 + k / plastic) % 1.0, (0.5 + k / plastic**2) % 1.0], axis=1)
    # Pixel (px, py) of a 4 x 4 block takes the slot of an ordered-dither matrix.
    dither = np.array([0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5])
    return points.reshape(slots, rays, 2)[dither].reshape(count, 2)


def _lamp_points(rays: int) -> np.ndarray:
    """Points of the unit disc, ``rays`` per slot (16 rays, 2)."""
    u = _spread(SLOTS, rays)
    r, angle = np.sqrt(u[:, 0]), 2.0 * np.pi * u[:, 1]
    return np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1).astype(np.float32)


def _dome_points(rays: int) -> np.ndarray:
    """Unit directions around z, more of them where the cosine is larger, ``rays`` per slot (16 rays, 3)."""
    u = _spread(SLOTS, rays)
    r, angle = np.sqrt(u[:, 0]), 2.0 * np.pi * u[:, 1]
    return np.stack([r * np.cos(angle), r * np.sin(angle), np.sqrt(1.0 - u[:, 0])], axis=1).astype(np.float32)
