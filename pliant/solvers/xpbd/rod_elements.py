"""A rod mesh becomes particles, segments and joints: the order in which they are solved, and their rest shape."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from pliant.materials import Material
from pliant.mesh.rods import RodMesh
from pliant.model.model import Elements
from pliant.model.particles import lumped_mass
from pliant.model.springs import Springs
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.solvers.protocol import BodySpec
from pliant.solvers.xpbd import rod_frames

SHEAR_SHARE = 0.9
"""Share of a round section that carries shear (Timoshenko)."""
LEAST_GYRATION = 0.02
"""Squared radius of gyration of a segment, over its squared length, that is never gone below."""


@dataclasses.dataclass(eq=False)
class RodOwn:
    """The rods of a body, each a tree, as a row of nodes from root to tip; a node stands for a vertex of the body and
    for the segment that leads to it, which a root has none of.

    Attributes:
        vertex: vertex of each node (n,) int32.
        parent: node before each one (n,) int32; -1 for roots.
        row: segment of the mesh of each node (n,) int32; -1 for roots.
        starts: first node of each tree, and the end (t + 1,) int32.
        length: of each segment [m] (n,); 1 for roots.
        radius: [m] (n,); 1 for roots.
        frame: orientation of each segment at rest, its third axis along it (n, 4) as (x, y, z, w).
        joint: that orientation seen from the segment before (n, 4).
        compliance: of stretch and shear [m/N], and of the bending and twist of half the segment [rad/(N m)] (n, 4).
        inertia: of each segment about any axis [kg m^2] (n,); 0 for roots.
        bends: whether it resists bending and twist; a chain does not.
    """

    vertex: np.ndarray
    parent: np.ndarray
    row: np.ndarray
    starts: np.ndarray
    length: np.ndarray
    radius: np.ndarray
    frame: np.ndarray
    joint: np.ndarray
    compliance: np.ndarray
    inertia: np.ndarray
    bends: bool

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.vertex)

    @functools.cached_property
    def is_root(self) -> np.ndarray:
        return self.parent < 0

    @functools.cached_property
    def has_joint(self) -> np.ndarray:
        """Nodes whose segment follows another one (n,) bool."""
        return ~self.is_root & (self.parent[self.parent] >= 0)

    @functools.cached_property
    def levels(self) -> list[np.ndarray]:
        """Nodes by their distance from the root, counted in segments."""
        depth = [0] * self.count
        for n, p in enumerate(self.parent.tolist()):
            depth[n] = depth[p] + 1 if p >= 0 else 0
        found = np.array(depth)
        order = np.argsort(found, kind="stable")
        return np.split(order, np.cumsum(np.bincount(found))[:-1])

    def directions(self, x: np.ndarray) -> np.ndarray:
        """Unit vector along each segment of vertices x [m] (v, 3); (0, 0, 1) for roots and segments without length."""
        e = x[self.vertex] - x[self.vertex[self.parent]]
        length = np.linalg.norm(e, axis=1)
        none = self.is_root | (length <= 0.0)
        return np.where(none[:, None], [0.0, 0.0, 1.0], e / np.where(none, 1.0, length)[:, None])

    def fitted_frames(self, x: np.ndarray) -> np.ndarray:
        """Orientations (n, 4) for vertices x [m] (v, 3): each follows the one before as at rest, and then its segment.

        A tree that was only turned and moved gets the orientations of its rest shape, turned, so it has no strain.
        """
        first = self.frame[self.starts[:-1] + 1]
        rest = self._shape()
        spin = rod_frames.best_turns(rest, x[self.vertex], self.starts)
        return rod_frames.led(self.levels, self.parent, self.joint, rod_frames.product(spin, first), self.directions(x))

    def _shape(self) -> np.ndarray:
        """Vertices of the rest shape by node [m] (n, 3), each tree about its root; from frames and lengths alone."""
        step = rod_frames.third_axis(self.frame) * self.length[:, None]
        x = np.zeros((self.count, 3))
        for level in self.levels[1:]:
            x[level] = x[self.parent[level]] + step[level]
        return x


def rod_elements(spec: BodySpec) -> Elements:
    """Particles on the vertices, each with half the mass of the segments around it, and the rods that join them.

    The springs are those of the segments, k = E A / L, by which the body is watched and measured.
    """
    mesh, material = spec.mesh, spec.material
    assert isinstance(mesh, RodMesh)
    count = len(mesh.vertices)
    notes: list[str] = []
    mass = lumped_mass(mesh.segments, material.density * mesh.volumes(), count)
    if spec.raw is not None:
        notes.append("raw spring constants mean nothing to rods, whose stiffness is that of their material")
        if spec.raw.mass is not None:
            mass = mass * (spec.raw.mass / mass.sum())
    stiffness = material.young * np.pi * mesh.radius**2 / mesh.lengths()
    springs = Springs.build(mesh.vertices, mesh.segments, stiffness)
    scale = float(mass.sum() / (material.density * mesh.volumes().sum()))
    own = rod_own(mesh, material, spec.bends, scale)
    return Elements(
        springs,
        Triangles.build(mesh.vertices, np.zeros((0, 3), np.int32)),
        Tets.build(mesh.vertices, np.zeros((0, 4), np.int32)),
        mass,
        notes,
        own=own,
    )


def rod_own(mesh: RodMesh, material: Material, bends: bool = True, mass_scale: float = 1.0) -> RodOwn:
    """The rods of a mesh. Each tree starts at a tip, so that every vertex inside it has a segment that leads there."""
    vertex, parent = _from_tips(mesh)
    count = len(vertex)
    place = np.empty(count, np.int64)
    place[vertex] = np.arange(count)
    # the segment of a node is the one between its vertex and its parent's
    ends = place[mesh.segments]
    child = ends.max(axis=1)
    length, radius = np.ones(count), np.ones(count)
    length[child], radius[child] = mesh.lengths(), mesh.radius
    row = np.full(count, -1, np.int32)
    row[child] = np.arange(len(child))
    root = parent < 0
    area, moment = np.pi * radius**2, 0.25 * np.pi * radius**4
    young, shear = material.young, material.shear_modulus
    compliance = np.stack(
        [
            length / (young * area),
            length / (SHEAR_SHARE * shear * area),
            0.5 * length / (young * moment),
            0.5 * length / (shear * 2.0 * moment),
        ],
        axis=1,
    )
    gyration = 0.5 * radius**2 + LEAST_GYRATION * length**2
    inertia = np.where(root, 0.0, mass_scale * material.density * area * length * gyration)
    own = RodOwn(
        vertex=vertex.astype(np.int32),
        parent=parent.astype(np.int32),
        row=row,
        starts=np.append(np.flatnonzero(root), count).astype(np.int32),
        length=length,
        radius=radius,
        frame=np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
        joint=np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
        compliance=compliance,
        inertia=inertia,
        bends=bool(bends),
    )
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (len(own.starts) - 1, 1))
    own.frame = rod_frames.led(own.levels, own.parent, own.joint, upright, own.directions(mesh.vertices))
    relative = rod_frames.product(rod_frames.conjugate(own.frame[own.parent]), own.frame)
    own.joint = np.where(own.has_joint[:, None], relative, own.joint)
    return own


def _from_tips(mesh: RodMesh) -> tuple[np.ndarray, np.ndarray]:
    """Vertices from root to tip, and the place of the one before each; roots are tips of the smallest number."""
    count = len(mesh.vertices)
    valence = np.bincount(mesh.segments.reshape(-1), minlength=count)
    # numbered anew with tips first, the smallest number of each tree is a tip
    named = np.lexsort((np.arange(count), valence != 1))
    number = np.empty(count, np.int64)
    number[named] = np.arange(count)
    turned = RodMesh(mesh.vertices[named], number[mesh.segments], mesh.radius)
    order = turned.depth_first
    place = np.empty(count, np.int64)
    place[order] = np.arange(count)
    before = turned.parents[order]
    return named[order], np.where(before < 0, -1, place[before])
