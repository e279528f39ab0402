"""The hybrid integrator of Desbrun, Schroeder and Barr (1999): a constant linear filter makes springs of any stiffness
stable, the angular momentum it takes is given back, and the strain limit does what is left of the stiffness.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.model.model import Model
from pliant.model.patches import OTHER_CORNERS, incidence
from pliant.model.state import State
from pliant.physics.volume import VOLUME_ABSOLUTE, VOLUME_PER_VOLUME
from pliant.solvers.common.conjugate_gradients import ConjugateGradients
from pliant.solvers.mass_spring import hybrid_kernels as kernels
from pliant.solvers.mass_spring.constants import BodyConstants
from pliant.solvers.protocol import World

# Parts that dot products are added up from, and those that a body's rigid motion is.
CHUNKS = 512
BODY_CHUNKS = 64


class Hybrid:
    """The tables and scratch arrays of the hybrid step.

    A spring pulls its ends with k (d - L n). Implicit Euler on the linear part k d alone has the same matrix in x, y
    and z and at all times, M + h^2 K with K the Laplacian of the spring constants, one number per spring. So

        (M + h (h + damping) K) dv = h f(x, v) - h^2 K v

    is solved, with f all forces at the start of the step. The real stiffness k n n^T + ... is never above k in any
    direction, hence the step is stable whatever h and k are. The paper multiplies by the inverse of the matrix, kept as
    a dense table; here conjugate gradients solve it each time, which a million particles need. The paper filters the
    internal forces alone; here those from outside go through the filter too, so that bodies at rest are where their
    forces balance. Volumes and areas enter K by a bound: (sum of g_i u_i)^2 is at most (sum of |g|^2) / n times the sum
    of |u_i - u_j|^2 over the edges.

    The linear part turns no rigid rotation into zero, so the solve slows down spinning. Internal forces have no net
    impulse and no torque; what the solution has of either is given back as a rigid motion of the whole body (the paper:
    as a force), where no particle of it is pinned.

    Args:
        model: the bodies of this method.
        bodies: their constants on the device, and as they are.
        iterations: most CG iterations of a solve.
        tolerance: relative residual at which it stops.
    """

    def __init__(
        self,
        model: Model,
        bodies: wp.array,
        constants: Sequence[BodyConstants],
        world: World,
        iterations: int,
        tolerance: float,
        device: str,
    ) -> None:
        self.device = device
        self.model = model
        self.constants = constants
        self.bodies = bodies
        self.world = world
        self.iterations = iterations
        self.tolerance = tolerance
        self.first = model.bodies[0].particles[0]
        self.count = model.bodies[-1].particles[1] - self.first
        n = model.particles.count
        make = lambda a, t: wp.array(np.ascontiguousarray(a), dtype=t, device=device)
        starts, self._spring, corner = incidence(model.springs.pairs, n)
        self.links = kernels.Links()
        self.links.starts = make(starts.astype(np.int32), int)
        self.links.other = make(model.springs.pairs[self._spring, 1 - corner], int)
        self.links.weight = wp.zeros(len(self._spring), dtype=float, device=device)
        self.links.body = make(model.particles.body - model.particles.body[self.first], int)
        self.set_weights(model.springs.stiffness)
        self.first_of = make(
            np.array([*(b.particles[0] for b in model.bodies), self.first + self.count], np.int32), int
        )
        self.mass = make(model.particles.mass.astype(np.float32), float)
        self.cg = ConjugateGradients(n, self.first, self.count, CHUNKS, device)
        self.dv = wp.zeros(n, dtype=wp.vec3, device=device)
        self.inverse = wp.zeros(n, dtype=float, device=device)
        many = len(model.bodies)
        self.sums = wp.zeros((many * BODY_CHUNKS, int(kernels.SUMS)), dtype=wp.float64, device=device)
        self.shift, self.spin = (wp.zeros(many, dtype=wp.vec3, device=device) for _ in range(2))

    def set_weights(self, stiffness: np.ndarray, triangles: np.ndarray | None = None) -> None:
        """Take the springs' constants [N/m] (e,), and which triangles are still there (t,) bool, all if not given."""
        weight = stiffness + element_weights(self.model, self.constants, triangles)
        self.links.weight.assign(weight[self._spring].astype(np.float32))

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 4096) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def step(
        self, state: State, a: wp.array, now: tuple[wp.array, ...], later: tuple[wp.array, ...], dt: float
    ) -> None:
        """From (x, carry, v, v_carry) now to the same later, with the accelerations a of now."""
        x, _, v, _ = now
        w = state.inv_mass
        system = [self.links, self.bodies, self.mass, w]
        gravity = wp.vec3(*self.world.gravity)
        cg = self.cg
        self._each(kernels.begin, [*system, a, v, gravity, dt], [self.inverse, self.dv, cg.r, cg.d], grain=1024)
        cg.begin(self.tolerance)
        cg.run(
            lambda: self._each(kernels.product, [*system, cg.d, dt], [cg.q], grain=1024),
            lambda: self._each(kernels.descend, [self.inverse, cg.d, cg.q, cg.scalars], [self.dv, cg.r, cg.z]),
            self.iterations,
        )
        many = len(self.model.bodies)
        outside = [state.f_ext, int(self.world.has_f_ext), gravity, dt]
        launch(
            kernels.sum_bodies,
            many * BODY_CHUNKS,
            [self.first_of, self.bodies, BODY_CHUNKS, self.mass, w, x, v, self.dv, *outside],
            [self.sums],
            device=self.device,
            grain=max(1, 16384 * BODY_CHUNKS * many // max(self.count, 1)),
        )
        launch(kernels.rigid_motion, many, [BODY_CHUNKS, self.sums], [self.shift, self.spin], device=self.device)
        self._each(
            kernels.finish, [self.links, self.first_of, w, self.shift, self.spin, self.dv, *now, dt], list(later)
        )

    def last_iterations(self) -> int:
        """CG iterations of the last step; reads back from the device."""
        return self.cg.iterations()


def element_weights(
    model: Model, constants: Sequence[BodyConstants], triangles: np.ndarray | None = None
) -> np.ndarray:
    """What volumes and areas add to the weights of the springs on their edges, at rest [N/m] (e,)."""
    n = model.particles.count
    pairs = model.springs.pairs.astype(np.int64)
    keys = pairs.min(axis=1) * n + pairs.max(axis=1)
    order = np.argsort(keys, kind="stable")
    weight = np.zeros(len(pairs))
    x = model.particles.rest
    base = model.bodies[0].triangles[0], model.bodies[0].tets[0]

    def add(corners: np.ndarray, scale: np.ndarray, gradients: np.ndarray) -> None:
        width = corners.shape[1]
        bound = scale * (gradients**2).sum(axis=(1, 2)) / width
        for i in range(width):
            for j in range(i + 1, width):
                low, high = np.minimum(corners[:, i], corners[:, j]), np.maximum(corners[:, i], corners[:, j])
                found = order[np.searchsorted(keys[order], low.astype(np.int64) * n + high)]
                weight[:] += np.bincount(found, bound, len(pairs))

    for body, c in zip(model.bodies, constants, strict=True):
        rows = np.arange(body.triangles[0] - base[0], body.triangles[1] - base[0])
        if triangles is not None:
            rows = rows[triangles[rows]]
        corners = model.triangles.corners[rows]
        if len(corners) and c.area_stiffness > 0:
            e = x[np.roll(corners, -2, axis=1)] - x[np.roll(corners, -1, axis=1)]
            # the gradient of the area at a corner is half the opposite edge, turned
            add(corners, c.area_stiffness / model.triangles.rest_area[rows], 0.5 * e)
        rows = np.arange(body.tets[0] - base[1], body.tets[1] - base[1])
        corners = model.tets.corners[rows]
        if len(corners) and c.volume_stiffness > 0:
            volume = model.tets.rest_volume[rows]
            others = x[corners[:, OTHER_CORNERS]]
            gradient = np.cross(others[:, :, 1] - others[:, :, 0], others[:, :, 2] - others[:, :, 0]) / 6.0
            scale = c.volume_stiffness / volume**2
            if c.volume_form == VOLUME_PER_VOLUME:
                scale = c.volume_stiffness / volume
            elif c.volume_form == VOLUME_ABSOLUTE:
                scale = np.full(len(volume), 6.0 * c.volume_stiffness)
            add(corners, scale, gradient)
    return weight
