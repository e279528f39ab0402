"""Colourings: valid, deterministic, few colours of equal size; bad input."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.coloring import color, color_springs, color_tets, color_vertices
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh


def assert_valid(coloring, elements):
    """No two elements of a colour share a vertex; the table is a permutation sorted by colour."""
    assert np.array_equal(np.sort(coloring.order), np.arange(len(elements)))
    for c in range(coloring.count):
        members = coloring.of(c)
        assert len(members) and (np.diff(members) > 0).all() and (coloring.color[members] == c).all()
        corners = elements[members].ravel()
        assert len(np.unique(corners)) == len(corners)


def random_edges(seed, count, edges):
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.sort(rng.integers(0, count, (edges, 2)), axis=1), axis=0)
    return pairs[pairs[:, 0] != pairs[:, 1]]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(0, 300))
def test_random_graphs(seed, count, edges):
    pairs = random_edges(seed, count, edges)
    degree = np.bincount(pairs.ravel(), minlength=1).max()
    coloring = color_springs(pairs.reshape(-1, 2), count)
    assert_valid(coloring, pairs)
    assert degree <= coloring.count <= max(2 * degree - 1, 0)
    vertices = color_vertices(pairs.reshape(-1, 2), count)
    assert (vertices.color[pairs[:, 0]] != vertices.color[pairs[:, 1]]).all()
    assert len(vertices.color) == count and vertices.count <= degree + 1


def lattice():
    return VoxelLattice.from_cells(np.argwhere(np.ones((6, 5, 4))), 0.1)


CASES = {
    "lattice springs": lambda: (lattice().springs().pairs, len(lattice().vertices), 1),
    "box edges": lambda: (shapes.box(1.0, 6).edges(), 343, 1),
    "ball edges": lambda: (shapes.ball(0.5, 5).edges(), len(shapes.ball(0.5, 5).vertices), 2),
    "box tets": lambda: (shapes.box(1.0, 6).tets, 343, 10),
    "ball tets": lambda: (shapes.ball(0.5, 5).tets, len(shapes.ball(0.5, 5).vertices), 10),
    "sheet triangles": lambda: (shapes.sheet(1.0, 12).triangles, 169, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_meshes(name):
    """Valid, hardly more colours than elements around a vertex, equally large, and the same again."""
    elements, count, more = CASES[name]()
    coloring = color(elements, count)
    assert_valid(coloring, elements)
    degree = np.bincount(elements.ravel()).max()
    assert degree <= coloring.count <= degree + more
    plain = color(elements, count, balance=False)
    assert_valid(plain, elements)
    spread = lambda c: np.diff(c.starts).min() / np.diff(c.starts).max()
    assert plain.count == coloring.count and spread(coloring) >= max(0.5, spread(plain))
    again = color(elements, count)
    assert np.array_equal(again.color, coloring.color) and np.array_equal(again.order, coloring.order)


SCANS = Path(__file__).parents[3] / "shared" / "meshes"


@pytest.mark.parametrize("name", ["libigl_fertility.off", "libigl_cheburashka.off"])
def test_scanned_surfaces(name):
    """Edges, triangles and vertices of real meshes; edges and triangles need as many colours as meet at a vertex."""
    if not (SCANS / name).is_file():
        pytest.skip("no folder of meshes")
    words = (SCANS / name).read_text().split()
    count, faces = int(words[1]), int(words[2])
    first = 4 + 3 * count
    triangles = np.array(words[first : first + 4 * faces], int).reshape(-1, 4)[:, 1:]
    mesh = SurfaceMesh(np.array(words[4:first], float).reshape(-1, 3), triangles)
    edges = mesh.edges()
    springs = color_springs(edges, count)
    assert_valid(springs, edges)
    degree = np.bincount(edges.ravel()).max()
    assert springs.count <= degree + 1
    shells = color(mesh.triangles, count)
    assert_valid(shells, mesh.triangles)
    assert shells.count <= degree + 3
    vertices = color_vertices(edges, count)
    assert (vertices.color[edges[:, 0]] != vertices.color[edges[:, 1]]).all() and vertices.count <= 7


def test_a_block_of_vertices_needs_eight_colours():
    """With all diagonals a cube is a complete graph of eight."""
    grid = lattice()
    pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
    edges = np.unique(np.sort(np.concatenate([grid.cubes[:, p] for p in pairs]), axis=1), axis=0)
    coloring = color_vertices(edges, len(grid.vertices))
    assert coloring.count == 8
    assert (coloring.color[edges[:, 0]] != coloring.color[edges[:, 1]]).all()


def test_a_star_needs_a_colour_each():
    """More colours than any word has bits."""
    pairs = np.stack([np.zeros(300, int), np.arange(1, 301)], axis=1)
    coloring = color_springs(pairs, 301)
    assert coloring.count == 300
    assert_valid(coloring, pairs)
    vertices = color_vertices(pairs, 301)
    assert vertices.count == 2


def test_nothing_and_bad_input():
    none = color_springs(np.zeros((0, 2), int), 5)
    assert none.count == 0 and none.starts.tolist() == [0]
    assert color_vertices(np.zeros((0, 2), int), 4).count == 1
    assert color_vertices(np.zeros((0, 2), int), 0).count == 0
    with pytest.raises(InputError, match=r"spring 0 .* out of range"):
        color_springs(np.array([[0, 5]]), 5)
    with pytest.raises(InputError, match="names a vertex twice"):
        color_tets(np.array([[0, 1, 2, 2]]), 5)
    with pytest.raises(InputError, match="expected"):
        color_tets(np.array([[0, 1, 2]]), 5)
    with pytest.raises(InputError, match="color"):
        color(np.array([1, 2, 3]), 5)
    with pytest.raises(InputError, match="count"):
        color(np.array([[1, 2]]), -1)
