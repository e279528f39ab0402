"""The strain limit: one spring, the springs of one colour, all springs in order."""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def limit_spring(
    pair: wp.vec2i,
    rest: float,
    inv_mass: wp.array(dtype=float),
    shortest: float,
    longest: float,
    x_out: wp.array(dtype=wp.vec3),
):
    """Move the ends of a spring along it until it is within its limits; one of negative length is broken."""
    i = pair[0]
    j = pair[1]
    d = x_out[j] - x_out[i]
    length = wp.length(d)
    wrong = float(0.0)
    if length > longest * rest:
        wrong = length - longest * rest
    elif length < shortest * rest:
        wrong = length - shortest * rest
    wi = inv_mass[i]
    wj = inv_mass[j]
    if wrong != 0.0 and rest > 0.0 and wi + wj > 0.0 and length > 0.0:
        move = (wrong / (length * (wi + wj))) * d
        # a pinned end keeps every bit of its position
        if wi > 0.0:
            x_out[i] = x_out[i] + wi * move
        if wj > 0.0:
            x_out[j] = x_out[j] - wj * move


@wp.kernel
def limit_color(
    start: int,
    pairs: wp.array(dtype=wp.vec2i),
    rest_length: wp.array(dtype=float),
    inv_mass: wp.array(dtype=float),
    shortest: float,
    longest: float,
    x_out: wp.array(dtype=wp.vec3),
):
    """One spring of a colour, which shares no particle with the others of the launch."""
    s = start + wp.tid()
    limit_spring(pairs[s], rest_length[s], inv_mass, shortest, longest, x_out)


@wp.kernel
def limit_all(
    pairs: wp.array(dtype=wp.vec2i),
    rest_length: wp.array(dtype=float),
    starts: wp.array(dtype=int),
    colors: int,
    passes: int,
    inv_mass: wp.array(dtype=float),
    shortest: float,
    longest: float,
    x_out: wp.array(dtype=wp.vec3),
):
    """All passes by one thread, in the order in which the colours would be launched."""
    for k in range(passes):
        for n in range(colors):
            c = n
            if k % 2 == 1:
                c = colors - 1 - n
            for s in range(starts[c], starts[c + 1]):
                limit_spring(pairs[s], rest_length[s], inv_mass, shortest, longest, x_out)


@wp.kernel
def follow(
    start: int,
    x_before: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    dt: float,
    v_out: wp.array(dtype=wp.vec3),
):
    """The move enters the velocity."""
    i = start + wp.tid()
    v_out[i] = v_out[i] + (x[i] - x_before[i]) / dt
