"""Particles held in place, led along a motion, or led by a collider."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.model.state import State
from pliant.motion import MotionPath

wp.set_module_options({"enable_backward": False})

Pose = Callable[[int, float], tuple[np.ndarray, np.ndarray]]
"""Where a collider (its slot) is at a time [s]: a matrix A (3, 3) and a vector b (3,) [m], as in `MotionPath.at`."""


class Lead(Protocol):
    """What leads pinned particles."""

    def moved(self, points: np.ndarray, time: float) -> np.ndarray:
        """Places at build (n, 3) [m] as they are at a time [s]."""
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class ColliderLead:
    """Leads particles as a collider goes.

    Attributes:
        slot: number of the collider.
        matrix, shift: where the collider was when they were attached to it, as in `Pose`.
        pose: tells where the collider is.
    """

    slot: int
    matrix: np.ndarray
    shift: np.ndarray
    pose: Pose

    def moved(self, points: np.ndarray, time: float) -> np.ndarray:
        matrix, shift = self.pose(self.slot, time)
        own = np.linalg.solve(self.matrix, (points - self.shift).T).T
        return own @ matrix.T + shift


def no_pose(slot: int, time: float) -> tuple[np.ndarray, np.ndarray]:
    """The pose of what does not move."""
    return np.eye(3), np.zeros(3)


@wp.kernel
def lead_pins(
    start: int,
    particle: wp.array(dtype=int),
    target: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    inv_duration: float,
    v_out: wp.array(dtype=wp.vec3),
):
    """The velocity that brings each pinned particle to its target at the end of the frame."""
    k = start + wp.tid()
    i = particle[k]
    v_out[i] = inv_duration * (target[k] - x[i])


class Pins:
    """All pinned particles of a simulation; changing the set, which `version` counts, is a matter between frames.

    Attributes:
        home: where each pinned particle was when it was pinned [m].
        paths: what leads it; None where it stands still.
        pose: where colliders are, for particles that are led by one.
    """

    def __init__(self, mass: np.ndarray, device: str, pose: Pose = no_pose):
        self.device = device
        self.mass = mass
        self.pose = pose
        self.home: dict[int, np.ndarray] = {}
        self.paths: dict[int, Lead | None] = {}
        self.version = 0
        self._upload()

    @property
    def count(self) -> int:
        return len(self.home)

    def add(self, particles: Sequence[int] | np.ndarray, home: np.ndarray, path: Lead | None, state: State) -> None:
        inv_mass = state.inv_mass.numpy()
        for i, place in zip(np.asarray(particles).tolist(), np.asarray(home, float), strict=True):
            self.home[i] = place
            self.paths[i] = path
        inv_mass[np.asarray(particles, np.int64)] = 0.0
        state.inv_mass.assign(inv_mass)
        self._upload()

    def remove(self, particles: Sequence[int] | np.ndarray, state: State) -> None:
        inv_mass = state.inv_mass.numpy()
        for i in np.asarray(particles).tolist():
            self.home.pop(i, None)
            self.paths.pop(i, None)
            inv_mass[i] = 1.0 / self.mass[i]
        state.inv_mass.assign(inv_mass)
        self._upload()

    def move(self, particles: np.ndarray, places: np.ndarray) -> None:
        """New places [m] (n, 3) for pinned particles, which get there during the next frame and leave their paths."""
        for i, place in zip(np.asarray(particles).tolist(), np.asarray(places, float), strict=True):
            self.home[i] = place
            self.paths[i] = None
        self._sort()
        self.target.assign(self._homes.astype(np.float32))

    def is_pinned(self, particles: np.ndarray) -> np.ndarray:
        """Which of some particles are pinned (n,) bool."""
        return np.isin(particles, np.array(self.order, np.int64))

    def led_by(self, slot: int) -> list[int]:
        """The particles that a collider leads."""
        return [i for i, path in self.paths.items() if isinstance(path, ColliderLead) and path.slot == slot]

    def _upload(self) -> None:
        self.order = sorted(self.home)
        self.version += 1
        self.particle = wp.array(np.array(self.order or [0], np.int32), dtype=int, device=self.device)
        self._sort()
        homes = self._homes if self.order else np.zeros((1, 3))
        self.target = wp.array(homes.astype(np.float32), dtype=wp.vec3, device=self.device)

    def _sort(self) -> None:
        """Put the rows that one lead moves together."""
        self._homes = np.array([self.home[i] for i in self.order]).reshape(-1, 3)
        rows: dict[int, tuple[Lead, list[int]]] = {}
        for k, i in enumerate(self.order):
            path = self.paths[i]
            if path is not None:
                rows.setdefault(id(path), (path, []))[1].append(k)
        self._moving = [(path, np.array(index)) for path, index in rows.values()]

    def targets(self, time: float) -> np.ndarray:
        """Where the pinned particles are led to at a time [s], in the order of their numbers [m] (n, 3)."""
        found = self._homes.copy()
        for path, rows in self._moving:
            found[rows] = path.moved(self._homes[rows], time)
        return found

    def led_on(self, begin: float, end: float) -> np.ndarray:
        """The particles that are led from one place to another between two times [s] (k,)."""
        found = [np.zeros(0, np.int64)]
        for path, rows in self._moving:
            moved = path.moved(self._homes[rows], begin) != path.moved(self._homes[rows], end)
            found.append(np.array(self.order, np.int64)[rows[moved.any(axis=1)]])
        return np.concatenate(found)

    def aim(self, time: float) -> None:
        """Set the targets for a time [s]; nothing to do while all pins stand still."""
        if self._moving:
            self.target.assign(self.targets(time).astype(np.float32))

    def lead(self, state: State, duration: float) -> None:
        if self.home:
            launch(
                lead_pins,
                self.count,
                [self.particle, self.target, state.x, 1.0 / duration],
                [state.v],
                device=self.device,
            )

    def saved(self) -> dict[str, np.ndarray]:
        """Everything a checkpoint needs, as arrays."""
        paths = [self.paths[i] for i in self.order]
        distinct = list({id(p): p for p in paths if p is not None}.values())
        number = {id(p): k for k, p in enumerate(distinct)}
        saved = {
            "particle": np.array(self.order, np.int64),
            "home": self._homes.copy(),
            "path": np.array([-1 if p is None else number[id(p)] for p in paths], np.int64),
        }
        for k, p in enumerate(distinct):
            if isinstance(p, MotionPath):
                saved |= {f"{name}{k}": array for name, array in p.arrays().items()}
            elif isinstance(p, ColliderLead):
                saved |= {f"slot{k}": np.array([p.slot]), f"matrix{k}": p.matrix, f"shift{k}": p.shift}
        return saved

    def load(self, saved: Mapping[str, np.ndarray]) -> None:
        """Take over what `saved` returned; files of before pins could turn hold times and offsets alone."""
        count = int(saved["path"].max(initial=-1)) + 1
        distinct = [self._lead(saved, k) for k in range(count)]
        self.home = {int(i): h for i, h in zip(saved["particle"], saved["home"], strict=True)}
        self.paths = {
            int(i): None if k < 0 else distinct[int(k)] for i, k in zip(saved["particle"], saved["path"], strict=True)
        }
        self._upload()

    def _lead(self, saved: Mapping[str, np.ndarray], k: int) -> Lead:
        if f"slot{k}" in saved:
            return ColliderLead(int(saved[f"slot{k}"][0]), saved[f"matrix{k}"], saved[f"shift{k}"], self.pose)
        given = {name: saved[f"{name}{k}"] for name in _MOTION if f"{name}{k}" in saved}
        return MotionPath(**given)


_MOTION = tuple(field.name for field in dataclasses.fields(MotionPath))


def wrong_pins(pins: Mapping[str, np.ndarray], particles: int, colliders: int) -> str:
    """What is wrong with saved pins of a model with so many particles and colliders; empty if nothing is."""
    count = len(pins.get("particle", ()))
    paths = int(pins["path"].max(initial=-1)) + 1 if "path" in pins and pins["path"].dtype.kind in "iu" else 0
    shapes: dict[str, tuple[int, ...]] = {"particle": (count,), "home": (count, 3), "path": (count,)}
    for k in range(paths):
        if f"slot{k}" in pins:
            shapes |= {f"slot{k}": (1,), f"matrix{k}": (3, 3), f"shift{k}": (3,)}
            continue
        keys = len(pins.get(f"times{k}", ()))
        wanted = {"times": (keys,), "offsets": (keys, 3), "rotations": (keys, 3), "scales": (keys, 3), "center": (3,)}
        shapes |= {f"{n}{k}": s for n, s in wanted.items() if n in ("times", "offsets") or f"{n}{k}" in pins}
    for name, shape in shapes.items():
        if name not in pins or pins[name].shape != shape or pins[name].dtype.kind not in "fiu":
            return f"the array 'pins.{name}' is missing or has the wrong shape"
    if any(not np.isfinite(pins[name]).all() for name in shapes):
        return "a place or a path of pins is not finite"
    if count and not 0 <= pins["particle"].min() <= pins["particle"].max() < particles:
        return "a particle is pinned that does not exist"
    if any(not 0 <= int(pins[f"slot{k}"][0]) < colliders for k in range(paths) if f"slot{k}" in pins):
        return "a particle is led by a collider that does not exist"
    return ""


def as_motion(path: Any, center: Any, points: np.ndarray, where: str) -> MotionPath | None:
    """The motion of some points (n, 3) [m] from keys or from a `MotionPath`; None where there is none.

    The centre of turns and scales is the middle of the points' box if none is given.
    """
    if path is None:
        if center is not None:
            raise InputError(f"the centre {center!r} has no path", f"{where}.center", "Give a path, or leave it out")
        return None
    if isinstance(path, MotionPath):
        if center is not None:
            raise InputError("a MotionPath has a centre of its own", f"{where}.center", "Leave it out")
        return path
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0)) if center is None else center
    made = MotionPath.make(path, f"{where}.path", (0.0, 0.0, 0.0) if center is None else center)
    # where nothing turns or scales, there is no centre to be rounded about
    return made if made.is_translation or center is not None else dataclasses.replace(made, center=middle)
