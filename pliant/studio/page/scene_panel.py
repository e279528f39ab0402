"""The panel on the left: bodies, colliders and the world around them."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from nicegui import ui

from pliant.collide.shapes import collider_classes
from pliant.collide.soft.settings import ContactSettings
from pliant.forces.wind_settings import Air, Gusts
from pliant.scene import SceneSettings
from pliant.sleep.settings import SleepSettings
from pliant.studio.fields import FieldForm, field_forms, label_of
from pliant.studio.page.controls import hint, icon_button, mark, section, text_button
from pliant.studio.page.form import Form
from pliant.studio.page.newest import free_place, obstacle_boxes, seen_boxes, substeps_now
from pliant.studio.page.session import Session, body_color

GRAVITIES = {"Earth": [0.0, -9.81, 0.0], "Moon": [0.0, -1.62, 0.0], "None": [0.0, 0.0, 0.0]}
KIND_ICONS = {
    "plane": "horizontal_rule",
    "box": "check_box_outline_blank",
    "sphere": "circle",
    "heightmap": "terrain",
    "capsule": "horizontal_split",
    "mesh": "pets",
}
WORLD_KEYS = ("frame_dt", "substeps", "calibrate")
OBSTACLE_SIZE = 0.3
"""Of a box or a ball that is added [m]: as large as a body, and beside those that are there."""
OBSTACLES: dict[str, dict[str, Any]] = {
    "box": {"size": [OBSTACLE_SIZE] * 3},
    "sphere": {"radius": OBSTACLE_SIZE / 2},
    "capsule": {"radius": OBSTACLE_SIZE / 4},
    "mesh": {"file": "bunny", "scale": 1.5},
}


class ScenePanel:
    """Lists that follow the document, and the settings of the world."""

    def __init__(self, session: Session, add_body: Any, open_scene: Any):
        self.session = session
        self._shown: Any = None
        with ui.element("div").classes("pl-bar"):
            text_button("Add body", "add-body", add_body, "add", main=True)
            collider = text_button("Collider", "add-collider", None, "add")
            with collider, ui.menu().props("auto-close"):
                for kind, cls in collider_classes().items():
                    entry = ui.menu_item(label_of(kind), on_click=lambda k=kind: self._add_collider(k))
                    mark(entry, f"add-collider-{kind}", f"Add {kind}")
                    with entry:
                        ui.tooltip(cls.meaning).props("delay=400")
            text_button("Open", "open-scene", open_scene, "folder_open")
        with section("Bodies"):
            self.bodies = mark(ui.element("div").classes("pl-list"), "bodies")
        with section("Colliders"):
            self.colliders = mark(ui.element("div").classes("pl-list"), "colliders")
        with section("World"):
            self._world()
        self.show(session.described)
        session.panels.append(self.show)

    def _world(self) -> None:
        scene = self.session.described["scene"]
        forms = [
            FieldForm("gravity", "Gravity", "vector", default=GRAVITIES["Earth"], meaning="in m/s^2", count=3),
            *field_forms(SceneSettings, keys=WORLD_KEYS),
        ]
        if "wind" in scene:
            meaning = "speed of the air in m/s"
            forms.insert(1, FieldForm("wind", "Wind", "vector", default=[0.0] * 3, meaning=meaning, count=3))
            strength = field_forms(Gusts, keys=("strength",))[0]
            gusts = dataclasses.replace(strength, key="gusts", label="Gusts", default=0.0, low=0.0, high=1.0)
            still = dataclasses.replace(field_forms(Air, keys=("still_air",))[0], label="Still air")
            forms[2:2] = [gusts, still]
        between = field_forms(ContactSettings, keys=("between",))[0]
        forms.append(dataclasses.replace(between, key="contact", label="Contact"))
        rest = field_forms(SleepSettings, keys=("time",))[0]
        forms.append(dataclasses.replace(rest, key="sleep", label="Sleep after"))
        with ui.element("div").classes("pl-bar"):
            ui.label("Gravity of").classes("pl-hint")
            for name, value in GRAVITIES.items():
                press = self.session.presser("set", target={"scene": True}, key="gravity", value=value)
                mark(
                    ui.button(name, on_click=press, color=None)
                    .props("dense flat no-caps size=sm")
                    .classes("pl-chip-button"),
                    f"gravity-{name.lower()}",
                    f"Gravity {name}",
                )
        self.world = Form(forms, "scene", self._set_world)
        self.world.rows["substeps"].begin = lambda: substeps_now(self.session.engine)
        self.world.show(scene)

    async def _set_world(self, key: str, value: Any) -> Any:
        return await self.session.do("set", target={"scene": True}, key=key, value=value)

    async def _add_collider(self, kind: str) -> None:
        table: dict[str, Any] = {}
        sources = collider_classes()[kind].sources
        if "kind" in sources:
            default = next(f.default for f in collider_classes()[kind].table_keys() if f.name == "kind")
            table["kind"] = default
        if kind in OBSTACLES:  # a body that is inside would be thrown out
            taken = seen_boxes(self.session.engine) + obstacle_boxes(self.session.described["colliders"])
            x, z = free_place(taken, OBSTACLE_SIZE)
            table |= {**OBSTACLES[kind], **_place(kind, x, z)}
        done, name = await self.session.try_do("add_collider", kind=kind, table=table)
        if done and isinstance(name, str):
            self.session.select_new("collider", name)

    # ---- lists --------------------------------------------------------------------------------------------------

    def show(self, described: dict[str, Any]) -> None:
        """Follow the document; lists are built again only when what they show has changed."""
        self.world.show(described["scene"])
        bodies = [
            (b["name"], b["method"], body_color(b, described), len(b.get("names", "1"))) for b in described["bodies"]
        ]
        colliders = [(c["name"], c["kind"]) for c in described["colliders"]]
        shown = (bodies, colliders, self.session.selected)
        if shown == self._shown:
            return
        self._shown = shown
        self.bodies.clear()
        with self.bodies:
            if not bodies:
                hint("No body yet. Add one, or drop a mesh file onto the view.")
            for name, method, color, count in bodies:
                self._body(name, method, color, count)
        self.colliders.clear()
        with self.colliders:
            if not colliders:
                hint("Nothing to collide with.")
            for name, kind in colliders:
                self._collider(name, kind)

    def _row(self, kind: str, name: str) -> Any:
        chosen = self.session.selected == (kind, name)
        row = ui.element("div").classes("pl-row" + (" pl-selected" if chosen else ""))
        row.props(f"role=button tabindex=0 aria-pressed={'true' if chosen else 'false'}")
        row.on("click", lambda: self.session.select(kind, name), [])
        row.on("keydown.enter", lambda: self.session.select(kind, name), [])
        return mark(row, f"{kind}-{name}", f"Select {name}")

    def _body(self, name: str, method: str, color: tuple[float, ...], count: int) -> None:
        with self._row("body", name):
            red, green, blue = (round(255 * part) for part in color)
            ui.element("span").classes("pl-dot").style(f"background: rgb({red},{green},{blue})")
            ui.label(name + (f" \u00d7{count}" if count > 1 else "")).classes("pl-name")
            ui.label(method.replace("_", " ")).classes("pl-chip")
            self._button("content_copy", f"copy-body-{name}", f"Duplicate {name}", "copy_body", name=name)
            self._button("delete_outline", f"remove-body-{name}", f"Remove {name}", "remove_body", name=name)

    def _collider(self, name: str, kind: str) -> None:
        with self._row("collider", name):
            ui.icon(KIND_ICONS.get(kind, "category")).classes("pl-kind")
            ui.label(name).classes("pl-name")
            ui.label(kind).classes("pl-chip")
            table = next(c["table"] for c in self.session.described["colliders"] if c["name"] == name)
            again = {key: value for key, value in copy.deepcopy(table).items() if key != "name"}
            label = f"Duplicate {name}"
            self._button(
                "content_copy", f"copy-collider-{name}", label, "add_collider", kind=kind, table={**again, "name": name}
            )
            self._button("delete_outline", f"remove-collider-{name}", f"Remove {name}", "remove_collider", name=name)

    def _button(self, icon: str, testid: str, label: str, command: str, **arguments: Any) -> None:
        button = icon_button(icon, testid, label, None)
        # the row behind it must not be selected by the same click
        button.on(
            "click", self.session.presser(command, **arguments), [], js_handler="e => { e.stopPropagation(); emit() }"
        )


def _place(kind: str, x: float, z: float) -> dict[str, Any]:
    """Keys that stand an obstacle on the floor at a place [m]."""
    half = 0.5 * OBSTACLE_SIZE
    if kind == "capsule":
        return {"start": [x - half, 0.5 * half, z], "end": [x + half, 0.5 * half, z]}
    return {"position": [x, 0.0 if kind == "mesh" else half, z]}
