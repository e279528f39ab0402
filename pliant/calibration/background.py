"""Calibrations of the bodies of a scene, made beside each other in threads."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pliant.assembly import BodyEntry
from pliant.calibration.calibrate import Result, calibrate, why_not

THREADS = 2


def calibrated(entries: Sequence[BodyEntry], scene: str) -> list[BodyEntry]:
    """Bodies of a scene with their calibrations, and notes of them.

    Args:
        entries: the bodies, each of which may say how it is calibrated.
        scene: how the others are: 'auto' where it takes little time, 'on' however long it takes and with a note where
            it cannot be, 'off' not at all.
    """
    jobs: list[int | str | None] = []
    firsts: dict[tuple, int] = {}
    todo: list[tuple[BodyEntry, bool]] = []
    for entry in entries:
        how = entry.calibrate or scene
        reason = why_not(entry.method, entry.source, entry.spec) if how != "off" else ""
        if how == "off" or reason:
            jobs.append(f"not calibrated: {reason}" if how == "on" else None)
            continue
        # copies of a body are looked at once
        parts = (getattr(entry.spec, f.name) for f in dataclasses.fields(entry.spec) if f.name != "mesh")
        key = (id(entry.source), entry.method, how, *parts)
        if key not in firsts:
            firsts[key] = len(todo)
            todo.append((entry, how == "on"))
        jobs.append(firsts[key])
    with ThreadPoolExecutor(THREADS) as pool:
        work = [pool.submit(calibrate, entry.method, entry.source, entry.spec, asked=asked) for entry, asked in todo]
        results = [one.result() for one in work]
    out = []
    for entry, job in zip(entries, jobs, strict=True):
        if isinstance(job, int):
            out.append(_with(entry, results[job]))
        else:
            out.append(entry if job is None else _noted(entry, job))
    return out


def _with(entry: BodyEntry, result: Result) -> BodyEntry:
    """A body with what came of its calibration."""
    spec = dataclasses.replace(entry.spec, calibration=result.calibration)
    return _noted(dataclasses.replace(entry, spec=spec), result.note())


def _noted(entry: BodyEntry, note: str) -> BodyEntry:
    return dataclasses.replace(entry, notes=[*entry.notes, note])
