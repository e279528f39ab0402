"""`test_material`: a virtual laboratory for any material or body under any method."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pliant.errors import InputError
from pliant.lab.drop import drop
from pliant.lab.experiments import EXPERIMENTS, Curve, Outcome, Quantity
from pliant.lab.specimen import Specimen, bar, of_body
from pliant.lab.twin import Method
from pliant.materials import Material, as_material
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.solvers import solver_class, solver_classes
from pliant.units import read_quantity

TESTS = (*EXPERIMENTS, "drop")


@dataclasses.dataclass(eq=False)
class MaterialTest:
    """What a laboratory found.

    Attributes:
        material: what was given. method: how it was simulated. body: its name.
        quantities: all that was measured. curves: what was watched, one for each test.
        substeps: steps per frame in each test. notes: what the methods said of it.
    """

    material: Material
    method: str
    body: str
    quantities: list[Quantity]
    curves: list[Curve]
    substeps: dict[str, int]
    notes: list[str]

    def __getitem__(self, name: str) -> Quantity:
        """A quantity by ``test.name``, such as ``tension.young``."""
        for quantity in self.quantities:
            if f"{quantity.test}.{quantity.name}" == name:
                return quantity
        raise KeyError(name)

    def table(self) -> str:
        """The quantities as lines of text."""
        lines = [f"{'test':<12}{'quantity':<14}{'measured':>13}{'fem, same mesh':>16}{'expected':>13}  {'off':>8}"]
        for q in self.quantities:
            shown = [f"{v:.4g} {q.unit}".strip() if v is not None else "" for v in (q.value, q.fem, q.expected)]
            off = "" if q.error is None else f"{100.0 * q.error:+.1f} %"
            lines.append(f"{q.test:<12}{q.name:<14}{shown[0]:>13}{shown[1]:>16}{shown[2]:>13}  {off:>8}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The whole as plain data."""
        return {
            "material": dataclasses.asdict(self.material),
            "method": self.method,
            "body": self.body,
            "substeps": self.substeps,
            "notes": self.notes,
            "quantities": [{**dataclasses.asdict(q), "error": q.error} for q in self.quantities],
            "curves": [{"test": c.test, "label": c.label, "times": c.times, "values": c.values} for c in self.curves],
        }


def testable_methods() -> list[str]:
    """Methods that take a body of tets: the others have no laboratory here."""
    return [name for name, cls in solver_classes().items() if TetMesh in cls.takes]


def length_of(size: float | str) -> float:
    """A length [m] that was given as a number, or as a text with a unit."""
    length = read_quantity(size, "m", "test.size", plain=True) if isinstance(size, str) else float(size)
    if not 0.0 < length < 1e6:
        raise InputError(f"{length!r} is no length", "test.size", "Give one above 0, in m")
    return length


def gathered(
    material: Material, method: str, body: str, outcomes: Mapping[str, Outcome], more: Sequence[str] = ()
) -> MaterialTest:
    """What several tests found, as one, with further notes."""
    notes = dict.fromkeys([*more, *(note for outcome in outcomes.values() for note in outcome.notes)])
    return MaterialTest(
        material,
        method,
        body,
        [quantity for outcome in outcomes.values() for quantity in outcome.quantities],
        [outcome.curve for outcome in outcomes.values()],
        {name: outcome.substeps for name, outcome in outcomes.items()},
        list(notes),
    )


def check_testable(method: str, where: str) -> None:
    """An `InputError` for a method that is none, or that takes no tets."""
    if TetMesh not in solver_class(method, where).takes:
        raise InputError(f"the method '{method}' takes no tets", where, f"Use one of: {', '.join(testable_methods())}")


def test_material(
    material: Material | str = "soft_rubber",
    method: str = "mass_spring",
    *,
    body: Any = None,
    tests: Sequence[str] = TESTS,
    size: float | str = 0.2,
    matching: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    frame_dt: float | None = None,
    substeps: int | None = None,
    calibrate: bool | str = "auto",
    device: str = "cpu",
) -> MaterialTest:
    """Test a material under a method, on a bar and a ball, or on a body of your own.

    Args:
        material: a `Material` or the name of a preset.
        method: how it is simulated.
        body: a `TetMesh`, a `VoxelLattice` or a `PreparedBody`; a bar and a ball if not given.
        tests: some of 'tension', 'compression', 'cantilever', 'torsion' and 'drop' (of the ball, or of the body with
            its longest axis level).
        size: length of the bar, and five times the radius of the ball [m].
        matching: settings of a shape-matched body. settings: of the method.
        frame_dt: duration of a frame [s]; a 24th of the period if not given.
        substeps: steps per frame; chosen if not given.
        calibrate: whether the method is fitted to finite elements first, as for a body of a scene.
        device: where it runs.
    """
    stuff = as_material(material, "test.material")
    check_testable(method, "test.method")
    if not tests:
        raise InputError("no test is given", "test.tests", f"Use some of: {', '.join(TESTS)}")
    for name in tests:
        if name not in TESTS:
            raise InputError(f"no test {name!r}", "test.tests", f"Use some of: {', '.join(TESTS)}")
    if frame_dt is not None and not 0.0 < frame_dt < math.inf:
        raise InputError(f"{frame_dt!r} s is no duration of a frame", "test.frame_dt", "Give one above 0")
    length = length_of(size)
    specimen: Specimen = bar(length) if body is None else of_body(getattr(body, "solid", body))
    if not solver_class(method).shares_rest:
        matching = None
    way = Method(method, settings or {}, matching, frame_dt, substeps, calibrate, device)
    outcomes: dict[str, Outcome] = {}
    for name in tests:
        if name == "drop":
            assert not isinstance(specimen.mesh, SurfaceMesh)
            outcomes[name] = drop(name, 0.2 * length if body is None else specimen.mesh, stuff, way)
        else:
            outcomes[name] = EXPERIMENTS[name](name, specimen, stuff, way)
    return gathered(stuff, method, "bar" if body is None else (specimen.mesh.name or "body"), outcomes)


test_material.__test__ = False  # type: ignore[attr-defined]
