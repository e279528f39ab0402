"""`pliant bench startup`: seconds from the start of a process to its first frame, with kernels compiled or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from pliant.bench.report import Report
from pliant.errors import PliantError

SCENES = {"shapes": "bodies made by formula", "drop": "four meshes prepared"}


def first_frame(scene: str, device: str, cache: str, folder: str) -> tuple[float, float]:
    """Seconds the new process says it took to its first frame, and those of the whole process as seen from outside."""
    summary = Path(folder) / "summary.json"
    command = [sys.executable, "-m", "pliant", "run", scene, "--frames", "1", "--no-film", "--quiet"]
    command += ["--device", device, "--out", str(Path(folder) / "out"), "--json", str(summary)]
    kept = {"WARP_CACHE_PATH": str(Path(cache) / "kernels"), "PLIANT_CACHE": str(Path(cache) / "bodies")}
    begin = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **kept}, capture_output=True, text=True)
    elapsed = time.perf_counter() - begin
    if done.returncode:
        raise PliantError(f"the run failed: {done.stderr.strip()}")
    return float(json.loads(summary.read_text())["seconds_to_first_frame"]), elapsed


def run(report: Report, device: str, quick: bool = False) -> None:
    for scene, what in SCENES.items():
        cold, warm = [], []
        for _ in range(1 if quick else 3):
            with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
                cold.append(first_frame(scene, device, cache, folder))
                warm += [first_frame(scene, device, cache, folder) for _ in range(1 if quick else 3)]
        for name, times in (("nothing kept from before", cold), ("kernels and bodies kept", warm)):
            case = f"{scene}, {name}"
            report.add(case, device, "s_to_first_frame", float(np.median([t[0] for t in times])), scene=what)
            report.add(case, device, "s_whole_process", float(np.median([t[1] for t in times])), runs=len(times))
