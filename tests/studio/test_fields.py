"""Forms made of settings: every field of every class can be shown, moved and checked."""

import dataclasses

import pytest

from pliant.collide.shapes import collider_classes
from pliant.errors import InputError
from pliant.materials import PRESETS, Material
from pliant.mesh import shapes
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.scene import SceneSettings
from pliant.scene_file.layout import shape_functions
from pliant.settings import check_value
from pliant.solvers import solver_classes
from pliant.solvers.shape_matching.settings import Matching
from pliant.studio.fields import STEPS, field_forms, is_shown, plain_error, shape_forms, shown_number

CLASSES = [Material, Matching, SceneSettings, PrepareSettings, *(cls.Settings for cls in solver_classes().values())]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_field_has_a_form(cls):
    assert [form.key for form in field_forms(cls)] == [field.name for field in dataclasses.fields(cls)]


FORMS = {cls.__name__: cls for cls in CLASSES} | {kind: cls.table_keys() for kind, cls in collider_classes().items()}


@pytest.mark.parametrize("cls", FORMS.values(), ids=list(FORMS))
def test_every_place_of_a_slider_is_an_allowed_value(cls):
    for form in field_forms(cls):
        if form.low is None:
            continue
        values = [form.from_slider(place) for place in range(0, STEPS + 1, 25)]
        assert values == sorted(values) and values[0] < values[-1], form.key
        for value in values:
            assert check_value(form.field, value, form.key) == value


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_defaults_lie_inside_the_sliders(cls):
    for form in field_forms(cls):
        if form.low is not None and form.default is not None:
            place = form.to_slider(form.default)
            assert 0 <= place <= STEPS
            assert form.from_slider(place) == pytest.approx(form.default, rel=0.02, abs=1e-9), form.key


def test_presets_lie_inside_the_sliders_of_a_material():
    forms = {form.key: form for form in field_forms(Material)}
    for preset in PRESETS.values():
        for key in ("young", "density", "damping"):
            value = getattr(preset, key)
            assert forms[key].low <= value <= forms[key].high


def test_a_wide_range_has_a_log_scale_and_a_share_a_linear_one():
    forms = {form.key: form for form in field_forms(Material)}
    assert forms["young"].log and forms["damping"].log
    assert not forms["poisson"].log and not forms["friction"].log
    assert forms["damping"].from_slider(0) == 0.0


def test_texts_are_read_as_numbers_and_refused_in_plain_words():
    young = next(form for form in field_forms(Material) if form.key == "young")
    assert young.check("1e5") == 1e5
    assert young.check("0,5") == 0.5
    with pytest.raises(InputError) as caught:
        young.check("-3")
    assert "out of range" in plain_error(caught.value) and "above 0" in plain_error(caught.value)
    with pytest.raises(InputError, match="is not a number"):
        young.check("soft")
    with pytest.raises(InputError, match="nothing is given"):
        young.check("")
    clusters = next(form for form in field_forms(Matching) if form.key == "clusters")
    assert clusters.check("8") == 8
    with pytest.raises(InputError, match="whole number"):
        clusters.check("2.5")


def test_a_field_may_be_left_to_the_program():
    form = next(form for form in field_forms(Material) if form.key == "yield_strain")
    assert form.optional and form.check("") is None


def test_fields_that_mean_nothing_are_not_shown():
    forms = {form.key: form for form in field_forms(Matching)}
    assert not is_shown(forms["axis"], {"clusters_by": "kmeans"})
    assert is_shown(forms["axis"], {"clusters_by": "boxes"})
    assert is_shown(forms["clusters"], {})


@pytest.mark.parametrize("name", list(shape_functions()))
def test_the_defaults_of_a_shape_make_that_shape(name):
    forms = shape_forms(shape_functions()[name])
    given = {form.key: form.default for form in forms if form.default is not None}
    made = getattr(shapes, name)(**given)
    assert len(made.vertices) == len(getattr(shapes, name)().vertices)


@pytest.mark.parametrize(("value", "text"), [(1e5, "100000"), (2e7, "2e7"), (0.002, "0.002"), (3, "3"), (None, "")])
def test_numbers_are_written_as_people_write_them(value, text):
    assert shown_number(value) == text
