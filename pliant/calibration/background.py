"""Calibrations of the bodies of a scene: begun while others are prepared, joined when it is built."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from pliant.assembly import BodyEntry
from pliant.calibration.calibrate import Result, calibrate, why_not

_pool = ThreadPoolExecutor(min(os.cpu_count() or 1, 4), thread_name_prefix="calibrate")
_begun: list[Future] = []
_guard = threading.Lock()


def begin(entry: BodyEntry, scene: str) -> None:
    """Begin to calibrate a body in a thread of its own, where it will be calibrated; `calibrated` waits for it."""
    how = entry.calibrate or scene
    if how == "off" or why_not(entry.method, entry.source, entry.spec):
        return
    with _guard:
        _begun[:] = [one for one in _begun if not one.done()]
        _begun.append(_pool.submit(calibrate, entry.method, entry.source, entry.spec, asked=how == "on"))


def calibrated(entries: Sequence[BodyEntry], scene: str) -> list[BodyEntry]:
    """Bodies of a scene with their calibrations, and notes of them.

    Args:
        entries: the bodies, each of which may say how it is calibrated.
        scene: how the others are: 'auto' where it takes little time, 'on' however long it takes and with a note where
            it cannot be, 'off' not at all.
    """
    with _guard:
        begun = list(_begun)
    for one in begun:
        # what went wrong comes up again below, where it belongs to a body
        one.exception()
    found: dict[tuple, Future] = {}
    jobs: list[Future | str | None] = []
    for entry in entries:
        how = entry.calibrate or scene
        reason = why_not(entry.method, entry.source, entry.spec) if how != "off" else ""
        if how == "off" or reason:
            jobs.append(f"not calibrated: {reason}" if how == "on" else None)
            continue
        # copies of a body are looked at once
        parts = (getattr(entry.spec, f.name) for f in dataclasses.fields(entry.spec) if f.name != "mesh")
        key = (id(entry.source), entry.method, how, *parts)
        if key not in found:
            found[key] = _pool.submit(calibrate, entry.method, entry.source, entry.spec, asked=how == "on")
        jobs.append(found[key])
    out = []
    for entry, job in zip(entries, jobs, strict=True):
        if isinstance(job, Future):
            out.append(_with(entry, job.result()))
        else:
            out.append(entry if job is None else _noted(entry, job))
    return out


def _with(entry: BodyEntry, result: Result) -> BodyEntry:
    """A body with what came of its calibration."""
    spec = dataclasses.replace(entry.spec, calibration=result.calibration)
    return _noted(dataclasses.replace(entry, spec=spec), result.note())


def _noted(entry: BodyEntry, note: str) -> BodyEntry:
    return dataclasses.replace(entry, notes=[*entry.notes, note])
