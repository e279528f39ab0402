"""The laboratory for cloth: strips that are pulled along warp and weft, sheared and bent."""

import dataclasses
import json

import numpy as np
import pytest

import pliant
from pliant import lab
from pliant.cli import main
from pliant.lab.plane_reference import PlaneReference
from pliant.lab.sheets import strip

CLOTH = pliant.Material(
    density=400.0, young=1e6, young_weft=5e5, poisson=0.3, shear=2e4, bending=1e-5, thickness=5e-4, damping=2e-4
)


@pytest.mark.parametrize(("warp", "young"), [((1, 0, 0), 1e6), ((0, 0, 1), 5e5)])
def test_the_reference_is_exact_where_strain_is_even(warp, young):
    """A pull at the end of a strip that is free to become narrow: u = F L / E t b."""
    specimen = dataclasses.replace(strip(0.2, 0.04, (10, 2)), warp=warp)
    specimen = dataclasses.replace(specimen, held=np.zeros(0, int))
    reference = PlaneReference(specimen, CLOTH)
    x = specimen.mesh.vertices
    field = np.stack([1e-3 * x[:, 0], 0 * x[:, 0], -1e-3 * reference.ratio * x[:, 2]], axis=1)
    force = (reference.matrix @ field[:, (0, 2)].reshape(-1)).reshape(-1, 2)
    inner = np.abs(x[:, 0]) < 0.0999
    assert np.abs(force[inner]).max() < 1e-9 * np.abs(force).max()
    assert force[specimen.tip, 0].sum() == pytest.approx(1e-3 * young * 0.04 * CLOTH.thickness)


def test_cloth_answers_as_the_reference():
    found = lab.test_sheet(CLOTH, "baraff_witkin", tests=("tension", "weft", "shear"))
    for name in ("tension.young", "tension.poisson", "weft.young", "weft.poisson", "shear.shear"):
        assert abs(found[name].error) < 0.01
        # clamped at its end, a strip is a little stiffer than the material
        assert found[name].value == pytest.approx(found[name].expected, rel=0.03)
    assert found["weft.young"].value == pytest.approx(0.5 * found["tension.young"].value, rel=0.02)
    for name in ("tension.frequency", "shear.frequency"):
        assert abs(found[name].error) < 0.2


def test_bending_is_that_of_the_mesh_under_both_methods():
    """Hinges between triangles give 0.87 of beam theory here; what steps do not resolve is softer still."""
    implicit = lab.test_sheet(CLOTH, "baraff_witkin", tests=("bending",))["bending.rigidity"]
    fine = lab.test_sheet(CLOTH, "xpbd", tests=("bending",), substeps=200)["bending.rigidity"]
    coarse = lab.test_sheet(CLOTH, "xpbd", tests=("bending",), substeps=2)["bending.rigidity"]
    assert implicit.expected == CLOTH.bending and 0.8 < implicit.value / implicit.expected < 1.0
    assert fine.value == pytest.approx(implicit.value, rel=0.05)
    assert coarse.value < 0.5 * fine.value
    twice = dataclasses.replace(CLOTH, bending=2e-5)
    stiffer = lab.test_sheet(twice, "baraff_witkin", tests=("bending",))["bending.rigidity"]
    assert stiffer.value == pytest.approx(2.0 * implicit.value, rel=0.02)


def test_what_does_not_swing_has_no_frequency():
    found = lab.test_sheet("cotton", "baraff_witkin", tests=("tension",))
    assert [q.name for q in found.quantities] == ["young", "poisson", "displacement"]
    assert any("not let it swing" in note for note in found.notes)
    assert any(
        "bending is not tested" in note for note in lab.test_sheet(CLOTH, "mass_spring", tests=("bending",)).notes
    )


def test_wrong_requests():
    for method, options, what in [
        ("fem", {}, "takes no sheets"),
        ("magic", {}, "no method"),
        ("xpbd", {"tests": ("torsion",)}, "no test 'torsion'"),
        ("xpbd", {"tests": ()}, "no test"),
        ("xpbd", {"size": -1.0}, "no length"),
        ("xpbd", {"frame_dt": 0.0}, "no duration"),
    ]:
        with pytest.raises(pliant.InputError, match=what):
            lab.test_sheet(CLOTH, method, **options)


def test_the_command(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    files = [str(tmp_path / name) for name in ("found.json", "found.png")]
    options = ["--sheet", "--methods", "baraff_witkin,xpbd", "--tests", "tension,bending", "--bending", "2e-5 N m"]
    assert main(["test-material", "cotton", *options, "--json", files[0], "--plot", files[1]]) == 0
    assert "rigidity" in capsys.readouterr().out
    found = json.loads((tmp_path / "found.json").read_text())
    assert [test["method"] for test in found] == ["baraff_witkin", "xpbd"]
    assert found[0]["material"]["bending"] == 2e-5 and found[0]["body"] == "strip"
    assert (tmp_path / "found.png").stat().st_size > 5000
    for wrong in (["--bending", "1e-5"], ["--sheet", "--body", "bunny"], ["--sheet", "--methods", "fem"]):
        assert main(["test-material", "cotton", *wrong]) == 2
