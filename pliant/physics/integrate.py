"""Updates of position and velocity that lose nothing to rounding."""

import warp as wp


@wp.struct
class TwoFloat:
    """A vector held as the sum of two float32 vectors, high + carry, about 48 bits in all."""

    high: wp.vec3
    carry: wp.vec3


@wp.func
def add_carried(x: wp.vec3, carry: wp.vec3, step: wp.vec3) -> TwoFloat:
    """x + carry + step, the part that does not fit into float32 kept in the carry (two-sum, Knuth).

    A body that falls far from the origin keeps its shape: what a large position cannot hold of a small step
    is not lost.
    """
    total = TwoFloat()
    s = step + carry
    high = x + s
    back = high - x
    low = (x - (high - back)) + (s - back)
    total.high = high
    total.carry = low
    return total
