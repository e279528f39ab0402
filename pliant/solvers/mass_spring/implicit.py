"""One implicit Euler step: (M + h D + h^2 K) dv = h (f - h K v), solved by filtered conjugate gradients.

Baraff and Witkin 1998, with the stiffness of the same springs and volumes made positive semi-definite.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.launch import launch, repeat_while
from pliant.model.model import Model
from pliant.model.patches import OTHER_CORNERS, incidence
from pliant.model.state import State
from pliant.solvers.mass_spring import implicit_kernels as kernels
from pliant.solvers.protocol import World

CHUNKS = 512


class ImplicitEuler:
    """The tables and scratch arrays of the implicit step.

    Args:
        model: the bodies of this method.
        bodies: their constants on the device.
        iterations: most CG iterations a step may take.
        tolerance: relative residual at which CG stops.
    """

    def __init__(
        self, model: Model, bodies: wp.array, world: World, iterations: int, tolerance: float, device: str
    ) -> None:
        self.device = device
        self.bodies = bodies
        self.iterations = iterations
        self.tolerance = tolerance
        self.first = model.bodies[0].particles[0]
        self.count = model.bodies[-1].particles[1] - self.first
        n = model.particles.count
        self.around = _around(model, device)
        self.tets = model.tets.count
        self.mass = wp.array(model.particles.mass.astype(np.float32), dtype=float, device=device)
        planes = world.planes.numpy()
        self.plane_count = world.plane_count
        self.plane_normal = wp.array(np.asarray(planes["normal"]).reshape(-1, 3), dtype=wp.vec3, device=device)
        self.plane_offset = wp.array(np.asarray(planes["offset"]).reshape(-1), dtype=float, device=device)
        self.margin = 1e-5
        self.kv, self.az, self.r, self.d, self.q, self.z, self.dv, self.normal = (
            wp.zeros(n, dtype=wp.vec3, device=device) for _ in range(8)
        )
        self.inverse = wp.zeros(n, dtype=wp.mat33, device=device)
        self.tet_product = wp.zeros(max(self.tets, 1), dtype=float, device=device)
        self.parts = wp.zeros(CHUNKS, dtype=wp.float64, device=device)
        self.scalars = wp.zeros(8, dtype=wp.float64, device=device)
        self.going = wp.zeros(1, dtype=int, device=device)
        self.released = wp.zeros(n, dtype=int, device=device)

    def _each(self, kernel: object, inputs: list, outputs: list, grain: int = 4096) -> None:
        launch(kernel, self.count, inputs, outputs, device=self.device, first=self.first, grain=grain)

    def _product(self, x: wp.array, p: wp.array, mass: float, factor: float, inv_dt: float, out: wp.array) -> None:
        """out = (mass M + factor (K + D inv_dt)) p."""
        if self.tets:
            launch(
                kernels.tet_products,
                self.tets,
                [self.around, self.bodies, x, p, factor, inv_dt],
                [self.tet_product],
                device=self.device,
                grain=4096,
            )
        self._each(
            kernels.system_product,
            [self.around, self.bodies, self.mass, x, p, self.tet_product, mass, factor, inv_dt],
            [out],
            grain=1024,
        )

    def _dot(self, a: wp.array, b: wp.array) -> None:
        launch(
            kernels.dot_parts,
            CHUNKS,
            [a, b, self.first, self.count, CHUNKS],
            [self.parts],
            device=self.device,
            grain=max(1, 65536 * CHUNKS // max(self.count, 1)),
        )

    def step(
        self, state: State, a: wp.array, now: tuple[wp.array, ...], later: tuple[wp.array, ...], dt: float
    ) -> None:
        """From (x, carry, v, v_carry) now, with the acceleration a, to the same later."""
        x, _, v, _ = now
        w = state.inv_mass
        inv_dt = 1.0 / dt
        one = lambda kernel, inputs, outputs: launch(kernel, 1, inputs, outputs, device=self.device)  # noqa: E731
        self._each(
            kernels.contact_constraints,
            [self.plane_count, self.plane_normal, self.plane_offset, w, self.released, x, v, self.margin],
            [self.normal, self.dv],
        )
        self._product(x, v, 0.0, dt, 0.0, self.kv)
        self._each(
            kernels.inverse_diagonal,
            [self.around, self.bodies, self.mass, x, dt * dt, inv_dt],
            [self.inverse],
            grain=1024,
        )
        self._product(x, self.dv, 1.0, dt * dt, inv_dt, self.az)
        self._each(
            kernels.right_hand_side,
            [self.mass, w, a, self.kv, self.az, self.normal, self.inverse, dt],
            [self.r, self.d],
        )
        self._dot(self.r, self.d)
        one(kernels.begin_solve, [self.parts, self.tolerance], [self.scalars, self.going])

        def iterate() -> None:
            self._product(x, self.d, 1.0, dt * dt, inv_dt, self.q)
            self._dot(self.d, self.q)
            one(kernels.find_alpha, [self.parts], [self.scalars])
            self._each(
                kernels.descend,
                [w, self.normal, self.inverse, self.d, self.q, self.scalars],
                [self.dv, self.r, self.z],
            )
            self._dot(self.r, self.z)
            one(kernels.find_beta, [self.parts, self.iterations], [self.scalars, self.going])
            self._each(kernels.turn, [self.z, self.scalars], [self.d])

        repeat_while(self.going, iterate, device=self.device)
        self._product(x, self.dv, 1.0, dt * dt, inv_dt, self.az)
        self._each(
            kernels.finish,
            [self.mass, w, self.normal, a, self.kv, self.az, *now, self.dv, dt],
            [self.released, *later],
        )

    def last_iterations(self) -> int:
        """CG iterations of the last step; reads back from the device."""
        return int(self.scalars.numpy()[4])


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
    put("spring_starts", starts.astype(np.int32), int)
    put("spring_other", model.springs.pairs[element, 1 - corner], int)
    constants = np.stack([model.springs.stiffness, model.springs.rest_length], 1).astype(np.float32)
    put("spring_constants", constants[element], wp.vec2)
    tets = model.tets.corners
    starts, element, corner = incidence(tets, n)
    put("tet_starts", starts.astype(np.int32), int)
    put("tet_number", element.astype(np.int32), int)
    put("tet_others", np.take_along_axis(tets[element], OTHER_CORNERS[corner], axis=1), wp.vec3i)
    put("tet_corners", tets, wp.vec4i)
    put("tet_inv_six_volume", (1.0 / (6.0 * model.tets.rest_volume)).astype(np.float32), float)
    first_body = model.particles.body[model.bodies[0].particles[0]]
    put("tet_body", model.particles.body[tets[:, 0]] - first_body, int)
    triangles = model.triangles.corners
    starts, element, corner = incidence(triangles, n)
    put("triangle_starts", starts.astype(np.int32), int)
    others = np.array([[1, 2], [2, 0], [0, 1]])
    put("triangle_others", np.take_along_axis(triangles[element], others[corner], axis=1), wp.vec2i)
    put("triangle_inv_double_area", (0.5 / model.triangles.rest_area[element]).astype(np.float32), float)
    return around
