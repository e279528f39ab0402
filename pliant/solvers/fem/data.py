"""What the kernels of finite elements read: bodies, tets, edges, rows."""

import warp as wp


@wp.struct
class FemBody:
    """A material: Lame's moduli [Pa], damping [s], drag [1/s], friction (kinetic, static), restitution, plasticity; a
    yield strain below zero stands for none."""

    lame: float
    shear: float
    damping: float
    drag: float
    friction: wp.vec2
    restitution: float
    yield_strain: float
    creep: float
    plastic_limit: float


@wp.struct
class Mesh:
    """The tables of `tables.py` on the device; moduli are lambda, mu [Pa], damping [s] and drag [1/s] of each body."""

    corners: wp.array(dtype=wp.vec4i)
    volume: wp.array(dtype=float)
    tet_body: wp.array(dtype=int)
    row_starts: wp.array(dtype=int)
    row_other: wp.array(dtype=int)
    edge_rows: wp.array(dtype=int)
    edge_slots: wp.array(dtype=wp.vec2i)
    edge_starts: wp.array(dtype=int)
    edge_tets: wp.array(dtype=int)
    corner_starts: wp.array(dtype=int)
    corner_tets: wp.array(dtype=int)
    mass: wp.array(dtype=float)
    body: wp.array(dtype=int)
    bodies: wp.array(dtype=FemBody)
    moduli: wp.array(dtype=wp.vec4)
    awake: wp.array(dtype=int)


@wp.struct
class Pieces:
    """What a tet gives to the rows of its corners.

    Attributes:
        gradient: rest gradients of the four corners, turned along, by row; the last column holds three coefficients
            (corotated: lambda, mu + t/2, mu - t/2) or one (the weight), times the volume and the step's factor.
        force: forces at the corners 1, 2 and 3, by row [N]; that at corner 0 is minus their sum.
        left, stretch, pairs: the rest of a `Curvature`; empty for corotated tets.
    """

    gradient: wp.array(dtype=wp.mat44)
    force: wp.array(dtype=wp.mat33)
    left: wp.array(dtype=wp.mat33)
    stretch: wp.array(dtype=wp.mat33)
    straight: wp.array(dtype=wp.vec3)
    crossed: wp.array(dtype=wp.vec3)
