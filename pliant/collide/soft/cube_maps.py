"""Contacts between bodies by depth cube maps of clusters (Chentanez, Meshless deformations on the GPU).

The source draws the surface of each cluster into a cube map of 16 x 16 x 6 distances from its centre of mass, anew in
every step. Where the boxes of two clusters of different objects overlap, the particles of one look into the map of the
other: one that is nearer to the centre than the surface is in that direction is pushed outwards along the radius, in
proportion to the difference, with the larger penalty constant of the two objects. The pushes of all pairs are added,
and averaged over the clusters that hold the particle, as goals are.

What is done here is the same with these differences:

- The source pushes the particle alone, so momentum is made. Here the surface under it is pushed back, at the very point
  where the radius crosses it: linear momentum is kept to rounding, and so is angular momentum but for friction, whose
  two sides are the depth apart.
- The inverse of heights is interpolated between the four nodes around a direction, which is exact for flat surfaces;
  one texel for all directions near it makes a staircase.
- What lies before a triangle that faces the centre is outside, and not touched.
- A particle's lookups do not depend on which of its own clusters asks, so it asks once. Lookups in several clusters of
  one other body are averaged and not added: where clusters overlap, a body is not harder.
- The constant is Young's modulus times the width of the surface around the vertex [N/m], the stiffness of a cube of the
  material behind it. It is held where the step is too long for it, by a bound over all contacts together. There are
  damping, from the restitution, and Coulomb friction.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.collide.soft import cube_map_kernels as kernels
from pliant.collide.soft.body_contacts import WHOLE, BodyContactList
from pliant.collide.soft.settings import ContactSettings
from pliant.launch import launch
from pliant.model.model import Body, Model
from pliant.model.state import State
from pliant.physics.cube_map import NODES

ALONE = 1 << 30
"""A grain that is never reached: such a launch is one thread on the CPU, where sums are not atomic."""
STEEPEST = 1.0
"""Frequency times step beyond which the penalty is held. It is explicit: one contact with the dashpot of no restitution
is stable up to 1.4. At 0.7 the light vertices of fine surfaces sink twice as deep in a pile."""
CHUNK = 256
"""Members of a cluster that one thread sums in a row."""
RUN = 32
"""Vertices whose box is tested against those of clusters at once."""
MOST_CLUSTERS = 1000
"""Clusters of a body beyond which it has one map as a whole: each map has 18 kB."""
ODD_SHARE = 0.02
"""Share of a body's directions that cross its surface from outside, beyond which that is told."""


class CubeMapContacts:
    """Keeps bodies out of each other by cube maps of their clusters.

    Bodies without clusters in a table have one map as a whole, about their centre of mass. Sheets, rods and loose
    points have no inside and so no map, but their vertices are looked up in those of others.

    Args:
        model: all bodies.
        settings: which of them meet.
        device: where they are.

    Attributes:
        notes: what the user should know.
        odd: share of each body's directions in which its surface is crossed more than once at rest (b,).
    """

    def __init__(self, model: Model, settings: ContactSettings, device: str):
        self.settings = settings
        self.device = device
        self.model = model
        self.notes: list[str] = []
        self.odd = np.zeros(len(model.bodies))
        self.active = settings.between != "none" and len(model.bodies) > 1
        if settings.between == "all":
            self.notes.append(
                "Cube maps do not keep a body out of itself: contact between 'all' is that between 'bodies'."
            )
        if not self.active:
            return
        self.full = wp.zeros(1, dtype=int, device=device)
        self._make_radius()
        self._make_maps()
        self._make_vertices()
        self._make_rows(4)
        self._make_room(16)
        count = model.particles.count
        sums = kernels.MapSums()
        sums.weight = wp.zeros(count, dtype=wp.int64, device=device)
        sums.push = wp.zeros((count, 3), dtype=wp.int64, device=device)
        sums.kick = wp.zeros((count, 3), dtype=wp.int64, device=device)
        sums.scale = WHOLE / float(model.particles.mass[model.particles.mass > 0.0].min())
        self.sums = sums
        self._look_at_rest()

    # ---- tables -------------------------------------------------------------------------------------------------

    def _ints(self, values: object, dtype: object = int) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.int32), dtype=dtype, device=self.device)

    def _floats(self, values: object) -> wp.array:
        return wp.array(np.ascontiguousarray(values, np.float32), dtype=float, device=self.device)

    def _make_radius(self) -> None:
        """Half of what is kept free, of each particle [m]."""
        radius = self.model.particles.radius.astype(np.float64).copy()
        for body in self.model.bodies:
            if _is_solid(body):
                radius[slice(*body.particles)] = 0.5 * (self.settings.thickness or 0.0)
            elif body.ball_radius is not None:
                radius[slice(*body.particles)] = body.ball_radius
        self.radius = radius

    def _make_maps(self) -> None:
        """Clusters, their surfaces and their maps."""
        starts, rows, shares, bodies, boxed, member = [0], [], [], [], [0], []
        body_starts = [0]
        mass = self.model.particles.mass
        for b, body in enumerate(self.model.bodies):
            for members, weight, triangles in self._clusters(body, mass) if _is_solid(body) else ():
                others = np.setdiff1d(triangles, members)
                member.append(np.concatenate([members, others]))
                shares.append(np.concatenate([weight / weight.sum(), np.zeros(len(others))]))
                boxed.append(boxed[-1] + len(member[-1]))
                rows.append(triangles)
                starts.append(starts[-1] + len(triangles))
                bodies.append(b)
            body_starts.append(len(bodies))
        self.count = count = len(bodies)
        if not count:
            self.active = False
            self.notes.append("No body has an inside, so there are no cube maps, and bodies do not meet each other.")
            rows, member, shares = [np.zeros((0, 3))], [np.zeros(0)], [np.zeros(0)]
        maps = kernels.Maps()
        chunks, chunk_starts = [], [0]
        for c in range(count):
            begin = np.arange(boxed[c], boxed[c + 1], CHUNK)
            length = np.minimum(begin + CHUNK, boxed[c + 1]) - begin
            chunks.append(np.stack([begin, length, np.full(len(begin), c)], axis=1))
            chunk_starts.append(chunk_starts[-1] + len(begin))
        maps.chunks = self._ints(np.concatenate(chunks) if chunks else np.zeros((0, 3)), wp.vec3i)
        maps.chunk_starts = self._ints(chunk_starts)
        maps.chunk_sum = wp.zeros(chunk_starts[-1], dtype=wp.vec3d, device=self.device)
        for name, size in (("chunk_low", chunk_starts[-1]), ("chunk_high", chunk_starts[-1])):
            setattr(maps, name, wp.zeros(size, dtype=wp.vec3, device=self.device))
        for name in ("centre", "low", "high"):
            setattr(maps, name, wp.zeros(count, dtype=wp.vec3, device=self.device))
        for name in ("body_low", "body_high"):
            setattr(maps, name, wp.zeros(len(self.model.bodies), dtype=wp.vec3, device=self.device))
        maps.member = self._ints(np.concatenate(member))
        maps.share = self._floats(np.concatenate(shares))
        maps.row_starts = self._ints(starts)
        maps.corner = self._ints(np.concatenate(rows), wp.vec3i)
        maps.owner = self._ints(np.repeat(np.arange(count), np.diff(starts)))
        maps.body = self._ints(bodies)
        maps.body_starts = self._ints(body_starts)
        maps.far = wp.zeros(count * NODES, dtype=wp.int64, device=self.device)
        maps.near = wp.zeros(count * NODES, dtype=int, device=self.device)
        self.maps = maps
        self.body_starts = body_starts

    def _clusters(self, body: Body, mass: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Members, their weights and surface triangles of each cluster that has some, in the model's numbers."""
        first, end = body.own_particles
        whole = [(np.arange(first, end), mass[first:end], body.surface.astype(np.int64))]
        if body.material.breaks_at is not None:
            self.notes.append(f"Body '{body.name}' can break; the surfaces of its cube maps do not.")
        if body.clusters is None or body.clusters.count == 1:
            return whole
        if body.clusters.count > MOST_CLUSTERS:
            self.notes.append(
                f"Body '{body.name}' has {body.clusters.count} clusters, too many for cube maps: it has one as a whole."
            )
            return whole
        table = body.clusters
        held = np.bincount(table.members, minlength=end - first)
        triangles = body.surface.astype(np.int64) - first
        # which clusters hold how many corners of which triangles
        of_starts, of_cluster = table.clusters_of(end - first)
        flat = triangles.reshape(-1)
        number = held[flat]
        offset = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        cluster = of_cluster[np.repeat(of_starts[flat], number) + offset].astype(np.int64)
        keys, corners = np.unique(
            cluster * len(triangles) + np.repeat(np.arange(len(flat)) // 3, number), return_counts=True
        )
        row, owner = keys % len(triangles), keys // len(triangles)
        best = np.zeros(len(triangles), np.int64)
        np.maximum.at(best, row, corners)
        # all three corners; or, where no cluster has them, as many as some has
        taken = corners == best[row]
        out = []
        for c in range(table.count):
            mine = triangles[row[taken & (owner == c)]]
            if len(mine):
                members = table.of(c).astype(np.int64)
                out.append((members + first, (mass[members + first] / held[members]), mine + first))
        return out

    def _make_vertices(self) -> None:
        """What is looked up in the maps."""
        particles, runs, run_body = [], [0], []
        width = np.zeros(self.model.particles.count)
        rest, mass = self.model.particles.rest, self.model.particles.mass
        for b, body in enumerate(self.model.bodies):
            own = np.arange(*body.own_particles)
            # loose points and rods: the width of what they weigh
            width[own] = np.cbrt(mass[own] / body.material.density)
            if len(body.surface) and body.segments is None:
                own = np.unique(body.surface)
                corner = rest[body.surface]
                area = 0.5 * np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1)
                around = np.bincount(body.surface.reshape(-1), np.repeat(area / 3.0, 3), len(width))
                width[own] = np.sqrt(around[own])
            begins = np.arange(0, len(own), RUN)
            runs += (runs[-1] + np.append(begins[1:], len(own))).tolist()
            run_body += [b] * len(begins)
            particles.append(own)
        vertices = kernels.Vertices()
        vertices.particle = self._ints(np.concatenate(particles))
        vertices.run_starts = self._ints(runs)
        vertices.run = self._ints(np.repeat(np.arange(len(run_body)), np.diff(runs)))
        vertices.run_body = self._ints(run_body)
        vertices.body = self._ints(self.model.particles.body)
        vertices.width = self._floats(width)
        vertices.radius = self._floats(self.radius)
        bodies = self.model.bodies
        vertices.young = self._floats([body.material.young for body in bodies])
        vertices.friction = self._floats([body.material.friction for body in bodies])
        vertices.rebound = self._floats([body.material.restitution for body in bodies])
        vertices.count = wp.zeros(len(run_body), dtype=int, device=self.device)
        self.vertices = vertices

    def _make_room(self, room: int) -> None:
        """Room for clusters that a run of vertices is tested against."""
        self.vertices.room = room
        self.vertices.found = wp.zeros(len(self.vertices.count) * room, dtype=int, device=self.device)

    def _make_rows(self, room: int) -> None:
        """Room for contacts of each vertex."""
        count = len(self.vertices.particle)
        size = count * room
        rows = kernels.MapRows()
        rows.room = room
        rows.count = wp.zeros(count, dtype=int, device=self.device)
        rows.cluster = wp.zeros(size, dtype=int, device=self.device)
        rows.corners = wp.zeros(kernels.SAMPLES * size, dtype=wp.vec3i, device=self.device)
        rows.weights = wp.zeros(kernels.SAMPLES * size, dtype=wp.vec3, device=self.device)
        for name in ("normal", "impulse"):
            setattr(rows, name, wp.zeros(size, dtype=wp.vec3, device=self.device))
        for name in ("depth", "limit", "part"):
            setattr(rows, name, wp.zeros(size, dtype=float, device=self.device))
        self.rows = rows

    def _look_at_rest(self) -> None:
        """Find bodies whose clusters' surfaces are not seen whole from their centres, and tell of them."""
        if not self.active:
            return
        self.draw(wp.array(self.model.particles.rest.astype(np.float32), dtype=wp.vec3, device=self.device))
        far, near = (a.numpy().reshape(-1, NODES) > 0 for a in (self.maps.far, self.maps.near))
        for b, body in enumerate(self.model.bodies):
            mine = slice(self.body_starts[b], self.body_starts[b + 1])
            seen = int((far[mine] | near[mine]).sum())
            self.odd[b] = near[mine].sum() / max(seen, 1)
            if self.odd[b] > ODD_SHARE:
                self.notes.append(
                    f"The surface of body '{body.name}' is crossed more than once in {100 * self.odd[b]:.0f} % of the "
                    "directions from its clusters' centres; cube maps know only what is farthest there, and others may "
                    "sink into it. More clusters, or contact by 'features', do better."
                )

    # ---- the step -----------------------------------------------------------------------------------------------

    def begin_frame(self, ahead: float) -> None:
        """Nothing is kept from one step to the next."""

    def draw(self, x: wp.array) -> None:
        """Centres, boxes and maps of all clusters, with particles at x [m]."""
        maps = self.maps
        kept = 2.0 * float(self.radius.max(initial=0.0))
        launch(kernels.sum_chunks, len(maps.chunks), [x], [maps], device=self.device, grain=8)
        launch(kernels.sum_clusters, self.count, [kept], [maps], device=self.device)
        launch(kernels.box_bodies, len(self.model.bodies), [], [maps], device=self.device)
        if self.device == "cpu":
            launch(kernels.draw_clusters, self.count, [x], [maps], device=self.device, grain=1)
        else:
            launch(kernels.clear_maps, len(maps.far), [], [maps], device=self.device)
            launch(kernels.draw_rows, len(maps.corner), [x], [maps], device=self.device)

    def resolve(self, state: State, dt: float) -> None:
        """Find what is inside of other bodies at x_next, and change v_next (and x_next, for friction) by the pushes."""
        x, vertices, rows = state.x_next, self.vertices, self.rows
        self.draw(x)
        count = len(vertices.particle)
        launch(
            kernels.meet_boxes,
            len(vertices.count),
            [x, self.maps],
            [vertices, self.full],
            device=self.device,
            grain=16,
        )
        launch(kernels.find_contacts, count, [x, self.maps, vertices], [rows, self.full], device=self.device, grain=512)
        launch(kernels.add_weights, count, [vertices, rows], [self.sums], device=self.device, grain=ALONE)
        inputs = [vertices, self.maps, state.inv_mass, state.x, state.x_next, state.v_next, STEEPEST, dt]
        launch(kernels.push_vertices, count, inputs, [rows, self.sums], device=self.device, grain=ALONE)
        moved = [self.sums, state.x_next, state.v_next]
        launch(kernels.move_vertices, count, [vertices.particle, state.inv_mass], moved, device=self.device)

    def finish(self, state: State, dt: float) -> None:
        """Nothing is left to be done."""

    # ---- between frames -----------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, wp.array]:
        """Nothing that a checkpoint must hold."""
        return {}

    def grow(self) -> bool:
        """Make room where tables were too small in the last frame; whether some were, and the frame is to be redone."""
        if not self.active or not self.full.numpy()[0]:
            return False
        self.full.zero_()
        self._make_rows(2 * self.rows.room)
        self._make_room(2 * self.vertices.room)
        return True

    def read(self, state: State, dt: float) -> BodyContactList:
        """The contacts of the last step, of kind 'cube_map'.

        The second body's particles are the corners of the triangle that bears most of each; others around it bear the
        rest.
        """
        if not self.active:
            none, four = np.zeros((0, 3)), np.zeros((0, 4))
            two, words = np.zeros((0, 2), np.int32), np.zeros(0, "<U8")
            return BodyContactList(two, four.astype(np.int32), four, words, none, none, none[:, 0], none)
        rows = self.rows
        room = np.arange(rows.room) < rows.count.numpy()[:, None]
        used = np.flatnonzero(room.reshape(-1))
        vertex = self.vertices.particle.numpy()[used // rows.room]
        corners = rows.corners.numpy().reshape(-1, kernels.SAMPLES, 3)[used]
        weights = rows.weights.numpy().reshape(-1, kernels.SAMPLES, 3)[used].astype(np.float64)
        best = np.argmax(weights.sum(axis=2), axis=1)
        corner, weight = corners[np.arange(len(used)), best], weights[np.arange(len(used)), best]
        weight = weight / weight.sum(axis=1, keepdims=True)
        taken = lambda array: array.numpy()[used].astype(np.float64)
        normal, depth = taken(rows.normal), taken(rows.depth)
        ids = np.concatenate([vertex[:, None], corner], axis=1)
        return BodyContactList(
            self.model.particles.body[ids[:, :2]],
            ids,
            np.concatenate([np.ones((len(used), 1)), -weight], axis=1),
            np.full(len(used), "cube_map"),
            state.x.numpy()[vertex].astype(np.float64) + 0.5 * depth[:, None] * normal,
            normal,
            depth,
            taken(rows.impulse) / dt,
        )


def _is_solid(body: Body) -> bool:
    """Whether its outside has an inside."""
    return bool(body.options.get("is_solid")) and len(body.surface) > 0
