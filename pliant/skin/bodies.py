"""The skins of all bodies of a model that have one, moved together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.model.model import Body
from pliant.model.particles import Particles
from pliant.skin.clusters import ClusterSkin
from pliant.skin.skin import Skin
from pliant.skin.surface import SkinSurface
from pliant.skin.torn import TornSkin
from pliant.skin.tubes import TubeSkin
from pliant.skin.wrinkles import WrinkleSkin
from pliant.solvers.common.tearing import Tearing

AnySkin = Skin | ClusterSkin | TubeSkin | WrinkleSkin | TornSkin


class BodySkins:
    """Moves the skins of a model's bodies.

    Args:
        bodies: of a model; those without a skin are passed over.
        device: where the skins live.
        particles: of the model; needed where a skin follows clusters.
        tearing: how sheets come apart; needed where vertices of a body split.

    Attributes:
        active: whether any body has a skin.
        skin: the skins that are embedded, in a row; None if there is none.
        clusters: the skins that follow their bodies' clusters, in a row; None if there is none.
        tubes: the tubes around rods, in a row; None if there are none.
        wrinkles: the wrinkled skins of sheets, in a row; None if there are none.
        torn: the triangles of sheets whose vertices split, in a row; None if there are none.
        rows: each of these that is there, and the names of its bodies in their order.
        stale: whether what the vertices follow was changed since the last `update`.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        device: str,
        particles: Particles | None = None,
        tearing: Tearing | None = None,
    ):
        dressed = [body for body in bodies if body.skin is not None]
        self.active = bool(dressed)
        self.stale = False
        self.skin: Skin | None = None
        self.clusters: ClusterSkin | None = None
        self.tubes: TubeSkin | None = None
        self.wrinkles: WrinkleSkin | None = None
        self.torn: TornSkin | None = None
        self.rows: list[tuple[AnySkin, list[str]]] = []
        self._places: dict[str, tuple[SkinSurface, slice]] = {}
        self._first_cluster: dict[str, int] = {}
        self._cluster_counts: dict[str, int] = {}
        embedded = [body for body in dressed if body.embedding is not None and body.wrinkles is None]
        if embedded:
            embeddings = [body.embedding for body in embedded if body.embedding is not None]
            triangles = [body.skin.triangles for body in embedded if body.skin is not None]
            self.skin = Skin(embeddings, triangles, device)
            self._place(embedded, self.skin)
        clustered = [body for body in dressed if body.follows_clusters]
        if clustered:
            self.clusters = self._joined(clustered, particles, device)
            self._place(clustered, self.clusters)
        rods = [body for body in dressed if body.tubes is not None]
        if rods:
            tubes = [body.tubes for body in rods if body.tubes is not None]
            self.tubes = TubeSkin(tubes, device, [body.particles[0] for body in rods])
            self._place(rods, self.tubes)
        creased = [body for body in dressed if body.wrinkles is not None]
        if creased:
            maps = [body.wrinkles for body in creased if body.wrinkles is not None]
            self.wrinkles = WrinkleSkin(maps, max(body.particles[1] for body in bodies), device)
            self._place(creased, self.wrinkles)
        named = {body.name: body for body in dressed if body.splits}
        if tearing is not None and named:
            self.torn = TornSkin(tearing, device)
            self._place([named[sheet.name] for sheet in tearing.sheets], self.torn)

    def _place(self, bodies: list[Body], skin: AnySkin) -> None:
        self.rows.append((skin, [body.name for body in bodies]))
        ends = np.cumsum([body.seen_vertices for body in bodies]).tolist()
        for body, end in zip(bodies, ends, strict=True):
            self._places[body.name] = (skin, slice(end - body.seen_vertices, end))

    def _joined(self, bodies: list[Body], particles: Particles | None, device: str) -> ClusterSkin:
        """One skin of all bodies, in which each follows its own clusters only."""
        vertices, triangles, sizes, members = [], [], [], []
        groups = np.zeros((len(bodies) + 1, 2), np.int64)
        for k, body in enumerate(bodies):
            if body.clusters is None or particles is None:
                raise InputError(
                    f"the method '{body.method}' makes no clusters that the skin could follow",
                    f"body '{body.name}'.skin",
                    "Give the skin's embedding, embed(skin.vertices, mesh), or use method='shape_matching' with "
                    "clusters in a table (no lattice regions, or fast=False)",
                )
            assert body.skin is not None
            self._first_cluster[body.name] = int(groups[k, 1])
            self._cluster_counts[body.name] = body.clusters.count
            vertices.append(body.skin.vertices)
            triangles.append(body.skin.triangles + groups[k, 0])
            sizes.append(body.clusters.sizes())
            members.append(body.clusters.members + body.particles[0])
            groups[k + 1] = groups[k] + [len(body.skin.vertices), body.clusters.count]
        assert particles is not None
        return ClusterSkin(
            np.concatenate(vertices),
            np.concatenate(triangles).astype(np.int32),
            particles.rest,
            np.concatenate([[0], np.cumsum(np.concatenate(sizes))]),
            np.concatenate(members),
            particles.mass,
            device=device,
            groups=groups,
        )

    def update(self, x: wp.array) -> None:
        """Move all skins to the particles' positions (N,) vec3 [m]; nothing is read back."""
        for skin, _ in self.rows:
            skin.update(x)
        self.stale = False

    def positions(self, name: str) -> np.ndarray:
        """Vertices of a body's skin [m] (n, 3) float32."""
        skin, rows = self._places[name]
        return skin.x[rows].numpy()

    def normals(self, name: str) -> np.ndarray:
        """Unit normals of a body's skin (n, 3) float32, weighted by area."""
        skin, rows = self._places[name]
        return skin.normals[rows].numpy()

    def tear(self, body: Body, torn: np.ndarray) -> None:
        """Let the triangles of a mask (k,) of a sheet whose triangles have corners of their own shrink to a point."""
        skin, rows = self._places[body.name]
        assert isinstance(skin, Skin) and body.embedding is not None
        hosts = body.embedding.hosts[:, 0].reshape(-1, 3).copy()
        hosts[torn] = hosts[torn][:, :1]
        skin.copy_others(rows.start, hosts.reshape(-1))
        self.stale = True

    def break_rods(self, body: Body, gone: np.ndarray) -> None:
        """Let the tubes of rods have gaps where segments (m,) bool are broken, between frames."""
        if self.tubes is None or body.tubes is None or body.segments is None:
            return
        # the second vertex of a segment is the one further from the root
        led = np.zeros(len(body.rank), bool)
        led[body.segments[gone, 1]] = True
        names = next(names for skin, names in self.rows if skin is self.tubes)
        self.tubes.break_segments(names.index(body.name), led)
        self.stale = True

    def cluster_weights(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """What the vertices of a body's skin follow: clusters (n, w) int32, numbered within the body, and weights.

        Weights (n, w) are float64 and add up to 1 in each row; a weight of zero says that its cluster is not followed.
        """
        skin, rows = self._clustered(name)
        return skin.clusters[rows] - self._first_cluster[name], skin.weights[rows].copy()

    def set_cluster_weights(self, name: str, clusters: Any, weights: Any) -> None:
        """Change what the vertices of a body's skin follow, between frames; nothing is allocated on the device.

        Args:
            name: of the body.
            clusters: (n, w) whole numbers, within the body; w at most the width of what `cluster_weights` returns.
            weights: (n, w); each row adds up to 1.
        """
        skin, rows = self._clustered(name)
        clusters = np.asarray(clusters)
        where = f"set_cluster_weights of body '{name}'"
        first, after = self._first_cluster[name], len(skin.rest_centres)
        after = min([start for start in self._first_cluster.values() if start > first], default=after)
        if clusters.dtype.kind not in "iu" or (
            clusters.size and not 0 <= clusters.min() <= clusters.max() < after - first
        ):
            raise InputError(
                "some of what is followed is no cluster of the body",
                where,
                f"Give numbers from 0 to {after - first - 1}",
            )
        skin.set_weights(clusters.astype(np.int64) + first, weights, rows, where)
        self.stale = True

    def keep_members(self, name: str, kept: np.ndarray) -> None:
        """Let a body's clusters have only some of their members (k,) bool, between frames; see `ClusterSkin`."""
        skin, _ = self._clustered(name)
        first = self._first_cluster[name]
        skin.keep_members(kept, slice(first, first + self._cluster_counts[name]))
        self.stale = True

    def _clustered(self, name: str) -> tuple[ClusterSkin, slice]:
        if name not in self._first_cluster:
            known = ", ".join(self._first_cluster) or "none"
            raise InputError(f"body {name!r} has no skin that follows clusters", "skins", f"Those that have: {known}")
        skin, rows = self._places[name]
        assert isinstance(skin, ClusterSkin)
        return skin, rows
