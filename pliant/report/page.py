"""A report as one HTML page that needs no other file."""

from __future__ import annotations

import base64
import io
from html import escape

import numpy as np

from pliant.report.data import ReportInput
from pliant.report.histograms import Histogram, draw_svg, mass_rows, number
from pliant.report.pictures import SCALE, Legend, Picture

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1d2128; --soft: #5b6472; --card: #f4f6f8; --line: #d8dde4;
  --note: #fff4e3; --noteline: #d9902b; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171c; --ink: #e6e9ee; --soft: #a3acb9; --card: #1e232b; --line: #343b46; --note: #2c2417;
    --noteline: #d9902b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem clamp(0.75rem, 3vw, 2rem) 3rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: clamp(1.3rem, 4vw, 1.9rem); line-height: 1.2; margin: 0.5rem 0 1rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 0.7rem; }
h3 { font-size: 1rem; margin: 0 0 0.4rem; }
.grid { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); }
.grid.small { grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); }
figure, .card { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 0.5rem;
  overflow: hidden; }
.cards { columns: 27rem; column-gap: 1rem; }
.card { padding: 0.8rem 1rem; margin: 0 0 1rem; break-inside: avoid; }
figure img, figure svg { display: block; width: 100%; height: auto; }
figure.plot { padding: 0.5rem 0.5rem 0; }
figcaption { padding: 0.5rem 0.8rem 0.7rem; color: var(--soft); font-size: 0.9rem; }
.legend { padding: 0.6rem 0.8rem 0; font-size: 0.85rem; }
.bar { height: 0.8rem; border-radius: 0.2rem; border: 1px solid var(--line); }
.ends { display: flex; justify-content: space-between; gap: 0.5rem; }
.notes { background: var(--note); border-left: 0.3rem solid var(--noteline); padding: 0.7rem 1rem 0.7rem 2rem;
  border-radius: 0.3rem; margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--soft); padding: 0.25rem 0.8rem 0.25rem 0; vertical-align: top; }
td { text-align: right; padding: 0.25rem 0; vertical-align: top; }
td.text { text-align: left; }
td + td { padding-left: 0.8rem; }
thead td, thead th { color: var(--soft); font-weight: 600; }
tr + tr, tbody tr:first-child { border-top: 1px solid var(--line); }
""".strip()


def html_page(data: ReportInput, pictures: list[Picture], shapes: list[Histogram]) -> bytes:
    """The page, in UTF-8."""
    title = escape(data.title or "Report")
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>",
    ]
    if data.notes:
        rows = "\n".join(f"<li>{escape(note)}</li>" for note in data.notes)
        parts.append(f'<section><h2>Notes</h2>\n<ul class="notes">\n{rows}\n</ul></section>')
    parts.append('<section><h2>Pictures</h2>\n<div class="grid">')
    parts += [_figure(picture) for picture in pictures]
    # Two rows of two look better than three and one.
    grid = "grid" if len(shapes) == 4 else "grid small"
    parts.append(f'</div></section>\n<section><h2>Histograms</h2>\n<div class="{grid}">')
    parts += [_plot(shape, f"h{k}") for k, shape in enumerate(shapes)]
    parts.append('</div></section>\n<section><h2>Facts</h2>\n<div class="cards">')
    parts += [_card(heading, rows) for heading, rows in data.facts if rows]
    parts += [_card("Masses", mass_rows(data)), _distributions(shapes)]
    parts.append("</div></section>\n</main>\n</body>\n</html>\n")
    return "\n".join(parts).encode("utf-8", "replace")


def png_bytes(image: np.ndarray) -> bytes:
    """A picture (height, width, 3) uint8 as a PNG file."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(image).save(file, format="PNG", compress_level=6)
    return file.getvalue()


def _figure(picture: Picture) -> str:
    height, width = picture.image.shape[:2]
    source = base64.b64encode(png_bytes(picture.image)).decode()
    legend = "" if picture.legend is None else _legend(picture.legend)
    return (
        f'<figure><img width="{width}" height="{height}" alt="{escape(picture.alt)}" '
        f'src="data:image/png;base64,{source}">{legend}<figcaption>{escape(picture.caption)}</figcaption></figure>'
    )


def _legend(legend: Legend) -> str:
    stops = ", ".join("rgb({} {} {})".format(*(round(255 * c) for c in color)) for color in SCALE)
    low, high = (escape(f"{value:g}{legend.unit}") for value in (legend.low, legend.high))
    return (
        f'<div class="legend"><div class="bar" style="background: linear-gradient(to right, {stops})"></div>'
        f'<div class="ends"><span>{low}</span><span>{escape(legend.title)}</span><span>{high}</span></div></div>'
    )


def _plot(shape: Histogram, key: str) -> str:
    caption = (
        f"{shape.count:,} values; smallest {number(shape.smallest, shape.unit)}, "
        f"median {number(shape.median, shape.unit)} (dashed), largest {number(shape.largest, shape.unit)}"
    )
    if shape.mark is not None:
        caption += f"; truncated at {number(shape.mark, shape.unit)} (orange)"
    if shape.beyond:
        caption += f"; {shape.beyond:,} beyond the right end are not drawn"
    return (
        f'<figure class="plot"><div role="img" aria-label="{escape(shape.sentence())}">{draw_svg(shape, key)}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _card(heading: str, rows: list[tuple[str, str]]) -> str:
    lines = "\n".join(_row(str(name), str(value)) for name, value in rows)
    return f'<div class="card"><h3>{escape(heading)}</h3>\n<table><tbody>\n{lines}\n</tbody></table></div>'


def _row(name: str, value: str) -> str:
    if not name:
        return f'<tr><td class="text" colspan="2">{escape(value)}</td></tr>'
    return f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'


def _distributions(shapes: list[Histogram]) -> str:
    lines = "\n".join(
        f'<tr><th scope="row">{escape(shape.axis)}</th>'
        + "".join(f"<td>{number(value)}</td>" for value in (shape.smallest, shape.median, shape.largest))
        + "</tr>"
        for shape in shapes
    )
    return (
        '<div class="card"><h3>Distributions</h3>\n<div class="wide"><table><thead><tr><th scope="col">value</th>'
        "<td>smallest</td><td>median</td><td>largest</td></tr></thead>"
        f"<tbody>\n{lines}\n</tbody></table></div></div>"
    )
