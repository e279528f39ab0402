"""One field of a form: it sends its value as it changes, shows what is wrong with it, and follows the document."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import background_tasks, ui

from pliant.studio.fields import AXES, FieldForm, plain_error, shown_number
from pliant.studio.page.controls import LiveSlider, choice, icon_button, mark, text_input

Send = Callable[[str, Any], Awaitable[Any]]
"""Sends a key and its value; raises what is wrong with it."""
SETTLED = 0.5
"""A field that was changed here this short a time ago does not follow others yet [s]."""


class FieldRow:
    """One field: label, control, error, and a button that brings the default back.

    Args:
        form: what the field is.
        token: of its test id, ``set-TOKEN-KEY``.
        send: called with the value at every change; None for a form that is read when it is confirmed.
        slider: whether a number has one.
    """

    def __init__(self, form: FieldForm, token: str, send: Send | None, slider: bool = True):
        self.form = form
        self.value: Any = form.default
        self.default: Any = form.default
        self._send = send
        self._wanted: list[Any] = []
        self._sending = False
        self._touched = -1e9
        self._focused = False
        self._setting = False
        self._id = f"{token}-{form.key}"
        self.slider: LiveSlider | None = None
        self.inputs: list[Any] = []
        self.control: Any = None
        self.given: Any = None
        self.begin: Callable[[], Any] | None = None  # gives the value that it has when it is ticked
        with ui.element("div").classes("pl-field") as self.row:
            with ui.element("div").classes("pl-line"):
                label = ui.label(form.label).classes("pl-label")
                if form.meaning:
                    with label:
                        ui.tooltip(self._help()).props("delay=300 max-width=260px")
                with ui.element("div").classes("pl-control"):
                    self._build(slider)
                self.reset = icon_button("restart_alt", f"reset-{self._id}", f"Reset {form.label}", self._reset)
                self.reset.classes("pl-reset")
            self.error = mark(ui.label("").classes("pl-error"), f"error-{self._id}")
            self.error.props("role=alert")
            self.error.set_visibility(False)
        self.show(form.default, form.default)

    def _help(self) -> str:
        words = self.form.meaning[:1].upper() + self.form.meaning[1:]
        if self.form.field is not None and self.form.kind in ("float", "int"):
            words += f" ({self.form.expected()})"
        return words

    def _build(self, slider: bool) -> None:
        form, testid = self.form, f"set-{self._id}"
        if form.optional and form.kind in ("float", "int"):
            self.given = mark(
                ui.checkbox(value=False, on_change=self._toggled).props("dense size=xs"),
                f"given-{self._id}",
                f"{form.label} is given",
            )
            with self.given:
                ui.tooltip("Given, or left to the program").props("delay=400")
        if form.kind == "bool":
            self.control = mark(ui.switch(on_change=self._picked).props("dense size=sm"), testid, form.label)
        elif form.kind == "choice":
            self.control = choice(form.choices, form.default, testid, form.label, self._picked)
        elif form.kind == "vector":
            names = AXES if form.count == 3 else ("x", "z")
            for axis in names[: form.count]:
                part = text_input("", f"{testid}-{axis}", f"{form.label} {axis}", number=True)
                self._listen(part.props(f"prefix={axis}"))
                self.inputs.append(part)
        else:
            number = form.kind in ("float", "int")
            if number and slider and form.low is not None:
                self.slider = LiveSlider(0, self._slid)
                mark(self.slider, f"{testid}-slider", f"{form.label} slider")
            part = text_input("", testid, form.label, form.unit, number=number)
            self._listen(part)
            self.inputs.append(part)

    def _listen(self, part: Any) -> None:
        part.on("keydown.enter", self._typed)
        part.on("change", self._typed, [])
        part.on("focus", lambda: self._focus(True), [])
        part.on("blur", lambda: self._focus(False), [])

    # ---- from the page ------------------------------------------------------------------------------------------

    def _focus(self, on: bool) -> None:
        self._focused = on
        if not on:
            self._show_text()

    def _slid(self, event: Any) -> None:
        if self._setting or event.value is None:
            return
        self.value = self.form.from_slider(event.value)
        self._show_text()
        self._changed(self.value)

    def _typed(self) -> None:
        texts = [part.value for part in self.inputs]
        if texts == self._texts(self.value) and not self.error.text:
            return
        try:
            value = self.form.check(texts if self.form.kind == "vector" else texts[0])
        except Exception as error:
            self.show_error(plain_error(error))
            return
        self.value = value
        self._show_slider()
        self._changed(value)

    def _picked(self, event: Any) -> None:
        if not self._setting:
            self.value = event.value
            self._changed(event.value)

    def _toggled(self, event: Any) -> None:
        if self._setting:
            return
        start = None
        if event.value:
            start = self.begin() if self.begin is not None else None
        if event.value and start is None:
            start = self.default if self.default is not None else self.form.from_slider(500) if self.form.high else 1
        self.value = start
        self._show_all()
        self._changed(start)

    def _reset(self) -> None:
        self.value = self.default
        self._show_all()
        self._changed(None)

    # ---- to the engine ------------------------------------------------------------------------------------------

    def _changed(self, value: Any) -> None:
        self._touched = time.monotonic()
        self._show_reset()
        if self._send is None:
            self.show_error("")
            return
        self._wanted = [value]
        if not self._sending:
            self._sending = True
            background_tasks.create(self._send_all(self._send), name=f"set {self._id}")

    async def _send_all(self, send: Send) -> None:
        """Send the newest value, one command at a time: what was overtaken is not sent."""
        try:
            while self._wanted:
                value = self._wanted.pop()
                try:
                    await send(self.form.key, value)
                    self.show_error("")
                except Exception as error:
                    self.show_error(plain_error(error))
        finally:
            self._sending = False

    def show_error(self, text: str) -> None:
        """Say what is wrong beside the field; nothing if empty."""
        if self.row.is_deleted:
            return
        self.error.set_text(text)
        self.error.set_visibility(bool(text))

    # ---- from the document --------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a person is changing it here just now."""
        moving = self.slider is not None and self.slider.moving
        return moving or self._sending or time.monotonic() - self._touched < SETTLED

    def show(self, value: Any, default: Any) -> bool:
        """Show a value of the document, unless it is being changed here; returns False then."""
        self.default = default
        if isinstance(value, tuple):
            value = list(value)
        if self.busy:
            return value == self.value
        if value != self.value:
            self.show_error("")
        # what is being typed stays; a text that was sent follows, even with the cursor in it
        typing = self._focused and [part.value for part in self.inputs] != self._texts(self.value)
        self.value = value
        self._show_all(text=not typing)
        return True

    def _show_all(self, text: bool | None = None) -> None:
        self._setting = True
        try:
            if self.control is not None and self.control.value != self.value:
                self.control.set_value(self.value)
            if self.given is not None and self.given.value != (self.value is not None):
                self.given.set_value(self.value is not None)
        finally:
            self._setting = False
        self._show_slider()
        if text if text is not None else not self._focused:
            self._show_text()
        if self.given is not None:
            for part in [*self.inputs, *([self.slider] if self.slider else [])]:
                part.set_visibility(self.value is not None)
        self._show_reset()

    def _show_slider(self) -> None:
        if self.slider is not None and not self.slider.moving:
            place = self.form.to_slider(self.value)
            if self.slider.value != place:
                self._setting = True
                try:
                    self.slider.set_value(place)
                finally:
                    self._setting = False

    def _show_text(self) -> None:
        if self.error.text and self.error.visible:
            return  # what was typed stays beside what is said of it
        for part, text in zip(self.inputs, self._texts(self.value)):
            if part.value != text:
                part.set_value(text)

    def _texts(self, value: Any) -> list[str]:
        if self.form.kind == "vector":
            return [shown_number(number) for number in value] if value is not None else [""] * self.form.count
        return [shown_number(value) if self.form.kind in ("float", "int") else str(value or "")]

    def _show_reset(self) -> None:
        default = list(self.default) if isinstance(self.default, tuple) else self.default
        changed = self.value != default and not (not self.value and not default and self.form.kind == "text")
        changed = changed and self._send is not None
        self.reset.set_visibility(changed)
        self.row.classes(add="pl-changed") if changed else self.row.classes(remove="pl-changed")

    def read(self) -> Any:
        """The value that stands in the controls, checked; an error is shown and raised."""
        if self.inputs and (self.given is None or self.given.value):
            texts = [part.value for part in self.inputs]
            try:
                self.value = self.form.check(texts if self.form.kind == "vector" else texts[0])
            except Exception as error:
                self.show_error(plain_error(error))
                raise
        self.show_error("")
        return self.value
