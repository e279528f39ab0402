"""Settings: checked when made, described once for everything that shows them."""

import dataclasses
import re

import pytest

from pliant import InputError, Material, RawConstants
from pliant.collide.shapes.plane import PlaneSurface
from pliant.scene import SceneSettings
from pliant.settings import Described, check_value, describe_range, field_kind, field_schema, setting, settings_table
from pliant.solvers import solver_classes

ALL = [Material, RawConstants, SceneSettings, PlaneSurface, *(cls.Settings for cls in solver_classes().values())]


@dataclasses.dataclass(frozen=True)
class Sample(Described):
    number: float = setting(1.5, "some number", unit="m", above=0.0, high=10.0)
    count: int = setting(3, "how many", low=1)
    kind: str = setting("a", "which", choices=("a", "b"))
    switch: bool = setting(False, "whether")
    chosen: float | None = setting(None, "left to the program", low=-1.0, high=1.0)
    text: str = setting("", "anything")


def test_values_are_taken_as_their_type():
    sample = Sample(number=2, chosen=1, switch=True, kind="b")
    assert sample.number == 2.0 and isinstance(sample.number, float) and isinstance(sample.chosen, float)
    assert Sample().chosen is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        sample.number = 3.0


@pytest.mark.parametrize(
    "keywords, remedy",
    [
        ({"number": 0.0}, "Give a number above 0 of at most 10, in m"),
        ({"number": 10.5}, "Give a number above 0 of at most 10, in m"),
        ({"number": float("nan")}, "Give a number"),
        ({"number": float("inf")}, "Give a number"),
        ({"number": "1"}, "Give a number"),
        ({"number": True}, "Give a number"),
        ({"number": None}, "Give a number"),
        ({"count": 0}, "Give a whole number of at least 1"),
        ({"count": 1.0}, "Give a whole number"),
        ({"count": False}, "Give a whole number"),
        ({"kind": "c"}, "Give one of 'a', 'b'"),
        ({"kind": 1}, "Give one of 'a', 'b'"),
        ({"switch": 1}, "Give true or false"),
        ({"switch": "yes"}, "Give true or false"),
        ({"chosen": 2.0}, "Give a number from -1 to 1"),
        ({"text": 5}, "Give a text"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(keywords, remedy):
    (name, value), *_ = keywords.items()
    with pytest.raises(InputError) as error:
        Sample(**keywords)
    assert error.value.where == f"Sample.{name}" and repr(value) in error.value.what
    assert error.value.remedy.startswith(remedy)


@pytest.mark.parametrize("cls", ALL, ids=lambda c: f"{c.__module__}.{c.__name__}")
def test_every_setting_is_described(cls):
    """Defaults fit their own ranges, and nothing is left without a meaning."""
    cls()
    for field in dataclasses.fields(cls):
        kind, optional = field_kind(field)
        assert kind in (bool, int, float, str)
        assert (field.default is None) <= optional
        meta = field.metadata
        assert len(meta["meaning"]) > 5 and not meta["meaning"].endswith(".")
        assert check_value(field, field.default, "here") == field.default
        schema = field_schema(field)
        assert schema["description"].startswith(meta["meaning"])
        if field.default is not None:
            assert schema["default"] == field.default
        for bound, name in (("low", "minimum"), ("high", "maximum"), ("above", "exclusiveMinimum")):
            assert schema.get(name) == meta[bound]
        if kind is float and meta["unit"]:
            assert meta["unit"] in schema["description"] and meta["unit"] in describe_range(field)


@pytest.mark.parametrize("cls", ALL, ids=lambda c: f"{c.__module__}.{c.__name__}")
def test_bounds_are_where_they_are_said_to_be(cls):
    """One step beyond each bound is refused, the bound itself is not."""
    for field in dataclasses.fields(cls):
        kind, _ = field_kind(field)
        if kind not in (int, float):
            continue
        step = 1 if kind is int else 1e-6
        meta = field.metadata
        for bound, outward in ((meta["low"], -1), (meta["high"], 1)):
            if bound is not None:
                assert check_value(field, kind(bound), "x") == bound
                with pytest.raises(InputError, match=re.escape(describe_range(field))):
                    check_value(field, kind(bound + outward * max(step, abs(bound) * step)), "x")
        if meta["above"] is not None:
            with pytest.raises(InputError):
                check_value(field, kind(meta["above"]), "x")


def test_the_table_for_the_docs():
    table = settings_table(Sample).splitlines()
    assert len(table) == 2 + len(dataclasses.fields(Sample))
    assert "| `number` | `1.5` | m |" in table[2] and "chosen" in table[6]
    # cells may not break the table
    assert all(row.count("|") == table[0].count("|") for row in table)


@pytest.mark.parametrize("cls", ALL, ids=lambda c: f"{c.__module__}.{c.__name__}")
def test_tables_of_the_real_settings(cls):
    rows = settings_table(cls).splitlines()
    assert all(row.count("|") == 6 for row in rows)
