"""launch(): split over threads, recorded, and what goes wrong in a thread comes out."""

import threading
import time

import numpy as np
import pytest
import warp as wp
from bodies import bits, jittered, make_sim, shuffled

from pliant import InputError, Material, shapes
from pliant import launch as launching
from pliant.launch import Recording, copy, launch, pick_device, record, thread_count

wp.set_module_options({"enable_backward": False})


@wp.kernel
def add_one(start: int, values: wp.array(dtype=int), visits_out: wp.array(dtype=int)):
    i = start + wp.tid()
    visits_out[i] = values[i] + 1


@wp.kernel
def fill(value: float, values_out: wp.array(dtype=float)):
    values_out[wp.tid()] = value


@wp.kernel
def scatter_edges(
    start: int, pairs: wp.array(dtype=wp.vec2i), x: wp.array(dtype=wp.vec3), f_out: wp.array(dtype=wp.vec3)
):
    """The naive way: every edge adds to both its ends. Warp's CPU atomics are plain additions."""
    k = start + wp.tid()
    i = pairs[k][0]
    j = pairs[k][1]
    d = x[j] - x[i]
    wp.atomic_add(f_out, i, d)
    wp.atomic_add(f_out, j, -d)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_every_item_is_visited_once(threads, size, set_threads):
    set_threads(threads)
    values = wp.array(np.arange(size, dtype=np.int32), dtype=int, device="cpu")
    out = wp.zeros(size, dtype=int, device="cpu")
    launch(add_one, size, [values], [out], device="cpu", grain=1)
    np.testing.assert_array_equal(out.numpy(), np.arange(size) + 1)


def test_items_before_first_are_left_alone(set_threads):
    set_threads(2)
    values = wp.zeros(100, dtype=int, device="cpu")
    out = wp.zeros(100, dtype=int, device="cpu")
    launch(add_one, 60, [values], [out], device="cpu", first=30, grain=1)
    np.testing.assert_array_equal(np.flatnonzero(out.numpy()), np.arange(30, 90))


def test_nothing_to_do():
    out = wp.zeros(1, dtype=int, device="cpu")
    launch(add_one, 0, [out], [out], device="cpu")
    assert out.numpy()[0] == 0


def test_split_only_where_it_pays(monkeypatch, set_threads):
    set_threads(4)
    runs = []
    monkeypatch.setattr(launching._workers, "run", lambda parts: runs.append(len(parts)) or [p() for p in parts])
    values = wp.zeros(1000, dtype=int, device="cpu")
    for grain, parts in ((1, 4), (300, 3), (500, 2), (501, None)):
        runs.clear()
        launch(add_one, 1000, [values], [wp.zeros_like(values)], device="cpu", grain=grain)
        assert runs == ([parts] if parts else [])
    numbers = wp.zeros(1000, dtype=float, device="cpu")
    launch(fill, 1000, [2.0], [numbers], device="cpu", grain=1)
    assert runs == [] and (numbers.numpy() == 2).all()


def test_a_naive_scatter_races_and_ours_does_not(set_threads):
    """On a shuffled mesh two threads write the same particles; gathering over patches gives the bits of one thread."""
    mesh, _ = shuffled(shapes.box(1.0, 20), 3)
    pairs = wp.array(
        mesh.edges()[np.random.default_rng(0).permutation(len(mesh.edges()))], dtype=wp.vec2i, device="cpu"
    )
    x = wp.array(jittered(mesh).vertices.astype(np.float32), dtype=wp.vec3, device="cpu")

    def scatter(*parts):
        f = wp.zeros(len(x), dtype=wp.vec3, device="cpu")
        for first, count in parts:
            wp.launch(scatter_edges, count, inputs=[first, pairs, x], outputs=[f], device="cpu")
        return f.numpy()

    # Whether two threads lose an addition is luck, and no test can demand bad luck. But both write the same particles,
    # and which of the two comes first already decides the sum.
    half = len(pairs) // 2
    ends = pairs.numpy()
    assert np.intersect1d(ends[:half], ends[half:]).size > 0.9 * len(x)
    assert (scatter((0, half), (half, len(pairs) - half)) != scatter((half, len(pairs) - half), (0, half))).any()

    runs = []
    for threads in (1, 2, 2, 2):
        set_threads(threads)
        sim = make_sim(mesh, Material(young=1e5, damping=0.001), gravity=(0, -9.81, 0), frame_dt=0.01, substeps=10)
        sim.set_state("body", jittered(mesh, 0.1).vertices)
        sim.frame(2)
        runs.append(bits(sim))
    assert runs[0] == runs[1] == runs[2] == runs[3]


def test_recordings_replay():
    a = wp.zeros(50, dtype=int, device="cpu")
    b = wp.zeros(50, dtype=int, device="cpu")
    with record() as recording:
        launch(add_one, 50, [a], [b], device="cpu", grain=1)
        copy(a, b)
    assert isinstance(recording, Recording) and len(recording) == 2
    # recorded, not run
    assert (a.numpy() == 0).all() and (b.numpy() == 0).all()
    for _ in range(3):
        recording.replay()
    assert (a.numpy() == 3).all() and (b.numpy() == 3).all()
    # what is in the arrays when it is replayed counts, not what was in them then
    a.fill_(10)
    recording.replay()
    assert (b.numpy() == 11).all()


def test_after_a_recording_launches_run_again():
    a = wp.zeros(5, dtype=int, device="cpu")
    with pytest.raises(RuntimeError, match="inside"), record():
        raise RuntimeError("inside")
    launch(add_one, 5, [a], [a], device="cpu")
    assert (a.numpy() == 1).all()


def raising(message):
    def part():
        raise ValueError(message)

    return part


@pytest.mark.parametrize("where", [0, 1, 2])
def test_errors_in_threads_surface(where):
    """Whichever part fails, the error comes out, the other parts are finished first, and the next launch is whole."""
    done = []

    def slow():
        time.sleep(0.05)
        done.append(1)

    parts = [slow, slow, slow]
    parts[where] = raising(f"part {where}")
    with pytest.raises(ValueError, match=f"part {where}"):
        launching._workers.run(parts)
    assert len(done) == 2
    done.clear()
    launching._workers.run([slow, slow, slow])
    assert len(done) == 3


def test_two_python_threads_may_launch_at_once(set_threads):
    """Two simulations in two threads of one program do not mistake each other's parts for their own."""
    set_threads(2)
    failures = []

    def work(seed):
        values = wp.array(np.arange(4000, dtype=np.int32) + seed, dtype=int, device="cpu")
        for _ in range(100):
            out = wp.zeros(4000, dtype=int, device="cpu")
            launch(add_one, 4000, [values], [out], device="cpu", grain=1)
            if (out.numpy() != np.arange(4000) + seed + 1).any():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_thread_count(monkeypatch):
    monkeypatch.setenv("PLIANT_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.setenv("PLIANT_THREADS", "")
    assert thread_count() >= 1
    for bad in ("0", "-2", "two", "1.5"):
        monkeypatch.setenv("PLIANT_THREADS", bad)
        with pytest.raises(InputError, match=f"PLIANT_THREADS is '{bad}'.*whole number"):
            thread_count()


def test_devices():
    assert pick_device("cpu") == "cpu"
    assert pick_device("auto") in ("cpu", "cuda:0")
    with pytest.raises(InputError, match=r"no device called 'gpu'.*auto, cpu"):
        pick_device("gpu")
    with pytest.raises(InputError, match="cuda:77"):
        pick_device("cuda:77")
