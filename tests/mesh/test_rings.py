"""Rings: neighbour tables and pairs one and two edges apart, against brute force."""

import itertools

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import rings, shapes
from pliant.mesh.surface import SurfaceMesh

FAN = SurfaceMesh([[0.0, 0, 0], [1, 0, 0], [0, 0, -1], [-1, 0, 0], [0, 0, 1]], [[0, 1, 2], [0, 2, 3], [0, 3, 4]])
BOOK = SurfaceMesh([[0.0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [-1, 0, 0]], [[0, 1, 2], [0, 1, 3], [1, 0, 4]])
MESHES = {
    "sheet": lambda: shapes.sheet(1.0, (3, 5)),
    "ball": lambda: shapes.ball(0.5, 3).surface_mesh(),
    "tetrahedron": lambda: shapes.tetrahedron().surface_mesh(),
    "fan": lambda: FAN,
    "book": lambda: BOOK,
}


def around(mesh):
    sets = [set() for _ in mesh.vertices]
    for a, b in mesh.edges().tolist():
        sets[a].add(b)
        sets[b].add(a)
    return sets


@pytest.mark.parametrize("name", MESHES)
def test_against_brute_force(name):
    mesh = MESHES[name]()
    sets = around(mesh)
    table = rings.neighbours(mesh.edges(), len(mesh.vertices))
    assert [table.of(i).tolist() for i in range(len(mesh.vertices))] == [sorted(s) for s in sets]
    np.testing.assert_array_equal(rings.one_ring_edges(mesh), mesh.edges())
    two = {
        (a, b)
        for a, b in itertools.combinations(range(len(mesh.vertices)), 2)
        if b not in sets[a] and sets[a] & sets[b]
    }
    found = rings.two_ring_pairs(mesh)
    assert found.dtype == np.int32 and [tuple(p) for p in found.tolist()] == sorted(two)
    across = set()
    for s, t in itertools.combinations([set(t) for t in mesh.triangles.tolist()], 2):
        if len(s & t) == 2:
            a, b = sorted(s ^ t)
            if b not in sets[a]:
                across.add((a, b))
    if name == "book":
        # three pages on one spine: each and the next, not the first and the last
        assert [tuple(p) for p in rings.across_edges(mesh).tolist()] == [(2, 3), (3, 4)]
    else:
        assert [tuple(p) for p in rings.across_edges(mesh).tolist()] == sorted(across)
    assert across <= two


def test_hinges_of_a_closed_surface():
    """One for each edge; its ends and far corners are those of its two triangles."""
    mesh = shapes.ball(0.5, 3).surface_mesh()
    hinges = rings.hinges(mesh)
    assert len(hinges) == len(mesh.edges())
    triangles = {frozenset(t) for t in mesh.triangles.tolist()}
    for i, j, p, q in hinges.tolist():
        assert frozenset((i, j, p)) in triangles and frozenset((i, j, q)) in triangles and p != q
    # the edge's ends stand as in its first triangle: the normal of (i, j, p) points outward
    x = mesh.vertices
    normal = np.cross(x[hinges[:, 1]] - x[hinges[:, 0]], x[hinges[:, 2]] - x[hinges[:, 0]])
    assert (np.einsum("ij,ij->i", normal, x[hinges[:, 0]]) > 0).all()


def test_small_and_bad_input():
    table = rings.neighbours(np.zeros((0, 2), int), 3)
    assert table.starts.tolist() == [0, 0, 0, 0] and len(table.items) == 0
    twice = rings.neighbours(np.array([[1, 0], [0, 1], [1, 2]]), 3)
    assert twice.of(1).tolist() == [0, 2]
    one = SurfaceMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    assert rings.two_ring_pairs(one).shape == rings.across_edges(one).shape == (0, 2)
    with pytest.raises(InputError, match="out of range"):
        rings.neighbours(np.array([[0, 3]]), 3)
    with pytest.raises(InputError, match="twice"):
        rings.neighbours(np.array([[2, 2]]), 3)
