"""Measures that are shown beside the picture, taken so seldom that they cost little of the simulation's time."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from pliant.studio.lane import Lane

# Shortest time between two measures [s], and the largest share of the time that one may take.
PERIOD = 0.1
STAGE_PERIOD = 1.0
SHARE = 0.1


class Meter:
    """Energy, contacts, times of stages, and the errors of lanes against the reference."""

    def __init__(self) -> None:
        self.contacts = 0
        self.asleep: int | None = None
        self.energy: dict[str, float] | None = None
        self.stages: dict[str, float] = {}
        self._next = 0.0
        self._next_stages = 0.0

    def measure(self, lanes: list[Lane], reference: int, *, now: bool = False) -> None:
        """Measure if it is time to."""
        begin = time.perf_counter()
        self.energy = None
        if (begin < self._next and not now) or not lanes or lanes[0].sim is None:
            return
        lead = lanes[0].sim
        found = lead.diagnostics()
        energy = {"kinetic": found.kinetic, "elastic": found.elastic, "potential": found.potential}
        if all(np.isfinite(list(energy.values()))):
            self.energy = {name: float(value) for name, value in energy.items()}
        between = lead.body_contacts.read(lead.state, lead.dt)
        self.contacts = len(lead.contacts.read()) + int((between.depth > 0.0).sum())
        self.asleep = int(lead.sleeping.asleep().sum()) if lead.sleeping.active else None
        if len(lanes) > 1:
            compare_lanes(lanes, reference)
        taken = time.perf_counter() - begin
        self._next = begin + max(PERIOD, taken / SHARE)

    def measure_stages(self, lane: Lane) -> None:
        """Measure the times of the stages if it is time to; this runs a frame outside of the program."""
        begin = time.perf_counter()
        if begin < self._next_stages or lane.sim is None:
            return
        self.stages = {name: round(ms, 4) for name, ms in lane.sim.stage_times(1).items()}
        self._next_stages = begin + max(STAGE_PERIOD, (time.perf_counter() - begin) / SHARE)

    def stats(self) -> dict[str, Any]:
        found: dict[str, Any] = {"contacts": self.contacts}
        if self.asleep is not None:
            found["asleep"] = self.asleep
        if self.energy is not None:
            found["energy"] = self.energy
        return found


def compare_lanes(lanes: list[Lane], reference: int) -> None:
    """Write each lane's error: the RMS distance of what is seen to that of the reference [m]."""
    target = lanes[reference].sim
    for k, lane in enumerate(lanes):
        lane.error = None
        if k == reference or lane.sim is None or target is None:
            continue
        apart = []
        names = {body.name for body in target.model.bodies}
        for body in lane.bodies:
            if body.name in names and body.seen_vertices == target.body(body.name).seen_vertices:
                apart.append(lane.sim.surface_positions(body.name) - target.surface_positions(body.name))
        if apart:
            rms = float(np.sqrt(np.mean(np.sum(np.concatenate(apart).astype(np.float64) ** 2, axis=1))))
            lane.error = rms if np.isfinite(rms) else None
