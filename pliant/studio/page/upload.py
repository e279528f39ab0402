"""A button that sends a mesh file to the studio, and the report of what was found in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from pliant.studio.page.controls import hint, mark, subtitle

# The file's bytes go to the upload route as they are; NiceGUI's own socket carries only the answer.
SEND = """async (event) => {
  const file = event.target.files[0];
  if (!file) return;
  event.target.value = '';
  emit({ started: file.name });
  try {
    const url = '%s?name=' + encodeURIComponent(file.name) + (event.target.dataset.query || '');
    const answer = await fetch(url, { method: 'POST', body: file });
    emit(await answer.json());
  } catch (error) {
    emit({ error: { what: 'the file could not be sent', remedy: String(error) } });
  }
}"""
COUNTS = (
    ("triangles", "triangles"),
    ("vertices", "vertices seen"),
    ("particles", "particles"),
    ("tets", "tets"),
    ("cubes", "cubes"),
)


def file_button(on_answer: Callable[[dict[str, Any]], None], accept: str, url: str = "/upload") -> Any:
    """A control that lets a person choose a file and sends it; called with the answer of the route."""
    chooser = ui.element("input").props(f'type=file accept="{accept}"').classes("pl-file")
    mark(chooser, "add-body-file", "Mesh file")
    chooser.on("change", lambda event: on_answer(event.args), js_handler=SEND % url)
    return chooser


def show_report(answer: dict[str, Any]) -> None:
    """What preparation found, repaired and made, in the present slot."""
    report = answer.get("report") or {}
    counts = [f"{report[key]:,} {words}" for key, words in COUNTS if report.get(key)]
    size = f"{answer['size']:.3g} m long" if answer.get("size") else ""
    with mark(ui.element("div").classes("pl-report"), "upload-report"):
        ui.label(str(answer.get("name") or answer.get("file") or "mesh")).classes("pl-scene-name")
        hint(", ".join([str(answer.get("kind", "")), size, *counts]).strip(", "))
        told: set[str] = set()
        groups = (("Found", "problems"), ("Repaired", "repaired"), ("Left as it is", "left"), ("Notes", "notes"))
        for title, key in groups:
            lines = [str(line).removeprefix("left as it is: ") for line in report.get(key) or ()]
            if key == "notes":
                lines = [line for line in lines if not any(line.endswith(other) for other in told)]
            told.update(lines)
            if lines:
                subtitle(title)
                for line in lines:
                    ui.label(line).classes("pl-note")
        if not report.get("problems"):
            hint("The mesh is sound.")
