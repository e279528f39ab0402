"""Stiffness of shape matching: it does not know the step, follows the material, and makes no energy."""

import itertools

import numpy as np
import pytest
from bodies import build, deformed, make_scene
from matched_bodies import BAR, BOX, CLUSTERS, CUBE, MODES, ORDER, bent, best_turn, cloud, one_body, twisted

from pliant import Material, shapes
from pliant.solvers.shape_matching.rest import functions

# ---- stiffness --------------------------------------------------------------------------------------------------


def swing(rest, shape, matching, device, frames, dt):
    """How much of a displacement (n, 3) is left of a free body, frame by frame; 1 at first."""
    sim = one_body(cloud(rest), {"keep_volume": False, "damping_rate": 0.0, **matching}, device, frame_dt=dt)
    sim.set_state("body", rest + shape)
    seen = [1.0]
    for _ in range(frames):
        sim.frame()
        seen.append(float(((sim.positions() - rest) * shape).sum() / (shape**2).sum()))
    return np.array(seen)


def angular_frequency(seen, dt):
    """Of a swing, from where it passes zero [1/s]."""
    k = np.flatnonzero(seen[:-1] * seen[1:] < 0)
    times = (k + seen[k] / (seen[k] - seen[k + 1])) * dt
    return np.pi * (len(times) - 1) / (times[-1] - times[0])


def beyond(rest, shape, order):
    """What the functions of a goal cannot follow of a displacement."""
    basis = np.concatenate([np.ones((len(rest), 1)), functions(rest, order)], axis=1)
    return shape - basis @ np.linalg.lstsq(basis, shape, rcond=None)[0]


SHEAR = 0.02 * CUBE[:, [1, 0, 2]] * [1, 1, 0]
BEND = 0.05 * np.stack([0 * CUBE[:, 0], CUBE[:, 0] ** 2 - (CUBE[:, 0] ** 2).mean(), 0 * CUBE[:, 0]], axis=1)


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("mode", ["linear", "quadratic"])
def test_frequency_means_frequency(mode, beta, device):
    """What a goal follows by beta swings with frequency sqrt(1 - beta), the rest with the frequency."""
    frequency, dt = 20.0, 1 / 480
    matching = {"mode": mode, "beta": beta, "frequency": frequency}
    followed = frequency * np.sqrt(1 - beta)
    seen = swing(CUBE, SHEAR, matching, device, 500, dt)
    assert angular_frequency(seen, dt) == pytest.approx(followed, rel=1e-3)
    noise = beyond(CUBE, 0.02 * np.random.default_rng(3).normal(size=CUBE.shape), ORDER[mode])
    seen = swing(CUBE, noise, matching, device, 250, dt)
    assert angular_frequency(seen, dt) == pytest.approx(frequency, rel=1e-3)
    seen = swing(CUBE, BEND, matching, device, 500, dt)
    assert angular_frequency(seen, dt) == pytest.approx(followed if mode == "quadratic" else frequency, rel=2e-3)


def test_a_long_step_changes_a_swing_by_little(device):
    """Four steps for a radian of the swing: its frequency is a little off, and it does not fade."""
    seen = swing(CUBE, SHEAR, {"mode": "linear", "beta": 0.5, "frequency": 20.0}, device, 600, 1 / 60)
    assert angular_frequency(seen, 1 / 60) == pytest.approx(20 * np.sqrt(0.5), rel=6e-3)
    assert np.abs(seen[-60:]).max() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("rate", [2.0, 6.0])
@pytest.mark.parametrize("mode", MODES)
def test_damping_rate(mode, rate, device):
    """The amplitude of a swing falls as exp(-rate t / 2); turning and flying are not slowed."""
    dt = 1 / 480
    seen = swing(CUBE, SHEAR, {"mode": mode, "beta": 0.0, "frequency": 20.0, "damping_rate": rate}, device, 720, dt)
    top = np.flatnonzero((seen[1:-1] > seen[:-2]) & (seen[1:-1] >= seen[2:])) + 1
    slope = np.polyfit(top * dt, np.log(seen[top]), 1)[0]
    assert -slope == pytest.approx(rate / 2, rel=0.01)
    sim = one_body(cloud(CUBE), {"mode": mode, "frequency": 200.0, "damping_rate": rate}, device, frame_dt=dt)
    sim.set_state("body", CUBE, np.cross([0, 0, 1.0], CUBE) + [1, 0, 0])
    before = sim.diagnostics().kinetic
    sim.frame(480)
    # a little goes into the swing that begins with the spin
    assert sim.diagnostics().kinetic == pytest.approx(before, rel=5e-4)


def hanging(matching, substeps, device):
    """Positions over half a second of a bar that is held at one end and falls, frame by frame."""
    material = Material(young=2e4, density=1000.0, damping=0.002)
    scene = make_scene(
        BAR, material, gravity=(0, -9.81, 0), frame_dt=1 / 60, substeps=substeps, method="shape_matching",
        body={"matching": matching},
    )  # fmt: skip
    scene.pin("body", lambda x: x[:, 0] < -0.49)
    sim = build(scene, device)
    frames = []
    for _ in range(30):
        sim.frame()
        frames.append(sim.positions().astype(np.float64))
    return np.array(frames)


@pytest.mark.parametrize(
    "matching",
    [
        {"mode": "rigid", "frequency": 25.0, "damping_rate": 2.0},
        {"mode": "linear"},
        {"mode": "quadratic", "frequency": 25.0, "damping_rate": 2.0},
        {"mode": "linear", "clusters": 4, "clusters_by": "boxes"},
        {"mode": "quadratic", "frequency": 40.0, "damping_rate": 2.0, "clusters": 8, "clusters_by": "grids"},
    ],
    ids=str,
)
def test_the_step_does_not_matter(matching, device):
    """A held bar swings by a metre: steps of half of a frame and of a sixteenth show the same film."""
    runs = [hanging(matching, count, device) for count in (2, 4, 8, 16)]
    assert np.ptp(runs[-1][:, :, 1], axis=0).max() > 0.3
    apart = [np.abs(a - b).max() for a, b in itertools.pairwise(runs)]
    assert apart[0] < 2e-3
    # between first order and second: pulls are of second order, damping is of first
    assert apart[0] > 2.0 * apart[1] > 4.0 * apart[2]


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_a_free_swing(mode, device):
    """One free cluster: the error falls by four when the step is halved; what damping adds falls by two."""
    rest = CUBE * [1.2, 0.8, 0.5]
    start = rest @ (np.eye(3) + [[0.2, 0.1, 0.0], [0.0, -0.1, 0.1], [0.1, 0.0, 0.0]]) + 0.1 * rest[:, [1, 2, 0]] ** 2
    velocity = np.cross([1.0, 2.0, -1.0], start)
    for rate in (0.0, 1.0):
        ends = []
        for steps in (30, 60, 120, 960):
            matching = {"mode": mode, "beta": 0.6, "frequency": 15.0, "damping_rate": rate}
            sim = one_body(cloud(rest), matching, device, frame_dt=0.5, substeps=steps)
            sim.set_state("body", start, velocity)
            sim.frame()
            ends.append(sim.positions().astype(np.float64))
        errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
        assert errors[0] < 0.01
        for coarse, fine in itertools.pairwise(errors):
            if rate == 0.0:
                assert coarse / fine == pytest.approx(4, rel=0.2)
            else:
                assert coarse / fine > 1.8


def test_published_alpha_changes_with_the_step(device):
    """The same share of the way in every step is another stiffness for every step: that is what frequencies are for."""
    runs = [hanging({"mode": "linear", "alpha": 0.1}, count, device) for count in (2, 4, 8)]
    assert np.abs(runs[0] - runs[1]).max() > 0.1
    assert np.abs(runs[1] - runs[2]).max() > 0.1


def test_finer_clusters_are_as_stiff(device):
    """A bar of one material stretches by about as much under its weight as it should, whatever its clusters.

    In boxes one after the other the strain gathers where they overlap, so more of them are softer: by two, not by the
    sixteen that a frequency given for every cluster would make of it.
    """
    stretch = {}
    for name, made in {"two": {"clusters": 2}, "four": {"clusters": 4}, "eight": {"clusters": 8}}.items():
        scene = make_scene(
            shapes.box((1.0, 0.25, 0.25), (16, 4, 4)), Material(young=5e4, poisson=0.3, damping=0.01),
            gravity=(9.81, 0, 0), frame_dt=1 / 60, substeps=4, method="shape_matching",
            body={"matching": {"mode": "linear", "clusters_by": "boxes", "overlap": 0.2, **made}},
        )  # fmt: skip
        scene.pin("body", lambda x: x[:, 0] < -0.49)
        sim = build(scene, device)
        right = sim.positions()[:, 0] > 0.49
        sim.frame(240)
        stretch[name] = sim.positions()[right, 0].mean() - 0.5
    expected = 1000 * 9.81 / (2 * 5e4)
    assert min(stretch.values()) > expected / 2
    assert max(stretch.values()) < 2.5 * expected


# ---- energy -----------------------------------------------------------------------------------------------------


def energies(matching, device, steps=1000):
    """Energy over its start while a deformed, spinning body swings, every tenth step; and the elastic share of it."""
    sim = one_body(BOX, matching, device, frame_dt=10 / 120, substeps=10)
    x = deformed(BOX, 0.1)
    sim.set_state("body", x, np.cross([1.0, 2.0, 1.0], x))
    seen = [sim.diagnostics()]
    for _ in range(steps // 10):
        sim.frame()
        seen.append(sim.diagnostics())
    values = np.array([d.energy for d in seen])
    return values / values[0], seen[0].elastic / values[0]


FREE = [
    {"mode": "rigid"},
    {"mode": "linear", "beta": 0.5},
    {"mode": "quadratic", "beta": 0.9},
    {"mode": "linear", "beta": 0.5, **CLUSTERS["boxes"]},
    {"mode": "quadratic", "beta": 0.8, **CLUSTERS["grids"]},
]


@pytest.mark.parametrize("frequency", [20.0, 100.0])
@pytest.mark.parametrize("matching", FREE, ids=str)
def test_undamped_energy_stays(matching, frequency, device):
    """A thousand steps, up to 0.8 rad of the fastest swing each: energy wavers as Verlet's does, and does not drift."""
    how = {**matching, "frequency": frequency, "keep_volume": False}
    free, share = energies({**how, "damping_rate": 0.0}, device)
    assert share > 0.05
    waver = 0.4 * (frequency / 120) ** 2
    assert free.max() < 1.0 + waver and free.min() > 1.0 - waver
    assert free[-25:].mean() == pytest.approx(free[1:26].mean(), abs=0.01 + 0.1 * waver)
    damped, _ = energies({**how, "damping_rate": 2.0}, device)
    assert damped[-1] < 0.95
    assert np.diff(damped).max() < 5e-4


@pytest.mark.parametrize("frequency", [20.0, 100.0])
@pytest.mark.parametrize("matching", FREE[1:], ids=str)
def test_keeping_volume_makes_no_energy(matching, frequency, device):
    """The pull back to the volume at rest is not in the energy that is measured, so that wavers; it must not grow."""
    free, _ = energies({**matching, "frequency": frequency, "damping_rate": 0.0}, device, 4000)
    assert free.max() < 2.0
    assert free[-100:].mean() < 1.3 * free[10:110].mean()


# ---- volume -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["linear", "quadratic"])
def test_keep_volume(mode, device):
    """A soft block under its own weight loses less volume if its goals keep theirs."""
    lost = {}
    for keep in (True, False):
        scene = make_scene(
            shapes.box(0.4, 4), Material(friction=0.0), gravity=(0, -9.81, 0), frame_dt=1 / 60, substeps=4,
            method="shape_matching",
            body={
                "matching": {"mode": mode, "beta": 0.9, "frequency": 25.0, "damping_rate": 5.0, "keep_volume": keep},
                "position": (0, 0.2, 0),
            },
        )  # fmt: skip
        scene.add_plane(friction=0.0)
        sim = build(scene, device)
        sim.frame(240)
        lost[keep] = 1 - sim.diagnostics().volume_ratio
    assert lost[False] > 0.05
    assert lost[True] < 0.6 * lost[False]


# ---- bends and twists -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [bent, twisted])
def test_quadratic_goals_follow_a_bend(change, device):
    """After a quarter of the swing of a linear body, a quadratic one has hardly begun to straighten."""
    rest = BAR.vertices - BAR.vertices.mean(axis=0)
    shape = change(rest) - rest
    left = {}
    for mode in ("linear", "quadratic"):
        frequency, steps = 20.0, 40
        matching = {"mode": mode, "beta": 0.95, "frequency": frequency, "damping_rate": 0.0, "keep_volume": False}
        sim = one_body(cloud(rest), matching, device, frame_dt=np.pi / 2 / frequency, substeps=steps)
        sim.set_state("body", rest + shape)
        sim.frame()
        x = sim.positions().astype(np.float64)
        turn, _ = best_turn(rest, x)
        seen = beyond(rest, (x - x.mean(axis=0)) @ turn, 3)
        pure = beyond(rest, shape, 3)
        left[mode] = (seen * pure).sum() / (pure**2).sum()
    # cos(pi / 2 sqrt(1 - beta)) = 0.939 of it
    assert abs(left["linear"]) < 0.05
    assert left["quadratic"] == pytest.approx(0.939, abs=0.03)
