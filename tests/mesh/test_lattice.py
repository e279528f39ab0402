"""VoxelLattice: springs, tets and surface against counts and brute force, and what check() refuses."""

import itertools

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.lattice import FACE_DIAGONAL, FLEXION, SPACE_DIAGONAL, STRUCTURAL, VoxelLattice
from pliant.mesh.surface import SurfaceMesh


def block(nx, ny, nz, size=0.1):
    return VoxelLattice.from_cells(np.argwhere(np.ones((nx, ny, nz))), size, name="block")


def blob(seed=0, share=0.5, side=6):
    """Random filled cells: holes, tunnels, cubes that hang by an edge, several parts."""
    rng = np.random.default_rng(seed)
    return VoxelLattice.from_cells(np.argwhere(rng.random((side, side, side)) < share) - 2, 0.25, (1.0, -2.0, 0.5))


def canonical(triangles):
    """Triangles from their smallest corner on, sorted."""
    turned = [tuple(np.roll(t, -int(np.argmin(t))).tolist()) for t in triangles]
    return sorted(turned)


def brute_springs(lattice):
    """Kind of every pair, by the cells that hold it."""
    places = {tuple(p): v for v, p in enumerate(lattice.grid().tolist())}
    found = {}
    for cell in lattice.cells.tolist():
        corners = [tuple(np.add(cell, c)) for c in itertools.product((0, 1), repeat=3)]
        for a, b in itertools.combinations(corners, 2):
            apart = sum(abs(i - j) for i, j in zip(a, b, strict=True))
            found[tuple(sorted((places[a], places[b])))] = apart - 1
    edges = {pair for pair, kind in found.items() if kind == STRUCTURAL}
    for place, v in places.items():
        for axis in range(3):
            step = np.eye(3, dtype=int)[axis]
            middle, end = (places.get(tuple(np.add(place, k * step))) for k in (1, 2))
            if middle is None or end is None:
                continue
            if {tuple(sorted((v, middle))), tuple(sorted((middle, end)))} <= edges:
                found[tuple(sorted((v, end)))] = FLEXION
    return found


@pytest.mark.parametrize("n", [(1, 1, 1), (3, 4, 5), (1, 6, 1), (2, 1, 3)])
def test_counts_of_a_block(n):
    """Edges, diagonals and flexion springs of a full block by formula."""
    lattice = block(*n)
    x, y, z = n
    assert lattice.check() == []
    assert len(lattice.vertices) == (x + 1) * (y + 1) * (z + 1) and len(lattice.cubes) == x * y * z
    springs = lattice.springs()
    ends = lambda i, j, k: (i + 1) * (j + 1) * k
    assert (springs.kind == STRUCTURAL).sum() == ends(x, y, z) + ends(y, z, x) + ends(z, x, y)
    assert (springs.kind == FACE_DIAGONAL).sum() == 2 * ((x + 1) * y * z + x * (y + 1) * z + x * y * (z + 1))
    assert (springs.kind == SPACE_DIAGONAL).sum() == 4 * x * y * z
    assert (springs.kind == FLEXION).sum() == ends(x, y, z - 1) + ends(y, z, x - 1) + ends(z, x, y - 1)
    assert lattice.volume() == pytest.approx(x * y * z * 1e-3)
    assert len(lattice.surface()) == 4 * (x * y + y * z + z * x)
    assert lattice.surface_mesh().volume() == pytest.approx(x * y * z * 1e-3)
    assert lattice.components()[0] == 1


@pytest.mark.parametrize("seed", range(4))
def test_springs_against_brute_force(seed):
    lattice = blob(seed, 0.2 + 0.15 * seed)
    springs = lattice.springs()
    assert springs.pairs.dtype == np.int32
    pairs = [tuple(p) for p in springs.pairs.tolist()]
    assert pairs == sorted(set(pairs)) and all(a < b for a, b in pairs)
    assert dict(zip(pairs, springs.kind.tolist(), strict=True)) == brute_springs(lattice)
    x = lattice.vertices
    length = np.linalg.norm(x[springs.pairs[:, 0]] - x[springs.pairs[:, 1]], axis=1)
    np.testing.assert_allclose(length, 0.25 * np.sqrt([1, 2, 3, 4])[springs.kind])
    flexion = springs.kind == FLEXION
    assert (springs.middle[~flexion] == -1).all()
    np.testing.assert_allclose(x[springs.middle[flexion]], x[springs.pairs[flexion]].mean(axis=1))
    np.testing.assert_array_equal(springs.of_kind(STRUCTURAL), lattice.edges())


@pytest.mark.parametrize("split, each", [("six", 6), ("five", 5)])
@pytest.mark.parametrize("seed", range(3))
def test_tets_fill_the_cubes(seed, split, each):
    """All tets positive, of the cubes' volume, and conforming: the boundary of the tets is that of the cubes."""
    lattice = blob(seed)
    mesh = lattice.tets(split)
    assert len(mesh.tets) == each * len(lattice.cubes)
    assert (mesh.volumes() > 0).all()
    np.testing.assert_allclose(mesh.volumes().reshape(-1, each).sum(axis=1), 0.25**3)
    outside = mesh.surface()
    area = lambda triangles: SurfaceMesh(lattice.vertices, triangles).areas().sum()
    assert area(outside) == pytest.approx(area(lattice.surface()))
    if split == "six":
        assert canonical(outside) == canonical(lattice.surface())
    assert mesh._check_faces("") == 0


def test_the_cut_of_a_block_is_that_of_a_box():
    lattice, box = block(2, 3, 4), shapes.box((0.2, 0.3, 0.4), (2, 3, 4))
    np.testing.assert_allclose(lattice.vertices - lattice.vertices.mean(axis=0), box.vertices, atol=1e-12)
    key = lambda tets: sorted(map(tuple, np.sort(tets, axis=1).tolist()))
    assert key(lattice.tets().tets) == key(box.tets)
    assert key(lattice.tets("five").tets) == key(shapes.box((0.2, 0.3, 0.4), (2, 3, 4), split="five").tets)


def test_numbering_does_not_matter():
    """A lattice with its vertices and cubes in another order has the same springs, tets and surface."""
    lattice = blob(1)
    rng = np.random.default_rng(3)
    order, rows = rng.permutation(len(lattice.vertices)), rng.permutation(len(lattice.cubes))
    place = np.argsort(order)
    mixed = VoxelLattice(lattice.vertices[order], place[lattice.cubes][rows], lattice.cells[rows])
    assert mixed.check() == lattice.check()
    a, b = lattice.springs(), mixed.springs()
    moved = {tuple(sorted(p)): k for p, k in zip(place[a.pairs].tolist(), a.kind.tolist(), strict=True)}
    assert moved == {tuple(p): k for p, k in zip(b.pairs.tolist(), b.kind.tolist(), strict=True)}
    assert canonical(place[lattice.surface()]) == canonical(mixed.surface())


def test_placement():
    lattice = block(2, 3, 1)
    moved = lattice.translated((1, 2, 3)).rotated((0, 0, 1), 0.3).scaled((1, 2, 0.5))
    assert moved.check() == [] and moved.volume() == pytest.approx(6e-3)
    np.testing.assert_array_equal(moved.cells, lattice.cells)
    np.testing.assert_allclose(moved.cube_volumes(), 1e-3)
    assert moved.name == "block"


def test_unused_vertices():
    lattice = block(2, 1, 1)
    loose = VoxelLattice(np.concatenate([[[9.0, 9, 9]], lattice.vertices]), lattice.cubes + 1, lattice.cells)
    with pytest.raises(InputError, match="1 of 13 vertices belong to no cube"):
        loose.check()
    kept = loose.drop_unused()
    np.testing.assert_array_equal(kept.vertices, lattice.vertices)
    np.testing.assert_array_equal(kept.cubes, lattice.cubes)
    assert "1 vertices" in kept.notes[0]


def test_parts_and_hinges_are_told():
    apart = VoxelLattice.from_cells([[0, 0, 0], [5, 0, 0]], 1.0)
    assert apart.components()[0] == 2 and apart.check() == []
    hinged = VoxelLattice.from_cells([[0, 0, 0], [1, 1, 0]], 1.0)
    assert hinged.components()[0] == 1 and "2 parts that hang together by edges" in hinged.check()[0]


def test_what_is_refused():
    one = block(1, 1, 1)
    with pytest.raises(InputError, match="no cell is filled"):
        VoxelLattice.from_cells(np.zeros((0, 3), int), 0.1)
    for size in (0.0, -1.0, np.nan, "big", None):
        with pytest.raises(InputError, match="is no length"):
            VoxelLattice.from_cells([[0, 0, 0]], size)
    with pytest.raises(InputError, match="dtype float64"):
        VoxelLattice.from_cells([[0.5, 0, 0]], 0.1)
    with pytest.raises(InputError, match="2 cells for 1 cubes"):
        VoxelLattice(one.vertices, one.cubes, [[0, 0, 0], [1, 0, 0]])
    with pytest.raises(InputError, match="has no cubes"):
        VoxelLattice(one.vertices, one.cubes[:0], one.cells[:0]).check()
    with pytest.raises(InputError, match="has volume"):
        VoxelLattice(one.vertices, one.cubes[:, [1, 0, 3, 2, 5, 4, 7, 6]], one.cells).check("jelly")
    with pytest.raises(InputError, match="fill the same cell"):
        VoxelLattice(
            np.concatenate([one.vertices, one.vertices + 5]),
            np.concatenate([one.cubes, one.cubes + 8]),
            [[0, 0, 0]] * 2,
        ).check()
    two = block(2, 1, 1)
    with pytest.raises(InputError, match="stands elsewhere"):
        VoxelLattice(two.vertices, two.cubes, [[0, 0, 0], [0, 1, 0]]).check()
    bad = two.vertices.copy()
    bad[3, 1] = np.nan
    with pytest.raises(InputError, match="vertex 3"):
        VoxelLattice(bad, two.cubes, two.cells).check()
    with pytest.raises(InputError, match="'seven' is not a way"):
        one.tets("seven")
