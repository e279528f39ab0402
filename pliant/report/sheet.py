"""A report as one PNG picture: pictures and histograms on the left, texts on the right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pliant.report.data import ReportInput
from pliant.report.histograms import Histogram, draw_pixels, mass_rows, matplotlib_module, number
from pliant.report.page import png_bytes
from pliant.report.pictures import SCALE, Legend, Picture

MARGIN = 24
GAP = 16
COLUMN = 520
"""Width of the column of texts [pixels]."""
PLOT_HEIGHT = 270
WORDS_HEIGHT = 66
LEAST_PLOT = 260
"""Width that a histogram needs for its words [pixels]."""
PAPER, INK, SOFT, LINE, NOTE = (255, 255, 255), (29, 33, 40), (91, 100, 114), (216, 221, 228), (166, 92, 10)


def png_sheet(data: ReportInput, pictures: list[Picture], shapes: list[Histogram]) -> bytes:
    """The sheet as a PNG file."""
    return png_bytes(draw_sheet(data, pictures, shapes))


def draw_sheet(data: ReportInput, pictures: list[Picture], shapes: list[Histogram]) -> np.ndarray:
    """The sheet (height, width, 3) uint8: pictures in two columns, histograms below, texts beside them."""
    from PIL import Image

    pen = _Pen()
    height, width = pictures[0].image.shape[:2]
    left = 2 * width + GAP
    heights = [height + 14 + 20 * len(pen.wrap(p.caption, 15, width)) + (40 if p.legend else 0) for p in pictures]
    rows = [max(heights[k : k + 2]) + GAP for k in range(0, len(pictures), 2)]
    columns = min(max(left // LEAST_PLOT, 1), 4 if len(shapes) == 4 else 3)
    title = pen.wrap(data.title or "Report", 30, left + GAP + COLUMN)[:2]
    top = MARGIN + 40 * len(title) + 8
    plots = top + sum(rows)
    total = plots - (-len(shapes) // columns) * (PLOT_HEIGHT + WORDS_HEIGHT + GAP) + MARGIN
    sheet = Image.new("RGB", (2 * MARGIN + left + 2 * GAP + COLUMN, total), PAPER)
    pen.use(sheet)
    for k, line in enumerate(title):
        pen.text(MARGIN, MARGIN + 40 * k, line, 30, INK, bold=True)
    for k, picture in enumerate(pictures):
        x, y = MARGIN + (k % 2) * (width + GAP), top + sum(rows[: k // 2])
        sheet.paste(Image.fromarray(picture.image), (x, y))
        _caption(pen, picture, x, y + height + 6, width)
    plot_width = (left - (columns - 1) * GAP) // columns
    for k, shape in enumerate(shapes):
        x, at = MARGIN + (k % columns) * (plot_width + GAP), plots + (k // columns) * (PLOT_HEIGHT + WORDS_HEIGHT + GAP)
        sheet.paste(Image.fromarray(draw_pixels(shape, plot_width, PLOT_HEIGHT)), (x, at))
        for row, words in enumerate(_plot_words(shape)):
            pen.text(x + 6, at + PLOT_HEIGHT + 4 + 20 * row, pen.fit(words, 14, plot_width - 6), 14, SOFT)
    _texts(pen, data, MARGIN + left + 2 * GAP, top, total - MARGIN)
    return np.asarray(sheet)


def _caption(pen: _Pen, picture: Picture, x: int, y: int, width: int) -> None:
    if picture.legend is not None:
        _legend(pen, picture.legend, x, y, width)
        y += 40
    for k, line in enumerate(pen.wrap(picture.caption, 15, width)):
        pen.text(x, y + 20 * k, line, 15, SOFT)


def _legend(pen: _Pen, legend: Legend, x: int, y: int, width: int) -> None:
    places = np.linspace(0, len(SCALE) - 1, width)
    bar = np.stack([np.interp(places, np.arange(len(SCALE)), channel) for channel in zip(*SCALE)], axis=1)
    pen.paste(np.tile(np.rint(255 * bar).astype(np.uint8), (12, 1, 1)), x, y)
    low, high = (f"{value:g}{legend.unit}" for value in (legend.low, legend.high))
    pen.text(x, y + 15, low, 14, INK)
    pen.text(x + (width - pen.width(legend.title, 14)) // 2, y + 15, legend.title, 14, INK)
    pen.text(x + width - pen.width(high, 14), y + 15, high, 14, INK)


def _plot_words(shape: Histogram) -> list[str]:
    lines = [
        f"min {number(shape.smallest)}, median {number(shape.median)}",
        f"max {number(shape.largest, shape.unit)}, {shape.count:,} values",
    ]
    if shape.mark is not None:
        lines.append(f"truncated at {number(shape.mark, shape.unit)} (orange)")
    elif shape.beyond:
        lines.append(f"{shape.beyond:,} beyond the right end")
    return lines


def _row_lines(pen: _Pen, name: str, value: str) -> list[tuple[str, str, str]]:
    """The lines of one row: the name on the left, the value on the right, which may go on below."""
    if not name:
        return [("line", line, "") for line in pen.wrap(value, 15, COLUMN)]
    name = pen.fit(name, 15, COLUMN * 3 // 5)
    first, *others = pen.wrap(value, 15, COLUMN - pen.width(name, 15) - 16)
    return [("row", name, first), *(("row", "", line) for line in others)]


def _texts(pen: _Pen, data: ReportInput, x: int, y: int, bottom: int) -> None:
    """The column of notes and facts; what does not fit is counted in the last line."""
    lines: list[tuple[str, str, str]] = []
    if data.notes:
        lines.append(("head", "Notes", ""))
        for note in data.notes:
            wrapped = pen.wrap(note, 15, COLUMN - 18)
            lines += [("note" if k == 0 else "more", line, "") for k, line in enumerate(wrapped)]
    for heading, rows in [("Masses", mass_rows(data)), *data.facts]:
        if rows:
            lines.append(("head", heading, ""))
            for name, value in rows:
                lines += _row_lines(pen, str(name), str(value))
    for k, (kind, first, second) in enumerate(lines):
        step = 38 if kind == "head" else 23
        if y + step + 23 > bottom and k + 1 < len(lines):
            pen.text(x, y, f"and {len(lines) - k:,} more lines, which the HTML report shows", 14, SOFT)
            return
        if kind == "head":
            y += 12
            pen.text(x, y, pen.fit(first, 18, COLUMN), 18, INK, bold=True)
            pen.line(x, y + 25, x + COLUMN)
            y += 30
            continue
        if kind == "row":
            pen.text(x, y, first, 15, SOFT)
            pen.text(x + COLUMN - pen.width(second, 15), y, second, 15, INK)
        elif kind == "line":
            pen.text(x, y, first, 15, INK)
        else:
            if kind == "note":
                pen.text(x, y, "•", 15, NOTE)
            pen.text(x + 18, y, first, 15, INK)
        y += step


class _Pen:
    """Writes on a picture in the font that comes with the plotting library: the same letters everywhere."""

    def __init__(self) -> None:
        self._folder = Path(matplotlib_module().get_data_path()) / "fonts" / "ttf"
        self._fonts: dict[tuple[int, bool], Any] = {}

    def use(self, sheet: Any) -> None:
        from PIL import ImageDraw

        self._sheet = sheet
        self._draw = ImageDraw.Draw(sheet)

    def font(self, size: int, bold: bool = False) -> Any:
        from PIL import ImageFont

        if (size, bold) not in self._fonts:
            name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
            # The plain layout, since whether the other is there depends on the machine.
            font = ImageFont.truetype(str(self._folder / name), size, layout_engine=ImageFont.Layout.BASIC)
            self._fonts[size, bold] = font
        return self._fonts[size, bold]

    def width(self, text: str, size: int, bold: bool = False) -> int:
        return int(np.ceil(self.font(size, bold).getlength(text)))

    def text(self, x: int, y: int, text: str, size: int, color: tuple[int, int, int], bold: bool = False) -> None:
        self._draw.text((x, y), text, fill=color, font=self.font(size, bold))

    def line(self, x: int, y: int, end: int) -> None:
        self._draw.line((x, y, end, y), fill=LINE, width=1)

    def paste(self, image: np.ndarray, x: int, y: int) -> None:
        from PIL import Image

        self._sheet.paste(Image.fromarray(image), (x, y))

    def fit(self, text: str, size: int, width: int) -> str:
        """The text in one line, cut short with an ellipsis where it is too long [pixels]."""
        text = " ".join(text.split())
        if self.width(text, size) <= width:
            return text
        short, long = 0, len(text)
        while short < long:
            middle = (short + long + 1) // 2
            short, long = (middle, long) if self.width(text[:middle] + "…", size) <= width else (short, middle - 1)
        return text[:short].rstrip() + "…"

    def wrap(self, text: str, size: int, width: int) -> list[str]:
        """The text in lines of at most that width [pixels]; a longer word is cut short."""
        lines = [""]
        for word in text.split():
            longer = f"{lines[-1]} {word}".strip()
            if self.width(longer, size) <= width:
                lines[-1] = longer
            elif lines[-1]:
                lines.append(self.fit(word, size, width))
            else:
                lines[-1] = self.fit(word, size, width)
        return lines
