"""Embedding of points in tets, voxels and triangles: against brute force, affine motions, and bad hosts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import InputError
from pliant.mesh import embed_search, shapes
from pliant.mesh.embed import Embedding, embed, identity
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh


def affine(rng, scale=1.0, offset=0.0):
    """A random affine map of points (n, 3)."""
    matrix, move = rng.normal(size=(3, 3)), scale * rng.normal(size=3) + offset
    return lambda points: points @ matrix.T + move


def lattice(rng=None):
    """An L of 20 cubes, turned and stretched when a generator is given."""
    cells = [(i, j, k) for i in range(3) for j in range(3) for k in range(4) if i == 0 or j == 0]
    made = VoxelLattice.from_cells(np.array(cells), 0.25, (-0.3, 0.1, 0.2))
    if rng is None:
        return made
    skew = np.eye(3) + rng.uniform(-0.3, 0.3, (3, 3))
    return VoxelLattice(made.vertices @ skew.T, made.cubes, made.cells)


def barycentric(corners, p):
    """Weights (4,) of p in a tet (4, 3)."""
    inner = np.linalg.solve((corners[1:] - corners[0]).T, p - corners[0])
    return np.array([1.0 - inner.sum(), *inner])


def distance_to_triangle(p, a, b, c):
    """By clamped projection on the plane and on the three sides."""
    frame = np.stack([b - a, c - a], axis=1)
    u, v = np.linalg.lstsq(frame, p - a, rcond=None)[0]
    if u >= 0 and v >= 0 and u + v <= 1:
        return np.linalg.norm(p - a - frame @ (u, v))
    sides = []
    for start, end in ((a, b), (b, c), (c, a)):
        t = np.clip((p - start) @ (end - start) / ((end - start) @ (end - start)), 0.0, 1.0)
        sides.append(np.linalg.norm(p - start - t * (end - start)))
    return min(sides)


def brute_tets(points, mesh):
    """Lowest tet that contains each point, -1 outside, and the distance from the solid."""
    found, distance = [], []
    triangles = mesh.vertices[mesh.surface()]
    for p in points:
        weights = np.array([barycentric(mesh.vertices[tet], p) for tet in mesh.tets])
        inside = np.flatnonzero((weights >= -1e-10).all(axis=1))
        found.append(inside[0] if len(inside) else -1)
        distance.append(0.0 if len(inside) else min(distance_to_triangle(p, *t) for t in triangles))
    return np.array(found), np.array(distance)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_tets_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    mesh = shapes.box((1, 1, 1), (2, 1, 2))
    mesh = TetMesh(mesh.vertices + rng.uniform(-0.1, 0.1, mesh.vertices.shape), mesh.tets)
    points = np.concatenate([rng.uniform(-0.9, 0.9, (30, 3)), mesh.vertices, mesh.vertices[mesh.tets].mean(axis=1)])
    result = embed(points, mesh)
    result.check(len(mesh.vertices))
    tet, distance = brute_tets(points, mesh)
    inside = tet >= 0
    assert (result.hosts[inside] == mesh.tets[tet[inside]]).all()
    assert (result.weights[inside] >= 0.0).all()
    assert (result.outside[inside] == 0.0).all()
    assert result.outside == pytest.approx(distance, abs=1e-6)
    assert result.share_outside == pytest.approx((~inside).mean())
    assert np.abs(result.apply(mesh.vertices) - points).max() < 1e-12 * max(1.0, np.abs(result.weights).max())


@pytest.mark.parametrize("host", ["tets", "voxels", "skewed voxels"])
@pytest.mark.parametrize("size, offset", [(1.0, 0.0), (1e-6, 0.0), (1e3, 1e6), (1e-3, 1e3)])
def test_any_affine_motion(host, size, offset, device):
    """Every point, inside or out, moves with the hosts; of any size and anywhere."""
    rng = np.random.default_rng(5)
    body = {"tets": shapes.ball(0.5, 3), "voxels": lattice(), "skewed voxels": lattice(rng)}[host]
    low, high = body.vertices.min(axis=0), body.vertices.max(axis=0)
    place = lambda points: size * points + [offset, -offset, 0.5 * offset]
    points = rng.uniform(low - 0.3, high + 0.3, (3000, 3))
    kind = {"tets": lambda v: TetMesh(v, body.tets)}.get(host, lambda v: VoxelLattice(v, body.cubes, body.cells))
    result = embed(place(points), kind(place(body.vertices)), device)
    result.check(len(body.vertices))
    assert 0.05 < result.share_outside < 0.95
    assert (result.weights[result.outside == 0.0] >= 0.0).all()
    motion = affine(rng)
    # What rounding leaves of a small body far from the origin.
    lost = 4e-16 * max(1.0, offset / size) * max(1.0, np.abs(result.weights).max())
    assert np.abs(result.apply(motion(body.vertices)) - motion(points)).max() < 1e-12 + 50.0 * lost


def test_voxels_against_brute_force():
    rng = np.random.default_rng(2)
    body = lattice(rng)
    points = np.concatenate([rng.uniform(body.vertices.min(0), body.vertices.max(0), (400, 3)), body.vertices])
    result = embed(points, body)
    frames = body.vertices[body.cubes][:, [1, 2, 4]] - body.vertices[body.cubes][:, [0]]
    for row, p in enumerate(points):
        u = np.array([np.linalg.solve(f.T, p - body.vertices[c[0]]) for f, c in zip(frames, body.cubes, strict=True)])
        inside = np.flatnonzero(((u >= -1e-10) & (u <= 1.0 + 1e-10)).all(axis=1))
        if len(inside):
            assert (result.hosts[row] == body.cubes[inside[0]]).all() and result.outside[row] == 0.0
            ux, uy, uz = u[inside[0]]
            expected = [
                (ux if c & 1 else 1 - ux) * (uy if c & 2 else 1 - uy) * (uz if c & 4 else 1 - uz) for c in range(8)
            ]
            assert result.weights[row] == pytest.approx(expected, abs=1e-9)
        else:
            assert result.outside[row] > 0.0


def test_distance_outside_voxels():
    body = VoxelLattice.from_cells(np.array([(0, 0, 0), (1, 0, 0)]), 0.5)
    result = embed([[1.7, 0.25, 0.25], [0.5, 0.9, 0.3], [-0.3, -0.4, 0.2]], body)
    assert result.outside == pytest.approx([0.7, 0.4, 0.5])
    # Weights grow with the distance, and not with its cube.
    far = embed([[100.5, 100.5, 100.5]], body)
    assert np.abs(far.weights).max() < 1000.0
    assert far.apply(body.vertices) == pytest.approx(np.full((1, 3), 100.5))


def test_thousands_far_away():
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(4000, 3))
    points = directions * 10.0 ** rng.uniform(0, 8, (4000, 1))
    for body in (shapes.ball(0.5, 3), lattice(), shapes.sheet((1, 1), 4)):
        result = embed(points, body)
        result.check(len(body.vertices))
        size = np.abs(result.weights).max(axis=1) * np.abs(points).max(axis=1)
        error = np.linalg.norm(result.apply(body.vertices) - points, axis=1)
        assert (error <= 1e-14 * np.maximum(1.0, size)).all()
    ball = embed(points, shapes.ball(0.5, 3))
    away = np.linalg.norm(points, axis=1)
    far = away > 1.0
    assert ball.outside[far] == pytest.approx(away[far] - 0.5, rel=1e-4, abs=0.06)


def test_single_tet():
    mesh = TetMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    result = embed([[0.25, 0.25, 0.25], [0, 0, 0], [0.5, 0.5, 0], [0.2, 0.2, -0.5], [3, 0, 0]], mesh)
    assert result.outside == pytest.approx([0, 0, 0, 0.5, 2.0])
    assert result.weights[0] == pytest.approx([0.25] * 4)
    assert result.weights[1].tolist() == [1, 0, 0, 0]
    assert result.weights[4] == pytest.approx([-2, 3, 0, 0])


def test_point_on_shared_face_takes_the_lowest():
    corners = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]]
    for order in ([0, 1], [1, 0]):
        tets = np.array([[0, 1, 2, 3], [0, 2, 1, 4]])[order]
        result = embed([[0.3, 0.3, 0.0]], TetMesh(corners, tets))
        assert result.hosts[0].tolist() == tets[0].tolist()


def test_sliver_at_the_boundary_is_no_host_for_points_beyond():
    """A tet a thousandth as high as wide would extrapolate with weights of hundreds; its neighbour does not."""
    corners = [[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [0.3, -1, 0.3], [0.3, 1e-3, 0.3]]
    mesh = TetMesh(corners, [[0, 1, 2, 3], [0, 2, 1, 4]]).oriented()[0]
    result = embed([[0.3, 0.2, 0.3]], mesh)
    assert sorted(result.hosts[0].tolist()) == [0, 1, 2, 3]
    assert np.abs(result.weights).max() < embed_search.WEIGHT_BOUND
    assert result.outside == pytest.approx([0.199])
    assert result.apply(mesh.vertices) == pytest.approx(np.array([[0.3, 0.2, 0.3]]))


def test_points_inside_slivers_are_reproduced():
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [0.3, -1, 0.3], [0.3, 1e-7, 0.3]])
    mesh = TetMesh(corners, [[0, 1, 2, 3], [0, 2, 1, 4]]).oriented()[0]
    rng = np.random.default_rng(1)
    points = rng.dirichlet(np.ones(4), 200) @ corners[mesh.tets[1]]
    result = embed(points, mesh)
    assert (result.outside == 0.0).all() and np.abs(result.weights).max() <= 1.0 + 1e-6
    assert np.abs(result.apply(corners) - points).max() < 1e-13


def test_flat_tets_are_passed_over():
    corners = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]
    result = embed([[0.2, 0.2, 0.0], [0.6, 0.6, 0.0]], TetMesh(corners, [[0, 1, 2, 4], [0, 1, 2, 3]]))
    assert (np.sort(result.hosts, axis=1) == [0, 1, 2, 3]).all()
    with pytest.raises(InputError, match="flat"):
        embed([[0.2, 0.2, 0.0]], TetMesh(corners, [[0, 1, 2, 4]]))


def test_inside_out_tets_and_vertices_of_no_tet():
    ball = shapes.ball(0.5, 2)
    turned = TetMesh(np.concatenate([ball.vertices, [[1e6, 0, 0]]]), ball.tets[:, [0, 1, 3, 2]])
    points = np.random.default_rng(0).uniform(-0.6, 0.6, (200, 3))
    plain, other = embed(points, ball), embed(points, turned)
    assert plain.outside == pytest.approx(other.outside, abs=1e-12)
    assert np.abs(other.apply(turned.vertices) - points).max() < 1e-13


def test_on_triangles():
    """Points of a sheet stay exact under affine motions; a height is kept by turns and moves."""
    rng = np.random.default_rng(3)
    sheet = shapes.sheet((1, 1), 3)
    foot = rng.uniform(0, 1, (200, 2))
    low, axes = sheet.vertices.min(axis=0), np.ptp(sheet.vertices, axis=0)
    across = int(np.argmin(axes))
    points = np.insert(foot, across, 0.0, axis=1) * np.where(axes > 0, axes, 1.0) + low
    flat = embed(points, sheet)
    flat.check(len(sheet.vertices))
    motion = affine(rng)
    assert flat.height == pytest.approx(np.zeros(200), abs=1e-12) and flat.share_outside == 0.0
    assert (flat.weights >= 0.0).all()
    assert np.abs(flat.apply(motion(sheet.vertices)) - motion(points)).max() < 1e-12
    raised = points.copy()
    raised[:, across] += rng.uniform(-0.3, 0.3, 200)
    high = embed(raised, sheet)
    assert high.outside == pytest.approx(np.abs(high.height), abs=1e-12)
    turn = SurfaceMesh(raised, np.array([[0, 1, 2]])).rotated((1, 2, 3), 0.7).translated((4, 5, 6)).vertices
    hosts = sheet.rotated((1, 2, 3), 0.7).translated((4, 5, 6)).vertices
    assert np.abs(high.apply(hosts) - turn).max() < 1e-12
    own = embed(sheet.vertices, sheet)
    assert np.abs(own.apply(hosts) - hosts).max() < 1e-14


def test_triangles_against_brute_force():
    rng = np.random.default_rng(8)
    surface = shapes.ball(0.5, 2).surface_mesh()
    points = rng.uniform(-1, 1, (100, 3))
    result = embed(points, surface)
    corners = surface.vertices[surface.triangles]
    expected = [min(distance_to_triangle(p, *t) for t in corners) for p in points]
    assert result.outside == pytest.approx(expected, abs=1e-6)
    assert np.abs(result.apply(surface.vertices) - points).max() < 1e-12


def test_identity_and_no_points():
    x = np.random.default_rng(0).normal(size=(7, 3))
    assert (identity(7).apply(x) == x).all()
    identity(7).check(7)
    for body in (shapes.ball(0.5, 2), lattice(), shapes.sheet((1, 1), 2)):
        empty = embed(np.zeros((0, 3)), body)
        empty.check()
        assert empty.apply(body.vertices).shape == (0, 3) and empty.share_outside == 0.0


def test_renumbered_and_saved():
    rng = np.random.default_rng(4)
    ball, sheet = shapes.ball(0.5, 2), shapes.sheet((1, 1), 2)
    for body in (ball, sheet):
        points = rng.uniform(-0.5, 0.5, (50, 3))
        result = embed(points, body)
        rank = rng.permutation(len(body.vertices))
        moved = np.empty_like(body.vertices)
        moved[rank] = body.vertices
        assert np.array_equal(result.renumbered(rank).apply(moved), result.apply(body.vertices))
        back = Embedding.from_arrays(result.arrays())
        assert np.array_equal(back.apply(body.vertices), result.apply(body.vertices))
        with pytest.raises(InputError, match="number all hosts"):
            result.renumbered(rank[:3])


def test_same_bits_with_any_number_of_threads(set_threads):
    ball = shapes.ball(0.5, 3)
    points = np.random.default_rng(0).uniform(-0.6, 0.6, (5000, 3))
    results = []
    for count in (1, 2, 3):
        set_threads(count)
        results.append(embed(points, ball).arrays())
    for other in results[1:]:
        assert all(np.array_equal(results[0][name], other[name]) for name in other)


def test_progress_ends_at_one():
    told = []
    embed([[0.0, 0, 0]], shapes.ball(0.5, 2), progress=told.append)
    assert told == sorted(told) and told[-1] == 1.0


@pytest.mark.parametrize(
    "points, host, word",
    [
        ([[0.0, np.nan, 0]], shapes.ball(0.5, 2), "finite"),
        ([[0.0, 0]], shapes.ball(0.5, 2), "shape"),
        ([[0.0, 0, 0]], TetMesh(np.zeros((4, 3)), np.zeros((0, 4), int)), "no tets"),
        ([[0.0, 0, 0]], TetMesh(np.eye(4, 3), [[0, 1, 2, 9]]), "9"),
        ([[0.0, 0, 0]], "ball", "TetMesh"),
    ],
)
def test_bad_input(points, host, word):
    with pytest.raises(InputError, match=word):
        embed(points, host)


def test_bent_lattice_is_refused():
    body = lattice()
    vertices = body.vertices.copy()
    vertices[7] += 0.05
    with pytest.raises(InputError, match="bent"):
        embed([[0.0, 0, 0]], VoxelLattice(vertices, body.cubes, body.cells))


def test_check_refuses_bad_tables():
    good = embed([[0.1, 0.0, 0.0]], shapes.ball(0.5, 2))
    with pytest.raises(InputError, match="add up to 1"):
        Embedding(good.hosts, 2.0 * good.weights, good.outside).check()
    with pytest.raises(InputError, match="Host numbers"):
        good.check(host_count=1)
    with pytest.raises(InputError, match="fit together"):
        Embedding(good.hosts, good.weights[:, :3], good.outside).check()
    with pytest.raises(InputError, match="all host vertices"):
        good.apply(np.zeros((1, 3)))


def test_sides_of_a_cube_face_outward():
    assert len({frozenset(side) for side in embed_search.CUBE_SIDES}) == 6
    for side in embed_search.CUBE_SIDES:
        corners = np.array([(c & 1, c >> 1 & 1, c >> 2) for c in side])
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        assert normal @ (corners.mean(axis=0) - 0.5) > 0.0
