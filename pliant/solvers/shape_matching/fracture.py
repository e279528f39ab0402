"""Fracture by cluster: links that are stretched too far break between frames, and the body comes apart."""

from __future__ import annotations

import math

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body
from pliant.solvers.shape_matching.cluster_group import ClusterGroup
from pliant.solvers.shape_matching.fracture_kernels import stretch_kernel
from pliant.solvers.shape_matching.fracture_links import SAMPLES, ClusterLinks
from pliant.solvers.shape_matching.group import shape_of
from pliant.solvers.shape_matching.rest import RestClusters, in_fours, inverse_rows, rest_clusters


def can_break(body: Body) -> bool:
    """Whether a body's material says when it breaks, and it has clusters that could part."""
    return body.material.breaks_at is not None and body.clusters is not None and body.clusters.count > 1


class Fracture:
    """Watches the links of the bodies of a group that can break, and breaks them.

    The tables of the group keep their places and sizes: what a cluster has lost stays there with the weight zero. So
    nothing has to be recorded again after a break.

    Args:
        group: some of its bodies can break; those have tables of their own.

    Attributes:
        links: of each body that can break, by its place in the group.
        stretch: largest stretch of each link since it was looked at last (l,), on the device.
        relieved: 1 for each link that a break has taken the load off just now (l,), on the device.
        broken: 1 for each broken link (l,), on the device; the tables follow from it.
    """

    def __init__(self, group: ClusterGroup):
        self.group = group
        self.links: dict[int, ClusterLinks] = {}
        self._rows: dict[int, slice] = {}
        first_table = group.cluster_rest.numpy()[group.cluster_starts[:-1]].tolist()
        self._tables = dict(enumerate(first_table))
        end = 0
        for k, body in enumerate(group.bodies):
            if can_break(body):
                shape = shape_of(body)
                assert shape.clusters is not None
                self.links[k] = ClusterLinks(shape.mesh.vertices, shape.mass, shape.clusters)
                self._rows[k] = slice(end, end + self.links[k].count)
                end += self.links[k].count
        self.limit = np.concatenate(
            [np.full(found.count, group.bodies[k].material.breaks_at) for k, found in self.links.items()]
        )
        pairs = [found.pairs + group.cluster_starts[k] for k, found in self.links.items()]
        device = group.device
        self._pairs = wp.array(np.concatenate(pairs).astype(np.int32), dtype=wp.vec2i, device=device)
        self._places = wp.zeros((end, 2 * SAMPLES), dtype=wp.vec3, device=device)
        self._inverse_distance = wp.zeros(end, dtype=float, device=device)
        self.stretch = wp.zeros(end, dtype=float, device=device)
        self.relieved = wp.zeros(end, dtype=float, device=device)
        self._any_relieved = False
        self.broken = wp.zeros(end, dtype=float, device=device)
        for k in self.links:
            self._set_samples(k)

    def look(self) -> None:
        """Keep the largest stretch of each link; after a fit, nothing is read back."""
        group = self.group
        inputs = [
            self._pairs, self._places, self._inverse_distance, group.cluster_rest, group.radius, group.means,
            group.anchor, group.rotation, group.plastic, self.relieved,
        ]  # fmt: skip
        kernel = stretch_kernel(group.order)
        launch(kernel, len(self._pairs), inputs, [self.stretch], device=group.device, grain=256)

    def between_frames(self, frame_dt: float) -> bool:
        """Break what was stretched beyond its limit since the last call, the most stretched first; whether any did.

        Args:
            frame_dt: duration of a frame [s]: a break is felt as far as sound gets in it.
        """
        stretch = self.stretch.numpy().copy()
        if not stretch.any():
            return False
        self.stretch.zero_()
        over = stretch > self.limit
        relieved = np.zeros(len(over), np.float32)
        changed = False
        for k, found in self.links.items():
            rows = self._rows[k]
            links = np.flatnonzero(over[rows])
            links = links[np.argsort(-stretch[rows][links], kind="stable")]
            material = self.group.bodies[k].material
            done, felt = found.break_links(links, math.sqrt(material.young / material.density) * frame_dt)
            relieved[rows] = felt
            if done:
                self._follow_links(k)
                changed = True
        if changed or self._any_relieved:
            self.relieved.assign(relieved)
            self._any_relieved = bool(relieved.any())
        if changed:
            self._note_broken()
        return changed

    def break_now(self, k: int, links: np.ndarray) -> int:
        """Break links of a body however little they are stretched, as a knife does; how many did."""
        done, _ = self.links[k].break_links(links, 0.0)
        if done:
            self._follow_links(k)
            self._note_broken()
        return done

    def _follow_links(self, k: int) -> None:
        """Let a body's tables follow its links, of which some broke."""
        before = self.group.rests[k]
        self._set_tables(k)
        self._carry_shape(k, before)

    def _note_broken(self) -> None:
        flags = np.concatenate([found.broken for found in self.links.values()])
        self.broken.assign(flags.astype(np.float32))

    def restored(self) -> bool:
        """Make the tables those of `broken`, which was set from outside; whether they were others."""
        flags = self.broken.numpy() > 0.5
        self._any_relieved = bool(self.relieved.numpy().any())
        changed = False
        for k, found in self.links.items():
            if not np.array_equal(flags[self._rows[k]], found.broken):
                found.set_broken(flags[self._rows[k]])
                self._set_tables(k)
                changed = True
        return changed

    def scratch(self) -> dict[str, wp.array]:
        return {"stretch": self.stretch, "relieved": self.relieved, "broken": self.broken}

    def _set_tables(self, k: int) -> None:
        """Write a body's tables for the members its clusters have now, in place."""
        group, found, shape = self.group, self.links[k], shape_of(self.group.bodies[k])
        rest = rest_clusters(shape.mesh.vertices, shape.mass, found.members(), group.order)
        group.rests[k] = rest
        count, kept = len(found.kept), found.kept
        member = np.zeros((count, 4))
        member[kept] = np.concatenate([rest.rest, rest.weight[:, None]], axis=1)
        of_cluster, of_rest = np.zeros(count), np.zeros((count, 3))
        of_cluster[: kept.sum()] = rest.of_cluster
        of_rest[: kept.sum()] = rest.rest[rest.of_member]
        first, first_table = group.member_starts[k], self._tables[k]
        members, tables = slice(first, first + count), slice(first_table, first_table + rest.count)
        starts = slice(group.first_start[k], group.first_start[k] + len(rest.of_starts))
        for array, rows, values in (
            (group.member_rest, members, member),
            (group.of_cluster, members, of_cluster),
            (group.of_rest, members, of_rest),
            (group.of_starts, starts, rest.of_starts + first),
            (group.radius, tables, rest.radius),
            (group.means, tables, in_fours(rest.means)),
            (group.inverse, tables, inverse_rows(rest.inverse)),
            (group.missing, tables, inverse_rows(rest.missing)),
            (group.slope, tables, inverse_rows(rest.slope)),
            (group.lacks, tables, rest.lacks),
        ):
            if not array.size:
                continue
            kind = np.int32 if array.dtype is wp.int32 else np.float32
            array[rows].assign(np.ascontiguousarray(values, kind))
        self._set_samples(k)

    def _set_samples(self, k: int) -> None:
        """Where each link of a body is looked at, in the places of both its clusters; broken ones are not."""
        found, rest = self.links[k], self.group.rests[k]
        samples = found.samples()
        whole = samples[:, 0] >= 0
        points = found.vertices[samples]
        places = np.zeros((found.count, 2 * SAMPLES, 3))
        for side in range(2):
            cluster = found.pairs[:, side]
            places[:, side::2] = (points - rest.centre[cluster][:, None]) / rest.radius[cluster][:, None, None]
        rows = self._rows[k]
        self._places[rows].assign(np.where(whole[:, None, None], places, 0.0).astype(np.float32))
        self._inverse_distance[rows].assign(np.where(whole, 1.0 / found.distance, 0.0).astype(np.float32))

    def _carry_shape(self, k: int, before: RestClusters) -> None:
        """Let quadratic permanent shapes mean the same about the new centres and radii.

        With q = a q' + s the products are a^2 p(q') + a D(s) q' and a constant, D the products' derivatives.
        """
        group = self.group
        if group.order == 3 or not before.count:
            return
        rows, after = group.clusters_of(k), group.rests[k]
        values = group.plastic.numpy().copy()
        shape = values[rows].reshape(-1, 3, group.order).astype(np.float64)
        if not shape[:, :, 3:].any():
            return
        scale = after.radius / before.radius
        x, y, z = ((after.centre - before.centre) / before.radius[:, None]).T
        zero = np.zeros_like(x)
        slopes = [
            [2 * x, zero, zero],
            [zero, 2 * y, zero],
            [zero, zero, 2 * z],
            [y, x, zero],
            [zero, z, y],
            [z, zero, x],
        ]
        shape[:, :, :3] += shape[:, :, 3:] @ np.array(slopes).transpose(2, 0, 1)
        shape[:, :, 3:] *= scale[:, None, None]
        values[rows] = shape.reshape(-1, 3 * group.order)
        group.plastic.assign(values)
