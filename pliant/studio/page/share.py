"""The panel that gives the scene away: as a scene file, as Python, as a link; and says what is known of its bodies."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from pliant.studio.page.controls import hint, icon_button, mark, subtitle, text_button, text_input
from pliant.studio.page.session import Session

FORMS = {"toml": ("scene file", "toml", "Run it with: pliant run"), "python": ("Python", "py", "Run it with: python")}
COPY = "navigator.clipboard && navigator.clipboard.writeText({})"


class SharePanel:
    """Buttons for the texts, the link, and the notes of all bodies."""

    def __init__(self, session: Session, link: str | None = None):
        self.session = session
        with ui.element("div").classes("pl-bar"):
            text_button("Scene file", "copy-toml", lambda: self._show("toml"), "description")
            text_button("Python", "copy-python", lambda: self._show("python"), "code")
        with ui.element("div").classes("pl-field"):
            subtitle("Link for another browser")
            with ui.element("div").classes("pl-bar"):
                self.link = text_input(link or "", "share-link", "Link").props("readonly").classes("pl-grow")
                copy = icon_button("content_copy", "share-link-copy", "Copy the link", None)
                copy.on("click", js_handler=f"() => {{ {COPY.format(self._link_code())} }}")
            hint("Another machine reaches the studio only if it was started with --host.")
        if not link:
            ui.timer(0.1, self._ask_link, once=True)
        subtitle("Notes of the bodies")
        self.notes = mark(ui.element("div").classes("pl-list"), "notes")
        self._shown: Any = None
        self.show(session.described)
        session.panels.append(self.show)
        self._build_dialog()

    def _link_code(self) -> str:
        return f"document.getElementById('{self.link.html_id}').value"

    async def _ask_link(self) -> None:
        try:
            self.link.set_value(await ui.run_javascript("window.location.href", timeout=5.0))
        except TimeoutError:
            self.link.set_value("")

    def show(self, described: dict[str, Any]) -> None:
        """Follow the document."""
        shown = [(body["name"], list(body.get("notes") or ())) for body in described["bodies"]]
        if shown == self._shown:
            return
        self._shown = shown
        self.notes.clear()
        with self.notes:
            for name, notes in shown:
                ui.label(name).classes("pl-scene-name")
                for note in notes or ["Nothing to say: the mesh is used as it is."]:
                    ui.label(note).classes("pl-note")
            if not shown:
                hint("There is no body.")

    # ---- the text -----------------------------------------------------------------------------------------------

    def _build_dialog(self) -> None:
        with ui.dialog() as self.dialog, ui.card().classes("pl-card pl-wide"):
            with ui.element("div").classes("pl-title"):
                self.title = ui.label("")
                icon_button("close", "share-close", "Close", self.dialog.close)
            self.hint = hint("")
            with ui.element("div").classes("pl-scroll"):
                self.code = mark(ui.code("", language="toml").classes("w-full"), "share-text", "Text of the scene")
            with ui.element("div").classes("pl-bar"):
                text_button("Copy", "share-copy", self._copy, "content_copy", main=True)
                text_button("Download", "share-download", self._download, "download")
        self.text, self.form = "", "toml"

    async def _show(self, form: str) -> None:
        done, answer = await self.session.try_do("copy", form=form)
        if not done:
            return
        self.text = answer["text"] if isinstance(answer, dict) else str(answer)
        self.form = form
        words, _, remark = FORMS[form]
        self.title.set_text(f"The scene as {words}")
        self.hint.set_text(remark + " " + self._file_name())
        self.code.markdown.set_content(f"```{form}\n{self.text}\n```")
        self.code.content = self.text
        self.dialog.open()

    def _file_name(self) -> str:
        name = str(self.session.described["scene"].get("name") or "scene")
        plain = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
        return f"{plain}.{FORMS[self.form][1]}"

    def _copy(self) -> None:
        ui.clipboard.write(self.text)
        self.session.tell("Copied")

    def _download(self) -> None:
        ui.download.content(self.text, self._file_name())
