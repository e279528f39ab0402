"""What an affine fit of clusters needs of their rest shape."""

from __future__ import annotations

import numpy as np

FLAT = 1e-3
"""Spread of a cluster across a direction, as a part of its largest, below which it has no extent there."""


def fit_tables(
    rest: np.ndarray, mass: np.ndarray, starts: np.ndarray, size: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What a fit needs of clusters at rest; members of no mass have no part in it.

    Args:
        rest: places of the members [m] (members, 3). mass: [kg] (members,).
        starts: where the members of each cluster start, and the total (c + 1,).
        size: length by which moments are made of order one [m].

    Returns:
        centres (c, 3) [m], factors of each member (members, 4): slope and share of mass, axes (c, 3, 3), ranks (c,).
    """
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    shares = mass / per_cluster(mass[:, None], starts)[owner, 0]
    centres = per_cluster(shares[:, None] * rest, starts)
    arms = rest - centres[owner]
    # Once more about the centre found, for bodies far from the origin.
    centres += per_cluster(shares[:, None] * arms, starts)
    arms = rest - centres[owner]
    pseudo_inverse, axes, ranks = _inverse_moments(arms / size, shares, starts)
    slopes = shares[:, None] * np.einsum("mij,mj->mi", pseudo_inverse[owner], arms / size) / size
    return centres, np.concatenate([slopes, shares[:, None]], axis=1), axes, ranks


def per_cluster(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums over each cluster's members: (members, ...) -> (c, ...)."""
    return np.add.reduceat(values, starts[:-1], axis=0)


def _inverse_moments(
    arms: np.ndarray, shares: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A_qq^-1 within the directions of extent (c, 3, 3), axes as rows, the longest first, and their number (c,)."""
    moments = per_cluster(shares[:, None, None] * arms[:, :, None] * arms[:, None, :], starts)
    values, vectors = np.linalg.eigh(moments)
    values, axes = values[:, ::-1], vectors[:, :, ::-1].transpose(0, 2, 1).copy()
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
    kept = values > np.maximum(FLAT**2 * values[:, :1], np.finfo(np.float64).tiny)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=kept)
    return np.einsum("ck,cki,ckj->cij", inverse, axes, axes), axes, kept.sum(axis=1).astype(np.int32)
