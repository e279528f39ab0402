"""Stiffness of the springs of a voxel lattice."""

from __future__ import annotations

import numpy as np

from pliant.mesh.lattice import (
    CORNER_PAIRS,
    FACE_DIAGONAL,
    FLEXION,
    SPACE_DIAGONAL,
    STRUCTURAL,
    LatticeSprings,
    VoxelLattice,
)
from pliant.model import springs as kinds

# k L^2 / (E' V) of each spring of one cube: 12 edges, 12 face diagonals, 4 space diagonals; 6 in all.
SHARES = {STRUCTURAL: 1.0 / 7.0, FACE_DIAGONAL: 8.0 / 35.0, SPACE_DIAGONAL: 27.0 / 70.0}
# Part of an edge's share that goes to the flexion springs over it, half to each side.
FLEXION_SHARE = 0.1


def lattice_kinds(springs: LatticeSprings) -> np.ndarray:
    """What each spring is there for (e,) int8."""
    names = {
        STRUCTURAL: kinds.STRUCTURAL, FACE_DIAGONAL: kinds.SHEAR, SPACE_DIAGONAL: kinds.SHEAR, FLEXION: kinds.BEND
    }  # fmt: skip
    return np.array([names[kind] for kind in sorted(names)], np.int8)[springs.kind]


def lattice_stiffness(lattice: VoxelLattice, springs: LatticeSprings, modulus: float) -> np.ndarray:
    """Stiffness of each spring [N/m] (e,), assembled cube by cube so that it depends on neither cell size nor shape.

    Springs of stiffness k and length L along directions n, all within one cube of volume V = h^3, have the moduli
    C_ijkl = sum of k L^2 n_i n_j n_k n_l / V. With a on each edge, b on each face diagonal, c on each space diagonal:

        C11 = (4 a + 4 b + 4/3 c) / h,    C12 = C44 = (2 b + 4/3 c) / h

    (C12 = C44 is Cauchy's relation of central forces). Isotropy, C11 = C12 + 2 C44, asks for a = b/2 + 2c/3. Of these
    the one is taken whose weights are those of the 26-point quadrature on the sphere (Lebedev: 1/21 for each axis,
    4/105 for each face diagonal, 9/280 for each space diagonal), isotropic to the sixth power of n, so also in the
    first nonlinear term. With the sum of k L^2 = 6 E' V, as on the edges of tets:

        a = E' V / (7 h^2),    b = 4 E' V / (35 h^2),    c = 9 E' V / (70 h^2),    lambda = mu = 0.4 E'

    so `spring_constants` holds for a lattice as for tets: Young's modulus E' and Poisson's ratio 1/4 by the springs
    alone, and the volume energy of the cubes' tets adds the rest of the bulk modulus. A cube gives a to each of its
    edges, so an edge inside, shared by four cubes, has 4 a. In cells that are not cubes L is each spring's own length.

    A flexion spring takes `FLEXION_SHARE` / 2 of k L^2 from each of its two edges. What they lose it has, so every
    uniform strain costs the same as without; it resists the buckling and folding of lines of edges.

    Args:
        modulus: E' of `spring_constants` [Pa].
    """
    count = len(lattice.vertices)
    key = lambda a, b: np.minimum(a, b).astype(np.int64) * count + np.maximum(a, b)
    keys = key(springs.pairs[:, 0], springs.pairs[:, 1])
    volumes = lattice.cube_volumes()
    work = np.zeros(len(keys))  # k L^2 [J]
    for kind, corners in CORNER_PAIRS.items():
        for i, j in corners:
            found = np.searchsorted(keys, key(lattice.cubes[:, i], lattice.cubes[:, j]))
            work += np.bincount(found, SHARES[kind] * modulus * volumes, len(keys))
    flexion = np.flatnonzero(springs.kind == FLEXION)
    taken = np.zeros(len(keys))
    for end in (0, 1):
        edge = np.searchsorted(keys, key(springs.pairs[flexion, end], springs.middle[flexion]))
        moved = 0.5 * FLEXION_SHARE * work[edge]
        taken[flexion] -= moved
        taken += np.bincount(edge, moved, len(keys))
    x = lattice.vertices
    squares = ((x[springs.pairs[:, 1]] - x[springs.pairs[:, 0]]) ** 2).sum(axis=1)
    return (work - taken) / squares
