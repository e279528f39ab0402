"""Calibration of a body: found once for a mesh and a method, kept on disk, applied when a scene is built."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

from pliant.assembly import BodyEntry, ordered
from pliant.calibration.conjugate import block_inverse, solve
from pliant.calibration.element_stiffness import tet_stiffness
from pliant.calibration.families import matched_family, spring_family
from pliant.calibration.fit import Fit, Problem, fit
from pliant.calibration.loads import TESTS, test_loads, without_rigid
from pliant.files import write_json
from pliant.materials import Material
from pliant.mesh import cache
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.tets import TetMesh
from pliant.model.tets import Tets, signed_volumes
from pliant.solvers import solver_class
from pliant.solvers.protocol import BodySpec, Calibration
from pliant.solvers.shape_matching.settings import Matching

VERSION = 6
SUFFIX = ".json"
METHODS = ("mass_spring", "shape_matching")
"""Methods that have something to fit; the others have the stiffness of finite elements, or none to compare."""
MOST_VERTICES = 60_000
"""Larger bodies are not calibrated: it would take minutes."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of a calibration.

    Attributes:
        calibration: what a build takes.
        before, after: for each test of `TESTS`, how far the answer is off, as a share of the finite elements' answer.
        cached: whether it was taken from disk.
    """

    calibration: Calibration
    before: tuple[float, ...]
    after: tuple[float, ...]
    cached: bool

    @staticmethod
    def size(errors: tuple[float, ...]) -> float:
        """Root mean square of the errors."""
        return float(np.sqrt(np.mean(np.square(errors))))

    def note(self) -> str:
        """What the user is told."""
        return (
            f"calibrated against finite elements in {len(TESTS)} small tests: off by "
            f"{100.0 * self.size(self.after):.1f} %, uncalibrated by {100.0 * self.size(self.before):.1f} %"
        )


def why_not(method: str, mesh: Any, spec: BodySpec) -> str:
    """Why a body cannot be calibrated; nothing where it can."""
    if method not in METHODS:
        return f"the method '{method}' has nothing to calibrate"
    if not isinstance(mesh, (TetMesh, VoxelLattice)):
        return "only bodies of tets or voxels can be compared with finite elements"
    if spec.raw is not None:
        return "raw constants are taken as they are"
    if len(mesh.vertices) > MOST_VERTICES:
        return f"it has more than {MOST_VERTICES:,} vertices"
    matching: Matching = spec.matching
    if method == "shape_matching":
        if matching.alpha is not None or matching.frequency is not None:
            return "alpha or a frequency is given"
        if matching.sums_along_axes:
            return "lattice regions that are summed axis by axis are not fitted; set fast=False"
    return ""


def calibrate(method: str, mesh: Any, spec: BodySpec, *, only_cached: bool = False, use_cache: bool = True) -> Any:
    """The calibration of a body, from disk or made now; None if it is to be on disk and is not, or if it fails.

    Args:
        method: one of `METHODS`.
        mesh: the body's mesh before it is turned and moved.
        spec: the rest of what a scene says of it.
        only_cached: take it from disk or not at all.
        use_cache: look on disk, and keep it there.
    """
    key = _key(method, mesh, spec)
    if use_cache:
        found = _load(key)
        if found is not None or only_cached:
            return found
    made = _make(method, mesh, spec)
    if made is not None and use_cache:
        path = cache.path_for(key, SUFFIX)
        if path is not None:
            table = {"numbers": made.calibration.numbers, "rate": made.calibration.rate}
            write_json(path, {"version": VERSION, **table, "before": made.before, "after": made.after})
    return made


def _key(method: str, mesh: Any, spec: BodySpec) -> str:
    """Fingerprint of what a calibration depends on; neither size nor Young's modulus nor density do."""
    solid = mesh.tets("five") if isinstance(mesh, VoxelLattice) else mesh
    extent = float(np.ptp(solid.vertices, axis=0).max())
    shape = np.round((solid.vertices - solid.vertices.min(axis=0)) / extent, 9)
    own = [spec.material.poisson, spec.mass_distribution, spec.mass_shift, type(mesh).__name__]
    own += [None if spec.largest_inverse_mass is None else spec.largest_inverse_mass * spec.material.density]
    matching = dataclasses.asdict(spec.matching) if method == "shape_matching" else {}
    return cache.fingerprint("calibration", VERSION, method, shape, np.asarray(solid.tets), own, matching)


def _load(key: str) -> Result | None:
    path = cache.find(key, SUFFIX)
    if path is None:
        return None
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        first, second = map(float, table["numbers"])
        calibration = Calibration((first, second), float(table["rate"]))
        return Result(calibration, tuple(table["before"]), tuple(table["after"]), True)
    except (OSError, ValueError, KeyError, TypeError):
        cache.drop(path)
        return None


def _make(method: str, mesh: Any, spec: BodySpec) -> Result | None:
    """Solve the tests by finite elements, and fit the method to them."""
    # of the size and stuff of one: what a calibration says does not depend on them
    extent = float(np.ptp(mesh.vertices, axis=0).max())
    stuff = Material(density=1.0, young=1.0, poisson=spec.material.poisson)
    largest = spec.largest_inverse_mass
    scaled = mesh.translated(tuple(-mesh.vertices.mean(axis=0))).scaled(1.0 / extent)
    unit = dataclasses.replace(
        spec,
        mesh=ordered(scaled),
        material=stuff,
        largest_inverse_mass=None if largest is None else largest * spec.material.density * extent**3,
    )
    elements = solver_class(method).elements(unit)
    x, mass = unit.mesh.vertices, elements.mass
    tets: Tets = elements.tets
    matrix = tet_stiffness(x, tets.corners, stuff.young, stuff.poisson)
    loads, free = test_loads(x, mass)
    inverse = block_inverse(matrix.diagonal())
    clean = lambda found, held: np.where(held[:, None, None], found, without_rigid(found, x, mass))
    fields = solve(matrix.__matmul__, loads, inverse, free=free)
    if fields is None:
        return None
    work = (loads * fields).sum(axis=(1, 2))
    problem = Problem(loads, free, mass, fields, clean)
    problem.wanted = fields = clean(fields, problem.held)
    volume = float(signed_volumes(x, tets.corners).sum())
    found: Fit | None
    rate = 1.0
    if method == "mass_spring":
        found = fit(spring_family(x, elements, stuff), problem)
    else:
        if elements.clusters is None:
            return None
        body = matched_family(x, elements, stuff, unit.matching, volume)
        rate = body.damping_rate(fields, work) / body.squared
        found = fit(body.family, problem)
    if found is None:
        return None
    return Result(Calibration(found.numbers, rate), found.before, found.after, False)


def calibrated(entry: BodyEntry, how: str) -> BodyEntry:
    """A body of a scene with its calibration, and a note of it; as it was where there is none.

    Args:
        entry: the body.
        how: 'on' makes a calibration that is not on disk yet, 'auto' takes one that is, 'off' takes none.
    """
    if how == "off":
        return entry
    reason = why_not(entry.method, entry.source, entry.spec)
    if reason:
        return entry if how == "auto" else _noted(entry, f"not calibrated: {reason}")
    result = calibrate(entry.method, entry.source, entry.spec, only_cached=how == "auto")
    if result is None:
        return entry if how == "auto" else _noted(entry, "not calibrated: it falls apart under one of the test loads")
    spec = dataclasses.replace(entry.spec, calibration=result.calibration)
    if entry.method == "shape_matching":
        spec = dataclasses.replace(
            spec, matching=dataclasses.replace(spec.matching, beta=result.calibration.numbers[1])
        )
    return _noted(dataclasses.replace(entry, spec=spec), result.note())


def _noted(entry: BodyEntry, note: str) -> BodyEntry:
    return dataclasses.replace(entry, notes=[*entry.notes, note])
