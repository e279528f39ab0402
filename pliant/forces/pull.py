"""Springs that pull single particles towards points: a hand that drags a body."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.errors import InputError
from pliant.launch import launch
from pliant.model.state import State

wp.set_module_options({"enable_backward": False})

CAPACITY = 16


@wp.struct
class PullData:
    """One pull; particle is -1 where the slot is free."""

    particle: int
    target: wp.vec3
    stiffness: float
    damping: float


@wp.kernel
def apply_pulls(
    pulls: wp.array(dtype=PullData),
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    f_ext_inout: wp.array(dtype=wp.vec3),
):
    """One thread for all slots: two pulls may hold the same particle."""
    for k in range(pulls.shape[0]):
        i = pulls[k].particle
        if i >= 0:
            f_ext_inout[i] = wp.vec3(0.0, 0.0, 0.0)
    for k in range(pulls.shape[0]):
        pull = pulls[k]
        i = pull.particle
        if i >= 0:
            f_ext_inout[i] = f_ext_inout[i] + pull.stiffness * (pull.target - x[i]) - pull.damping * v[i]


class Pulls:
    """Up to 16 pulls at once; active ones are applied at every substep."""

    def __init__(self, device: str):
        self.device = device
        self.host = [_free() for _ in range(CAPACITY)]
        self.data = wp.array(self.host, dtype=PullData, device=device)

    @property
    def active(self) -> bool:
        return any(p.particle >= 0 for p in self.host)

    def set(
        self, slot: int, particle: int, target: tuple[float, float, float], stiffness: float, damping: float
    ) -> None:
        pull = PullData()
        pull.particle, pull.target, pull.stiffness, pull.damping = particle, wp.vec3(*target), stiffness, damping
        self.host[slot] = pull
        self._upload()

    def free_slot(self) -> int:
        for slot, pull in enumerate(self.host):
            if pull.particle < 0:
                return slot
        raise InputError(f"{CAPACITY} pulls are active already", "pull", "Release one first")

    def get(self, slot: int) -> PullData:
        """What a slot holds."""
        if not isinstance(slot, int) or not 0 <= slot < CAPACITY:
            raise InputError(f"pull {slot!r} is not active", "pull", "Give a handle that pull() returned")
        return self.host[slot]

    def release(self, slot: int, state: State) -> None:
        particle = self.get(slot).particle
        self.host[slot] = _free()
        self._upload()
        if particle >= 0:
            f = state.f_ext.numpy()
            f[particle] = 0.0
            state.f_ext.assign(f)

    def apply(self, state: State) -> None:
        launch(apply_pulls, 1, [self.data, state.x, state.v], [state.f_ext], device=self.device)

    def _upload(self) -> None:
        self.data.assign(wp.array(self.host, dtype=PullData, device="cpu"))

    def saved(self) -> np.ndarray:
        """The pulls as numbers, for a checkpoint (16, 6)."""
        return np.array([[p.particle, *p.target, p.stiffness, p.damping] for p in self.host], np.float64)

    def load(self, saved: np.ndarray) -> None:
        for slot, row in enumerate(saved):
            pull = PullData()
            pull.particle, pull.target = int(row[0]), wp.vec3(*[float(t) for t in row[1:4]])
            pull.stiffness, pull.damping = float(row[4]), float(row[5])
            self.host[slot] = pull
        self._upload()


def _free() -> PullData:
    pull = PullData()
    pull.particle = -1
    return pull
