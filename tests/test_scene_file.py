"""Scene files: what they make, and that every mistake is named with its file, line, key, value and remedy."""

import inspect
import json
import tomllib

import jsonschema
import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.io import write_tets
from pliant.scene_file import FilmSettings, Overrides, find_scene, load_scene, scene_schema, shipped_scenes
from pliant.scene_file.layout import SHAPE_WORDS, shape_functions
from pliant.scene_file.lines import KeyLines

SMALL = """version = 1
name = "small"

[scene]
gravity = [0, -5, 0]
frames = 7
substeps = 4

[solver.mass_spring]
integrator = "verlet"

[[material]]
name = "mine"
base = "rubber"
young = 1e5

[[body]]
name = "block"
shape = { kind = "box", size = [0.2, 0.1, 0.1], cells = [2, 1, 1] }
material = "mine"
position = [0, 1, 0]
pins = [
    { vertices = [0, 3] },
    { box = [[0.09, 0, -1], [0.11, 2, 1]], path = [[0.0, [0, 0, 0]], [1.0, [1, 0, 0]]] },
]

[[plane]]
name = "floor"
friction = 0.3

[film]
size = [64, 48]
"""


def write(tmp_path, text, name="scene.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def changed(old, new):
    assert SMALL.count(old) == 1, old
    return SMALL.replace(old, new)


def test_a_scene_is_what_the_file_says(tmp_path):
    loaded = load_scene(write(tmp_path, SMALL))
    scene = loaded.scene
    assert (loaded.name, loaded.frames, scene.gravity) == ("small", 7, (0.0, -5.0, 0.0))
    assert scene.settings.substeps == 4 and scene.solver_settings == {"mass_spring": {"integrator": "verlet"}}
    (body,) = scene.bodies
    assert body.spec.material.young == 1e5 and body.spec.material.density == 1100.0
    assert [(len(index), path is None) for index, path in body.pins] == [(2, True), (4, False)]
    assert scene.colliders[0].surface.friction == 0.3
    assert (loaded.film.width, loaded.film.height, loaded.film.fps) == (64, 48, FilmSettings().fps)


def test_a_mesh_file_is_found_beside_the_scene(tmp_path):
    write_tets(shapes.box(0.2, 2), tmp_path / "block.node")
    text = 'version = 1\n[[body]]\nfile = "block.node"\nscale = 2\n'
    (body,) = load_scene(write(tmp_path, text)).scene.bodies
    assert np.ptp(body.mesh.vertices, axis=0) == pytest.approx([0.4, 0.4, 0.4])


def test_copies_are_numbered_and_repeatable(tmp_path):
    copies = "copies = { count = [2, 1, 3], spacing = [1, 1, 1], jitter = 0.1, seed = 3 }"
    text = changed('material = "mine"', f'material = "mine"\n{copies}')
    first, again = (load_scene(write(tmp_path, text)).scene.bodies for _ in range(2))
    assert [b.name for b in first] == [f"block_{k}" for k in range(6)]
    assert all(np.array_equal(a.mesh.vertices, b.mesh.vertices) for a, b in zip(first, again, strict=True))
    assert all(len(b.pins) == 2 and len(b.pins[1][0]) == 4 for b in first)


def test_bodies_without_a_name_get_one_that_no_other_has(tmp_path):
    shape = 'shape = { kind = "tetrahedron" }\n'
    named = [f"[[body]]\n{shape}" + (f'name = "{name}"\n' if name else "") for name in ("body1", "", "", "body3", "")]
    scene = load_scene(write(tmp_path, "version = 1\n" + "".join(named))).scene
    assert [b.name for b in scene.bodies] == ["body1", "body2", "body4", "body3", "body5"]


def test_an_error_names_its_place_once(tmp_path):
    path = write(tmp_path, changed("[1.0, [1, 0, 0]]", "[[1, 0, 0], 1.0]"))
    with pytest.raises(InputError) as error:
        load_scene(path)
    assert str(error.value).count("scene.toml:") == 1 and "body[0].pins[1].path[1]: " in str(error.value)


def test_shape_words_are_those_of_the_functions():
    for key, (_, words) in SHAPE_WORDS.items():
        functions = [f for f in shape_functions().values() if key in inspect.signature(f).parameters]
        assert functions and all(f(**{key: word}) for f in functions for word in words)


def test_a_name_that_no_system_takes_is_no_scene():
    for name in (5000 * "a", "a\0b"):
        with pytest.raises(InputError, match="no such scene file"):
            load_scene(name)


def test_overrides(tmp_path):
    path = write(tmp_path, SMALL)
    loaded = load_scene(
        path, Overrides(seconds=0.5, dt=1e-3, settings=["integrator=rk4", "mass_spring.rest_speed=0.1"])
    )
    assert loaded.frames == 30 and loaded.scene.settings.substeps == 17
    assert loaded.scene.solver_settings["mass_spring"] == {"integrator": "rk4", "rest_speed": 0.1}
    same, other = load_scene(path, Overrides(frames=9)), load_scene(path, Overrides(substeps=5))
    plain = load_scene(path)
    assert same.digest == plain.digest and other.digest != plain.digest


@pytest.mark.parametrize(
    "overrides, words",
    [
        (Overrides(settings=["integratr=rk4"]), ["--set", "integratr", "Did you mean 'integrator'"]),
        (Overrides(settings=["integrator"]), ["--set", "key=value"]),
        (Overrides(settings=["cg_iterations=many"]), ["--set", "'many'", "whole number"]),
        (Overrides(settings=["rest_speed=-1"]), ["--set", "-1", "from 0 to 100"]),
        (Overrides(settings=["mass_sprin.rest_speed=1"]), ["mass_sprin", "Did you mean 'mass_spring'"]),
        (Overrides(method="mass_sprng"), ["--solver", "mass_sprng", "Did you mean"]),
        (Overrides(dt=-1.0), ["--dt", "-1.0", "above 0"]),
        (Overrides(dt=1.0), ["--dt", "longer than a frame"]),
        (Overrides(frames=0), ["--frames", "0", "from 1"]),
        (Overrides(frames=3, seconds=1.0), ["--frames", "--seconds"]),
        (Overrides(seconds=1e308), ["--seconds", "1e+308", "at most"]),
        (Overrides(dt=1e-320), ["--dt", "100,000 substeps"]),
        (Overrides(settings=["cg_iterations=1" + 400 * "0"]), ["--set", "from 1 to 10000"]),
    ],
)
def test_bad_overrides(tmp_path, overrides, words):
    with pytest.raises(InputError) as error:
        load_scene(write(tmp_path, SMALL), overrides)
    assert all(word in str(error.value) for word in words), str(error.value)


def line_of(text, part):
    return next(k for k, line in enumerate(text.splitlines(), 1) if part in line)


# what is replaced, by what, a part of the line that must be named (None: no line), words of the message
BAD = {
    "unknown key": ("frames = 7", "framse = 7", "framse", ["scene.framse", "Did you mean 'frames'"]),
    "unknown table": ("[film]", "[flim]", "[flim]", ["flim", "Did you mean 'film'"]),
    "unknown body key": ("position = [0, 1, 0]", "postion = [0, 1, 0]", "postion", ["body[0].postion", "'position'"]),
    "no version": ("version = 1", "", "", ["version", "missing", "Add 'version = 1'"]),
    "newer version": ("version = 1", "version = 2", "version", ["version 2", "update Pliant"]),
    "odd version": ("version = 1", 'version = "one"', "version", ["'one'", "write version = 1"]),
    "syntax": ("frames = 7", "frames = = 7", "frames", ["not valid TOML", "frames = = 7"]),
    "key twice": ("frames = 7", "frames = 7\nframes = 8", "frames = 8", ["not valid TOML", "only once"]),
    "wrong type": ("substeps = 4", 'substeps = "4"', "substeps", ["scene.substeps", "'4'", "whole number"]),
    "fraction": ("substeps = 4", "substeps = 4.5", "substeps", ["4.5", "whole number"]),
    "out of range": ("friction = 0.3", "friction = -0.3", "friction", ["plane[0].friction", "-0.3", "from 0 to 100"]),
    "not a number": ("young = 1e5", "young = nan", "young", ["material[0].young", "nan", "above 0"]),
    "too large": ("young = 1e5", "young = 1" + 400 * "0", "young", ["material[0].young", "too large"]),
    "two numbers": ("gravity = [0, -5, 0]", "gravity = [0, -5]", "gravity", ["scene.gravity", "[0, -5]", "three"]),
    "text in vector": ("position = [0, 1, 0]", 'position = [0, "1", 0]', "position", ["body[0].position", "'1'"]),
    "no bodies": ("[[body]]", "[[plane]]", None, ["body"]),
    "unknown shape": ('kind = "box"', 'kind = "bx"', "kind", ["body[0].shape.kind", "'bx'", "Did you mean 'box'"]),
    "shape key": ("cells = [2, 1, 1]", "cell = [2, 1, 1]", "kind", ["body[0].shape.cell", "Did you mean 'cells'"]),
    "shape value": ("size = [0.2, 0.1, 0.1]", "size = [0.2, 0, 0.1]", "kind", ["shape.size[1]", "0", "above 0"]),
    "shape without kind": ('kind = "box", ', "", "shape = ", ["body[0].shape", "kind", "box"]),
    "no shape": ('shape = { kind = "box", size = [0.2, 0.1, 0.1], cells = [2, 1, 1] }', "", "[[body]]",
                 ["body[0]", "exactly one of: shape, file"]),
    "shape and file": ('name = "block"', 'name = "block"\nfile = "a.node"', "[[body]]", ["shape and file", "exactly"]),
    "missing file": ('shape = { kind = "box", size = [0.2, 0.1, 0.1], cells = [2, 1, 1] }', 'file = "nope.node"',
                     "nope", ["body[0].file", "nope.node", "as seen from the scene file"]),
    "unknown material": ('material = "mine"', 'material = "mien"', "mien", ["body[0].material", "'mien'", "'mine'"]),
    "unknown base": ('base = "rubber"', 'base = "ruber"', "ruber", ["material[0].base", "'ruber'", "'rubber'"]),
    "material twice": ('name = "mine"', 'name = "rubber"', '"rubber"', ["material[0].name", "there already"]),
    "unknown method": ('name = "block"', 'name = "block"\nmethod = "fem9"', "fem9", ["body[0].method", "'fem9'"]),
    "unknown solver": ("[solver.mass_spring]", "[solver.mas_spring]", "mas_spring", ["solver.mas_spring", "Did you"]),
    "solver choice": ('integrator = "verlet"', 'integrator = "verle"', "verle",
                      ["solver.mass_spring.integrator", "'verle'"]),
    "colour": ('name = "block"', 'name = "block"\ncolor = [2, 0, 0]', "color", ["body[0].color", "2.0", "from 0 to 1"]),
    "no such vertex": ("vertices = [0, 3]", "vertices = [0, 99]", "vertices", ["body[0].pins[0]", "12 vertices"]),
    "pin box empty": ("[[0.09, 0, -1], [0.11, 2, 1]]", "[[5, 5, 5], [6, 6, 6]]", "[5, 5",
                      ["body[0].pins[1]", "no vertex"]),
    "pin box reversed": ("[[0.09, 0, -1], [0.11, 2, 1]]", "[[0.11, 2, 1], [0.09, 0, -1]]", "0.11",
                         ["inside out", "lowest"]),
    "pin path order": ("[1.0, [1, 0, 0]]", "[-1.0, [1, 0, 0]]", "path", ["pins[1].path", "do not rise", "Sort"]),
    "pin path key": ("[1.0, [1, 0, 0]]", "[[1, 0, 0], 1.0]", "path", ["pins[1].path[1]", "such as [2.0"]),
    "normal": ('name = "floor"', 'name = "floor"\nnormal = [0, 0, 0]', "normal", ["plane[0].normal", "no length"]),
    "camera": ("[film]", "[camera]\nposition = [0, 0, 1]\n[film]", "[camera]", ["camera", "'target'"]),
    "film size": ("size = [64, 48]", "size = [64, 4]", "size = [64", ["film.size[1]", "4", "from 16"]),
    "table expected": ('material = "mine"', "material = 3", "material = 3", ["body[0].material", "3", "a text"]),
    "copies": ('name = "block"', 'name = "block"\ncopies = { count = [2, 2, 2] }', "copies", ["copies", "spacing"]),
    "too many copies": ('name = "block"', 'name = "block"\ncopies = { count = [9000, 9000, 1], spacing = [1, 1, 1] }',
                        "copies", ["copies.count", "81,000,000", "at most"]),
    "name twice": ("[[plane]]", '[[body]]\nname = "block"\nshape = { kind = "ball" }\n[[plane]]', None,
                   ["'block'", "taken"]),
    "frame time": ("frames = 7", "frame_dt = 0", "frame_dt", ["scene.frame_dt", "0", "above 0"]),
    "long name": ('name = "small"', f'name = "{101 * "s"}"', "name", ["name", "101 characters", "to 100"]),
    "name of many bytes": ('name = "small"', f'name = "{80 * "€"}"', "name", ["name", "letters"]),
    "name of more bytes": ('name = "small"', f'name = "{100 * "語"}"', "name", ["name", "too long for a file name"]),
    "long body name": ('name = "block"', f'name = "{5000 * "b"}"', "bbb", ["body[0].name", "5,000 characters"]),
    "long file": ('shape = { kind = "box", size = [0.2, 0.1, 0.1], cells = [2, 1, 1] }', f'file = "{5000 * "a"}.node"',
                  "aaa", ["body[0].file", "there is no file"]),
    "material without name": ('name = "mine"', 'name = ""', 'name = ""', ["material[0].name", "0 characters"]),
    "jitter": ('name = "block"', 'name = "block"\ncopies = { count = [2, 2, 2], spacing = [1, 1, 1], jitter = 1e308 }',
               "copies", ["copies.jitter", "1e+308", "from 0 to 1e+06"]),
    "far copies": ('name = "block"', 'name = "block"\ncopies = { count = [9, 1, 1], spacing = [1e308, 1, 1] }',
                   None, ["position"]),
    "camera up": ("[film]", "[camera]\nposition = [0, 0, 1]\ntarget = [0, 0, 0]\nup = [0, 0, 0]\n[film]",
                  "up = ", ["camera.up", "zero"]),
    "split": ('kind = "box"', 'kind = "box", split = "seven"', "kind", ["shape.split", "'seven'", "'six', 'five'"]),
    "thousands of digits": ("young = 1e5", "young = 1" + 5000 * "0", None, ["thousands of digits"]),
    "huge version": ("version = 1", "version = 1" + 400 * "0", "version", ["not known", "update Pliant"]),
    "name of files": ('name = "small"', 'name = "../small"', "../small", ["'../small'", "letters"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.replace(" ", "_"))
def test_every_mistake_is_named(tmp_path, case):
    old, new, at, words = BAD[case]
    text = changed(old, new)
    path = write(tmp_path, text)
    with pytest.raises(InputError) as error:
        load_scene(path)
    message = str(error.value)
    assert str(path) in message and error.value.remedy, message
    assert all(word in message for word in words), message
    if at:
        assert f"{path}:{line_of(text, at)}" in message, message


def test_there_are_at_least_twenty_kinds():
    assert len(BAD) >= 40


def test_bad_files(tmp_path):
    with pytest.raises(InputError, match=r"no such scene file.*Did you mean 'drop'"):
        load_scene("dorp")
    with pytest.raises(InputError, match="folder"):
        load_scene(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"version = 1\nname = '\xff'\n")
    with pytest.raises(InputError, match=r"binary.toml:2: byte 0xff is not UTF-8"):
        load_scene(binary)
    with pytest.raises(InputError, match="nested too deeply"):
        load_scene(write(tmp_path, "version = 1\na = " + 5000 * "[" + 5000 * "]"))
    with pytest.raises(InputError, match="version"):
        load_scene(write(tmp_path, ""))


def test_errors_of_a_mesh_file_name_both_places(tmp_path):
    write_tets(shapes.box(0.2, 1), tmp_path / "block.node")
    (tmp_path / "block.ele").write_text("1 4 0\n1 1 2 3 999\n")
    path = write(tmp_path, 'version = 1\n\n[[body]]\nfile = "block.node"\n')
    with pytest.raises(InputError) as error:
        load_scene(path)
    assert f"{path}:4: body[0].file" in str(error.value) and "block.ele" in str(error.value)


def test_lines_of_keys():
    text = (
        '# comment\na = 1 # b = 2\n"quoted key" = "x # y"\nc.d = [1,\n 2,\n {e = 3}]\n'
        "f = \"\"\"\ntext = 1\n\"\"\"\n[t.u]\nv = '''a\n'''\nw = 2\n[[l]]\n[[l]]\nx = 1\n"
        "[l.m]\ny = 1979-05-27 07:32:00\n[[l.n]]\nz = { p = 1, q.r = [ ] }\n"
    )
    tomllib.loads(text)
    lines = KeyLines(text)
    expected = {
        ("a",): 2,
        ("quoted key",): 3,
        ("c", "d"): 4,
        ("c", "d", 1): 5,
        ("c", "d", 2, "e"): 6,
        ("f",): 7,
        ("t", "u", "v"): 11,
        ("t", "u", "w"): 13,
        ("l", 0): 14,
        ("l", 1, "x"): 16,
        ("l", 1, "m", "y"): 18,
        ("l", 1, "n", 0, "z", "q", "r"): 20,
        ("l", 1, "missing"): 15,
        ("nothing",): 1,
    }
    assert {path: lines.line(path) for path in expected} == expected


def test_the_schema_is_current_and_accepts_every_shipped_scene():
    schema = scene_schema()
    written = find_scene("drop").parent / "scene.schema.json"
    assert json.loads(written.read_text()) == schema, (
        "run: pliant scenes --schema --out pliant/scenes/scene.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for path in shipped_scenes().values():
        validator.validate(tomllib.loads(path.read_text()))
    validator.validate(tomllib.loads(SMALL))


@pytest.mark.parametrize(
    "case", ["unknown key", "wrong type", "out of range", "unknown shape", "shape key", "no shape", "solver choice"]
)
def test_the_schema_refuses_what_the_program_refuses(case):
    document = tomllib.loads(changed(*BAD[case][:2]))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, scene_schema())


def test_every_shape_can_be_named():
    assert {"box", "ball", "torus", "cylinder", "ellipsoid", "tetrahedron", "sheet"} <= set(shape_functions())


@pytest.mark.parametrize("name", shipped_scenes())
def test_shipped_scenes_run(name):
    loaded = load_scene(name)
    assert loaded.description
    sim = loaded.scene.build("cpu")
    sim.frame(3)
    assert sim.diagnostics().finite


def test_work_on_meshes_is_told_while_a_scene_is_loaded(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text('version = 1\n[[body]]\nfile = "small_bunny"\nsize = 0.3\ntets = 300\n')
    told = []
    load_scene(file, progress=lambda stage, done: told.append((stage, done)))
    assert told and all(stage.startswith("small_bunny: ") and 0.0 <= done <= 1.0 for stage, done in told)
