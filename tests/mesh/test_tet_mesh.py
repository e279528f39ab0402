"""TetMesh: measures, orientation, boundary, and what check() refuses."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import InputError
from pliant.mesh import shapes, tets
from pliant.mesh.tets import TetMesh

CORNERS = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


def brute_surface(mesh):
    """Faces that occur once, by dictionary, each as its corners from the smallest on, in outward order."""
    seen = {}
    for tet, volume in zip(mesh.tets.tolist(), mesh.volumes(), strict=True):
        for face in tets.FACE_CORNERS:
            a, b, c = (tet[i] for i in face)
            if volume < 0.0:
                b, c = c, b
            seen.setdefault(frozenset((a, b, c)), []).append((a, b, c))
    faces = [found[0] for found in seen.values() if len(found) == 1]
    return sorted((face[face.index(min(face)) :] + face[: face.index(min(face))] for face in faces), key=sorted)


def test_one_tet():
    mesh = TetMesh(CORNERS, [[0, 1, 2, 3]])
    assert mesh.vertices.dtype == np.float64 and mesh.tets.dtype == np.int32
    assert mesh.check() == []
    assert mesh.volumes() == pytest.approx([1 / 6])
    assert mesh.edges().tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert mesh.surface_mesh().volume() == pytest.approx(1 / 6)
    assert mesh.components()[0] == 1


def test_dihedral_of_regular_tet():
    low, high = shapes.tetrahedron(0.3).dihedral_range()
    assert low == pytest.approx(math.degrees(math.acos(1 / 3))) and high == pytest.approx(low)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_numbering_and_orientation(seed):
    """Whatever the order of vertices, tets and corners: oriented() is positive, and the boundary is the same."""
    rng = np.random.default_rng(seed)
    mesh = shapes.box((1, 2, 3), (2, 1, 3))
    order = rng.permutation(len(mesh.vertices))
    place = np.argsort(order)
    corners = rng.permuted(place[mesh.tets], axis=1)[rng.permutation(len(mesh.tets))]
    mixed = TetMesh(mesh.vertices[order], corners)
    inverted = int((mixed.volumes() < 0).sum())
    turned, count = mixed.oriented()
    assert count == inverted and (turned.volumes() > 0).all()
    assert not count or str(count) in turned.notes[-1]
    assert turned.check() == []
    assert turned.volumes().sum() == pytest.approx(6.0)
    assert turned.surface_mesh().volume() == pytest.approx(6.0)
    assert np.array_equal(mixed.surface(), turned.surface())
    assert len(turned.edges()) == len(mesh.edges())
    assert turned.oriented()[1] == 0


def test_surface_and_edges_match_brute_force(monkeypatch):
    mesh = shapes.ball(cells=2)
    expected = brute_surface(mesh)
    assert mesh.surface().tolist() == [list(face) for face in expected]
    edges = {tuple(sorted((t[i], t[j]))) for t in mesh.tets.tolist() for i, j in tets.EDGE_CORNERS}
    assert mesh.edges().tolist() == sorted(map(list, edges))
    # The path for more vertices than fit into packed keys.
    monkeypatch.setattr(tets, "MAX_PACKED_VERTICES", 0)
    assert mesh.surface().tolist() == [list(face) for face in expected]
    assert mesh.check() == []


def test_largest_numbers_that_fit_packed_keys():
    points = np.zeros((tets.MAX_PACKED_VERTICES, 3))
    points[-4:] = CORNERS
    last = len(points) - 1
    mesh = TetMesh(points, [[last - 3, last - 2, last - 1, last]])
    assert mesh.surface().tolist() == (TetMesh(CORNERS, [[0, 1, 2, 3]]).surface() + last - 3).tolist()


def test_chunks_do_not_matter(monkeypatch):
    mesh = shapes.box(cells=3)
    whole = mesh.quality()
    monkeypatch.setattr(tets, "CHUNK", 7)
    assert mesh.quality() == whole


def test_vertex_volumes_and_histograms():
    mesh = shapes.ball(0.5, 3)
    assert mesh.vertex_volumes().sum() == pytest.approx(mesh.volumes().sum())
    found = mesh.histograms(bins=8, mass=50.0, truncate=1.0)
    assert set(found) == {"inverse_mass", "inverse_mass_truncated", "volume", "edge_length"}
    assert found["volume"][0].sum() == len(mesh.tets)
    assert found["edge_length"][0].sum() == len(mesh.edges())
    counts, bounds = found["inverse_mass"]
    assert counts.sum() == len(mesh.vertices) and len(bounds) == 9
    # The masses add up to the mass of the body.
    shares = mesh.vertex_volumes()
    assert (50.0 * shares / shares.sum()).sum() == pytest.approx(50.0)
    assert found["inverse_mass_truncated"][1].max() <= 1.5
    with pytest.raises(InputError, match=r"bins.*0 is below 1"):
        mesh.histograms(bins=0)
    with pytest.raises(InputError, match=r"mass.*-1"):
        mesh.histograms(mass=-1.0)


def test_quality_names_the_extremes():
    quality = shapes.box((1, 1, 2), 2).quality()
    assert quality["volume"] == pytest.approx(2.0)
    assert quality["edge_min"] == pytest.approx(0.5)
    assert quality["edge_max"] == pytest.approx(math.sqrt(1.5))
    assert quality["inverted"] == 0 and quality["volume_ratio"] == pytest.approx(1.0)


def test_transforms():
    mesh = shapes.box((1, 2, 3), 1)
    moved = mesh.translated((5, 6, 7)).scaled(2.0).rotated((0, 0, 3), math.pi / 2)
    assert moved.vertices.mean(axis=0) == pytest.approx([-12, 10, 14])
    assert moved.volumes().sum() == pytest.approx(48.0)
    assert mesh.scaled((1, 2, 0.5)).volumes().sum() == pytest.approx(6.0)
    for call in (
        lambda: mesh.scaled(0.0),
        lambda: mesh.scaled((1, -1, 1)),
        lambda: mesh.translated((1, 2)),
        lambda: mesh.translated((1, 2, math.nan)),
        lambda: mesh.rotated((0, 0, 0), 1.0),
        lambda: mesh.rotated((0, 0, 1), math.inf),
    ):
        with pytest.raises(InputError):
            call()


def test_components():
    box = shapes.box(cells=2)
    far = box.translated((3, 0, 0))
    both = TetMesh(np.concatenate([box.vertices, far.vertices]), np.concatenate([box.tets, far.tets + 27]))
    count, labels = both.components()
    assert count == 2 and labels.tolist() == [0] * 27 + [1] * 27
    assert both.check() == []


def test_drop_unused():
    mesh = TetMesh([[9.0, 9, 9], *CORNERS, [8.0, 8, 8]], [[1, 2, 3, 4]], "crumbs")
    with pytest.raises(
        InputError, match=r"crumbs: 2 of 6 vertices belong to no tet, the first is vertex 0.*drop_unused"
    ):
        mesh.check()
    clean = mesh.drop_unused()
    assert clean.check() == [] and clean.tets.tolist() == [[0, 1, 2, 3]] and "2 vertices" in clean.notes[0]


BAD = {
    "NaN": (
        [[0, 0, 0], [1, math.nan, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 1, 2, 3]],
        r"duck: vertex 1 is \[1.0, nan, 0.0\].*finite",
    ),
    "far out": ([[0, 0, 0], [1, 0, 0], [0, 1e300, 0], [0, 0, 1]], [[0, 1, 2, 3]], r"duck: vertex 2 .*1e\+300.*metres"),
    "too large": (CORNERS, [[0, 1, 2, 3], [0, 1, 2, 4]], r"duck: tet 1 .*number 4 is out of range.*0 to 3"),
    "negative": (CORNERS, [[0, 1, 2, -1]], r"duck: tet 0 .*-1 is out of range.*4 vertices"),
    "repeated": (CORNERS, [[0, 1, 1, 3]], r"duck: tet 0 is \[0, 1, 1, 3\].*twice.*Remove"),
    "flat": (
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1e-12]],
        [[0, 1, 2, 3]],
        r"duck: tet 0 \[0, 1, 2, 3\] has volume .*e-13 .*again",
    ),
    "one point": (np.zeros((4, 3)), [[0, 1, 2, 3]], r"duck: tet 0 .*volume 0"),
    "inside out": (CORNERS, [[0, 2, 1, 3]], r"duck: tet 0 .*inside out.*-0.167.*oriented\(\)"),
    "given twice": (
        CORNERS,
        [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]],
        r"duck: tet 1 .*corners of tet 0.*Remove",
    ),
    "empty": (CORNERS, np.zeros((0, 4), dtype=int), r"duck: has no tets"),
}


@pytest.mark.parametrize("kind", BAD)
def test_check_refuses(kind):
    vertices, corners, message = BAD[kind]
    with pytest.raises(InputError, match=message):
        TetMesh(vertices, corners).check("duck")


@pytest.mark.parametrize(
    ("vertices", "corners", "message"),
    [
        ([[0, 0], [1, 1]], [[0, 1, 2, 3]], r"vertices: has shape \(2, 2\), expected \(n, 3\)"),
        (CORNERS, [[0, 1, 2]], r"tets: has shape \(1, 3\), expected \(m, 4\)"),
        (CORNERS, [[0.0, 1.0, 2.0, 3.0]], r"tets: has dtype float64.*whole"),
        ([["a", "b", "c"]], [[0, 1, 2, 3]], r"vertices: has dtype <U1.*real numbers"),
        ([[0, 0, 0], [1, 1]], [[0, 1, 2, 3]], r"vertices: is not an array"),
        (CORNERS, [[0, 1, 2, 2**40]], r"tets: row 0 holds 1099511627776.*int32"),
    ],
)
def test_constructor_refuses(vertices, corners, message):
    with pytest.raises(InputError, match=message):
        TetMesh(vertices, corners)


def test_notes_on_what_is_suspicious():
    left = shapes.box(cells=1)
    right = left.translated((1, 0, 0))
    cut = TetMesh(np.concatenate([left.vertices, right.vertices]), np.concatenate([left.tets, right.tets + 8]))
    assert "4 pairs of vertices" in cut.check()[0]
    thin = TetMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, 1e-5]], [[0, 1, 2, 3]])
    assert "nearly flat" in thin.check()[0]
    folded = TetMesh([*CORNERS, [0.1, 0.1, 2.0]], [[0, 1, 2, 3], [0, 1, 2, 4]])
    assert "overlap" in folded.check()[0]
