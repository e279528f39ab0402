"""Pictures of what a laboratory found; they need matplotlib, of the extra 'report'."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import InputError, MissingExtraError
from pliant.files import replace_file
from pliant.lab.testing import MaterialTest

COLORS = ("#3b6fb6", "#d1603d", "#3f9b62", "#8e5bb0", "#b58a1b", "#5a6470")


def new_figure(path: str | os.PathLike, rows: int, columns: int) -> tuple[Any, Any]:
    """A figure and its axes (rows, columns), after a look at the name of the file."""
    if Path(path).suffix.lower() != ".png":
        raise InputError("the picture is a PNG file", str(path), "Give a name that ends with .png")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "report", "drawing plots") from error
    figure = Figure(figsize=(4.6 * columns, 3.1 * rows), dpi=110, layout="constrained")
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
    flat[0].legend(fontsize=7)
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


def plot_errors(curves: Mapping[str, Any], points: Mapping[str, tuple[float, float]], path: str | os.PathLike) -> None:
    """Error against cost, and error over time, of compared methods."""
    figure, axes = new_figure(path, 1, 2)
    first, second = axes[0]
    for k, (name, (cost, error)) in enumerate(points.items()):
        color = COLORS[k % len(COLORS)]
        if error > 0.0:
            first.loglog([cost], [error], "o", color=color)
            first.annotate(name, (cost, error), textcoords="offset points", xytext=(6, 4), fontsize=8)
        times, errors = curves[name]
        second.semilogy(times, np.maximum(errors, 1e-9), color=color, label=name, lw=1.2)
    first.margins(0.3)
    first.set_xlabel("time of a frame [ms]", fontsize=8)
    first.set_ylabel("error over the size of the body", fontsize=8)
    second.set_xlabel("time [s]", fontsize=8)
    second.set_ylabel("error over the size of the body", fontsize=8)
    second.legend(fontsize=8)
    for place in (first, second):
        place.grid(True, which="both", alpha=0.25)
        place.tick_params(labelsize=7)
    save_figure(figure, path)
