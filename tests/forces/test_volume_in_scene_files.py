"""The table [body.volume] of a scene file."""

import pytest
from bodies import build

from pliant import InputError, shapes
from pliant.forces import GlobalVolume, Pressure, SupportSprings
from pliant.scene_file import load_scene

HEAD = 'version = 1\n[[body]]\nname = "b"\nshape = {kind = "sheet"}\n'


def write(tmp_path, text):
    path = tmp_path / "scene.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_kinds_are_checked_where_they_stand(tmp_path):
    for table, key in (
        ('kind = "steam"', "body[0].volume.kind"),
        ('kind = "pressure"\noverpressure = -2', "body[0].volume.overpressure"),
        ('kind = "support"\nstiffness = 3', "body[0].volume.stiffness"),
    ):
        with pytest.raises(InputError) as error:
            load_scene(write(tmp_path, f"{HEAD}[body.volume]\n{table}\n"))
        assert key in str(error.value) and "scene.toml:" in str(error.value)


def test_an_open_surface_is_named_with_its_line(tmp_path):
    with pytest.raises(InputError) as error:
        load_scene(write(tmp_path, f'{HEAD}volume = {{kind = "pressure"}}\n'))
    assert "scene.toml:5" in str(error.value) and "boundary edges" in str(error.value)


def test_no_gas_at_all_is_refused(tmp_path):
    text = f'{HEAD}[body.volume]\nkind = "pressure"\noverpressure = 0\nambient = 0\n'
    with pytest.raises(InputError, match="there is no gas"):
        load_scene(write(tmp_path, text))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('kind = "pressure"\noverpressure = 900', Pressure(overpressure=900.0)),
        ('kind = "support"\nyoung = 2e4\ndepth = 0.2', SupportSprings(young=2e4, depth=0.2)),
        ('kind = "global_volume"', GlobalVolume()),
    ],
)
def test_a_table_becomes_settings(table, expected, tmp_path):
    """A closed surface from a file, as it is."""
    ball = shapes.ball(0.5, 2).surface_mesh()
    rows = [f"v {x} {y} {z}" for x, y, z in ball.vertices] + [f"f {a} {b} {c}" for a, b, c in ball.triangles + 1]
    (tmp_path / "ball.obj").write_text("\n".join(rows), encoding="utf-8")
    body = 'version = 1\n[[body]]\nfile = "ball.obj"\nsolid = "surface"\n[body.volume]\n'
    loaded = load_scene(write(tmp_path, body + table))
    assert loaded.scene.bodies[0].volume == expected
    assert len(build(loaded.scene).forces) == 1
