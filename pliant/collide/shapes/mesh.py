"""Any triangle mesh: closed ones are solid, open ones are shells that particles stay off on both sides."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import warp as wp

from pliant.collide.collider import DEFAULT_SURFACE, Surface, described_fields, numbers, split_surface
from pliant.collide.contacts import Contacts
from pliant.collide.device_mesh import SHELL, WINDING, DeviceMesh, sign_way
from pliant.collide.mesh_kernels import detect_mesh
from pliant.collide.movable import Movable
from pliant.collide.poses import Poses
from pliant.errors import InputError
from pliant.launch import launch
from pliant.mesh.arrays import rotation as rotation_matrix
from pliant.mesh.assets import asset_names
from pliant.mesh.source import as_surface, load_mesh
from pliant.mesh.surface import SurfaceMesh
from pliant.motion import axis_angle
from pliant.settings import Described, check_value, setting
from pliant.vectors import FARTHEST, as_bounded, as_vector

LONGEST_GLIDE = 5.0
"""The longest way of a frame, in diagonals, that a mesh glides."""
SHELL_THICKNESS = 0.005
"""Thickness of an open surface if none is given, over its diagonal."""
MOST_HOSTS = 8
_HOSTS: dict[tuple[str, float, int], DeviceMesh] = {}


@dataclasses.dataclass(frozen=True)
class MeshSource(Described):
    """Where the mesh of a scene file comes from."""

    file: str = setting("", "a mesh of any format, seen from the scene file, or the name of a sample mesh")


@dataclasses.dataclass(frozen=True)
class Mesh(Movable):
    """A triangle mesh. A closed one is solid, an open one is a shell.

    A particle that went in is put back where it came in; one that was inside before, on the nearest point. A shell
    keeps particles off by half its thickness on both sides, and off its rim.

    Args:
        mesh: a `SurfaceMesh`, a `TetMesh` (its surface), a file, or the name of a sample mesh.
        position: where the mesh's origin is put [m].
        rotation: axis times angle in degrees, about the mesh's origin.
        scale: what the mesh is multiplied with.
        solid: whether it has an inside; as the mesh is closed or not, if not given. Given as true, the inside is where
            the mesh winds around, which also holds for meshes that meet themselves or have holes.
        thickness: of a shell [m]; of a solid, how far particles are kept off, doubled.
        deforms: its vertices will be set, by `Simulation.set_collider_vertices`.
        surface: friction and restitution.
        path: keys of its motion; see `MotionPath`.
    """

    kind: ClassVar[str] = "mesh"
    plural: ClassVar[str] = "meshes"
    meaning: ClassVar[str] = "a triangle mesh that bodies stay out of: solid where it is closed, else a shell"
    sources: ClassVar[tuple[str, ...]] = ("file",)

    mesh: Any = dataclasses.field(repr=False, compare=False)
    position: tuple[float, float, float] = numbers((0.0, 0.0, 0.0), 3, "where the mesh's origin is put [m]")
    rotation: tuple[float, float, float] = numbers((0.0, 0.0, 0.0), 3, "axis times angle in degrees, about its origin")
    scale: float = setting(1.0, "what the mesh is multiplied with", above=0.0, high=1e6)
    solid: bool | None = setting(None, "whether it has an inside; as it is closed or not, if not given")
    thickness: float | None = setting(
        None, "of a shell; 0.5 % of its diagonal if not given, and none of a solid", unit="m", low=0.0, high=FARTHEST
    )
    deforms: bool = setting(False, "its vertices will be set while it runs")
    surface: Surface = DEFAULT_SURFACE
    name: str = ""
    path: Any = dataclasses.field(default=None, repr=False, compare=False)
    # stands for the path where colliders are compared or fingerprinted
    path_digest: str = dataclasses.field(init=False, default="")
    # stands for the mesh where colliders are compared or fingerprinted
    digest: str = dataclasses.field(init=False, default="")
    notes: tuple[str, ...] = dataclasses.field(init=False, default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.name in ("scale", "solid", "thickness", "deforms"):
                value = check_value(field, getattr(self, field.name), self.where(field.name))
                object.__setattr__(self, field.name, value)
        object.__setattr__(self, "position", as_bounded(self.position, FARTHEST, self.where("position"), "m"))
        object.__setattr__(self, "rotation", as_vector(self.rotation, self.where("rotation")))
        surface = _surface(self.mesh, self.where("mesh"))
        if np.abs(self.scale * surface.vertices).max() > FARTHEST:
            raise InputError("the mesh is too large", self.where("scale"), f"Keep it within {FARTHEST:g} m")
        if self.solid is not False and sign_way(surface.triangles) != SHELL and _volume(surface) < 0.0:
            surface = surface.turned(np.arange(len(surface.triangles)))
            object.__setattr__(self, "notes", ("the triangles faced inward and were turned",))
        digest = hashlib.sha256(surface.vertices.tobytes() + surface.triangles.tobytes()).hexdigest()
        object.__setattr__(self, "mesh", surface)
        object.__setattr__(self, "digest", digest)
        self.settle_path()

    @property
    def sign(self) -> int:
        """How it tells its inside; see `sign_way`."""
        if self.solid is None:
            return sign_way(self.mesh.triangles)
        return WINDING if self.solid else SHELL

    @property
    def half_thickness(self) -> float:
        """How far it keeps particles off [m]."""
        if self.thickness is not None:
            return 0.5 * self.thickness
        diagonal = self.scale * float(np.linalg.norm(np.ptp(self.mesh.vertices, axis=0)))
        return 0.5 * SHELL_THICKNESS * diagonal if self.sign == SHELL else 0.0

    @property
    def reach(self) -> float:
        return LONGEST_GLIDE * self.scale * float(np.linalg.norm(np.ptp(self.mesh.vertices, axis=0)))

    def turn(self) -> np.ndarray:
        """The rotation of the mesh as a matrix (3, 3)."""
        degrees = float(np.linalg.norm(self.rotation))
        if degrees == 0.0:
            return np.eye(3)
        return rotation_matrix(np.array(self.rotation) / degrees, math.radians(degrees), self.where("rotation"))

    def posed(self, turn: np.ndarray, center: np.ndarray, radius: float) -> Mesh:
        degrees = np.degrees(axis_angle(turn @ self.turn()))
        rotation = self.rotation if np.array_equal(turn, np.eye(3)) else tuple(degrees.tolist())
        return dataclasses.replace(self, position=tuple(center.tolist()), rotation=rotation)

    def shaped(self, vertices: np.ndarray) -> Mesh:
        """The same with other vertices (n, 3) [m], from its position on, turned and scaled as it is."""
        own = dataclasses.replace(self.mesh, vertices=vertices @ self.turn() / self.scale)
        return dataclasses.replace(self, mesh=own)

    def own_vertices(self) -> np.ndarray:
        """Vertices from its position on [m] (n, 3), turned and scaled."""
        return self.scale * self.mesh.vertices @ self.turn().T

    def on_device(self, device: str) -> DeviceMesh:
        """The mesh as the kernels use it."""
        return DeviceMesh(
            self.own_vertices(),
            self.mesh.triangles,
            self.sign,
            self.half_thickness,
            self.deforms,
            self.surface,
            device,
        )

    def distance(self, points: np.ndarray) -> np.ndarray:
        own = (np.asarray(points, np.float64) - np.array(self.position)) @ self.turn()
        return self._host().distances(own.reshape(-1, 3)).reshape(own.shape[:-1]) - self.half_thickness

    def _host(self) -> DeviceMesh:
        """The mesh on the CPU, scaled and not turned; the last few are kept."""
        key = (self.digest, self.scale, self.sign)
        if key not in _HOSTS:
            while len(_HOSTS) >= MOST_HOSTS:
                _HOSTS.pop(next(iter(_HOSTS)))
            points = self.scale * self.mesh.vertices
            _HOSTS[key] = DeviceMesh(points, self.mesh.triangles, self.sign, 0.0, False, self.surface, "cpu")
        return _HOSTS[key]

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.position) + self.own_vertices(), self.mesh.triangles.astype(np.int32)

    @classmethod
    def table_keys(cls) -> list[dataclasses.Field]:
        return [*described_fields(MeshSource), *described_fields(cls)]

    @classmethod
    def from_table(cls, table: Mapping[str, Any], name: str, folder: Path) -> Self:
        rest, surface = split_surface(table)
        file = rest.pop("file")
        source: Any = folder / file
        if not source.exists() and file in asset_names():
            source = file
        try:
            mesh = _surface(source, "mesh")
        except InputError as error:
            raise InputError(f"{error.where}: {error.what}", f"collider '{name}'.file", error.remedy) from error
        return cls(mesh, **rest, surface=surface, name=name)

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], poses: Poses, device: str) -> MeshDetector:
        return MeshDetector(colliders, slots, poses, device)


def _surface(source: Any, where: str) -> SurfaceMesh:
    """A surface with triangles, from a mesh, a file or a sample mesh's name."""
    source = as_surface(load_mesh(source))
    if len(source.triangles) == 0 or not np.isfinite(source.vertices).all():
        raise InputError("the mesh has no triangles, or vertices that are not finite", where, "Give another mesh")
    if source.triangles.min() < 0 or source.triangles.max() >= len(source.vertices):
        raise InputError("triangles name vertices that do not exist", where, "Give another mesh")
    return source


def _volume(mesh: SurfaceMesh) -> float:
    """Enclosed volume, of surfaces too whose edges branch [m^3]."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum()) / 6.0


class MeshDetector:
    """Meshes on a device, one launch each."""

    def __init__(self, meshes: Sequence[Mesh], slots: Sequence[int], poses: Poses, device: str):
        self.device = device
        self.poses = poses
        self.meshes = dict(zip(slots, meshes, strict=True))
        self.own = {slot: mesh.on_device(device) for slot, mesh in self.meshes.items()}

    def advance(self) -> None:
        """One step of vertices that were set."""
        for own in self.own.values():
            own.advance()

    def arrays(self) -> dict[str, wp.array]:
        """What a checkpoint must hold."""
        return {f"mesh{slot}.{k}": a for slot, own in self.own.items() for k, a in own.arrays().items()}

    def restored(self) -> None:
        """Follow arrays that were set from outside."""
        for own in self.own.values():
            own.restored()

    def vertices(self, slot: int) -> np.ndarray | None:
        """Vertices from the mesh's position on, not turned by its pose [m] (n, 3); None where it does not deform."""
        own = self.own[slot]
        return own.points.numpy().astype(np.float64) if own.deforms else None

    def set_vertices(self, slot: int, vertices: np.ndarray, steps: int, duration: float) -> None:
        """Let vertices glide to places in the world as it was built [m] (n, 3)."""
        mesh, own = self.meshes[slot], self.own[slot]
        where = f"collider '{mesh.name}'"
        if not own.deforms:
            raise InputError("the vertices of this mesh stand still", where, "Build it with deforms=True")
        try:
            points = np.asarray(vertices, np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"the vertices are not numbers ({error})", where, "Give rows of three numbers") from error
        if points.shape != mesh.mesh.vertices.shape or not np.isfinite(points).all() or np.abs(points).max() > FARTHEST:
            raise InputError(
                f"the vertices have the shape {points.shape}, or are not finite or too far",
                where,
                f"Give {len(mesh.mesh.vertices)} rows of three numbers",
            )
        own.set_points(points - np.array(mesh.position), steps, duration)

    def detect(self, before: wp.array, x: wp.array, radius: wp.array, margin: float, contacts: Contacts) -> None:
        for slot, own in self.own.items():
            shape = [own.data, own.normals, own.cells, own.way, own.glide, own.bounds]
            place = [self.poses.pose, self.poses.rows[slot]]
            launch(
                detect_mesh,
                contacts.particles,
                [*shape, *place, radius, before, x, slot, contacts.slots, margin],
                [contacts.surface, contacts.depth],
                device=self.device,
                grain=1024,
            )


COLLIDER = Mesh
