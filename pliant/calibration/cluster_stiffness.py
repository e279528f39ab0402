"""Stiffness at rest of shape matching: the second derivative of its energy, over the square of the frequency."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.solvers.shape_matching.rest import RestClusters, functions


@dataclasses.dataclass(eq=False)
class ClusterStiffness:
    """The energy of `solvers/shape_matching/energy.py` in parts: K = w^2 (left + (1 - beta) strain + beta volume).

    Each is a quadratic form of the members' places less what the clusters' sums say: with q the moments of the
    displacements (c, 3, order) about the centre, `left` is sum w |u|^2 - q Inv q, `strain` and `volume` are forms of q
    alone.

    Attributes:
        rest: the clusters. basis: functions of the members, means left out (k, order).
        forms: left, strain and volume as forms of q (3, c, 3 order, 3 order).
        count: particles.
    """

    rest: RestClusters
    basis: np.ndarray
    forms: np.ndarray
    owner: np.ndarray
    count: int

    def __post_init__(self) -> None:
        self.by_particle = np.argsort(self.rest.member, kind="stable")
        self.particles, self.first = np.unique(self.rest.member[self.by_particle], return_index=True)

    @staticmethod
    def of(rest: RestClusters, count: int, keep_volume: bool) -> ClusterStiffness:
        order = rest.means.shape[1]
        owner = np.repeat(np.arange(rest.count), np.diff(rest.starts))
        basis = functions(rest.rest, order) - rest.means[owner]
        return ClusterStiffness(rest, basis, _forms(rest, basis, keep_volume), owner, count)

    def products(self, u: np.ndarray) -> np.ndarray:
        """The three parts times displacements (n, 3): (3, n, 3), or times several at once (n, 3, k)."""
        if u.ndim == 2:
            return self.products(u[..., None])[..., 0]
        rest, owner = self.rest, self.owner
        moved = u[rest.member]
        centre = np.add.reduceat(rest.weight[:, None, None] * moved, rest.starts[:-1])
        arm = moved - centre[owner]
        weighed = rest.weight[:, None] * self.basis
        moments = np.add.reduceat(arm[:, :, None, :] * weighed[:, None, :, None], rest.starts[:-1])
        flat = moments.reshape(rest.count, -1, u.shape[2])
        scale = (rest.weight * rest.mass[owner])[:, None, None]
        out = np.zeros((3, *u.shape))
        for part in range(3):
            answer = np.matmul(self.forms[part], flat).reshape(rest.count, 3, -1, u.shape[2])
            pull = np.einsum("kijl,kj->kil", answer[owner], self.basis)
            if part == 0:
                pull = arm + pull
            out[part, self.particles] = np.add.reduceat((scale * pull)[self.by_particle], self.first)
        return out


def _forms(rest: RestClusters, basis: np.ndarray, keep_volume: bool) -> np.ndarray:
    """Matrices that turn moments q of displacements into the derivatives of the three energies by q."""
    count, order = rest.count, rest.means.shape[1]
    moments = np.add.reduceat(rest.weight[:, None, None] * basis[:, :, None] * basis[:, None, :], rest.starts[:-1])
    # the places whose moments are taken are in metres, those of the rest shape over the radius: the radii cancel but
    # for the functions, which stay as they are
    unit = np.eye(3 * order).reshape(3 * order, 3, order)
    fit = np.einsum("bij,cjk->cbik", unit, rest.inverse)
    skew = unit[:, :, :3] - unit[:, :, :3].transpose(0, 2, 1)
    axial = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    spread = moments[:, :3, :3]
    stiff = np.trace(spread, axis1=1, axis2=2)[:, None, None] * np.eye(3) - spread
    turn = np.einsum("cij,bj->cbi", np.linalg.pinv(stiff, rcond=1e-9), axial)
    cross = np.zeros((count, 3 * order, 3, 3))
    for i, j, k, sign in ((2, 1, 0, 1), (1, 2, 0, -1), (0, 2, 1, 1), (2, 0, 1, -1), (1, 0, 2, 1), (0, 1, 2, -1)):
        cross[:, :, i, j] = sign * turn[:, :, k]
    whole = np.eye(3, order)[None] - rest.missing
    strain = fit - np.einsum("cbij,cjk->cbik", cross, whole)
    forms = np.zeros((3, count, 3 * order, 3 * order))
    forms[0] = -fit.reshape(count, 3 * order, -1).transpose(0, 2, 1)
    forms[1] = np.einsum("caik,ckl,cbil->cab", strain, moments, strain)
    if keep_volume:
        grow = np.trace(fit[:, :, :, :3], axis1=2, axis2=3)
        trace = np.trace(rest.inverse[:, :3, :3], axis1=1, axis2=2)
        solid = np.where(rest.lacks == 0, 1.0 / np.maximum(trace, 1e-30), 0.0)
        forms[2] = solid[:, None, None] * grow[:, :, None] * grow[:, None, :]
    return forms
