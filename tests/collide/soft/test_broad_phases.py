"""Trees, hash grid and octree find what looking at all pairs finds, on random and on degenerate sets."""

import numpy as np
import pytest
import warp as wp

from pliant.collide.soft import brute
from pliant.collide.soft.brute import BruteForce
from pliant.collide.soft.candidates import Candidates
from pliant.collide.soft.features import THIN, Features
from pliant.collide.soft.hash_grid import HashGrid
from pliant.collide.soft.octree import Octree
from pliant.physics.closest import segments_weights, triangle_weights

AHEAD = 0.02
REACH = 0.03
# shared edges of the boxes are at most 3 m from the origin here; float32 places them to 4e-7 m
ROUNDING = 2e-6


# ---- sets of boxes ---------------------------------------------------------------------------------------------------


def random_boxes(count, size, seed=0):
    rng = np.random.default_rng(seed)
    low = rng.uniform(-1.0, 1.0, (count, 3))
    return low, low + size * rng.uniform(0.0, 1.0, (count, 3))


def huge_and_tiny():
    low, high = random_boxes(600, 0.01)
    low[17], high[17] = -0.6, 0.7
    return low, high


def thin_boxes():
    """Long along one axis, thin along the others."""
    low, high = random_boxes(400, 0.01)
    axis = np.arange(400) % 3
    high[np.arange(400), axis] += 1.3
    return low, high


def with_empty():
    low, high = random_boxes(90, 0.4)
    low[::3], high[::3] = 1e30, -1e30
    return low, high


def on_a_grid():
    """Boxes that touch exactly along faces, edges and corners."""
    low = np.stack(np.meshgrid(*[np.arange(6.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return low, low + 1.0


BOXES = {
    "random": lambda: random_boxes(700, 0.2),
    "sparse": lambda: random_boxes(700, 0.02, seed=1),
    "sizes of every scale": lambda: _scales(),
    "far from the origin": lambda: tuple(part + [4000.0, -300.0, 20.0] for part in random_boxes(300, 0.3)),
    "all equal": lambda: (np.zeros((60, 3)), np.ones((60, 3))),
    "all one point": lambda: (np.full((60, 3), 0.3), np.full((60, 3), 0.3)),
    "points": lambda: (random_boxes(200, 0.0)[0],) * 2,
    "one huge, many tiny": huge_and_tiny,
    "long and thin": thin_boxes,
    "touching exactly": on_a_grid,
    "flat": lambda: tuple(part * [1.0, 0.0, 1.0] for part in random_boxes(300, 0.2)),
    "some empty": with_empty,
    "all empty": lambda: (np.full((5, 3), 1e30), np.full((5, 3), -1e30)),
    "one": lambda: random_boxes(1, 0.5),
    "two": lambda: (np.zeros((2, 3)), np.ones((2, 3))),
    "none": lambda: (np.zeros((0, 3)), np.zeros((0, 3))),
}


def _scales():
    low, high = random_boxes(500, 1.0)
    return low, low + (high - low) * 10.0 ** np.random.default_rng(5).uniform(-4, 0.3, (500, 1))


def searched(finder, *args):
    """A finder after its search, with room for all it finds."""
    finder.search(*args)
    while finder.grow():
        finder.search(*args)
    return finder


@pytest.mark.parametrize("kind", BOXES)
def test_the_octree_finds_exactly_the_boxes_that_touch(kind, device):
    low, high = (np.asarray(part, np.float32) for part in BOXES[kind]())
    octree = Octree(len(low), device)
    octree.set_boxes(low, high)
    searched(octree)
    expected = brute.touching_pairs(low, high)
    np.testing.assert_array_equal(octree.pairs(), expected)
    # each pair is found from both sides, and once
    assert len(octree.near.pairs()) == 2 * len(expected)


def test_brute_force_itself_on_boxes_that_can_be_counted():
    """A grid of 6 x 6 x 6 unit boxes: a box touches those that are at most one place off along every axis."""
    low, high = on_a_grid()
    apart = np.abs(low[:, None] - low).max(axis=2)
    np.testing.assert_array_equal(brute.touching_pairs(low, high), np.argwhere(np.triu(apart <= 1.0, 1)))
    assert len(brute.touching_pairs(*(np.zeros((0, 3)),) * 2)) == 0


# ---- sets of triangles -----------------------------------------------------------------------------------------------


def features_of(bodies, radius=0.01):
    """Features, rest positions and radii of bodies given as (vertices, triangles) each; edges are all sides."""
    triangles, edges, rest, first = [], [], [], 0
    for vertices, corners in bodies:
        corners = np.asarray(corners, np.int64).reshape(-1, 3) + first
        sides = np.sort(corners[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        triangles.append(corners)
        edges.append(np.unique(sides[sides[:, 0] != sides[:, 1]], axis=0).reshape(-1, 2))
        rest.append(np.asarray(vertices, float).reshape(-1, 3))
        first += len(rest[-1])
    number = lambda parts: np.repeat(np.arange(len(parts)), [len(part) for part in parts]).astype(np.int32)
    joined, x = np.concatenate(triangles).astype(np.int32), np.concatenate(rest)
    edges_joined = np.concatenate(edges).astype(np.int32)
    vertices = np.unique(joined).astype(np.int32)
    features = Features(
        vertices, joined, edges_joined, number(rest)[vertices], number(triangles), number(edges),
        np.full(edges_joined.shape, -1, np.int32), np.full(len(bodies), THIN, np.int32),
        np.full(len(x), radius), REACH, 1.0,
    )  # fmt: skip
    return features, x


def soup(rng, count, size, spread=1.0):
    """Triangles at random that share some corners."""
    middle = rng.uniform(-spread, spread, (count, 1, 3))
    vertices = (middle + size * rng.uniform(-1.0, 1.0, (count, 3, 3))).reshape(-1, 3)
    corners = np.arange(3 * count).reshape(-1, 3)
    corners[1::4, 0] = corners[0:-1:4, 2][: len(corners[1::4])]
    return vertices, corners


def _bodies(kind):
    rng = np.random.default_rng(7)
    if kind == "random":
        return [soup(rng, 60, 0.2) for _ in range(5)]
    if kind == "all equal":
        one = soup(rng, 20, 0.3)
        return [one] * 5
    if kind == "all one point":
        return [(np.full((9, 3), 0.2), np.arange(9).reshape(3, 3))] * 4
    if kind == "one huge, many tiny":
        return [
            (np.array([[-2, -2, -2], [2, -2, 1], [0, 2, 2]]), [[0, 1, 2]]),
            *(soup(rng, 15, 0.01) for _ in range(20)),
        ]
    if kind == "long and thin":
        parts = []
        for k in range(6):
            vertices, corners = soup(rng, 30, 0.01)
            vertices[:, k % 3] += 1.5 * (np.arange(len(vertices)) % 3 == 0)
            parts.append((vertices, corners))
        return parts
    if kind == "empty bodies":
        nothing = (np.zeros((0, 3)), np.zeros((0, 3), int))
        return [nothing, soup(rng, 30, 0.2), nothing, nothing, soup(rng, 30, 0.2), nothing]
    if kind == "points and segments":
        points = rng.uniform(-0.3, 0.3, (50, 3))
        chain = np.stack([np.arange(49), np.arange(1, 50), np.arange(1, 50)], axis=1)
        return [(points, np.repeat(np.arange(50)[:, None], 3, axis=1)), (rng.uniform(-0.3, 0.3, (50, 3)), chain)]
    assert kind == "one triangle"
    return [(np.eye(3), [[0, 1, 2]])]


KINDS = (
    "random", "all equal", "all one point", "one huge, many tiny", "long and thin", "empty bodies",
    "points and segments", "one triangle",
)  # fmt: skip


class Case:
    """Bodies that move, with what brute force finds of them."""

    def __init__(self, kind, selfs, device):
        self.features, self.rest = features_of(_bodies(kind))
        rng = np.random.default_rng(11)
        # trees have the shape of the rest positions, and must do wherever the particles are
        x = self.rest + (0.0 if "equal" in kind or "point" in kind else 0.1) * rng.normal(size=self.rest.shape)
        v = rng.normal(size=x.shape)
        v[rng.random(len(x)) < 0.02] *= 20.0
        x, v = x.astype(np.float32), v.astype(np.float32)
        x_next = (x + 0.005 * v).astype(np.float32)
        self.selfs = np.full(len(self.features.kind), selfs)
        self.radius = wp.array(self.features.radius, dtype=float, device=device)
        self.there = [wp.array(part, dtype=wp.vec3, device=device) for part in (x, x_next, v)]
        self.moving = tuple(part.astype(np.float64) for part in (x, x_next, x + AHEAD * v.astype(np.float64)))
        self.device = device

    def check(self, found, oracle):
        """All that brute force finds, and no more, but where rounding decides."""
        least, most = (
            {*map(tuple, oracle(self.features, self.moving, self.features.radius, self.selfs, more))}
            for more in (-ROUNDING, ROUNDING)
        )
        got = [*map(tuple, found)]
        assert len(got) == len(set(got))
        assert least <= set(got) <= most
        return len(least)

    def check_near(self, found, oracle, one, two, ahead, astray):
        """The same less pairs whose boxes touch but which are too far apart to come within reach.

        Args:
            one, two: particles of both kinds of items (n, 3). ahead: how far particles are expected to go [m].
            astray: by how much their step goes astray of that [m].
        """
        x = self.moving[0]
        least, most = (
            np.array(oracle(self.features, self.moving, self.features.radius, self.selfs, more)).reshape(-1, 2)
            for more in (-ROUNDING, ROUNDING)
        )

        def within(pairs, more):
            a, b = one[pairs[:, 0]], two[pairs[:, 1]]
            closer = np.zeros(len(pairs))
            for way in (ahead, astray):
                apart = way[a][:, :, None] - way[b][:, None]
                closer += np.linalg.norm(apart, axis=3).max(axis=(1, 2))
            far = distances(x[a], x[b]) - closer - self.features.radius[a[:, 0]] - self.features.radius[b[:, 0]]
            return {*map(tuple, pairs[far <= REACH + more])}

        got = [*map(tuple, found)]
        assert len(got) == len(set(got))
        wanted = within(least, -5 * ROUNDING)
        assert wanted <= set(got) <= within(most, 5 * ROUNDING)
        return len(wanted)


def distances(one, two):
    """Distances between vertices and triangles, or between edges (n,) [m], from their corners (n, 3, 3)."""
    if not len(one):
        return np.zeros(0)
    vertex = bool((one[:, 0] == one[:, 1]).all())
    corners = wp.array(
        np.concatenate([one[:, :2], two], axis=1).astype(np.float32), dtype=wp.vec3, ndim=2, device="cpu"
    )
    weights = wp.zeros(len(one), dtype=wp.vec3, device="cpu")
    wp.launch(_nearest, len(one), inputs=[corners, int(vertex)], outputs=[weights], device="cpu")
    w = weights.numpy().astype(np.float64)
    if vertex:
        return np.linalg.norm(one[:, 0] - np.einsum("nk,nkd->nd", w, two), axis=1)
    a, b, c, d = one[:, 0], one[:, 1], two[:, 0], two[:, 1]
    return np.linalg.norm(a + w[:, :1] * (b - a) - c - w[:, 1:2] * (d - c), axis=1)


@wp.kernel(enable_backward=False)
def _nearest(corner: wp.array2d(dtype=wp.vec3), vertex: int, weights_out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    if vertex != 0:
        weights_out[i] = triangle_weights(corner[i, 0], corner[i, 2], corner[i, 3], corner[i, 4])
    else:
        w = segments_weights(corner[i, 0], corner[i, 1], corner[i, 2], corner[i, 3])
        weights_out[i] = wp.vec3(w[0], w[1], 0.0)


@pytest.fixture(params=[False, True], ids=["bodies", "all"])
def selfs(request):
    return request.param


@pytest.mark.parametrize("kind", KINDS)
def test_trees_find_what_all_pairs_find(kind, selfs, device):
    case = Case(kind, selfs, device)
    finder = Candidates(case.features, case.rest, case.selfs, case.radius, device)
    searched(finder, *case.there, 0.005, AHEAD)
    # neighbours are expected to go on together, for a time that depends on the fastest
    ahead = finder.v_found.numpy().astype(np.float64) * float(finder.ahead.numpy()[0])
    astray = finder.astray.numpy().astype(np.float64)
    case.moving = (*case.moving[:2], case.moving[0] + ahead, case.moving[0] + ahead + astray)
    triangles, edges = case.features.triangles, case.features.edges[:, [0, 1, 1]]
    pairs = finder.near_triangles.pairs()
    found = np.stack([pairs[:, 0], finder.triangles.order[pairs[:, 1]]], axis=1)
    corner = case.features.vertices[:, None][:, [0, 0, 0]]
    count = case.check_near(found, brute.near_triangles, corner, triangles, ahead, astray)
    found = np.sort(finder.edges.order[finder.near_edges.pairs()], axis=1)
    case.check_near(found, brute.near_edges, edges, edges, ahead, astray)
    # the sets are no empty promise
    assert count > 5 or kind == "one triangle"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cell_size", [None, 0.004, 30.0], ids=["cells", "tiny cells", "huge cells"])
def test_the_hash_grid_finds_what_all_pairs_find(kind, cell_size, selfs, device):
    case = Case(kind, selfs, device)
    finder = HashGrid(case.features, case.rest, case.selfs, case.radius, device, cell_size)
    searched(finder, *case.there, AHEAD)
    assert len(finder.near.pairs()) == len(finder.pairs())
    case.check(finder.pairs(), brute.near_triangles)


@pytest.mark.parametrize("kind", KINDS)
def test_all_pairs_on_the_device_are_those_of_the_host(kind, selfs, device):
    case = Case(kind, selfs, device)
    finder = searched(BruteForce(case.features, case.selfs, case.radius, device), *case.there, AHEAD)
    case.check(finder.pairs(), brute.near_triangles)


@pytest.mark.parametrize("threads", [1, 3])
def test_searches_are_the_same_from_run_to_run(threads, device, set_threads):
    """Lists have the same order, not only the same numbers."""
    set_threads(threads)
    case = Case("random", True, device)
    low, high = (part.astype(np.float32) for part in random_boxes(700, 0.2))

    def lists():
        octree = Octree(len(low), device)
        octree.set_boxes(low, high)
        grid = HashGrid(case.features, case.rest, case.selfs, case.radius, device)
        return searched(octree).near.pairs(), searched(grid, *case.there, AHEAD).near.pairs()

    for one, two in zip(lists(), lists(), strict=True):
        np.testing.assert_array_equal(one, two)


def test_no_vertices_at_all(device):
    features, rest = features_of([(np.zeros((0, 3)), np.zeros((0, 3), int))] * 2)
    radius = wp.zeros(1, dtype=float, device=device)
    nowhere = [wp.zeros(1, dtype=wp.vec3, device=device) for _ in range(3)]
    selfs = np.zeros(2, bool)
    for finder in (HashGrid(features, rest, selfs, radius, device), BruteForce(features, selfs, radius, device)):
        assert len(searched(finder, *nowhere, AHEAD).pairs()) == 0
