"""The time of a step against the number of particles, as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.report.histograms import matplotlib_module

COLORS = {"rigid": "#4477aa", "linear": "#228833", "quadratic": "#cc3311"}


def step_lines(
    rows: Iterable[Mapping[str, Any]], metric: str = "us_per_step"
) -> dict[str, tuple[list[int], list[float]]]:
    """Particles and time per step [ms] of each case of a report that has several sizes, smallest first."""
    found: dict[str, dict[int, float]] = {}
    for row in rows:
        if row["metric"] == metric and "particles" in row["settings"]:
            found.setdefault(row["case"], {})[int(row["settings"]["particles"])] = 1e-3 * float(row["value"])
    several = {case: sorted(points.items()) for case, points in found.items() if len(points) > 1}
    return {case: ([n for n, _ in points], [ms for _, ms in points]) for case, points in several.items()}


def plot_steps(
    rows: Iterable[Mapping[str, Any]],
    path: str | Path,
    solid: str = "",
    metric: str = "us_per_step",
    label: str = "time of a step [ms]",
) -> None:
    """Draw time per step against particles, a line for each case, both scales logarithmic (Sharma, figure 5.12).

    Args:
        rows: those of a `Report`.
        path: PNG file.
        solid: cases that have this word are drawn in full lines, the others dashed.
        metric: what is drawn, a time in microseconds. label: its name beside the axis.
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise InputError("the picture is a PNG file", str(path), "Give a name that ends with .png")
    rows = list(rows)
    lines = step_lines(rows, metric)
    if not lines:
        raise InputError(
            "no case was measured at several sizes",
            str(path),
            "Draw a bench that measures several, such as 'shapes', without --quick",
        )
    matplotlib_module()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), dpi=110, layout="constrained")
    axes = figure.add_subplot()
    for case, (particles, times) in lines.items():
        style = "-" if solid in case else "--"
        axes.loglog(particles, times, style, marker="o", markersize=3, color=COLORS.get(case.split(",")[0]), label=case)
    axes.set_xlabel("particles")
    axes.set_ylabel(label)
    axes.set_title(str(rows[0]["device"]), fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8)
    with replace_file(path) as file:
        FigureCanvasAgg(figure).print_png(file)


def plot_panels(lines: Mapping[str, list[tuple[float, float]]], label: str, title: str, path: str | Path) -> None:
    """Draw several lines, each over its own axis, beside each other; all times from zero.

    Args:
        lines: points of each, by what is along the axis. label: what is upwards.
    """
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise InputError("the picture is a PNG file", str(path), "Give a name that ends with .png")
    matplotlib_module()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(lines), 3.0), dpi=110, layout="constrained")
    for axes, (name, points) in zip(figure.subplots(1, len(lines), squeeze=False)[0], lines.items(), strict=True):
        axes.plot([x for x, _ in points], [y for _, y in points], marker="o", markersize=3, color="#4477aa")
        if points and max(x for x, _ in points) > 30 * max(min(x for x, _ in points), 1):
            axes.set_xscale("log")
        axes.set_ylim(0.0, 1.1 * max((y for _, y in points), default=1.0))
        axes.set_xlabel(name)
        axes.grid(True, which="major", alpha=0.3)
    figure.axes[0].set_ylabel(label)
    figure.suptitle(title, fontsize=9)
    with replace_file(path) as file:
        FigureCanvasAgg(figure).print_png(file)
