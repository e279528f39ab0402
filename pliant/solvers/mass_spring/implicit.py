"""Implicit Euler by Newton's method: each linear system (M + h D + h^2 K) dv = r is solved by filtered conjugate
gradients (Baraff and Witkin 1998), with the stiffness of the springs and volumes made positive semi-definite, and a
line search on what implicit Euler minimises keeps a hard impact from adding energy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import warp as wp

from pliant.launch import copy, launch
from pliant.model.model import Model
from pliant.model.patches import OTHER_CORNERS, incidence
from pliant.model.springs import Springs
from pliant.model.state import State
from pliant.physics.contact import SLOW
from pliant.solvers.common.cg_kernels import block_product
from pliant.solvers.common.conjugate_gradients import ConjugateGradients
from pliant.solvers.mass_spring import implicit_kernels as kernels
from pliant.solvers.mass_spring import newton_kernels as newton
from pliant.solvers.protocol import World

CHUNKS = 512
# Fractions of a Newton step that the line search tries: 1, 1/2, 1/4, ...
TRIALS = 5


class ImplicitEuler:
    """The tables and scratch arrays of the implicit step.

    Args:
        model: the bodies of this method.
        bodies: their constants on the device. awake: 1 for those that move.
        newton_steps: linear solves per step.
        iterations: most CG iterations a solve may take.
        tolerance: relative residual at which CG stops.
        rest_speed: approach slower than this does not bounce [m/s].
    """

    def __init__(
        self,
        model: Model,
        bodies: wp.array,
        awake: wp.array,
        world: World,
        newton_steps: int,
        iterations: int,
        tolerance: float,
        rest_speed: float,
        device: str,
    ) -> None:
        self.device = device
        self.bodies, self.awake = bodies, awake
        self.newton_steps = newton_steps
        self.iterations = iterations
        self.tolerance = tolerance
        self.first = model.bodies[0].particles[0]
        self.count = model.bodies[-1].particles[1] - self.first
        n = model.particles.count
        self.model = model
        self.around = _around(model, device)
        self._whole = self.around.triangle_others.numpy().copy()
        self.tets = model.tets.count
        self.mass = wp.array(model.particles.mass.astype(np.float32), dtype=float, device=device)
        self.world = world
        self.rest_speed = rest_speed
        self.az, self.dv, self.normal, self.full = (wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(4))
        self.v, self.v_trial, self.x_trial, self.x_linear = (
            wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(4)
        )
        self.merit = wp.zeros(1 + TRIALS, dtype=wp.float64, device=device)
        self.fraction = wp.zeros(1, dtype=float, device=device)
        self.whole = wp.ones(1, dtype=float, device=device)
        self.zero = wp.zeros(n, dtype=wp.vec3, device=device)
        self.grip = wp.zeros(n, dtype=wp.vec3, device=device)
        self.friction = wp.zeros(n, dtype=wp.vec2, device=device)
        self.inverse = wp.zeros(n, dtype=wp.mat33, device=device)
        self.diagonal = wp.zeros(n, dtype=wp.mat33, device=device)
        self.block = wp.zeros(2 * model.springs.count, dtype=wp.mat33, device=device)
        self.cg = ConjugateGradients(n, self.first, self.count, CHUNKS, device)

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 4096) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def _product(self, p: wp.array, out: wp.array) -> None:
        """out = A p."""
        rows = [self.around.spring_starts, self.around.spring_other]
        self._each(
            block_product, [*rows, self.around.body, self.awake, self.diagonal, self.block, p], [out], grain=1024
        )

    def _solve(self, w: wp.array, dt: float) -> None:
        """Filtered CG for the change dv of the velocities; what dv holds at first is prescribed (z in the paper)."""
        self._each(
            kernels.assemble_rows,
            [self.around, self.bodies, self.awake, self.mass, self.x_linear, dt],
            [self.diagonal, self.block, self.inverse],
            grain=256,
        )
        cg = self.cg
        self._product(self.dv, self.az)
        self._each(newton.first_direction, [w, self.full, self.az, self.normal, self.inverse], [cg.r, cg.d])
        cg.begin(self.tolerance)
        cg.run(
            lambda: self._product(cg.d, cg.q),
            lambda: self._each(
                kernels.descend,
                [w, self.normal, self.inverse, cg.d, cg.q, cg.scalars],
                [self.dv, cg.r, cg.z],
            ),
            self.iterations,
        )

    def _note_merit(self, state: State, v_before: wp.array, x: wp.array, v: wp.array, dt: float, place: int) -> None:
        """Store what implicit Euler minimises at positions x and velocities v."""
        gravity = wp.vec3(*self.world.gravity)
        grain = max(1, 16384 * CHUNKS // max(self.count, 1))
        particles = [
            self.around,
            self.bodies,
            self.mass,
            state.inv_mass,
            state.f_ext,
            int(self.world.has_f_ext),
            v_before,
            v,
        ]
        launch(
            newton.merit_particles,
            CHUNKS,
            [*particles, gravity, dt, self.first, self.count, CHUNKS],
            [self.cg.parts],
            device=self.device,
            grain=grain,
        )
        launch(
            newton.merit_elements,
            CHUNKS,
            [self.around, self.bodies, x, v, dt, self.first, self.count, self.tets, CHUNKS],
            [self.cg.parts],
            device=self.device,
            grain=grain // 8 + 1,
        )
        launch(newton.note_merit, 1, [self.cg.parts, place], [self.merit], device=self.device)

    def step(
        self,
        state: State,
        accelerate: Callable[[wp.array, wp.array], wp.array],
        now: tuple[wp.array, ...],
        later: tuple[wp.array, ...],
        dt: float,
    ) -> None:
        """From (x, carry, v, v_carry) now to the same later; `accelerate` takes positions and velocities."""
        x, _, v, _ = now
        w = state.inv_mass
        copy(self.v, v)
        # the first solve lands the particles that are about to pass a plane, and carries the impact through the body
        self._find_residual(x, v, accelerate, dt)
        self._find_contacts(x, v, w, dt, first_look=True)
        self._solve(w, dt)
        self._each(newton.move, [self.dv, self.whole], [self.v])
        for _ in range(self.newton_steps - 1):
            # later ones are put on the plane at once, so that the line search compares like with like
            self._find_residual(x, v, accelerate, dt)
            self._find_contacts(x, v, w, dt, first_look=False)
            self._each(newton.move, [self.dv, self.whole], [self.v])
            self._find_residual(x, v, accelerate, dt)
            copy(self.dv, self.zero)
            self._note_merit(state, v, self.x_linear, self.v, dt, 0)
            self._solve(w, dt)
            for t in range(TRIALS):
                self._each(newton.trial, [x, self.v, self.dv, 0.5**t, dt], [self.v_trial, self.x_trial])
                self._note_merit(state, v, self.x_trial, self.v_trial, dt, 1 + t)
            launch(newton.choose_fraction, 1, [self.merit, TRIALS], [self.fraction], device=self.device)
            self._each(newton.move, [self.dv, self.fraction], [self.v])
        # what is left of the equation are the impulses of the contacts, for friction
        self._find_residual(x, v, accelerate, dt)
        self._each(newton.finish, [w, self.normal, self.grip, self.friction, self.full, *now, self.v, dt], list(later))

    def _find_residual(
        self, x: wp.array, v: wp.array, accelerate: Callable[[wp.array, wp.array], wp.array], dt: float
    ) -> None:
        """Write the residual at the present guess of the velocities, and the positions it leads to."""
        self._each(newton.trial, [x, self.v, self.zero, 0.0, dt], [self.v_trial, self.x_linear])
        a = accelerate(self.x_linear, self.v)
        self._each(newton.residual, [self.mass, a, v, self.v, dt], [self.full])

    def _find_contacts(self, x: wp.array, v: wp.array, w: wp.array, dt: float, *, first_look: bool) -> None:
        """Choose the particles that planes hold, and the velocity change dv that lands the new ones."""
        ahead = np.array(self.world.gravity) * (dt if first_look else 0.0)
        planes = [self.world.planes, self.world.plane_count, self.around, self.bodies, w, self.full]
        self._each(
            newton.contact_constraints,
            [*planes, x, v, self.v, wp.vec3(*ahead.tolist()), dt, self.rest_speed, int(first_look)],
            [self.normal, self.dv, self.grip, self.friction],
        )

    def held_impulses(self) -> tuple[np.ndarray, np.ndarray]:
        """Normals of the planes that held particles in the last step (n, 3), zero for none, and their impulses [N s]
        (n, 3): pushes and friction as `newton.finish` gave them; reads back from the device."""
        arrays = (self.normal, self.full, self.v, self.grip, self.friction, self.mass)
        normal, full, v, grip, friction, mass = (array.numpy().astype(np.float64) for array in arrays)
        push = np.maximum(0.0, -np.einsum("ij,ij->i", full, normal))
        slip = v - grip
        slip -= np.einsum("ij,ij->i", slip, normal)[:, None] * normal
        speed = np.linalg.norm(slip, axis=1)
        slow = mass * (speed - SLOW) <= friction[:, 1] * push
        most = np.where(slow, friction[:, 1], friction[:, 0]) * push
        taken = np.minimum(mass, most / np.maximum(speed, 1e-30))
        return normal, push[:, None] * normal - taken[:, None] * slip

    def set_remains(self, springs: Springs, torn: np.ndarray) -> None:
        """Take other constants of the same springs, and collapse the triangles of a mask (t,)."""
        _, element, _ = incidence(springs.pairs, self.model.particles.count)
        self.around.spring_constants.assign(_spring_constants(self.model, springs)[element])
        _, number, _ = incidence(self.model.triangles.corners, self.model.particles.count)
        others = self._whole.copy()
        if len(number):
            others[torn[number], 1] = others[torn[number], 0]
        self.around.triangle_others.assign(others)

    def last_iterations(self) -> int:
        """CG iterations of the last step; reads back from the device."""
        return self.cg.iterations()


def _spring_constants(model: Model, springs: Springs) -> np.ndarray:
    """Stiffness, rest length, and stretch in the rest shape, of each spring (e, 3) float32."""
    ends = model.particles.rest[springs.pairs]
    stress = 1.0 - springs.rest_length / np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    return np.stack([springs.stiffness, springs.rest_length, stress], 1).astype(np.float32)


def _around(model: Model, device: str) -> kernels.Around:
    """The elements around each particle, as tables on the device."""
    n = model.particles.count
    around = kernels.Around()
    around.body = wp.array(
        model.particles.body - model.particles.body[model.bodies[0].particles[0]], dtype=int, device=device
    )

    def put(name: str, array: np.ndarray, dtype: object) -> None:
        setattr(around, name, wp.array(np.ascontiguousarray(array), dtype=dtype, device=device))

    starts, element, corner = incidence(model.springs.pairs, n)
    owner = np.repeat(np.arange(n), np.diff(starts))
    other = model.springs.pairs[element, 1 - corner]
    put("spring_starts", starts.astype(np.int32), int)
    put("spring_other", other, int)
    put("spring_constants", _spring_constants(model, model.springs)[element], wp.vec3)
    keys = owner.astype(np.int64) * n + other
    order = np.argsort(keys, kind="stable")

    def put_seen(name: str, corners: np.ndarray, others_of: np.ndarray, dtype: object) -> np.ndarray:
        """Store the elements around each particle as seen from it; return their numbers."""
        first, number, mine = incidence(corners, n)
        others = np.take_along_axis(corners[number], others_of[mine], axis=1)
        viewer = np.repeat(np.arange(n, dtype=np.int64), np.diff(first))
        slots = order[np.searchsorted(keys[order], viewer[:, None] * n + others)]
        put(f"{name}_starts", first.astype(np.int32), int)
        put(f"{name}_others", others, dtype)
        put(f"{name}_blocks", slots.astype(np.int32), dtype)
        return number

    tets = model.tets.corners
    put("tet_number", put_seen("tet", tets, OTHER_CORNERS, wp.vec3i).astype(np.int32), int)
    put("tet_corners", tets, wp.vec4i)
    put("tet_inv_six_volume", (1.0 / (6.0 * model.tets.rest_volume)).astype(np.float32), float)
    first_body = model.particles.body[model.bodies[0].particles[0]]
    put("tet_body", model.particles.body[tets[:, 0]] - first_body, int)
    seen = put_seen("triangle", model.triangles.corners, np.array([[1, 2], [2, 0], [0, 1]]), wp.vec2i)
    put("triangle_inv_double_area", (0.5 / model.triangles.rest_area[seen]).astype(np.float32), float)
    return around
