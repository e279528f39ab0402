"""Timing of device work: medians, with the device's own clock on CUDA."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import warp as wp

from pliant.launch import record


def seconds_per_call(issue: Callable[[], object], device: str, repeats: int = 20) -> float:
    """Median seconds of the launches that `issue` makes, captured into a graph on CUDA, recorded on the CPU."""
    issue()
    if device == "cpu":
        with record() as program:
            issue()
        program.replay()
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            program.replay()
            times.append(time.perf_counter() - begin)
        return float(np.median(times))
    wp.synchronize_device(device)
    with wp.ScopedCapture(device=device) as capture:
        issue()
    for _ in range(3):
        wp.capture_launch(capture.graph)
    times = []
    for _ in range(repeats):
        begin, end = (wp.Event(device, enable_timing=True) for _ in range(2))
        wp.record_event(begin)
        wp.capture_launch(capture.graph)
        wp.record_event(end)
        wp.synchronize_event(end)
        times.append(wp.get_event_elapsed_time(begin, end) * 1e-3)
    return float(np.median(times))


@wp.func_native("((float4*)target.data)[i] = ((const float4*)source.data)[i];")
def copy_four(source: wp.array(dtype=wp.vec4), target: wp.array(dtype=wp.vec4), i: int): ...


@wp.kernel(module="unique", grid_stride=False, enable_backward=False)
def copy_words(source: wp.array(dtype=wp.vec4), target_out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    copy_four(source, target_out, i)


def copy_bandwidth(device: str, megabytes: int = 512) -> float:
    """Bytes read and written per second by a large copy; on CUDA by a kernel that moves 16 bytes a thread."""
    count = megabytes * 2**20 // 16
    a, b = (wp.zeros(count, dtype=wp.vec4, device=device) for _ in range(2))
    if device == "cpu":
        seconds = _host_copy(a.numpy(), b.numpy())
    else:
        seconds = seconds_per_call(lambda: wp.launch(copy_words, count, inputs=[a, b], device=device), device)
    return 2.0 * 16.0 * count / seconds


def _host_copy(a: np.ndarray, b: np.ndarray) -> float:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        np.copyto(b, a)
        times.append(time.perf_counter() - begin)
    return float(np.median(times))
