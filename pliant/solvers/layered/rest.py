"""A layered mesh as masses, stiffness and strains, in float64 on the host."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.errors import InputError
from pliant.materials import Material
from pliant.mesh.layered import LayeredMesh
from pliant.model.model import Elements
from pliant.model.springs import Springs
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles
from pliant.solvers.protocol import BodySpec


@dataclasses.dataclass(eq=False)
class LayerRest:
    """One layered body at rest, in a frame at the core's centre of mass that is turned as the world.

    Attributes:
        center: of the core's mass, in the world [m] (3,).
        rest: nodes about it [m] (n, 3).
        mass: of the nodes [kg] (n,).
        core_mass: with the feet's share [kg]. core_inertia: about the centre [kg m^2] (3, 3).
        pairs: nodes of each block of the stiffness matrix (k, 2), sorted. blocks: [N/m] (k, 3, 3).
        tets: nodes of each tet (m, 4), -1 for a foot. gradients: of its shape functions [1/m] (m, 4, 3).
        volume: of each tet [m^3] (m,). lame: its two moduli, lambda and mu [Pa] (m, 2).
        yields: factor on the yield strain of each tet (m,).
        mass_centre: of the whole body, in the world [m] (3,).
        thickness: of the layer, the median [m].
    """

    center: np.ndarray
    rest: np.ndarray
    mass: np.ndarray
    core_mass: float
    core_inertia: np.ndarray
    pairs: np.ndarray
    blocks: np.ndarray
    tets: np.ndarray
    gradients: np.ndarray
    volume: np.ndarray
    lame: np.ndarray
    yields: np.ndarray
    mass_centre: np.ndarray
    thickness: float

    def energy(self, u: np.ndarray, plastic: np.ndarray | None = None) -> float:
        """Elastic energy [J] of displacements u [m] (n, 3), less plastic strains (m, 3, 3)."""
        strain = self.strains(u)
        if plastic is not None:
            strain = strain - plastic
        trace = np.trace(strain, axis1=1, axis2=2)
        density = 0.5 * self.lame[:, 0] * trace**2 + self.lame[:, 1] * (strain**2).sum(axis=(1, 2))
        return float(self.volume @ density)

    def strains(self, u: np.ndarray) -> np.ndarray:
        """Linear strain of each tet (m, 3, 3)."""
        padded = np.concatenate([u, np.zeros((1, 3))])
        gradient = np.einsum("mai,maj->mij", padded[self.tets], self.gradients)
        return 0.5 * (gradient + gradient.transpose(0, 2, 1))


def layered_elements(spec: BodySpec) -> Elements:
    """What a scene needs to know of a layered body: the masses of its nodes; the rest is the method's own."""
    assert isinstance(spec.mesh, LayeredMesh)
    rest = layer_rest(spec.mesh, spec.material)
    none = np.zeros((0, 2), np.int32)
    empty = np.zeros(0)
    return Elements(
        Springs(none, empty, empty, np.zeros(0, np.int32)),
        Triangles(np.zeros((0, 3), np.int32), empty),
        Tets(np.zeros((0, 4), np.int32), empty),
        rest.mass,
        [f"a core of {rest.core_mass:.3g} kg under a layer of {rest.mass.sum():.3g} kg"],
        own=rest,
    )


def layer_rest(mesh: LayeredMesh, material: Material) -> LayerRest:
    """Masses, stiffness blocks and strains of a mesh of some material."""
    count = len(mesh.nodes)
    places = np.concatenate([mesh.nodes, mesh.feet])
    corners = mesh.tets.astype(np.int64)
    edges = places[corners[:, 1:]] - places[corners[:, :1]]
    volume = np.linalg.det(edges) / 6.0
    if not (volume > 0.0).all():
        row = int(np.argmin(volume))
        raise InputError(f"tet {row} has the volume {volume[row]:.3g} m^3", "layer", "Prepare the surface again")
    inverse = np.linalg.inv(edges)
    gradients = np.concatenate([-inverse.sum(axis=2, keepdims=True), inverse], axis=2).transpose(0, 2, 1)
    share = np.bincount(corners.ravel(), np.repeat(0.25 * material.density * volume, 4), minlength=len(places))
    core_mass, center, inertia = _core(mesh, material.density, share[count:])
    nodes = np.where(corners < count, corners, -1)
    young = material.young * _mean_of_nodes(mesh.stiffness, nodes)
    poisson = material.poisson
    lame = np.stack([young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))], axis=1)
    pairs, blocks = _stiffness(nodes, gradients, volume, lame, count)
    mass = share[:count]
    total = (core_mass * center + mass @ mesh.nodes) / (core_mass + mass.sum())
    return LayerRest(
        center, mesh.nodes - center, mass, core_mass, inertia, pairs, blocks, nodes, gradients, volume, lame,
        _mean_of_nodes(mesh.plasticity, nodes), total, float(np.median(mesh.thickness())),
    )  # fmt: skip


def _mean_of_nodes(values: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Mean over the nodes of each tet (m,); feet do not count."""
    given = np.where(nodes >= 0, values[nodes], 0.0)
    return given.sum(axis=1) / (nodes >= 0).sum(axis=1)


def _core(mesh: LayeredMesh, density: float, feet_mass: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass [kg], centre [m] (3,) and inertia about it [kg m^2] (3, 3) of the filled core and its feet."""
    corners = mesh.core_vertices[mesh.core_triangles]
    origin = mesh.core_vertices.mean(axis=0)
    corners = corners - origin
    volume = np.linalg.det(corners) / 6.0
    # second moments of tets from the origin: V / 20 (sum of p p^T + s s^T), s the sum of the corners
    total = corners.sum(axis=1)
    second = np.einsum("kai,kaj->kij", corners, corners) + np.einsum("ki,kj->kij", total, total)
    solid = density * volume.sum()
    if not solid > 0.0:
        raise InputError(f"the core has the volume {volume.sum():.3g} m^3", "core", "Prepare the surface again")
    feet = mesh.feet - origin
    mass = solid + feet_mass.sum()
    centre = (density * volume @ total / 4.0 + feet_mass @ feet) / mass
    moment = density * np.einsum("k,kij->ij", volume, second) / 20.0
    moment = moment + np.einsum("k,ki,kj->ij", feet_mass, feet, feet) - mass * np.outer(centre, centre)
    return float(mass), origin + centre, np.trace(moment) * np.eye(3) - moment


def _stiffness(
    nodes: np.ndarray, gradients: np.ndarray, volume: np.ndarray, lame: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of the stiffness matrix of linear tets whose feet do not move: pairs of nodes (k, 2), (k, 3, 3) [N/m].

    K_ab = V (lambda g_a g_b^T + mu g_b g_a^T + mu (g_a . g_b) 1), with g the gradients of the shape functions.
    """
    keys, parts = [], []
    for a in range(4):
        for b in range(4):
            both = np.flatnonzero((nodes[:, a] >= 0) & (nodes[:, b] >= 0))
            one, other = gradients[both, a], gradients[both, b]
            outer = one[:, :, None] * other[:, None, :]
            scaled = volume[both, None] * lame[both]
            block = scaled[:, 0, None, None] * outer + scaled[:, 1, None, None] * outer.transpose(0, 2, 1)
            block += (scaled[:, 1] * (one * other).sum(axis=1))[:, None, None] * np.eye(3)
            keys.append(nodes[both, a] * count + nodes[both, b])
            parts.append(block.reshape(-1, 9))
    key = np.concatenate(keys)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    blocks = np.add.reduceat(np.concatenate(parts)[order], first, axis=0).reshape(-1, 3, 3)
    return np.stack([key[first] // count, key[first] % count], axis=1), blocks
