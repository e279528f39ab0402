"""The outcome of a run as a table for people and as JSON for programs.

Keys of the JSON:

    scene                   name of the scene
    finite                  whether every number stayed finite and sensible; false after a blow-up
    completed               whether all frames asked for were simulated
    frames                  frames simulated since the start of the scene
    seconds                 simulated time [s]
    ms_per_frame            wall time of a frame [ms], mean over this process without its first frame
    real_time_factor        simulated time over wall time, of the same frames
    substeps, dt            steps per frame and time step [s]
    stable_dt               largest stable step at rest [s]; null if there is no limit
    plan                    what was chosen for stability and accuracy, and why; null if nothing was
    max_stretch             longest spring over its rest length, worst of all frames
    volume_ratio            volume of all tets over that at rest, at the end
    volume_ratio_min/_max   the same, smallest and largest of all frames measured
    inverted                most tets that were inside out at once
    momentum_drift          |p - p0 - M g t| / (M largest speed), worst while all bodies fly freely; null where none
                            does: with pins, pulls or drag, or near a plane from the start
    energy_first/_last      kinetic, elastic and gravity's energy together, at the start and the end [J]
    max_speed               fastest particle of all frames measured [m/s]
    bodies, particles, springs, triangles, tets   sizes
    device, device_name, threads                  where it ran
    stage_ms                time of each stage per frame, measured one by one after the run [ms]
    seconds_to_first_frame  from the start of the process to the end of its first frame [s]
    startup_s               the same in parts: import, load, build, first_frame
    versions                pliant, python, numpy, warp
    notes                   what the user should know
    blow_up                 null, or the frame, body, element and steps of a blow-up
    outputs                 files that were written, by kind
"""

from __future__ import annotations

import math
import os
import platform
import time
from typing import Any

import numpy as np
import warp as wp

from pliant.launch import cpu_name, thread_count
from pliant.run.log import RunLog
from pliant.simulation import Simulation

_loaded = time.time()


def process_start() -> float:
    """When this process began [s since 1970], as exactly as the system tells (10 ms on Linux)."""
    try:
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        with open("/proc/uptime") as file:
            uptime = float(file.read().split()[0])
        return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return _loaded


def versions() -> dict[str, str]:
    """The versions that a measurement or a run depends on."""
    from pliant import __version__

    return {
        "pliant": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "warp": wp.config.version,
    }


def summarize(sim: Simulation, log: RunLog, name: str, asked: int) -> dict[str, Any]:
    """Everything about a run that its simulation and its log tell."""
    rows = log.rows
    first, last = rows[0], rows[-1]
    energy = lambda row: row["kinetic"] + row["elastic"] + row["potential"]
    device = wp.get_device(sim.device)
    model = sim.model
    return {
        "scene": name,
        "finite": all(row["finite"] for row in rows),
        "completed": sim.frame_number >= asked,
        "frames": sim.frame_number,
        "seconds": sim.time,
        "ms_per_frame": None,
        "real_time_factor": None,
        "substeps": sim.substeps,
        "dt": sim.dt,
        "stable_dt": sim.stable_dt if math.isfinite(sim.stable_dt) else None,
        "plan": _plan(sim),
        "max_stretch": max(row["max_stretch"] for row in rows),
        "volume_ratio": last["volume_ratio"],
        "volume_ratio_min": min(row["volume_ratio"] for row in rows),
        "volume_ratio_max": max(row["volume_ratio"] for row in rows),
        "inverted": max(row["inverted"] for row in rows),
        "momentum_drift": log.momentum_drift(),
        "energy_first": energy(first),
        "energy_last": energy(last),
        "max_speed": max(row["max_speed"] for row in rows),
        "bodies": len(model.bodies),
        "particles": model.particles.count,
        "springs": model.springs.count,
        "triangles": model.triangles.count,
        "tets": model.tets.count,
        "device": sim.device,
        "device_name": cpu_name() if sim.device == "cpu" else device.name,
        "threads": thread_count(),
        "stage_ms": {},
        "seconds_to_first_frame": None,
        "startup_s": {},
        "versions": versions(),
        "notes": list(dict.fromkeys(sim.notes)),
        "blow_up": None,
        "outputs": {},
    }


def _plan(sim: Simulation) -> dict[str, Any] | None:
    """The plan as JSON takes it."""
    if sim.plan is None:
        return None
    plain = lambda value: None if isinstance(value, float) and not math.isfinite(value) else value
    return {key: plain(value) for key, value in sim.plan.as_dict().items()}


def summary_table(values: dict[str, Any]) -> str:
    """The summary as text."""
    rows: list[tuple[str, str]] = []
    add = lambda label, text: rows.append((label, text))
    v = values
    sizes = [f"{v[kind]:,} {kind}" for kind in ("bodies", "particles", "springs", "triangles", "tets") if v[kind]]
    add("scene", f"{v['scene']}: {', '.join(sizes)}")
    add(
        "device", f"{v['device']} ({v['device_name']}" + (f", {v['threads']} threads)" if v["device"] == "cpu" else ")")
    )
    limit = "no limit" if v["stable_dt"] is None else f"stable up to {v['stable_dt'] * 1e3:.4g} ms"
    add("step", f"{v['substeps']} substeps of {v['dt'] * 1e3:.4g} ms ({limit})")
    add("frames", f"{v['frames']} = {v['seconds']:.4g} s simulated")
    if v["ms_per_frame"] is not None:
        add("speed", f"{v['ms_per_frame']:.3g} ms per frame, {v['real_time_factor']:.3g} x real time")
    if v["seconds_to_first_frame"] is not None:
        parts = ", ".join(f"{key.replace('_', ' ')} {value:.2f}" for key, value in v["startup_s"].items())
        add("first frame", f"{v['seconds_to_first_frame']:.2f} s after the start ({parts})")
    for name, ms in v["stage_ms"].items():
        add(f"  {name}", f"{ms:.3f} ms per frame")
    add("energy", f"{v['energy_first']:.5g} J at the start, {v['energy_last']:.5g} J at the end")
    drift = v["momentum_drift"]
    add("momentum drift", "not defined (contact, pins or drag)" if drift is None else f"{drift:.2g} in free flight")
    if v["tets"]:
        low, high = v["volume_ratio_min"], v["volume_ratio_max"]
        add("volume", f"{v['volume_ratio']:.4f} of that at rest (between {low:.4f} and {high:.4f})")
    if v["springs"]:
        add("worst stretch", f"{v['max_stretch']:.4g} times the rest length")
    if v["inverted"]:
        add("inside out", f"up to {v['inverted']} tets")
    width = max(len(label) for label, _ in rows)
    lines = [f"{label:<{width}}  {text}" for label, text in rows]
    lines += [f"note: {note}" for note in v["notes"]]
    return "\n".join(lines)
