"""What springs in a plane make of the moduli of a cloth: warp, weft and shear."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.materials import Material, spring_constants
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.weave import has_texture, warp_directions

# Least stiffness of a spring by its direction, over the mean of all.
LEAST_SHARE = 0.05


@dataclasses.dataclass(frozen=True)
class ClothModuli:
    """Moduli of a sheet in its plane [Pa]: along warp and weft, what couples them, shear; `area` is that of the area
    energy, which carries what central springs lack of the coupling (Cauchy's relation: theirs equals the shear)."""

    warp: float
    weft: float
    coupling: float
    shear: float
    area: float


def is_woven(material: Material) -> bool:
    """Whether a material has moduli of its own for the weft or for shear."""
    return material.young_weft is not None or material.shear is not None


def cloth_moduli(material: Material) -> ClothModuli:
    """C11, C22, C12 and C66 of plane stress: E / (1 - nu^2), the coupling with the geometric mean of both E."""
    weft = material.young if material.young_weft is None else material.young_weft
    below = 1.0 - material.poisson**2
    coupling = material.poisson * (material.young * weft) ** 0.5 / below
    shear = material.shear_modulus if material.shear is None else material.shear
    return ClothModuli(material.young / below, weft / below, coupling, shear, max(coupling - shear, 0.0))


def area_modulus(material: Material, springs: str = "one_ring") -> float:
    """Area modulus times thickness that is left to the triangles of a sheet [N/m]."""
    if springs != "grid" and not is_woven(material):
        return spring_constants(material, sheet=True)[0].area_modulus
    return cloth_moduli(material).area * material.thickness


def edge_moduli(
    mesh: SurfaceMesh, pairs: np.ndarray, material: Material, warp: tuple[float, float, float] | None
) -> tuple[np.ndarray, int]:
    """E' of each edge of a cloth [Pa] (e,), by its direction a from the warp: c0 + c2 cos 2a + c4 cos 4a.

    Springs of k = E'(a) (volume around) / L^2, evenly spread over all directions, have C11 and C22 = 3 (3/8 c0 +- c2/4
    + c4/16) and C12 = C66 = 3 (c0/8 - c4/16); this is solved for the constants. Nothing is let below `LEAST_SHARE` of
    the mean, which a cloth that shears very easily would ask for.

    Returns:
        The moduli, and how many were raised.
    """
    moduli = cloth_moduli(material)
    mean = 0.5 * (moduli.warp + moduli.weft) - moduli.area
    c0 = (mean + moduli.shear) * 2.0 / 3.0
    c2 = (moduli.warp - moduli.weft) / 1.5
    c4 = 2.0 * c0 - 16.0 / 3.0 * moduli.shear
    along = warp_angle(mesh, pairs, warp)
    wanted = c0 + c2 * np.cos(2.0 * along) + c4 * np.cos(4.0 * along)
    least = LEAST_SHARE * c0
    return np.maximum(wanted, least), int((wanted < least).sum())


def warp_angle(mesh: SurfaceMesh, pairs: np.ndarray, warp: tuple[float, float, float] | None) -> np.ndarray:
    """Angle between each pair's direction and the warp in the plane of the sheet there [rad] (e,).

    The warp is the direction given, else that in which the texture coordinate u grows, else x.
    """
    x = mesh.vertices
    corners = x[mesh.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    at = np.zeros_like(x)
    for c in range(3):
        np.add.at(at, mesh.triangles[:, c], normals)
    direction = np.tile(np.array([1.0, 0.0, 0.0] if warp is None else warp, np.float64), (len(pairs), 1))
    if warp is None and has_texture(mesh):
        around = np.zeros_like(x)
        weighted = warp_directions(mesh, None)[0] * np.linalg.norm(normals, axis=1)[:, None]
        for c in range(3):
            np.add.at(around, mesh.triangles[:, c], weighted)
        direction = around[pairs[:, 0]] + around[pairs[:, 1]]
    normal = at[pairs[:, 0]] + at[pairs[:, 1]]
    normal /= np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
    flat = direction - (normal * direction).sum(axis=1)[:, None] * normal
    edge = x[pairs[:, 1]] - x[pairs[:, 0]]
    across = np.cross(normal, flat)
    return np.arctan2((edge * across).sum(axis=1), (edge * flat).sum(axis=1))
