"""The benches measure what they say: the yardsticks do the same step, and a report holds the keys it promises."""

import json

import numpy as np
import pytest

from pliant.bench import BENCHES, detection
from pliant.bench.numpy_step import NumpyStep
from pliant.bench.plot import plot_steps, step_lines
from pliant.bench.report import Report
from pliant.bench.shapes import block as shape_block
from pliant.bench.shapes import floor_bytes as shape_floor
from pliant.bench.shapes import lattice_bodies
from pliant.bench.sources import MESHES, TABLE_61, is_stable, source_body
from pliant.bench.springs import STIFFNESS, block, floor_bytes
from pliant.errors import InputError


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


def test_the_times_of_steps_are_drawn(tmp_path):
    rows = [
        {"case": case, "metric": "us_per_step", "value": value, "settings": {"particles": n}, "device": "cpu"}
        for case, n, value in (("linear, one cluster", 1000, 50.0), ("linear, one cluster", 10, 5.0), ("alone", 7, 1.0))
    ]
    rows.append(
        {"case": "other", "metric": "ms_per_frame", "value": 3.0, "settings": {"particles": 5}, "device": "cpu"}
    )
    assert step_lines(rows) == {"linear, one cluster": ([10, 1000], [0.005, 0.05])}
    plot_steps(rows, tmp_path / "steps.png")
    assert (tmp_path / "steps.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(InputError, match="PNG"):
        plot_steps(rows, tmp_path / "steps.jpg")
    with pytest.raises(InputError, match="several sizes"):
        plot_steps(rows[2:], tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


@pytest.mark.parametrize("mode", ["linear", "quadratic"])
def test_the_blocks_of_the_shape_bench_are_what_they_say(mode):
    """About the particles asked for, each in two clusters of about 64, and a floor that counts every table once."""
    sim = shape_block(4000, "cpu", mode, clusters=125)
    (group,) = sim.solvers[0].groups
    held = np.bincount(group.rests[0].member, minlength=sim.state.count)
    assert sim.state.count == pytest.approx(4000, rel=0.1) and (held == 2).all()
    assert np.median(np.diff(group.rests[0].starts)) == pytest.approx(64, rel=0.3)
    tables = 48 * sim.state.count + 20 * held.sum()
    assert shape_floor(sim) == tables + group.clusters * (4 * (group.order**2 + group.order + 10) + 56)
    shared = shape_block(500, "cpu", mode, bodies=3)
    assert len(shared.solvers[0].groups[0].member) == shared.state.count // 3


def test_the_bodies_of_fast_lattice_shape_matching():
    sim = lattice_bodies(2, "cpu")
    assert sim.state.count == 2 * 150
    sim.frame()


def test_crowds_of_the_detection_bench_are_as_dense_at_every_size():
    """Neighbours overlap a little, so each ball of a large heap touches six others."""
    for bodies in (27, 125):
        middles = detection.heap(bodies)
        apart = np.linalg.norm(middles[:, None] - middles, axis=2)
        touching = (apart < 2.0 * detection.RADIUS).sum(axis=1) - 1
        assert touching.max() == 6 and len(middles) == bodies
    of = detection.crowd(detection.heap(3))
    assert len(of.rest) == 3 * 162 and len(of.features.triangles) == 3 * 320
    assert np.ptp(of.rest[:162], axis=0) == pytest.approx(2.0 * detection.RADIUS, rel=0.05)


def test_the_exponent_of_times():
    sizes = np.array([1e3, 1e4, 1e5])
    assert detection.exponent(sizes, 3e-9 * sizes**1.5) == pytest.approx(1.5)


def test_searches_of_the_detection_bench_find_the_same():
    searches = detection.Searches(detection.crowd(detection.heap(8)), "cpu", brute=True)
    found = {name: searches.found(name) for name in searches.finders}
    assert found["hash grid"] == found["all pairs"] > 500
    # the tree leaves out what is too far apart though the boxes touch
    assert 300 < found["tree"] < found["all pairs"]
    assert found["octree"] == found["all boxes"] > 50
