"""Wind: air that moves past the surfaces of all bodies, their rods and their loose points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.forces import wind_kernels
from pliant.forces.fan_kernels import blow_on_fans
from pliant.forces.gusts import WAVES, make_waves
from pliant.forces.wind_settings import Vector, Wind, as_wind
from pliant.launch import launch
from pliant.model.model import Body, Model
from pliant.model.patches import incidence
from pliant.model.state import State

# Particles worth a CPU thread of their own.
VERTICES_PER_THREAD = 2048


class WindForce:
    """What the air does to bodies; each thing feels its own velocity u against the air.

    Triangles of a sheet feel -rho/2 A [(Cd - Cl) (u.n)^2 u/|u| + Cl |u| (u.n) n]: the drag Cd sin^2 a along u, and the
    lift Cl sin a cos a normal to it, at the angle of attack a (Wilson et al. 2014, "Simulating wind effects on cloth
    and hair in Disney's Frozen"); with Cl = Cd all of it is along the normal, as on a flat plate beyond stall. Skin
    friction comes on top. Closed surfaces feel -rho/2 A (u.n)^2 n where they face the wind: a plate 1, a ball 0.5.
    Segments of rods have the drag of cylinders across them, loose points that of balls. Nothing shelters anything.
    A wind of zero is no air at all, unless the settings say that there is still air: nothing is computed.

    Args:
        model: what is simulated.
        device: where.
        wind: the air, or its velocity [m/s].
        density: of the air [kg/m^3].

    Attributes:
        active: whether there is air, and anything that feels it.
        settings: the air as it is now.
        velocity: its mean velocity [m/s].
    """

    def __init__(self, model: Model, device: str, wind: Any = (0.0, 0.0, 0.0), density: float = 1.2):
        self.device = device
        self.density = density
        self.fastest = (0.0, 0.0)
        self._model = model
        self._tables: _Tables | None = None
        self._air = wp.zeros(1, dtype=wind_kernels.AirData, device=device)
        self._mean = wp.zeros(1, dtype=wp.vec3, device=device)
        self._turns = wp.zeros(WAVES, dtype=wp.vec3, device=device)
        self._amplitude = wp.zeros(WAVES, dtype=wp.vec3, device=device)
        self._rate = wp.zeros(WAVES, dtype=wp.float64, device=device)
        self._phase = wp.zeros(WAVES, dtype=wp.float64, device=device)
        self._seed: int | None = None
        self._torn: np.ndarray | None = None
        self._air_at: wp.array | None = None
        self._split: list[wp.array] = []
        self.set(as_wind(wind, "wind"))

    @property
    def velocity(self) -> Vector:
        return self.settings.velocity

    @property
    def active(self) -> bool:
        return self.settings.blows and self._tables is not None and self._tables.count > 0

    @property
    def gusty(self) -> bool:
        """Whether there are gusts."""
        gusts = self.settings.gusts
        return self.active and gusts is not None and gusts.strength > 0.0 and any(self.velocity)

    def set(self, wind: Wind) -> None:
        """Change the air, between frames; gusts of the same seed go on from where they are."""
        self.settings = wind
        data = wind_kernels.AirData()
        data.velocity, data.density = wp.vec3(*wind.velocity), self.density
        data.drag, data.lift, data.friction, data.rod_drag = wind.drag, wind.lift, wind.friction, wind.rod_drag
        self._air.assign(wp.array([data], dtype=wind_kernels.AirData, device="cpu"))
        self._mean.assign(np.array([wind.velocity], np.float32))
        waves = make_waves(wind.gusts, wind.velocity)
        self._turns.assign(waves.turns.astype(np.float32))
        self._amplitude.assign(waves.amplitude.astype(np.float32))
        self._rate.assign(waves.rate)
        seed = None if wind.gusts is None else wind.gusts.seed
        if seed is not None and seed != self._seed:
            self._phase.assign(waves.phase)
            self._seed = seed
        if wind.blows and self._tables is None:
            self._tables = _Tables(self._model, self.device)
            if self._torn is not None:
                self._tables.tear(self._torn)
        if self.gusty and self._air_at is None:
            self._air_at = wp.zeros(self._model.particles.count, dtype=wp.vec3, device=self.device)

    def apply(self, state: State, dt: float) -> None:
        """Add to state.f_ext, from state.x and v, for a step of dt [s], and let the gusts move on by it."""
        if self._tables is None:
            return
        tables, gusty = self._tables, self.gusty
        air_at, stride = (self._air_at, 1) if gusty else (self._mean, 0)
        if gusty:
            launch(
                wind_kernels.find_air,
                len(tables.every),
                [self._air, self._turns, self._amplitude, self._phase, tables.every, state.x],
                [air_at],
                device=self.device,
                grain=VERTICES_PER_THREAD // 4,
            )
        around = [air_at, stride, state.inv_mass]
        for kernel, rows, moving in (
            (wind_kernels.blow_on_triangles, tables.sheets, [state.x, state.v]),
            (wind_kernels.blow_on_rods, tables.rods, [state.x, state.v]),
            (wind_kernels.blow_on_points, tables.points, [state.v]),
        ):
            given = [self._air, *rows, *around, *moving, dt]
            launch(kernel, len(rows[0]), given, [state.f_ext], device=self.device, grain=VERTICES_PER_THREAD)
        if self._split:
            given = [self._air, *self._split, *around, state.x, state.v, dt]
            count = len(self._split[0])
            launch(blow_on_fans, count, given, [state.f_ext], device=self.device, grain=VERTICES_PER_THREAD)
        if gusty:
            launch(wind_kernels.advance, WAVES, [self._rate, wp.float64(dt)], [self._phase], device=self.device)

    def follow(self, fans: list[wp.array]) -> None:
        """Blow on the triangles that are around particles of sheets whose vertices split; see `Tearing.fans`."""
        self._split = fans

    def tear(self, torn: np.ndarray) -> None:
        """Let a mask of the triangles of `Model.surface` (k,) feel nothing, between frames: they are torn."""
        self._torn = torn
        if self._tables is not None:
            self._tables.tear(torn)

    def arrays(self) -> dict[str, wp.array]:
        """How far the gusts have moved on."""
        return {"phase": self._phase}

    def carry(self, other: WindForce) -> None:
        """Let gusts of the same seed go on from where they were in another simulation."""
        if self._seed is not None and self._seed == other._seed:
            self._phase.assign(other._phase.numpy())

    def energy(self, x: np.ndarray) -> float:
        """Drag stores no energy."""
        return 0.0


class _Tables:
    """Who feels the air: particles of surfaces with the triangles around them, of rods, and loose points.

    Attributes:
        every: all of these particles (n,).
        sheets: particles, whether both sides feel it, and the fans of triangles around each.
        rods: particles, and the segments around each, with their radii. points: particles and their radii.
    """

    def __init__(self, model: Model, device: str):
        self._device = device
        on_surface, self.sheets = self._surfaces(model)
        on_rods, self.rods = self._segments(model)
        loose, self.points = self._loose(model)
        split = [np.arange(*body.particles) for body in model.bodies if body.splits]
        every = np.concatenate([on_surface, on_rods, loose, *split])
        self.count = len(every)
        self.every = self._make(every, int)

    def _make(self, values: np.ndarray, kind: Any) -> wp.array:
        plain = np.float32 if kind is float else np.int32
        return wp.array(np.ascontiguousarray(values, plain), dtype=kind, device=self._device)

    def _surfaces(self, model: Model) -> tuple[np.ndarray, list[wp.array]]:
        corners = model.surface().astype(np.int64)
        # sheets whose vertices split have fans of their own
        kept = np.flatnonzero(np.concatenate([np.full(len(b.surface), not b.splits) for b in model.bodies]))
        starts, element, corner = incidence(corners[kept], model.particles.count)
        element = kept[element]
        particle = np.flatnonzero(np.diff(starts))
        open_body = np.array([not _is_closed(body.surface) for body in model.bodies])
        others = np.stack([corners[element, (corner + 1) % 3], corners[element, (corner + 2) % 3]], axis=1)
        # the rows of other particles are empty, so the fans of these follow one another
        fan_starts = np.concatenate([starts[particle], starts[-1:]])
        both_sides = open_body[model.particles.body[particle]]
        self._fans = (element, corners.reshape(-1)[3 * element + corner], others)
        make = self._make
        return particle, [make(particle, int), make(both_sides, int), make(fan_starts, int), make(others, wp.vec2i)]

    def tear(self, torn: np.ndarray) -> None:
        """Shrink triangles of a mask to a point in the fans, where they have no area."""
        element, own, others = self._fans
        self.sheets[3].assign(np.where(torn[element][:, None], own[:, None], others).astype(np.int32))

    def _segments(self, model: Model) -> tuple[np.ndarray, list[wp.array]]:
        ends, radii = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
        for body in model.bodies:
            rods = body.options.get("rods")
            if rods is not None:
                ends.append(np.asarray(rods[0], np.int64) + body.particles[0])
                radii.append(np.asarray(rods[1], np.float64))
        segments, radius = np.concatenate(ends), np.concatenate(radii)
        starts, element, end = incidence(segments, model.particles.count)
        particle = np.flatnonzero(np.diff(starts))
        fan_starts = np.concatenate([starts[particle], starts[-1:]])
        make = self._make
        other = segments[element, 1 - end]
        return particle, [make(particle, int), make(fan_starts, int), make(other, int), make(radius[element], float)]

    def _loose(self, model: Model) -> tuple[np.ndarray, list[wp.array]]:
        particles, radii = [np.zeros(0, np.int64)], [np.zeros(0)]
        for body in model.bodies:
            if not len(body.surface) and body.options.get("rods") is None:
                particles.append(np.arange(*body.particles))
                radii.append(_radii(model, body))
        particle = np.concatenate(particles)
        return particle, [self._make(particle, int), self._make(np.concatenate(radii), float)]


def _radii(model: Model, body: Body) -> np.ndarray:
    """Radius of each loose point [m]: of the ball it is seen as, or of one that its mass fills."""
    if body.ball_radius is not None:
        return np.full(len(body.rank), body.ball_radius)
    mass = model.particles.mass[slice(*body.particles)]
    return np.cbrt(0.75 * mass / (np.pi * body.material.density))


def _is_closed(triangles: Sequence[Sequence[int]] | np.ndarray) -> bool:
    """Whether every edge belongs to two triangles that wind alike: it goes as often one way as the other."""
    t = np.asarray(triangles, np.int64).reshape(-1, 3)
    if not len(t):
        return False
    there = t[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    size = int(t.max()) + 1
    keys, back = there[:, 0] * size + there[:, 1], there[:, 1] * size + there[:, 0]
    return bool(np.array_equal(np.sort(keys), np.sort(back)))
