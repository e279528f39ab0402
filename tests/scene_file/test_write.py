"""Tables written as TOML are the same tables when they are read again."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import InputError
from pliant.scene_file import load_scene, load_tables, scene_text, shipped_scenes
from pliant.scene_file.tables import named

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUE = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    TEXT,
    st.dates(),
    st.none().map(lambda _: []),
)
NESTED = st.recursive(
    VALUE, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)


@pytest.mark.parametrize("name", shipped_scenes())
def test_shipped_scenes_come_back(name):
    tables = tomllib.loads(shipped_scenes()[name].read_text(encoding="utf-8"))
    assert tomllib.loads(scene_text(tables)) == tables
    assert tomllib.loads(scene_text(named(tables))) == named(tables)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(TEXT, NESTED, max_size=5))
def test_any_tables_come_back(tables):
    read = tomllib.loads(scene_text(tables))
    assert read == tables
    assert repr(_sorted(read)) == repr(_sorted(tables))  # true is not 1, and 1 is not 1.0


def _sorted(value):
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(entry) for entry in value] if isinstance(value, list) else value


def test_text_reads_like_one_written_by_hand():
    text = scene_text(
        {
            "version": 1,
            "scene": {"frames": 10},
            "solver": {"mass_spring": {"integrator": "verlet"}},
            "body": [{"name": "a", "shape": {"kind": "box", "size": 0.5}, "material": {"base": "jelly", "young": 1e4}}],
            "plane": [{"name": "floor"}],
        }
    )
    assert text == (
        "version = 1\n\n[scene]\nframes = 10\n\n[solver.mass_spring]\nintegrator = \"verlet\"\n\n"
        '[[body]]\nname = "a"\nshape = { kind = "box", size = 0.5 }\nmaterial = { base = "jelly", young = 10000.0 }\n\n'
        '[[plane]]\nname = "floor"\n'
    )  # fmt: skip


def test_no_line_of_keys_is_endless():
    path = [[0.1 * k, [0.0, 0.1 * k, 0.0]] for k in range(30)]
    text = scene_text({"body": [{"path": path}]})
    assert max(map(len, text.splitlines())) <= 120
    assert tomllib.loads(text) == {"body": [{"path": path}]}


def test_what_toml_cannot_hold_is_refused():
    for value in (None, object(), "\ud800"):
        with pytest.raises(InputError):
            scene_text({"key": value})


def test_tables_without_a_file_make_the_same_scene():
    tables = tomllib.loads(shipped_scenes()["grid"].read_text(encoding="utf-8"))
    made, loaded = load_tables(tables, ".", "grid"), load_scene("grid")
    assert made.digest == loaded.digest
    assert [b.name for b in made.scene.bodies] == [b.name for b in loaded.scene.bodies]
    assert all((a.mesh.vertices == b.mesh.vertices).all() for a, b in zip(made.scene.bodies, loaded.scene.bodies))


def test_errors_of_tables_name_body_and_key():
    body = {"name": "bar", "shape": {"kind": "box"}, "material": {"young": -1.0}}
    with pytest.raises(InputError, match=r"body 'bar'\.material\.young: -1\.0 is out of range"):
        load_tables({"version": 1, "body": [body]}, ".")
    with pytest.raises(InputError, match=r"body 'bar'\.color"):
        load_tables({"version": 1, "body": [{**body, "material": "jelly", "color": [2, 0, 0]}]}, ".")


def test_a_scene_may_have_no_bodies():
    assert load_tables({"version": 1, "plane": [{}], "body": []}, ".").scene.bodies == []


def test_meshes_are_kept_until_they_change(tmp_path):
    import pliant

    file = tmp_path / "ball.ply"
    pliant.write_mesh(pliant.shapes.ball(radius=0.5, cells=3).surface_mesh(), file)
    tables = {"version": 1, "body": [{"name": "ball", "file": "ball.ply", "solid": "surface"}]}
    kept: dict = {}
    first = load_tables(tables, tmp_path, meshes=kept).scene.bodies[0]
    tables["body"][0]["material"] = "jelly"
    assert load_tables(tables, tmp_path, meshes=kept).scene.bodies[0].source is first.source
    pliant.write_mesh(pliant.shapes.ball(radius=0.7, cells=4).surface_mesh(), file)
    assert len(load_tables(tables, tmp_path, meshes=kept).scene.bodies[0].source.vertices) > len(first.source.vertices)
