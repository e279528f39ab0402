"""Layered bodies that touch each other: what finds their contacts, and solves for all cores at once."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Body
from pliant.model.state import State
from pliant.physics.rigid import vec6d
from pliant.solvers.layered import pair_kernels as kernels
from pliant.solvers.layered.contact_kernels import PUSH_COLUMNS, Press
from pliant.solvers.layered.data import Carry, Constants, Holds, Layer, Moment
from pliant.solvers.layered.rest import LayerRest
from pliant.solvers.layered.sums import Sums

MOST_BODIES = 64
"""Bodies that are solved for at once; more meet as those of other methods do."""
LANES = 512
"""CUDA threads that solve for the cores."""
WHOLE = 2.0**36
"""Pushes are handed on in multiples of the mass of all bodies times 1 m/s over this."""
ROOM = 0.5
"""Room for displacements around a patch, over the thickness of its layer."""
MOST_PASSES = 60
"""Passes in which normals are smoothed at most."""
GRAIN = 2048
"""Nodes worth a CPU thread."""


class Pairs:
    """Contacts between the layered bodies of a model.

    Attributes:
        unit: of what is handed on [N s].
    """

    def __init__(self, layer: Layer, sums: Sums, bodies: list[Body], first: int, device: str) -> None:
        self.layer, self.sums, self.device = layer, sums, device
        self.bodies = len(bodies)
        rests: list[LayerRest] = [body.own for body in bodies]
        self._meshes: list[wp.Mesh] = []
        self.patches = self._patches(bodies, rests, first)
        count = len(self.patches.body)
        self.partner = wp.full(count, -1, dtype=int, device=device)
        size = 6 * self.bodies
        self.matrix = wp.zeros((size, size + 1), dtype=wp.float64, device=device)
        self.pushes = wp.zeros((self.bodies, 6), dtype=wp.float64, device=device)
        self.z = wp.zeros(self.bodies, dtype=vec6d, device=device)
        self.scale = WHOLE / float(layer.total_mass.numpy().sum())
        self.unit = 1.0 / self.scale
        self.awake = wp.ones(self.bodies, dtype=int, device=device)

    def _patches(self, bodies: list[Body], rests: list[LayerRest], first: int) -> kernels.Patches:
        """Patches at rest, and the trees over the bodies' triangles."""
        device, chunks = self.device, self.sums.chunks
        begin, end = chunks.begin.numpy(), chunks.end.numpy()
        low, high = begin[chunks.group_begin.numpy()], end[chunks.group_end.numpy() - 1]
        body_begin = np.append(chunks.body_begin.numpy(), chunks.body_end.numpy()[-1])
        rest, thick, size, normals, out, faces = [], [], [], [], [], []
        nodes = 0
        for body, own in zip(bodies, rests, strict=True):
            corners = body.surface.astype(np.int64) - body.particles[0]
            across = np.cross(*(own.rest[corners[:, k]] - own.rest[corners[:, 0]] for k in (1, 2)))
            normal = np.zeros_like(own.rest)
            for k in range(3):
                np.add.at(normal, corners[:, k], across)
            points = wp.array(own.rest.astype(np.float32), dtype=wp.vec3, device=device)
            indices = wp.array(corners.reshape(-1).astype(np.int32), dtype=int, device=device)
            self._meshes.append(wp.Mesh(points, indices, bvh_leaf_size=2))
            rest.append(own.rest)
            normals.append(normal)
            out.append(_mean_normals(own, corners, normal))
            faces.append(corners + nodes)
            thick.append(own.thickness)
            size.append(np.linalg.norm(own.rest, axis=1).max())
            nodes += len(own.rest)
        places, outward = np.concatenate(rest), np.concatenate(normals)
        body_of = np.repeat(np.arange(len(bodies)), np.diff(body_begin))
        spans = [slice(a, b) for a, b in zip(low, high, strict=True)]
        centre = np.array([places[span].mean(axis=0) for span in spans])
        normal = np.array([outward[span].sum(axis=0) for span in spans])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        radius = [np.linalg.norm(places[span] - centre[k], axis=1).max() for k, span in enumerate(spans)]
        found = kernels.Patches()
        ints = lambda values: wp.array(np.asarray(values, np.int32), dtype=int, device=device)
        floats = lambda values: wp.array(np.asarray(values, np.float32), dtype=float, device=device)
        vectors = lambda values: wp.array(values.astype(np.float32), dtype=wp.vec3, device=device)
        found.body, found.begin = ints(body_of), ints(body_begin)
        found.of_node = ints(np.repeat(np.arange(len(spans)), high - low))
        found.centre, found.normal = vectors(centre), vectors(normal)
        found.out = vectors(np.concatenate(out))
        found.radius = floats(np.array(radius) + ROOM * np.array(thick)[body_of])
        found.size, found.thick = floats(size), floats(thick)
        found.mesh = wp.array([mesh.id for mesh in self._meshes], dtype=wp.uint64, device=device)
        counts = [len(corners) for corners in faces]
        found.face_begin = ints(np.concatenate([[0], np.cumsum(counts)[:-1]]))
        found.face = wp.array(np.concatenate(faces).astype(np.int32), dtype=wp.vec3i, device=device)
        return found

    def find(
        self, state: State, constants: Constants, predicted: Moment, held: Holds, carry: Carry, rest_speed: float,
        dt: float, press: Press,
    ) -> None:  # fmt: skip
        """Find which patches are near to other bodies, and the contacts of their nodes."""
        launch(
            kernels.find_partners, len(self.patches.body), [self.patches, predicted, self.awake], [self.partner],
            device=self.device, grain=16, block_dim=64,
        )  # fmt: skip
        inputs = [
            self.layer,
            constants,
            self.patches,
            self.partner,
            state.inv_mass,
            state.v,
            state.x_next,
            state.v_next,
        ]
        launch(
            kernels.meet_bodies, len(self.layer.mass), [*inputs, predicted, held, carry, rest_speed, dt], [press],
            device=self.device, grain=GRAIN, block_dim=128,
        )  # fmt: skip

    def without_carried(self, press: Press, weight: wp.array, active: wp.array) -> None:
        """Let multipliers be for all that contacts push with, also for what they have in the step's equations."""
        self.sums.add_groups(kernels.sum_carried, [press, active], [], PUSH_COLUMNS, active=active)
        launch(kernels.carried_cores, self.bodies, [weight, self.gather()], [self.z], device=self.device)
        launch(
            kernels.without_carried, len(self.layer.mass), [self.layer, self.z], [press], device=self.device,
            grain=GRAIN,
        )  # fmt: skip

    def keep_carry(
        self, press: Press, predicted: Moment, v: wp.array, carry: Carry, dt: float, carry_out: Carry
    ) -> None:
        """Write what contacts push with again in the next step."""
        count = len(self.layer.mass)
        inputs = [self.layer, press, predicted, self.patches.thick, v, carry.last, dt]
        launch(kernels.keep_carry, count, inputs, [carry_out], device=self.device, grain=GRAIN)
        inputs = [self.layer, carry_out, predicted, self.scale]
        launch(kernels.hand_carry, count, inputs, [press], device=self.device)
        inputs = [self.layer, predicted, self.unit]
        launch(kernels.load_carry, count, inputs, [press, carry_out], device=self.device, grain=GRAIN)

    def solve(self, weight: wp.array, z: wp.array, moved: wp.array) -> None:
        """Newton's step for all cores, from the sums over the groups."""
        size = 6 * self.bodies
        inputs = [self.sums.chunks, self.patches, self.partner, self.sums.groups, weight, size]
        launch(kernels.assemble, size * (size + 1), inputs, [self.matrix], device=self.device, block_dim=64)
        lanes = 1 if self.device == "cpu" else LANES
        launch(kernels.solve_joint, lanes, [lanes, size], [self.matrix, z, moved], device=self.device, block_dim=lanes)

    def gather(self) -> wp.array:
        """What the multipliers of all groups do to each core (b, 6)."""
        inputs = [self.sums.chunks, self.partner, self.sums.groups]
        launch(kernels.gather_pushes, 6 * self.bodies, inputs, [self.pushes], device=self.device, block_dim=64)
        return self.pushes

    def hand_on(self, press: Press, force: wp.array, predicted: Moment) -> None:
        """Tell the nodes that are touched what they are pushed with."""
        inputs = [self.layer, press, force, predicted, self.scale]
        launch(kernels.hand_on, len(self.layer.mass), inputs, [press], device=self.device)


def _mean_normals(own: LayerRest, corners: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """The mean of the nodes' normals over about half of the layer's thickness around each (n, 3), weighted by areas;
    its length is 1 where the surface is flat there, and less where it is not."""
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    length = float(np.median(np.linalg.norm(own.rest[sides[:, 0]] - own.rest[sides[:, 1]], axis=1)))
    # n passes over the rings reach about sqrt(n) edges far
    passes = int(np.clip((0.5 * own.thickness / length) ** 2, 1, MOST_PASSES))
    area = np.linalg.norm(normal, axis=1, keepdims=True)
    values = np.concatenate([normal, area], axis=1)
    both = np.concatenate([sides[:, 0], sides[:, 1]]), np.concatenate([sides[:, 1], sides[:, 0]])
    for _ in range(passes):
        around = values.copy()
        for k in range(4):
            around[:, k] += np.bincount(both[0], values[both[1], k], minlength=len(values))
        values = around / np.maximum(around[:, 3:].max(), 1e-300)
    return values[:, :3] / np.maximum(values[:, 3:], 1e-300)
