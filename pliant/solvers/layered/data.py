"""What the kernels of the layered method see: the layer, the cores, and the arrays of one moment."""

import warp as wp


@wp.struct
class Layer:
    """All layered bodies; nodes are numbered from the method's first particle.

    Attributes:
        body: of each node (n,). rest: about the core's centre [m] (n,). mass: [kg] (n,).
        row_starts, row_other, block: rows of the stiffness matrix beside the diagonal [N/m]; diagonal: (n,).
        core_mass: [kg] (b,). core_inertia: [kg m^2] (b,). total_mass: [kg] (b,).
        damping: stiffness-proportional [s] (b,). drag: [1/s] (b,).
        friction: kinetic and static (b,). restitution: (b,).
        number: of each body among all of the model (b,). first: the method's first particle.
    """

    body: wp.array(dtype=int)
    rest: wp.array(dtype=wp.vec3)
    mass: wp.array(dtype=float)
    row_starts: wp.array(dtype=int)
    row_other: wp.array(dtype=int)
    diagonal: wp.array(dtype=wp.mat33)
    block: wp.array(dtype=wp.mat33)
    core_mass: wp.array(dtype=wp.float64)
    core_inertia: wp.array(dtype=wp.mat33d)
    total_mass: wp.array(dtype=wp.float64)
    damping: wp.array(dtype=float)
    drag: wp.array(dtype=float)
    friction: wp.array(dtype=wp.vec2)
    restitution: wp.array(dtype=float)
    number: wp.array(dtype=int)
    first: int


@wp.struct
class Moment:
    """Where all bodies are.

    Attributes:
        c: centre of each core [m] (b,). turn: its rotation (b,). v, w: its velocity [m/s] and angular velocity [rad/s],
            both in its own frame (b,).
        u, rate: displacement [m] of each node and its rate [m/s], in the frame of its core (n,).
    """

    c: wp.array(dtype=wp.vec3d)
    turn: wp.array(dtype=wp.mat33d)
    v: wp.array(dtype=wp.vec3d)
    w: wp.array(dtype=wp.vec3d)
    u: wp.array(dtype=wp.vec3)
    rate: wp.array(dtype=wp.vec3)


@wp.struct
class Holds:
    """What surfaces that nodes lie on do to them, in the world.

    Attributes:
        mode: FREE, SLIDES or STICKS (n,). normal: out of the surface (n,). speed: of the surface [m/s] (n,).
        rub: friction on what slides [N] (n,). grip: coefficients of friction (n,). impulse: what the surface gave in
            the last step [N s] (n,).
    """

    mode: wp.array(dtype=int)
    normal: wp.array(dtype=wp.vec3)
    speed: wp.array(dtype=wp.vec3)
    rub: wp.array(dtype=wp.vec3)
    grip: wp.array(dtype=wp.vec2)
    impulse: wp.array(dtype=wp.vec3)


FREE = wp.constant(0)
SLIDES = wp.constant(1)
STICKS = wp.constant(2)


@wp.struct
class Chunks:
    """Runs of nodes that sums are taken over, and runs of those; each lies within one body.

    Attributes:
        begin, end: nodes of each chunk. group_begin, group_end: chunks of each group. body_begin, body_end: groups of
            each body.
    """

    begin: wp.array(dtype=int)
    end: wp.array(dtype=int)
    group_begin: wp.array(dtype=int)
    group_end: wp.array(dtype=int)
    body_begin: wp.array(dtype=int)
    body_end: wp.array(dtype=int)


@wp.struct
class Constants:
    """What holds for one length of the step.

    Attributes:
        scale: factor of the stiffness in A = M + scale K, h^2 + h damping (b,) [s^2].
        inverse: of A's diagonal blocks (n,) [1/kg].
        drift: what the layer lags behind a core that is moved by 1 m/s along each axis, A^-1 M (n,).
        swing: the same for one that is turned by 1 rad/s at rest (n,) [m].
        give: velocity of a node per push on it, where its neighbours are pushed alike (n,) [1/kg].
    """

    scale: wp.array(dtype=float)
    inverse: wp.array(dtype=wp.mat33)
    drift: wp.array(dtype=wp.mat33)
    swing: wp.array(dtype=wp.mat33)
    give: wp.array(dtype=wp.mat33)


@wp.struct
class Carry:
    """What contacts between layered bodies pushed with, and do again in the next step, which then knows of them.

    Attributes:
        force: of each node's own contact, in the world [N s] (n,). corner, share, partner: what it touches, as in
            `Press` (n,). last: its multiplier [N s] (n,).
        load: all that acts on a node, in the world [N s] (n,).
    """

    force: wp.array(dtype=wp.vec3)
    corner: wp.array(dtype=wp.vec3i)
    share: wp.array(dtype=wp.vec3)
    partner: wp.array(dtype=int)
    last: wp.array(dtype=float)
    load: wp.array(dtype=wp.vec3)
