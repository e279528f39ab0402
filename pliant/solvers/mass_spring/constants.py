"""What the mass-spring kernels are told besides the arrays."""

import warp as wp

# What a step kernel does with the force it has summed.
ACCELERATION = 0  # write the acceleration
EULER = 1
SYMPLECTIC = 2
VERLET = 3

# How the volume force is damped.
UNDAMPED = 0
RATE = 1  # Lesmes 3.9: the rate of the volume
CORNER = 2  # Lesmes 3.11: each corner against the others


@wp.struct
class BodyConstants:
    """One body's constants.

    volume_form is one of the forms of physics/volume.py; volume_damping is a time [s] for RATE and a constant
    [N s/m] for CORNER; friction is the kinetic and the static coefficient; radius [m] is how far planes are kept off;
    quantum [m] is the grain to which positions are settled inside a CUDA block.
    """

    spring_damping_time: float
    volume_stiffness: float
    volume_form: int
    volume_damping_form: int
    volume_damping: float
    area_stiffness: float
    area_damping_time: float
    drag: float
    friction: wp.vec2
    restitution: float
    radius: float
    quantum: float
    inv_quantum: float


@wp.struct
class StepConstants:
    """One launch's constants: time step [s], gravity [m/s^2], what to do, which inputs count, and which bodies are
    awake."""

    dt: float
    gravity: wp.vec3
    action: int
    has_f_ext: int
    plane_count: int
    rest_speed: float
    awake: wp.array(dtype=int)
