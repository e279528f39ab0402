"""Pressure inside the closed surfaces of a model: `Pressure` and `GlobalVolume` bodies, in four launches for all."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.forces import chunks
from pliant.forces import enclosed_kernels as kernels
from pliant.forces.global_volume import GlobalVolume
from pliant.forces.pressure import Pressure
from pliant.launch import launch
from pliant.materials import Material
from pliant.model.model import Body, Model
from pliant.model.patches import incidence
from pliant.model.state import State

# Relative change of volume for which the pressure's own stiffness is counted in the stable step.
EXPECTED_SQUEEZE = 0.05
# Items worth a CPU thread of their own.
CHUNKS_PER_THREAD = 64
VERTICES_PER_THREAD = 2048


class EnclosedPressure:
    """Adds p dV/dx_i to the force on every vertex of the bodies that hold a gas or keep their volume.

    Args:
        model: what is simulated.
        bodies: those of the model with `Pressure` or `GlobalVolume` settings.
        settings: of each.
        device: where.
    """

    def __init__(self, model: Model, bodies: Sequence[Body], settings: Sequence[Pressure | GlobalVolume], device: str):
        self.device = device
        self.active = True
        self._triangles = [np.asarray(body.surface, np.int64) for body in bodies]
        rest, mass = model.particles.rest, model.particles.mass
        self.rest_volume = [enclosed_volume(rest, t) for t in self._triangles]
        slopes = [_slopes(rest, mass, t) for t in self._triangles]
        each = zip(settings, bodies, self.rest_volume, slopes, strict=True)
        self.settings = [_completed(s, body, breath / volume) for s, body, volume, (breath, _) in each]
        self.fastest = self._fastest(slopes)
        runs = chunks.cut([b.particles[1] - b.particles[0] for b in bodies])
        self._runs = runs
        make = lambda a, t: wp.array(np.ascontiguousarray(a, np.int32), dtype=t, device=device)
        self._chunk_starts = make(runs.starts, int)
        corners = np.concatenate(self._triangles)
        particle = np.concatenate([np.arange(*body.particles) for body in bodies])
        starts, element, corner = incidence(corners, model.particles.count)
        lengths = (starts[1:] - starts[:-1])[particle]
        # the rows of other particles are empty, so the fans of these follow one another
        others = np.stack([corners[element, (corner + 1) % 3], corners[element, (corner + 2) % 3]], axis=1)
        self._particle = make(particle, int)
        self._body_of = make(np.repeat(np.arange(len(bodies)), [b.particles[1] - b.particles[0] for b in bodies]), int)
        self._fan_starts = make(np.concatenate([[0], np.cumsum(lengths)]), int)
        self._fan = make(others, wp.vec2i)
        self._data = wp.array([self._struct(b, body) for b, body in enumerate(bodies)],
                              dtype=kernels.EnclosedBody, device=device)  # fmt: skip
        self._gradient = wp.zeros(len(particle), dtype=wp.vec3, device=device)
        self._share = wp.zeros(len(particle), dtype=wp.vec3d, device=device)
        self._part = wp.zeros(runs.count, dtype=wp.vec3d, device=device)
        self.pressure = wp.zeros(len(bodies), dtype=float, device=device)
        self.names = [body.name for body in bodies]
        self.gas = wp.array(np.array([_gas(s) for s in self.settings]), dtype=wp.vec3d, device=device)
        self._weight = wp.zeros(len(bodies), dtype=wp.vec3, device=device)

    def _struct(self, b: int, body: Body) -> kernels.EnclosedBody:
        settings, data = self.settings[b], kernels.EnclosedBody()
        data.chunks = wp.vec2i(*(int(c) for c in self._runs.ranges[b]))
        data.anchor = body.particles[0]
        data.law = settings.law
        data.rest_volume = self.rest_volume[b]
        if isinstance(settings, Pressure):
            data.ambient = settings.ambient
        else:
            data.stiffness, data.damping_time = settings.stiffness, settings.damping
        return data

    def apply(self, state: State, dt: float) -> None:
        """Add to state.f_ext, from state.x and v; weaker where it has become too stiff for a step of dt [s]."""
        count = len(self._particle)
        ids = [self._particle, self._body_of]
        launch(
            kernels.find_gradient,
            count,
            [self._data, *ids, self._fan_starts, self._fan, state.inv_mass, state.x, state.v],
            [self._gradient, self._share],
            device=self.device,
            grain=VERTICES_PER_THREAD,
        )
        runs = [self._chunk_starts, self._share]
        launch(kernels.sum_chunks, self._runs.count, runs, [self._part], device=self.device, grain=CHUNKS_PER_THREAD)
        bodies = [self._data, self._part, wp.float64(dt)]
        launch(kernels.find_pressure, len(self.settings), bodies, [self.gas, self.pressure], device=self.device)
        push = [*ids, self._gradient, self.pressure, self._data, self._weight, state.x]
        launch(kernels.push_out, count, push, [state.f_ext], device=self.device, grain=4 * VERTICES_PER_THREAD)

    def arrays(self) -> dict[str, wp.array]:
        """The overpressures of gases as they are now, where they are going, and how fast."""
        return {"gas": self.gas}

    def surround(self, gravity: Sequence[float], air_density: float) -> None:
        """Tell of the gravity [m/s^2] and the air [kg/m^3] around, between frames; gases of known density float."""
        rows = np.zeros((len(self.settings), 3), np.float32)
        for row, settings in zip(rows, self.settings, strict=True):
            if isinstance(settings, Pressure) and settings.gas_density is not None:
                row[:] = (settings.gas_density - air_density) * np.array(gravity)
        self._weight.assign(rows)

    def set_pressure(self, name: str, overpressure: float, seconds: float) -> None:
        """Let gas into a body or out of it until it has an overpressure [Pa] at its rest volume."""
        gas = self.gas.numpy().copy()
        row = gas[self.names.index(name)]
        row[1] = overpressure
        if seconds > 0.0:
            row[2] = abs(overpressure - row[0]) / seconds
        else:
            row[0] = overpressure
        self.gas.assign(gas)

    def volume(self, name: str, x: np.ndarray) -> float:
        """Volume of a body [m^3] in positions x [m] (n, 3)."""
        return enclosed_volume(x, self._triangles[self.names.index(name)])

    def energy(self, x: np.ndarray) -> float:
        """Energy of positions x [m] (n, 3) float64 [J]."""
        shares = [enclosed_volume(x, t) / v for t, v in zip(self._triangles, self.rest_volume, strict=True)]
        now = [
            dataclasses.replace(s, overpressure=float(gas[0])) if isinstance(s, Pressure) else s
            for s, gas in zip(self.settings, self.gas.numpy(), strict=True)
        ]
        return sum(s.energy(r, v) for s, r, v in zip(now, shares, self.rest_volume, strict=True))

    def _fastest(self, slopes: Sequence[tuple[float, float]]) -> tuple[float, float]:
        """Bounds of omega^2 [1/s^2] and of the damping rate [1/s] over all bodies, at rest.

        The volume's own stiffness -dp/dV g g^T has the one mode omega^2 = -dp/dV sum |g_i|^2 / m_i, g_i = dV/dx_i.
        The pressure's, p d2V/dx2, is bounded by its largest row: a neighbour j of i counts with the distance of the
        two vertices beside it, over 6, and these distances are at most twice the length of the ring around i.
        """
        square, rate = 0.0, 0.0
        for settings, volume, (breath, around) in zip(self.settings, self.rest_volume, slopes, strict=True):
            if isinstance(settings, Pressure):
                stiffness = settings.ambient + settings.overpressure
                pressure, damping = settings.overpressure + EXPECTED_SQUEEZE * stiffness, 0.0
            else:
                assert settings.stiffness is not None and settings.damping is not None
                stiffness, damping = settings.stiffness, settings.damping
                pressure = EXPECTED_SQUEEZE * stiffness
            own = stiffness / volume * breath
            square = max(square, own + pressure * around)
            rate = max(rate, damping * own)
        return square, rate


def _gas(settings: Pressure | GlobalVolume) -> tuple[float, float, float]:
    """Overpressure now, where it is going [Pa], and how fast [Pa/s]."""
    if not isinstance(settings, Pressure):
        return 0.0, 0.0, 0.0
    if settings.rise <= 0.0:
        return settings.overpressure, settings.overpressure, 0.0
    return 0.0, settings.overpressure, settings.overpressure / settings.rise


def enclosed_volume(x: np.ndarray, triangles: np.ndarray) -> float:
    """Signed volume [m^3] that closed triangles (k, 3) enclose in positions x [m], about a point of theirs."""
    a, b, c = (x[triangles[:, k]] - x[triangles[0, 0]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b - a, c - a)) / 6.0)


def _slopes(x: np.ndarray, mass: np.ndarray, triangles: np.ndarray) -> tuple[float, float]:
    """Sum of |dV/dx_i|^2 / m_i [m^4/kg], and the largest length of a ring around a vertex over 3 m_i [m/kg]."""
    a, b, c = (x[triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a) / 6.0
    gradient, ring = np.zeros_like(x), np.zeros(len(x))
    for k, opposite in enumerate((c - b, a - c, b - a)):
        ring += np.bincount(triangles[:, k], np.linalg.norm(opposite, axis=1), len(x))
        for axis in range(3):
            gradient[:, axis] += np.bincount(triangles[:, k], normal[:, axis], len(x))
    used = np.unique(triangles)
    breath = float(np.sum(np.sum(gradient[used] ** 2, axis=1) / mass[used]))
    return breath, float((ring[used] / (3.0 * mass[used])).max())


def default_damping(material: Material, square: float) -> float:
    """The material's damping time [s], at most a quarter of what is critical at omega^2 [1/s^2].

    More would make the step of a stiff inside smaller by far and the motion hardly calmer.
    """
    return min(material.damping, 0.5 / math.sqrt(square))


def _completed(settings: Pressure | GlobalVolume, body: Body, slope: float) -> Pressure | GlobalVolume:
    """The settings with what the material says where nothing was given; slope is omega^2 over the stiffness."""
    if isinstance(settings, Pressure):
        return settings
    stiffness = body.material.bulk_modulus if settings.stiffness is None else settings.stiffness
    damping = default_damping(body.material, stiffness * slope) if settings.damping is None else settings.damping
    return dataclasses.replace(settings, stiffness=stiffness, damping=damping)
