"""The dialog that adds a body: a sample, a shape made by formula, or a file."""

from __future__ import annotations

import inspect
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from pliant.mesh.assets import asset_names
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.scene_file.layout import shape_functions
from pliant.solvers import general_methods, solver_class
from pliant.solvers.shape_matching.settings import Matching
from pliant.studio.fields import MATCHING_FIRST, FieldForm, field_forms, plain_error, shape_forms
from pliant.studio.mesh_kinds import KINDS, methods_for
from pliant.studio.page.controls import choice, hint, icon_button, mark, section, text_button
from pliant.studio.page.form import Form
from pliant.studio.page.newest import free_place, obstacle_boxes, seen_boxes
from pliant.studio.page.session import Session
from pliant.studio.page.upload import file_button, show_report
from pliant.studio.uploads import suffixes

SAMPLES, SHAPES, FILE = "Samples", "Shapes", "File"
START = [0.0, 0.6, 0.0]
"""Where a body starts, so that it falls onto the floor [m]."""
SAMPLE_SIZE, SAMPLE_TETS = 0.5, 3000
"""A sample is as large as a ball, and of as many tets as a plain CPU moves in real time."""
PREPARED = ("size", "tets", "solid", "up")
DEFAULT_MATERIAL = "soft_rubber"
# Method and material of thin bodies, in place of those of solid ones.
USUAL = {"sheets": ("xpbd", "cotton"), "rods": ("xpbd", "hemp_rope")}
# Shapes that have the size of what they are, with fewer parts than by formula; those that grow out of something.
LIFE_SIZE: dict[str, dict[str, Any]] = {"hair": {"strands": 100, "tufts": 20}}
ROOTED = ("hair", "tree")
USUAL_OF = {"sheet": "cotton", "rope": "hemp_rope", "hair": "hair", "tree": "wood"}


# Shapes are a metre large by formula; bodies here are about as large as what one holds in a hand.
SHAPE_SCALE = 0.3


def _smaller(length: Any) -> Any:
    """A length, or several, of a shape as it is offered [m]."""
    if isinstance(length, tuple):
        return tuple(_smaller(part) for part in length)
    # three digits, and not three places: a hair is thin
    return None if length is None else float(f"{SHAPE_SCALE * length:.3g}")


class AddBodyDialog:
    """Asks for a body; nothing happens before it is confirmed."""

    def __init__(self, session: Session):
        self.session = session
        self.sample = "bunny" if "bunny" in asset_names() else asset_names()[0]
        self.upload: dict[str, Any] | None = None
        self._kind_shown = "solids"
        self._tiles: dict[str, Any] = {}
        with ui.dialog().props("no-backdrop-dismiss") as self.dialog, ui.card().classes("pl-card"):
            with ui.element("div").classes("pl-title"):
                ui.label("Add a body")
                icon_button("close", "add-body-cancel", "Close", self.dialog.close)
            with ui.tabs().props("dense no-caps align=justify inline-label").classes("w-full") as self.tabs:
                for name, icon in ((SAMPLES, "pets"), (SHAPES, "category"), (FILE, "upload_file")):
                    mark(ui.tab(name, icon=icon), f"add-body-tab-{name.lower()}", name)
            with ui.element("div").classes("pl-scroll"):
                with ui.tab_panels(self.tabs, value=SAMPLES, animated=False).classes("w-full pl-tabs"):
                    with ui.tab_panel(SAMPLES):
                        self._build_samples()
                    with ui.tab_panel(SHAPES):
                        self._build_shapes()
                    with ui.tab_panel(FILE):
                        self._build_file()
                self._build_common()
            self.error = mark(ui.label("").classes("pl-error"), "add-body-error").props("role=alert")
            self.error.set_visibility(False)
            with ui.element("div").classes("pl-bar pl-end"):
                self.confirm = text_button("Add", "add-body-confirm", self._add, "add", main=True)
        self.tabs.on_value_change(self._tab_changed)
        self._tab_changed()

    # ---- parts --------------------------------------------------------------------------------------------------

    def _build_samples(self) -> None:
        with ui.element("div").classes("pl-tiles"):
            for name in asset_names():
                tile = ui.button(name.replace("_", " "), on_click=lambda n=name: self._pick_sample(n), color=None)
                tile.props("no-caps outline dense").classes("pl-tile")
                self._tiles[name] = mark(tile, f"add-body-sample-{name}", name)
        self._pick_sample(self.sample)

    def _pick_sample(self, name: str) -> None:
        self.sample = name
        for other, tile in self._tiles.items():
            chosen = other == name
            tile.classes(add="pl-chosen") if chosen else tile.classes(remove="pl-chosen")
            tile.props["aria-pressed"] = "true" if chosen else "false"

    def _build_shapes(self) -> None:
        self.shape = choice(list(shape_functions()), "ball", "add-body-shape", "Shape", lambda: self._build_shape())
        self.shape_box = ui.element("div")
        self._build_shape()

    def _build_shape(self) -> None:
        function = shape_functions()[self.shape.value]
        self.shape_box.clear()
        with self.shape_box:
            hint((function.__doc__ or "").strip().splitlines()[0])
            forms = shape_forms(function)
            self.shape_form = Form(forms, "shape", None, slider=False)
            given = LIFE_SIZE.get(self.shape.value)
            if given is None:
                given = {form.key: _smaller(form.default) for form in forms if form.unit == "m"}
            self.shape_form.show(given)
        self._offer()

    def _build_file(self) -> None:
        accept = ",".join(dict.fromkeys("." + s.rsplit(".", 1)[-1] for s in suffixes()))
        self.chooser = file_button(self._answered, accept)
        hint("Any mesh: OBJ, PLY, STL, OFF, glTF, USD, Gmsh and more. It is repaired and made solid as said below.")
        self.waiting = ui.linear_progress(show_value=False).props("indeterminate size=3px")
        self.waiting.set_visibility(False)
        self.report = ui.element("div").classes("w-full")

    def _build_common(self) -> None:
        with section("Body", "add-body-section"):
            with ui.element("div").classes("pl-line pl-field"):
                ui.label("Method").classes("pl-label")
                with ui.element("div").classes("pl-control"):
                    names = {m: m.replace("_", " ") for m in general_methods()}
                    self.method = choice(
                        names, next(iter(names)), "add-body-method", "Method", lambda: self._method_changed()
                    )
            with ui.element("div").classes("pl-line pl-field"):
                ui.label("Material").classes("pl-label")
                with ui.element("div").classes("pl-control"):
                    materials = list(self.session.described.get("materials") or [DEFAULT_MATERIAL])
                    start = DEFAULT_MATERIAL if DEFAULT_MATERIAL in materials else materials[0]
                    self.material = choice(materials, start, "add-body-material", "Material")
            place = [
                FieldForm("name", "Name", "text", meaning="numbered or named for its mesh if not given"),
                FieldForm(
                    "position", "Position", "vector", default=START, meaning="of the mesh's origin, in m", count=3
                ),
            ]
            self.place = Form(place, "add-body", None)
            self.prepared_box = ui.element("div")
            with self.prepared_box:
                self.prepared = Form(
                    field_forms(PrepareSettings, keys=PREPARED), "add-body", None, ("size", "tets"), False
                )
                self.prepared.show({"size": SAMPLE_SIZE, "tets": SAMPLE_TETS})
            for row in self.prepared.rows.values():
                for part in (*row.inputs, row.given, row.control):
                    if part is not None:
                        part.on_value_change(self._tell_chooser)
            self._tell_chooser()
        self.matching_box = ui.element("div").classes("w-full")
        with self.matching_box, section("Matching", "add-body-matching"):
            self.matching = Form(field_forms(Matching), "add-body-matching", None, MATCHING_FIRST)
        self._method_changed()

    def _method_changed(self) -> None:
        self.matching_box.set_visibility(bool(solver_class(self.method.value).shares_rest))

    def _tell_chooser(self) -> None:
        """Let the next file be prepared as the fields say; what is wrong in them is said when it is sent."""
        values = {}
        for key, row in self.prepared.rows.items():
            given = (
                row.inputs[0].value if row.inputs and row.given.value else row.control.value if row.control else None
            )
            if given not in (None, "", row.form.default):
                values[key] = str(given)
        self.chooser.props["data-query"] = "&" + urlencode(values) if values else ""

    def _kind(self) -> str:
        """The kind of body that the dialog would add; an empty text where only its mesh can tell."""
        if self.tabs.value == SHAPES:
            made = str(inspect.signature(shape_functions()[self.shape.value]).return_annotation)
            return next((kind for kind, types in KINDS.items() if made in [t.__name__ for t in types]), "")
        return "solids" if self.tabs.value == SAMPLES and self.prepared.values.get("solid", True) else ""

    def _offer(self) -> None:
        """Offer the methods that can take the body, and a material that becomes it."""
        if not hasattr(self, "matching_box"):
            return  # not all of it is there yet
        kind = self._kind()
        methods = methods_for(kind)
        picked = self.method.value if self.method.value in methods else methods[0]
        if kind != self._kind_shown and kind in USUAL:
            method, material = USUAL[kind]
            picked = method if method in methods else picked
            self._suggest(USUAL_OF.get(self.shape.value, material))
        elif kind != self._kind_shown and self._kind_shown in USUAL:
            picked = general_methods()[0]
            self._suggest(DEFAULT_MATERIAL)
        elif kind in USUAL and self.material.value in USUAL_OF.values():
            self._suggest(USUAL_OF.get(self.shape.value, USUAL[kind][1]))
        self._kind_shown = kind
        self.method.set_options({m: m.replace("_", " ") for m in methods}, value=picked)

    def _suggest(self, material: str) -> None:
        if material in self.material.options:
            self.material.set_value(material)

    def _tab_changed(self) -> None:
        self._offer()
        self.prepared_box.set_visibility(self.tabs.value != SHAPES)
        self.confirm.set_enabled(self.tabs.value != FILE or self.upload is not None)
        self._say("")

    # ---- files --------------------------------------------------------------------------------------------------

    def _answered(self, answer: dict[str, Any]) -> None:
        """The upload route has answered, or is at work."""
        self.waiting.set_visibility("started" in answer)
        if "started" in answer:
            self._say("")
            return
        wrong = answer.get("error")
        if wrong:
            parts = [str(wrong.get(key, "")) for key in ("what", "remedy")] if isinstance(wrong, dict) else [str(wrong)]
            self._say(". ".join(part[:1].upper() + part[1:] for part in parts if part))
            return
        self.show_upload(answer)

    def show_upload(self, answer: dict[str, Any]) -> None:
        """Show the report of a file that was sent, here or by dropping it onto the view; it can then be added."""
        self.upload = answer
        if answer.get("size"):
            self.prepared.rows["size"].show(float(f"{answer['size']:.4g}"), None)
        self.tabs.set_value(FILE)
        self.waiting.set_visibility(False)
        self.report.clear()
        with self.report:
            show_report(answer)
        self._tab_changed()

    def _say(self, text: str) -> None:
        self.error.set_text(text)
        self.error.set_visibility(bool(text))

    # ---- the table ----------------------------------------------------------------------------------------------

    def table(self) -> dict[str, Any]:
        """The body as scene files write it; raises at a value that is wrong."""
        table: dict[str, Any] = {}
        place = self.place.read()
        if place.get("name"):
            table["name"] = place["name"]
        if self.tabs.value == SHAPES:
            table["shape"] = {"kind": self.shape.value, **self.shape_form.read()}
            if self.shape.value in ROOTED:
                table["pins"] = [{"roots": True}]
        elif self.tabs.value == FILE:
            assert self.upload is not None
            table["file"] = self.upload["file"]
            size, own = self.prepared.read().get("size"), self.upload.get("size")
            if size and own and abs(size / own - 1.0) > 1e-3:
                table["scale"] = size / own
        else:
            table |= {"file": self.sample, **self.prepared.read()}
        table["method"] = self.method.value
        table["material"] = self.material.value
        if solver_class(self.method.value).shares_rest:
            matching = self.matching.read()
            if matching:
                table["matching"] = matching
        table["position"] = place.get("position", START)
        return table

    async def _add(self) -> None:
        try:
            table = self.table()
        except Exception:
            return  # said beside the field
        self.confirm.props("loading")
        try:
            name = await self.session.do("add_body", table=table)
        except Exception as error:
            self._say(plain_error(error))
            return
        finally:
            self.confirm.props(remove="loading")
        self.dialog.close()
        if isinstance(name, str):
            self.session.select_new("body", name)

    def open(self) -> None:
        """Show it."""
        self._say("")
        taken = seen_boxes(self.session.engine) + obstacle_boxes(self.session.described["colliders"])
        x, z = free_place(taken, SAMPLE_SIZE)
        self.place.rows["position"].show([x, START[1], z], None)
        self.dialog.open()

    def open_upload(self, answer: dict[str, Any]) -> None:
        """Show it on a file that was dropped onto the view."""
        self.show_upload(answer)
        self.open()
