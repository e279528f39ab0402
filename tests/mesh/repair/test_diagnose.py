"""Diagnosis of surfaces: every fault is counted as it was made, and sound surfaces have none."""

import json

import numpy as np
import pytest
from broken_meshes import box, broken_meshes, grid, joined, moved, scaled, soup, sphere, turned, without

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.io import read_mesh
from pliant.mesh.repair import topology, weld
from pliant.mesh.repair.diagnose import diagnose
from pliant.mesh.repair.repair import classify
from pliant.mesh.surface import SurfaceMesh


def mesh_of(shape, name="") -> SurfaceMesh:
    return SurfaceMesh(shape[0], shape[1], name)


def made(name: str, tmp_path) -> SurfaceMesh:
    return read_mesh(broken_meshes()[name].write(tmp_path))


def test_a_sound_solid():
    found = diagnose(shapes.box((1.0, 2.0, 3.0), 4).surface_mesh())
    assert found.clean and found.problems() == [] and found.kind == "solid" and found.watertight
    assert found.volume == pytest.approx(6.0) and found.area == pytest.approx(22.0)
    assert found.size == pytest.approx((1.0, 2.0, 3.0)) and found.diagonal == pytest.approx(14**0.5)
    assert (found.parts, found.closed_parts, found.holes, found.euler, found.genus) == (1, 1, 0, 2, 0)
    assert found.unit_warning == "" and not found.flat
    assert found.lines()[-1] == "no problems"


def test_genus():
    ring = shapes.torus().surface_mesh()
    assert (diagnose(ring).genus, diagnose(ring).euler) == (1, 0)
    two = mesh_of(joined((ring.vertices, ring.triangles), moved((ring.vertices, ring.triangles), (2.0, 0.0, 0.0))))
    assert (diagnose(two).genus, diagnose(two).parts, diagnose(two).closed_parts) == (2, 2, 2)
    assert diagnose(shapes.sheet()).genus is None


def test_holes_are_measured():
    # A missing face of a unit box, and a missing triangle of another.
    found = diagnose(mesh_of(joined(without(box(), [6, 7]), moved(without(box(), [0]), (3.0, 0.0, 0.0)))))
    assert found.holes == 2 and found.hole_edges == (4, 3)
    assert found.hole_perimeters == pytest.approx((4.0, 2.0 + 2.0**0.5))
    assert found.volume is None and not found.watertight and found.closed_parts == 0 and found.kind == "open"
    assert "2 holes" in found.problems()


def test_faults_are_counted(tmp_path):
    vertices, faces = sphere()
    assert diagnose(mesh_of((vertices, np.concatenate([faces, faces[:5, ::-1]])))).duplicate_triangles == 5
    assert diagnose(mesh_of((vertices, np.concatenate([faces, [[1, 1, 2], [3, 4, 3]]])))).degenerate_triangles == 2
    assert diagnose(mesh_of((np.concatenate([vertices, [[0, 0, 0.1]]]), faces))).unused_vertices == 1
    welded = diagnose(mesh_of(soup((vertices, faces))))
    assert welded.duplicate_vertices == 3 * len(faces) - len(vertices)
    assert welded.kind == "solid" and welded.parts == 1 and welded.volume == pytest.approx(0.50625, rel=1e-4)
    flipped = faces.copy()
    flipped[100] = flipped[100, ::-1]
    assert diagnose(mesh_of((vertices, flipped))).winding_edges == 3
    assert diagnose(made("non_manifold_edge", tmp_path)).non_manifold_edges == 1
    assert diagnose(made("non_manifold_vertex", tmp_path)).non_manifold_vertices == 1
    assert diagnose(made("moebius_strip", tmp_path)).one_sided_parts == 1
    assert diagnose(made("klein_bottle", tmp_path)).one_sided_parts == 1
    assert diagnose(made("two_intersecting_shells", tmp_path)).intersecting_triangles > 50


def test_inside_out_and_cavities():
    ball, small = sphere(), sphere(0.2)
    cases = {
        "outward": (joined(ball), 0),
        "inside out": (turned(ball), 1),
        "cavity": (joined(ball, turned(small)), 0),
        "solid in solid": (joined(ball, small), 0),
        "cavity, all turned": (joined(turned(ball), small), 2),
        "side by side, one turned": (joined(ball, moved(turned(small), (2.0, 0.0, 0.0))), 1),
        "ball in a cavity": (joined(ball, turned(sphere(0.4)), small), 0),
        "small first": (joined(turned(small), ball), 0),
    }
    for name, (shape, expected) in cases.items():
        assert diagnose(mesh_of(shape)).inverted_parts == expected, name


def test_bad_numbers_are_reported():
    vertices, faces = sphere()
    vertices = np.concatenate([vertices, [[np.nan, 0, 0], [0, np.inf, 0], [0, 0, 1e12]]])
    n = len(vertices)
    broken = diagnose(
        mesh_of((vertices, np.concatenate([faces, [[0, 1, n - 3], [0, 1, n - 1], [2, 3, n], [-1, 2, 3]]])))
    )
    assert broken.bad_vertices == 3 and broken.bad_triangles == 4
    assert broken.kind == "solid" and broken.diagonal == pytest.approx(diagnose(mesh_of(sphere())).diagonal)


@pytest.mark.parametrize(
    ("vertices", "triangles"),
    [
        (np.zeros((0, 3)), np.zeros((0, 3), int)),
        (np.zeros((1, 3)), np.zeros((0, 3), int)),
        (np.full((3, 3), np.nan), [[0, 1, 2]]),
        (np.zeros((3, 3)), [[0, 1, 2]]),
        (np.zeros((3, 3)), [[7, 8, 9]]),
        (np.eye(3), [[0, 0, 0]]),
    ],
)
def test_nothing_to_use(vertices, triangles):
    found = diagnose(SurfaceMesh(vertices, np.array(triangles)))
    assert found.kind == "nothing" and not found.clean and found.volume is None
    assert "no triangles" in found.problems()[0]
    assert found.lines() and json.dumps(found.as_dict())


def test_report_is_plain():
    found = diagnose(mesh_of(joined(without(sphere(), [3]), turned(box())), "thing"))
    again = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert again["holes"] == 1 and again["size"] == list(found.size) and again["clean"] is False
    assert found.lines()[0].startswith("thing: ")
    assert f"problem: {found.problems()[0]}" in found.lines()


def test_unit_warning():
    ball = sphere()
    assert "millimetres" in diagnose(mesh_of(scaled(ball, 1e3))).unit_warning
    assert "size=" in diagnose(mesh_of(scaled(ball, 1e-6))).unit_warning
    assert diagnose(mesh_of(scaled(ball, 1e3))).clean


def test_flat():
    assert diagnose(mesh_of(grid())).flat and diagnose(mesh_of(grid())).clean
    tilted = shapes.sheet().rotated((1, 2, 3), 1.0)
    assert diagnose(tilted).flat and diagnose(tilted).kind == "sheet"
    assert not diagnose(mesh_of(box((1.0, 0.001, 1.0)))).flat


@pytest.mark.parametrize("factor", [1.0, 1e-5, 1e5])
def test_kinds(factor):
    """A cup encloses space down to an opening of 0.6 of its own area."""
    vertices, faces = sphere(rings=24, around=32)
    height = vertices[faces][:, :, 1].mean(axis=1)
    cut = lambda y: scaled(without((vertices, faces), np.flatnonzero(height > y)), factor)
    assert classify(mesh_of(scaled((vertices, faces), factor))) == "solid"
    assert classify(mesh_of(cut(0.4))) == classify(mesh_of(turned(cut(0.0)))) == "open"
    assert classify(mesh_of(cut(-0.35))) == "sheet"
    assert classify(mesh_of(scaled(grid(), factor))) == "sheet"


def test_vertices_at_the_same_place():
    rng = np.random.default_rng(0)
    base = rng.random((300, 3))
    points = np.concatenate([base, base[::-1] + rng.uniform(-2e-7, 2e-7, base.shape), base])
    assert np.array_equal(
        weld.same_place(points), np.concatenate([np.arange(300), np.arange(300)[::-1], np.arange(300)])
    )
    assert np.array_equal(weld.same_place(base), np.arange(300))
    # A crowd, larger than what one look compares, becomes one; so does everything at one place.
    crowd = np.concatenate([[[0, 0, 0], [1, 1, 1]], 0.5 + 1e-8 * rng.random((3000, 3))])
    assert np.unique(weld.same_place(crowd)).tolist() == [0, 1, 2]
    assert not weld.same_place(np.ones((50, 3))).any()
    # What is left is farther apart than the tolerance.
    dense = 3e-6 * rng.random((400, 3))
    kept = np.unique(weld.same_place(np.concatenate([dense, [[1.0, 0.0, 0.0]]])))
    left = np.concatenate([dense, [[1.0, 0.0, 0.0]]])[kept]
    distance = np.linalg.norm(left[:, None] - left, axis=2) + np.eye(len(left))
    assert 1 < len(kept) < 400 and distance.min() > weld.TOLERANCE


def test_edges_patches_and_fans():
    _, faces = box()
    table = topology.edge_table(faces)
    assert len(table.ends) == 18 and (table.count == 2).all() and not table.balance().any()
    assert topology.patches(table, 12)[0] == 1 and topology.fans(table)[0] == 8
    for side, edge in enumerate(table.edge_of):
        start, end = faces[side // 3, side % 3], faces[side // 3, (side + 1) % 3]
        assert table.ends[edge].tolist() == sorted((start, end)) and table.forward[side] == (start < end)


def test_every_broken_mesh_is_diagnosed(tmp_path):
    read = 0
    for case in broken_meshes().values():
        path = case.write(tmp_path)
        try:
            mesh = read_mesh(path)
        except InputError as error:
            assert case.expect == "refused" and path.name in str(error)
            continue
        read += 1
        kind = diagnose(mesh, intersections=False).kind
        assert kind in {"body": ("solid", "open"), "sheet": ("sheet",), "refused": ("nothing",)}[case.expect], case.name
    assert read >= 36
