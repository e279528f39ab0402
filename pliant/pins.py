"""Particles held in place or led along a path."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.model.state import State
from pliant.vectors import FARTHEST, as_bounded, as_float

wp.set_module_options({"enable_backward": False})


@dataclasses.dataclass(frozen=True)
class PinPath:
    """A translation over time: straight between keys, at rest before the first and after the last.

    Attributes:
        times: [s], rising (k,).
        offsets: translation from the place at build [m] (k, 3).
    """

    times: np.ndarray
    offsets: np.ndarray

    @staticmethod
    def make(keys: Sequence[Sequence[Any]], where: str) -> PinPath:
        """From keys such as ``[(0.0, (0, 0, 0)), (2.0, (1, 0, 0))]``."""
        times: list[float] = []
        offsets = []
        if isinstance(keys, str) or not hasattr(keys, "__iter__"):
            raise InputError(
                f"{keys!r} is not a path", where, "Give a list of keys, such as [[0, [0, 0, 0]], [2, [1, 0, 0]]]"
            )
        for k, key in enumerate(keys):
            if not hasattr(key, "__len__") or len(key) != 2:
                raise InputError(
                    f"key {k} is {key!r}",
                    where,
                    "Give pairs of a time in s and an offset in m, such as [2.0, [1, 0, 0]]",
                )
            time = as_float(key[0])
            if time is None or not np.isfinite(time):
                raise InputError(f"the time of key {k} is {key[0]!r}", where, "Give a finite number of seconds")
            times.append(time)
            offsets.append(as_bounded(key[1], FARTHEST, f"{where}[{k}]", "m"))
        if not times:
            raise InputError("the path has no keys", where, "Give at least one key")
        if any(b <= a for a, b in itertools.pairwise(times)):
            raise InputError(f"the times {times} do not rise", where, "Sort the keys by time")
        return PinPath(np.array(times), np.array(offsets))

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", np.asarray(self.times, np.float64))
        object.__setattr__(self, "offsets", np.asarray(self.offsets, np.float64))
        if self.offsets.shape != (len(self.times), 3):
            raise InputError(
                f"{len(self.times)} times and offsets of the shape {self.offsets.shape}",
                "PinPath",
                "Give one offset of three numbers for each time",
            )

    def later(self, by: float) -> PinPath:
        """The same path, begun later by a time [s]."""
        return PinPath(self.times + by, self.offsets)

    def at(self, time: float) -> np.ndarray:
        """Offset at a time [m] (3,)."""
        return np.array([np.interp(time, self.times, self.offsets[:, axis]) for axis in range(3)])


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
    """All pinned particles of a simulation; changing the set, which `version` counts, is a matter between frames."""

    def __init__(self, mass: np.ndarray, device: str):
        self.device = device
        self.mass = mass
        self.home: dict[int, np.ndarray] = {}
        self.paths: dict[int, PinPath | None] = {}
        self.version = 0
        self._upload()

    @property
    def count(self) -> int:
        return len(self.home)

    def add(self, particles: Sequence[int] | np.ndarray, home: np.ndarray, path: PinPath | None, state: State) -> None:
        inv_mass = state.inv_mass.numpy()
        for i, place in zip(particles, home, strict=True):
            self.home[int(i)] = np.asarray(place, float)
            self.paths[int(i)] = path
            inv_mass[int(i)] = 0.0
        state.inv_mass.assign(inv_mass)
        self._upload()

    def remove(self, particles: Sequence[int] | np.ndarray, state: State) -> None:
        inv_mass = state.inv_mass.numpy()
        for i in particles:
            self.home.pop(int(i), None)
            self.paths.pop(int(i), None)
            inv_mass[int(i)] = 1.0 / self.mass[int(i)]
        state.inv_mass.assign(inv_mass)
        self._upload()

    def _upload(self) -> None:
        order = sorted(self.home)
        self.order = order
        self.version += 1
        self.particle = wp.array(np.array(order or [0], np.int32), dtype=int, device=self.device)
        self.target = wp.array(
            np.array([self.home[i] for i in order] or [np.zeros(3)], np.float32), dtype=wp.vec3, device=self.device
        )
        self._moving = [k for k, i in enumerate(order) if self.paths[i] is not None]

    def aim(self, time: float) -> None:
        """Set the targets for a time [s]; nothing to do while all pins stand still."""
        if not self._moving:
            return
        targets = np.array([self.home[i] for i in self.order])
        offsets: dict[int, np.ndarray] = {}
        for k in self._moving:
            path = self.paths[self.order[k]]
            assert path is not None
            if id(path) not in offsets:
                offsets[id(path)] = path.at(time)
            targets[k] += offsets[id(path)]
        self.target.assign(targets.astype(np.float32))

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
            "home": np.array([self.home[i] for i in self.order]).reshape(-1, 3),
            "path": np.array([-1 if p is None else number[id(p)] for p in paths], np.int64),
        }
        for k, p in enumerate(distinct):
            saved[f"times{k}"], saved[f"offsets{k}"] = p.times, p.offsets
        return saved

    def load(self, saved: dict[str, np.ndarray]) -> None:
        count = int(saved["path"].max(initial=-1)) + 1
        distinct = [PinPath(saved[f"times{k}"], saved[f"offsets{k}"]) for k in range(count)]
        self.home = {int(i): h for i, h in zip(saved["particle"], saved["home"], strict=True)}
        self.paths = {
            int(i): None if k < 0 else distinct[int(k)] for i, k in zip(saved["particle"], saved["path"], strict=True)
        }
        self._upload()
