"""What a body is like to look at: how far it sags, how fast it swings, how soon it is still."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from pliant.lab.experiments import tip_displacement
from pliant.lab.reference import Reference
from pliant.lab.ringing import fit_ringing
from pliant.lab.specimen import Specimen
from pliant.lab.twin import Method, watch
from pliant.materials import Material

GRAVITY = 9.81
DIRECTIONS = {"lean": (0.0, -1.0, 0.0), "lean sideways": (0.0, 0.0, 1.0), "stretch": (1.0, 0.0, 0.0)}
PERIODS = 4.0


@dataclasses.dataclass(frozen=True)
class Signature:
    """A body that is held at one end.

    Attributes:
        sag: how far the other end sinks under the body's weight across its axis [m].
        frequencies: of the motions in `DIRECTIONS` [Hz].
        recovery: time until a swing of the first has fallen to a twentieth [s].
        substeps: steps per frame; 0 for a formula.
    """

    sag: float
    frequencies: tuple[float, ...]
    recovery: float
    substeps: int


def expected(specimen: Specimen, material: Material) -> Signature:
    """By linear finite elements of the same mesh, undamped but for the recovery."""
    reference = Reference(specimen, material)
    fields = [reference.field(GRAVITY * np.array(direction)) for direction in DIRECTIONS.values()]
    first = np.array(DIRECTIONS["lean"])
    sag = float(tip_displacement(specimen, (specimen.mesh.vertices + fields[0])[None], first)[0])
    frequencies = tuple(reference.frequency(field) for field in fields)
    decay = 0.5 * material.damping * (2.0 * math.pi * frequencies[0]) ** 2
    return Signature(sag, frequencies, -math.log(0.05) / max(decay, 1e-30), 0)


def measured(specimen: Specimen, material: Material, method: Method, by: Signature) -> Signature:
    """By simulation at the frames of the method, watched for a few of the periods that are expected."""
    sag, recovery, found, substeps = 0.0, 0.0, [], 0
    for k, (name, direction) in enumerate(DIRECTIONS.items()):
        along = np.array(direction)
        seen = watch(specimen, material, method, 1.0 / by.frequencies[k], PERIODS, GRAVITY * along)
        moved = tip_displacement(specimen, seen.positions, along)
        ringing = fit_ringing(seen.times, moved, by.frequencies[k])
        found.append(ringing.frequency)
        if name == "lean":
            sag, recovery, substeps = ringing.end, ringing.recovery(), seen.sim.substeps
    return Signature(sag, tuple(found), recovery, substeps)
