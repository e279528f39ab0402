"""The blow-up guard: it sees the first nonsense, says where, and leaves the last good frame."""

import numpy as np
import pytest
from bodies import bits, build, deformed, make_scene, make_sim

from pliant import BlowUpError, Material, Scene, shapes

STIFF = Material(young=2e5, poisson=0.4, damping=0.0)


def runaway(device="cpu", **keywords):
    """A body of two, at a step about four times too large, that still does its first frames."""
    scene = Scene(gravity=(0, 0, 0), frame_dt=0.01, substeps=1)
    scene.add_body(
        shapes.ball(0.2, 2), Material(young=1e3, damping=0.0), name="calm", position=(2, 0, 0), calibrate="off"
    )
    scene.add_body(shapes.box(0.4, 4), STIFF, name="wild", calibrate="off", **keywords)
    sim = build(scene, device)
    x = deformed(shapes.box(0.4, 4), 1e-4)
    sim.set_state("wild", x)
    return sim


def test_a_step_too_large_is_explained(device):
    sim = runaway(device)
    assert sim.dt > 1.5 * sim.stable_dt
    good = bits(sim)
    with pytest.raises(BlowUpError) as error, np.errstate(all="ignore"):
        for _ in range(200):
            good = bits(sim)
            number = sim.frame_number
            sim.frame()
    message, details = str(error.value), error.value.details
    # where, what, how far, and with which step
    assert f"frame {number + 1}" in message and "body 'wild'" in message
    assert "spring between vertices" in message and "times its rest length" in message
    assert f"step of {sim.dt:.3g} s" in message and f"{sim.stable_dt:.3g} s" in message
    assert "substeps" in message and "implicit" in message
    assert details["body"] == "wild" and details["frame"] == number + 1 and details["last_good_frame"] == number
    assert details["stretch"] > 20 and len(details["vertices"]) == 2
    assert details["step"] == sim.dt and details["stable_step"] == sim.stable_dt
    # the vertices named are the user's: they are neighbours in his mesh
    pair = sorted(details["vertices"])
    assert pair in np.sort(shapes.box(0.4, 4).edges(), axis=1).tolist()
    # and the state is that of the last good frame, to the bit
    assert sim.frame_number == number
    assert bits(sim) == good
    assert np.isfinite(sim.positions()).all() and np.isfinite(sim.velocities()).all()


def test_it_goes_on_with_more_substeps(device):
    sim = runaway(device)
    with pytest.raises(BlowUpError):
        sim.frame(200)
    at = sim.frame_number
    sim.substeps = int(np.ceil(sim.frame_dt / (0.3 * sim.stable_dt)))
    # at the last good frame it is stretched up to 20 times: give it a shape that can be followed
    sim.set_state("wild", shapes.box(0.4, 4).vertices, np.zeros((125, 3)))
    sim.frame(20)
    assert sim.frame_number == at + 20
    assert sim.diagnostics().max_stretch < 1.01


def test_the_advice_is_good(device):
    """Built again with the number of substeps that the message asks for, it runs."""
    with pytest.raises(BlowUpError) as error:
        runaway(device).frame(200)
    advice = int(str(error.value).split("use at least ")[1].split(" substeps")[0])
    sim = runaway(device)
    sim.substeps = advice
    sim.frame(100)
    assert sim.diagnostics().max_stretch < 1.1


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
def test_nonsense_from_outside_is_found(value, device):
    """A NaN that comes in during a frame, here through a force, stops the run at the particle it struck."""
    sim = make_sim(shapes.box(0.4, 2), STIFF, frame_dt=0.002, substeps=8, device=device)
    sim.frame(3)
    before = bits(sim)
    sim.pull("body", 7, (0.0, 0.0, 0.0))
    pull = sim.pulls.host[0]
    sim.pulls.set(0, pull.particle, (value, 0.0, 0.0), 1e3, 0.0)
    with (
        pytest.raises(BlowUpError, match=r"vertex \d+ of body 'body'|spring between") as error,
        np.errstate(all="ignore"),
    ):
        sim.frame(5)
    assert error.value.details["frame"] in (4, 5) and error.value.details["substep"] >= 1
    if error.value.details["frame"] == 4:
        assert bits(sim) == before
    sim.release(0)
    sim.frame(3)
    assert np.isfinite(sim.positions()).all()


def test_what_is_found_after_unchecked_frames_is_said_and_the_rest_is_good(device):
    """Frames may run unchecked; a blow-up among them is found at the next check, and what is left is still finite."""
    sim = runaway(device)
    sim.frame(2)
    with np.errstate(all="ignore"):
        sim.frame(200, check=False)
        with pytest.raises(BlowUpError) as error:
            sim.frame()
    assert np.isfinite(sim.positions()).all() and np.isfinite(sim.velocities()).all()
    assert sim.diagnostics().max_stretch < 25
    assert error.value.details["last_good_frame"] == sim.frame_number < 200


def test_far_and_fast_count_as_nonsense(device):
    sim = make_sim(shapes.box(0.4, 1), STIFF, device=device)
    fast = np.tile([3e5, 0, 0], (8, 1))
    sim.set_state("body", velocities=fast)
    with pytest.raises(BlowUpError, match=r"velocity \[3"):
        sim.frame()
    sim.set_state("body", shapes.box(0.4, 1).vertices + [2e6, 0, 0], 0 * fast)
    with pytest.raises(BlowUpError, match=r"is at \[(2|1999999)"):
        sim.frame()


def test_the_limit_can_be_set(device):
    mesh = shapes.box(0.4, 1)
    x = mesh.vertices * [1.6, 1, 1]
    for limit, bad in ((1.5, True), (3.0, False)):
        sim = make_sim(mesh, Material(young=1e3), stretch_limit=limit, frame_dt=1e-4, substeps=1, device=device)
        sim.set_state("body", x)
        if bad:
            with pytest.raises(BlowUpError, match="driven too far"):
                sim.frame()
        else:
            sim.frame()


def test_blow_up_with_pins_pulls_and_floor(device):
    """The explanation repeats the frame step by step, with everything that took part in it."""
    mesh = shapes.box(0.4, 3)
    scene = make_scene(mesh, STIFF, gravity=(0, -9.81, 0), frame_dt=0.02, substeps=2, body={"position": (0, 0.3, 0)})
    scene.add_plane()
    scene.pin("body", lambda x: x[:, 0] < -0.19, path=[(0, (0, 0, 0)), (1, (0, 0.5, 0))])
    sim = build(scene, device)
    sim.pull("body", 30, (1.0, 1.0, 1.0), 50.0)
    good = bits(sim)
    with pytest.raises(BlowUpError) as error, np.errstate(all="ignore"):
        for _ in range(300):
            good = bits(sim)
            sim.frame()
    assert bits(sim) == good
    assert error.value.details["substep"] in (1, 2)
    assert error.value.details.get("stretch", 99.0) > 20


def test_frames_that_were_not_checked_are_looked_at_before_a_change():
    """A pin set after a blow-up in unchecked frames must not hide it."""
    sim = make_sim(shapes.ball(0.3, 3), Material(young=1e6), frame_dt=0.02, substeps=1)
    sim.set_state("body", shapes.ball(0.3, 3).vertices * 1.05)
    sim.frame(60, check=False)
    with pytest.raises(BlowUpError) as caught:
        sim.pin("body", [0])
    assert caught.value.details["body"] == "body"
    assert np.isfinite(sim.positions()).all()


def test_a_lost_particle_is_reported_with_its_elements():
    sim = make_sim(shapes.ball(0.3, 3), Material(young=1e5), frame_dt=0.01, substeps=20)
    velocities = sim.velocities()
    velocities[7] = (5e4, 5e4, 9.9e4)
    sim.set_state("body", velocities=velocities)
    with pytest.raises(BlowUpError) as caught:
        sim.frame(3)
    details = caught.value.details
    assert {"vertex", "spring", "stretch", "tet", "volume_ratio"} <= details.keys()
    assert "rest volume" in str(caught.value)
