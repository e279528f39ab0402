"""Tables of a scene file as a Python program that builds the same scene with the public functions."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pliant.collide.shapes import collider_classes
from pliant.forces.inside import INSIDES
from pliant.materials import PRESETS
from pliant.scene import Scene
from pliant.scene_file.attachments import LIMITS, pairs_of
from pliant.scene_file.meshes import LAYERED, PREPARE_KEYS
from pliant.scene_file.tables import body_names, named

LINE = 110
"""Longest call in one line; a longer one has one argument per line."""
INDENT = "    "
NUMPY = "import numpy as np"


def python_code(tables: Mapping[str, Any]) -> str:
    """A program that builds the scene of the tables and runs it; relative files are seen from where it runs."""
    return _Writer(named(tables)).program()


def call(function: str, arguments: Iterable[str], indent: str = "") -> str:
    """A call in one line if that is short enough, else with one argument per line."""
    arguments = list(arguments)
    line = f"{function}({', '.join(arguments)})"
    if len(indent) + len(line) <= LINE or not arguments:
        return line
    rows = "".join(f"{indent}{INDENT}{argument},\n" for argument in arguments)
    return f"{function}(\n{rows}{indent})"


def keywords(table: Mapping[str, Any]) -> list[str]:
    """The keys of a table as arguments."""
    return [f"{key}={_literal(value)}" for key, value in table.items()]


def _literal(value: Any) -> str:
    """A value as Python spells it; lists of numbers as tuples."""
    if isinstance(value, _Code):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(_literal, value))
        return f"({inner}{',' * (len(value) == 1)})"
    if isinstance(value, str):
        text = repr(value)
        plain = value.isprintable() and '"' not in value and "\\" not in value
        return f'"{value}"' if plain else text
    return repr(value)


class _Writer:
    """Writes the program part by part, and remembers which imports it needs."""

    def __init__(self, tables: dict[str, Any]):
        self.tables = tables
        self.imports: set[str] = set()
        self.variables: dict[str, str] = {}

    def program(self) -> str:
        scene = dict(self.tables.get("scene", {}))
        frames = scene.pop("frames", 240)
        name = {"name": self.tables["name"]} if self.tables.get("name") else {}
        contact = dict(self.tables.get("contact", {}))
        if contact:
            scene["contact"] = contact["between"] if set(contact) == {"between"} else contact
        sleep = dict(self.tables.get("sleep", {}))
        if sleep:
            scene["sleep"] = sleep["time"] if set(sleep) == {"time"} else sleep
        parts = [f"scene = {call('pliant.Scene', keywords({**name, **scene}))}"]
        parts += [
            "\n".join(f"scene.{call('configure', [_literal(m), *keywords(v)])}" for m, v in self._solvers()),
            "\n".join(self._named_material(table) for table in self.tables.get("material", [])),
            "\n".join(
                self._collider(kind, table) for kind in collider_classes() for table in self.tables.get(kind, [])
            ),
            *(self._body(table) for table in self.tables.get("body", [])),
            "\n".join(self._attachment(table) for table in self.tables.get("attachment", [])),
            f"sim = scene.build()\nfor _ in range({frames}):\n{INDENT}sim.frame()",
        ]
        if not self.tables.get("body"):
            parts[-1] = "# there is no body yet: add one, then call scene.build()"
        about = self.tables.get("description") or self.tables.get("name") or "A scene of Pliant"
        quoted = about.replace("\\", "\\\\").replace('"', '\\"')
        head = f'"""{quoted}{"" if about.endswith(".") else "."}"""\n\n'
        own = [line for line in self.imports if line.startswith("from pliant.")]
        outside = [line for line in self.imports if line not in own and line != NUMPY]
        blocks = (sorted(outside), [NUMPY] if NUMPY in self.imports else [], ["import pliant", *sorted(own)])
        imports = "\n\n".join("\n".join(block) for block in blocks if block)
        return head + imports + "\n\n" + "\n\n".join(part for part in parts if part) + "\n"

    def _solvers(self) -> list[tuple[str, dict[str, Any]]]:
        return [(method, values) for method, values in self.tables.get("solver", {}).items() if values]

    # ---- materials and colliders ------------------------------------------------------------------------------------

    def _named_material(self, table: Mapping[str, Any]) -> str:
        variable = re.sub(r"\W", "_", table["name"])
        if not variable.isidentifier() or keyword.iskeyword(variable) or variable in ("scene", "sim", "pliant", "np"):
            variable = f"material_{variable}"
        while variable in self.variables.values() or variable in (
            "replace",
            "product",
            "offsets",
            "made",
            "collider",
            "Path",
            "n",
            "offset",
        ):
            variable += "_"
        code = self._material({key: value for key, value in table.items() if key != "name"})
        self.variables[table["name"]] = variable
        return f"{variable} = {code}"

    def _material(self, value: Any, indent: str = "") -> str:
        """A material as an expression."""
        if isinstance(value, str):
            return self.variables.get(value) or _literal(value)
        values = dict(value)
        base = values.pop("base", None)
        if base is None:
            return call("pliant.Material", keywords(values), indent)
        first = f"pliant.PRESETS[{_literal(base)}]" if base in PRESETS else self.variables.get(base, _literal(base))
        if not values:
            return first
        self.imports.add("from dataclasses import replace")
        return call("replace", [first, *keywords(values)], indent)

    def _collider(self, kind: str, table: Mapping[str, Any]) -> str:
        table = dict(table)
        if kind == "heightmap" and "file" in table:
            table = {"heights": table.pop("file"), **table}
        if kind == "mesh":
            table = {"mesh": table.pop("file"), **table}
        adder = "add_mesh_collider" if kind == "mesh" else f"add_{kind}"
        method = getattr(Scene, adder, None)
        if method is not None and set(table) <= set(inspect.signature(method).parameters):
            return f"scene.{call(adder, keywords(table))}"
        # a collider that only its table can make, such as hills
        cls = collider_classes()[kind]
        self.imports |= {f"from {cls.__module__} import {cls.__name__}", "from pathlib import Path"}
        name = table.pop("name")
        made = call(f"{cls.__name__}.from_table", [_literal(table), _literal(name), 'Path(".")'])
        return f"collider = {made}\nscene.add_collider(collider)"

    # ---- bodies -----------------------------------------------------------------------------------------------------

    def _body(self, table: Mapping[str, Any]) -> str:
        """All that adds a body, with its copies and pins."""
        table = dict(table)
        pins, copies = table.pop("pins", []), table.pop("copies", None)
        indent = INDENT if copies is not None else ""
        lines: list[str] = []
        function, arguments = self._mesh(table, lines, copies is not None)
        if "material" in table:
            arguments.append(self._material(table.pop("material"), indent + INDENT))
        label = table.pop("name")
        name = _literal(label)
        if copies is not None:
            lines += self._offsets(copies)
            lines.append("for n, offset in enumerate(offsets):")
            name = f'f"{label}_{{n}}"' if re.fullmatch(r"[\w .-]*", label) else f'{name} + f"_{{n}}"'
        arguments.append(f"name={name}")
        if copies is not None:
            place = table.pop("position", (0.0, 0.0, 0.0))
            arguments.append(f"position=np.array({_literal(place)}) + offset")
        for key, value in table.items():
            arguments.append(f"{key}={self._option(key, value)}")
        lines.append(f"{indent}{call(f'scene.{function}', arguments, indent)}")
        for pin in pins:
            lines.append(indent + self._pin(name, pin, copies is not None, indent))
        return "\n".join(lines)

    def _option(self, key: str, value: Any) -> str:
        """An argument of `add_body`."""
        if key == "raw":
            return call("pliant.RawConstants", keywords(value))
        if key == "volume":
            values = dict(value)
            return call(f"pliant.{INSIDES[values.pop('kind')].__name__}", keywords(values))
        if key == "wrinkles":
            return call("pliant.Wrinkles", keywords(value))
        return _literal(value)

    def _mesh(self, table: dict[str, Any], lines: list[str], copied: bool) -> tuple[str, list[str]]:
        """The function that adds a body and its first argument; takes from the table what is used up."""
        prepared = {key: table.pop(key) for key in PREPARE_KEYS if key in table}
        scale = table.pop("scale", None)
        larger = "" if scale is None else f".scaled({_literal(scale)})"
        if "rods" in table:
            given = table.pop("rods")
            given = dict(given) if isinstance(given, Mapping) else {"file": given}
            code = call("pliant.RodMesh.load", [_literal(given.pop("file")), *keywords(given)]) + larger
            if copied:
                lines.append(f"made = {code}")
                code = "made"
            return "add_body", [code]
        if "points" in table:
            code = self._points(table.pop("points")) + larger
            cover = prepared.get("skin")
            if copied:
                lines.append(f"made = {code}")
                code = "made"
            return ("add", [code, f"skin={_literal(cover)}"]) if isinstance(cover, str) else ("add_body", [code])
        if "shape" in table:
            shape = dict(table.pop("shape"))
            code = call(f"pliant.shapes.{shape.pop('kind')}", keywords(shape))
            if not prepared and table.get("method") != LAYERED:
                if copied:
                    lines.append(f"made = {code}{larger}")
                    return "add_body", ["made"]
                return "add_body", [code + larger]
        else:
            code = _literal(table.pop("file"))
            if "file2" in table:
                code = f"pliant.read_mesh({code}, {_literal(table.pop('file2'))})"
        if scale is None:
            if copied and not code.startswith('"'):
                lines.append(f"made = {code}")
                code = "made"
            table.update(prepared)
            return "add", [code]
        return "add_body", self._prepared(code, prepared, larger, table, lines)

    def _prepared(
        self, code: str, prepared: dict[str, Any], larger: str, table: dict[str, Any], lines: list[str]
    ) -> list[str]:
        """A body that is prepared and then scaled."""
        cover = prepared.get("skin")
        if isinstance(cover, str):
            prepared["skin"] = False
        settings = [call("pliant.PrepareSettings", keywords(prepared))] if prepared else []
        arguments = [code, *settings, *([f"skin={_literal(cover)}"] if isinstance(cover, str) else [])]
        lines.append(f"made = {call('pliant.prepare', arguments)}")
        if "raw" not in table:
            table.setdefault("fill", _Code("made.fill"))
            table.setdefault("mass_shift", _Code("0.05 if made.uneven else 0.0"))
        table["skin"] = _Code(f"made.skin and (made.skin{larger}, made.embedding)")
        return [f"made.solid{larger}"]

    def _points(self, given: Any) -> str:
        given = dict(given) if isinstance(given, Mapping) else {"file" if isinstance(given, str) else "at": given}
        if "file" in given:
            return call("pliant.PointCloud.load", [_literal(given.pop("file")), *keywords(given)])
        return call("pliant.PointCloud", [_literal(given.pop("at")), *keywords(given)])

    def _offsets(self, copies: Mapping[str, Any]) -> list[str]:
        """Lines that give the displacement of every copy."""
        self.imports |= {NUMPY, "from itertools import product"}
        ranges = ", ".join(f"range({n})" for n in copies["count"])
        lines = [f"offsets = np.array(list(product({ranges}))) * {_literal(copies['spacing'])}"]
        jitter = float(copies.get("jitter", 0.0))
        if jitter:
            random = f"np.random.default_rng({copies.get('seed', 0)})"
            lines.append(f"offsets += {random}.uniform({-jitter}, {jitter}, offsets.shape)")
        return lines

    def _pin(self, name: str, pin: Mapping[str, Any], copied: bool, indent: str) -> str:
        """A call of `Scene.pin`."""
        path = self._path(pin["path"], indent) if "path" in pin else []
        if "center" in pin:
            center = _literal(pin["center"])
            path.append(f"center=np.array({center}) + offset" if copied else f"center={center}")
        return f"scene.{call('pin', [name, self._chosen(pin, copied), *path], indent)}"

    def _chosen(self, table: Mapping[str, Any], copied: bool) -> str:
        """The vertices of a pin or an attachment as an argument."""
        if "vertices" in table:
            return str(list(table["vertices"]))
        if "roots" in table:
            return '"roots"'
        self.imports.add(NUMPY)
        low, high = table["box"]
        slack = 1e-6 * max(abs(b - a) for a, b in zip(low, high, strict=True))
        low, high = [a - slack for a in low], [b + slack for b in high]
        x = "x - offset" if copied else "x"
        both = f"({x} >= {_literal(low)}) & ({x} <= {_literal(high)})"
        return f"lambda x{', offset=offset' * copied}: np.all({both}, axis=1)"

    def _attachment(self, table: Mapping[str, Any]) -> str:
        """A call of `Scene.attach`, or one for each copy of a body."""
        bodies = {body["name"]: body for body in self.tables.get("body", [])}
        several = {name: body_names(body) for name, body in bodies.items() if "copies" in body}
        limits = keywords({key: table[key] for key in LIMITS if key in table})
        at = [f"at={list(table['at'])}"] if "at" in table else []
        name = [f"name={_literal(table['name'])}"] if table.get("name") else []
        if table["body"] not in several:
            first = [_literal(table["body"]), self._chosen(table, False), _literal(table["to"])]
            return f"scene.{call('attach', [*first, *at, *limits, *name])}"
        pairs = pairs_of(table, several)
        lines = self._offsets(bodies[table["body"]]["copies"]) if "box" in table else []
        others = f"({', '.join(_literal(to) for _, to in pairs)},)"
        numbered = lambda text: f'{_literal(text)} + f"_{{n}}"'
        to = _literal(table["to"])
        if pairs[0][1] != table["to"]:
            to = numbered(table["to"]) if [b for _, b in pairs] == several[table["to"]] else f"{others}[n]"
        lines.append(f"for n in range({len(pairs)}):")
        if "box" in table:
            lines[-1] = "for n, offset in enumerate(offsets):"
        if name and len(pairs) > 1:
            name = [f"name={numbered(table['name'])}"]
        first = [numbered(table["body"]), self._chosen(table, "box" in table), to]
        return "\n".join([*lines, f"{INDENT}scene.{call('attach', [*first, *at, *limits, *name], INDENT)}"])

    def _path(self, keys: Any, indent: str) -> list[str]:
        """The keys of a pin's path as an argument, one per line where they are many."""
        inner = indent + INDENT
        line = _literal(keys)
        if len(inner) + len(line) <= LINE:
            return [line]
        return ["[\n" + "".join(f"{inner}{INDENT}{_literal(key)},\n" for key in keys) + f"{inner}]"]


class _Code(str):
    """A text that is Python itself."""

    __slots__ = ()
