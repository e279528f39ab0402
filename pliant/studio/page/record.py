"""The panel that records, and makes films and files of recordings."""

from __future__ import annotations

import dataclasses
import importlib.util
from typing import Any
from urllib.parse import quote

from nicegui import ui

from pliant.studio.page.controls import hint, icon_button, mark, subtitle, text_button, text_input
from pliant.studio.page.session import Session


@dataclasses.dataclass(frozen=True)
class ExportKind:
    """One kind of file: its name, what it is, and the modules, packages and extra it needs."""

    name: str
    meaning: str
    needs: tuple[tuple[str, str, str], ...] = ()

    def problem(self) -> str:
        """Why it cannot be made here; empty if it can."""
        for module, package, extra in self.needs:
            if importlib.util.find_spec(module) is None:
                return f"Needs the package '{package}': pip install 'pliant[{extra}]'"
        return ""


PILLOW = ("PIL", "pillow", "film")
EXPORTS = (
    ExportKind("mp4", "film", (("imageio_ffmpeg", "imageio-ffmpeg", "film"), PILLOW)),
    ExportKind("webp", "animated picture, small", (PILLOW,)),
    ExportKind("gif", "animated picture", (PILLOW,)),
    ExportKind("glb", "animated glTF, for Blender and the web"),
    ExportKind("usd", "animated USD", (("pxr", "usd-core", "mesh"),)),
    ExportKind("pc2", "point cache, with the mesh"),
    ExportKind("obj", "a mesh per frame"),
    ExportKind("ply", "a mesh per frame"),
    ExportKind("stl", "a mesh per frame"),
)


class RecordPanel:
    """A button, the recordings, and the files made of them."""

    def __init__(self, session: Session):
        self.session = session
        self._shown: Any = None
        self._jobs: dict[Any, tuple[Any, Any, Any]] = {}
        with ui.element("div").classes("pl-bar"):
            self.name = text_input("", "record-name", "Name of the recording", placeholder="name (numbered if empty)")
            self.name.classes("pl-grow")
            self.button = text_button("Record", "record", self._record, "fiber_manual_record", main=True)
        self.jobs = mark(ui.element("div").classes("pl-list"), "jobs")
        self.list = mark(ui.element("div").classes("pl-list"), "recordings")
        self.show(session.described)
        session.panels.append(self.show)
        session.on_job.append(self.job)

    def _running(self) -> str | None:
        return self.session.described.get("recording")

    async def _record(self) -> None:
        if self._running():
            await self.session.try_do("record", on=False)
        else:
            given = {"name": self.name.value.strip()} if (self.name.value or "").strip() else {}
            done, _ = await self.session.try_do("record", on=True, **given)
            if done:
                self.name.set_value("")
        self.session.refresh_soon()

    def show(self, described: dict[str, Any]) -> None:
        """Follow what the engine has recorded."""
        running = self._running()
        self.button.set_text("Stop" if running else "Record")
        self.button.props("color=negative icon=stop" if running else "color=primary icon=fiber_manual_record")
        self.button.props["aria-label"] = "Stop recording" if running else "Record"
        shown = (
            [dict(r) for r in described.get("recordings", [])],
            [_file_name(f) for f in described.get("files", [])],
        )
        if shown == self._shown:
            return
        self._shown = shown
        self.list.clear()
        with self.list:
            if not shown[0]:
                hint("No recording yet. A recording holds every frame; films and files are made of it afterwards.")
            for recording in shown[0]:
                self._recording(recording)
            if shown[1]:
                subtitle("Files")
            for name in shown[1]:
                link = ui.link(name, f"/files/{quote(name)}").props("download").classes("pl-link")
                mark(link, f"file-{name}", f"Download {name}")

    def _recording(self, recording: dict[str, Any]) -> None:
        name = recording["name"]
        with mark(ui.element("div").classes("pl-row pl-still"), f"recording-{name}"):
            with ui.element("div").classes("pl-name"):
                ui.label(name)
                frames = int(recording.get("frames", 0))
                words = f"{frames} frame{'' if frames == 1 else 's'}, {recording.get('seconds', 0):.3g} s"
                ui.label(f"{words}, {shown_bytes(recording.get('bytes', 0))}").classes("pl-hint")
            menu_button = text_button("Export", f"export-menu-{name}", None, "download")
            with menu_button, ui.menu().props("auto-close"):
                for kind in EXPORTS:
                    self._export(name, kind)

    def _export(self, recording: str, kind: ExportKind) -> None:
        problem = kind.problem()
        entry = ui.menu_item(on_click=self.session.presser("export", recording=recording, kind=kind.name))
        with mark(entry, f"export-{kind.name}", f"Export {kind.name}"), ui.element("div"):
            ui.label(f".{kind.name}")
            ui.label(problem or kind.meaning).classes("pl-hint")
        if problem:
            entry.props("disable")
            entry.ignores_events_when_disabled = True
            entry.disable() if hasattr(entry, "disable") else None

    def job(self, note: dict[str, Any]) -> None:
        """Show how far a film or a file is, and where it lies when it is done."""
        number = note.get("job")
        with self.session.client:
            if number not in self._jobs:
                with self.jobs, mark(ui.element("div").classes("pl-job"), f"job-{number}") as row:
                    label = ui.label("").classes("pl-name")
                    bar = ui.linear_progress(0.0, show_value=False).props("rounded size=4px")
                self._jobs[number] = (row, label, bar)
            row, label, bar = self._jobs[number]
            words = str(note.get("label") or "job")
            if note["event"] == "progress":
                share = float(note.get("done") or 0.0)
                label.set_text(f"{words} {share:.0%}")
                bar.set_value(share)
                return
            bar.delete()
            label.set_text(words if note.get("file") else f"{words}: {_problem(note.get('error'))}")
            with row:
                if note.get("file"):
                    link = ui.link(note["file"], f"/files/{quote(note['file'])}").props("download").classes("pl-link")
                    mark(link, f"download-{number}", f"Download {note['file']}")
                icon_button("close", f"job-{number}-close", "Dismiss", lambda: self._dismiss(number))

    def _dismiss(self, number: Any) -> None:
        row, _, _ = self._jobs.pop(number)
        row.delete()


def shown_bytes(count: float) -> str:
    """A size for people."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _file_name(entry: Any) -> str:
    return entry["name"] if isinstance(entry, dict) else str(entry)


def _problem(error: Any) -> str:
    if isinstance(error, dict):
        return ". ".join(str(error[key]) for key in ("what", "remedy") if error.get(key))
    return str(error or "stopped")
