"""The panel on the right: everything that can be set of what is selected."""

from __future__ import annotations

from typing import Any

from nicegui import background_tasks, ui

from pliant.collide.collider import Surface, described_fields
from pliant.collide.shapes import collider_classes
from pliant.materials import Material
from pliant.solvers import general_methods, solver_class
from pliant.solvers.shape_matching.settings import Matching
from pliant.studio.fields import MATCHING_FIRST, FieldForm, field_forms, plain_error
from pliant.studio.mesh_kinds import idle_fields, takes_text
from pliant.studio.page.controls import choice, hint, mark, section, subtitle
from pliant.studio.page.form import Form
from pliant.studio.page.session import Session, body_color

ZERO = (0.0, 0.0, 0.0)
PLACE = [
    FieldForm("name", "Name", "text", meaning="what the body is called"),
    FieldForm("position", "Position", "vector", default=ZERO, unit="m", meaning="where it starts, in m", count=3),
    FieldForm("rotation", "Rotation", "vector", default=ZERO, meaning="axis times angle in degrees", count=3),
    FieldForm("velocity", "Velocity", "vector", default=ZERO, meaning="at the start, in m/s", count=3),
]
CHANGED = "(changed)"


class PropertiesPanel:
    """Forms of the selected body or collider; they are built again only when other fields belong there."""

    def __init__(self, session: Session):
        self.session = session
        self.forms: dict[str, Form] = {}
        self._structure: Any = None
        self._setting = False
        self.method: Any = None
        self.preset: Any = None
        self.color: Any = None
        self.notes: Any = None
        self.box = mark(ui.element("div").classes("pl-panel"), "properties")
        self.show(session.described)
        session.panels.append(self.show)

    def show(self, described: dict[str, Any]) -> None:
        """Follow the document and the selection."""
        entry = self.session.selection()
        kind = self.session.selected[0] if self.session.selected else None
        if entry is None:
            structure: Any = None
        elif kind == "body":
            structure = (kind, entry["name"], entry["method"], entry.get("kind"), tuple(described.get("materials", ())))
        else:
            structure = (kind, entry["name"], entry["kind"], tuple(sorted(set(entry["table"]) & {"file", "kind"})))
        if structure != self._structure or (structure is None and not self.box.default_slot.children):
            self._structure = structure
            self.forms = {}
            self.box.clear()
            with self.box:
                if entry is None:
                    hint("Nothing is selected. Choose a body or a collider in the scene, or click one in the view.")
                elif kind == "body":
                    self._build_body(entry, described)
                else:
                    self._build_collider(entry)
        if entry is not None:
            self._update_body(entry, described) if kind == "body" else self.forms["collider"].show(entry["table"])

    def _sender(self, **target: Any) -> Any:
        async def send(key: str, value: Any) -> Any:
            answer = await self.session.do("set", target=target, key=key, value=value)
            if key == "name" and value and self.session.selected is not None:
                self.session.select_new(self.session.selected[0], value)
            return answer

        return send

    # ---- bodies -------------------------------------------------------------------------------------------------

    def _build_body(self, body: dict[str, Any], described: dict[str, Any]) -> None:
        name, method = body["name"], body["method"]
        with section("Body"):
            with _line("Method", "how the body is simulated"):
                offered = body.get("methods") or general_methods()
                methods = {m: m.replace("_", " ") for m in dict.fromkeys([*offered, method])}
                self.method = choice(methods, method, "set-body-method", "Method", self._pick_method)
            others = [m for m in general_methods() if m not in methods]
            if others:
                mark(hint(f"Not for {body['kind']}: {_and_what_for(others)}."), "body-other-methods")
            self.forms["body"] = Form(PLACE, "body", self._sender(body=name))
            with _line("Colour", "seen where the mesh has no paint of its own"):
                self.color = ui.input(value="#888888").props("dense outlined hide-bottom-space type=color")
                mark(self.color.classes("pl-color"), "set-body-color", "Colour")
                self.color.on("change", self._pick_color, [])
        material = section("Material")
        with material:
            with _line("Preset", "values that hold where none is given"):
                names = list(described.get("materials") or ())
                self.preset = choice([*names, CHANGED], None, "set-material-preset", "Preset", self._pick_preset)
            hidden = idle_fields(method, body.get("kind", ""))
            self.forms["material"] = Form(
                field_forms(Material, leave_out=hidden), "material", self._sender(material=name)
            )
        if body.get("matching") is not None:
            with section("Matching"):
                self.forms["matching"] = Form(
                    field_forms(Matching),
                    "matching",
                    self._sender(matching=name),
                    first=(*MATCHING_FIRST, "clusters_by"),
                )
        settings = solver_class(method).Settings
        if described_fields(settings):
            with section("Solver", "section-solver", opened=False):
                hint(f"For all bodies of {method.replace('_', ' ')}.")
                self.forms["solver"] = Form(field_forms(settings), "solver", self._sender(solver=method))
        self.notes = mark(ui.element("div").classes("pl-notes"), "body-notes")

    def _update_body(self, body: dict[str, Any], described: dict[str, Any]) -> None:
        preset, base = body.get("preset"), (described.get("materials") or {})
        standard = base.get(preset, Material()) if preset else Material()
        self.forms["body"].show({**body["table"], "name": body["name"]}, {"name": body["name"]})
        self.forms["material"].show(body["material"], standard)
        if "matching" in self.forms:
            self.forms["matching"].show(body["matching"])
        if "solver" in self.forms:
            self.forms["solver"].show(described["solvers"][body["method"]])
        self._setting = True
        try:
            shown = preset if preset and body["material"] == standard else CHANGED
            for control, value in ((self.method, body["method"]), (self.preset, shown)):
                if control.value != value:
                    control.set_value(value)
            color = body_color(body, described)
            self.color.set_value("#" + "".join(f"{round(255 * part):02x}" for part in color))
        finally:
            self._setting = False
        notes = list(body.get("notes") or ())
        if [label.text for label in self.notes.default_slot.children[1:]] != notes:
            self.notes.clear()
            with self.notes:
                if notes:
                    subtitle("Notes")
                for note in notes:
                    ui.label(note).classes("pl-note")

    # These are no coroutines: those would begin when `_setting` is over.
    def _pick_method(self, event: Any) -> None:
        if not self._setting:
            self._set_soon({"body": self._structure[1]}, "method", event.value)

    def _pick_preset(self, event: Any) -> None:
        if not self._setting and event.value not in (None, CHANGED):
            self._set_soon({"material": self._structure[1]}, "preset", event.value)

    def _pick_color(self) -> None:
        text = str(self.color.value).lstrip("#")
        color = [round(int(text[k : k + 2], 16) / 255, 3) for k in (0, 2, 4)]
        self._set_soon({"body": self._structure[1]}, "color", color)

    def _set_soon(self, target: dict[str, Any], key: str, value: Any) -> None:
        background_tasks.create(self._try_set(target, key, value), name=f"set {key}")

    async def _try_set(self, target: dict[str, Any], key: str, value: Any) -> None:
        try:
            await self.session.do("set", target=target, key=key, value=value)
        except Exception as error:
            self.session.complain(plain_error(error))
            self.session.refresh_soon()

    # ---- colliders ----------------------------------------------------------------------------------------------

    def _build_collider(self, collider: dict[str, Any]) -> None:
        cls = collider_classes()[collider["kind"]]
        absent = [key for key in cls.sources if key not in collider["table"]]
        with section("Collider"):
            hint(cls.meaning[:1].upper() + cls.meaning[1:] + ".")
            forms = [
                FieldForm("name", "Name", "text", default=collider["name"], meaning="for messages"),
                *field_forms(cls.table_keys(), leave_out=absent),
                *field_forms(Surface),
            ]
            self.forms["collider"] = Form(forms, "collider", self._sender(collider=collider["name"]))


def _and_what_for(methods: list[str]) -> str:
    """Methods with what they take."""
    return ", ".join(f"{m.replace('_', ' ')} ({takes_text(m)})" for m in methods)


def _line(label: str, meaning: str) -> Any:
    """A line of a form with a control that is not a field of a class; to be used with `with`."""
    line = ui.element("div").classes("pl-line pl-field")
    with line:
        text = ui.label(label).classes("pl-label")
        with text:
            ui.tooltip(meaning[:1].upper() + meaning[1:]).props("delay=300 max-width=260px")
        return ui.element("div").classes("pl-control")
