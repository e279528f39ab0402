"""Recorded launches as one native program: loops, branches, copies, and threads that share them."""

import threading

import numpy as np
import pytest
import warp as wp

from pliant import launch as launching
from pliant.launch import copy, launch, record, repeat_while, run, run_if
from pliant.program import Pace, works

wp.set_module_options({"enable_backward": False})


@wp.kernel
def mix(start: int, a: wp.array(dtype=int), b_out: wp.array(dtype=int)):
    """Each item depends on others far away: a thread that runs ahead of the others would be seen."""
    i = start + wp.tid()
    n = a.shape[0]
    b_out[i] = (a[i] * 3 + a[(i * 7 + 1) % n] + a[n - 1 - i]) % 1000003


@wp.kernel
def count_down(left_inout: wp.array(dtype=int), flag_out: wp.array(dtype=int)):
    left_inout[0] = left_inout[0] - 1
    flag_out[0] = wp.where(left_inout[0] > 0, 1, 0)


@wp.kernel
def set_flag(value: int, flag_out: wp.array(dtype=int)):
    flag_out[0] = value


def mixed(values, times):
    n = len(values)
    i = np.arange(n)
    for _ in range(times):
        values = (values * 3 + values[(i * 7 + 1) % n] + values[::-1]) % 1000003
    return values


@pytest.fixture
def table():
    return np.random.default_rng(5).integers(0, 1000, 30_011)


def arrays(table):
    return [wp.array(np.asarray(table, np.int32), dtype=int, device="cpu"), wp.zeros(len(table), dtype=int)]


def test_programs_work_here():
    """Or every replay falls back to Python, in silence."""
    assert works()


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_launches_wait_for_each_other(threads, table, set_threads):
    set_threads(threads)
    a, b = arrays(table)
    with record() as recording:
        for _ in range(40):
            launch(mix, len(table), [a], [b], device="cpu", grain=16)
            launch(mix, len(table), [b], [a], device="cpu", grain=16)
    for k in range(1, 6):
        recording.replay()
        np.testing.assert_array_equal(a.numpy(), mixed(table, 80 * k))


@pytest.mark.parametrize("threads", [1, 3])
def test_loops_branches_and_copies(threads, table, set_threads):
    """A loop with a loop and a branch in it, copies of all and of some items, launches that do not split."""
    set_threads(threads)
    a, b = arrays(table)
    left, inner, going, again, never = (wp.zeros(1, dtype=int, device="cpu") for _ in range(5))

    def mix_once():
        launch(mix, len(table), [a], [b], device="cpu", grain=16)
        copy(a, b)

    def twice():
        mix_once()
        launch(count_down, 1, [], [inner, again], device="cpu")

    def body():
        inner_start()
        repeat_while(again, twice, device="cpu")
        run_if(never, mix_once, device="cpu")
        launch(count_down, 1, [], [left, going], device="cpu")

    def inner_start():
        launch(set_flag, 1, [2], [inner], device="cpu")
        launch(set_flag, 1, [1], [again], device="cpu")

    with record() as recording:
        launch(set_flag, 1, [5], [left], device="cpu")
        launch(set_flag, 1, [1], [going], device="cpu")
        repeat_while(going, body, device="cpu")
        run_if(going, mix_once, device="cpu")
        run_if(left, mix_once, device="cpu")  # it is zero in the end
        copy(b, a, 100, 50)
    recording.replay()
    np.testing.assert_array_equal(a.numpy(), mixed(table, 10))
    np.testing.assert_array_equal(b.numpy()[100:150], a.numpy()[100:150])
    # what is set from outside is seen
    never.fill_(1)
    recording.replay()
    np.testing.assert_array_equal(a.numpy(), mixed(table, 10 + 15))


def test_python_in_between(table, set_threads):
    """What only Python can do stands between two programs, also within a loop."""
    set_threads(2)
    a, b = arrays(table)
    left, going = (wp.zeros(1, dtype=int, device="cpu") for _ in range(2))
    seen = []

    def body():
        launch(mix, len(table), [a], [b], device="cpu", grain=16)
        run(lambda: seen.append(int(b.numpy()[7])))
        copy(a, b)
        launch(count_down, 1, [], [left, going], device="cpu")

    with record() as recording:
        launch(set_flag, 1, [3], [left], device="cpu")
        launch(set_flag, 1, [1], [going], device="cpu")
        repeat_while(going, body, device="cpu")
    recording.replay()
    assert seen == [int(mixed(table, k)[7]) for k in (1, 2, 3)]


def test_the_same_without_native_programs(table, monkeypatch):
    a, b = arrays(table)
    monkeypatch.setattr(launching, "works", lambda: False)
    with record() as recording:
        launch(mix, len(table), [a], [b], device="cpu")
        copy(a, b)
    recording.replay()
    np.testing.assert_array_equal(a.numpy(), mixed(table, 1))


def test_recordings_of_launches_on_cuda(table, cuda):
    """They are replayed from Python: a program calls kernels of the CPU only."""
    a = wp.array(np.asarray(table, np.int32), dtype=int, device=cuda)
    b = wp.zeros(len(table), dtype=int, device=cuda)
    with record() as recording:
        launch(mix, len(table), [a], [b], device=cuda)
        copy(a, b)
    recording.replay()
    recording.replay()
    np.testing.assert_array_equal(a.numpy(), mixed(table, 2))


def test_programs_of_several_python_threads(table, set_threads):
    """Two programs at once do not take threads from each other and wait forever."""
    set_threads(3)
    wrong = []

    def work():
        a, b = arrays(table)
        with record() as recording:
            for _ in range(20):
                launch(mix, len(table), [a], [b], device="cpu", grain=16)
                launch(mix, len(table), [b], [a], device="cpu", grain=16)
        for _ in range(8):
            recording.replay()
        if (a.numpy() != mixed(table, 320)).any():
            wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
        assert not thread.is_alive()
    assert not wrong


def test_the_faster_way_is_taken(monkeypatch):
    """And the other one is tried now and then, so that a machine which is busy for a while is not slow ever after."""
    clock = [0.0]
    monkeypatch.setattr("pliant.program.time.perf_counter", lambda: clock[0])
    pace = Pace()
    cost = {True: 2.0, False: 1.0}

    def runs(count):
        taken = []
        for _ in range(count):
            several = pace.several_are_faster()
            with pace.measured(several):
                clock[0] += cost[several]
            taken.append(several)
        return taken

    runs(60)
    assert sum(runs(100)) <= 4
    cost[True] = 0.5
    runs(250)
    assert sum(runs(100)) >= 96
    # as good as the other: no matter which, but both are looked at
    cost[True] = cost[False] = 1.0
    runs(250)
    assert 0 < sum(runs(200)) < 200
