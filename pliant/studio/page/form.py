"""A form made of fields, as that of a material or of the settings of a method."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import background_tasks, ui

from pliant.studio.fields import FieldForm, is_shown
from pliant.studio.page.controls import mark
from pliant.studio.page.field_row import SETTLED, FieldRow, Send


class Form:
    """Fields of one thing, as a material or the settings of a method.

    Args:
        forms: its fields.
        token: of their test ids.
        send: called with key and value at every change; None for a form that is read when it is confirmed.
        first: keys that are always seen, the others behind 'more'; all if empty.
        slider: whether numbers have sliders.
    """

    def __init__(
        self,
        forms: Sequence[FieldForm],
        token: str,
        send: Send | None,
        first: Sequence[str] = (),
        slider: bool = True,
    ):
        self.rows: dict[str, FieldRow] = {}
        self.values: dict[str, Any] = {form.key: form.default for form in forms}
        early = [form for form in forms if not first or form.key in first]
        late = [form for form in forms if form not in early]
        for form in early:
            self._add(form, token, send, slider)
        if late:
            more = ui.expansion("More", value=False).props("dense dense-toggle").classes("pl-more w-full")
            with mark(more, f"more-{token}", f"More of {token}"):
                for form in late:
                    self._add(form, token, send, slider)
        self._late = False
        self._show_meaningful()

    def _add(self, form: FieldForm, token: str, send: Send | None, slider: bool) -> None:
        row = FieldRow(form, token, send, slider)
        self.rows[form.key] = row
        if row.control is not None:
            row.control.on_value_change(lambda event: self._picked(form.key, event.value))

    def _picked(self, key: str, value: Any) -> None:
        self.values[key] = value
        self._show_meaningful()

    def _show_meaningful(self) -> None:
        for row in self.rows.values():
            row.row.set_visibility(is_shown(row.form, self.values))

    def show(self, values: Mapping[str, Any] | Any, defaults: Mapping[str, Any] | Any = None) -> None:
        """Show values of the document; fields that are being changed here follow when they are let go."""
        waiting = False
        for key, row in self.rows.items():
            default = _value(defaults, key, row.form.default)
            self.values[key] = _value(values, key, default)
            waiting |= not row.show(self.values[key], default)
        self._show_meaningful()
        if waiting and not self._late:
            self._late = True
            background_tasks.create(self._show_later(values, defaults), name="studio form")
        self._newest = (values, defaults)

    async def _show_later(self, values: Any, defaults: Any) -> None:
        await asyncio.sleep(SETTLED + 0.1)
        self._late = False
        if not any(row.row.is_deleted for row in self.rows.values()):
            self.show(*self._newest)

    def read(self) -> dict[str, Any]:
        """The values that stand in the fields and differ from their defaults; raises at one that is wrong."""
        read = {key: row.read() for key, row in self.rows.items() if row.row.visible}
        return {
            key: value
            for key, value in read.items()
            if value is not None and value != _plain(self.rows[key].form.default)
        }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _value(source: Any, key: str, otherwise: Any) -> Any:
    if source is None:
        return otherwise
    if isinstance(source, Mapping):
        return source.get(key, otherwise)
    return getattr(source, key, otherwise)
