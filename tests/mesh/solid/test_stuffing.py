"""Isosurface stuffing: conforming, positive, angles within the paper's bounds, the right volume, same every time."""

import itertools

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.solid import stuffing
from pliant.mesh.solid.bcc import Bcc, clean_signs, sampled
from pliant.mesh.solid.checks import pinch_count
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.solid.stuffing import ANGLES, stuff
from pliant.mesh.solid.stuffing_tables import COUNTS, EDGE_OF, INSIDE, OUTSIDE, STENCILS
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import EDGE_CORNERS, TetMesh

BODIES = {
    "sphere": shapes.ball(0.5, 12).surface_mesh().rotated((1, 2, 3), 0.3),
    "torus": shapes.torus(0.35, 0.15, 5, 48).surface_mesh().rotated((1, 2, 3), 0.3),
    "box": shapes.box((1.0, 0.7, 0.5), 3).surface_mesh().rotated((1, 2, 3), 0.3),
}


def filled(lattice, depth):
    """The tets of any values at the nodes of a lattice."""
    states, moved, moved_to, cuts = stuffing._warped(lattice, depth)
    tets = stuffing._stencilled(lattice, states, cuts, None)
    return TetMesh(*stuffing._numbered(lattice, tets, moved, moved_to, cuts))


def assert_sound(mesh):
    assert mesh.check() == []
    low, high = mesh.dihedral_range()
    assert low > ANGLES[0] and high < ANGLES[1]


def test_stencils_fill_the_part_inside():
    """The tets of each case have the volume of the part kept, found by cutting with cut points in the middle."""
    corners = np.array([[-0.5, 0, 0], [0.5, 0, 0], [0, 0.5, -0.5], [0, 0.5, 0.5]])
    if np.dot(np.cross(corners[1] - corners[0], corners[2] - corners[0]), corners[3] - corners[0]) < 0:
        corners[:, 2] *= -1.0
    places = np.array([*corners, *[(corners[i] + corners[j]) / 2 for i, j in EDGE_CORNERS]])

    def volume(points):
        a, b, c, d = places[list(points)]
        return np.dot(np.cross(b - a, c - a), d - a) / 6.0

    whole = volume((0, 1, 2, 3))
    for signs in itertools.product(range(3), repeat=4):
        case = sum(sign * 3**i for i, sign in enumerate(signs))
        parts = [volume(tet) for tet in STENCILS[case, : COUNTS[case]]]
        assert all(part > 0.0 for part in parts)
        kept, cut = ([i for i in range(4) if signs[i] == sign] for sign in (INSIDE, OUTSIDE))
        if not kept:
            expected = 0.0
        elif len(kept) == len(cut) == 2:
            expected = whole / 2
        elif len(kept) == 1:
            expected = whole / 2 ** len(cut)
        else:
            # Only one corner can be cut off here; on each edge to a kept corner half is gone.
            expected = whole * (1.0 - 1.0 / 2 ** len(kept)) if cut else whole
        assert sum(parts) == pytest.approx(expected), signs
    assert EDGE_OF[0, 1] == 4


@pytest.mark.parametrize("seed", range(4))
def test_any_values_conform_within_the_angle_bounds(seed):
    """Noise on the nodes: every case of signs, every place of the cut points, next to every other."""
    lattice = Bcc(np.zeros(3), 1.0, (12, 12, 12))
    depth = np.random.default_rng(seed).uniform(-1.0, 1.0, lattice.node_count).astype(np.float32)
    for grid, axis in itertools.product(lattice.grids(depth), range(3)):
        edge = [slice(None)] * 3
        edge[axis] = [0, 1, -2, -1]
        grid[tuple(edge)] = -0.5
    mesh = filled(lattice, depth)
    assert len(mesh.tets) > 5000
    assert_sound(mesh)
    # Closed: each directed edge of the boundary has as many opposite ones.
    triangles = mesh.surface().astype(np.int64)
    one = np.sort((triangles << 32 | np.roll(triangles, -1, axis=1)).ravel())
    other = np.sort((np.roll(triangles, -1, axis=1) << 32 | triangles).ravel())
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", BODIES)
def test_volume_comes_right_with_the_square_of_the_size(device, name):
    surface = BODIES[name]
    distance = SignedDistance(surface, device)
    errors = []
    for size in (0.12, 0.06, 0.03):
        mesh = stuff(distance, size)
        assert_sound(mesh)
        boundary = mesh.surface_mesh()
        assert boundary.is_closed() and boundary.components()[0] == 1
        assert boundary.volume() == pytest.approx(mesh.volumes().sum())
        errors.append(abs(mesh.volumes().sum() / surface.volume() - 1.0))
    assert errors[1] < 0.06 and errors[2] < 0.02 and errors[2] < 0.5 * errors[1]


@pytest.mark.parametrize("seed", range(3))
def test_blobs(seed):
    """Overlapping balls of random size, put together without any boolean."""
    rng = np.random.default_rng(seed)
    ball = shapes.ball(0.5, 5).surface_mesh()
    parts = [ball.scaled(rng.uniform(0.3, 0.8)).translated(rng.uniform(-0.3, 0.3, 3)) for _ in range(6)]
    soup = SurfaceMesh(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.triangles + k * len(ball.vertices) for k, part in enumerate(parts)]),
    )
    mesh = stuff(soup, 0.05)
    assert_sound(mesh)
    points = rng.uniform(-0.6, 0.6, (200_000, 3))
    inside = np.zeros(len(points), bool)
    for part in parts:
        low, high = part.vertices.min(axis=0), part.vertices.max(axis=0)
        inside |= np.linalg.norm(points - (low + high) / 2, axis=1) < (high - low).max() / 2
    assert mesh.volumes().sum() == pytest.approx(inside.mean() * 1.2**3, rel=0.05)


def test_offset_encloses_the_surface(device):
    surface = BODIES["box"]
    mesh = stuff(surface, 0.1, 0.08, device)
    assert_sound(mesh)
    assert SignedDistance(mesh.surface_mesh(), device).at(surface.vertices).max() < 0.0


def test_skipping_far_blocks_changes_nothing():
    """Every node close enough to be cut has the depth that a plain evaluation gives, and every node its sign."""
    distance = SignedDistance(BODIES["torus"])
    lattice = Bcc.around(distance.low, distance.high, 0.02)
    depth, turned = sampled(lattice, distance, 0.003)
    plain = (0.003 - distance.at(lattice.points(np.arange(lattice.node_count)))) / 0.02
    near = np.abs(plain) <= 1.0
    assert turned == 0 and near.sum() > 1000
    np.testing.assert_allclose(depth[near], plain[near], atol=1e-4)
    np.testing.assert_array_equal(depth > 0.0, plain > 0.0)


def test_wrong_signs_are_turned_back():
    distance = SignedDistance(BODIES["sphere"])
    lattice = Bcc.around(distance.low, distance.high, 0.1)
    depth, _ = sampled(lattice, distance, 0.0)
    spoiled = depth.copy()
    rows = np.random.default_rng(0).choice(np.flatnonzero(np.abs(depth) > 0.9), 12, replace=False)
    spoiled[rows] *= -1.0
    assert clean_signs(lattice, spoiled) >= 12
    np.testing.assert_array_equal(spoiled, depth)


def test_cap_of_a_hole_is_left_alone():
    ball = BODIES["sphere"]
    heights = ball.vertices[ball.triangles].mean(axis=1)[:, 1]
    cup = ball.of_triangles(heights < 0.35).drop_unused()
    mesh = stuff(cup, 0.05)
    assert_sound(mesh)
    assert mesh.components()[0] == 1
    full = stuff(ball, 0.05).volumes().sum()
    assert 0.85 * full < mesh.volumes().sum() < 1.02 * full


def test_crumbs_go_and_parts_stay():
    ball = shapes.ball(0.5, 6).surface_mesh()
    speck = ball.scaled(0.12).translated((0.7, 0.0, 0.0))
    twin = ball.translated((1.5, 0.0, 0.0))
    soup = SurfaceMesh(
        np.concatenate([part.vertices for part in (ball, speck, twin)]),
        np.concatenate([part.triangles + k * len(ball.vertices) for k, part in enumerate((ball, speck, twin))]),
    )
    mesh = stuff(soup, 0.1)
    assert mesh.components()[0] == 2
    assert any("crumbs" in note for note in mesh.notes)
    assert stuff(soup, 0.03).components()[0] == 3


def test_pinches_are_counted():
    """Two tets that share a vertex, and two that share an edge."""
    a = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert pinch_count(TetMesh(a, [[0, 1, 2, 3]])) == 0
    b = [[-1.0, 0, 0], [0, -1, 0], [0, 0, -1]]
    assert pinch_count(TetMesh(a + b, [[0, 1, 2, 3], [0, 5, 4, 6]]).oriented()[0]) == 1


def test_same_bytes_every_time(set_threads):
    set_threads(1)
    one = stuff(BODIES["torus"], 0.06)
    set_threads(2)
    two = stuff(BODIES["torus"], 0.06)
    assert one.vertices.tobytes() == two.vertices.tobytes() and one.tets.tobytes() == two.tets.tobytes()


@pytest.mark.parametrize("scale", [1e-6, 1e4])
def test_any_scale_and_place(scale):
    """The same tets, only larger and elsewhere."""
    shift = np.array([2e3, -1e3, 5e2]) * scale
    moved = stuff(BODIES["torus"].scaled(scale).translated(shift), 0.06 * scale)
    plain = stuff(BODIES["torus"], 0.06)
    assert abs(len(moved.tets) - len(plain.tets)) < 0.01 * len(plain.tets)
    assert moved.volumes().sum() / scale**3 == pytest.approx(plain.volumes().sum(), rel=1e-3)


def test_empty_and_refused():
    assert len(stuff(shapes.sheet(1.0, 4), 0.1).tets) == 0
    with pytest.raises(InputError, match="nodes"):
        stuff(BODIES["box"], 1e-4)
    with pytest.raises(InputError):
        stuff(BODIES["box"], -1.0)
