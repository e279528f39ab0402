"""The benches of springs: Provot's cloth and the comparison of integrators measure what they say."""

import numpy as np
import pytest

from pliant.bench import BENCHES, PLOTTED, integrators, provot
from pliant.bench.report import Report
from pliant.errors import InputError


def test_they_are_offered():
    assert {"provot", "integrators"} <= BENCHES.keys() and {"provot", "integrators"} <= set(PLOTTED)


def test_provot_reports_shares_and_places(capsys):
    report = Report("provot")
    provot.run(report, "cpu", quick=True)
    share = {row["case"]: row["value"] for row in report.rows if row["metric"] == "percent_over_a_tenth"}
    free = next(v for k, v in share.items() if k.startswith("no limit"))
    both = [v for k, v in share.items() if "structural + shear" in k]
    assert free > 2.0 and both and max(both) == 0.0
    longest = next(row for row in report.rows if row["metric"] == "largest_strain_percent")
    assert longest["settings"]["longest"].count("0.0 cells from a corner") >= 4
    assert "percent_over_a_tenth" in capsys.readouterr().out


def test_the_spring_is_the_one_of_the_textbook():
    """omega = 10 / s: a quarter of a period after it was let go it passes its rest length at a omega."""
    quarter = 0.5 * np.pi / integrators.OMEGA
    sim = integrators.one_spring("rk4", quarter / 50, "cpu")
    sim.frame(50)
    assert sim.positions()[1, 0] == pytest.approx(1.0, abs=1e-5)
    assert sim.velocities()[1, 0] == pytest.approx(-integrators.STRETCH * integrators.OMEGA, rel=1e-4)


@pytest.mark.parametrize(
    ("integrator", "limit"),
    [("symplectic", 2.0), ("verlet", 2.0), ("rk4", 2.83), ("implicit", None), ("hybrid", None)],
)
def test_the_limits_of_one_spring_are_those_of_theory(integrator, limit):
    allowed = 20.0 * 0.5 * 100.0 * integrators.STRETCH**2
    step = integrators.largest_step(integrators.one_spring, integrator, "cpu", 100, allowed, 1e-3)
    if limit is None:
        assert step == integrators.LONGEST
    else:
        assert step * integrators.OMEGA == pytest.approx(limit, rel=0.1)


def test_the_picture_is_a_png(tmp_path):
    with pytest.raises(InputError, match="PNG"):
        provot.plot([], tmp_path / "cloth.jpg")
    with pytest.raises(InputError, match="PNG"):
        integrators.plot([], tmp_path / "energy.jpg")
