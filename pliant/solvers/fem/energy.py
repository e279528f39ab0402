"""Energy, strain and stress of tets on the host, in float64."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError
from pliant.model.model import Model
from pliant.solvers.fem.tables import Tables, lame


@dataclasses.dataclass(frozen=True)
class TetFields:
    """What the tets of a body feel.

    Attributes:
        tets: corners by the vertex numbers of the body's mesh (m, 4).
        strain: S - I of the elastic deformation F = R S, in the axes of the rest shape (m, 3, 3).
        stress: Cauchy stress in the world [Pa] (m, 3, 3).
        von_mises: sqrt(3/2) times the size of the stress without its pressure [Pa] (m,).
        volume: over that at rest (m,).
    """

    tets: np.ndarray
    strain: np.ndarray
    stress: np.ndarray
    von_mises: np.ndarray
    volume: np.ndarray


def deformation(tables: Tables, rest_inv: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Deformation gradients (m, 3, 3) in positions x [m] (n, 3)."""
    corners = x[tables.corners]
    return np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2) @ rest_inv


def moduli(model: Model, tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """Lame's moduli of each tet [Pa] (m,)."""
    of_body = np.array([lame(body.material) for body in model.bodies])
    return of_body[tables.tet_body, 0], of_body[tables.tet_body, 1]


def polar(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rotation of largest tr(R^T F) (m, 3, 3), and the principal stretches (m, 3), the last of them negative where
    a tet is inside out."""
    u, s, vt = np.linalg.svd(f)
    flip = np.where(np.linalg.det(u @ vt) < 0.0, -1.0, 1.0)
    u, s = u.copy(), s.copy()
    u[:, :, 2] *= flip[:, None]
    s[:, 2] *= flip
    return u @ vt, s


def elastic_energy(model: Model, tables: Tables, rest_inv: np.ndarray, x: np.ndarray, energy: str) -> float:
    """Elastic energy of positions x [m] (n, 3) [J]."""
    f = deformation(tables, rest_inv, x)
    lam, mu = moduli(model, tables)
    if energy == "neo_hookean":
        m, k = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
        squares, rest = (f * f).sum(axis=(1, 2)), 0.75 * m / k
        volume = np.linalg.det(f) - 1.0 - rest
        density = 0.5 * m * (squares - 3.0 - np.log(0.25 * (squares + 1.0))) + 0.5 * k * (volume**2 - rest**2)
    else:
        _, s = polar(f)
        density = mu * ((s - 1.0) ** 2).sum(axis=1) + 0.5 * lam * (s.sum(axis=1) - 3.0) ** 2
    return float((tables.volume * density).sum())


def tet_fields(model: Model, tables: Tables, rest_inv: np.ndarray, x: np.ndarray, energy: str, body: str) -> TetFields:
    """Strain and stress of the tets of a body in positions x [m] (n, 3) of all particles."""
    number = next((k for k, b in enumerate(model.bodies) if b.name == body), None)
    if number is None:
        names = ", ".join(repr(b.name) for b in model.bodies)
        raise InputError(f"no finite-element body {body!r}", "tet_fields(body)", f"Use one of: {names}")
    own = tables.tet_body == number
    f = deformation(tables, rest_inv, x)[own]
    lam, mu = (each[own][:, None, None] for each in moduli(model, tables))
    turn, stretches = polar(f)
    one = np.eye(3)
    volume = np.linalg.det(f)
    strain = np.swapaxes(turn, 1, 2) @ f - one
    if energy == "neo_hookean":
        m, k = 4.0 / 3.0 * mu, lam + 5.0 / 6.0 * mu
        squares = (f * f).sum(axis=(1, 2))[:, None, None]
        a, b, c = f[:, :, 0], f[:, :, 1], f[:, :, 2]
        slope = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=2)
        first = m * squares / (squares + 1.0) * f + (k * (volume[:, None, None] - 1.0) - 0.75 * m) * slope
    else:
        first = 2.0 * mu * (f - turn) + lam * (stretches.sum(axis=1) - 3.0)[:, None, None] * turn
    small = np.where(np.abs(volume) > 1e-9, volume, 1e-9)
    stress = first @ np.swapaxes(f, 1, 2) / small[:, None, None]
    stress = 0.5 * (stress + np.swapaxes(stress, 1, 2))
    deviator = stress - np.trace(stress, axis1=1, axis2=2)[:, None, None] / 3.0 * one
    which = model.bodies[number]
    vertex_of = np.argsort(which.rank)
    corners = vertex_of[tables.corners[own] - which.particles[0]]
    return TetFields(corners, strain, stress, np.sqrt(1.5 * (deviator**2).sum(axis=(1, 2))), volume)
