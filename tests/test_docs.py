"""The documentation is true: its programs run, its scene files load, its tables are those of the code, its links lead.

Run as a program, this file writes the generated tables anew: ``python tests/test_docs.py``.
"""

import argparse
import dataclasses
import importlib
import inspect
import re
import warnings
from pathlib import Path

import pytest

from pliant.materials import PRESETS, Material
from pliant.settings import describe_range, settings_table

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
TEXTS = sorted(
    [*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
    + [*(ROOT / "pliant").rglob("README.md")]
)
MARKED = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
README_LINES = 15
SOLID = ("density", "young", "poisson", "damping", "friction", "restitution")
CLOTH = ("thickness", "young", "young_weft", "shear", "bending", "drag")


# ---- tables -----------------------------------------------------------------------------------------------------


def table_of(name):
    """What a marker asks for: ``presets``, ``formats``, ``keys:`` and a table of scene files, or a settings class by
    its full name; ``cloths`` is what presets of sheets have besides.

    ``!a,b`` after the name of a class leaves settings out.
    """
    kind, _, rest = name.partition(":")
    if kind == "keys":
        return keys_table(rest)
    if kind == "presets":
        return presets_table()
    if kind == "cloths":
        return presets_table(CLOTH, lambda material: material.thickness != Material.thickness)
    if kind == "sources":
        return sources_table()
    if kind == "formats":
        return formats_table()
    name, _, left_out = name.partition("!")
    module, _, cls = name.rpartition(".")
    rows = settings_table(getattr(importlib.import_module(module), cls)).splitlines()
    return "\n".join(row for row in rows if row.split("`")[1:2] not in [[key] for key in left_out.split(",")])


def keys_table(name):
    """The keys of a table of the scene file that are not settings of a class; names such as ``body.pins``."""
    from pliant.scene_file import form
    from pliant.scene_file.layout import scene_table

    table = scene_table()
    for part in name.split(".") if name != "file" else ():
        table = table.keys[part]
        if isinstance(table, form.ListOf):
            table = table.kind
        if isinstance(table, form.Either):
            table = table.special
        if isinstance(table, form.Variant):
            return shapes_table(table)
    elsewhere = {"scene": "SceneSettings", "material": "Material", "plane": "PlaneSurface", "film": "FilmSettings"}
    skip = settings_names(elsewhere.get(name.split(".")[-1], ""))
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for key, kind in table.keys.items():
        if key not in skip:
            needed = "required" if key in table.required else default_of(kind)
            rows.append(f"| `{key}` | {words(kind)} | {needed} | {meaning(kind)} |")
    return "\n".join(rows)


def sources_table():
    from pliant.material_presets import SOURCES

    rows = ["| preset | what it is | Young's modulus | density | Poisson's ratio |", "|---|---|---|---|---|"]
    for name, given in SOURCES.items():
        rows.append(f"| `{name}` | {given['stuff']} | {given['young']} | {given['density']} | {given['poisson']} |")
    return "\n".join(rows)


def presets_table(names=SOLID, wanted=lambda material: True):
    units = {field.name: field.metadata["unit"] for field in dataclasses.fields(Material)}
    heads = [f"`{name}`" + f" [{units[name]}]" * bool(units[name]) for name in names]
    rows = [f"| preset | {' | '.join(heads)} |", "|---" * (len(names) + 1) + "|"]
    for preset, material in PRESETS.items():
        if wanted(material):
            values = [getattr(material, name) for name in names]
            rows.append(f"| `{preset}` | {' | '.join('' if v is None else f'{v:g}' for v in values)} |")
    return "\n".join(rows)


def formats_table():
    """Every mesh format, from the table that reading and writing use."""
    from pliant.mesh.io import FORMATS

    rows = ["| format | suffixes | holds | `.gz` read | extra |", "|---|---|---|---|---|"]
    for row in FORMATS:
        names = [f"`{name}`" + " (read only)" * (name in row.read_only) for name in row.suffixes]
        holds = " or ".join(["a surface"] * row.surface + ["tets"] * row.tets) + ", in two files" * row.pair
        extra = f"`{row.extra}`" if row.extra else ""
        rows.append(f"| {row.name} | {', '.join(names)} | {holds} | {'yes' if row.packed else ''} | {extra} |")
    return "\n".join(rows)


def settings_names(cls):
    from pliant.collide.shapes.plane import PlaneSurface
    from pliant.materials import Material
    from pliant.scene import SceneSettings
    from pliant.scene_file import FilmSettings

    classes = {c.__name__: c for c in (PlaneSurface, Material, SceneSettings, FilmSettings)}
    return {field.name for field in dataclasses.fields(classes[cls])} if cls in classes else set()


def shapes_table(variant):
    from pliant.scene_file.layout import shape_functions

    rows = ["| kind | keys | what it is |", "|---|---|---|"]
    for name, table in variant.tables.items():
        defaults = inspect.signature(shape_functions()[name]).parameters
        keys = []
        for key, kind in table.keys.items():
            default = defaults[key].default
            keys.append(f"`{key}`: {words(kind)} ({'chosen' if default is None else default})")
        rows.append(f"| `{name}` | {'; '.join(keys)} | {table.meaning.replace('``', '`')} |")
    return "\n".join(rows)


def words(kind):
    """What may stand for a key."""
    from pliant.scene_file import form

    if isinstance(kind, form.Setting):
        return describe_range(kind.field)
    if isinstance(kind, form.Vector):
        return "three numbers"
    if isinstance(kind, form.ListOf):
        return f"a list of {kind.shortest}" if kind.longest == kind.shortest else "a list"
    if isinstance(kind, form.Either):
        return f"{words(kind.otherwise)}, or {words(kind.special)}"
    return "a table"


def default_of(kind):
    from pliant.scene_file import form

    kind = kind.otherwise if isinstance(kind, form.Either) else kind
    default = kind.field.default if isinstance(kind, form.Setting) else None
    return "" if default in (None, "") else f"`{default}`"


def meaning(kind):
    from pliant.scene_file import form

    if isinstance(kind, form.Setting):
        return kind.field.metadata["meaning"]
    return meaning(kind.otherwise) if isinstance(kind, form.Either) else kind.meaning


def with_tables(text):
    return MARKED.sub(lambda m: f"{m[1]}{table_of(m[2])}\n{m[3]}", text)


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.name)
def test_tables_are_those_of_the_code(path):
    text = path.read_text(encoding="utf-8")
    assert text == with_tables(text), "run: python tests/test_docs.py"


def test_every_key_of_a_scene_file_is_documented():
    """Any key that the schema knows stands in the page in code type."""
    from pliant.scene_file import scene_schema

    keys = set()

    def collect(schema):
        if isinstance(schema, dict):
            keys.update(schema.get("properties", {}))
            for value in schema.values():
                collect(value)
        elif isinstance(schema, list):
            for value in schema:
                collect(value)

    collect(scene_schema())
    text = (DOCS / "scene-files.md").read_text(encoding="utf-8")
    assert not [key for key in sorted(keys) if f"`{key}`" not in text and f"`[{key}" not in text]


def test_every_preset_has_a_source():
    text = (DOCS / "materials.md").read_text(encoding="utf-8").partition("## Where they come from")[2]
    assert not [name for name in PRESETS if f"`{name}`" not in text]


# ---- programs and scene files -----------------------------------------------------------------------------------


def blocks(path, language):
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("path", [p for p in TEXTS if blocks(p, "python")], ids=lambda p: p.name)
def test_programs_run(path, tmp_path, monkeypatch):
    """All blocks of a page run one after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in blocks(path, "python"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The step of")
            exec(compile(block, f"{path.name}", "exec"), names)


@pytest.mark.parametrize("path", [p for p in TEXTS if blocks(p, "toml")], ids=lambda p: p.name)
def test_scene_files_load(path, tmp_path):
    from pliant.scene_file import load_scene

    whole = [block for block in blocks(path, "toml") if block.startswith("version")]
    for k, block in enumerate(whole):
        file = tmp_path / f"scene{k}.toml"
        file.write_text(block)
        load_scene(file).scene.build("cpu").frame(2)


def test_readme_example_is_short():
    (example,) = blocks(ROOT / "README.md", "python")
    assert len(example.splitlines()) <= README_LINES


# ---- the command line -------------------------------------------------------------------------------------------


def parsers():
    from pliant.cli import COMMANDS

    commands = argparse.ArgumentParser().add_subparsers()
    for command in COMMANDS:
        command.add_parser(commands)
    return commands.choices


def test_every_command_and_option_is_documented():
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    parts = {m[1]: m[0] for m in re.finditer(r"^## pliant ([\w-]+)\n.*?(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)}
    for name, parser in parsers().items():
        assert name in parts, f"pliant {name}"
        for action in parser._actions:
            for option in action.option_strings:
                if option not in ("-h", "--help"):
                    assert f"`{option}" in parts[name], f"pliant {name} {option}"


def test_every_bench_is_documented():
    from pliant.bench import BENCHES

    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert not [name for name in BENCHES if f"`{name}`" not in text]


def test_every_key_of_the_summary_is_documented():
    from pliant.run import summary

    keys = re.findall(r"^    ([a-z_]+(?:, [a-z_]+)*)(?:/_\w+)?(?:  |$| [a-z]*  )", summary.__doc__, re.MULTILINE)
    names = [name for key in keys for name in key.split(", ")]
    assert {"finite", "real_time_factor", "momentum_drift", "blow_up"} <= set(names)
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert not [name for name in names if f"`{name}" not in text]


def test_shipped_scenes_are_documented():
    from pliant.scene_file import shipped_scenes

    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    assert not [name for name in shipped_scenes() if f"`{name}`" not in text]


# ---- links ------------------------------------------------------------------------------------------------------


def anchors(path):
    """The anchors of a page's headings, as web sites make them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name) if name else path
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file), target


def test_every_page_is_on_the_map():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert not [p.name for p in DOCS.glob("*.md") if p.name != "index.md" and f"({p.name})" not in index]


def test_examples_are_listed():
    listed = (DOCS / "getting-started.md").read_text(encoding="utf-8")
    assert not [p.name for p in (ROOT / "examples").glob("[0-9]*.py") if p.name not in listed]


if __name__ == "__main__":
    for page in TEXTS:
        before = page.read_text(encoding="utf-8")
        after = with_tables(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"written: {page.relative_to(ROOT)}")
