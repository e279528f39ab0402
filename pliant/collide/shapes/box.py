"""A box in any position: a block that particles stay out of, or a room that they stay in."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import warp as wp

from pliant.collide.collider import DEFAULT_SURFACE, Surface, numbers
from pliant.collide.movable import Movable
from pliant.collide.movable_detector import MovableDetector
from pliant.collide.pose_kernels import Pose, own_place, own_place_before, velocity_at
from pliant.collide.poses import Poses
from pliant.errors import InputError
from pliant.mesh.arrays import rotation as rotation_matrix
from pliant.motion import axis_angle
from pliant.physics.contact import PlaneData
from pliant.settings import setting
from pliant.vectors import FARTHEST, as_bounded, as_vector

wp.set_module_options({"enable_backward": False})

# Corners of each face, counter-clockwise seen from outside, as bits: 1 is high x, 2 high y, 4 high z.
FACES = np.array([[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]])
SMALLEST = 1e-6
LONGEST_GLIDE = 5.0
"""The longest way of a frame, in diagonals, that a box glides."""


@wp.struct
class BoxData:
    """A box as the kernels see it; the columns of `axes` are its own axes at the build."""

    half: wp.vec3
    axes: wp.mat33
    inside: int
    friction: float
    static_friction: float
    restitution: float
    margin: float


@dataclasses.dataclass(frozen=True)
class Box(Movable):
    """A box about `position`.

    A particle that went in is put back on the face it came through; one that was inside before, on the nearest. One
    that would pass through the whole box in a step is stopped too.

    Args:
        size: lengths along its own x, y and z [m].
        position: its centre [m].
        rotation: axis times angle in degrees, about the centre.
        inside: it is a room: particles stay inside it, and all around is solid.
        surface: friction and restitution.
        path: keys of its motion; see `MotionPath`.
    """

    kind: ClassVar[str] = "box"
    plural: ClassVar[str] = "boxes"
    meaning: ClassVar[str] = "a box that bodies stay out of, or a room that they stay in"

    size: tuple[float, float, float] = numbers((1.0, 1.0, 1.0), 3, "lengths along its own x, y and z [m]")
    position: tuple[float, float, float] = numbers((0.0, 0.0, 0.0), 3, "its centre [m]")
    rotation: tuple[float, float, float] = numbers((0.0, 0.0, 0.0), 3, "axis times angle in degrees, about its centre")
    inside: bool = setting(False, "bodies stay inside it, as in a room")
    surface: Surface = DEFAULT_SURFACE
    name: str = ""
    path: Any = dataclasses.field(default=None, repr=False, compare=False)
    # stands for the path where colliders are compared or fingerprinted
    path_digest: str = dataclasses.field(init=False, default="")

    def __post_init__(self) -> None:
        size = as_bounded(self.size, FARTHEST, self.where("size"), "m")
        if min(size) < SMALLEST:
            raise InputError(
                f"{list(size)} m is no size of a box", self.where("size"), f"Give lengths of at least {SMALLEST:g} m"
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "position", as_bounded(self.position, FARTHEST, self.where("position"), "m"))
        object.__setattr__(self, "rotation", as_vector(self.rotation, self.where("rotation")))
        if not isinstance(self.inside, bool):
            raise InputError(f"{self.inside!r} is no truth value", self.where("inside"), "Give true or false")
        self.settle_path()

    @property
    def reach(self) -> float:
        return LONGEST_GLIDE * float(np.linalg.norm(self.size))

    def posed(self, turn: np.ndarray, center: np.ndarray, radius: float) -> Box:
        degrees = np.degrees(axis_angle(turn @ self.axes()))
        rotation = self.rotation if np.array_equal(turn, np.eye(3)) else tuple(degrees.tolist())
        return dataclasses.replace(self, position=tuple(center.tolist()), rotation=rotation)

    def axes(self) -> np.ndarray:
        """Its own axes in the world, as columns (3, 3)."""
        degrees = float(np.linalg.norm(self.rotation))
        if degrees == 0.0:
            return np.eye(3)
        return rotation_matrix(np.array(self.rotation) / degrees, math.radians(degrees), self.where("rotation"))

    def distance(self, points: np.ndarray) -> np.ndarray:
        local = (np.asarray(points, np.float64) - np.array(self.position)) @ self.axes()
        past = np.abs(local) - 0.5 * np.array(self.size)
        outside = np.linalg.norm(np.maximum(past, 0.0), axis=-1)
        found = outside + np.minimum(past.max(axis=-1), 0.0)
        return -found if self.inside else found

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """The faces; of a room, seen from outside, only the one that is its floor."""
        bits = np.arange(8)[:, None] >> np.arange(3) & 1
        axes = self.axes()
        corners = np.array(self.position) + ((bits - 0.5) * self.size) @ axes.T
        faces = FACES
        if self.inside:
            # the up-components of the outward normals, in the order of the faces
            up = np.stack([-axes[1], axes[1]], axis=1).reshape(-1)
            faces = FACES[[int(np.argmin(up))]][:, ::-1]
        return corners, np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]]).astype(np.int32)

    def data(self) -> BoxData:
        """The box as the kernels see it."""
        data = BoxData()
        data.half = tuple(0.5 * length for length in self.size)
        data.axes = wp.mat33(*self.axes().reshape(-1).tolist())
        data.inside = int(self.inside)
        data.friction = self.surface.friction
        data.static_friction = self.surface.holding
        data.restitution = self.surface.restitution
        data.margin = self.surface.margin
        return data

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], poses: Poses, device: str) -> MovableDetector:
        return MovableDetector(detect_boxes, [c.data() for c in colliders], BoxData, slots, poses, device)


@wp.struct
class Face:
    """A plane in the box's own frame, dot(normal, p) = offset, if one was found."""

    normal: wp.vec3
    offset: float
    found: int


@wp.func
def along(axis: int, value: float) -> wp.vec3:
    """A vector along one of three axes."""
    v = wp.vec3(0.0, 0.0, 0.0)
    if axis == 0:
        v = wp.vec3(value, 0.0, 0.0)
    elif axis == 1:
        v = wp.vec3(0.0, value, 0.0)
    else:
        v = wp.vec3(0.0, 0.0, value)
    return v


@wp.func
def side_of(value: float) -> float:
    """The side of a middle on which a value lies: 1 or -1."""
    side = float(1.0)
    if value < 0.0:
        side = -1.0
    return side


@wp.func
def nearest_face(p: wp.vec3, half: wp.vec3) -> Face:
    """The face of a box that is nearest to a point inside."""
    axis = int(0)
    nearest = wp.abs(p[0]) - half[0]
    for k in range(1, 3):
        past = wp.abs(p[k]) - half[k]
        if past > nearest:
            nearest = past
            axis = k
    face = Face()
    face.normal = along(axis, side_of(p[axis]))
    face.offset = half[axis]
    face.found = 1
    return face


@wp.func
def entered_face(before: wp.vec3, p: wp.vec3, half: wp.vec3, slack: float) -> Face:
    """The face through which a straight way goes into a box, if it does and began outside.

    The way is behind a pair of faces from its entry to its exit; it is inside the box where it is behind all three
    pairs, so the last entry counts. `slack` [m] lets what rests on a face begin a rounding error behind it.
    """
    face = Face()
    face.found = 0
    entry = float(-1.0)
    exit = float(1.0)
    apart = int(0)
    for k in range(3):
        side = side_of(before[k])
        from_face = side * before[k] - half[k]
        to_face = side * p[k] - half[k]
        if from_face >= -slack:
            if to_face >= 0.0:
                apart = 1
            elif to_face < from_face:
                t = wp.max(from_face, 0.0) / (wp.max(from_face, 0.0) - to_face)
                if t > entry:
                    entry = t
                    face.normal = along(k, side)
                    face.offset = half[k]
                    face.found = 1
        way = p[k] - before[k]
        if way != 0.0:
            exit = wp.min(exit, (side_of(way) * half[k] - before[k]) / way)
    if apart != 0 or entry > exit:
        face.found = 0
    return face


@wp.func
def face_from_outside(before: wp.vec3, p: wp.vec3, half: wp.vec3, margin: float, slack: float) -> Face:
    """The plane that keeps a particle out of a box."""
    nearest = wp.vec3(
        wp.clamp(p[0], -half[0], half[0]), wp.clamp(p[1], -half[1], half[1]), wp.clamp(p[2], -half[2], half[2])
    )
    apart = wp.length(p - nearest)
    face = entered_face(before, p, half, slack)
    if face.found == 0 and apart == 0.0:
        face = nearest_face(p, half)
    if face.found == 0 and apart <= margin:
        face.normal = (p - nearest) / apart
        face.offset = wp.dot(face.normal, nearest)
        face.found = 1
    return face


@wp.func
def face_from_inside(p: wp.vec3, half: wp.vec3, margin: float) -> Face:
    """The plane that keeps a particle in a box; past an edge or a corner it leads straight back there."""
    nearest = wp.vec3(
        wp.clamp(p[0], -half[0], half[0]), wp.clamp(p[1], -half[1], half[1]), wp.clamp(p[2], -half[2], half[2])
    )
    apart = wp.length(p - nearest)
    face = Face()
    face.found = 0
    if apart > 0.0:
        face.normal = (nearest - p) / apart
        face.offset = wp.dot(face.normal, nearest)
        face.found = 1
    else:
        closest = nearest_face(p, half)
        if closest.offset - wp.dot(closest.normal, p) <= margin:
            face.normal = -closest.normal
            face.offset = -closest.offset
            face.found = 1
    return face


@wp.kernel
def detect_boxes(
    start: int,
    boxes: wp.array(dtype=BoxData),
    slot_of: wp.array(dtype=int),
    row_of: wp.array(dtype=int),
    poses: wp.array(dtype=Pose),
    radius: wp.array(dtype=float),
    before: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    count: int,
    slots: int,
    margin: float,
    surface_out: wp.array(dtype=PlaneData),
    depth_out: wp.array(dtype=float),
):
    i = start + wp.tid()
    for k in range(count):
        box = boxes[k]
        pose = poses[row_of[k]]
        to_box = wp.transpose(box.axes)
        p = to_box * own_place(pose, x[i])
        off = radius[i] + box.margin
        face = Face()
        if box.inside != 0:
            room = wp.vec3(
                wp.max(box.half[0] - off, 0.0), wp.max(box.half[1] - off, 0.0), wp.max(box.half[2] - off, 0.0)
            )
            face = face_from_inside(p, room, margin)
        else:
            slack = 1.0e-6 * (wp.length(pose.center) + wp.length(box.half))
            came = to_box * own_place_before(pose, before[i])
            face = face_from_outside(came, p, box.half, margin + off, slack)
            face.offset = face.offset + off
        slot = i * slots + slot_of[k]
        if face.found != 0:
            depth = wp.max(face.offset - wp.dot(face.normal, p), 0.0)
            plane = PlaneData()
            plane.normal = pose.turn * (box.axes * face.normal)
            plane.offset = face.offset + wp.dot(plane.normal, pose.center)
            plane.velocity = velocity_at(pose, box.axes * (p + depth * face.normal))
            plane.friction = box.friction
            plane.static_friction = box.static_friction
            plane.restitution = box.restitution
            surface_out[slot] = plane
            depth_out[slot] = depth
        else:
            depth_out[slot] = -1.0


COLLIDER = Box
