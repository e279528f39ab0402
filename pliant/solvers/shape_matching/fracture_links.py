"""Links between the clusters of one body: which clusters share particles, and who keeps which when links break."""

from __future__ import annotations

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.cluster import Clusters

SAMPLES = 6
"""Particles of a link at which it is looked at: the outermost along x, y and z. The gap between two turned rest shapes
is affine in the place at rest, so that it is largest at the ends."""
LAYER = 0.75
"""Half the thickness of the layer in which a crack runs on, over the distance of the two clusters."""

MOST_PAIRS = 20_000_000
"""Memberships of one particle in two clusters, over all particles."""


def cluster_centres(vertices: np.ndarray, mass: np.ndarray, clusters: Clusters) -> np.ndarray:
    """Centres [m] (c, 3) of clusters in which each particle counts with its mass over the clusters that hold it."""
    held = np.bincount(clusters.members, minlength=len(mass))
    weight = (mass / np.maximum(held, 1))[clusters.members]
    middle = vertices.mean(axis=0)
    sums = np.add.reduceat(weight[:, None] * (vertices[clusters.members] - middle), clusters.starts[:-1])
    return middle + sums / np.add.reduceat(weight, clusters.starts[:-1])[:, None]


def homes_of(vertices: np.ndarray, clusters: Clusters, centres: np.ndarray) -> np.ndarray:
    """The nearest of the clusters that hold each particle (n,), the lowest of those at one distance."""
    owner = np.repeat(np.arange(clusters.count), clusters.sizes())
    squared = ((vertices[clusters.members] - centres[owner]) ** 2).sum(axis=1)
    order = np.lexsort((owner, squared, clusters.members))
    _, first = np.unique(clusters.members[order], return_index=True)
    return owner[order[first]]


class ClusterLinks:
    """Pairs of clusters of one body that share particles; each link holds or is broken.

    Where a link is broken, every particle that both clusters held leaves the one whose centre is farther from it at
    rest. So which cluster holds what follows from the set of broken links alone, whatever the order they broke in, and
    a particle never leaves the nearest of its clusters.

    Args:
        vertices: particles at rest [m] (n, 3).
        mass: [kg] (n,).
        clusters: as the body is built, all links whole.

    Attributes:
        pairs: the two clusters of each link, the lower first (l, 2); sorted.
        distance: of their centres at rest, at least their mean radius [m] (l,).
        broken: (l,) bool.
        kept: which memberships of `clusters` are left (k,) bool.
    """

    def __init__(self, vertices: np.ndarray, mass: np.ndarray, clusters: Clusters):
        self.vertices = vertices
        self.clusters = clusters
        centres = cluster_centres(vertices, mass, clusters)
        self._owner = np.repeat(np.arange(clusters.count), clusters.sizes())
        squared = ((vertices[clusters.members] - centres[self._owner]) ** 2).sum(axis=1)

        held = np.bincount(clusters.members).astype(np.int64)
        pairs = int((held * (held - 1) // 2).sum())
        if pairs > MOST_PAIRS:
            raise InputError(
                f"the clusters overlap so much that {pairs:,} pairs of them would be looked at",
                "material.fracture_strain",
                f"Use less overlap (rings, region_width, grids), or fewer clusters: {MOST_PAIRS:,} are taken",
            )
        # every two memberships of one particle
        order = np.argsort(clusters.members, kind="stable")
        particle = clusters.members[order]
        firsts, seconds = [], []
        for apart in range(1, int(np.bincount(particle).max(initial=1))):
            same = np.flatnonzero(particle[apart:] == particle[:-apart])
            firsts.append(order[same])
            seconds.append(order[same + apart])
        a, b = (np.concatenate([np.zeros(0, np.int64), *found]) for found in (firsts, seconds))
        keys = self._owner[a] * clusters.count + self._owner[b]
        found, link = np.unique(keys, return_inverse=True)
        by_link = np.argsort(link, kind="stable")
        self._link = link[by_link]
        # members stand by cluster, so the first of two memberships has the lower cluster
        self._first, self._second = a[by_link], b[by_link]
        self._starts = np.searchsorted(self._link, np.arange(len(found) + 1))
        self._farther = np.where(squared[self._second] < squared[self._first], self._first, self._second)

        self.pairs = np.stack([found // clusters.count, found % clusters.count], axis=1)
        radius = np.sqrt(np.add.reduceat(squared, clusters.starts[:-1]) / clusters.sizes())
        gap = np.linalg.norm(centres[self.pairs[:, 0]] - centres[self.pairs[:, 1]], axis=1)
        self.distance = np.maximum(np.maximum(gap, 0.5 * radius[self.pairs].sum(axis=1)), 1e-12)
        self._middle = 0.5 * (centres[self.pairs[:, 0]] + centres[self.pairs[:, 1]])
        self._across = (centres[self.pairs[:, 1]] - centres[self.pairs[:, 0]]) / np.maximum(gap, 1e-12)[:, None]
        self.broken = np.zeros(len(found), bool)
        self.kept = np.ones(len(clusters.members), bool)

    @property
    def count(self) -> int:
        """Number of links."""
        return len(self.pairs)

    def set_broken(self, broken: np.ndarray) -> None:
        """Say which links are broken (l,) bool; a set that leaves no cluster empty."""
        kept = np.ones_like(self.kept)
        kept[self._farther[broken[self._link]]] = False
        if (np.bincount(self._owner[kept], minlength=self.clusters.count) < 1).any():
            raise InputError("the broken links leave a cluster empty", "broken links", "Use an older checkpoint")
        self.broken, self.kept = broken.copy(), kept

    def break_links(self, links: np.ndarray, reach: float) -> tuple[int, np.ndarray]:
        """Break links, one after the other, as far as breaking one does not relieve the next.

        A crack runs on in its own layer at once, and takes the load off what lies before and behind it, as far as
        sound has got. A link that would leave a cluster empty holds.

        Args:
            links: numbers of those that are stretched too far, the most stretched first (k,).
            reach: how far a break is felt [m].

        Returns:
            how many broke, and which of all links were relieved (l,) bool.
        """
        size = np.bincount(self._owner[self.kept], minlength=self.clusters.count)
        done = 0
        relieved = np.zeros(self.count, bool)
        for link in links[~self.broken[links]].tolist():
            if relieved[link]:
                continue
            leaving = self._farther[self._starts[link] : self._starts[link + 1]]
            leaving = leaving[self.kept[leaving]]
            pair = self.pairs[link]
            left = size[pair] - (self._owner[leaving][:, None] == pair).sum(axis=0)
            if left.min() < 1:
                continue
            size[pair] = left
            self.kept[leaving] = False
            self.broken[link] = True
            done += 1
            offset = self._middle - self._middle[link]
            ahead = np.abs(offset @ self._across[link]) > LAYER * self.distance[link]
            relieved |= ahead & ((offset**2).sum(axis=1) < reach**2)
        return done, relieved

    def members(self) -> Clusters:
        """The clusters as they are now."""
        sizes = np.bincount(self._owner[self.kept], minlength=self.clusters.count)
        return Clusters(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), self.clusters.members[self.kept])

    def _shared(self) -> np.ndarray:
        """Which of the shared particles, link by link, are still held by both."""
        return self.kept[self._first] & self.kept[self._second]

    def whole(self) -> np.ndarray:
        """Which links hold: not broken, and with particles left in common (l,) bool."""
        return ~self.broken & (np.bincount(self._link[self._shared()], minlength=self.count) > 0)

    def pieces(self) -> tuple[int, np.ndarray]:
        """Number of pieces that the body consists of, and the piece of each cluster (c,)."""
        return arrays.connected_parts(self.pairs[self.whole()], self.clusters.count)

    def particle_pieces(self) -> np.ndarray:
        """The piece of each particle (n,)."""
        piece = np.zeros(len(self.vertices), np.int64)
        piece[self.clusters.members[self.kept]] = self.pieces()[1][self._owner[self.kept]]
        return piece

    def samples(self) -> np.ndarray:
        """Particles at which each link is looked at (l, 6), of those that both clusters hold; -1 for none."""
        rows = np.flatnonzero(self._shared())
        link, particle = self._link[rows], self.clusters.members[self._first[rows]]
        chosen = np.full((self.count, SAMPLES), -1, np.int64)
        for axis in range(3):
            order = np.lexsort((particle, self.vertices[particle, axis], link))
            numbers, first, size = np.unique(link[order], return_index=True, return_counts=True)
            chosen[numbers, 2 * axis] = particle[order[first]]
            chosen[numbers, 2 * axis + 1] = particle[order[first + size - 1]]
        chosen[self.broken] = -1
        return chosen
