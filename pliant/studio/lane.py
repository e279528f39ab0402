"""One simulation that the studio runs: the scene itself, or in a comparison one way of simulating it."""

from __future__ import annotations

import dataclasses
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.carry import carry_state
from pliant.collide.shapes.sphere import Sphere
from pliant.errors import InputError
from pliant.model.model import Body
from pliant.scene_file import LoadedScene
from pliant.simulation import Simulation
from pliant.studio.document import Document
from pliant.studio.packing import Packer

POKE = "poke"
PINS = "pins."
# Part of a new measurement in the shown cost: about the last twenty frames count.
SMOOTHING = 0.1


@dataclasses.dataclass(frozen=True)
class Ball:
    """The ball that bodies are poked with [m]."""

    position: tuple[float, float, float]
    radius: float


@dataclasses.dataclass(frozen=True)
class Variant:
    """A way of simulating the scene: what differs from it."""

    name: str = ""
    method: str | None = None
    matching: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] | None = None

    def of(self, document: Document) -> Document:
        if self.method is None and not self.matching and not self.settings:
            return document
        return document.variant(self.method, self.matching, self.settings)


class Lane:
    """A simulation with what is needed to show it.

    Attributes:
        name: what the caption says.
        sim: None while the scene has no body.
        cost: smoothed time of a frame [ms].
        error: RMS distance to the reference [m]; None where it is not known.
        warnings: what was said when it was built.
    """

    def __init__(self, name: str, sim: Simulation | None, loaded: LoadedScene | None):
        self.name = name
        self.loaded = loaded
        self.cost: float | None = None
        self.error: float | None = None
        self.warnings: list[str] = []
        self.hold(sim)

    def hold(self, sim: Simulation | None) -> None:
        """Take a simulation, as it is now."""
        self.sim = sim
        self.packer = None if sim is None else Packer(sim)
        self.start = None if sim is None else moment_of(sim)
        self._start_frame = 0 if sim is None else sim.frame_number

    @staticmethod
    def build(variant: Variant, document: Document, device: str, poke: Ball | None, old: Lane | None = None) -> Lane:
        """A lane of the document as it is now, which goes on from an old one where it can."""
        loaded = variant.of(document).loaded()
        scene = loaded.scene
        methods = list(dict.fromkeys(entry.method for entry in scene.bodies))
        name = variant.name or " + ".join(methods) or "empty"
        if not scene.bodies:
            return Lane(name, None, loaded)
        if poke is not None:
            scene.add_collider(Sphere(poke.radius, poke.position, name=POKE))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            sim = scene.build(device)
        lane = Lane(name, sim, loaded)
        lane.warnings = [str(warning.message) for warning in heard]
        if old is not None and old.sim is not None:
            carried = carry_state(old.sim, sim)
            lane.cost = old.cost
            # bodies that go on where they are do not start inside of anything
            lane.warnings = [text for text in lane.warnings if not any(f"'{name}' starts" in text for name in carried)]
        return lane

    def frame(self) -> None:
        if self.sim is None:
            return
        begin = time.perf_counter()
        self.sim.frame()
        taken = (time.perf_counter() - begin) * 1e3
        self.cost = taken if self.cost is None else self.cost + SMOOTHING * (taken - self.cost)

    def rewind(self) -> bool:
        """Back to the state in which the lane began; False if it began in the middle of a run."""
        if self.sim is None or self.start is None or self._start_frame != 0:
            return False
        restore(self.sim, 0, self.start)
        return True

    @property
    def bodies(self) -> list[Body]:
        return [] if self.sim is None else self.sim.model.bodies

    def body_number(self, name: str) -> int:
        names = [body.name for body in self.bodies]
        if name not in names:
            raise InputError(f"no body {name!r}", "body", f"The bodies are: {', '.join(names) or 'none'}")
        return names.index(name)


def moment_of(sim: Simulation) -> dict[str, np.ndarray]:
    """A copy of all that changes while a simulation runs."""
    pins = {f"{PINS}{name}": array.copy() for name, array in sim.pins.saved().items()}
    return pins | {name: array.numpy().copy() for name, array in sim.arrays().items()}


def restore(sim: Simulation, frame: int, moment: dict[str, np.ndarray]) -> bool:
    """Let a simulation go on from a moment; False, and nothing changes, if its bodies have changed since."""
    arrays = sim.arrays()
    pins = {name.removeprefix(PINS): array for name, array in moment.items() if name.startswith(PINS)}
    moment = {name: array for name, array in moment.items() if not name.startswith(PINS)}
    if arrays.keys() != moment.keys() or any(len(arrays[name]) != len(moment[name]) for name in arrays):
        return False
    for name, array in arrays.items():
        array.assign(moment[name])
    # inverse masses of pinned particles are among the arrays: the pins must be those of that moment, too
    sim.pins.load(pins)
    sim.frame_number = frame
    sim.forget_programs()
    sim.follow_restored()
    return True
