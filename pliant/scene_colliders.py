"""The colliders of a scene: a method for each kind that deserves one, and one for any."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.collide.collider import Collider, Surface
from pliant.collide.shapes.box import Box
from pliant.collide.shapes.plane import Plane, PlaneSurface
from pliant.errors import InputError
from pliant.scene_checks import new_name


class SceneColliders:
    """The part of a `Scene` that adds colliders."""

    colliders: list[Collider]

    def add_plane(
        self,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        normal: Sequence[float] = (0.0, 1.0, 0.0),
        *,
        friction: float = 0.6,
        restitution: float = 0.0,
        static_friction: float | None = None,
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
        name: str | None = None,
    ) -> None:
        """Add a plane; without arguments it is a floor at height zero."""
        surface = PlaneSurface(friction, restitution, static_friction=static_friction)
        self.add_collider(Plane(point, normal, velocity, surface, self.collider_name(name, "plane")))  # type: ignore[arg-type]

    def add_box(
        self,
        size: Sequence[float] = (1.0, 1.0, 1.0),
        position: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        rotation: Sequence[float] = (0.0, 0.0, 0.0),
        inside: bool = False,
        friction: float = 0.6,
        restitution: float = 0.0,
        static_friction: float | None = None,
        margin: float = 0.0,
        path: Any = None,
        name: str | None = None,
    ) -> None:
        """Add a box that bodies stay out of, or with ``inside=True`` a room that they stay in.

        Args:
            size: lengths along its own x, y and z [m].
            position: its centre [m].
            rotation: axis times angle in degrees, about the centre.
            margin: how far from the surface particles are kept [m].
            path: keys of its motion, or a `MotionPath`.
        """
        surface, name = Surface(friction, restitution, margin, static_friction), self.collider_name(name, "box")
        self.add_collider(Box(size, position, rotation, inside, surface, name, path))  # type: ignore[arg-type]

    def add_halfspaces(
        self,
        planes: Sequence[Sequence[float]],
        position: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        rotation: Sequence[float] = (0.0, 0.0, 0.0),
        inside: bool = False,
        friction: float = 0.6,
        restitution: float = 0.0,
        static_friction: float | None = None,
        margin: float = 0.0,
        path: Any = None,
        name: str | None = None,
    ) -> None:
        """Add the convex solid that half-spaces have in common, or with ``inside=True`` a room or funnel of planes.

        Args:
            planes: rows a, b, c, d; the half-space of a row is a x + b y + c z <= d, in its own frame [m].
            position: where its origin is put [m].
            rotation: axis times angle in degrees, about its origin.
            margin: how far from the surface particles are kept [m].
            static_friction: up to which what does not slip is held; that of friction if not given.
            path: keys of its motion, or a `MotionPath`.
        """
        from pliant.collide.shapes.halfspaces import Halfspaces

        surface = Surface(friction, restitution, margin, static_friction)
        name = self.collider_name(name, "halfspaces")
        self.add_collider(Halfspaces(planes, position, rotation, inside, surface, name, path))  # type: ignore[arg-type]

    def add_sphere(
        self,
        radius: float = 0.5,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
        inside: bool = False,
        friction: float = 0.6,
        restitution: float = 0.0,
        static_friction: float | None = None,
        margin: float = 0.0,
        path: Any = None,
        name: str | None = None,
    ) -> None:
        """Add a ball that bodies stay out of, or with ``inside=True`` a round room; see `Simulation.move_collider`.

        Args:
            radius: [m].
            position: its centre [m].
            velocity: of the surface along itself [m/s], as of a conveyor belt.
            margin: how far from the surface particles are kept [m].
            path: keys of its motion, or a `MotionPath`.
        """
        from pliant.collide.shapes.sphere import Sphere

        surface, name = Surface(friction, restitution, margin, static_friction), self.collider_name(name, "sphere")
        self.add_collider(Sphere(radius, position, velocity, inside, surface, name, path))  # type: ignore[arg-type]

    def add_capsule(
        self,
        radius: float = 0.1,
        start: Sequence[float] = (-0.5, 0.0, 0.0),
        end: Sequence[float] = (0.5, 0.0, 0.0),
        *,
        friction: float = 0.6,
        restitution: float = 0.0,
        static_friction: float | None = None,
        margin: float = 0.0,
        path: Any = None,
        name: str | None = None,
    ) -> None:
        """Add a round bar with round ends that bodies stay out of.

        Args:
            radius: [m].
            start, end: middles of its round ends [m].
            margin: how far from the surface particles are kept [m].
            path: keys of its motion, about the middle between the ends, or a `MotionPath`.
        """
        from pliant.collide.shapes.capsule import Capsule

        surface, name = Surface(friction, restitution, margin, static_friction), self.collider_name(name, "capsule")
        self.add_collider(Capsule(radius, start, end, surface, name, path))  # type: ignore[arg-type]

    def add_mesh_collider(
        self,
        mesh: Any,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        rotation: Sequence[float] = (0.0, 0.0, 0.0),
        scale: float = 1.0,
        solid: bool | None = None,
        thickness: float | None = None,
        deforms: bool = False,
        friction: float = 0.6,
        restitution: float = 0.0,
        static_friction: float | None = None,
        margin: float = 0.0,
        path: Any = None,
        name: str | None = None,
    ) -> None:
        """Add a triangle mesh that bodies stay out of: solid where it is closed, else a shell with two sides.

        Args:
            mesh: a surface or tetrahedral mesh, a file, or the name of a sample mesh.
            position: where its origin is put [m].
            rotation: axis times angle in degrees, about its origin.
            scale: what it is multiplied with.
            solid: whether it has an inside; as it is closed or not, if not given.
            thickness: of a shell [m]; 0.5 % of its diagonal if not given.
            deforms: its vertices will be set, by `Simulation.set_collider_vertices`.
            margin: how far from the surface particles are kept [m].
            path: keys of its motion, or a `MotionPath`.
        """
        from pliant.collide.shapes.mesh import Mesh

        surface, name = Surface(friction, restitution, margin, static_friction), self.collider_name(name, "mesh")
        place: Any = {"position": position, "rotation": rotation, "scale": scale}
        kind: Any = {"solid": solid, "thickness": thickness, "deforms": deforms}
        self.add_collider(Mesh(mesh, **place, **kind, surface=surface, name=name, path=path))

    def add_heightmap(
        self,
        heights: np.ndarray | Sequence[Sequence[float]] | str | os.PathLike,
        size: Sequence[float] = (10.0, 10.0),
        position: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        scale: float = 1.0,
        extend: bool = False,
        friction: float = 0.6,
        restitution: float = 0.0,
        static_friction: float | None = None,
        name: str | None = None,
    ) -> None:
        """Add ground given by a grid of heights; everything below it is solid.

        Args:
            heights: (rows, columns), row 0 at the least z and column 0 at the least x; or a picture, .npy, .csv or
                .txt file of them.
            size: lengths along x and z [m].
            position: middle of the rectangle, at the height zero [m].
            scale: what the heights are multiplied with [m].
            extend: the heights of the rim go on outside; otherwise there is nothing.
        """
        from pliant.collide.heights import read_heights
        from pliant.collide.shapes.heightmap import Heightmap

        grid: Any = read_heights(heights) if isinstance(heights, (str, os.PathLike)) else heights
        surface, name = (
            Surface(friction, restitution, static_friction=static_friction),
            self.collider_name(name, "heightmap"),
        )
        self.add_collider(Heightmap(grid, size, position, scale, extend, surface, name))  # type: ignore[arg-type]

    def add_collider(self, collider: Collider) -> None:
        """Add a collider of any kind; it is numbered if it has no name."""
        if not isinstance(collider, Collider):
            raise InputError(
                f"{type(collider).__name__} is no collider",
                "add_collider",
                "Give a Plane, a Box, Halfspaces, a Sphere, a Capsule, a Mesh or a Heightmap",
            )
        name = self.collider_name(collider.name, collider.kind)
        if name != collider.name:
            collider = dataclasses.replace(collider, name=name)  # type: ignore[type-var]
        self.colliders.append(collider)

    def collider_name(self, name: str | None, kind: str) -> str:
        """The name, or the next free number of a kind if none is given."""
        return new_name(name, kind, [c.name for c in self.colliders], "collider")
