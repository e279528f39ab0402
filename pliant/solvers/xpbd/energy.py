"""Elastic energy of the constraints, in float64 on the host."""

from __future__ import annotations

import numpy as np

from pliant.solvers.xpbd.constraints import Constraints, Law, hinge_measures


def elastic_energy(constraints: Constraints, x: np.ndarray) -> float:
    """Energy of all constraints in positions x (n, 3) [J]: half of C^2 over the compliance."""
    c = constraints
    return _distances(c.distance, x) + _bends(c.bend, x) + _folds(c.fold, x) + _strains(c.triangle, x) + _tets(c.tet, x)


def _distances(law: Law, x: np.ndarray) -> float:
    length = np.linalg.norm(x[law.corners[:, 1]] - x[law.corners[:, 0]], axis=1)
    return 0.5 * float(np.sum((length - law.values[:, 0]) ** 2 / law.values[:, 1]))


def _bends(law: Law, x: np.ndarray) -> float:
    jump = (law.values[:, :4, None] * x[law.corners]).sum(axis=1)
    return 0.5 * float(np.sum((jump**2).sum(axis=1) / law.values[:, 4]))


def _folds(law: Law, x: np.ndarray) -> float:
    if not len(law.corners):
        return 0.0
    fold = np.nan_to_num(hinge_measures(x, law.corners)[3])
    turned = (fold - law.values[:, 0] + np.pi) % (2.0 * np.pi) - np.pi
    return 0.5 * float(np.sum(turned**2 / law.values[:, 1]))


def triangle_strains(law: Law, x: np.ndarray) -> np.ndarray:
    """Strains along warp and weft, and the sine of the angle of shear (m, 3)."""
    t = law.corners
    edges = np.stack([x[t[:, k]] - x[t[:, 0]] for k in (1, 2)], axis=2)
    f = edges @ law.values[:, :4].reshape(-1, 2, 2)
    length = np.linalg.norm(f, axis=1)
    sine = (f[:, :, 0] * f[:, :, 1]).sum(axis=1) / np.maximum(length.prod(axis=1), 1e-300)
    return np.column_stack([length - 1.0, sine])


def _strains(law: Law, x: np.ndarray) -> float:
    if not len(law.corners):
        return 0.0
    strain, q = triangle_strains(law, x), law.values[:, 4:8]
    det = q[:, 0] * q[:, 1] - q[:, 2] ** 2
    work = (
        q[:, 1] * strain[:, 0] ** 2 + q[:, 0] * strain[:, 1] ** 2 - 2.0 * q[:, 2] * strain[:, 0] * strain[:, 1]
    ) / det
    return 0.5 * float(np.sum(work + strain[:, 2] ** 2 / q[:, 3]))


def tet_stretches(law: Law, x: np.ndarray) -> np.ndarray:
    """The symmetric factor of each tet's deformation gradient, R a rotation (m, 3, 3)."""
    t = law.corners
    edges = np.stack([x[t[:, k]] - x[t[:, 0]] for k in (1, 2, 3)], axis=2)
    u, s, vt = np.linalg.svd(edges @ law.values[:, :9].reshape(-1, 3, 3))
    s[:, 2] *= np.sign(np.linalg.det(u @ vt))
    return np.swapaxes(vt, 1, 2) @ (s[:, :, None] * vt)


def _tets(law: Law, x: np.ndarray) -> float:
    if not len(law.corners):
        return 0.0
    strain = tet_stretches(law, x) - np.eye(3)
    work, nu = law.values[:, 9], law.values[:, 10]
    shear, across = 1.0 / (1.0 + nu), nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
    trace = np.trace(strain, axis1=1, axis2=2)
    return 0.5 * float(np.sum(work * (shear * (strain**2).sum(axis=(1, 2)) + across * trace**2)))
