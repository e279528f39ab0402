"""How every method must run: recorded as eager, without allocation, the same bits in every run, on any threads."""

import numpy as np
import pytest
import warp as wp
from bodies import bits, build, deformed, make_scene, make_sim

from pliant import Material, shapes
from pliant.launch import launch

SOFT = Material(young=2e4, poisson=0.4, damping=0.004)


def drop(variant, device="cpu", substeps=9, mesh=None, pull=False):
    """A spinning body, one side led, the other about to hit the floor: everything that takes part in a frame."""
    mesh = variant.taken(shapes.box((0.6, 0.4, 0.4), (5, 3, 3))) if mesh is None else mesh
    scene = make_scene(
        mesh, SOFT, gravity=(0, -9.81, 0), frame_dt=0.012, substeps=substeps,
        body={"position": (0, 0.21, 0), "velocity": (0.2, -1.0, 0), "angular_velocity": (1, 0, 2)}, **variant.keywords,
    )  # fmt: skip
    scene.add_plane(restitution=0.2)
    scene.pin("body", lambda x: x[:, 0] < -0.29, path=[(0.0, (0, 0, 0)), (0.1, (0.02, 0.03, 0))])
    sim = build(scene, device)
    if pull:
        sim.pull("body", 0, (0.5, 0.5, 0.5), 20.0)
    return sim


@pytest.mark.parametrize("pull", [False, True], ids=["free", "pulled"])
@pytest.mark.parametrize("substeps", [8, 9], ids=["even", "odd"])
def test_recorded_equals_eager(variant, substeps, pull, device):
    recorded, eager = drop(variant, device, substeps, pull=pull), drop(variant, device, substeps, pull=pull)
    frames = 4 if not variant.is_slow else 2
    for _ in range(frames):
        recorded.frame()
        eager._tell_of_pins()
        eager.pins.aim(eager.time + eager.frame_dt)
        eager._issue_frame()
        eager.frame_number += 1
    assert bits(recorded) == bits(eager)


def test_changing_substeps_records_again(variant, device):
    """The program of a frame is made again when the number of substeps changes, and the old one is still good."""
    sim, other = drop(variant, device, 8), drop(variant, device, 8)
    for count in (8, 11, 8):
        sim.substeps = other.substeps = count
        sim.frame()
        other.forget_programs()
        other.frame()
    assert bits(sim) == bits(other)


def test_fused_equals_stages(variant, device):
    """One launch per substep gives what predict, detect and resolve give one after the other."""
    fused, staged = drop(variant, device), drop(variant, device)
    if not fused.can_fuse():
        pytest.skip("this variant has no fused step")
    staged.can_fuse = lambda: False
    fused.frame(8)
    staged.frame(8)
    touching = (fused.positions()[:, 1] < 1e-6).sum()
    assert touching > 3
    if device == "cpu":
        assert bits(fused) == bits(staged)
    else:
        np.testing.assert_allclose(fused.positions(), staged.positions(), atol=1e-6)
    assert set(fused.contact_list().particle) == set(staged.contact_list().particle)


def allocations(action):
    """What Warp allocated during an action, as its report says; empty if nothing."""
    reports = []
    with wp.ScopedMemoryTracker("frame", report_func=reports.append) as tracker:
        tracker.clear()
        action()
    text = reports[-1].split("Total allocations:")[1].split("Peak usage:")[0]
    return text.strip()


def test_a_frame_allocates_nothing(variant, device):
    sim = drop(variant, device, pull=True)
    sim.frame(2)
    # the tracker sees what there is to see
    assert allocations(lambda: wp.zeros(7, dtype=float, device=device))
    # moving pins are aimed from the host, which stages their targets; a checked and an unchecked frame are two programs
    sim.frame(12)
    sim.frame(3, check=False)
    sim.frame()
    sim.frame(3, check=False)
    sim.pins.aim = lambda time: None
    assert allocations(lambda: sim.frame(3, check=device == "cpu")) == ""


def test_measuring_stages_changes_nothing(variant, device):
    measured, plain = drop(variant, device, pull=True), drop(variant, device, pull=True)
    measured.frame()
    times = measured.stage_times(1)
    assert times and all(t >= 0 for t in times.values())
    measured.frame()
    plain.frame(2)
    assert bits(measured) == bits(plain)


def test_unchecked_frames_are_the_same_frames(variant, device):
    checked, unchecked = drop(variant, device), drop(variant, device)
    checked.frame(4)
    unchecked.frame(3, check=False)
    unchecked.frame()
    assert bits(checked) == bits(unchecked)


def test_same_run_same_bits(variant, device):
    runs = []
    for _ in range(2):
        sim = drop(variant, device)
        sim.frame(5 if not variant.is_slow else 2)
        runs.append(bits(sim))
    assert runs[0] == runs[1]


def test_threads_do_not_matter(variant, set_threads, monkeypatch):
    """One CPU thread or two or three, the bits are the same; every launch that can be split is split here."""
    monkeypatch.setitem(launch.__kwdefaults__, "grain", 1)
    mesh = variant.taken(shapes.box((0.6, 0.4, 0.4), (18, 11, 11)))
    runs = []
    for threads in (1, 2, 3):
        set_threads(threads)
        sim = drop(variant, mesh=mesh, substeps=15)
        sim.frame(3 if not variant.is_slow else 1)
        runs.append(bits(sim))
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.cuda
def test_cpu_and_cuda_agree(variant, cuda):
    """The same scene moves the same on both devices, to rounding that a second of vibration has hardly amplified."""
    sims = [drop(variant, name) for name in ("cpu", cuda)]
    for sim in sims:
        sim.frame(20)
    # the implicit solve stops at a residual, not at rounding, and its contacts switch on and off
    loose = 50 if variant.is_slow else 1
    np.testing.assert_allclose(sims[0].positions(), sims[1].positions(), atol=2e-5 * loose)
    np.testing.assert_allclose(sims[0].velocities(), sims[1].velocities(), atol=2e-3 * loose)
    first, second = (sim.diagnostics() for sim in sims)
    assert second.energy == pytest.approx(first.energy, rel=1e-4 * loose)


@pytest.mark.cuda
def test_cpu_and_cuda_agree_in_free_flight(variant, cuda):
    mesh = variant.taken(shapes.ball(0.4, 5))
    ends = []
    for name in ("cpu", cuda):
        sim = make_sim(mesh, SOFT, frame_dt=0.01, substeps=10, device=name, **variant.keywords)
        sim.set_state("body", deformed(mesh, 0.1))
        sim.frame(20)
        ends.append(sim.positions())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)
