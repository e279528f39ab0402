"""`test_sheet`: strips of cloth are pulled along warp and weft, sheared and bent."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.lab.experiments import PERIODS, SAG, STRAIN, Curve, Outcome, Quantity, recovery_of, tip_displacement
from pliant.lab.plane_reference import PlaneReference
from pliant.lab.ringing import end_of, fit_ringing
from pliant.lab.specimen import Specimen
from pliant.lab.testing import MaterialTest, gathered, length_of
from pliant.lab.twin import Method, watch
from pliant.materials import Material, as_material
from pliant.mesh import shapes
from pliant.mesh.surface import SurfaceMesh
from pliant.solvers import solver_class, solver_classes

SHEET_TESTS = ("tension", "weft", "shear", "bending")
CELLS = (10, 2)
BEND_CELLS = (10, 2)
SLENDER = 5.0
"""Length of a strip over its width; the strip that is sheared is held at its long side instead."""
OVERDAMPED = 0.7
"""Damping ratio from which on a swing is not looked for."""
BENDS = ("xpbd", "baraff_witkin")
"""Methods whose bending is tested: others would take a hundred thousand steps for one swing of a cloth."""


def sheet_methods() -> list[str]:
    """Methods that take sheets."""
    return [name for name, cls in solver_classes().items() if SurfaceMesh in cls.takes]


def check_takes_sheets(method: str, where: str) -> None:
    """An `InputError` for a method that is none, or that takes no sheets."""
    if SurfaceMesh not in solver_class(method, where).takes:
        raise InputError(f"the method '{method}' takes no sheets", where, f"Use one of: {', '.join(sheet_methods())}")


def strip(length: float, width: float, cells: tuple[int, int]) -> Specimen:
    """A strip along x, held at its lower end [m]."""
    mesh = shapes.sheet((length, width), cells)
    x, near = mesh.vertices[:, 0], 1e-6 * length
    return Specimen(mesh, length, width, np.flatnonzero(x < x.min() + near), np.flatnonzero(x > x.max() - near))


def test_sheet(
    material: Material | str = "cotton",
    method: str = "xpbd",
    *,
    tests: Sequence[str] = SHEET_TESTS,
    size: float | str = 0.2,
    settings: Mapping[str, Any] | None = None,
    matching: Mapping[str, Any] | None = None,
    frame_dt: float | None = None,
    substeps: int | None = None,
    device: str = "cpu",
) -> MaterialTest:
    """Test a sheet of a material under a method, on strips that hang, are sheared, or stick out.

    Args:
        material: a `Material` or the name of a preset; its thickness, weft, shear and bending count.
        method: how it is simulated.
        tests: some of 'tension' (along the warp), 'weft', 'shear' and 'bending'.
        size: length of the strip [m].
        settings: of the method. matching: of a shape-matched sheet.
        frame_dt: duration of a frame [s]; a 24th of the period if not given.
        substeps: steps per frame; chosen if not given.
        device: where it runs.
    """
    stuff = as_material(material, "test.material")
    check_takes_sheets(method, "test.method")
    if not tests or any(name not in SHEET_TESTS for name in tests):
        wrong = next((name for name in tests if name not in SHEET_TESTS), "")
        raise InputError(f"no test {wrong!r} of sheets", "test.tests", f"Use some of: {', '.join(SHEET_TESTS)}")
    if frame_dt is not None and not 0.0 < frame_dt < math.inf:
        raise InputError(f"{frame_dt!r} s is no duration of a frame", "test.frame_dt", "Give one above 0")
    length = length_of(size)
    matching = matching if solver_class(method).shares_rest else None
    way = Method(method, settings or {}, matching, frame_dt, substeps, False, device)
    outcomes: dict[str, Outcome] = {}
    left = []
    for name in tests:
        if name == "bending" and method not in BENDS:
            left.append(f"bending is not tested under '{method}', where a swing takes too many steps")
            continue
        outcomes[name] = EXPERIMENTS[name](name, length, stuff, way)
    return gathered(stuff, method, "strip", outcomes, left)


test_sheet.__test__ = False  # type: ignore[attr-defined]


def _swing(
    test: str, specimen: Specimen, material: Material, method: Method, load: np.ndarray, size: float, frequency: float
) -> tuple[Outcome, np.ndarray]:
    """Switch an acceleration on (3,), and watch the end swing about `size` [m] with about a frequency [Hz]."""
    direction = load / np.linalg.norm(load)
    seen = watch(specimen, material, method, 1.0 / frequency, PERIODS, load)
    values = tip_displacement(specimen, seen.positions, direction)
    ringing = fit_ringing(seen.times, values, frequency)
    moved = seen.positions - specimen.mesh.vertices
    rest = np.array([[end_of(seen.times, moved[:, v, k], ringing) for k in range(3)] for v in range(moved.shape[1])])
    quantities = [
        Quantity(test, "displacement", "m", ringing.end, size, None),
        Quantity(test, "frequency", "Hz", ringing.frequency, frequency, None),
        Quantity(test, "damping", "s", ringing.damping_time, None, material.damping),
        Quantity(test, "recovery", "s", ringing.recovery(), None, recovery_of(material, frequency)),
    ]
    notes = list(seen.sim.notes)
    if math.pi * frequency * material.damping > OVERDAMPED:
        # nothing swings: there is no frequency to be read off
        quantities = quantities[:1]
        notes.append(f"{test}: the material's damping does not let it swing")
    curve = Curve(test, "displacement of the end [m]", seen.times, values, ringing)
    return Outcome(quantities, curve, seen.sim.substeps, notes), rest


def _pull(test: str, length: float, material: Material, method: Method) -> Outcome:
    """A strip hangs from its end, its length along the warp or along the weft."""
    across = test == "weft"
    specimen = dataclasses.replace(strip(length, length / SLENDER, CELLS), warp=(0, 0, 1) if across else (1, 0, 0))
    reference = PlaneReference(specimen, material)
    one = reference.field(np.array([1.0, 0.0, 0.0]))
    size = 0.5 * STRAIN * length
    load = np.array([size / float(one[specimen.tip, 0].mean()), 0.0, 0.0])
    field = load[0] * one
    outcome, rest = _swing(test, specimen, material, method, load, size, reference.frequency(field))
    young = lambda end: material.density * load[0] * length**2 / (2.0 * end)
    expected = reference.along
    end = float(rest[specimen.tip, 0].mean())
    outcome.quantities[:0] = [
        Quantity(test, "young", "Pa", young(end), young(size), expected),
        Quantity(test, "poisson", "", _ratio(specimen, rest), _ratio(specimen, field), reference.ratio),
    ]
    return outcome


def _ratio(specimen: Specimen, moved: np.ndarray) -> float:
    """Poisson's ratio of the middle of a strip from displacements (n, 3)."""
    x = specimen.mesh.vertices
    middle = np.abs(x[:, 0]) < 0.25 * specimen.length
    across, along = (np.polyfit(x[middle, k], moved[middle, k], 1)[0] for k in (2, 0))
    return float(-across / along)


def _shear(test: str, length: float, material: Material, method: Method) -> Outcome:
    """A strip is held at its long side, and its weight acts along that side."""
    short = length / SLENDER
    specimen = dataclasses.replace(strip(short, length, (4, 20)), warp=(1, 0, 0))
    reference = PlaneReference(specimen, material)
    one = reference.field(np.array([0.0, 0.0, 1.0]))
    size = STRAIN * short
    load = np.array([0.0, 0.0, size / float(one[specimen.tip, 2].mean())])
    outcome, _ = _swing(test, specimen, material, method, load, size, reference.frequency(load[2] * one))
    shear = lambda end: material.density * load[2] * short**2 / (2.0 * end)
    end = outcome.quantities[0].value
    outcome.quantities.insert(0, Quantity(test, "shear", "Pa", shear(end), shear(size), reference.shear))
    return outcome


def _bend(test: str, length: float, material: Material, method: Method) -> Outcome:
    """A strip sticks out and bends under its weight; beam theory: w = rho t g L^4 / 8 D.

    A fold between two triangles bends half a cell on either side of it: with two columns of vertices held, the strip is
    clamped half a cell before the second one.
    """
    short = 0.25 * length
    cell = short / BEND_CELLS[0]
    specimen = strip(short, short / SLENDER, BEND_CELLS)
    x = specimen.mesh.vertices[:, 0]
    specimen = dataclasses.replace(specimen, held=np.flatnonzero(x < x.min() + 1.01 * cell))
    free = short - 0.5 * cell
    weight, stiff = material.density * material.thickness, material.plate_rigidity
    size = SAG * short
    load = np.array([0.0, -8.0 * stiff * size / (weight * free**4), 0.0])
    # the first mode of a cantilever: (1.8751 / L)^2 sqrt(D / rho t)
    frequency = 1.8751**2 / free**2 * math.sqrt(stiff / weight) / (2.0 * math.pi)
    outcome, rest = _swing(test, specimen, material, method, load, size, frequency)
    end = -float(rest[specimen.tip, 1].mean())
    found = Quantity(test, "rigidity", "N m", -weight * load[1] * free**4 / (8.0 * end), None, stiff)
    # the theory is that of a strip without cells: there is no other answer of the same mesh
    theory = [dataclasses.replace(q, fem=None, expected=q.fem or q.expected) for q in outcome.quantities]
    return dataclasses.replace(outcome, quantities=[found, *theory])


EXPERIMENTS: dict[str, Callable[[str, float, Material, Method], Outcome]] = {
    "tension": _pull,
    "weft": _pull,
    "shear": _shear,
    "bending": _bend,
}
