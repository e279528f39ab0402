"""What is chosen for stability is said, with its reason, and what would run in real time."""

import math

import pytest

import pliant
from pliant.plan import advice


def built(method="mass_spring", substeps=None, young=5e5, **settings):
    scene = pliant.Scene(substeps=substeps)
    scene.configure(method, **settings)
    scene.add_body(pliant.shapes.ball(0.1, cells=2), pliant.Material(young=young, damping=0.0), method=method)
    return scene.build("cpu")


def test_explicit_steps_follow_from_stability():
    soft, stiff = built(young=5e5), built(young=2e6)
    assert soft.plan.reason == "stable" and soft.plan.substeps == soft.substeps
    assert stiff.plan.substeps == pytest.approx(2 * soft.plan.substeps, abs=2)
    assert "symplectic" in soft.plan.text() and "are stable" in soft.plan.text()


def test_other_reasons():
    assert built(substeps=50).plan.reason == "asked"
    assert built("shape_matching").plan.reason == "resolved"
    assert built("shape_matching", young=1e3).plan.reason == "least"
    implicit = built(integrator="implicit").plan
    assert math.isinf(implicit.stable_dt) and implicit.methods["mass_spring"]["newton_steps"] == 2
    assert built("xpbd").plan.methods["xpbd"]["iterations"] == 1


def test_advice_where_it_is_too_slow():
    sim = built()
    assert advice(sim, 10.0) == ""
    text = advice(sim, 2e3 * sim.frame_dt)
    assert "2 times its duration" in text and "softer" in text and "implicit" in text
    # the softer material that it names does what it says
    half = built(young=5e5 / 4.0)
    assert half.substeps <= sim.substeps / 2 + 1
    assert "substeps = " in advice(built("shape_matching"), 3e3 * sim.frame_dt)
