"""A method for tests of what is seen: particles keep their velocity, and the bodies have clusters."""

import dataclasses
import math

import numpy as np
import warp as wp

import pliant.solvers
from pliant.launch import copy, launch
from pliant.mesh.cluster import box_clusters
from pliant.model.model import Elements
from pliant.model.springs import Springs
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles

wp.set_module_options({"enable_backward": False})


@wp.kernel
def drift(start: int, x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), dt: float, out: wp.array(dtype=wp.vec3)):
    i = start + wp.tid()
    out[i] = x[i] + dt * v[i]


@dataclasses.dataclass(frozen=True)
class Settings:
    """None."""


class Drifting:
    """Six clusters along the longest side of each body."""

    name = "drifting"
    Settings = Settings
    shares_rest = False
    takes = (object,)

    def __init__(self, model, state, world, settings, device):
        self.settings, self.device = settings, device

    @staticmethod
    def elements(spec):
        x = spec.mesh.vertices
        none = np.zeros((0, 4), np.int32)
        mass = 1e-3 * (1.0 + np.random.default_rng(0).random(len(x)))
        springs = Springs.build(x, none[:, :2], 0.0)
        clusters = box_clusters(x, 6, overlap=0.5, min_size=4)
        return Elements(springs, Triangles.build(x, none[:, :3]), Tets.build(x, none), mass, clusters=clusters)

    @staticmethod
    def rank(spec):
        return 0

    def predict(self, state, dt):
        launch(drift, state.count, [state.x, state.v, dt], [state.x_next], device=self.device)

    def resolve(self, state, contacts, dt):
        copy(state.x, state.x_next)

    def fused(self, state, dt, substeps):
        return False

    def can_fuse(self):
        return False

    def reset(self, state, particles):
        pass

    def scratch(self):
        return {}

    def stable_step(self, state):
        return math.inf

    def between_frames(self, frame_dt):
        return False

    def restored(self):
        return False

    def links(self, body):
        return None

    def break_links(self, body, links):
        return 0

    def held_impulses(self):
        return None

    def wanted_step(self):
        return math.inf

    def is_held(self, dt):
        return False

    def pins_changed(self, state, pinned):
        """Nothing hangs on pins."""

    def reset_shape(self, body):
        return False

    def energy(self, x):
        return 0.0


def use_drifting(monkeypatch):
    """Add the method to those that are known."""
    known = {**pliant.solvers.solver_classes(), Drifting.name: Drifting}
    monkeypatch.setattr(pliant.solvers, "solver_classes", lambda: known)
