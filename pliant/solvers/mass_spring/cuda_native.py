"""CUDA building blocks that Warp's language has no word for: shared memory, sums over lanes, wide loads."""

import warp as wp


@wp.func_native("__syncthreads();")
def sync_block(): ...


@wp.func_native("return rsqrtf(x);")
def rsqrt(x: float) -> float: ...


@wp.func_native("((float4*)__cvta_shared_to_generic((unsigned)pool))[slot] = make_float4(v[0], v[1], v[2], w);")
def shared_put(pool: int, slot: int, v: wp.vec3, w: float): ...


@wp.func_native("""
float4 r = ((const float4*)__cvta_shared_to_generic((unsigned)pool))[slot];
return wp::vec_t<3, float>(r.x, r.y, r.z);
""")
def shared_get(pool: int, slot: int) -> wp.vec3: ...


@wp.func_native("""
int2 r = __ldg((const int2*)(table.data) + i);
return wp::vec_t<2, int>(r.x, r.y);
""")
def load_pair(table: wp.array(dtype=wp.vec2i), i: int) -> wp.vec2i: ...


@wp.func_native("""
float2 r = __ldg((const float2*)(table.data) + i);
return wp::vec_t<2, float>(r.x, r.y);
""")
def load_pair_float(table: wp.array(dtype=wp.vec2), i: int) -> wp.vec2: ...


@wp.func_native("""
wp::vec_t<3, float> s = v;
for (int o = lanes >> 1; o > 0; o >>= 1) {
    s[0] += __shfl_xor_sync(0xffffffffu, s[0], o);
    s[1] += __shfl_xor_sync(0xffffffffu, s[1], o);
    s[2] += __shfl_xor_sync(0xffffffffu, s[2], o);
}
return s;
""")
def lane_sum(v: wp.vec3, lanes: int) -> wp.vec3: ...
