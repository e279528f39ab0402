"""The panel that runs the scene by several methods side by side."""

from __future__ import annotations

import contextlib
from typing import Any

from nicegui import ui

from pliant.errors import InputError
from pliant.solvers import general_methods, solver_class
from pliant.solvers.shape_matching.settings import Matching
from pliant.studio.fields import FieldForm, field_forms
from pliant.studio.mesh_kinds import methods_for, takes_text
from pliant.studio.page.controls import choice, hint, icon_button, mark, text_button
from pliant.studio.page.form import Form
from pliant.studio.page.session import Session

FEWEST, MOST = 2, 4
LANE_MATCHING = ("mode", "clusters")


def lane_forms(method: str) -> tuple[list[FieldForm], list[FieldForm]]:
    """What a lane may choose of a method: fields of its `Matching`, and of its settings."""
    cls = solver_class(method)
    if cls.shares_rest:
        return field_forms(Matching, keys=LANE_MATCHING), []
    return [], [form for form in field_forms(cls.Settings) if form.kind == "choice"][:1]


def lane_name(lane: dict[str, Any]) -> str:
    """What a lane is called: its method and what it has chosen."""
    chosen = [
        value if isinstance(value, str) else f"{key.replace('_', ' ')} {value}"
        for part in ("settings", "matching")
        for key, value in lane.get(part, {}).items()
    ]
    return ", ".join([lane["method"].replace("_", " "), *chosen])


class ComparePanel:
    """Two to four lanes, one of which the others are measured against."""

    def __init__(self, session: Session):
        self.session = session
        self.lanes: list[dict[str, Any]] = []
        self.reference = 0
        self._bodies = self._kinds(session.described)
        hint("The same scene simulated in several ways, side by side. What you do to one you do to all.")
        self.box = ui.element("div").classes("pl-lanes")
        with ui.element("div").classes("pl-bar"):
            self.add = text_button("Add lane", "compare-add", lambda: self._add(), "add")
            self.start = text_button("Compare", "compare-start", self._start, "view_column", main=True)
            self.stop = text_button("End", "compare-stop", self._stop, "close")
        for method in self._first_methods():
            self._add(method)
        self.show(session.described)
        session.panels.append(self.show)

    def _first_methods(self) -> list[str]:
        methods = self._methods()
        return (methods * FEWEST)[:FEWEST]

    @staticmethod
    def _kinds(described: dict[str, Any]) -> list[tuple[str, str, str]]:
        """Name, kind and method of each body."""
        return [(body["name"], body.get("kind", ""), body["method"]) for body in described["bodies"]]

    def _methods(self) -> list[str]:
        """Methods that can take one of the bodies at least."""
        kinds = {kind for _, kind, _ in self._bodies}
        return [m for m in general_methods() if not kinds or any(m in methods_for(kind) for kind in kinds)]

    def _says(self, method: str) -> str:
        """Which bodies a lane leaves as they are, and why."""
        if method not in self._methods():
            return f"Takes only {takes_text(method)}: there is no such body."
        kept = [(name, own) for name, kind, own in self._bodies if method not in methods_for(kind)]
        if not kept:
            return ""
        named = ", ".join(f"{name} ({own.replace('_', ' ')})" for name, own in kept[:3])
        more = f" and {len(kept) - 3} more" if len(kept) > 3 else ""
        return f"Takes only {takes_text(method)}; as before: {named}{more}."

    def _add(self, method: str | None = None) -> None:
        if len(self.lanes) < MOST:
            self._keep()
            self.lanes.append({"method": method, "values": {}} if method else self._next_lane())
            self._build()

    def _next_lane(self) -> dict[str, Any]:
        """The last lane with the next of its choices: what one would add to see the difference."""
        last = self.lanes[-1]
        values = dict(last["values"])
        for form in (*lane_forms(last["method"])[0], *lane_forms(last["method"])[1]):
            if form.choices:
                now = values.get(form.key, form.default)
                place = form.choices.index(now) if now in form.choices else -1
                values[form.key] = form.choices[(place + 1) % len(form.choices)]
                break
        return {"method": last["method"], "values": values}

    def _remove(self, number: int) -> None:
        self._keep()
        del self.lanes[number]
        self.reference = min(self.reference, len(self.lanes) - 1)
        self._build()

    def _build(self) -> None:
        """The rows of the lanes, built again when one comes, goes or changes its method."""
        self.box.clear()
        with self.box:
            for k, lane in enumerate(self.lanes):
                with mark(ui.element("div").classes("pl-lane"), f"lane-{k}"):
                    with ui.element("div").classes("pl-line"):
                        radio = ui.button(
                            icon="radio_button_checked" if k == self.reference else "radio_button_unchecked",
                            on_click=lambda k=k: self._refer(k),
                            color=None,
                        ).props("flat round dense size=sm")
                        mark(radio, f"lane-{k}-reference", f"Lane {k + 1} is the reference")
                        with radio:
                            ui.tooltip("The reference: errors of the others are measured against it")
                        offered = dict.fromkeys([*self._methods(), lane["method"]])
                        names = {m: m.replace("_", " ") for m in offered}
                        picked = lambda event, k=k: self._pick(k, event.value)
                        choice(names, lane["method"], f"lane-{k}-method", f"Method of lane {k + 1}", picked)
                        if len(self.lanes) > FEWEST:
                            icon_button(
                                "close", f"lane-{k}-remove", f"Remove lane {k + 1}", lambda k=k: self._remove(k)
                            )
                    if self._says(lane["method"]):
                        mark(hint(self._says(lane["method"])), f"lane-{k}-keeps")
                    matching, settings = lane_forms(lane["method"])
                    lane["matching"] = Form(matching, f"lane-{k}", None, slider=False)
                    lane["settings"] = Form(settings, f"lane-{k}", None, slider=False)
                    for part in ("matching", "settings"):
                        known = {key: v for key, v in lane["values"].items() if key in lane[part].rows}
                        lane[part].show(known)
        self.add.set_visibility(len(self.lanes) < MOST)

    def _keep(self) -> None:
        """Remember what stands in the fields, as far as it makes sense, before they are built again."""
        for lane in self.lanes:
            for part in ("matching", "settings"):
                for key, row in lane[part].rows.items():
                    with contextlib.suppress(InputError):
                        lane["values"][key] = row.read()

    def _refer(self, number: int) -> None:
        self._keep()
        self.reference = number
        self._build()

    def _pick(self, number: int, method: str) -> None:
        self._keep()
        self.lanes[number]["method"] = method
        self._build()

    def tables(self) -> list[dict[str, Any]]:
        """The lanes as the command takes them; raises at a value that is wrong."""
        tables: list[dict[str, Any]] = []
        for lane in self.lanes:
            table = {"method": lane["method"]}
            for part in ("matching", "settings"):
                values = {key: row.read() for key, row in lane[part].rows.items()}
                if values:
                    table[part] = values
            table["name"] = lane_name(table)
            tables.append(table)
        return tables

    async def _start(self) -> None:
        try:
            lanes = self.tables()
        except Exception:
            return  # said beside the field
        await self.session.try_do("compare", lanes=lanes, reference=self.reference)

    async def _stop(self) -> None:
        await self.session.try_do("compare", lanes=[], reference=0)

    def show(self, described: dict[str, Any]) -> None:
        """Follow what the engine does."""
        bodies = self._kinds(described)
        if bodies != self._bodies:
            self._keep()
            self._bodies = bodies
            for lane, fresh in zip(self.lanes, self._first_methods(), strict=False):
                if lane["method"] not in self._methods():
                    lane["method"] = fresh
            self._build()
        comparing = bool(described.get("comparing"))
        self.start.set_text("Compare anew" if comparing else "Compare")
        self.stop.set_visibility(comparing)
