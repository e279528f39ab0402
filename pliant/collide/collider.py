"""What every collider offers, so that the pipeline, scenes, scene files and recordings need to know no more."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import warp as wp

from pliant.collide.contacts import Contacts
from pliant.settings import Described, check_static_friction, setting

if TYPE_CHECKING:
    from pliant.collide.poses import Poses


@dataclasses.dataclass(frozen=True)
class Surface(Described):
    """How a collider's surface behaves."""

    friction: float = setting(0.6, "Coulomb friction coefficient", low=0.0, high=100.0)
    restitution: float = setting(0.0, "share of the approach speed that is kept", low=0.0, high=1.0)
    margin: float = setting(0.0, "how far from the surface particles are kept", unit="m", low=0.0, high=1000.0)
    static_friction: float | None = setting(
        None, "coefficient up to which what does not slip is held; that of friction if not given", low=0.0, high=100.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_static_friction(self.friction, self.static_friction, f"{type(self).__name__}.static_friction")

    @property
    def holding(self) -> float:
        """Coefficient of friction up to which what does not slip is held."""
        return self.friction if self.static_friction is None else self.static_friction


DEFAULT_SURFACE = Surface()


def numbers(default: Any, count: int, meaning: str) -> Any:
    """A dataclass field of several numbers, which is a key of the collider's table in scene files."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "count": count})


def number_rows(default: Any, count: int, most: int, meaning: str) -> Any:
    """A dataclass field of up to so many rows of several numbers, which is a key likewise."""
    return dataclasses.field(default=default, metadata={"meaning": meaning, "count": count, "most": most})


class Detector(Protocol):
    """All colliders of one kind, on a device."""

    def detect(self, before: wp.array, x: wp.array, radius: wp.array, margin: float, contacts: Contacts) -> None:
        """Write the contacts of all particles with these colliders: for each its local plane and its depth [m].

        Args:
            before: where the particles come from [m]; x itself where that is not known.
            x: positions [m].
            radius: of the particles, which are balls [m].
            margin: near misses up to this count as touching, with a depth of zero [m].
            contacts: slot k of particle i is row ``i * contacts.slots + k``; a depth of -1 says that there is none.
        """
        ...


class Collider:
    """A solid that particles stay out of. Each kind is a frozen dataclass in a file of its own in `shapes`.

    Class attributes:
        kind: as in scene files. plural: for messages.
        meaning: one line of help.
        sources: keys of which a scene file must give exactly one.
        movable: whether it is a `Movable`.

    Attributes:
        name: for messages.
        surface: friction and restitution.

    Fields that are a `setting`, `numbers` or `number_rows` are keys of the scene file. The `repr` says all that changes
    the motion.
    """

    kind: ClassVar[str]
    plural: ClassVar[str]
    meaning: ClassVar[str]
    sources: ClassVar[tuple[str, ...]] = ()
    movable: ClassVar[bool] = False
    name: str
    surface: Surface

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distance of points (n, 3) [m], negative inside the solid (n,)."""
        raise NotImplementedError

    def triangles(self) -> tuple[np.ndarray, np.ndarray]:
        """What pictures show: vertices (n, 3) [m] and triangles (k, 3)."""
        return np.zeros((0, 3)), np.zeros((0, 3), np.int32)

    @classmethod
    def detector(cls, colliders: Sequence[Self], slots: Sequence[int], poses: Poses, device: str) -> Detector:
        """What finds the contacts with all colliders of this kind in a scene, each in its slot and its pose."""
        raise NotImplementedError

    @classmethod
    def table_keys(cls) -> list[dataclasses.Field]:
        """The keys of its table in scene files, besides the name and those of the surface."""
        return described_fields(cls)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], name: str, folder: Path) -> Self:
        """A collider from a table whose values have been checked one by one; `folder` is that of the scene file."""
        make: Any = cls
        rest, surface = split_surface(table, type(make.surface))
        return make(**rest, surface=surface, name=name)

    def where(self, key: str) -> str:
        """The place of a value in messages."""
        return f"collider '{self.name or self.kind}'.{key}"


def described_fields(cls: Any) -> list[dataclasses.Field]:
    """The fields of a dataclass that say what they mean."""
    return [field for field in dataclasses.fields(cls) if "meaning" in field.metadata]


def split_surface(table: Mapping[str, Any], kind: type[Surface] = Surface) -> tuple[dict[str, Any], Surface]:
    """The keys of a table that are not of the surface, and the surface."""
    names = {field.name for field in dataclasses.fields(Surface)}
    rest = {key: value for key, value in table.items() if key not in names | {"name"}}
    return rest, kind(**{key: value for key, value in table.items() if key in names})
