"""Histograms of a body's inverse masses, volumes, edge lengths and angles, as data and as drawings.

They are those of L. Lesmes, Real-Time Physically-Based Deformable Objects Simulation (2013), section 5.1 and figure
5.2: the less lopsided they are, the better the mesh simulates.
"""

from __future__ import annotations

import dataclasses
import io
import re
from typing import Any

import numpy as np

from pliant.errors import MissingExtraError
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.report import measures
from pliant.report.data import ReportInput

BINS = 40
ANGLE_BINS = 36
"""Bins of angles from 0 to 180 degrees: five degrees each."""
SPREAD = 50.0
"""Ratio of the largest to the median, or of the median to the smallest, from which the axis is logarithmic."""
TAIL = 99.5
"""Percentile at which a long tail is cut off."""
BAR = "#4a86c5"
MARK = "#d9722b"
INK = "#010203"
"""Stands for the colour of the page's text in a drawing for HTML."""


@dataclasses.dataclass(frozen=True, eq=False)
class Histogram:
    """How often values fall into bins.

    Attributes:
        name: short name; title: for people; unit: of the values, "" for none.
        counts: of each bin (b,); bounds: of the bins (b + 1,).
        log: whether bins and axis are logarithmic.
        beyond: values past the last bin, which are not drawn.
        count, smallest, median, largest: of all values.
        mark: a value to mark, such as the bound that inverse masses are truncated to.
    """

    name: str
    title: str
    unit: str
    counts: np.ndarray
    bounds: np.ndarray
    log: bool
    beyond: int
    count: int
    smallest: float
    median: float
    largest: float
    mark: float | None = None

    @property
    def axis(self) -> str:
        """Title of the axis, with the unit."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title

    def sentence(self) -> str:
        """What the drawing shows, for those who cannot see it."""
        text = (
            f"Histogram of {self.count:,} values of {self.title}: smallest {number(self.smallest, self.unit)}, "
            f"median {number(self.median, self.unit)}, largest {number(self.largest, self.unit)}"
        )
        more = f"; {self.beyond:,} values beyond {number(self.bounds[-1], self.unit)} are not drawn"
        return text + (more if self.beyond else "")


def number(value: float, unit: str = "") -> str:
    """A number with four digits and its unit."""
    text = f"{value:.4g}"
    return text + (unit if unit in ("", "°") else f" {unit}")


def histogram(
    name: str,
    title: str,
    unit: str,
    values: np.ndarray,
    bins: int = BINS,
    mark: float | None = None,
    span: tuple[float, float] | None = None,
) -> Histogram:
    """Sort values (n,) into bins that suit their spread.

    Values over several orders of magnitude get logarithmic bins; a long tail is cut at `TAIL` percent and counted.
    With a ``span``, the bins are equal and go from its one end to the other, and all values must lie in it.
    """
    values = np.asarray(values, np.float64).ravel()
    smallest, median, largest = float(values.min()), float(np.median(values)), float(values.max())
    log = smallest > 0.0 and (largest > SPREAD * median or median > SPREAD * smallest)
    if span is not None:
        counts, bounds = np.histogram(values, bins, span)
        return Histogram(name, title, unit, counts, bounds, False, 0, len(values), smallest, median, largest, mark)
    if largest - smallest <= 1e-9 * max(abs(largest), abs(smallest)):
        # All the same but for rounding: one bar in the middle of a visible axis.
        half = 0.1 * abs(median) or 0.5
        counts, bounds = np.array([len(values)]), np.array([median - 0.25 * half, median + 0.25 * half])
        return Histogram(name, title, unit, counts, bounds, False, 0, len(values), smallest, median, largest, mark)
    if log:
        bounds = np.geomspace(smallest, largest, bins + 1)
        bounds[[0, -1]] = smallest, largest
    else:
        tail = float(np.percentile(values, TAIL))
        high = tail if largest - smallest > 1.6 * (tail - smallest) and tail > smallest else largest
        bounds = np.linspace(smallest, high, bins + 1)
    counts = np.histogram(values, bounds)[0]
    beyond = len(values) - int(counts.sum())
    return Histogram(name, title, unit, counts, bounds, log, beyond, len(values), smallest, median, largest, mark)


def body_histograms(data: ReportInput, bins: int = BINS) -> list[Histogram]:
    """The histograms of a body's report."""
    solid, truncate = data.solid, data.truncate
    masses = measures.vertex_masses(solid, data.density)
    inverse = 1.0 / masses if len(masses) else np.zeros(1)
    if truncate is not None and not (inverse > truncate).any():
        truncate = None
    result = [histogram("inverse_mass", "inverse mass", "1/kg", inverse, bins, truncate)]
    if truncate is not None:
        truncated = np.minimum(inverse, truncate)
        result.append(histogram("inverse_mass_truncated", "inverse mass, truncated", "1/kg", truncated, bins))
    size, unit = ("triangle area", "m²") if isinstance(solid, SurfaceMesh) else ("volume", "m³")
    if isinstance(solid, TetMesh):
        size = "tet volume"
    elif isinstance(solid, VoxelLattice):
        size = "cube volume"
    result.append(histogram("size", size, unit, measures.element_sizes(solid), bins))
    result.append(histogram("edge_length", "edge length", "m", measures.edge_lengths(solid), bins))
    if isinstance(solid, VoxelLattice):
        return result
    angles = measures.dihedral_angles(solid) if isinstance(solid, TetMesh) else measures.triangle_angles(solid)
    # Rounded, so that right angles and their halves do not scatter over two bins.
    title = "dihedral angle" if isinstance(solid, TetMesh) else "angle of a triangle"
    result.append(histogram("angle", title, "°", np.round(angles, 9), ANGLE_BINS, span=(0.0, 180.0)))
    return result


def mass_rows(data: ReportInput) -> list[tuple[str, str]]:
    """Rows on the masses, as in Lesmes table 5.2: the whole, the extremes, and what truncation touches."""
    masses = measures.vertex_masses(data.solid, data.density)
    if not len(masses):
        return [("mass of the body", "0 kg: no element has a volume")]
    unit = "kg/m²" if isinstance(data.solid, SurfaceMesh) else "kg/m³"
    rows = [
        ("density", number(data.density, unit)),
        ("mass of the body", number(float(masses.sum()), "kg")),
        ("largest inverse mass", number(float(1.0 / masses.min()), "1/kg")),
    ]
    if data.truncate is not None:
        above = int((1.0 / masses > data.truncate).sum())
        share = f"{above:,} of {len(masses):,} vertices ({100.0 * above / len(masses):.2g} %)"
        rows += [("truncated at", number(data.truncate, "1/kg")), ("above that", share if above else "none")]
    return rows


def matplotlib_module() -> Any:
    """The plotting library, or the error that says how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtraError("matplotlib", "report", "Drawing histograms") from error
    return matplotlib


def _figure(shape: Histogram, width: float, height: float, ink: str, background: str) -> Any:
    """A drawing of one histogram, width and height in inches; to be called with default settings."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, MultipleLocator, NullFormatter

    figure = Figure(figsize=(width, height), facecolor=background, layout="constrained")
    axes = figure.add_subplot(facecolor=background)
    left, right = shape.bounds[0], shape.bounds[-1]
    axes.bar(shape.bounds[:-1], shape.counts, np.diff(shape.bounds), align="edge", color=BAR, linewidth=0)
    if len(shape.counts) == 1:
        half = 4.0 * (right - left)
        axes.set_xlim(shape.median - half, shape.median + half)
    elif shape.log:
        axes.set_xscale("log")
        if right > 100.0 * left:
            axes.xaxis.set_minor_formatter(NullFormatter())
    axes.axvline(shape.median, color=ink, linewidth=1.2, linestyle=(0, (4, 2)))
    if shape.mark is not None:
        axes.axvline(shape.mark, color=MARK, linewidth=1.6)
    if not shape.log:
        axes.xaxis.set_major_locator(MultipleLocator(30.0) if shape.unit == "°" else MaxNLocator(5))
        axes.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4), useMathText=False)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_xlabel(shape.axis, color=ink)
    axes.set_ylabel("frequency", color=ink)
    axes.tick_params(colors=ink, which="both")
    axes.xaxis.get_offset_text().set_color(ink)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink)
    axes.grid(axis="y", color=ink, alpha=0.15, linewidth=0.6)
    axes.set_axisbelow(True)
    return figure


def draw_svg(shape: Histogram, key: str, width: float = 4.6, height: float = 2.7) -> str:
    """One histogram as an SVG element for an HTML page, text in the page's colour.

    Args:
        shape: what to draw.
        key: goes before every id, so that several drawings fit on one page.
        width: [inches]; height: [inches].
    """
    matplotlib = matplotlib_module()
    file = io.StringIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.hashsalt": key, "svg.fonttype": "none", "font.size": 10.0})
        _figure(shape, width, height, INK, "none").savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'(\sid="|url\(#|xlink:href="#)', rf"\g<1>{key}-", text)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px sans-serif", text)
    text = text.replace(INK, "currentColor").replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)
    return re.sub(r"[ \t]*\n\s*", "\n", text).strip()


def draw_pixels(shape: Histogram, width: int, height: int) -> np.ndarray:
    """One histogram as a picture (height, width, 3) uint8."""
    matplotlib = matplotlib_module()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.size": 10.0})
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        dots = 100.0
        figure = _figure(shape, width / dots, height / dots, "#23272e", "white")
        figure.set_dpi(dots)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
    return pixels
