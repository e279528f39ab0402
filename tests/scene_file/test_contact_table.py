"""The [contact] table: read, written, as Python, on the command line, in checkpoints and in the studio."""

import json
import re
import tomllib
import warnings

import pytest

from pliant import ContactSettings, Scene, load_checkpoint, save_checkpoint, shapes
from pliant.errors import InputError
from pliant.scene_file import load_scene, python_code, scene_text
from pliant.scene_file.layout import scene_schema
from pliant.scene_file.load import SHIPPED, Overrides
from pliant.studio.document import Document

TEXT = """
version = 1
[contact]
between = "all"
thickness = 0.004
rounds = 2
edges = false
[[body]]
name = "one"
shape = { kind = "box", size = 0.2, cells = 1 }
method = "shape_matching"
[[body]]
name = "two"
shape = { kind = "box", size = 0.2, cells = 1 }
method = "shape_matching"
position = [0.0, 0.3, 0.0]
"""
ASKED = ContactSettings(between="all", thickness=0.004, rounds=2, edges=False)


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(TEXT)
    return file


def test_it_is_read_and_without_it_nothing_meets(path):
    assert load_scene(path).scene.contact == ASKED
    assert load_scene("drop").scene.contact == ContactSettings()


def test_it_is_written_as_it_is_read():
    tables = tomllib.loads(TEXT)
    assert tomllib.loads(scene_text(tables)) == tables
    assert scene_text(tables).index("[contact]") < scene_text(tables).index("[[body]]")


@pytest.mark.parametrize("whole", [True, False])
def test_it_is_python(whole):
    tables = tomllib.loads(TEXT)
    if not whole:
        tables["contact"] = {"between": "bodies"}
    code = python_code(tables)
    found = {}
    exec(code.partition("sim = ")[0], found)
    assert found["scene"].contact == (ASKED if whole else ContactSettings(between="bodies"))
    assert whole or 'contact="bodies"' in code


@pytest.mark.parametrize(
    "line, what",
    [
        ('between = "everything"', "line 4.*contact.between.*'everything'.*none.*bodies.*all"),
        ("thickness = -1.0", "line 4.*contact.thickness.*-1"),
        ("thicknes = 1.0", "line 4.*contact.thicknes.*Did you mean 'thickness'"),
        ("rounds = 0", "line 4.*contact.rounds.*0"),
    ],
)
def test_errors_name_line_key_value_and_remedy(line, what, path):
    path.write_text(re.sub(r"between.*?edges = false", line, TEXT, flags=re.DOTALL))
    with pytest.raises(InputError) as error:
        load_scene(path)
    text = f"{error.value.where} {error.value.what} {error.value.remedy}".replace(f"{path}:", "line ")
    assert re.search(what, text), text


def test_it_is_set_on_the_command_line(path):
    changed = load_scene(path, Overrides(settings=["contact.between=bodies", "contact.rounds=3"]))
    assert changed.scene.contact == ContactSettings(between="bodies", thickness=0.004, rounds=3, edges=False)
    assert changed.digest != load_scene(path).digest
    same = load_scene(path, Overrides(settings=["contact.between=all"]))
    assert same.digest == load_scene(path).digest
    with pytest.raises(InputError, match="no setting 'betwen'"):
        load_scene(path, Overrides(settings=["contact.betwen=all"]))
    with pytest.raises(InputError, match="'none', 'bodies', 'all'"):
        load_scene(path, Overrides(settings=["contact.between=some"]))


def test_the_schema_knows_it():
    keys = scene_schema()["properties"]["contact"]["properties"]
    assert keys["between"]["enum"] == ["none", "bodies", "all"]
    assert json.loads((SHIPPED / "scene.schema.json").read_text()) == scene_schema()


def test_a_checkpoint_of_other_contacts_is_refused(path, tmp_path):
    def built(*settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return load_scene(path, Overrides(settings=settings)).scene.build("cpu")

    sim = built()
    sim.frame(2)
    save_checkpoint(sim, tmp_path / "two.ckpt")
    load_checkpoint(built(), tmp_path / "two.ckpt")
    with pytest.raises(InputError, match="another scene"):
        load_checkpoint(built("contact.between=none"), tmp_path / "two.ckpt")


def test_the_studio_keeps_and_changes_it(path, tmp_path):
    document = Document.open(path)
    assert document.describe()["scene"]["contact"] == "all"
    document.set({"scene": True}, "contact", "none")
    assert document.scene().contact == ContactSettings(thickness=0.004, rounds=2, edges=False)
    document.set({"scene": True}, "contact", "bodies")
    document.set({"contact": True}, "iterations", 7)
    assert document.scene().contact.between == "bodies" and document.scene().contact.iterations == 7
    with pytest.raises(InputError, match="some"):
        document.set({"scene": True}, "contact", "some")
    document.undo()
    assert document.scene().contact.iterations == ContactSettings().iterations
    assert document.variant().scene().contact == document.scene().contact
    scene = Scene(contact=ASKED)
    scene.add_body(shapes.box((0.2, 0.2, 0.2), 1))
    again = Document.from_scene(scene, tmp_path)
    assert again.scene().contact == ASKED and "[contact]" in again.toml()
