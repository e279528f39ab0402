"""Numbers with units as text: in Python, scene files, on the command line and in the studio."""

import dataclasses
import math

import pytest

from pliant import PRESETS, InputError, Material, RawConstants
from pliant.material_presets import SOURCES, source
from pliant.settings import field_schema
from pliant.studio.fields import field_forms
from pliant.units import read_quantity, read_unit


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("0.1 MPa", "Pa", 1e5),
        ("2GPa", "Pa", 2e9),
        ("1.1 g/cm^3", "kg/m^3", 1100.0),
        ("1.1 g/cm\u00b3", "kg/m^3", 1100.0),
        ("1.1 kg/l", "kg/m^3", 1100.0),
        ("5 ms", "s", 0.005),
        ("10 psi", "Pa", 68947.57293168),
        ("0.06 gf cm^2/cm", "N m", 5.88399e-6),
        ("3 N s/m", "N s/m", 3.0),
        ("20 1/s", "1/s", 20.0),
        ("20 Hz", "1/s", 20.0),
        ("2 kg/(m s^2)", "Pa", 2.0),
        ("3 N/mm**2", "Pa", 3e6),
        ("70 \u00b5m", "m", 7e-5),
        ("1.5e-2 min", "s", 0.9),
        ("4 J/m^3", "Pa", 4.0),
        ("-1 mm", "m", -1e-3),
    ],
)
def test_quantities(text, unit, value):
    assert read_quantity(text, unit, "here") == pytest.approx(value, rel=1e-12)


def test_decimal_prefixes_leave_no_stray_digits():
    assert Material(damping="5 ms").damping == 0.005
    assert Material(young="0.1 MPa").young == 1e5
    assert Material(density="1.1 g/cm^3").density == 1100.0


@pytest.mark.parametrize("text", ["", "m/", "/(m", "m)", "m//s", "furlong", "kkm", "m^99", "(m)"])
def test_units_that_are_none(text):
    with pytest.raises(ValueError):
        read_unit(text)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("0.1 Mpa", "not known: 'Mpa'"),
        ("5 ms", "wrong kind of unit"),
        ("5", "without a unit"),
        ("stiff", "not a number with a unit"),
        ("1 2 Pa", "not known: '2'"),
        ("-1 kPa", "out of range"),
        ("1e400 Pa", "out of range"),
    ],
)
def test_one_clear_error(value, what):
    with pytest.raises(InputError) as error:
        Material(young=value)
    assert what in str(error.value) and error.value.where == "Material.young"
    assert error.value.remedy.startswith("Give a number") and "Pa" in error.value.remedy


def test_pure_numbers_take_no_text():
    with pytest.raises(InputError, match="wrong type"):
        Material(poisson="0.4")


def test_raw_constants_take_units():
    assert RawConstants(spring="2 N/mm", mass="20 g").spring == 2000.0


def test_stresses_instead_of_strains():
    material = Material(young="1 MPa", yield_stress="50 kPa", tear_strength="0.2 MPa")
    assert material.yields_at == pytest.approx(0.05) and material.breaks_at == pytest.approx(0.2)
    assert Material(yield_strain=0.1).yields_at == 0.1 and Material().breaks_at is None
    with pytest.raises(InputError, match="Give one of them"):
        Material(yield_strain=0.1, yield_stress=1e3)


def test_the_schema_takes_texts_too():
    young = next(f for f in dataclasses.fields(Material) if f.name == "young")
    assert field_schema(young)["type"] == ["number", "string"]


def test_the_studio_reads_units():
    form = field_forms(Material, keys=["young"])[0]
    assert form.check("0,1 MPa") == form.check("100000") == 1e5
    with pytest.raises(InputError, match="wrong kind"):
        form.check("3 kg")


def test_a_scene_file_takes_units(tmp_path):
    from pliant.scene_file import load_scene

    path = tmp_path / "units.toml"
    lines = [
        "version = 1",
        "[[body]]",
        'shape = { kind = "ball", radius = 0.1, cells = 2 }',
        'material = { young = "0.1 MPa", density = "1.1 g/cm^3", damping = "5 ms" }',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    material = load_scene(path).scene.bodies[0].spec.material
    assert (material.young, material.density, material.damping) == (1e5, 1100.0, 0.005)
    path.write_text("\n".join(lines).replace("0.1 MPa", "0.1 kg"), encoding="utf-8")
    with pytest.raises(InputError, match=r"units.toml:4: body\[0\].material.young.*wrong kind of unit"):
        load_scene(path)


def test_every_figure_has_a_source():
    assert set(SOURCES) == set(PRESETS)
    for name in PRESETS:
        assert SOURCES[name]["stuff"]
        for field in ("density", "young", "poisson"):
            assert source(name, field)


def test_gents_formula_gives_the_rubbers():
    """Gent (1958): E [MPa] of Shore A hardness S."""
    gent = lambda s: 0.0981 * (56.0 + 7.62336 * s) / (0.137505 * (254.0 - 2.54 * s)) * 1e6
    assert PRESETS["rubber"].young == pytest.approx(gent(13), rel=0.03)
    assert PRESETS["tyre_rubber"].young == pytest.approx(gent(60), rel=0.03)
    assert PRESETS["foam"].young == pytest.approx(45e6 * (PRESETS["foam"].density / 1200.0) ** 2, rel=0.1)


def test_gelatin_lies_on_the_power_law_between_both_ends():
    """Bonavia (2025): 277 kPa at a ratio of 2 to 4.34 kPa at 20; ours at 11.4."""
    power = math.log(277.0 / 4.34) / math.log(20.0 / 2.0)
    assert "11.4" in SOURCES["jelly"]["stuff"]
    assert PRESETS["jelly"].young == pytest.approx(277e3 * (11.4 / 2.0) ** -power, rel=0.01)


# weight [g/m^2], warp and weft [kN/m], shear [gf/(cm deg)] and bending [gf cm^2/cm], as the table of sources says
CLOTHS = {
    "cotton": (120, 10, 6, 1.0, 0.06),
    "silk": (65, 9, 6, 0.3, 0.025),
    "denim": (324, 17, 8, 2.5, None),
    "wool": (270, 11, 6, 0.7, 0.10),
}


@pytest.mark.parametrize("name", CLOTHS)
def test_cloths_are_what_their_kawabata_figures_say(name):
    weight, warp, weft, shear, bending = CLOTHS[name]
    cloth, said = PRESETS[name], SOURCES[name]["stuff"]
    assert f"{weight} g/m^2: {warp} and {weft} kN/m, G {shear}" in said
    gf = 9.80665e-3
    assert cloth.density * cloth.thickness == pytest.approx(1e-3 * weight, rel=0.01)
    assert cloth.young * cloth.thickness == pytest.approx(1e3 * warp, rel=0.03)
    assert cloth.young_weft * cloth.thickness == pytest.approx(1e3 * weft, rel=0.06)
    assert cloth.shear * cloth.thickness == pytest.approx(shear * gf / (0.01 * math.radians(1.0)), rel=0.03)
    if bending is not None:
        assert cloth.bending == pytest.approx(bending * gf * 0.01**2 / 0.01, rel=0.03)


def test_the_command_lists_materials(capsys, tmp_path):
    import json

    from pliant.cli import main

    assert main(["materials", "--json", str(tmp_path / "m.json")]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in PRESETS)
    table = json.loads((tmp_path / "m.json").read_text())
    assert math.isclose(table["cork"]["figures"]["young"]["value"], PRESETS["cork"].young)
    assert main(["materials", "muscle"]) == 0 and "Mendez" in capsys.readouterr().out
    assert main(["materials", "gold"]) == 2
