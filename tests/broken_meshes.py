"""Broken and hard meshes as files: each with what the whole way from file to body should make of it.

The files are written here and not with Pliant's writers, so that they can be broken in any way. Everything is made by
formula or from a seed: the same bytes every time. ``python tests/broken_meshes.py DIR`` writes them all.
"""

import dataclasses
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from plain_shapes import (
    as_binary_stl,
    as_obj,
    as_off,
    as_ply,
    as_stl,
    box,
    grid,
    joined,
    lathe,
    moved,
    rows,
    scaled,
    soup,
    sphere,
    turned,
    without,
)


@dataclasses.dataclass(frozen=True)
class BrokenCase:
    """One file.

    Attributes:
        name: also the file's name. description: what is wrong or hard.
        expect: 'body' (a solid is simulated), 'sheet' (simulated as a sheet) or 'refused' (with a clear reason).
        suffix: of the file. content: makes its bytes.
    """

    name: str
    description: str
    expect: str
    suffix: str
    content: Callable[[], bytes]

    def write(self, folder: Path) -> Path:
        """Write the file into a folder and return its path."""
        path = Path(folder) / (self.name + self.suffix)
        path.write_bytes(self.content())
        return path


def broken_meshes() -> dict[str, BrokenCase]:
    """All cases by name."""
    return {case.name: case for case in CASES}


CASES: list[BrokenCase] = []


def case(expect: str, description: str, suffix: str = ".obj"):
    """Register a function that makes a shape (written in the suffix's format), text or bytes."""

    def register(make):
        def content() -> bytes:
            made = make()
            if isinstance(made, tuple):
                made = {".obj": as_obj, ".off": as_off, ".stl": as_stl, ".ply": as_ply}[suffix](*made)
            return made if isinstance(made, bytes) else made.encode()

        CASES.append(BrokenCase(make.__name__, description, expect, suffix, content))
        return make

    return register


# Holes


@case("body", "a sphere with one triangle missing")
def one_hole():
    return without(sphere(), [40])


@case("body", "a sphere with thirty scattered holes")
def many_holes():
    return without(sphere(rings=24, around=40), np.arange(7, 1700, 57))


@case("body", "a sphere with two holes that meet in one vertex")
def touching_holes():
    _, faces = shape = sphere()
    around = np.flatnonzero((faces == 105).any(axis=1))
    return without(shape, around[[0, 3]])


@case("body", "a sphere whose cap is missing: one larger hole", ".off")
def large_hole():
    vertices, faces = sphere()
    return without((vertices, faces), np.flatnonzero(vertices[faces][:, :, 1].mean(axis=1) > 0.42))


@case("body", "a sphere whose upper half is missing")
def missing_half():
    vertices, faces = sphere()
    return without((vertices, faces), np.flatnonzero(vertices[faces][:, :, 1].mean(axis=1) > 0.0))


@case("body", "a hemisphere, open below", ".ply")
def hemisphere():
    vertices, faces = sphere()
    return without((vertices, faces), np.flatnonzero(vertices[faces][:, :, 1].mean(axis=1) < 0.0))


@case("body", "a box without its lid")
def open_box():
    return without(box(), [6, 7])


@case("body", "T-junctions: one face of a box is cut finer than its neighbours, with cracks of no width")
def t_junctions():
    vertices, faces = without(box(), [6, 7])
    x, f = grid(4, 4)
    return joined((vertices, faces), (x + [0.0, 1.0, 0.0], f))


@case("body", "a sphere in two halves with a crack of 1e-4 between them")
def crack():
    vertices, faces = sphere()
    upper = vertices[faces][:, :, 1].mean(axis=1) > 0.0
    return joined((vertices + [0.0, 1e-4, 0.0], faces[upper]), (vertices, faces[~upper]))


# Winding


@case("body", "half of a sphere's triangles, chosen at random, are flipped")
def half_flipped():
    vertices, faces = sphere()
    flip = np.random.default_rng(3).random(len(faces)) < 0.5
    return vertices, np.where(flip[:, None], faces[:, ::-1], faces)


@case("body", "a sphere inside out", ".stl")
def inside_out():
    return turned(sphere())


@case("body", "an open box inside out")
def open_box_inside_out():
    return turned(without(box(), [6, 7]))


# Several shells


@case("body", "two spheres that cut each other")
def two_intersecting_shells():
    return joined(sphere(), moved(sphere(), (0.4, 0.1, 0.05)))


@case("body", "a sphere with a cavity: the inner shell faces inward")
def cavity():
    return joined(sphere(), turned(sphere(0.25)))


@case("body", "a sphere in a sphere, both facing outward")
def nested_same():
    return joined(sphere(), sphere(0.25))


@case("body", "a sphere with a cavity, all inside out")
def cavity_inside_out():
    return joined(turned(sphere()), sphere(0.25))


@case("body", "a sphere with a wall across its middle: three triangles at each edge of it")
def internal_faces():
    vertices, faces = sphere()
    ring = 5 * 20 + np.arange(20)
    middle = len(vertices)
    wall = np.stack([np.full(20, middle), ring, np.roll(ring, -1)], axis=1)
    return np.concatenate([vertices, [[0.0, vertices[ring[0], 1], 0.0]]]), np.concatenate([faces, wall])


@case("body", "two boxes joined face to face, with both faces still between them")
def boxes_face_to_face():
    return joined(box(), moved(box(), (1.0, 0.0, 0.0)))


@case("body", "2,000 tiny separate tetrahedra")
def many_parts():
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float) * 0.02
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    places = np.stack(np.unravel_index(np.arange(2000), (20, 10, 10)), axis=1) * 0.05
    vertices = (places[:, None] + corner).reshape(-1, 3)
    return vertices, (faces + 4 * np.arange(2000)[:, None, None]).reshape(-1, 3)


# Faces and vertices that should not be there


@case("body", "a sphere with faces of no area: repeated corners and three vertices in a line", ".off")
def zero_area_faces():
    vertices, faces = sphere()
    extra = [[3, 3, 4], [5, 5, 5], [7, 8, 7]]
    middle = len(vertices)
    a, b = faces[0, :2]
    # The middle of an edge joined to it by a face without area, and the triangle left whole.
    vertices = np.concatenate([vertices, [0.5 * (vertices[a] + vertices[b])]])
    return vertices, np.concatenate([faces, extra, [[a, b, middle]]])


@case("body", "a box with vertices in the middle of an edge, joined by a face without area")
def flat_cap():
    vertices, faces = box()
    # Edge 2-3 of the top: vertex 8 in its middle belongs to the side's triangles, the top reaches it by a flat one.
    vertices = np.concatenate([vertices, [0.5 * (vertices[2] + vertices[3])]])
    side = faces.tolist().index([0, 3, 2])
    return vertices, np.concatenate([without((vertices, faces), [side])[1], [[3, 8, 0], [8, 2, 0], [3, 2, 8]]])


@case("body", "a sphere whose triangles share no vertices", ".ply")
def unwelded():
    return soup(sphere())


@case("body", "unwelded, and every vertex off by up to 1e-7")
def unwelded_noisy():
    vertices, faces = soup(sphere())
    return vertices + np.random.default_rng(5).uniform(-1e-7, 1e-7, vertices.shape), faces


@case("body", "some triangles twice, some of them the other way round")
def duplicate_faces():
    vertices, faces = sphere()
    return vertices, np.concatenate([faces, faces[10:30], faces[50:60, ::-1]])


@case("body", "1,000 vertices that belong to no face, far away")
def unused_vertices():
    vertices, faces = sphere()
    return np.concatenate([vertices, np.random.default_rng(2).normal(size=(1000, 3)) * 1e4]), faces


@case("body", "a fin stands on a box: three faces at one edge")
def non_manifold_edge():
    vertices, faces = box()
    return np.concatenate([vertices, [[0.0, 1.5, 0.5]]]), np.concatenate([faces, [[2, 3, 8]]])


@case("body", "two cones that touch in their tips, one vertex")
def non_manifold_vertex():
    ring = math.tau * np.arange(16) / 16
    circle = np.stack([np.cos(ring), np.ones(16), np.sin(ring)], axis=1)
    vertices = np.concatenate([[[0, 0, 0]], circle, [[0, 1, 0]], circle * [1, -1, 1], [[0, -1, 0]]])
    j, k = np.arange(16), (np.arange(16) + 1) % 16
    zero = np.zeros(16, int)
    upper = [np.stack([zero, 1 + j, 1 + k], axis=1), np.stack([zero + 17, 1 + k, 1 + j], axis=1)]
    lower = [np.stack([zero, 18 + k, 18 + j], axis=1), np.stack([zero + 34, 18 + j, 18 + k], axis=1)]
    return vertices, np.concatenate(upper + lower)


@case("body", "two boxes that share one edge")
def shared_edge():
    return joined(box(), moved(box(), (1.0, 1.0, 0.0)))


# Numbers


@case("refused", "three vertices of a sphere are NaN: the reader refuses them, the repair would drop them")
def few_nans():
    vertices, faces = sphere()
    vertices = vertices.copy()
    vertices[[17, 60, 130]] = math.nan
    return vertices, faces


@case("refused", "every coordinate is NaN")
def all_nans():
    vertices, faces = sphere()
    return np.full_like(vertices, math.nan), faces


@case("refused", "one coordinate is infinite: the reader refuses it, the repair would drop it")
def infinite():
    vertices, faces = sphere()
    vertices = vertices.copy()
    vertices[33, 1] = math.inf
    return vertices, faces


@case("refused", "faces name vertices that are not there")
def index_out_of_range():
    vertices, faces = sphere()
    faces = faces.copy()
    faces[3, 1] = len(vertices) + 999
    return vertices, faces


@case("body", "a kilometre wide")
def kilometre():
    return scaled(sphere(), 1e3)


@case("body", "a micrometre wide")
def micrometre():
    return scaled(sphere(), 1e-6)


@case("body", "a thousand kilometres from the origin")
def far_away():
    return moved(sphere(), (1e6, -1e6, 1e6))


@case("refused", "all vertices at the same place")
def zero_size():
    vertices, faces = sphere()
    return np.zeros_like(vertices) + 0.3, faces


@case("refused", "all vertices in one line")
def collinear():
    vertices, faces = sphere()
    return vertices[:, :1] * [1.0, 2.0, 3.0], faces


# Sheets


@case("sheet", "a single triangle")
def single_triangle():
    return np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float), np.array([[0, 1, 2]])


@case("sheet", "two triangles", ".stl")
def two_triangles():
    return np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.2]], float), np.array([[0, 1, 2], [0, 2, 3]])


@case("sheet", "a flat grid")
def flat_sheet():
    return grid()


@case("sheet", "a crumpled grid with a hole in it")
def crumpled_sheet():
    vertices, faces = grid(24, 24)
    x, z = vertices[:, 0], vertices[:, 2]
    vertices[:, 1] = 0.06 * np.sin(14 * x + 3 * z) + 0.05 * np.cos(11 * z - 5 * x)
    middle = vertices[faces].mean(axis=1)
    return without((vertices, faces), np.flatnonzero(np.hypot(middle[:, 0] - 0.5, middle[:, 2] - 0.5) < 0.1))


@case("sheet", "a sheet and its back, at the same place, facing opposite ways")
def two_opposite_sheets():
    return joined(grid(), turned(grid()))


@case("sheet", "a Moebius strip")
def moebius_strip():
    u = math.tau * np.arange(40) / 40
    w = np.linspace(-0.2, 0.2, 5)[:, None]
    x = np.stack(
        [(1 + w * np.cos(u / 2)) * np.cos(u), w * np.sin(u / 2) + 0 * u, (1 + w * np.cos(u / 2)) * np.sin(u)], axis=-1
    )
    number_of = np.arange(200).reshape(5, 40)
    closed = np.concatenate([number_of, number_of[::-1, :1]], axis=1)
    a, b, c, d = closed[:-1, :-1], closed[:-1, 1:], closed[1:, :-1], closed[1:, 1:]
    faces = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([b, d, c], axis=-1)]).reshape(-1, 3)
    return x.reshape(-1, 3), faces


@case("sheet", "a Klein bottle, as a figure of eight turned about: closed, cuts itself, has one side")
def klein_bottle():
    u = math.tau * np.arange(48) / 48
    v = (math.tau * (np.arange(24) + 0.5) / 24)[:, None]
    r = 1.0 + 0.4 * (np.cos(u / 2) * np.sin(v) - np.sin(u / 2) * np.sin(2 * v))
    y = 0.4 * (np.sin(u / 2) * np.sin(v) + np.cos(u / 2) * np.sin(2 * v))
    x = np.stack([r * np.cos(u), y, r * np.sin(u)], axis=-1)
    number_of = np.arange(24 * 48).reshape(24, 48)
    # After one turn v has become -v.
    closed = np.concatenate([number_of, number_of[::-1, :1]], axis=1)
    closed = np.concatenate([closed, closed[:1]])
    a, b, c, d = closed[:-1, :-1], closed[:-1, 1:], closed[1:, :-1], closed[1:, 1:]
    faces = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([b, d, c], axis=-1)]).reshape(-1, 3)
    return x.reshape(-1, 3), faces


@case("sheet", "three sheets that share one edge, as the pages of a book")
def book():
    x, f = grid(6, 6)
    pages = [(np.stack([x[:, 0] * math.cos(t), x[:, 0] * math.sin(t), x[:, 2]], axis=1), f) for t in (0.3, 1.5, 2.6)]
    return joined(*pages)


@case("sheet", "500 random triangles in a cube")
def random_soup():
    rng = np.random.default_rng(11)
    return soup((rng.random((1500, 3)), np.arange(1500).reshape(-1, 3)))


# Hard shapes


@case("body", "a sphere pulled through itself: a bag whose bottom sticks out of its side")
def self_intersecting():
    vertices, faces = sphere(rings=24, around=32)
    vertices = vertices.copy()
    low = np.clip(-vertices[:, 1] / 0.5, 0.0, 1.0) ** 2
    vertices[:, 0] += 1.1 * low
    vertices[:, 1] += 0.9 * low
    return vertices, faces


@case("body", "a plate of 1 m by 1 m by 1 mm")
def thin_plate():
    return box((1.0, 0.001, 1.0))


@case("body", "a needle: 1 m long, 1 mm wide at its base, pointed")
def needle():
    ring = math.tau * np.arange(8) / 8
    base = 0.0005 * np.stack([np.cos(ring), 0 * ring, np.sin(ring)], axis=1)
    vertices = np.concatenate([base, [[0, 0, 0], [0, 1, 0]]])
    j, k = np.arange(8), (np.arange(8) + 1) % 8
    eight = np.full(8, 8)
    return vertices, np.concatenate([np.stack([j, k, eight], axis=1), np.stack([k, j, eight + 1], axis=1)])


@case("body", "a hair: a tube 0.3 m long and 0.1 mm thick, bent, without ends")
def hair():
    t = np.linspace(0.0, 1.0, 120)
    path = np.stack([0.03 * np.sin(9 * t), 0.3 * t, 0.03 * np.cos(7 * t)], axis=1)
    ring = math.tau * np.arange(6) / 6
    circle = 5e-5 * np.stack([np.cos(ring), 0 * ring, np.sin(ring)], axis=1)
    points = path[:, None] + circle
    return points.reshape(-1, 3), lathe(points)


@case("body", "a box cut into slivers: triangles a thousand times longer than wide")
def huge_aspect():
    n = 1000
    x = np.linspace(0.0, 1.0, n + 1)
    ring = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    points = np.empty((n + 1, 4, 3))
    points[:, :, 0], points[:, :, 1:] = x[:, None], ring
    first, last = np.arange(4), 4 * n + np.arange(4)
    ends = np.array([[first[0], first[1], first[2]], [first[0], first[2], first[3]],
                     [last[0], last[2], last[1]], [last[0], last[3], last[2]]])  # fmt: skip
    return points.reshape(-1, 3), np.concatenate([turned((points, lathe(points)))[1], ends[:, ::-1]])


@case("body", "a box with one face cut into many tiny triangles around one point, the others huge")
def huge_and_tiny():
    vertices, faces = without(box((10.0, 10.0, 10.0)), [6, 7])
    corners = np.array([2, 3, 7, 6])
    ring = math.tau * (np.arange(200) + 0.5) / 200
    tiny = np.stack([5.0 + 1e-3 * np.cos(ring), np.full(200, 10.0), 5.0 + 1e-3 * np.sin(ring)], axis=1)
    number_of = len(vertices) + np.arange(200)
    vertices = np.concatenate([vertices, tiny, [[5.0, 10.0, 5.0]]])
    middle = len(vertices) - 1
    fan = [[middle, number_of[(k + 1) % 200], number_of[k]] for k in range(200)]
    angle = {2: 5, 6: 7, 7: 1, 3: 3}  # eighths of a turn of each corner of the top, in x and z
    spokes = []
    for corner in corners.tolist():
        at = angle[corner] * 25
        spokes += [[corner, number_of[k % 200], number_of[(k + 1) % 200]] for k in range(at - 25, at + 25)]
    order = sorted(corners.tolist(), key=lambda c: angle[c])
    for one, two in zip(order, order[1:] + order[:1], strict=True):
        spokes.append([one, number_of[(angle[one] * 25 + 25) % 200], two])
    return vertices, np.concatenate([faces, fan, spokes])


@case("body", "a star with twelve long spikes")
def spiky_star():
    vertices, faces = sphere(rings=16, around=24)
    length = np.ones(len(vertices))
    length[::25] = 6.0
    return vertices * length[:, None], faces


@case("body", "a box of quads and a concave hexagon for a lid")
def polygons():
    text = rows("v ", [[0, 0, 0], [2, 0, 0], [2, 0, 1], [1, 0, 1], [1, 0, 2], [0, 0, 2]])
    text += rows("v ", [[0, 1, 0], [2, 1, 0], [2, 1, 1], [1, 1, 1], [1, 1, 2], [0, 1, 2]])
    text += "f 1 2 3 4 5 6\nf 12 11 10 9 8 7\n"
    return text + "".join(f"f {i + 7} {(i + 1) % 6 + 7} {(i + 1) % 6 + 1} {i + 1}\n" for i in range(6))


# Files


@case("refused", "one vertex and no face")
def lone_vertex():
    return "v 0 0 0\n"


@case("refused", "an empty file")
def empty():
    return ""


@case("refused", "an empty STL", ".stl")
def empty_stl():
    return "solid nothing\nendsolid nothing\n"


@case("refused", "an OFF file that ends in the middle of its vertices", ".off")
def truncated_text():
    text = as_off(*sphere())
    return text[: len(text) // 3]


@case("refused", "a binary STL that ends in the middle of a triangle", ".stl")
def truncated_binary():
    return as_binary_stl(*sphere())[:-333]


@case("body", "a sound binary STL, which shares no vertices", ".stl")
def binary_stl():
    return as_binary_stl(*sphere())


@case("refused", "text that is no mesh")
def garbage():
    return "This text is long and plain, and it holds no mesh at all.\n" * 20


@case("refused", "random bytes", ".ply")
def random_bytes():
    return np.random.default_rng(1).integers(0, 256, 5000, dtype=np.uint8).tobytes()


@case("refused", "a web page saved as OBJ")
def web_page():
    return "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head><body>Not Found</body></html>\n"


@case("refused", "a Git LFS pointer in place of the file", ".stl")
def lfs_pointer():
    return "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d7a" * 16 + "\nsize 12345678\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/broken_meshes.py DIR")
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for each in CASES:
        each.write(target)
    print(f"{len(CASES)} files in {target}")
