"""Pictures of what a laboratory found; they need matplotlib, of the extra 'report'."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.files import make_parent, replace_file
from pliant.lab.compare import Comparison
from pliant.lab.testing import MaterialTest

COLORS = (
    "#3b6fb6", "#d1603d", "#3f9b62", "#8e5bb0", "#b58a1b", "#5a6470", "#c23b78", "#2fa3a8", "#7a4a2b", "#93a83a",
)  # fmt: skip
MARKERS = "osD^vPX"


def check_plot(path: str | os.PathLike) -> None:
    """An error if there will be no plot: so that it comes before the work."""
    if Path(path).suffix.lower() != ".png":
        raise InputError("the picture is a PNG file", str(path), "Give a name that ends with .png")
    make_parent(path)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("matplotlib", "report", "drawing plots") from error


def new_figure(path: str | os.PathLike, rows: int, columns: int, height: float = 3.1) -> tuple[Any, Any]:
    """A figure and its axes (rows, columns), each so high [inches], after a look at the name of the file."""
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * columns, height * rows), dpi=110, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def save_figure(figure: Any, path: str | os.PathLike) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with replace_file(path) as file:
        FigureCanvasAgg(figure).print_png(file)


def plot_tests(found: Sequence[MaterialTest], path: str | os.PathLike) -> None:
    """What was watched in each test, a line for each method, and how far each quantity is off."""
    names = list(dict.fromkeys(curve.test for test in found for curve in test.curves))
    figure, axes = new_figure(path, 2, (len(names) + 2) // 2)
    flat = axes.reshape(-1)
    for place, name in zip(flat, names, strict=False):
        for k, test in enumerate(found):
            for curve in test.curves:
                if curve.test == name:
                    place.plot(curve.times, curve.values, color=COLORS[k % len(COLORS)], lw=1.2, label=test.method)
                    place.set_ylabel(curve.label, fontsize=8)
        sizes = [q.fem for q in found[0].quantities if q.test == name and q.name == "displacement"]
        if sizes and sizes[0] is not None:
            place.axhline(sizes[0], color="black", lw=0.8, ls=":", label="linear finite elements")
        place.set_title(name, fontsize=9)
        place.set_xlabel("time [s]", fontsize=8)
        place.tick_params(labelsize=7)
    shown = {label: handle for place in flat for handle, label in zip(*place.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=6, fontsize=8)
    _draw_errors(flat[len(names)], found)
    for place in flat[len(names) + 1 :]:
        place.set_visible(False)
    figure.suptitle(f"{found[0].body}: E {found[0].material.young:g} Pa, nu {found[0].material.poisson:g}", fontsize=10)
    save_figure(figure, path)


def _draw_errors(place: Any, found: Sequence[MaterialTest]) -> None:
    """Bars of relative errors against finite elements."""
    rows = [f"{q.test} {q.name}" for q in found[0].quantities if q.fem is not None and q.name != "displacement"]
    for k, test in enumerate(found):
        errors = {f"{q.test} {q.name}": q.error for q in test.quantities}
        offsets = np.arange(len(rows)) + (k - 0.5 * (len(found) - 1)) * 0.8 / len(found)
        values = [100.0 * min(max(errors.get(row) or 0.0, -1.0), 1.0) for row in rows]
        place.barh(offsets, values, 0.8 / len(found), color=COLORS[k % len(COLORS)])
    place.set_yticks(range(len(rows)), rows, fontsize=7)
    place.axvline(0.0, color="black", lw=0.8)
    place.set_xlabel("off from finite elements of the same mesh [%], cut at 100", fontsize=8)
    place.tick_params(labelsize=7)
    place.invert_yaxis()


def plot_errors(found: Comparison, path: str | os.PathLike, budget: float | None = None) -> None:
    """Error against cost, and error over time, of compared methods.

    Args:
        found: what was compared.
        path: of the PNG file.
        budget: what a frame may take, as a line [ms].
    """
    figure, axes = new_figure(path, 1, 2, 3.6 + 0.1 * len(found.lanes))
    first, second = axes[0]
    for k, lane in enumerate(found.lanes):
        look: dict[str, Any] = {"color": COLORS[k % len(COLORS)], "label": lane.way.name}
        if lane.stopped:
            look |= {"label": f"{lane.way.name} (stopped)", "mfc": "none"}
        if lane.error > 0.0 and lane.cost > 0.0:
            first.loglog([lane.cost], [lane.error], MARKERS[k % len(MARKERS)], ms=8, **look)
        times, errors = lane.times[: len(lane.errors)], np.maximum(lane.errors, 1e-9)
        marked = {"marker": MARKERS[k % len(MARKERS)], "ms": 4, "markevery": max(1, len(errors) // 6)}
        second.semilogy(times, errors, "-" if k < len(COLORS) else "--", lw=1.2, **marked, **look)
    first.margins(0.15)
    if budget is not None:
        first.axvline(budget, color="black", lw=0.8, ls="--")
        first.annotate(
            f"{budget:.3g} ms", (budget, 1.0), xycoords=("data", "axes fraction"), xytext=(-3, -11),
            textcoords="offset points", fontsize=7, ha="right",
        )  # fmt: skip
    if found.doubt > 0.0:
        for place in (first, second):
            place.axhspan(found.doubt * 1e-3, found.doubt, color="black", alpha=0.08, lw=0)
            low = min([lane.error for lane in found.lanes if lane.error > 0.0], default=found.doubt)
            place.set_ylim(bottom=0.4 * min(found.doubt, low))
        first.annotate(
            "below: the reference's own error", (0.02, found.doubt), xycoords=("axes fraction", "data"),
            xytext=(0, -10), textcoords="offset points", fontsize=7,
        )  # fmt: skip
    for place, label in ((first, "time of a frame [ms]"), (second, "time [s]")):
        place.set_xlabel(label, fontsize=8)
        place.set_ylabel("error over the size of the body", fontsize=8)
        place.grid(True, which="both", alpha=0.25)
        place.tick_params(which="both", labelsize=7)
    handles, names = second.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
    save_figure(figure, path)
