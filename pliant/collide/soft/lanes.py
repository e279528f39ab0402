"""Eight CUDA threads, neighbours in a warp, that work on one thing together; or a single one, as always on the CPU.

All eight must call these functions together.
"""

import warp as wp


@wp.func_native("""
#if defined(__CUDA_ARCH__)
const int shift = threadIdx.x & 24;
if (lanes > 1) return (int)((__ballot_sync(0xffu << shift, flag != 0) >> shift) & 0xffu);
#endif
return flag != 0 ? 1 : 0;
""")
def lanes_with(flag: int, lanes: int) -> int:
    """Those of so many lanes whose flag is set, as bits."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
if (lanes > 1) {
    const unsigned all = 0xffu << (threadIdx.x & 24);
    __syncwarp(all);
    return __shfl_sync(all, value, lane, 8);
}
#endif
return value;
""")
def from_lane(value: int, lane: int, lanes: int) -> int:
    """The number that one of so many lanes has; what it wrote before is seen by all after this."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return __popc(bits);
#else
return __builtin_popcount((unsigned)bits);
#endif
""")
def count_bits(bits: int) -> int:
    """How many bits are set."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return __ffs(bits) - 1;
#else
return __builtin_ctz((unsigned)bits);
#endif
""")
def lowest_bit(bits: int) -> int:
    """Which bit is the lowest that is set."""
    ...
