"""Recordings as animations: what is read back is what was recorded, in every format."""

import json
import struct
import sys

import numpy as np
import pytest

from pliant.cli import main
from pliant.errors import InputError, MissingExtraError
from pliant.export.clip import Clip, vertex_normals
from pliant.export.frames import FramesReader, FramesWriter
from pliant.export.gltf_animation import MOST_TARGETS
from pliant.mesh.io import read_surface
from pliant.mesh.io.screen_color import to_linear
from pliant.mesh.surface import SurfaceMesh
from pliant.run import open_recording
from pliant.run.export import KINDS, export_every, export_recording, recorded_clip

TET = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32)
# The second body has a vertex of no triangle before its own.
REST = np.concatenate([TET, [[9, 9, 9]], TET + [3, 0, 0], TET - [3, 0, 0]]).astype(np.float32)
TRIANGLES = np.concatenate([FACES, FACES + 5, FACES + 9])
ROWS = [np.arange(4), np.arange(5, 9), np.arange(9, 13)]
RGB = np.array([[0.8, 0.2, 0.1], [0.1, 0.4, 0.6], [0.1, 0.7, 0.3]])
UV = np.zeros((12, 3, 2), np.float32)
UV[:4] = np.linspace(0.0, 1.0, 24, dtype=np.float32).reshape(4, 3, 2)
META = {
    "frame_dt": 1 / 60,
    "bodies": [
        {"name": "a b/c", "color": RGB[0].tolist(), "vertices": [0, 4], "triangles": [0, 4]},
        {"name": "A_B c", "color": RGB[1].tolist(), "vertices": [4, 9], "triangles": [4, 8]},
        {"name": "speckled", "color": RGB[2].tolist(), "vertices": [9, 13], "triangles": [8, 12]},
    ],
    "paints": [
        {"name": "wood", "color": [*RGB[0].tolist(), 1.0], "texture": "wood grain.png"},
        {"name": "blue", "color": [*RGB[1].tolist(), 1.0], "texture": ""},
        {"name": "clear", "color": [0.5, 0.5, 0.5, 0.25], "texture": ""},
        {"name": "green", "color": [*RGB[2].tolist(), 1.0], "texture": ""},
    ],
    "solids": [{"name": "step", "kind": "box", "triangles": [0, 4]}],
}
PAINT_OF = np.repeat([0, 1, 2, 3], [4, 2, 2, 4]).astype(np.int32)
COLORS = np.rint(255 * np.array([paint["color"][:3] for paint in META["paints"]])[PAINT_OF]).astype(np.uint8)
COLORS[8:] = np.arange(12).reshape(4, 3) * 20  # other than its paint: colours of its vertices
ARRAYS = {"triangles": TRIANGLES, "colors": COLORS, "uv": UV, "paint_of": PAINT_OF}
ARRAYS |= {"solid_vertices": TET * 2, "solid_triangles": FACES}


def moved(k):
    """All vertices in frame k: turned, sheared, away from the origin."""
    angle = 0.3 * k
    turn = np.array([[np.cos(angle), 0.2 * k, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    return (REST @ turn.T + [0.1 * k, 1.0, -0.3 * k * k]).astype(np.float32)


def record(path, frames=5, meta=META, arrays=ARRAYS, change=lambda k, x: x):
    with FramesWriter(path, meta, arrays) as writer:
        for k in range(frames):
            writer.add(k, k / 60, change(k, moved(k)))
    return path


@pytest.fixture
def reader(tmp_path):
    with open_recording(record(tmp_path / "run.plf")) as reader:
        yield reader


NUMBERS = {5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


class Glb:
    """A binary glTF file, read by hand; everything that the specification wants of its layout is checked."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, version, total, length, kind = struct.unpack_from("<4sIIII", data)
        assert (magic, version, total, kind) == (b"glTF", 2, len(data), 0x4E4F534A) and length % 4 == 0
        self.tables = json.loads(data[20 : 20 + length])
        size, kind = struct.unpack_from("<II", data, 20 + length)
        assert kind == 0x004E4942 and size % 4 == 0 and 28 + length + size == total
        self.data = data[28 + length :]
        assert self.tables["buffers"] == [{"byteLength": size}]

    def array(self, number):
        accessor = self.tables["accessors"][number]
        view = self.tables["bufferViews"][accessor["bufferView"]]
        dtype, width = NUMBERS[accessor["componentType"]], WIDTHS[accessor["type"]]
        assert view["byteOffset"] % 4 == 0 and view["byteLength"] == accessor["count"] * width * 4
        values = np.frombuffer(self.data, dtype, accessor["count"] * width, view["byteOffset"])
        values = values.reshape(-1, width) if width > 1 else values
        for name, found in (("min", values.min(axis=0)), ("max", values.max(axis=0))):
            assert name not in accessor or np.array_equal(np.float32(accessor[name]), np.atleast_1d(found))
        return values

    def pose(self, node, time, name="POSITION"):
        """What a viewer shows at a time: corners (k, 3, 3) of each primitive."""
        (animation,) = self.tables["animations"]
        channel = next(c for c in animation["channels"] if c["target"] == {"node": node, "path": "weights"})
        sampler = animation["samplers"][channel["sampler"]]
        times = self.array(sampler["input"])
        table = self.array(sampler["output"]).reshape(len(times), -1)
        weights = [np.interp(time, times, column) for column in table.T]
        mesh = self.tables["meshes"][self.tables["nodes"][node]["mesh"]]
        assert len(mesh["weights"]) == len(mesh["extras"]["targetNames"]) == len(weights)
        poses = []
        for primitive in mesh["primitives"]:
            values = self.array(primitive["attributes"][name]).astype(np.float64)
            assert len(primitive["targets"]) == len(weights)
            for weight, target in zip(weights, primitive["targets"], strict=True):
                assert {"min", "max"} <= set(self.tables["accessors"][target["POSITION"]])
                values = values + weight * self.array(target[name])
            poses.append(values[self.array(primitive["indices"]).reshape(-1, 3)])
        return poses


def test_glb_shows_the_frames_and_straight_ways_between(reader, tmp_path):
    (path,) = export_recording(reader, tmp_path / "new" / "film.glb")
    glb = Glb(path)
    assert [node["name"] for node in glb.tables["nodes"]] == ["a b/c", "A_B c", "speckled", "step"]
    assert glb.tables["scenes"] == [{"nodes": [0, 1, 2, 3]}] and len(glb.tables["animations"][0]["channels"]) == 3
    for node in range(3):
        own = TRIANGLES[4 * node : 4 * node + 4]
        for k in range(5):
            assert np.abs(np.concatenate(glb.pose(node, np.float32(k / 60))) - moved(k)[own]).max() < 1e-6
            normals = np.concatenate(glb.pose(node, np.float32(k / 60), "NORMAL"))
            assert np.allclose(normals, vertex_normals(moved(k), TRIANGLES)[own], atol=1e-6)
            assert np.allclose(np.linalg.norm(normals, axis=2), 1.0, atol=1e-5)
        halfway = np.concatenate(glb.pose(node, 2.25 / 60))
        assert np.allclose(halfway, (0.75 * moved(2) + 0.25 * moved(3))[own], atol=1e-5)
    solid = glb.tables["meshes"][3]["primitives"][0]
    assert "targets" not in solid
    corners = glb.array(solid["attributes"]["POSITION"])[glb.array(solid["indices"]).reshape(-1, 3)]
    assert np.array_equal(corners, (2 * TET)[FACES])


def test_glb_keeps_paints_texture_coordinates_and_colours(reader, tmp_path):
    glb = Glb(export_recording(reader, tmp_path / "film.glb")[0])
    materials = glb.tables["materials"]
    used = [[p["material"] for p in mesh["primitives"]] for mesh in glb.tables["meshes"]]
    assert [[materials[k]["name"] for k in row] for row in used] == [
        ["wood"],
        ["blue", "clear"],
        ["speckled"],
        ["step"],
    ]
    wood, blue, clear = materials[:3]
    assert glb.tables["images"] == [{"uri": "wood%20grain.png"}]
    assert wood["pbrMetallicRoughness"]["baseColorTexture"] == {"index": 0}
    assert np.allclose(blue["pbrMetallicRoughness"]["baseColorFactor"], [*to_linear(RGB[1]), 1.0])
    assert clear["alphaMode"] == "BLEND" and clear["pbrMetallicRoughness"]["baseColorFactor"][3] == 0.25
    first, second, third = (mesh["primitives"][0] for mesh in glb.tables["meshes"][:3])
    uv = glb.array(first["attributes"]["TEXCOORD_0"])[glb.array(first["indices"]).reshape(-1, 3)]
    assert np.allclose(uv, UV[:4] * [1, -1] + [0, 1], atol=1e-6)
    assert "TEXCOORD_0" not in second["attributes"] and "COLOR_0" not in second["attributes"]
    # paint and colours of vertices are multiplied: where there are the latter, the paint is white
    assert materials[third["material"]]["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1]
    colors = glb.array(third["attributes"]["COLOR_0"])[glb.array(third["indices"]).reshape(-1, 3)]
    assert np.allclose(colors[3, :, :3], to_linear(COLORS[11] / 255.0), atol=1e-6)
    assert len(glb.tables["meshes"][1]["primitives"][0]["targets"]) == 4


def test_glb_is_read_by_others(reader, tmp_path):
    pygltflib = pytest.importorskip("pygltflib")
    (path,) = export_recording(reader, tmp_path / "film.glb")
    scene = pygltflib.GLTF2().load(str(path))
    assert len(scene.meshes) == 4 and len(scene.animations[0].channels) == 3
    surface = read_surface(path)
    assert sorted(surface.look.parts) == sorted(["a b/c", "A_B c", "speckled", "step"])
    assert np.isclose(surface.vertices[:, 1].max(), 2.0)


def test_a_long_recording_becomes_few_targets_unless_asked(tmp_path):
    with open_recording(record(tmp_path / "long.plf", 250)) as reader:
        glb = Glb(export_recording(reader, tmp_path / "film.glb")[0])
        assert len(glb.tables["meshes"][0]["weights"]) == 83 <= MOST_TARGETS
        assert glb.tables["asset"]["extras"] == {"frames": 84, "every": 3, "rate": 60.0}
        assert np.abs(glb.pose(1, np.float32(30 / 60))[0] - moved(30)[TRIANGLES[4:6]]).max() < 1e-4
        assert export_every(reader, "usd") == 1 and export_every(reader, "glb", 100) == 100
        glb = Glb(export_recording(reader, tmp_path / "film.glb", every=1)[0])
        assert len(glb.tables["meshes"][0]["weights"]) == 249


def test_one_frame_stands_still(tmp_path):
    with open_recording(record(tmp_path / "one.plf", 1)) as reader:
        glb = Glb(export_recording(reader, tmp_path / "film.glb")[0])
        assert "animations" not in glb.tables and "weights" not in glb.tables["meshes"][0]
        assert export_recording(reader, tmp_path / "film.pc2")[0].stat().st_size == 32 + 4 * 12


@pytest.mark.parametrize("every", [1, 2])
def test_point_caches_are_exact_and_fit_their_meshes(reader, tmp_path, every):
    files = export_recording(reader, tmp_path / "film.pc2", every=every)
    names = ["film_a_b_c", "film_A_B_c_2", "film_speckled"]
    kinds = [("pc2", "obj", "mtl"), ("pc2", "obj", "mtl"), ("pc2", "obj")]
    assert [file.name for file in files] == [f"{n}.{k}" for n, own in zip(names, kinds, strict=True) for k in own]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*(f.name for f in files), "run.plf"])
    chosen = range(0, 5, every)
    for name, rows in zip(names, ROWS, strict=True):
        data = (tmp_path / f"{name}.pc2").read_bytes()
        assert data[:32] == b"POINTCACHE2\0" + struct.pack("<iiffi", 1, 4, 0.0, every, len(chosen))
        assert data[32:] == b"".join(moved(k)[rows].astype("<f4").tobytes() for k in chosen)
        text = (tmp_path / f"{name}.obj").read_text().splitlines()
        points = [[float(word) for word in line.split()[1:4]] for line in text if line.startswith("v ")]
        assert np.array_equal(np.float32(points), moved(0)[rows])
        assert not [line for line in text if line.startswith(("o ", "g "))]
        faces = [[int(word.split("/")[0]) - 1 for word in line.split()[1:]] for line in text if line.startswith("f ")]
        assert faces == FACES.tolist()
    assert [paint.name for paint in read_surface(tmp_path / "film_A_B_c_2.obj").look.paints] == ["blue", "clear"]


def test_one_body_keeps_the_name(tmp_path):
    meta = {**META, "bodies": [{"name": "x", "color": [1, 0, 0], "vertices": [0, 13], "triangles": [0, 12]}]}
    with open_recording(record(tmp_path / "a.plf", meta=meta)) as reader:
        assert [file.name for file in export_recording(reader, tmp_path / "film.pc2")][:2] == ["film.pc2", "film.obj"]


@pytest.mark.parametrize("suffix, start", [("usd", b"PXR-USDC"), ("usda", b"#usda"), ("usdc", b"PXR-USDC")])
def test_usd_has_every_frame(reader, tmp_path, suffix, start):
    pytest.importorskip("pxr.Usd")
    from pxr import Usd, UsdGeom

    (path,) = export_recording(reader, tmp_path / f"film.{suffix}", every=2)
    assert path.read_bytes().startswith(start)
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, "run.plf"]
    stage = Usd.Stage.Open(str(path))
    assert UsdGeom.GetStageUpAxis(stage) == "Y" and UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 4.0)
    assert stage.GetTimeCodesPerSecond() == stage.GetFramesPerSecond() == 60.0
    meshes = {p.GetDisplayName(): UsdGeom.Mesh(p) for p in stage.Traverse() if p.IsA(UsdGeom.Mesh)}
    assert set(meshes) == {"a b/c", "A_B c", "speckled", "step"}
    for name, rows in zip(("a b/c", "A_B c", "speckled"), ROWS, strict=True):
        mesh = meshes[name]
        assert mesh.GetPointsAttr().GetTimeSamples() == [0.0, 2.0, 4.0]
        assert np.array_equal(np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3), FACES)
        for k in (0, 2, 4):
            x = moved(k)[rows]
            assert np.array_equal(np.array(mesh.GetPointsAttr().Get(k)), x)
            assert np.allclose(np.array(mesh.GetNormalsAttr().Get(k)), vertex_normals(x, FACES), atol=1e-6)
            assert np.array_equal(np.array(mesh.GetExtentAttr().Get(k)), [x.min(axis=0), x.max(axis=0)])
        assert np.allclose(np.array(mesh.GetPointsAttr().Get(1)), (moved(0)[rows] + moved(2)[rows]) / 2, atol=1e-5)
    assert not meshes["step"].GetPointsAttr().GetTimeSamples()
    colors = {name: UsdGeom.PrimvarsAPI(mesh).GetPrimvar("displayColor") for name, mesh in meshes.items()}
    assert np.allclose(np.array(colors["a b/c"].Get()), to_linear(RGB[:1]), atol=1e-6)
    assert colors["A_B c"].GetInterpolation() == "uniform" and len(colors["A_B c"].Get()) == 4
    assert colors["speckled"].GetInterpolation() == "vertex"
    look = read_surface(path).look
    assert {paint.name: paint.texture for paint in look.paints}["wood"] == "wood grain.png"


def test_the_same_recording_is_the_same_bytes(reader, tmp_path):
    pytest.importorskip("pxr.Usd")
    for name in ("film.glb", "film.pc2", "film.usda"):
        first = [file.read_bytes() for file in export_recording(reader, tmp_path / name)]
        assert first == [file.read_bytes() for file in export_recording(reader, tmp_path / name)]


@pytest.mark.parametrize("kind", ["ply", "obj", "stl", "glb-sequence"])
def test_sequences_take_every_nth_frame(reader, tmp_path, kind):
    told = []
    files = export_recording(reader, tmp_path / "out", kind, every=3, progress=told.append)
    suffix = kind.removesuffix("-sequence")
    more = ["paints.mtl"] if kind == "obj" else []
    assert [file.name for file in files] == [f"frame_00000.{suffix}", f"frame_00003.{suffix}", *more]
    assert left(tmp_path / "out") == [file.name for file in files]
    assert told == [0.0, 0.5, 1.0]
    assert np.isclose(read_surface(files[1]).vertices.min(), moved(3)[np.unique(TRIANGLES)].min(), atol=1e-5)


def left(folder):
    return sorted(file.name for file in folder.iterdir())


ANIMATED = ["film.glb", "film.pc2", "film.usdc"]


@pytest.mark.parametrize("name", ANIMATED)
def test_nothing_is_left_of_what_cannot_be_finished(tmp_path, name):
    if name.endswith("usdc"):
        pytest.importorskip("pxr.Usd")
    bad = record(tmp_path / "bad.plf", change=lambda k, x: x * np.float32(np.nan if k == 3 else 1.0))
    with open_recording(bad) as reader, pytest.raises(InputError, match="finite"):
        export_recording(reader, tmp_path / name)
    good = record(tmp_path / "good.plf")

    def stop(share):
        if share == 0.4:
            raise KeyboardInterrupt

    with open_recording(good) as reader, pytest.raises(KeyboardInterrupt):
        export_recording(reader, tmp_path / name, progress=stop)
    data = bytearray(good.read_bytes())
    with FramesReader(good) as reader:
        data[reader.records[3].end - 5] ^= 0xFF
    (tmp_path / "hurt.plf").write_bytes(data)
    with open_recording(tmp_path / "hurt.plf") as reader, pytest.raises(InputError, match="checksum"):
        export_recording(reader, tmp_path / name)
    assert left(tmp_path) == ["bad.plf", "good.plf", "hurt.plf"]


@pytest.mark.parametrize("name", ANIMATED)
def test_too_much_is_refused_with_a_remedy(tmp_path, name, monkeypatch):
    if name.endswith("usdc"):
        pytest.importorskip("pxr.Usd")
    from pliant.export import gltf_animation, usd_animation

    monkeypatch.setattr(gltf_animation, "MOST_BYTES", 2000)
    monkeypatch.setattr(usd_animation, "MOST_BYTES", 1000)
    if name.endswith("pc2"):
        monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with open_recording(record(tmp_path / "a.plf")) as reader, pytest.raises(InputError, match=r"every=\d.*--every \d"):
        export_recording(reader, tmp_path / name)
    assert left(tmp_path) == ["a.plf"]


def test_mistakes_are_told(reader, tmp_path):
    for target, kind, every, word in [
        ("film.fbx", None, None, "fbx"),
        ("film.obj", None, None, "folder"),
        ("film.glb", "abc", None, "glb-sequence"),
        ("film", "glb", None, r"\.glb"),
        ("film.usdc", "usda", None, r"\.usda"),
        ("film.glb", None, 0, "every"),
        ("film.glb", None, 1.5, "every"),
        ("run.plf/film.glb", None, None, "cannot write"),
        ("run.plf/film.pc2", None, None, "cannot write"),
    ]:
        with pytest.raises(InputError, match=word):
            export_recording(reader, tmp_path / target, kind, every=every)
    (tmp_path / "folder.glb").mkdir()
    with pytest.raises(InputError, match="folder"):
        export_recording(reader, tmp_path / "folder.glb")
    assert left(tmp_path) == ["folder.glb", "run.plf"]
    assert {"glb", "pc2", "usd", "usda", "usdc", "obj", "ply", "stl", "glb-sequence"} == set(KINDS)


def test_empty_cut_and_frozen_recordings_are_refused(tmp_path):
    with FramesReader(record(tmp_path / "none.plf", 0)) as reader:
        for name in ANIMATED:
            with pytest.raises(InputError, match="no frames"):
                export_recording(reader, tmp_path / name)
        with pytest.raises(InputError, match="no frames"):
            recorded_clip(reader)
    whole = record(tmp_path / "whole.plf").read_bytes()
    (tmp_path / "cut.plf").write_bytes(whole[:-300])
    assert main(["export", str(tmp_path / "cut.plf"), "--out", str(tmp_path / "film.glb"), "--quiet"]) == 2
    surface = SurfaceMesh(TET, FACES, "tet")
    clip = Clip((surface,), (), np.zeros(2), 60.0, 1, lambda k: [TET])
    from pliant.export.gltf_animation import write_gltf_animation

    with pytest.raises(InputError, match="same time"):
        write_gltf_animation(clip, tmp_path / "film.glb")
    assert left(tmp_path) == ["cut.plf", "none.plf", "whole.plf"]


def test_a_small_description_is_enough(tmp_path):
    meta = {"bodies": [{"color": [1, 0, 0], "vertices": [0, 13], "triangles": [0, 4]}]}
    with open_recording(record(tmp_path / "a.plf", meta=meta, arrays={"triangles": TRIANGLES})) as reader:
        clip = recorded_clip(reader)
        assert [body.name for body in clip.bodies] == ["body0", "other"] and clip.rate == 60.0
        assert clip.bodies[0].look.paints[0].color == (1.0, 0.0, 0.0, 1.0)
        glb = Glb(export_recording(reader, tmp_path / "film.glb")[0])
        assert np.abs(glb.pose(1, np.float32(4 / 60))[0] - moved(4)[TRIANGLES[4:]]).max() < 1e-5


def test_command(tmp_path, capsys):
    path = str(record(tmp_path / "run.plf", 250))
    assert main(["export", path, "--out", str(tmp_path / "film.glb")]) == 0
    said = capsys.readouterr().out
    assert "84 of 250 frames" in said and "--every 1" in said and "film.glb" in said
    assert main(["export", path, "--out", str(tmp_path / "film.pc2"), "--every", "50", "--quiet"]) == 0
    assert (tmp_path / "film_speckled.pc2").stat().st_size == 32 + 5 * 48
    assert not capsys.readouterr().out
    # a kind of sequence makes it a folder, whatever its name
    words = ["--sequence", "stl", "--every", "100", "--quiet"]
    assert main(["export", path, "--out", str(tmp_path / "x.glb"), *words]) == 0
    assert len(list((tmp_path / "x.glb").iterdir())) == 3
    assert main(["export", path, "--out", str(tmp_path / "v1.2"), "--every", "200"]) == 0
    assert left(tmp_path / "v1.2") == ["frame_00000.ply", "frame_00200.ply"]
    assert "2 files in" in capsys.readouterr().out
    for words in (["film.mp4"], ["film.glb", "--every", "0"]):
        assert main(["export", path, "--out", str(tmp_path / words[0]), *words[1:], "--quiet"]) == 2
        assert capsys.readouterr().err.startswith("pliant: error: ")


def test_without_usd_core_nothing_is_written(reader, tmp_path, monkeypatch):
    for name in ("pxr", "pxr.Sdf"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match="mesh"):
        export_recording(reader, tmp_path / "film.usd")
    assert left(tmp_path) == ["run.plf"]
