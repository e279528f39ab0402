"""Wind: air that moves past the surfaces of all bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.forces import wind_kernels
from pliant.launch import launch
from pliant.model.model import Model
from pliant.model.patches import incidence
from pliant.model.state import State

# Particles worth a CPU thread of their own.
VERTICES_PER_THREAD = 2048


class Wind:
    """Drag of the moving air on the bodies' own surfaces, in one launch for all.

    Each triangle feels -rho/2 A |u.n| (u.n) n, where u is its velocity against the air: a plate across the wind has the
    drag coefficient 1, a ball 0.5. Sheets feel it on both sides, closed surfaces where they face the wind. Nothing
    shelters anything, and loose points, which have no triangles, feel nothing.
    A wind of zero is no air at all: nothing is computed. For bodies in still air, see the material's `drag`.

    Args:
        model: what is simulated.
        device: where.
        velocity: of the air [m/s].
        density: of the air [kg/m^3].

    Attributes:
        active: whether it blows.
    """

    def __init__(
        self,
        model: Model,
        device: str,
        velocity: tuple[float, float, float] = (0.0, 0.0, 0.0),
        density: float = 1.2,
    ):
        self.device = device
        self.density = density
        self.fastest = (0.0, 0.0)
        self._model = model
        self._tables: list[wp.array] | None = None
        self._air = wp.zeros(1, dtype=wp.vec3, device=device)
        self.set(velocity)

    @property
    def active(self) -> bool:
        return any(self.velocity) and self._tables is not None and len(self._tables[0]) > 0

    def set(self, velocity: tuple[float, float, float]) -> None:
        """Change the velocity of the air [m/s], between frames."""
        self.velocity = velocity
        self._air.assign(np.array([velocity], np.float32))
        if any(velocity) and self._tables is None:
            self._tables = self._make_tables()

    def _make_tables(self) -> list[wp.array]:
        """Particles on surfaces, whether they feel the wind on both sides, and the triangles around each."""
        model = self._model
        corners = model.surface().astype(np.int64)
        starts, element, corner = incidence(corners, model.particles.count)
        particle = np.flatnonzero(np.diff(starts))
        open_body = np.array([not _is_closed(body.surface) for body in model.bodies])
        others = np.stack([corners[element, (corner + 1) % 3], corners[element, (corner + 2) % 3]], axis=1)
        # the rows of other particles are empty, so the fans of these follow one another
        fan_starts = np.concatenate([starts[particle], starts[-1:]])
        make = lambda a, t: wp.array(np.ascontiguousarray(a, np.int32), dtype=t, device=self.device)
        both_sides = open_body[model.particles.body[particle]]
        return [make(particle, int), make(both_sides, int), make(fan_starts, int), make(others, wp.vec2i)]

    def apply(self, state: State, dt: float) -> None:
        """Add to state.f_ext, from state.x and v, for a step of dt [s]."""
        if self._tables is None:
            return
        around = [*self._tables, self._air, state.inv_mass, state.x, state.v, self.density, dt]
        count = len(self._tables[0])
        launch(wind_kernels.blow, count, around, [state.f_ext], device=self.device, grain=VERTICES_PER_THREAD)

    def arrays(self) -> dict[str, wp.array]:
        """Nothing is remembered from one substep to the next."""
        return {}

    def energy(self, x: np.ndarray) -> float:
        """Drag stores no energy."""
        return 0.0


def _is_closed(triangles: Sequence[Sequence[int]] | np.ndarray) -> bool:
    """Whether every edge belongs to two triangles that wind alike: it goes as often one way as the other."""
    t = np.asarray(triangles, np.int64).reshape(-1, 3)
    if not len(t):
        return False
    there = t[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    size = int(t.max()) + 1
    keys, back = there[:, 0] * size + there[:, 1], there[:, 1] * size + there[:, 0]
    return bool(np.array_equal(np.sort(keys), np.sort(back)))
