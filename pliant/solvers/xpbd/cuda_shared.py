"""Distances and flat hinges on CUDA with a patch's particles in shared memory.

A block copies the particles of its patch into shared memory, walks the runs there, and writes them back: a run then
takes the time of a barrier rather than of several trips to memory. While a run is solved, the constraints of the next
ones are on their way. Positions are taken from the first particle of the patch in float64, so that float32 holds their
differences to a part in ten million of the patch's size. The formulas are those of constraint_kernels.py.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import warp as wp

from pliant.launch import launch
from pliant.solvers.xpbd.constraint_kernels import Pass, sleeps
from pliant.solvers.xpbd.levels import Runs

CAPACITY = 512
"""Most particles of a patch: three float4 each in the 48 KB of a block."""
BLOCK = 128
MOST_RUNS = 96
AHEAD = 3
"""Runs whose constraints are on their way."""
KINDS = ("bend", "distance")
"""What it can solve, with the numbers that a run's kind has here."""

_SOLVE = """
__shared__ float4 B[CAPACITY];
__shared__ float4 M[CAPACITY];
__shared__ float4 V[CAPACITY];
__shared__ int4 R[MOST_RUNS];
const int p0 = part_starts.data[patch], count = part_starts.data[patch + 1] - p0;
const int* part = part_numbers.data + p0;
const double2* base = (const double2*)places.data;
float4* move = (float4*)moves.data;
float4* pace = (float4*)paces.data;
const double2 corner = base[2 * (long)part[0]];
const double corner_z = base[2 * (long)part[0] + 1].x;
const bool damps = damped != 0 && reads == 0;
for (int k = thread; k < count; k += BLOCK) {
    const long i = part[k];
    const double2 xy = base[2 * i], zw = base[2 * i + 1];
    B[k] = make_float4((float)(xy.x - corner.x), (float)(xy.y - corner.y), (float)(zw.x - corner_z), (float)zw.y);
    M[k] = move[i];
    if (damps) V[k] = pace[i];
}
const float inv_dt2 = inv_dt * inv_dt;
const int r0 = run_starts.data[patch], run_count = run_starts.data[patch + 1] - r0;
for (int k = thread; k < run_count; k += BLOCK) R[k] = __ldg((const int4*)runs.data + r0 + k);
__syncthreads();
uint2 ats[AHEAD];
float4 laws[AHEAD];
float lates[AHEAD];
auto fetch = [&](int run, int c, int slot) {
    if (run >= run_count || c >= R[run].z) return;
    if (R[run].x == 1) {
        ats[slot].x = __ldg((const unsigned*)pairs.data + c);
        laws[slot] = __ldg((const float4*)pair_laws.data + c);
    } else {
        ats[slot] = __ldg((const uint2*)hinges.data + c);
        laws[slot] = __ldg((const float4*)hinge_laws.data + c);
        lates[slot] = damps ? __ldg((const float*)hinge_times.data + c) : 0.0f;
    }
};
#pragma unroll
for (int d = 0; d < AHEAD; ++d) if (d < run_count) fetch(d, R[d].y + thread, d);
for (int r = 0; r < run_count; r += AHEAD) {
  #pragma unroll
  for (int d = 0; d < AHEAD; ++d) {
    if (r + d >= run_count) break;
    const int4 now = R[r + d];
    for (int c = now.y + thread; c < now.z; c += BLOCK) {
        if (c != now.y + thread) fetch(r + d, c, d);
        const uint2 here = ats[d];
        const float4 k = laws[d];
        const float time = lates[d];
        if (now.x == 1) {
            const int i = here.x & 0xffffu, j = here.x >> 16;
            const float4 a = B[i], b = B[j], p = M[i], q = M[j];
            const float w = a.w + b.w;
            const float dx = (b.x - a.x) + (q.x - p.x), dy = (b.y - a.y) + (q.y - p.y), dz = (b.z - a.z) + (q.z - p.z);
            const float squared = dx * dx + dy * dy + dz * dz;
            if (squared > 0.0f && w > 0.0f) {
                const float length = squared * rsqrtf(squared), compliance = k.y * inv_dt2, damping = k.z * inv_dt;
                const float soft = damping > 0.0f ? compliance + damping * w : 1.0f;
                const float inverse = __fdividef(1.0f, soft * (compliance + w) * squared);
                float push = 0.0f, before = 0.0f;
                if (reads) before = pair_sums.data[c];
                else if (damping > 0.0f) {
                    float4 x = V[i], y = V[j];
                    push = -(damping * compliance * inverse) * (dx * (y.x - x.x) + dy * (y.y - x.y) + dz * (y.z - x.z));
                    const float f = a.w * push, g = b.w * push;
                    V[i] = make_float4(x.x - f * dx, x.y - f * dy, x.z - f * dz, 0.0f);
                    V[j] = make_float4(y.x + g * dx, y.y + g * dy, y.z + g * dz, 0.0f);
                }
                const float change =
                    -(length - k.x + w * push * length + compliance * before) * soft * inverse * length;
                if (keeps) pair_sums.data[c] = before + change * length;
                const float f = a.w * (push + change), g = b.w * (push + change);
                M[i] = make_float4(p.x - f * dx, p.y - f * dy, p.z - f * dz, 0.0f);
                M[j] = make_float4(q.x + g * dx, q.y + g * dy, q.z + g * dz, 0.0f);
            }
        } else {
            const int i0 = here.x & 0xffffu, i1 = here.x >> 16, i2 = here.y & 0xffffu, i3 = here.y >> 16;
            const float k1 = k.x, k2 = k.y, k3 = k.z, k0 = -(k.x + k.y + k.z);
            const float4 x0 = B[i0], x1 = B[i1], x2 = B[i2], x3 = B[i3];
            const float4 m0 = M[i0], m1 = M[i1], m2 = M[i2], m3 = M[i3];
            const float w0 = x0.w * k0, w1 = x1.w * k1, w2 = x2.w * k2, w3 = x3.w * k3;
            const float w = w0 * k0 + w1 * k1 + w2 * k2 + w3 * k3;
            if (w > 0.0f) {
                float jx = k1 * ((x1.x - x0.x) + (m1.x - m0.x)) + k2 * ((x2.x - x0.x) + (m2.x - m0.x))
                         + k3 * ((x3.x - x0.x) + (m3.x - m0.x));
                float jy = k1 * ((x1.y - x0.y) + (m1.y - m0.y)) + k2 * ((x2.y - x0.y) + (m2.y - m0.y))
                         + k3 * ((x3.y - x0.y) + (m3.y - m0.y));
                float jz = k1 * ((x1.z - x0.z) + (m1.z - m0.z)) + k2 * ((x2.z - x0.z) + (m2.z - m0.z))
                         + k3 * ((x3.z - x0.z) + (m3.z - m0.z));
                const float compliance = k.w * inv_dt2, damping = time * inv_dt;
                const float soft = damping > 0.0f ? compliance + damping * w : 1.0f;
                const float inverse = __fdividef(1.0f, soft * (compliance + w));
                float sx = 0.0f, sy = 0.0f, sz = 0.0f, ex = 0.0f, ey = 0.0f, ez = 0.0f;
                float* sum = (float*)hinge_sums.data + 3 * (long)c;
                if (reads) { sx = sum[0]; sy = sum[1]; sz = sum[2]; }
                else if (damping > 0.0f) {
                    const float4 v0 = V[i0], v1 = V[i1], v2 = V[i2], v3 = V[i3];
                    const float share = -(damping * compliance * inverse);
                    ex = share * (k1 * (v1.x - v0.x) + k2 * (v2.x - v0.x) + k3 * (v3.x - v0.x));
                    ey = share * (k1 * (v1.y - v0.y) + k2 * (v2.y - v0.y) + k3 * (v3.y - v0.y));
                    ez = share * (k1 * (v1.z - v0.z) + k2 * (v2.z - v0.z) + k3 * (v3.z - v0.z));
                    V[i0] = make_float4(v0.x + w0 * ex, v0.y + w0 * ey, v0.z + w0 * ez, 0.0f);
                    V[i1] = make_float4(v1.x + w1 * ex, v1.y + w1 * ey, v1.z + w1 * ez, 0.0f);
                    V[i2] = make_float4(v2.x + w2 * ex, v2.y + w2 * ey, v2.z + w2 * ez, 0.0f);
                    V[i3] = make_float4(v3.x + w3 * ex, v3.y + w3 * ey, v3.z + w3 * ez, 0.0f);
                }
                const float all = -soft * inverse;
                float cx = all * (jx + w * ex + compliance * sx);
                float cy = all * (jy + w * ey + compliance * sy);
                float cz = all * (jz + w * ez + compliance * sz);
                if (keeps) { sum[0] = sx + cx; sum[1] = sy + cy; sum[2] = sz + cz; }
                cx += ex; cy += ey; cz += ez;
                M[i0] = make_float4(m0.x + w0 * cx, m0.y + w0 * cy, m0.z + w0 * cz, 0.0f);
                M[i1] = make_float4(m1.x + w1 * cx, m1.y + w1 * cy, m1.z + w1 * cz, 0.0f);
                M[i2] = make_float4(m2.x + w2 * cx, m2.y + w2 * cy, m2.z + w2 * cz, 0.0f);
                M[i3] = make_float4(m3.x + w3 * cx, m3.y + w3 * cy, m3.z + w3 * cz, 0.0f);
            }
        }
    }
    if (r + d + AHEAD < run_count) fetch(r + d + AHEAD, R[r + d + AHEAD].y + thread, d);
    __syncthreads();
  }
}
for (int k = thread; k < count; k += BLOCK) {
    const long i = part[k];
    move[i] = M[k];
    if (damps) pace[i] = V[k];
}
"""


def _code() -> str:
    """The code with its numbers."""
    code = _SOLVE
    for name, value in (("CAPACITY", CAPACITY), ("BLOCK", BLOCK), ("MOST_RUNS", MOST_RUNS), ("AHEAD", AHEAD)):
        code = code.replace(name, str(value))
    return code


@functools.cache
def shared_kernel() -> Any:
    """The kernel; compiled for CUDA alone."""

    @wp.func_native(_code())
    def solve_patch(
        patch: int,
        thread: int,
        part_starts: wp.array(dtype=int),
        part_numbers: wp.array(dtype=int),
        run_starts: wp.array(dtype=int),
        runs: wp.array(dtype=wp.vec4i),
        pairs: wp.array(dtype=int),
        pair_laws: wp.array(dtype=wp.vec4),
        hinges: wp.array(dtype=wp.vec2i),
        hinge_laws: wp.array(dtype=wp.vec4),
        hinge_times: wp.array(dtype=float),
        places: wp.array(dtype=wp.vec4d),
        inv_dt: float,
        reads: int,
        keeps: int,
        damped: int,
        pair_sums: wp.array(dtype=float),
        hinge_sums: wp.array(dtype=wp.vec3),
        paces: wp.array(dtype=wp.vec4),
        moves: wp.array(dtype=wp.vec4),
    ): ...

    @wp.kernel(module="unique", grid_stride=False, enable_backward=False)
    def solve_shared(
        first_patch: int,
        patch_bodies: wp.array(dtype=wp.vec2i),
        awake: wp.array(dtype=int),
        part_starts: wp.array(dtype=int),
        part_numbers: wp.array(dtype=int),
        run_starts: wp.array(dtype=int),
        runs: wp.array(dtype=wp.vec4i),
        pairs: wp.array(dtype=int),
        pair_laws: wp.array(dtype=wp.vec4),
        hinges: wp.array(dtype=wp.vec2i),
        hinge_laws: wp.array(dtype=wp.vec4),
        hinge_times: wp.array(dtype=float),
        places: wp.array(dtype=wp.vec4d),
        step: Pass,
        damped: int,
        pair_sums: wp.array(dtype=float),
        hinge_sums: wp.array(dtype=wp.vec3),
        paces_inout: wp.array(dtype=wp.vec4),
        moves_inout: wp.array(dtype=wp.vec4),
    ):
        """All runs of a patch by one block. Nobody but this block touches its particles during the launch."""
        tid = wp.tid()
        if sleeps(patch_bodies[first_patch + tid // wp.static(BLOCK)], awake):
            return
        solve_patch(
            first_patch + tid // wp.static(BLOCK), tid % wp.static(BLOCK), part_starts, part_numbers, run_starts, runs,
            pairs, pair_laws, hinges, hinge_laws, hinge_times, places, step.inv_dt, step.reads, step.keeps, damped,
            pair_sums, hinge_sums, paces_inout, moves_inout,
        )  # fmt: skip

    return solve_shared


class SharedPatches:
    """The tables of the kernel, for bodies that have distances and flat hinges alone.

    Args:
        runs: the order of all constraints.
        kinds: the names of the kinds in the order of `runs.kind`.
        bend, distance: corners, values and damping times in the order of `runs`, see `Constraints`.
        sums: multipliers of distances and hinges, empty where there is one iteration.
        sleeping: `patch_bodies` and `awake` of the tables of constraints.
        particles: number of all particles.
    """

    def __init__(
        self,
        runs: Runs,
        kinds: tuple[str, ...],
        bend: tuple[np.ndarray, np.ndarray, np.ndarray],
        distance: tuple[np.ndarray, np.ndarray, np.ndarray],
        sums: tuple[wp.array, wp.array],
        sleeping: tuple[wp.array, wp.array],
        particles: int,
        device: str,
    ):
        self.device = device
        self.runs = runs

        def put(values: np.ndarray, kind: type, dtype: Any) -> wp.array:
            return wp.array(np.ascontiguousarray(values, kind), dtype=dtype, device=device)

        patch_of_run = np.repeat(np.arange(len(runs.patch_runs) - 1), np.diff(runs.patch_runs))
        keys, patches = [], {}
        for name, corners in (("bend", bend[0]), ("distance", distance[0])):
            mine = runs.kind == kinds.index(name)
            patches[name] = np.zeros(len(corners), np.int64)
            lengths = (runs.end - runs.first)[mine]
            order = np.argsort(runs.first[mine], kind="stable")
            patches[name] = np.repeat(patch_of_run[mine][order], lengths[order])
            keys.append((patches[name][:, None] * particles + corners).reshape(-1))
        held = np.unique(np.concatenate(keys))
        starts = np.searchsorted(held, np.arange(len(runs.patch_runs)) * particles)
        self.sizes = np.diff(starts)

        def local(name: str, corners: np.ndarray) -> np.ndarray:
            key = patches[name][:, None] * particles + corners
            return np.searchsorted(held, key) - starts[patches[name]][:, None]

        pairs, hinges = local("distance", distance[0]), local("bend", bend[0])
        number = np.array([KINDS.index(name) if name in KINDS else -1 for name in kinds])
        info = np.column_stack([number[runs.kind], runs.first, runs.end, np.zeros(len(runs.kind), np.int32)])
        packed = np.column_stack([hinges[:, 0] | hinges[:, 1] << 16, hinges[:, 2] | hinges[:, 3] << 16])
        whole = np.zeros((len(pairs), 4))
        whole[:, :2], whole[:, 2] = distance[1], distance[2]
        self._damped = int(bool(distance[2].any() or bend[2].any()))
        self._tables = [
            *sleeping,
            put(starts, np.int32, int),
            put(held % particles, np.int32, int),
            put(runs.patch_runs, np.int32, int),
            put(info, np.int32, wp.vec4i),
            put((pairs[:, 0] | pairs[:, 1] << 16).astype(np.uint32).view(np.int32), np.int32, int),
            put(whole, np.float32, wp.vec4),
            put(packed.astype(np.uint32).view(np.int32), np.int32, wp.vec2i),
            put(bend[1][:, 1:5], np.float32, wp.vec4),
            put(bend[2], np.float32, float),
        ]
        self._sums = list(sums)
        self._kernel = shared_kernel()

    def fits(self, level: int) -> bool:
        """Whether the patches of a level have room in shared memory."""
        first, end = self.runs.level_starts[level : level + 2]
        runs = np.diff(self.runs.patch_runs)[first:end].max(initial=0)
        return bool(self.sizes[first:end].max(initial=0) <= CAPACITY and runs <= MOST_RUNS)

    def solve(self, level: int, base: wp.array, step: Pass, pace: wp.array, move: wp.array) -> None:
        """One pass over the constraints of a level."""
        first, end = self.runs.level_starts[level : level + 2]
        launch(
            self._kernel,
            (end - first) * BLOCK,
            [first, *self._tables, base, step, self._damped, *self._sums],
            [pace, move],
            device=self.device,
            block_dim=BLOCK,
        )
