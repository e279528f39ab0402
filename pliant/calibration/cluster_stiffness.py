"""Stiffness at rest of shape matching, in parts, and a direct solver for it."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.solvers.shape_matching.rest import RestClusters, functions

PARTS = ("left", "strain", "volume", "bend")
FAINT = 1e-7
"""Part of the mass that is added to the stiffness of a free body, so that it stays where it is."""


@dataclasses.dataclass(eq=False)
class ClusterStiffness:
    """The second derivative of the energy of `solvers/shape_matching/energy.py` over the squared frequency, at rest.

    With Q the means of the displacements over a cluster and their moments with its functions (3, 1 + order), what a
    cluster takes is sum m |u|^2 + Q left Q for what a fit leaves, and Q form Q for stretch and shear, for volume, and
    for bend and twist. So the whole is a diagonal and a matrix of low rank, which is solved with exactly by the
    formula of Woodbury: the unknowns are the Q of all clusters.

    Attributes:
        rest: the clusters.
        share: what each cluster has of each particle's mass (c, n) [kg].
        gather: turns displacements into Q, coordinate by coordinate (n, c (1 + order)).
        forms: see `PARTS` (4, c, 3, 1 + order, 3, 1 + order).
        metric: second moments of the functions of each cluster (c, order, order).
    """

    rest: RestClusters
    share: np.ndarray
    gather: np.ndarray
    forms: np.ndarray
    metric: np.ndarray

    @staticmethod
    def of(rest: RestClusters, count: int) -> ClusterStiffness:
        order = rest.means.shape[1]
        owner = np.repeat(np.arange(rest.count), np.diff(rest.starts))
        basis = functions(rest.rest, order) - rest.means[owner]
        gather = np.zeros((count, rest.count, 1 + order))
        gather[rest.member, owner, 0] = rest.weight
        gather[rest.member, owner, 1:] = rest.weight[:, None] * basis
        share = np.zeros((rest.count, count))
        share[owner, rest.member] = rest.weight * rest.mass[owner]
        moments = np.add.reduceat(rest.weight[:, None, None] * basis[:, :, None] * basis[:, None, :], rest.starts[:-1])
        forms = np.zeros((len(PARTS), rest.count, 3, 1 + order, 3, 1 + order))
        forms[:, :, :, 1:, :, 1:] = _forms(rest, moments).reshape(len(PARTS), rest.count, 3, order, 3, order)
        for i in range(3):
            forms[0, :, i, 0, i, 0] = -1.0
        forms *= rest.mass[:, None, None, None, None]
        return ClusterStiffness(rest, share, gather.reshape(count, -1), forms, moments)

    def products(self, u: np.ndarray) -> np.ndarray:
        """Each of the parts times displacements (n, 3): (4, n, 3)."""
        q = (self.gather.T @ u).reshape(self.rest.count, -1, 3)
        pulls = np.einsum("pciajb,cbj->pcai", self.forms, q).reshape(len(self.forms), -1, 3)
        out = np.matmul(self.gather, pulls)
        out[0] += self.share.sum(axis=0)[:, None] * u
        return out

    def energies(self, fields: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Work of fields (t, n, 3) against the forces of others, of each part of each cluster: (4, c, t)."""
        one, other = self._moments(fields), self._moments(others)
        size = one.shape[1]
        out = np.stack([(other * np.matmul(form.reshape(-1, size, size), one)).sum(axis=1) for form in self.forms])
        out[0] += self.share @ (fields * others).sum(axis=2).T
        return out

    def _moments(self, fields: np.ndarray) -> np.ndarray:
        """Q of fields (t, n, 3), for each cluster as a vector (c, 3 (1 + order), t)."""
        q = np.einsum("nf,tni->fit", self.gather, fields, optimize=True)
        q = q.reshape(self.rest.count, -1, 3, len(fields)).transpose(0, 2, 1, 3)
        return q.reshape(self.rest.count, -1, len(fields))

    def solve(self, weights: np.ndarray, loads: np.ndarray, loose: np.ndarray) -> np.ndarray:
        """Displacements (t, n, 3) under loads (t, n, 3).

        Args:
            weights: of each part of each cluster (4, c). loose: which particles may move (n,), 1 or 0.
        """
        clusters, rows = self.rest.count, self.gather.shape[1]
        inverse = loose / ((weights[0] + FAINT * weights.max(axis=0)) @ self.share)
        meet = (self.gather.T @ (inverse[:, None] * self.gather)).reshape(rows, clusters, -1)
        form = np.einsum("pc,pciajb->ciajb", weights, self.forms)
        wide = rows // clusters
        flat = form.transpose(0, 2, 1, 3, 4).reshape(clusters, wide, -1)
        coupled = np.matmul(meet.transpose(1, 0, 2), flat).reshape(clusters, rows, 3, 3, wide)
        matrix = coupled.transpose(2, 1, 3, 0, 4).reshape(3 * rows, 3 * rows)
        matrix[np.diag_indices(len(matrix))] += 1.0
        right = np.einsum("nf,tni->ift", self.gather * inverse[:, None], loads, optimize=True)
        q = np.linalg.solve(matrix, right.reshape(3 * rows, -1)).reshape(3, clusters, wide, -1)
        pulls = np.einsum("ciajb,jcbt->icat", form, q, optimize=True).reshape(3, rows, -1)
        return inverse[None, :, None] * (loads - np.einsum("nf,ift->tni", self.gather, pulls, optimize=True))

    def reach(self, weights: np.ndarray) -> np.ndarray:
        """The largest eigenvalue of each cluster (c,), over the mass: of the first part alone it is its weight."""
        values, vectors = np.linalg.eigh(self.metric)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        own = np.einsum("pc,pciajb->ciajb", weights[1:] / self.rest.mass, self.forms[1:, :, :, 1:, :, 1:])
        whole = np.einsum("cak,ciajb,cbl->cikjl", root, own, root, optimize=True)
        size = 3 * root.shape[1]
        return np.maximum(weights[0], np.linalg.eigvalsh(whole.reshape(-1, size, size)).max(axis=1))


def _forms(rest: RestClusters, moments: np.ndarray) -> np.ndarray:
    """Matrices that turn moments of displacements into the derivatives of the energies by them."""
    count, order = rest.count, rest.means.shape[1]
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
    off = fit - np.einsum("cbij,cjk->cbik", cross, whole)
    bent = np.zeros_like(off)
    bent[..., :3] = -np.einsum("cbik,cjk->cbij", off[..., 3:], rest.slope)
    bent[..., 3:] = off[..., 3:]
    squared = lambda maps: np.einsum("caik,ckl,cbil->cab", maps, moments, maps, optimize=True)
    forms = np.zeros((len(PARTS), count, 3 * order, 3 * order))
    forms[0] = -fit.reshape(count, 3 * order, -1).transpose(0, 2, 1)
    forms[1] = squared(off - bent)
    grow = np.trace(fit[:, :, :, :3], axis1=2, axis2=3)
    trace = np.trace(rest.inverse[:, :3, :3], axis1=1, axis2=2)
    solid = np.where(rest.lacks == 0, 1.0 / np.maximum(trace, 1e-30), 0.0)
    forms[2] = solid[:, None, None] * grow[:, :, None] * grow[:, None, :]
    if order > 3:
        forms[3] = squared(bent)
    return forms
