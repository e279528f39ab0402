"""What a run measured, frame by frame: one line of JSON each, so that a resumed run goes on with it.

Nothing in it depends on the clock on the wall: the same run writes the same bytes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.files import cannot_write, make_parent
from pliant.simulation import Simulation

# Elements that are measured in a small share of the time of a frame.
ELEMENTS_PER_FRAME = 60_000


class RunLog:
    """Measures a simulation now and then, and keeps the rows in a ``.jsonl`` file.

    Args:
        path: file to write.
        sim: what to measure.
        after_frame: keep the rows up to this frame of an earlier run; none if None.
    """

    def __init__(self, path: Path, sim: Simulation, after_frame: int | None = None):
        self.sim = sim
        elements = sim.model.springs.count + sim.model.tets.count + sim.model.triangles.count
        self.every = max(1, math.ceil(elements / ELEMENTS_PER_FRAME))
        self.rows: list[dict[str, Any]] = _read(path, after_frame) if after_frame is not None else []
        self._worst = 1.0
        make_parent(path)
        try:
            # written beside and renamed, so that a kill here leaves the old rows for the next attempt
            temporary = path.with_name(path.name + ".tmp")
            temporary.write_text("".join(map(_line, self.rows)))
            os.replace(temporary, path)
            self._file = open(path, "a")
        except OSError as error:
            raise cannot_write(path, error) from error

    def look(self, force: bool = False, guard: bool = True) -> None:
        """Measure this frame if it is its turn, or if it must be.

        The guard saw every frame's longest spring; after a blow-up what it saw is not this frame's.
        """
        sim = self.sim
        if sim.frame_number and guard:
            self._worst = max(self._worst, sim.guard.read().stretch)
        due = force or sim.frame_number % self.every == 0
        if not due or (self.rows and self.rows[-1]["frame"] >= sim.frame_number):
            return
        now = sim.diagnostics()
        row = {
            "frame": sim.frame_number,
            "time": sim.time,
            "kinetic": now.kinetic,
            "elastic": now.elastic,
            "potential": now.potential,
            "momentum": [float(p) for p in now.momentum],
            "angular_momentum": [float(p) for p in now.angular_momentum],
            "volume_ratio": now.volume_ratio,
            "max_stretch": max(now.max_stretch, self._worst),
            "mean_stretch": now.mean_stretch,
            "inverted": now.inverted,
            "max_speed": now.max_speed,
            "clearance": self._clearance(),
            "finite": now.finite,
        }
        self._worst = 1.0
        self.rows.append(row)
        self._file.write(_line(row))
        self._file.flush()

    def _clearance(self) -> float:
        """Distance of the nearest particle to any plane [m]; 1e30 if there is none."""
        x = self.sim.state.x.numpy()
        pipeline = self.sim.pipeline
        near = (pipeline.collider_now(slot).distance(x) for slot in range(pipeline.slots))
        return min((float(distance.min()) for distance in near), default=1e30)

    def close(self) -> None:
        self._file.close()

    def momentum_drift(self) -> float | None:
        """How far linear momentum strayed from gravity's impulse, over total mass times the largest speed seen.

        Counted while the bodies fly freely, that is until a particle may have touched a plane for the first
        time. None where nothing flies freely: with pins, pulls, wind, drag or buoyancy, or in contact from the start.
        """
        sim = self.sim
        if sim.pins.count or sim.pulls.active or sim.wind.active or any(b.material.drag > 0 for b in sim.model.bodies):
            return None
        if any(getattr(b.options.get("volume"), "gas_density", None) is not None for b in sim.model.bodies):
            return None
        mass = sim.diagnostics().mass
        gravity = np.array(sim.world.gravity)
        first, fastest, worst, seen = self.rows[0], 0.0, 0.0, False
        for before, row in zip(self.rows, self.rows[1:], strict=False):
            step = row["time"] - before["time"]
            # a stretched body may also spring back faster than it moves now
            reach = 2.0 * (max(before["max_speed"], row["max_speed"]) + float(np.linalg.norm(gravity)) * step) * step
            if before["clearance"] <= reach:
                break
            impulse = mass * gravity * (row["time"] - first["time"])
            worst = max(worst, float(np.linalg.norm(np.array(row["momentum"]) - first["momentum"] - impulse)))
            fastest, seen = max(fastest, row["max_speed"]), True
        return worst / (mass * fastest) if seen and fastest > 0 else None


def without_infinities(value: Any) -> Any:
    """The same with None for numbers that are not finite, which JSON cannot hold."""
    if isinstance(value, dict):
        return {key: without_infinities(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [without_infinities(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _line(row: dict[str, Any]) -> str:
    return json.dumps(without_infinities(row), allow_nan=False) + "\n"


def _read(path: Path, after_frame: int) -> list[dict[str, Any]]:
    """The rows up to a frame; a torn last line is dropped."""
    rows: list[dict[str, Any]] = []
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_text(errors="replace").splitlines():
            try:
                row = json.loads(line)
                if row["frame"] > after_frame:
                    break
            except (ValueError, KeyError, TypeError):
                break
            rows.append({key: math.nan if value is None else value for key, value in row.items()})
    if not rows:
        raise InputError("the measurements of the run so far are missing", str(path), "Start again without --resume")
    return rows
