"""The kernels of a skin for the CPU: as in `kernels`, with a vector's three numbers in one register.

Left to itself the compiler handles the numbers one by one, which takes about twice the time. Arrays must be contiguous.
"""

import functools
from typing import Any

import warp as wp

from pliant.skin.kernels import GROWTH, TINY

wp.set_module_options({"enable_backward": False})

# Results are written here too: a struct handed back to the kernel would go through memory.
FOUR = "typedef float four __attribute__((vector_size(16), aligned(4), may_alias));\n"


def _load(name: str, index: str) -> str:
    """C++ that loads the position x[index]; three numbers and not four, as nothing may lie behind the last one."""
    at = f"((const float*)x.data + 3 * (size_t)({index}))"
    return f"const four {name} = (four){{{at}[0], {at}[1], {at}[2], 0.0f}};\n"


def _store(array: str, name: str) -> str:
    """C++ that stores a vector at array[i]."""
    at = f"((float*){array}.data + 3 * (size_t)i)"
    return "".join(f"{at}[{k}] = {name}[{k}];\n" for k in range(3))


@functools.cache
def place_kernel(width: int) -> Any:
    """The kernel that places vertices with `width` hosts each, two or more; see `kernels.place_kernel`."""
    host_type = wp.types.vector(length=width, dtype=int)
    weight_type = wp.types.vector(length=width - 1, dtype=float)
    code = FOUR + f"const int* host = (const int*)hosts.data + {width} * (size_t)row;\n"
    code += f"const float* weight = (const float*)weights.data + {width - 1} * (size_t)row;\n"
    code += _load("base", "host[0]") + "four away = (four){0.0f, 0.0f, 0.0f, 0.0f};\n"
    for j in range(1, width):
        code += _load(f"x_{j}", f"host[{j}]") + f"away += weight[{j - 1}] * (x_{j} - base);\n"
    code += "away += base;\n" + _store("x_out", "away")

    @wp.func_native(code)
    def place(
        hosts: wp.array(dtype=host_type),
        weights: wp.array(dtype=weight_type),
        x: wp.array(dtype=wp.vec3),
        row: int,
        i: int,
        x_out: wp.array(dtype=wp.vec3),
    ): ...

    @wp.kernel(module="unique", enable_backward=False)
    def place_vertices_cpu(
        start: int,
        hosts: wp.array(dtype=host_type),
        weights: wp.array(dtype=weight_type),
        x: wp.array(dtype=wp.vec3),
        first: int,
        x_out: wp.array(dtype=wp.vec3),
    ):
        i = start + wp.tid()
        place(hosts, weights, x, i - first, i, x_out)

    return place_vertices_cpu


@wp.func_native(
    FOUR
    + "const int* t = (const int*)triangles.data + 3 * (size_t)i;\n"
    + _load("a", "t[0]")
    + _load("b", "t[1]")
    + _load("c", "t[2]")
    + """
const four u = b - a;
const four v = c - a;
const four n = u * __builtin_shufflevector(v, v, 1, 2, 0, 3) - __builtin_shufflevector(u, u, 1, 2, 0, 3) * v;
*(four*)((float*)face_normals_out.data + 4 * (size_t)i) = __builtin_shufflevector(n, n, 1, 2, 0, 3);
"""
)
def find_face_normal(
    triangles: wp.array(dtype=wp.vec3i),
    x: wp.array(dtype=wp.vec3),
    i: int,
    face_normals_out: wp.array(dtype=wp.vec4),
): ...


@wp.kernel
def find_face_normals(
    start: int,
    triangles: wp.array(dtype=wp.vec3i),
    x: wp.array(dtype=wp.vec3),
    face_normals_out: wp.array(dtype=wp.vec4),
):
    """Normals of the triangles, as long as twice their areas [m^2], and a zero."""
    i = start + wp.tid()
    find_face_normal(triangles, x, i, face_normals_out)


@functools.cache
def normal_kernel(width: int) -> Any:
    """The kernel that adds up the normals of `width` triangles around each vertex; see `kernels.normal_kernel`."""
    row_type = wp.types.vector(length=width, dtype=int)
    code = FOUR + f"const int* row = (const int*)around.data + {width} * (size_t)i;\n"
    faces = [f"*(const four*)((const float*)face_normals.data + 4 * (size_t)row[{j}])" for j in range(width)]
    code += f"four even = {faces[0]};\nfour odd = {faces[1]};\n"
    for j in range(2, width, 2):
        code += f"even += {faces[j]};\nodd += {faces[j + 1]};\n"
    # Made a unit vector as `kernels.unit` does.
    code += f"""even += odd;
float squared = even[0] * even[0] + even[1] * even[1] + even[2] * even[2];
if (squared < {TINY}f) {{
    even *= {GROWTH}f;
    squared = even[0] * even[0] + even[1] * even[1] + even[2] * even[2];
}}
even *= squared > 0.0f ? 1.0f / __builtin_sqrtf(squared) : 0.0f;
"""
    code += _store("normals_out", "even")

    @wp.func_native(code)
    def find_vertex_normal(
        around: wp.array(dtype=row_type),
        face_normals: wp.array(dtype=wp.vec4),
        i: int,
        normals_out: wp.array(dtype=wp.vec3),
    ): ...

    @wp.kernel(module="unique", enable_backward=False)
    def find_vertex_normals_cpu(
        start: int,
        around: wp.array(dtype=row_type),
        face_normals: wp.array(dtype=wp.vec4),
        normals_out: wp.array(dtype=wp.vec3),
    ):
        i = start + wp.tid()
        find_vertex_normal(around, face_normals, i, normals_out)

    return find_vertex_normals_cpu


@functools.cache
def follow_kernel(width: int) -> Any:
    """The kernel that places vertices that follow `width` clusters each; see `cluster_kernels.follow_kernel`."""
    cluster_type = wp.types.vector(length=width, dtype=int)
    weight_type = wp.types.vector(length=width, dtype=float)
    code = FOUR + f"const int* cluster = (const int*)clusters.data + {width} * (size_t)i;\n"
    code += f"const float* weight = (const float*)weights.data + {width} * (size_t)i;\n"
    code += "const float* p = (const float*)rest.data + 3 * (size_t)i;\n"
    code += "const four* first = (const four*)columns.data + 4 * (size_t)cluster[0];\nconst four base = first[3];\n"
    code += "four away = (four){0.0f, 0.0f, 0.0f, 0.0f};\nconst four* c = first;\n"
    for j in range(width):
        code += f"c = (const four*)columns.data + 4 * (size_t)cluster[{j}];\n"
        code += f"away += weight[{j}] * (p[0] * c[0] + p[1] * c[1] + p[2] * c[2] + (c[3] - base));\n"
    code += "away += base;\n" + _store("x_out", "away")

    @wp.func_native(code)
    def follow(
        clusters: wp.array(dtype=cluster_type),
        weights: wp.array(dtype=weight_type),
        rest: wp.array(dtype=wp.vec3),
        columns: wp.array(dtype=wp.vec4),
        i: int,
        x_out: wp.array(dtype=wp.vec3),
    ): ...

    @wp.kernel(module="unique", enable_backward=False)
    def follow_clusters_cpu(
        start: int,
        clusters: wp.array(dtype=cluster_type),
        weights: wp.array(dtype=weight_type),
        rest: wp.array(dtype=wp.vec3),
        columns: wp.array(dtype=wp.vec4),
        x_out: wp.array(dtype=wp.vec3),
    ):
        i = start + wp.tid()
        follow(clusters, weights, rest, columns, i, x_out)

    return follow_clusters_cpu
