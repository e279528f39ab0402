"""The benches measure what they say: the yardsticks do the same step, and a report holds the keys it promises."""

import json

import numpy as np
import pytest

from pliant.bench import BENCHES
from pliant.bench.numpy_step import NumpyStep
from pliant.bench.report import Report
from pliant.bench.sources import MESHES, TABLE_61, is_stable, source_body
from pliant.bench.springs import STIFFNESS, block, floor_bytes


@pytest.mark.parametrize("damped", [False, True])
def test_the_numpy_step_is_the_same_step(damped):
    sim = block(7, "cpu", damped)
    model = sim.model
    yardstick = NumpyStep(
        model.springs.pairs, model.springs.rest_length, model.springs.stiffness, 1e-4, model.tets.corners,
        model.tets.rest_volume, STIFFNESS, model.particles.mass, 1e-4 if damped else 0.0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    x = (sim.state.x.numpy() + 0.01 * rng.normal(size=(sim.state.count, 3))).astype(np.float32)
    x[:, 1] -= 0.02  # some of it is in the floor, which takes the approach speed and, in ours, the slip
    v = np.zeros_like(x)
    sim.state.x.assign(x)
    sim.solvers[0].carry.zero_()
    sim.solvers[0].fused(sim.state, sim.dt, 3)
    for _ in range(3):
        x, v = yardstick.step(x, v, sim.dt, np.array([0.0, -9.81, 0.0]), 0.0)
    free = x[:, 1] > 0.2
    assert free.sum() > 100
    np.testing.assert_allclose(sim.state.x.numpy()[free], x[free], atol=2e-6)
    np.testing.assert_allclose(sim.state.v.numpy()[free], v[free], atol=2e-3)


def test_a_report_holds_the_promised_keys(tmp_path, capsys):
    report = Report("springs")
    report.add("a case", "cpu", "us_per_step", 12.5, tets=7)
    report.save(tmp_path / "rows.json")
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert {"bench", "case", "device", "metric", "value", "versions", "settings"} <= row.keys()
    assert (row["bench"], row["metric"], row["value"], row["settings"]) == ("springs", "us_per_step", 12.5, {"tets": 7})
    assert "us_per_step" in capsys.readouterr().out


@pytest.mark.parametrize("name", MESHES)
def test_the_bodies_of_the_source_are_made_from_the_scans_at_its_sizes(name):
    mesh, source = source_body(name), MESHES[name]
    assert len(mesh.vertices) == pytest.approx(source.vertices, rel=0.2)
    assert len(mesh.tets) == pytest.approx(source.tets, rel=0.2)
    smallest, largest = mesh.dihedral_range()
    assert smallest > 10.0 and largest < 165.0 and (mesh.volumes() > 0.0).all()


def test_the_tables_of_the_source_are_offered():
    assert set(TABLE_61) == {"euler", "midpoint", "verlet", "symplectic"} and "sources" in BENCHES


def test_an_unstable_run_is_seen_as_such():
    sim = block(6, "cpu", False)
    assert is_stable(sim, 3 * sim.frame_dt)
    wild = block(6, "cpu", False)
    wild.frame_dt *= 40.0
    assert not is_stable(wild, 3 * wild.frame_dt)


def test_the_floor_counts_every_element_once():
    sim = block(3, "cpu", False)
    assert floor_bytes(sim) == 20 * 48 + 16 * sim.model.springs.count + 76 * 27
