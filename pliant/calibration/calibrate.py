"""Calibration of a body: found once for a mesh and a method, and kept on disk."""

from __future__ import annotations

import dataclasses
import json
import threading
from typing import Any

import numpy as np

from pliant.assembly import ordered
from pliant.calibration.element_stiffness import tet_stiffness
from pliant.calibration.families import MatchedFamily, SpringFamily, solved
from pliant.calibration.fit import Fit, fit
from pliant.calibration.loads import Trial, trials
from pliant.calibration.one_core import one_core
from pliant.calibration.slabs import Slabs, thinnest_levels
from pliant.files import write_json
from pliant.materials import Material
from pliant.mesh import cache
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.tets import TetMesh
from pliant.model.tets import signed_volumes
from pliant.solvers import solver_class
from pliant.solvers.protocol import BodySpec, Calibration
from pliant.solvers.shape_matching.settings import Matching

VERSION = 13
SUFFIX = ".json"
METHODS = ("mass_spring", "shape_matching")
"""Methods that have something to fit; the others have the stiffness of finite elements, or none to compare."""
MOST_VERTICES = 60_000
"""Larger bodies are never calibrated."""
MOST_VERTICES_UNASKED = 8_000
MOST_WORK = 3e10
"""Operations of a calibration that is not asked for: one to two seconds of one core."""
ROUNDS = {"mass_spring": 3.0, "shape_matching": 8.0}
"""About how often a fit solves all tests."""
SIDES = {"mass_spring": ("ends",), "shape_matching": ("all", "thin", "ends")}
"""Where a body is held, from most tests to fewest; two numbers need few."""
BETTER = 0.97
"""A fit is taken if what it leaves of the error is at most this part of it."""
REMEMBERED = 256
"""Calibrations that are kept in memory."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of a calibration.

    Attributes:
        calibration: what a build takes; None where the method's own formulas are as near.
        reason: why there is none.
        tests: names of the tests. weight: what each counts for the user; 0 for those of a free body.
        before, after: for each test how far the body gives in, over the finite elements' answer, as a logarithm.
        cached: whether it was known already.
    """

    calibration: Calibration | None
    reason: str = ""
    tests: tuple[str, ...] = ()
    weight: tuple[float, ...] = ()
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    cached: bool = False

    def size(self, errors: tuple[float, ...]) -> float:
        """By which share held bodies give in too much or too little, as a weighted root mean square."""
        squared = np.square(self.weight)
        return float(np.expm1(np.sqrt((squared * np.square(errors)).sum() / squared.sum()))) if errors else 0.0

    def note(self) -> str:
        """What the user is told."""
        if self.calibration is None:
            return f"not calibrated: {self.reason}"
        return (
            f"calibrated against finite elements: where it is held it gives in to its weight within "
            f"{100.0 * self.size(self.after):.2g} %, uncalibrated within {100.0 * self.size(self.before):.2g} % (root "
            f"mean square of {sum(weight > 0.0 for weight in self.weight)} small tests)"
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
        if matching.beta is not None:
            return "beta is given"
        if matching.sums_along_axes:
            return "lattice regions that are summed axis by axis are not fitted; set fast=False"
    return ""


_known: dict[str, Result] = {}
_locks: dict[str, threading.Lock] = {}
_guard = threading.Lock()


def calibrate(method: str, mesh: Any, spec: BodySpec, *, asked: bool = True, use_cache: bool = True) -> Result:
    """The calibration of a body, known already or made now: which of both changes nothing of it.

    Args:
        method: one of `METHODS`.
        mesh: the body's mesh before it is turned and moved.
        spec: the rest of what a scene says of it.
        asked: make it however long it takes; otherwise large bodies are left as they are.
        use_cache: look in memory and on disk, and keep it there.
    """
    if not asked and len(mesh.vertices) > MOST_VERTICES_UNASKED:
        return Result(None, f"it has more than {MOST_VERTICES_UNASKED:,} vertices; calibrate='on' does it all the same")
    key = _key(method, mesh, spec, asked)
    if not use_cache:
        with one_core():
            return _make(method, mesh, spec, asked)
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    # bodies that are alike are calibrated once, whichever comes first
    with lock:
        found = _known.get(key) or _load(key)
        if found is not None:
            return dataclasses.replace(_remember(key, found), cached=True)
        with one_core():
            made = _make(method, mesh, spec, asked)
        path = cache.path_for(key, SUFFIX)
        if path is not None:
            write_json(path, {"version": VERSION, **dataclasses.asdict(made)})
        return _remember(key, made)


def _remember(key: str, result: Result) -> Result:
    with _guard:
        _known[key] = result
        while len(_known) > REMEMBERED:
            oldest = next(iter(_known))
            _known.pop(oldest)
            _locks.pop(oldest, None)
    return result


def forget() -> None:
    """Forget what is kept in memory."""
    with _guard:
        _known.clear()
        _locks.clear()


def _key(method: str, mesh: Any, spec: BodySpec, asked: bool) -> str:
    """Fingerprint of what a calibration depends on; neither size nor Young's modulus nor density do."""
    solid = mesh.tets("five") if isinstance(mesh, VoxelLattice) else mesh
    extent = float(np.ptp(solid.vertices, axis=0).max())
    shape = np.round((solid.vertices - solid.vertices.min(axis=0)) / extent, 9)
    own = [spec.material.poisson, spec.mass_distribution, spec.mass_shift, type(mesh).__name__, asked]
    largest = spec.largest_inverse_mass
    own += [None if largest is None else largest * spec.material.density * extent**3]
    matching = dataclasses.asdict(spec.matching) if method == "shape_matching" else {}
    yields = spec.material.yields_at is not None
    return cache.fingerprint("calibration", VERSION, method, shape, np.asarray(solid.tets), own, matching, yields)


def _load(key: str) -> Result | None:
    path = cache.find(key, SUFFIX)
    if path is None:
        return None
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        given = table["calibration"]
        numbers = lambda values: tuple(float(value) for value in values)
        calibration = given and Calibration(
            numbers(given["numbers"]), float(given["rate"]), tuple(map(numbers, given["clusters"]))
        )
        tests = tuple(map(str, table["tests"]))
        weight, before, after = (numbers(table[key]) for key in ("weight", "before", "after"))
        return Result(calibration, str(table["reason"]), tests, weight, before, after, True)
    except (OSError, ValueError, KeyError, TypeError):
        cache.drop(path)
        return None


def _make(method: str, mesh: Any, spec: BodySpec, asked: bool) -> Result:
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
    corners = elements.tets.corners
    volume = float(signed_volumes(x, corners).sum())
    matrix = tet_stiffness(x, corners, stuff.young, stuff.poisson)
    level, parts = thinnest_levels(matrix, x)
    if parts > 1 or not volume > 0.0:
        return Result(None, "its parts do not hang together")
    family: SpringFamily | MatchedFamily
    if method == "mass_spring":
        family = SpringFamily.of(x, elements, stuff)
    else:
        if elements.clusters is None:
            return Result(None, "it has no clusters")
        yields = spec.material.yields_at is not None
        family = MatchedFamily.of(x, elements, stuff, unit.matching, volume, yields)
    each = Slabs.work(level) + ROUNDS[method] * family.work
    for sides in SIDES[method]:
        tests = trials(x, mass, sides, swings=method != "mass_spring")
        if asked or each * len(tests) <= MOST_WORK:
            break
    else:
        return Result(None, f"of {len(x):,} vertices it would take long; calibrate='on' does it all the same")
    if all(trial.free for trial in tests):
        return Result(None, "it has no side by which it can be held")
    slabs = Slabs.of(matrix, level)
    stiffest = float(np.trace(matrix.diagonal(), axis1=1, axis2=2).max())
    work = [trial.values(solved(slabs, stiffest, mass, trial)) for trial in tests]
    found = fit(family, tests, np.concatenate(work))
    if found is None:
        return Result(None, "it falls apart under one of the test loads")
    return _judged(family, found, tests)


def _judged(family: SpringFamily | MatchedFamily, found: Fit, tests: list[Trial]) -> Result:
    """The result of a fit: it is taken if held bodies give in more as they should."""
    names = tuple(name for trial in tests for name in trial.names)
    after = tuple(round(float(value), 6) for value in found.after)
    before = tuple(round(float(value), 6) for value in found.before)
    weight = tuple(round(float(value), 6) for value in found.weight)
    made = Result(None, "", names, weight, before, after)
    if made.size(after) > BETTER * made.size(before):
        left = f"{100.0 * made.size(before):.2g} %"
        return dataclasses.replace(made, reason=f"no fit is nearer than its formulas, which are within {left}")
    return dataclasses.replace(made, calibration=family.calibration(found.logs, tests))
