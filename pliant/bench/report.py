"""Rows of measurements, printed as a table and written as JSON."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import warp as wp

from pliant.files import replace_file
from pliant.launch import cpu_name, thread_count
from pliant.run.summary import versions


@dataclasses.dataclass
class Report:
    """Measurements of one bench.

    Attributes:
        bench: its name.
        rows: one measurement each, with the keys bench, case, device, metric, value, and versions and settings.
    """

    bench: str
    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def add(self, case: str, device: str, metric: str, value: Any, **settings: Any) -> None:
        """Note one measurement; the metric's name carries its unit."""
        self.rows.append(
            {
                "bench": self.bench,
                "case": case,
                "device": device_name(device),
                "metric": metric,
                "value": value,
                "settings": settings,
                "versions": versions(),
            }
        )
        text = f"{value:.4g}" if isinstance(value, float) else str(value)
        details = ", ".join(f"{k}={v}" for k, v in settings.items())
        print(f"  {case:34s} {metric:28s} {text:>12s}   {details}", flush=True)

    def save(self, path: str | Path) -> None:
        with replace_file(path) as file:
            file.write(json.dumps(self.rows, indent=1).encode())


def device_name(device: str) -> str:
    """The device in words."""
    if device == "cpu":
        return f"cpu ({cpu_name()}, {thread_count()} threads)"
    return f"{device} ({wp.get_device(device).name})"
