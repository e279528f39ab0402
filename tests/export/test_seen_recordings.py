"""Recordings of what particles alone do not tell: skins that follow clusters, and balls for loose points."""

import copy
import dataclasses

import numpy as np
import pytest
from drifting import use_drifting

from pliant import InputError, Material, PointCloud, Scene, shapes
from pliant.cli import main
from pliant.export.frames import FramesReader, FramesWriter
from pliant.mesh.embed import embed
from pliant.mesh.io import read_surface, write_mesh
from pliant.run import RunOptions, open_recording, run_scene
from pliant.run.recording import start_recording
from pliant.run.seen import SeenVertices, recorded_positions
from pliant.scene_file import load_scene

SOFT = Material(density=1000.0, young=2e4, damping=1e-3)
SOLID = shapes.box((0.4, 0.1, 0.1), (8, 2, 2))
SEEN = shapes.ellipsoid((0.19, 0.045, 0.045), 4).surface_mesh()
SMALL = ["--size", "48", "32", "--device", "cpu", "--quiet"]


@pytest.fixture(autouse=True)
def drifting(monkeypatch):
    use_drifting(monkeypatch)


def loaded(tmp_path, frames=3):
    """A scene of every kind of body: two skins on clusters, one embedded, balls, and a body's own surface."""
    scene = Scene(gravity=(0.0, 0.0, 0.0), name="kinds", substeps=4)
    cloud = PointCloud(SOLID.vertices, "dust")
    spin = {"angular_velocity": (3.0, 5.0, 1.0)}
    scene.add_body(cloud, SOFT, method="drifting", name="a", skin=(SEEN, None), **spin)
    scene.add_body(SOLID, SOFT, name="b", position=(0, 0.2, 0), skin=(SEEN, embed(SEEN.vertices, SOLID)), **spin)
    scene.add_body(cloud, SOFT, method="drifting", name="c", position=(0, 0.4, 0), **spin)
    scene.add_body(SOLID, SOFT, method="drifting", name="d", position=(0, 0.6, 0), skin=(SEEN, None), **spin)
    scene.add_body(SOLID, SOFT, method="drifting", name="e", position=(0, 0.8, 0), **spin)
    path = tmp_path / "kinds.toml"
    path.write_text('version = 1\nname = "kinds"\n[[body]]\nshape = {kind = "tetrahedron"}\n')
    return dataclasses.replace(load_scene(path), scene=scene, frames=frames)


def record(tmp_path):
    """A recording of four frames, and what was seen in each of them."""
    scene = loaded(tmp_path)
    sim = scene.scene.build("cpu")
    seen = []
    with start_recording(tmp_path / "kinds.plf", sim, scene) as writer:
        for k in range(4):
            if k == 2:
                # as a body that breaks would do
                clusters, weights = sim.skins.cluster_weights("d")
                sim.skins.set_cluster_weights("d", clusters[:, :1], np.ones_like(weights[:, :1]))
            writer.add(k, sim.time, recorded_positions(sim))
            seen.append(sim.surface_positions())
            sim.frame()
    return tmp_path / "kinds.plf", sim, seen


def test_what_is_seen_comes_back(tmp_path):
    path, sim, seen = record(tmp_path)
    with open_recording(path) as reader:
        found = SeenVertices(reader)
        assert found.count == len(seen[0])
        for k in range(4):
            x = found.of(reader[k][2])
            assert x.dtype == np.float32
            for body, table in zip(sim.model.bodies, reader.meta["bodies"], strict=True):
                rows = slice(*table["vertices"])
                same = np.array_equal if body.embedding is None else lambda a, b: np.allclose(a, b, atol=1e-6)
                assert same(x[rows], seen[k][rows]), (k, body.name)
        # particles come first, as in every recording
        count = len(sim.positions())
        assert all(table["recorded"][1] <= count for table in reader.meta["bodies"])
        assert [name for name in ("a", "b", "c", "d", "e") if "seen" in _table(reader, name)] == ["a", "d"]
        assert reader.line(0)["count"] == count + 2 * len(SEEN.vertices)
        assert np.array_equal(reader.arrays["triangles"], sim.surface())
    # what vertices follow was changed in between, and the picture before it stays
    rows = slice(*_table(FramesReader(path), "d")["vertices"])
    assert np.abs(seen[2][rows] - seen[1][rows]).max() > 1e-4


def _table(reader, name):
    return next(table for table in reader.meta["bodies"] if table["name"] == name)


def test_films_and_sequences_are_made_of_it(tmp_path):
    path, sim, seen = record(tmp_path)
    assert (
        main(["render", str(path), "--film", str(tmp_path / "a.gif"), "--picture", str(tmp_path / "a.png"), *SMALL])
        == 0
    )
    assert (tmp_path / "a.gif").stat().st_size > 0 and (tmp_path / "a.png").stat().st_size > 0
    triangles = sim.surface()
    used = np.unique(triangles)
    for kind in ("ply", "obj", "stl", "glb"):
        folder = tmp_path / kind
        assert main(["export", str(path), "--sequence", kind, "--out", str(folder), "--quiet"]) == 0
        mesh = read_surface(folder / f"frame_00003.{kind}")
        assert len(mesh.triangles) == len(triangles)
        corners = mesh.vertices[mesh.triangles].reshape(-1, 9)
        expected = seen[3][triangles].reshape(-1, 9)
        # formats may order triangles by their paint
        assert np.allclose(np.sort(corners.sum(axis=1)), np.sort(expected.sum(axis=1)), atol=1e-4), kind
        assert np.allclose(mesh.vertices.min(axis=0), seen[3][used].min(axis=0), atol=1e-5), kind
    balls = [part for part in read_surface(tmp_path / "obj" / "frame_00000.obj").look.parts if part.startswith("c")]
    assert balls == ["c"]


def test_a_run_is_recorded_and_resumed(tmp_path):
    scene = loaded(tmp_path, 4)
    quiet = {"device": "cpu", "pictures": False, "quiet": True}
    whole = run_scene(scene, RunOptions(out=tmp_path / "whole", sequence="ply", **quiet))
    assert whole.code == 0 and len(list((tmp_path / "whole" / "kinds_ply").iterdir())) == 5
    first = dataclasses.replace(scene, frames=2)
    assert run_scene(first, RunOptions(out=tmp_path / "parts", **quiet)).code == 0
    assert run_scene(scene, RunOptions(out=tmp_path / "parts", resume=True, **quiet)).code == 0
    with open_recording(tmp_path / "whole/kinds.plf") as a, open_recording(tmp_path / "parts/kinds.plf") as b:
        assert len(a) == len(b) == 5
        assert all(np.array_equal(a[k][2], b[k][2]) for k in range(5))


SCENE = """version = 1
name = "dust"
[scene]
frames = 4
[[body]]
name = "few"
method = "shape_matching"
points = [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]
position = [0, 0.1, 0]
[[body]]
name = "many"
method = "shape_matching"
points = {file = "dust.xyz", volume = 0.5, radius = 0.01}
scale = 0.5
position = [1, 0.1, 0]
[[body]]
name = "worn"
method = "shape_matching"
points = "dust.xyz"
skin = "skin.ply"
scale = [1, 2, 1]
position = [2, 0.1, 0]
[[plane]]
"""


def dusty(tmp_path, text=SCENE):
    np.savetxt(tmp_path / "dust.xyz", SOLID.vertices)
    write_mesh(SEEN, tmp_path / "skin.ply")
    (tmp_path / "dust.toml").write_text(text)
    return tmp_path / "dust.toml"


def test_loose_points_in_a_scene_file(tmp_path):
    few, many, worn = load_scene(dusty(tmp_path)).scene.bodies
    assert len(few.mesh.vertices) == 4 and few.skin is None
    assert (many.mesh.volume, many.mesh.radius) == (pytest.approx(0.5 / 8), pytest.approx(0.005))
    assert np.allclose(many.mesh.vertices, 0.5 * SOLID.vertices + [1, 0.1, 0], atol=1e-12)
    assert worn.embedding is None
    assert np.allclose(worn.skin.vertices, SEEN.vertices * [1, 2, 1] + [2, 0.1, 0], atol=1e-6)
    words = ["run", tmp_path / "dust.toml", "--no-film", "--quiet", "--device", "cpu", "--out", tmp_path / "out"]
    assert main([str(word) for word in words]) == 0
    with open_recording(tmp_path / "out/dust.plf") as reader:
        seen = SeenVertices(reader)
        assert seen.count == 12 * 4 + 12 * len(SOLID.vertices) + len(SEEN.vertices)
        first, last = seen.of(reader[0][2]), seen.of(reader[4][2])
        assert np.abs(first[-len(SEEN.vertices) :] - worn.skin.vertices).max() < 2e-6
        assert last[:, 1].mean() < first[:, 1].mean()


@pytest.mark.parametrize(
    "old, new, word",
    [
        ('points = "dust.xyz"', 'points = "none.xyz"', "no such file"),
        ('points = "dust.xyz"', 'points = "dust.toml"', "suffix"),
        ('points = "dust.xyz"', 'points = "dust.xyz"\nsolid = "voxels"', "loose points"),
        ('points = "dust.xyz"', 'points = "dust.xyz"\nfile = "skin.ply"', "exactly one of"),
        ('points = "dust.xyz"', "points = 3", "text"),
        ('points = "dust.xyz"', "points = [[0, 0]]", "three"),
        ('points = "dust.xyz"', "points = {volume = 1.0}", "file, at"),
        ('skin = "skin.ply"', 'skin = "none.ply"', "no file"),
    ],
)
def test_bad_points_in_a_scene_file(tmp_path, old, new, word):
    assert old in SCENE
    with pytest.raises(InputError, match=rf"dust\.toml:\d+.*{word}"):
        load_scene(dusty(tmp_path, SCENE.replace(old, new)))


X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 3, 3]], np.float32)
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)
BODY = {"name": "tet", "color": [1, 0, 0], "vertices": [0, 4], "triangles": [0, 4], "recorded": [0, 2], "seen": [1, 5]}


def small(path, body, **arrays):
    with FramesWriter(path, {"bodies": [body]}, {"triangles": TRIANGLES, **arrays}) as writer:
        writer.add(0, 0.0, X)
    return path


def test_rows_that_are_seen_may_stand_anywhere(tmp_path):
    with open_recording(small(tmp_path / "a.plf", BODY)) as reader:
        assert np.array_equal(SeenVertices(reader).of(X), X[1:5])


@pytest.mark.parametrize(
    "change",
    [{"seen": [1, 6]}, {"seen": [-4, 0]}, {"seen": [1, 4]}, {"seen": [5, 1]}, {"seen": "all"}, {"seen": [1.0, 5.0]},
     {"seen": None}, {"recorded": [0, 6]}, {"vertices": [0, 5]}],
)  # fmt: skip
def test_bad_rows_are_refused(tmp_path, change):
    path = small(tmp_path / "bad.plf", {**copy.deepcopy(BODY), **change})
    with pytest.raises(InputError, match=r"bad\.plf"):
        open_recording(path)


def test_bad_balls_are_refused(tmp_path):
    body = {key: BODY[key] for key in BODY if key != "seen"}
    offsets = np.eye(3, dtype=np.float32)[:2]
    with open_recording(small(tmp_path / "a.plf", body, ball0=offsets)) as reader:
        assert np.array_equal(SeenVertices(reader).of(X), (X[:2, None] + offsets).reshape(-1, 3))
    for bad in (
        np.eye(3),
        np.zeros((2, 2)),
        np.full((2, 3), np.nan),
        np.array([["a", "b", "c"]] * 2),
        np.zeros((0, 3)),
    ):
        with pytest.raises(InputError, match=r"bad\.plf"):
            open_recording(small(tmp_path / "bad.plf", body, ball0=bad))


def test_a_cut_recording_is_refused(tmp_path):
    path, _, seen = record(tmp_path)
    data = path.read_bytes()
    cut = tmp_path / "cut.plf"
    cut.write_bytes(data[: len(data) * 3 // 4])
    with pytest.raises(InputError, match="cut"):
        open_recording(cut)
    with FramesReader(cut, recover=True) as reader:
        assert 0 < len(reader) < 4
        assert SeenVertices(reader).of(reader[0][2]).shape == seen[0].shape
