"""Materials: ranges, presets, and what the mass-spring method makes of them."""

import pytest

from pliant import PRESETS, InputError, Material, Scene, shapes
from pliant.materials import as_material, spring_constants

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "keywords",
    [
        {"density": 0.0},
        {"density": -1.0},
        {"density": NAN},
        {"density": "heavy"},
        {"young": 0.0},
        {"young": INF},
        {"young": -5e4},
        {"young": None},
        {"poisson": 0.5},
        {"poisson": -0.1},
        {"damping": -1e-3},
        {"damping": 11.0},
        {"drag": -1.0},
        {"friction": -0.5},
        {"friction": True},
        {"restitution": 1.01},
        {"thickness": 0.0},
        {"thickness": [0.1]},
    ],
    ids=str,
)
def test_bad_values_are_refused(keywords):
    (name, value), *_ = keywords.items()
    with pytest.raises(InputError) as error:
        Material(**keywords)
    assert error.value.where == f"Material.{name}"
    assert repr(value) in error.value.what
    # the remedy says what would be right, with the unit
    assert error.value.remedy.startswith("Give a number")


def test_moduli():
    material = Material(young=1e5, poisson=0.25)
    assert material.shear_modulus == pytest.approx(4e4)
    assert material.bulk_modulus == pytest.approx(1e5 / 1.5)


@pytest.mark.parametrize("name", PRESETS)
def test_presets(name):
    material = as_material(name)
    assert material is PRESETS[name] is as_material(material)
    constants, note = spring_constants(material)
    assert constants.spring_modulus > 0 and constants.volume_modulus >= 0 and note == ""


@pytest.mark.parametrize("value", ["gold", 3, None, {"young": 1e5}, Material])
def test_unknown_materials(value):
    with pytest.raises(InputError, match="rubber, soft_rubber"):
        as_material(value)


@pytest.mark.parametrize("poisson", [0.25, 0.3, 0.4, 0.495])
def test_springs_and_volume_together_have_the_moduli(poisson):
    """Springs k = E' V / L^2 have lambda = mu = 0.4 E'; the volume energy adds to the bulk modulus only."""
    material = Material(young=1e5, poisson=poisson)
    constants, note = spring_constants(material)
    assert note == ""
    mu = 0.4 * constants.spring_modulus
    bulk = mu * 5 / 3 + constants.volume_modulus
    assert mu == pytest.approx(material.shear_modulus) and bulk == pytest.approx(material.bulk_modulus)


@pytest.mark.parametrize("poisson", [1 / 3, 0.4, 0.495])
def test_a_sheet_has_the_plane_moduli(poisson):
    """In the plane springs have lambda = mu = 0.375 E', and the bulk modulus of plane stress is E / (2 (1 - nu))."""
    material = Material(young=1e5, poisson=poisson, thickness=0.003)
    constants, note = spring_constants(material, sheet=True)
    assert note == ""
    mu = 0.375 * constants.spring_modulus
    bulk = 2 * mu + constants.area_modulus / 0.003
    assert mu == pytest.approx(material.shear_modulus) and bulk == pytest.approx(1e5 / (2 * (1 - poisson)))


@pytest.mark.parametrize("poisson, sheet, least", [(0.0, False, 0.25), (0.24, False, 0.25), (0.1, True, 1 / 3)])
def test_what_springs_cannot_have_is_said(poisson, sheet, least):
    constants, note = spring_constants(Material(young=1e5, poisson=poisson), sheet=sheet)
    assert f"{poisson:g}" in note and ("1/3" if sheet else "1/4") in note and "Young" in note
    assert constants.spring_modulus == 1e5 and constants.volume_modulus == constants.area_modulus == 0
    share = 0.375 if sheet else 0.4
    assert share * 1e5 == pytest.approx(1e5 / (2 * (1 + least)))


@pytest.mark.parametrize(
    ("mesh", "method", "field", "told"),
    [
        (
            "sheet",
            "shape_matching",
            {"young_weft": 1e4, "shear": 1e4, "bending": 1e-5},
            "young_weft, shear, bending mean",
        ),
        ("sheet", "mass_spring", {"bending": 1e-5}, "bending means nothing to springs along the edges"),
        ("sheet", "mass_spring", {"young_weft": 1e4}, ""),
        ("sheet", "xpbd", {"young_weft": 1e4, "shear": 1e4, "bending": 1e-5}, ""),
        ("sheet", "baraff_witkin", {"young_weft": 1e4, "bending": 1e-5}, ""),
        ("sheet", "baraff_witkin", {"tear_strength": 2e4}, "use method='xpbd' or 'mass_spring'"),
        ("block", "fem", {"tear_strength": 2e4}, "use method='shape_matching'"),
        ("block", "fem", {"yield_stress": 2e4}, ""),
        ("block", "xpbd", {"yield_stress": 2e4}, "yield_strain means nothing to the method 'xpbd'"),
        ("block", "fem", {"bending": 1e-5, "shear": 1e4}, ""),
    ],
)
def test_notes_tell_what_a_method_does_not_follow(mesh, method, field, told):
    scene = Scene()
    shape = shapes.sheet((0.2, 0.2), 2) if mesh == "sheet" else shapes.box((0.2,) * 3, 1)
    scene.add_body(shape, Material(young=1e5, poisson=0.35, **field), method=method, name="b")
    notes = [note for note in scene.build("cpu").notes if " nothing to " in note]
    assert len(notes) == bool(told) and all(told in note for note in notes)


@pytest.mark.parametrize(("method", "poisson", "told"), [("fem", 0.47, 1), ("xpbd", 0.49, 1), ("fem", 0.45, 0)])
def test_tets_that_lock_are_told_of(method, poisson, told):
    scene = Scene()
    scene.add_body(shapes.box((0.2,) * 3, 1), Material(young=1e5, poisson=poisson), method=method, name="b")
    assert sum("too stiff" in note for note in scene.build("cpu").notes) == told
