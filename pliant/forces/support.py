"""Support springs that stand for the inside of a closed surface, after Vassilev and Spanlang."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import warp as wp

from pliant.forces import chunks, support_kernels
from pliant.forces.enclosed import default_damping, enclosed_volume
from pliant.launch import launch
from pliant.model.model import Body, Model
from pliant.model.particles import lumped_mass
from pliant.model.state import State
from pliant.model.triangles import areas
from pliant.settings import Described, setting

# Items worth a CPU thread of their own.
CHUNKS_PER_THREAD = 16
VERTICES_PER_THREAD = 4096


@dataclasses.dataclass(frozen=True)
class SupportSprings(Described):
    """A spring at every vertex of a closed surface that holds it at its rest place in the body's rigid frame.

    Vassilev and Spanlang (2002, "A mass-spring model for real time deformable solids") simulate the surface alone and
    give the surface particles support springs, which stand for the volume behind them; the idea is taken from there,
    the form is ours. A spring stands for a column of the inside: k_i = young A_i / depth, with the area A_i of the
    vertex, so that the body does not change with the mesh. It pulls in all directions (along the surface too, where
    the inside resists shear) towards the rest place R q_i + c, and the frame (c, R) is the one that makes
    E = sum k_i/2 |x_i - c - R q_i|^2 least. So a moved or turned rest shape feels nothing, the springs add up to no
    force and no torque, and the force is the negative gradient of E. The damper acts against the motion that is left
    when the rigid one is taken away, and keeps momentum too.
    """

    kind: ClassVar[str] = "support"

    young: float | None = setting(
        None, "Young's modulus of the inside; the material's if not given", unit="Pa", above=0.0, high=1e13
    )
    depth: float | None = setting(
        None,
        "thickness that a spring stands for; 3 V/A if not given, the radius of a ball",
        unit="m",
        above=0.0,
        high=1e6,
    )
    damping: float | None = setting(
        None,
        "damping of the springs, over their stiffness; the material's or a quarter of the critical one if not given",
        unit="s",
        low=0.0,
        high=10.0,
    )


class Supports:
    """Adds the support springs to the force on every vertex of the bodies that have them.

    Args:
        model: what is simulated.
        bodies: those of the model with `SupportSprings` settings.
        settings: of each.
        device: where.
    """

    def __init__(self, model: Model, bodies: Sequence[Body], settings: Sequence[SupportSprings], device: str):
        self.device = device
        self.active = True
        counts = [b.particles[1] - b.particles[0] for b in bodies]
        runs = chunks.cut(counts)
        self._runs = runs
        self._index = [np.arange(*b.particles) for b in bodies]
        self._weight: list[np.ndarray] = []
        self._place: list[np.ndarray] = []
        data = []
        square, rate = 0.0, 0.0
        for b, (body, chosen) in enumerate(zip(bodies, settings, strict=True)):
            k, place, damping = self._springs(model, body, chosen)
            self._weight.append(k)
            self._place.append(place)
            struct = support_kernels.SupportedBody()
            struct.chunks = wp.vec2i(*(int(c) for c in runs.ranges[b]))
            struct.anchor = body.particles[0]
            struct.stiffness = float(k.sum())
            struct.scale = float(np.sum(k * np.sum(place**2, axis=1)))
            struct.damping_time = damping
            data.append(struct)
            fastest = float((k / model.particles.mass[slice(*body.particles)]).max())
            square, rate = max(square, fastest), max(rate, damping * fastest)
        self.fastest = (square, rate)
        make = lambda a, t: wp.array(np.ascontiguousarray(a), dtype=t, device=device)
        self._data = wp.array(data, dtype=support_kernels.SupportedBody, device=device)
        self._chunk_body, self._chunk_starts = make(runs.body, int), make(runs.starts, int)
        self._particle = make(np.concatenate(self._index).astype(np.int32), int)
        self._body_of = make(np.repeat(np.arange(len(bodies), dtype=np.int32), counts), int)
        self._rest = make(np.concatenate(self._place), wp.vec3d)
        self._stiffness = make(np.concatenate(self._weight).astype(np.float32), float)
        self._part = wp.zeros(runs.count, dtype=support_kernels.Sums, device=device)
        self._frames = wp.zeros(len(bodies), dtype=support_kernels.Frame, device=device)
        self.rotation = make(np.tile(np.eye(3), (len(bodies), 1, 1)), wp.mat33d)

    @staticmethod
    def _springs(model: Model, body: Body, settings: SupportSprings) -> tuple[np.ndarray, np.ndarray, float]:
        """Stiffness [N/m] (n,) and rest place [m] (n, 3) of each vertex, and the damping time [s]."""
        material = body.material
        rest = model.particles.rest
        triangles = np.asarray(body.surface, np.int64)
        area = areas(rest, triangles)
        depth = settings.depth
        if depth is None:
            depth = 3.0 * enclosed_volume(rest, triangles) / float(area.sum())
        young = material.young if settings.young is None else settings.young
        first, stop = body.particles
        k = young / depth * lumped_mass(triangles - first, area, stop - first)
        k = k.astype(np.float32).astype(np.float64)  # the centre is that of the weights the device has
        place = rest[first:stop] - np.average(rest[first:stop], axis=0, weights=k)
        damping = settings.damping
        if damping is None:
            damping = default_damping(material, float((k / model.particles.mass[first:stop]).max()))
        return k, place, damping

    def apply(self, state: State, dt: float) -> None:
        """Add to state.f_ext, from state.x and v."""
        springs = [self._rest, self._stiffness, state.x, state.v]
        launch(
            support_kernels.sum_chunks,
            self._runs.count,
            [self._data, self._chunk_body, self._chunk_starts, self._particle, *springs],
            [self._part],
            device=self.device,
            grain=CHUNKS_PER_THREAD,
        )
        fit = [self._data, self._part]
        launch(support_kernels.fit_frames, len(self._data), fit, [self.rotation, self._frames], device=self.device)
        launch(
            support_kernels.hold,
            len(self._particle),
            [self._data, self._particle, self._body_of, *springs, self._frames],
            [state.f_ext],
            device=self.device,
            grain=VERTICES_PER_THREAD,
        )

    def arrays(self) -> dict[str, wp.array]:
        """The rotation of each body, from which the next one is found."""
        return {"rotation": self.rotation}

    def energy(self, x: np.ndarray) -> float:
        """Energy of positions x [m] (n, 3) float64 [J]."""
        total = 0.0
        for index, k, place in zip(self._index, self._weight, self._place, strict=True):
            d = x[index] - np.average(x[index], axis=0, weights=k)
            u, _, vt = np.linalg.svd((k[:, None] * d).T @ place)
            turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
            total += 0.5 * float(np.sum(k * np.sum((d - place @ turn.T) ** 2, axis=1)))
        return total
