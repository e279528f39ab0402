"""Sound shapes, and the texts of mesh files, for tests that must not use Pliant's own shapes and writers."""

import math
import struct

import numpy as np

Shape = tuple[np.ndarray, np.ndarray]


# Formats


def number(x: float) -> str:
    return repr(float(x))


def rows(lead: str, values, write=number) -> str:
    return "".join(f"{lead}{' '.join(write(x) for x in row)}\n" for row in values)


def as_obj(vertices, faces) -> str:
    return rows("v ", vertices) + rows("f ", faces, lambda i: str(int(i) + 1))


def as_off(vertices, faces) -> str:
    body = "".join(f"{len(f)} {' '.join(str(int(i)) for i in f)}\n" for f in faces)
    return f"OFF\n{len(vertices)} {len(faces)} 0\n{rows('', vertices)}{body}"


def as_ply(vertices, faces) -> str:
    head = f"ply\nformat ascii 1.0\nelement vertex {len(vertices)}\nproperty double x\nproperty double y\n"
    head += f"property double z\nelement face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    return head + as_off(vertices, faces).split("\n", 2)[2]


def as_stl(vertices, faces) -> str:
    text = "solid broken\n"
    for corners in np.asarray(vertices)[np.asarray(faces)]:
        text += "facet normal 0 0 0\nouter loop\n" + rows("vertex ", corners) + "endloop\nendfacet\n"
    return text + "endsolid broken\n"


def as_binary_stl(vertices, faces) -> bytes:
    data = b"binary stl".ljust(80) + struct.pack("<I", len(faces))
    for corners in np.asarray(vertices)[np.asarray(faces)].astype(np.float32):
        data += struct.pack("<12fH", 0.0, 0.0, 0.0, *corners.ravel().tolist(), 0)
    return data


# Sound shapes to start from


def joined(*shapes: Shape) -> Shape:
    counts = np.cumsum([0] + [len(v) for v, _ in shapes])
    return (
        np.concatenate([v for v, _ in shapes]),
        np.concatenate([np.asarray(f) + n for (_, f), n in zip(shapes, counts, strict=False)]),
    )


def moved(shape: Shape, by) -> Shape:
    return shape[0] + np.asarray(by, float), shape[1]


def scaled(shape: Shape, by) -> Shape:
    return shape[0] * np.asarray(by, float), shape[1]


def turned(shape: Shape) -> Shape:
    return shape[0], np.asarray(shape[1])[:, ::-1]


def sphere(radius: float = 0.5, rings: int = 12, around: int = 20) -> Shape:
    """A sphere with poles: 2 around (rings - 1) triangles, facing outward."""
    theta = np.linspace(0.0, math.pi, rings + 1)[1:-1, None]
    phi = math.tau * np.arange(around) / around
    x = np.stack(
        np.broadcast_arrays(np.sin(theta) * np.cos(phi), np.cos(theta), np.sin(theta) * np.sin(phi)), axis=-1
    ).reshape(-1, 3)
    south = len(x)
    j = np.arange(around)
    nxt = (j + 1) % around
    faces = []
    for i in range(rings - 2):
        a, b, c, d = i * around + j, i * around + nxt, (i + 1) * around + j, (i + 1) * around + nxt
        faces += [np.stack([a, b, c], axis=1), np.stack([b, d, c], axis=1)]
    last = (rings - 2) * around
    faces.append(np.stack([np.full(around, south + 1), nxt, j], axis=1))
    faces.append(np.stack([np.full(around, south), last + j, last + nxt], axis=1))
    vertices = radius * np.concatenate([x, [[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]]])
    return vertices, np.concatenate(faces)


def box(size=(1.0, 1.0, 1.0)) -> Shape:
    """A box of twelve triangles; the two of the top (y) are rows 6 and 7."""
    vertices = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float) * size
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


def grid(nx: int = 10, nz: int = 10) -> Shape:
    """A flat grid of unit size in the plane y = 0, facing up."""
    x, z = np.meshgrid(np.linspace(0, 1, nx + 1), np.linspace(0, 1, nz + 1), indexing="ij")
    vertices = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], axis=1)
    return vertices, grid_faces(nx, nz)


def grid_faces(nx: int, nz: int) -> np.ndarray:
    i, k = (n.ravel() for n in np.indices((nx, nz)))
    a = i * (nz + 1) + k
    b, c, d = a + 1, a + nz + 1, a + nz + 2
    return np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])


def lathe(points: np.ndarray) -> np.ndarray:
    """Faces of a grid of points (n, m, 3) whose second index closes on itself."""
    n, m = points.shape[:2]
    i, j = (k.ravel() for k in np.indices((n - 1, m)))
    a, b = i * m + j, i * m + (j + 1) % m
    c, d = a + m, b + m
    return np.concatenate([np.stack([a, c, b], axis=1), np.stack([b, c, d], axis=1)])


def without(shape: Shape, rows_out) -> Shape:
    keep = np.ones(len(shape[1]), bool)
    keep[rows_out] = False
    return shape[0], np.asarray(shape[1])[keep]


def soup(shape: Shape) -> Shape:
    """Every triangle with vertices of its own."""
    return np.asarray(shape[0])[np.asarray(shape[1])].reshape(-1, 3), np.arange(3 * len(shape[1])).reshape(-1, 3)
