"""Small parts that all panels are made of, each with a name for tests and for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.disableable_element import DisableableElement
from nicegui.elements.mixins.value_element import ValueElement

from pliant.studio.fields import STEPS


class LiveSlider(ValueElement, DisableableElement):
    """A slider that tells its place at most ten times a second while it is moved, and always the last."""

    LOOPBACK = False

    def __init__(self, value: int, on_change: Callable[[Any], Any]):
        super().__init__(tag="q-slider", value=value, on_value_change=on_change, throttle=0.1)
        self._props["min"] = 0
        self._props["max"] = STEPS
        self._props["step"] = 1
        self._props["thumb-size"] = "14px"
        self._props["track-size"] = "3px"
        self.moving = False
        self.on("pan", self._panned, [None])

    def _panned(self, event: Any) -> None:
        self.moving = event.args == "start" or (isinstance(event.args, list) and event.args[:1] == ["start"])


def mark(element: Any, testid: str, label: str = "") -> Any:
    """Name a control for tests and screen readers."""
    element.props["data-testid"] = testid
    if label:
        element.props["aria-label"] = label
    element.mark(testid)
    return element


def icon_button(icon: str, testid: str, label: str, on_click: Callable[..., Any] | None, small: bool = True) -> Any:
    """A round button with a picture; its label is a tooltip."""
    button = ui.button(icon=icon, on_click=on_click, color=None).props("flat round dense no-caps")
    button.props(f"size={'sm' if small else 'md'}").classes("pl-icon")
    with button:
        ui.tooltip(label).props("delay=400")
    return mark(button, testid, label)


def text_button(text: str, testid: str, on_click: Callable[..., Any] | None, icon: str = "", main: bool = False) -> Any:
    """A button with words."""
    button = ui.button(text, icon=icon or None, on_click=on_click, color="primary" if main else None)
    button.props("dense no-caps unelevated" if main else "dense no-caps outline").classes("pl-button")
    return mark(button, testid, text)


def choice(
    options: Sequence[str] | Mapping[str, str],
    value: Any,
    testid: str,
    label: str,
    on_change: Callable[..., Any] | None = None,
) -> Any:
    """A list to choose from."""
    shown: Any = dict(options) if isinstance(options, Mapping) else list(options)
    select = ui.select(shown, value=value, on_change=on_change).props("dense outlined options-dense")
    return mark(select.classes("pl-select"), testid, label)


def text_input(value: str, testid: str, label: str, unit: str = "", placeholder: str = "", number: bool = False) -> Any:
    """A line of text; of a number the unit stands behind it."""
    field = ui.input(value=value, suffix=unit or None, placeholder=placeholder or None)
    field.props("dense outlined hide-bottom-space autocomplete=off").classes("pl-input")
    if number:
        field.props("inputmode=decimal")
    return mark(field, testid, label)


def section(title: str, testid: str = "", opened: bool = True) -> Any:
    """A part of a panel that can be folded."""
    part = ui.expansion(title, value=opened).props("dense dense-toggle").classes("pl-section w-full")
    return mark(part, testid or f"section-{title.lower().replace(' ', '-')}", title)


def subtitle(text: str) -> Any:
    """The title of a few lines."""
    return ui.label(text).classes("pl-subtitle")


def hint(text: str) -> Any:
    """Small text that explains."""
    return ui.label(text).classes("pl-hint")
