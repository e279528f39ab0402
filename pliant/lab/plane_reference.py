"""Answers of linear finite elements of a flat strip in its plane, in float64: the reference for small loads."""

from __future__ import annotations

import math

import numpy as np

from pliant.lab.specimen import Specimen
from pliant.materials import Material
from pliant.mesh.surface import SurfaceMesh


class PlaneReference:
    """A strip in the plane of x and z that is held at one end: triangles of constant strain in plane stress.

    Moduli are C11 = E1 / (1 - nu^2), C22 = E2 / (1 - nu^2), C12 = nu sqrt(E1 E2) / (1 - nu^2) and G, warp and weft
    lying along x and z or along z and x.

    Attributes:
        along: Young's modulus along x [Pa]. ratio: Poisson's ratio of a pull along x. shear: modulus [Pa].
    """

    def __init__(self, specimen: Specimen, material: Material) -> None:
        mesh = specimen.mesh
        assert isinstance(mesh, SurfaceMesh)
        warp = material.young
        weft = warp if material.young_weft is None else material.young_weft
        first, second = (warp, weft) if specimen.warp[0] else (weft, warp)
        below = 1.0 - material.poisson**2
        both = material.poisson * math.sqrt(first * second) / below
        self.along, self.ratio = first, material.poisson * math.sqrt(first / second)
        self.shear = material.shear_modulus if material.shear is None else material.shear
        moduli = np.array([[first / below, both, 0.0], [both, second / below, 0.0], [0.0, 0.0, self.shear]])
        x = mesh.vertices[:, (0, 2)]
        count = len(x)
        self.matrix = np.zeros((2 * count, 2 * count))
        self.mass = np.zeros(count)
        for corners in mesh.triangles:
            a, b, c = x[corners]
            edges = np.stack([b - a, c - a], axis=1)
            area = 0.5 * abs(float(np.linalg.det(edges)))
            slopes = np.linalg.inv(edges)
            slopes = np.vstack([-slopes.sum(axis=0), slopes])
            strain = np.zeros((3, 6))
            strain[0, 0::2], strain[1, 1::2] = slopes[:, 0], slopes[:, 1]
            strain[2, 0::2], strain[2, 1::2] = slopes[:, 1], slopes[:, 0]
            places = (2 * corners[:, None] + np.arange(2)).reshape(-1)
            self.matrix[np.ix_(places, places)] += material.thickness * area * strain.T @ moduli @ strain
            self.mass[corners] += material.density * material.thickness * area / 3.0
        held = (2 * specimen.held[:, None] + np.arange(2)).reshape(-1)
        self.free = np.setdiff1d(np.arange(2 * count), held)

    def under(self, load: np.ndarray) -> np.ndarray:
        """Displacements (n, 3) under forces in the plane (n, 3) [N]."""
        flat = load[:, (0, 2)].reshape(-1)
        found = np.zeros(len(flat))
        found[self.free] = np.linalg.solve(self.matrix[np.ix_(self.free, self.free)], flat[self.free])
        out = np.zeros(load.shape)
        out[:, (0, 2)] = found.reshape(-1, 2)
        return out

    def field(self, acceleration: np.ndarray) -> np.ndarray:
        """Displacements (n, 3) under an acceleration (3,) [m/s^2]."""
        return self.under(self.mass[:, None] * np.broadcast_to(acceleration, (len(self.mass), 3)))

    def frequency(self, field: np.ndarray) -> float:
        """Frequency of the mode near to a field [Hz]: inverse iteration, then Rayleigh's quotient."""
        for _ in range(4):
            field = self.under(self.mass[:, None] * field)
            field = field / np.abs(field).max()
        flat = field[:, (0, 2)].reshape(-1)
        stiff = float(flat @ self.matrix @ flat)
        return math.sqrt(stiff / float((self.mass[:, None] * field**2).sum())) / (2.0 * math.pi)
