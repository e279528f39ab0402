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


def first_frame(device: str, cache: str, folder: str) -> tuple[float, float]:
    """Seconds the new process says it took to its first frame, and those of the whole process as seen from outside."""
    summary = Path(folder) / "summary.json"
    command = [sys.executable, "-m", "pliant", "run", "drop", "--frames", "1", "--no-film", "--quiet"]
    command += ["--device", device, "--out", str(Path(folder) / "out"), "--json", str(summary)]
    begin = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, "WARP_CACHE_PATH": cache}, capture_output=True, text=True)
    elapsed = time.perf_counter() - begin
    if done.returncode:
        raise PliantError(f"the run failed: {done.stderr.strip()}")
    return float(json.loads(summary.read_text())["seconds_to_first_frame"]), elapsed


def run(report: Report, device: str, quick: bool = False) -> None:
    cold, warm = [], []
    for _ in range(1 if quick else 3):
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as folder:
            cold.append(first_frame(device, cache, folder))
            warm += [first_frame(device, cache, folder) for _ in range(1 if quick else 3)]
    for name, times in (("kernels not compiled yet", cold), ("kernels compiled before", warm)):
        report.add(name, device, "s_to_first_frame", float(np.median([t[0] for t in times])), runs=len(times))
        report.add(name, device, "s_whole_process", float(np.median([t[1] for t in times])), runs=len(times))
