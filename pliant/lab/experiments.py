"""The tests: tension, compression, cantilever, torsion and drop; each gives a few measured quantities."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from pliant.lab.reference import Reference
from pliant.lab.ringing import Ringing, end_of, fit_ringing
from pliant.lab.specimen import Specimen
from pliant.lab.twin import Method, Watched, watch
from pliant.materials import Material

STRAIN = 0.01
"""Largest strain of tension and compression."""
SAG = 0.02
"""Deflection of the cantilever over its length."""
TWIST = 0.05
"""Largest angle of torsion [rad]."""
PERIODS = 6.0
TORSION_OF_SQUARE = 0.8436
"""Torsional rigidity of a square section over its polar moment of area (Timoshenko and Goodier, section 109)."""


@dataclasses.dataclass(frozen=True)
class Quantity:
    """One measured quantity.

    Attributes:
        test, name, unit: what it is.
        value: as measured.
        fem: by linear finite elements of the same mesh, read off in the same way.
        expected: by the material, or by a formula of it; None where there is none.
    """

    test: str
    name: str
    unit: str
    value: float
    fem: float | None
    expected: float | None

    @property
    def error(self) -> float | None:
        """Relative difference from finite elements, or from what is expected where there are none."""
        base = self.fem if self.fem is not None else self.expected
        return None if not base else self.value / base - 1.0


@dataclasses.dataclass(eq=False)
class Curve:
    """What was watched: values over time, and the ringing that was fitted to them."""

    test: str
    label: str
    times: np.ndarray
    values: np.ndarray
    ringing: Ringing | None


@dataclasses.dataclass(eq=False)
class Outcome:
    quantities: list[Quantity]
    curve: Curve
    substeps: int
    notes: list[str]


def tip_displacement(specimen: Specimen, positions: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Mean displacement of the far end along a direction (k,) [m]."""
    return (positions[:, specimen.tip] - specimen.mesh.vertices[specimen.tip]).mean(axis=1) @ direction


def _ring(
    test: str, specimen: Specimen, material: Material, method: Method, direction: np.ndarray, size: float
) -> tuple[Outcome, Reference, np.ndarray, np.ndarray, Watched, Ringing]:
    """Switch an acceleration on, of such a size that finite elements give in by `size` [m], and watch the tip."""
    reference = Reference(specimen, material)
    one = reference.field(direction)
    strength = size / float(tip_displacement(specimen, (specimen.mesh.vertices + one)[None], direction)[0])
    field = strength * one
    frequency = reference.frequency(field)
    seen = watch(specimen, material, method, 1.0 / frequency, PERIODS, strength * direction)
    values = tip_displacement(specimen, seen.positions, direction)
    ringing = fit_ringing(seen.times, values, frequency)
    damping = Quantity(test, "damping", "s", ringing.damping_time, None, material.damping)
    quantities = [
        Quantity(test, "displacement", "m", ringing.end, size, None),
        Quantity(test, "frequency", "Hz", ringing.frequency, frequency, None),
        damping,
        Quantity(test, "recovery", "s", ringing.recovery(), None, recovery_of(material, frequency)),
    ]
    curve = Curve(test, "displacement of the end [m]", seen.times, values, ringing)
    outcome = Outcome(quantities, curve, seen.sim.substeps, list(seen.sim.notes))
    return outcome, reference, field, strength * direction, seen, ringing


def recovery_of(material: Material, frequency: float) -> float:
    """Time until a swing has fallen to a twentieth, with the damping of the material alone [s]."""
    decay = 0.5 * material.damping * (2.0 * math.pi * frequency) ** 2
    return math.inf if decay == 0.0 else -math.log(0.05) / decay


def axial(test: str, specimen: Specimen, material: Material, method: Method) -> Outcome:
    """Tension or compression: the bar hangs from, or stands on, its held end."""
    sign = 1.0 if test == "tension" else -1.0
    direction = np.array([sign, 0.0, 0.0])
    size = 0.5 * STRAIN * specimen.length
    outcome, _, field, load, seen, ringing = _ring(test, specimen, material, method, direction, size)
    end = ringing.end
    young = lambda displacement: material.density * float(load @ direction) * specimen.length**2 / (2.0 * displacement)
    if specimen.is_bar:
        measured = Quantity(test, "young", "Pa", young(end), young(size), material.young)
        lateral, along = _strains(specimen, seen.positions - specimen.mesh.vertices)
        ratio = -end_of(seen.times, lateral, ringing) / end_of(seen.times, along, ringing)
        lateral_fem, along_fem = _strains(specimen, field[None])
        poisson = Quantity(
            test, "poisson", "", ratio, float(-lateral_fem[0] / along_fem[0]), material.poisson
        )  # fmt: skip
        outcome.quantities[:0] = [measured, poisson]
    else:
        outcome.quantities.insert(
            0, Quantity(test, "young", "Pa", material.young * size / end, material.young, material.young)
        )
    return outcome


def _strains(specimen: Specimen, moved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean lateral and axial strain of the middle of a bar, away from its ends (k,)."""
    x = specimen.mesh.vertices
    middle = np.abs(x[:, 0]) < 0.25 * specimen.length
    along = np.polyfit(x[middle, 0], moved[:, middle, 0].T, 1)[0]
    across = [np.polyfit(x[middle, k], moved[:, middle, k].T, 1)[0] for k in (1, 2)]
    return 0.5 * (across[0] + across[1]), along


def cantilever(test: str, specimen: Specimen, material: Material, method: Method) -> Outcome:
    """The bar sticks out sideways and bends under its weight."""
    direction = np.array([0.0, -1.0, 0.0])
    size = SAG * specimen.length
    outcome, _, _, load, _, ringing = _ring(test, specimen, material, method, direction, size)
    if specimen.is_bar:
        # Timoshenko's beam: bending and shear, with a shear coefficient of 5/6
        slender = 1.5 * (specimen.length / specimen.width) ** 2 + 1.2 * (1.0 + material.poisson)
        weight = material.density * float(load @ direction) * specimen.length**2 * slender
        young = lambda displacement: weight / displacement
        found = Quantity(test, "young", "Pa", young(ringing.end), young(size), material.young)
    else:
        found = Quantity(
            test, "young", "Pa", material.young * size / ringing.end, material.young, material.young
        )  # fmt: skip
    outcome.quantities.insert(0, found)
    return outcome


def torsion(test: str, specimen: Specimen, material: Material, method: Method) -> Outcome:
    """The bar is spun about its axis, and its held end stops it: it twists to and fro."""
    reference = Reference(specimen, material)
    arm = specimen.mesh.vertices * np.array([0.0, 1.0, 1.0])
    arm[:, 1:] -= arm[specimen.tip, 1:].mean(axis=0)
    turn = np.cross(np.array([1.0, 0.0, 0.0]), arm)
    frequency = reference.frequency(reference.field(turn))
    spin = np.array([TWIST * 2.0 * math.pi * frequency, 0.0, 0.0])
    seen = watch(specimen, material, method, 1.0 / frequency, PERIODS, np.zeros(3), spin)
    at = specimen.tip
    moved = seen.positions[:, at] - specimen.mesh.vertices[at]
    angle = np.einsum("kni,ni->k", moved, turn[at]) / (turn[at] ** 2).sum()
    ringing = fit_ringing(seen.times, angle, frequency)
    quantities = [Quantity(test, "frequency", "Hz", ringing.frequency, frequency, None)]
    if specimen.is_bar:
        shear = lambda f: material.density * (4.0 * specimen.length * f) ** 2 / TORSION_OF_SQUARE
        quantities.insert(
            0, Quantity(test, "shear", "Pa", shear(ringing.frequency), shear(frequency), material.shear_modulus)
        )
    else:
        scale = (ringing.frequency / frequency) ** 2
        mu = material.shear_modulus
        quantities.insert(0, Quantity(test, "shear", "Pa", mu * scale, mu, mu))
    quantities += [
        Quantity(test, "damping", "s", ringing.damping_time, None, material.damping),
        Quantity(test, "recovery", "s", ringing.recovery(), None, recovery_of(material, frequency)),
    ]
    curve = Curve(test, "angle of the end [rad]", seen.times, angle, ringing)
    return Outcome(quantities, curve, seen.sim.substeps, list(seen.sim.notes))


Experiment = Callable[[str, Specimen, Material, Method], Outcome]
EXPERIMENTS: dict[str, Experiment] = {
    "tension": axial,
    "compression": axial,
    "cantilever": cantilever,
    "torsion": torsion,
}
