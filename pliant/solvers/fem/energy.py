"""Energy, strain and stress of tets on the host, in float64."""

from __future__ import annotations

import numpy as np

from pliant.model.model import Model
from pliant.solvers.fem.tables import Tables, lame


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
    l, mu = moduli(model, tables)
    if energy == "neo_hookean":
        m, k = 4.0 / 3.0 * mu, l + 5.0 / 6.0 * mu
        squares, rest = (f * f).sum(axis=(1, 2)), 0.75 * m / k
        volume = np.linalg.det(f) - 1.0 - rest
        density = 0.5 * m * (squares - 3.0 - np.log(0.25 * (squares + 1.0))) + 0.5 * k * (volume**2 - rest**2)
    else:
        _, s = polar(f)
        density = mu * ((s - 1.0) ** 2).sum(axis=1) + 0.5 * l * (s.sum(axis=1) - 3.0) ** 2
    return float((tables.volume * density).sum())
