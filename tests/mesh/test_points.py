"""Loose points: checks, measures, placement, files, and the balls they are drawn as."""

import gzip
import math

import numpy as np
import pytest

import pliant
from pliant import InputError, PointCloud, Scene, SurfaceMesh, shapes
from pliant.mesh import points as point_module
from pliant.mesh.io import write_mesh
from pliant.mesh.points import ball_offsets, ball_triangles, ball_vertices

GRID = np.stack(np.meshgrid(*[0.1 * np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


def brute_spacing(points):
    places = np.unique(points, axis=0)
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(distance, np.inf)
    return distance.min(axis=1).mean()


def test_a_grid_of_points_fills_a_cube_each():
    cloud = PointCloud(GRID, "grid")
    assert cloud.check() == [] and cloud.surface().shape == (0, 3) and cloud.surface().dtype == np.int32
    assert cloud.spacing() == pytest.approx(0.1) and cloud.volume_estimate() == pytest.approx(64 * 1e-3)
    assert cloud.ball_radius() == pytest.approx(0.045)
    assert PointCloud(GRID, volume=2.5).volume_estimate() == 2.5 and PointCloud(GRID, radius=0.3).ball_radius() == 0.3
    assert pliant.PointCloud is PointCloud


@pytest.mark.parametrize("stretch", [(1, 1, 1), (1, 1e-3, 1), (1, 0, 0), (0, 1, 1)])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_spacing_against_brute_force(stretch, offset):
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(size=(400, 3)), 0.01 * rng.normal(size=(100, 3)) + 3.0]) * stretch + offset
    points = np.concatenate([points, points[:20]])
    assert PointCloud(points).spacing() == pytest.approx(brute_spacing(points), rel=1e-6)


def test_points_at_one_place_have_no_spacing():
    for points in ([[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]] * 3):
        cloud = PointCloud(points)
        for measure in (cloud.spacing, cloud.volume_estimate, cloud.ball_radius):
            with pytest.raises(InputError, match="one place"):
                measure()
    with pytest.raises(InputError, match="volume"):
        PointCloud([[0.0, 0, 0]]).volume_estimate()
    ball = PointCloud([[0.0, 0, 0]], volume=4 / 3 * math.pi * 0.008)
    assert ball.volume_estimate() == ball.volume and ball.ball_radius() == pytest.approx(0.2)
    notes = PointCloud(np.concatenate([GRID, GRID[:3]])).check()
    assert len(notes) == 1 and "3 pairs" in notes[0] and "[0, 64]" in notes[0]


def test_placement():
    cloud = PointCloud(GRID, "grid", ("a note",), volume=2.0, radius=0.1)
    moved = cloud.translated((1, 2, 3)).rotated((0, 1, 0), math.pi / 2)
    assert np.allclose(moved.vertices, (GRID + [1, 2, 3])[:, [2, 1, 0]] * [1, 1, -1])
    assert (moved.name, moved.notes, moved.volume, moved.radius) == ("grid", ("a note",), 2.0, 0.1)
    wide = cloud.scaled((1, 2, 4))
    assert np.allclose(wide.vertices, GRID * [1, 2, 4]) and wide.volume == 16.0 and wide.radius == pytest.approx(0.2)
    assert PointCloud(GRID).scaled(3).volume is None and PointCloud(GRID).scaled(3).spacing() == pytest.approx(0.3)


@pytest.mark.parametrize("most, corner_count, face_count, share", [(7, 12, 20, 2.536), (6, 6, 8, 4 / 3)])
def test_balls_are_closed_and_face_outwards(most, corner_count, face_count, share, monkeypatch):
    monkeypatch.setattr(point_module, "FINE_BALLS", most)
    x = np.random.default_rng(0).normal(size=(7, 3))
    corners = ball_vertices(x, ball_offsets(0.2, 7))
    triangles = ball_triangles(len(x))
    assert corners.dtype == np.float32 and triangles.dtype == np.int32
    assert corners.shape == (7 * corner_count, 3) and triangles.shape == (7 * face_count, 3)
    mesh = SurfaceMesh(corners, triangles)
    assert mesh.is_closed() and mesh.components()[0] == 7
    assert mesh.volume() == pytest.approx(7 * share * 0.2**3, rel=1e-3)
    assert np.allclose(np.linalg.norm(corners.reshape(7, -1, 3) - x[:, None], axis=2), 0.2, atol=1e-6)


@pytest.mark.parametrize(
    "given, word",
    [
        ({"vertices": [[0.0, 0.0]]}, "shape"),
        ({"vertices": [["a", "b", "c"]]}, "dtype"),
        ({"vertices": GRID, "volume": 0.0}, "volume"),
        ({"vertices": GRID, "volume": math.nan}, "volume"),
        ({"vertices": GRID, "radius": "big"}, "radius"),
        ({"vertices": GRID, "radius": True}, "radius"),
    ],
)
def test_bad_clouds(given, word):
    with pytest.raises(InputError, match=word):
        PointCloud(**given)


def test_check_refuses_what_cannot_be_simulated():
    with pytest.raises(InputError, match="no points"):
        PointCloud(np.zeros((0, 3))).check("here")
    with pytest.raises(InputError, match="vertex 1"):
        PointCloud([[0.0, 0, 0], [0, np.nan, 0]]).check()


def header(kind, count, extra=""):
    lines = ["ply", f"format {kind} 1.0", f"element vertex {count}"]
    return "\n".join([*lines, *(f"property double {axis}" for axis in "xyz"), f"{extra}end_header\n"]).encode()


def test_points_from_files(tmp_path):
    text = "\n".join(" ".join(map(repr, row.tolist())) for row in GRID)
    (tmp_path / "a.xyz").write_text(f"# a comment\n\n{text}\n")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.csv").write_text("x,y,z,shade\n" + text.replace(" ", ",").replace("\n", ",7\n") + ",7\n")
    np.save(tmp_path / "a.npy", GRID)
    (tmp_path / "a.ply").write_bytes(header("ascii", 64) + text.encode() + b"\n")
    (tmp_path / "b.ply").write_bytes(header("binary_little_endian", 64) + GRID.astype("<f8").tobytes())
    (tmp_path / "c.ply").write_bytes(
        header("ascii", 64, "element face 0\nproperty list uchar int vertex_indices\n") + text.encode() + b"\n"
    )
    for name in ("a.xyz", "a.txt.gz", "a.csv", "a.npy", "a.ply", "b.ply", "c.ply"):
        cloud = PointCloud.load(tmp_path / name, volume=0.5, radius=0.01)
        assert np.array_equal(cloud.vertices, GRID), name
        assert cloud.name == name[0] and (cloud.volume, cloud.radius) == (0.5, 0.01)
        assert len(cloud.notes) == (name == "a.csv")
    ball = shapes.ball(0.1, 3).surface_mesh()
    write_mesh(ball, tmp_path / "ball.ply")
    cloud = PointCloud.load(str(tmp_path / "ball.ply"))
    assert np.allclose(cloud.vertices, ball.vertices, atol=1e-7) and "180 faces" in cloud.notes[0]


@pytest.mark.parametrize(
    "name, content, word",
    [
        ("none.xyz", None, "no such file"),
        ("a.obj", b"v 0 0 0\n", "suffix"),
        ("a.npy.gz", b"x", "suffix"),
        ("a.xyz", b"", "empty"),
        ("a.xyz", b"# nothing\n", "no points"),
        ("a.xyz", b"1 2 3\n4 five 6\n", "line 2"),
        ("a.xyz", b"1 2 3\n4 5\n", "line 2"),
        ("a.xyz", b"1 2\n3 4\n", "line 1"),
        ("a.xyz", b"1 2 3\n4 5 inf\n", "vertex 1"),
        ("a.xyz", b"\xff\xfe\x00", "not text"),
        ("a.txt", b"ply\nformat ascii 1.0\n", "PLY"),
        ("a.npy", b"not numpy", "NumPy"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n0\n", "property y"),
        ("a.ply", b"ply\nformat ascii 1.0\nelement edge 1\nproperty float x\nend_header\n0\n", "'vertex'"),
        ("a.ply", header("binary_little_endian", 5) + b"abc", "cut short"),
    ],
)
def test_bad_files(tmp_path, name, content, word):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=word) as error:
        PointCloud.load(tmp_path / name)
    assert name in str(error.value)


def test_bad_arrays(tmp_path):
    for array in (np.zeros((3, 2)), np.zeros(3), np.array([["a", "b", "c"]])):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(InputError, match="shape"):
            PointCloud.load(tmp_path / "a.npy")


def test_springs_are_refused():
    for method in ("mass_spring", "xpbd", "baraff_witkin"):
        with pytest.raises(InputError, match=rf"'{method}' cannot simulate a PointCloud.*Use 'shape_matching'"):
            Scene().add_body(PointCloud(GRID, "grid"), method=method)


def test_scene_refuses_what_loose_points_cannot_have():
    scene, cloud = Scene(), PointCloud(GRID)
    with pytest.raises(InputError, match="enclose nothing"):
        scene.add_body(cloud, method="shape_matching", volume="pressure")
    with pytest.raises(InputError, match="not prepared: size"):
        scene.add(cloud, size=0.3)
    with pytest.raises(InputError, match="triangles"):
        scene.add_body(cloud, method="shape_matching", skin=(SurfaceMesh(GRID, np.zeros((0, 3), int)), None))
    with pytest.raises(InputError, match="springs across edges"):
        scene.add_body(cloud, springs="two_ring")
