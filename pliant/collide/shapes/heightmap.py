"""Ground given by a grid of heights: everything below its surface is solid."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import warp as wp

from pliant.collide.collider import DEFAULT_SURFACE, Collider, Surface, described_fields, numbers, split_surface
from pliant.collide.contacts import Contacts
from pliant.collide.ground_kernels import MapData, detect_ground
from pliant.collide.heights import MOST_HEIGHTS, hills, read_heights
from pliant.collide.poses import Poses
from pliant.errors import InputError
from pliant.launch import launch
from pliant.settings import Described, check_value, setting
from pliant.vectors import FARTHEST, as_bounded, as_positive

# Heights along a side that pictures show at most.
MOST_DRAWN = 513


@dataclasses.dataclass(frozen=True)
class HeightSource(Described):
    """Where the heights of a scene file come from."""

    file: str = setting("", "heights: a picture (black 0, white 1), .npy, .csv or .txt, as seen from the scene file")
    kind: str = setting("hills", "heights made by formula", choices=("hills",))
    amplitude: float = setting(0.3, "of hills: greatest height above or depth below zero", unit="m", above=0.0)
    wavelength: float = setting(2.0, "of hills: typical distance from one to the next", unit="m", above=0.0)
    seed: int = setting(0, "of hills: what they follow from", low=0, high=2**31 - 1)
    cells: int | None = setting(None, "of hills: cells along the longer side; chosen if not given", low=1, high=4095)


@dataclasses.dataclass(frozen=True)
class Heightmap(Collider):
    """Ground over a level rectangle; below its surface it is solid, however deep.

    Seen from above, with x to the right and z downwards, the grid lies as it is written: row 0 is at the least z,
    column 0 at the least x. Between the points heights are bilinear. Beyond the rectangle there is nothing, unless
    `extend` carries its rim on. Depths are measured along the local normal.

    Args:
        heights: at the points of a grid (rows, columns), at least 2 x 2.
        size: of the rectangle along x and z [m].
        position: the middle of the rectangle, where the height is zero [m].
        scale: what the heights are multiplied with [m].
        extend: the heights of the rim go on outside.
        surface: friction and restitution.
    """

    kind: ClassVar[str] = "heightmap"
    plural: ClassVar[str] = "heightmaps"
    meaning: ClassVar[str] = "ground given by a grid of heights, solid below"
    sources: ClassVar[tuple[str, ...]] = ("file", "kind")

    heights: np.ndarray = dataclasses.field(repr=False, compare=False)
    size: tuple[float, float] = numbers((10.0, 10.0), 2, "lengths along x and z [m]")
    position: tuple[float, float, float] = numbers(
        (0.0, 0.0, 0.0), 3, "middle of the rectangle, at the height zero [m]"
    )
    scale: float = setting(1.0, "what the heights are multiplied with", unit="m")
    extend: bool = setting(False, "the heights of the rim go on outside")
    surface: Surface = DEFAULT_SURFACE
    name: str = ""
    # stands for the heights where colliders are compared or fingerprinted
    digest: str = dataclasses.field(init=False, default="")

    def __post_init__(self) -> None:
        heights = _as_heights(self.heights, self.where("heights"))
        scale = check_value(Heightmap.__dataclass_fields__["scale"], self.scale, self.where("scale"))
        position = as_bounded(self.position, FARTHEST, self.where("position"), "m")
        if not hasattr(self.size, "__len__") or isinstance(self.size, str) or len(self.size) != 2:
            raise InputError(f"{self.size!r} is no size", self.where("size"), "Give two lengths, along x and z")
        size = tuple(as_positive(length, self.where("size"), "m") for length in self.size)
        if max(size) > FARTHEST:
            raise InputError(f"{list(size)} m is out of range", self.where("size"), f"Give at most {FARTHEST:g} m")
        if not isinstance(self.extend, bool):
            raise InputError(f"{self.extend!r} is no truth value", self.where("extend"), "Give true or false")
        highest = abs(scale) * float(np.abs(heights).max()) + abs(position[1])
        if highest > FARTHEST:
            raise InputError(
                f"it reaches {highest:g} m", self.where("scale"), f"Give heights and a scale of at most {FARTHEST:g} m"
            )
        heights.setflags(write=False)
        shape = f"{heights.shape}".encode()
        values = {"heights": heights, "scale": scale, "position": position, "size": size}
        values["digest"] = hashlib.sha256(shape + heights.tobytes()).hexdigest()
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def table_keys(cls) -> list[dataclasses.Field]:
        return [*described_fields(HeightSource), *described_fields(cls)]

    @classmethod
    def from_table(cls, table: Mapping[str, Any], name: str, folder: Path) -> Self:
        rest, surface = split_surface(table)
        size = tuple(rest.pop("size", cls.size))
        own = {field.name for field in described_fields(HeightSource)}
        source = {key: rest.pop(key) for key in own & rest.keys()}
        if "file" in source:
            extra = sorted(source.keys() - {"file"})
            if extra:
                raise InputError(
                    "this key is for hills, and a file is given",
                    f"collider '{name}'.{extra[0]}",
                    "Leave one of them out",
                )
            try:
                heights = read_heights(folder / source["file"])
            except InputError as error:
                raise InputError(f"{error.where}: {error.what}", f"collider '{name}'.file", error.remedy) from error
        else:
            source.pop("kind", None)
            heights = hills(size, **source)
        return cls(heights, size, **rest, surface=surface, name=name)

    @property
    def cell(self) -> np.ndarray:
        """Lengths of a cell along x and z [m]."""
        rows, columns = self.heights.shape
        return np.array(self.size) / (columns - 1, rows - 1)

    @property
    def corner(self) -> np.ndarray:
        """Least x and z of the rectangle [m]."""
        return np.array([self.position[0], self.position[2]]) - 0.5 * np.array(self.size)

    def world_heights(self) -> np.ndarray:
        """Heights in the world [m] (rows, columns)."""
        return self.position[1] + self.scale * self.heights

    def ground(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Heights below or above points (n, 3) [m] (n,), and slopes along x and z (n, 2); the rim goes on outside."""
        points = np.asarray(points, np.float64)
        rows, columns = self.heights.shape
        raw = (points[:, [0, 2]] - self.corner) / self.cell
        last = np.array([columns - 1, rows - 1])
        place = np.clip(raw, 0.0, last)
        first = np.minimum(place.astype(np.int64), last - 1)
        u, w = (place - first).T
        j, i = first.T
        # only the corners that are needed: a grid may have millions
        around = ((i, j), (i, j + 1), (i + 1, j), (i + 1, j + 1))
        a, b, c, d = (self.position[1] + self.scale * self.heights[corner] for corner in around)
        slope = np.stack([(b - a) * (1 - w) + (d - c) * w, (c - a) * (1 - u) + (d - b) * u], axis=1) / self.cell
        slope[(raw < 0.0) | (raw > last)] = 0.0
        return (a * (1 - u) + b * u) * (1 - w) + (c * (1 - u) + d * u) * w, slope

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distance of points (n, 3) [m] along the local normal, negative inside (n,).

        That is exact on an even slope and of first order elsewhere. Beyond the rectangle, where nothing is solid, it
        is the distance to the rectangle's rim, or to its side below.
        """
        points = np.asarray(points, np.float64)
        height, slope = self.ground(points)
        found = (points[:, 1] - height) / np.sqrt(1.0 + (slope**2).sum(axis=1))
        if self.extend:
            return found
        past = np.abs(points[:, [0, 2]] - [self.position[0], self.position[2]]) - 0.5 * np.array(self.size)
        beyond = np.linalg.norm(np.maximum(past, 0.0), axis=1)
        return np.where(beyond > 0.0, np.hypot(beyond, np.maximum(points[:, 1] - height, 0.0)), found)

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """The surface, with at most `MOST_DRAWN` points along a side."""
        rows, columns = (min(count, MOST_DRAWN) for count in self.heights.shape)
        x = np.linspace(0.0, self.size[0], columns) + self.corner[0]
        z = np.linspace(0.0, self.size[1], rows) + self.corner[1]
        points = np.zeros((rows * columns, 3))
        points[:, 0], points[:, 2] = np.tile(x, rows), np.repeat(z, columns)
        points[:, 1] = self.ground(points)[0]
        first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
        corners = first[:, None] + np.array([0, columns, columns + 1, 1])
        return points, np.concatenate([corners[:, [0, 1, 2]], corners[:, [0, 2, 3]]]).astype(np.int32)

    def data(self) -> MapData:
        """The grid as the kernels see it."""
        data = MapData()
        data.corner_x, data.corner_z = self.corner.tolist()
        data.cell_x, data.cell_z = self.cell.tolist()
        data.rows, data.columns = self.heights.shape
        data.extend = int(self.extend)
        data.friction = self.surface.friction
        data.static_friction = self.surface.holding
        data.restitution = self.surface.restitution
        data.margin = self.surface.margin
        return data

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], poses: Poses, device: str) -> HeightmapDetector:
        return HeightmapDetector(colliders, slots, device)


def _as_heights(values: Any, where: str) -> np.ndarray:
    """A grid of finite numbers, float64 and our own."""
    try:
        heights = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the heights are not numbers ({error})", where, "Give rows of numbers, all as long"
        ) from error
    if heights.ndim != 2 or min(heights.shape) < 2:
        raise InputError(
            f"the heights have the shape {heights.shape}", where, "Give a grid of at least 2 rows and 2 columns"
        )
    if heights.size > MOST_HEIGHTS:
        raise InputError(f"there are {heights.size:,} heights", where, f"Give at most {MOST_HEIGHTS:,}")
    bad = np.argwhere(~np.isfinite(heights))
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError(
            f"the height in row {row}, column {column} is {heights[row, column]}", where, "Give finite numbers"
        )
    return heights


class HeightmapDetector:
    """Heightmaps on a device, one launch each."""

    def __init__(self, maps: Sequence[Heightmap], slots: Sequence[int], device: str):
        self.device = device
        self.slots = list(slots)
        self.maps = [map.data() for map in maps]
        self.heights = [
            wp.array(map.world_heights().astype(np.float32), dtype=float, ndim=2, device=device) for map in maps
        ]

    def detect(self, before: wp.array, x: wp.array, radius: wp.array, margin: float, contacts: Contacts) -> None:
        for slot, data, heights in zip(self.slots, self.maps, self.heights, strict=True):
            launch(
                detect_ground,
                contacts.particles,
                [data, heights, radius, before, x, slot, contacts.slots, margin],
                [contacts.surface, contacts.depth],
                device=self.device,
            )


COLLIDER = Heightmap
