"""Stiffness at rest of linear tets, of springs and of volumes, as matrices of 3 x 3 blocks."""

from __future__ import annotations

import numpy as np

from pliant.calibration.block_matrix import BlockMatrix
from pliant.model.springs import Springs
from pliant.model.tets import Tets


def shape_gradients(x: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of the shape functions of linear tets (m, 4, 3) [1/m], and their volumes (m,) [m^3]."""
    edges = x[corners[:, 1:]] - x[corners[:, :1]]
    volume = np.linalg.det(edges) / 6.0
    inner = np.linalg.inv(edges).transpose(0, 2, 1)
    return np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1), volume


def tet_stiffness(x: np.ndarray, corners: np.ndarray, young: float, poisson: float) -> BlockMatrix:
    """Linear finite elements: K_ab = V (lambda g_a g_b^T + mu g_b g_a^T + mu (g_a . g_b) I), [N/m].

    Bathe (1996), Finite Element Procedures, section 4.2, for tets of constant strain.
    """
    g, volume = shape_gradients(x, corners)
    lame = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    mu = young / (2.0 * (1.0 + poisson))
    outer = np.einsum("mai,mbj->mabij", g, g)
    dots = np.einsum("mai,mbi->mab", g, g)
    blocks = lame * outer + mu * outer.transpose(0, 1, 2, 4, 3) + mu * dots[..., None, None] * np.eye(3)
    return BlockMatrix.of_elements(corners, volume[:, None, None, None, None] * blocks, len(x))


def spring_stiffness(x: np.ndarray, springs: Springs) -> BlockMatrix:
    """Springs at their rest lengths: k n n^T, [N/m]."""
    along = x[springs.pairs[:, 1]] - x[springs.pairs[:, 0]]
    along = along / np.linalg.norm(along, axis=1, keepdims=True)
    one = springs.stiffness[:, None, None] * along[:, :, None] * along[:, None, :]
    signs = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return BlockMatrix.of_elements(springs.pairs, signs[None, :, :, None, None] * one[:, None, None], len(x))


def volume_stiffness(x: np.ndarray, tets: Tets, modulus: float) -> BlockMatrix:
    """The energy modulus / 2 (V - V0)^2 / V0 of every tet at rest, [N/m]."""
    g, volume = shape_gradients(x, tets.corners)
    blocks = modulus * volume[:, None, None, None, None] * np.einsum("mai,mbj->mabij", g, g)
    return BlockMatrix.of_elements(tets.corners, blocks, len(x))
