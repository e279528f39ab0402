"""Surface files that cannot be read: each message names the file, the line or byte, the value and what to do."""

import builtins
import gzip
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from pliant.errors import InputError, MissingExtraError
from pliant.mesh import io, shapes
from pliant.mesh.io import FORMATS, format_of, known_formats, read_mesh, read_surface, read_tets, write_mesh, write_tets
from pliant.mesh.surface import SurfaceMesh

V = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
F = "f 1 2 3\n"
OFF = "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
PLY = (
    "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
)
HUGE = (
    PLY.partition("0 0 0\n")[0].replace("ascii", "binary_big_endian").replace("face 1", "face 99999999999999").encode()
    + b"\0" * 50
)
FACET = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
STL = f"solid a\n{FACET}endsolid a\n"
HTML = "<!DOCTYPE html>\n<html><body>404</body></html>\n"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n"


def binary_stl(count: int, kept: int) -> bytes:
    return b"\0" * 80 + count.to_bytes(4, "little") + np.ones(kept * 50, np.uint8).tobytes()


def glb(data: bytes) -> bytes:
    return b"glTF" + (2).to_bytes(4, "little") + data


BAD = {
    # kind: file name, bytes, the message's place, value, remedy
    "empty": ("a.obj", "", "a.obj: ", "empty", "Give a file"),
    "blank": ("a.ply", " \n\n", "a.ply: ", "empty", "Give a file"),
    "web page": ("a.obj", HTML, "a.obj: ", "looks like a web page", "Fetch the file itself"),
    "LFS pointer": ("a.stl", LFS, "a.stl: ", "Git LFS pointer", "git lfs pull"),
    "LFS pointer for a library": ("a.glb", LFS, "a.glb: ", "Git LFS pointer", "git lfs pull"),
    "LFS pointer of tets": ("a.mesh", LFS, "a.mesh: ", "Git LFS pointer", "git lfs pull"),
    "STL as OBJ": ("a.obj", binary_stl(2, 2), "a.obj: ", "binary STL", ".stl"),
    "STL text as OBJ": ("a.obj", STL, "a.obj: ", "STL text", ".stl"),
    "PLY as OBJ": ("a.obj", PLY, "a.obj: ", "PLY", ".ply"),
    "OFF as PLY": ("a.ply", OFF, "a.ply: ", "OFF", ".off"),
    "picture": ("a.off", b"\x89PNG\r\n\x1a\n\0", "a.off: ", "PNG", "not its picture"),
    "gzip without gz": ("a.obj", gzip.compress(b"v"), "a.obj: ", "gzip", ".gz"),
    "page in gzip": ("a.obj.gz", gzip.compress(HTML.encode()), "a.obj.gz: ", "web page", "Fetch"),
    "not gzip": ("a.obj.gz", V + F, "a.obj.gz: ", "gzip", "drop '.gz'"),
    "compressed glTF": ("a.glb.gz", b"x", "a.glb.gz: ", "compressed glTF", ".obj.gz"),
    "unknown suffix": ("a.abc", V, "a.abc: ", "unknown suffix '.abc'", ".obj (Wavefront OBJ)"),
    "no suffix": ("a", V, "a: ", "unknown suffix ''", ".usd .usda"),
    "OBJ without vertices": ("a.obj", "hello\nworld\n", "a.obj: ", "no vertex", "v x y z"),
    "OBJ without faces": ("a.obj", V, "a.obj: ", "no face", "f 1 2 3"),
    "OBJ word": ("a.obj", V + "v 1 O 0\n" + F, "a.obj, line 4: ", "'O'", "v x y z"),
    "OBJ glued": ("a.obj", V + "v 1-2 0 0\n" + F, "a.obj, line 4: ", "'1-2'", "v x y z"),
    "OBJ short": ("a.obj", "\n# x\nv 1 2\n" + V + F, "a.obj, line 3: ", "'v 1 2' has 2", "v x y z"),
    "OBJ NaN": ("a.obj", V + "v nan 0 0\n" + F, "a.obj, line 4: ", "not finite", "finite"),
    "OBJ far": ("a.obj", V + "v 1e12 0 0\n" + F, "a.obj: vertex 3", "1000000000000", "in metres"),
    "OBJ too large": ("a.obj", V + F + "f 1 2 4\n", "a.obj, line 5: ", "vertex 4", "1 to 3"),
    "OBJ zero": ("a.obj", V + "f 0 1 2\n", "a.obj, line 4: ", "vertex 0", "1 to 3"),
    "OBJ too far back": ("a.obj", V + "f -1 -2 -4\n", "a.obj, line 4: ", "vertex -4", "backwards"),
    "OBJ texture": ("a.obj", V + "vt 0 0\nf 1/1 2/1 3/2\n", "a.obj, line 5: ", "texture coordinate 2", "1 to 1"),
    "OBJ corner": ("a.obj", V + F + "f 1 2 x\n", "a.obj, line 5: ", "'x'", "v/vt/vn"),
    "OBJ fraction": ("a.obj", V + "f 1 2 3.5\n", "a.obj, line 4: ", "'3.5'", "whole numbers"),
    "OBJ slashes": ("a.obj", V + "f 1 2 3/1/1/1\n", "a.obj, line 4: ", "'3/1/1/1'", "v/vt/vn"),
    "OBJ led by slash": ("a.obj", V + "f 1 2 /3\n", "a.obj, line 4: ", "'/3'", "v/vt/vn"),
    "OBJ two corners": ("a.obj", V + F + "f 1 2\n", "a.obj, line 5: ", "fewer than three", "f 1 2 3"),
    "OBJ after a joined line": ("a.obj", V + "f 1 \\\n 2 3\nf 1 2 9\n", "a.obj, line 6: ", "vertex 9", "1 to 3"),
    "OBJ binary": ("a.obj", V.encode() + b"\0\1" + F.encode(), "a.obj, line 4, byte 24: ", "0x00", "text file"),
    "OFF word": ("a.off", OFF.replace("1 0 0\n", "1 0 q\n"), "a.off, line 4: ", "'q'", "x y z"),
    "OFF magic": ("a.off", OFF[1:], "a.off, line 1: ", "'FF'", "OFF"),
    "OFF counts": ("a.off", "OFF\n3 one 0\n", "a.off, line 2: ", "'3 one 0'", "number of vertices"),
    "OFF cut": ("a.off", OFF[:-8], "a.off, line 5: ", "0 faces", "cut short"),
    "OFF face": ("a.off", OFF.replace("3 0 1 2", "4 0 1 2"), "a.off, line 6: ", "announces 4", "vertex numbers"),
    "OFF range": ("a.off", OFF.replace("3 0 1 2", "3 0 1 3"), "a.off, line 6: ", "vertex 3", "0 to 2"),
    "OFF NaN": ("a.off", OFF.replace("3 0 1 2", "nan 0 1 2"), "a.off, line 6: ", "nan", "vertex numbers"),
    "OFF binary": ("a.off", "OFF BINARY\n1\n", "a.off, line 1: ", "binary", "plain OFF"),
    "PLY magic": ("a.ply", "plx\n", "a.ply, line 1: ", "plx", "header"),
    "PLY format": ("a.ply", PLY.replace("ascii", "text"), "a.ply, line 2: ", "'format text 1.0'", "ascii"),
    "PLY type": ("a.ply", PLY.replace("float y", "real y"), "a.ply, line 5: ", "property real y", "float"),
    "PLY header": ("a.ply", PLY[:60], "a.ply, line 5: ", "does not end", "end_header"),
    "PLY no x": ("a.ply", PLY.replace("float x", "float w"), "a.ply: ", "no property x", "x, y and z"),
    "PLY no faces": ("a.ply", PLY.replace("element face", "element tristrips"), "a.ply: ", "'face'", "strips"),
    "PLY cut": ("a.ply", PLY[:-8], "a.ply, line 12: ", "0 of 1 rows of 'face'", "cut short"),
    "PLY cut in a line": ("a.ply", PLY[:-3], "a.ply, line 13: ", "too few", "vertex_indices"),
    "PLY range": ("a.ply", PLY.replace("3 0 1 2", "3 0 1 7"), "a.ply: ", "vertex 7", "0 to 2"),
    "PLY huge": ("a.ply", HUGE, f"a.ply, byte {len(HUGE)}: ", "of 99999999999999 rows of 'face'", "cut short"),
    "STL cut": ("a.stl", binary_stl(9, 4), "a.stl, byte 284: ", "9 triangles", "again"),
    "STL tiny": ("a.stl", b"\1\2\3", "a.stl, byte 3: ", "3 bytes", "84 bytes"),
    "STL none": ("a.stl", binary_stl(0, 0), "a.stl, byte 80: ", "0 triangles", "at least one"),
    "STL NaN": ("a.stl", b"\0" * 80 + b"\1\0\0\0" + b"\xff" * 50, "a.stl, byte 84: ", "nan", "finite"),
    "STL text cut": ("a.stl", STL[:60], "a.stl, line 5: ", "'vertex 1' has 1", "cut short"),
    "STL text word": ("a.stl", STL.replace("1 0 0", "1 0 zero"), "a.stl, line 5: ", "'zero'", "vertex x y z"),
    "glTF cut": ("a.glb", glb((999).to_bytes(4, "little")), "a.glb, byte 12: ", "999 bytes", "again"),
    "glTF old": ("a.glb", b"glTF\1\0\0\0\0\0\0\0", "a.glb, byte 4: ", "version 1", "2.0"),
    "glTF text cut": ("a.gltf", '{"asset":\n{"version": "2.0"', "a.gltf, line 2: ", "JSON", "again"),
    "glTF empty": ("a.gltf", '{"asset": {"version": "2.0"}}', "a.gltf: ", "no triangles", "mesh"),
    "glTF reference": ("a.gltf", '{"asset": {"version": "2.0"}, "scenes": [{"nodes": [3]}], "nodes": [{"mesh": 0}]}',
                       "a.gltf: ", "node 3", "glTF"),
    "DirectX magic": ("a.x", "mesh { }", "a.x, byte 0: ", "mesh { }", "DirectX"),
    "DirectX cut": ("a.x", "xof 0303txt 0032\nMesh {\n3;\n", "a.x, line 3: ", "not closed", "again"),
    "DirectX empty": ("a.x", "xof 0303txt 0032\n", "a.x: ", "", "DirectX"),
    "USD cut": ("a.usda", '#usda 1.0\ndef Mesh "a" {\n', "a.usda", "USD cannot read it", "again"),
    "USD empty": ("a.usda", '#usda 1.0\ndef Sphere "a" {}\n', "a.usda: ", "no mesh", "spheres"),
    "USD counts": ("a.usda", '#usda 1.0\ndef Mesh "a" {\nint[] faceVertexCounts = [3]\nint[] faceVertexIndices = '
                   "[0, 1]\npoint3f[] points = [(0, 0, 0)]\n}\n", "a.usda, /a: ", "3 corners, 2", "add up"),
}  # fmt: skip
NEEDS = {".glb": "pygltflib", ".gltf": "pygltflib", ".x": "assimp_py", ".usda": "pxr"}


@pytest.mark.parametrize("kind", BAD)
def test_refused(tmp_path, kind):
    name, data, place, value, remedy = BAD[kind]
    path = tmp_path / name
    if path.suffix in NEEDS:
        pytest.importorskip(NEEDS[path.suffix])
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(InputError) as caught:
        read_mesh(path)
    message = str(caught.value)
    assert str(tmp_path) in message and caught.value.remedy
    for part in (place, value, remedy):
        assert part in message, message


@pytest.mark.parametrize("suffix", sorted({row.suffixes[0] for row in FORMATS if not row.pair}))
def test_missing_and_folder(tmp_path, suffix):
    (tmp_path / f"bunny{suffix}").mkdir()
    with pytest.raises(InputError, match="this is a folder"):
        read_mesh(tmp_path / f"bunny{suffix}")
    (tmp_path / f"rabbit{suffix}").write_text("x")
    with pytest.raises(InputError, match=rf"there is no such file.*rabbit\{suffix}"):
        read_mesh(tmp_path / f"rabit{suffix}")


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path):
    (tmp_path / "a.obj").write_text(V + F)
    (tmp_path / "a.obj").chmod(0)
    with pytest.raises(InputError, match=r"a.obj: cannot be read \(Permission denied\)"):
        read_mesh(tmp_path / "a.obj")


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".off", ".stl", ".glb"])
def test_damaged_bytes_never_escape(tmp_path, suffix):
    """Whatever is done to a file, it is read or refused with an InputError."""
    if suffix in NEEDS:
        pytest.importorskip(NEEDS[suffix])
    write_mesh(shapes.tetrahedron(), tmp_path / f"a{suffix}")
    whole = (tmp_path / f"a{suffix}").read_bytes()
    rng = np.random.default_rng(5)
    for _ in range(150):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), 3):
            data[place] = rng.integers(0, 256)
        if rng.random() < 0.3:
            data = data[: rng.integers(1, len(data))]
        (tmp_path / f"b{suffix}").write_bytes(data)
        try:
            read_mesh(tmp_path / f"b{suffix}")
        except InputError as error:
            assert f"b{suffix}" in str(error) and error.remedy


def test_a_binary_directx_file_cut_short(tmp_path):
    pytest.importorskip("assimp_py")
    whole = (Path(__file__).parents[2] / "data" / "meshes" / "test_cube_binary.x").read_bytes()
    for size in range(17, len(whole), 97):
        (tmp_path / "a.x").write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"a.x, byte \d+: .*again"):
            read_mesh(tmp_path / "a.x")


def test_surfaces_and_tets_are_told_apart(tmp_path):
    surface = shapes.ball(1.0, 2).surface_mesh()
    write_mesh(surface, tmp_path / "a.obj")
    with pytest.raises(InputError, match=r"a.obj: the suffix '.obj' is that of a surface.*Scene.add.*pliant prep"):
        read_tets(tmp_path / "a.obj")
    write_mesh(surface, tmp_path / "a.mesh")
    with pytest.raises(InputError, match=r"a.mesh: holds a surface of \d+ triangles.*Scene.add.*pliant prep"):
        read_tets(tmp_path / "a.mesh")
    with pytest.raises(InputError, match=r"TetGen holds tets and this is a surface.*\.obj"):
        write_mesh(surface, tmp_path / "a.node")
    with pytest.raises(InputError, match=r"SurfaceMesh is no TetMesh.*write_mesh"):
        write_tets(surface, tmp_path / "a.node")
    with pytest.raises(InputError, match=r"cannot be paired with"):
        read_mesh(tmp_path / "a.obj", tmp_path / "a.mesh")
    ball = shapes.ball(1.0, 2)
    write_mesh(ball, tmp_path / "b.ele")
    assert len(read_mesh(tmp_path / "b.node").tets) == len(ball.tets)
    boundary = read_surface(tmp_path / "b.node")
    assert boundary.is_closed() and f"the boundary of {len(ball.tets)} tets" in boundary.notes[-1]


def test_not_written(tmp_path):
    mesh = SurfaceMesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
    with pytest.raises(InputError, match="read but not written"):
        write_mesh(mesh, tmp_path / "a.obj.gz")
    with pytest.raises(InputError, match="read but not written"):
        write_mesh(mesh, tmp_path / "a.usdz")
    with pytest.raises(InputError, match=r"unknown suffix '.abc'"):
        write_mesh(mesh, tmp_path / "a.abc")
    with pytest.raises(InputError, match="int is no mesh"):
        write_mesh(3, tmp_path / "a.obj")
    with pytest.raises(InputError, match="no triangle to write"):
        write_mesh(mesh.of_triangles(np.zeros(0, int)), tmp_path / "a.obj")
    with pytest.raises(InputError, match="out of range"):
        write_mesh(SurfaceMesh(mesh.vertices, [[0, 1, 7]]), tmp_path / "a.obj")
    assert not list(tmp_path.iterdir())


def test_missing_extra_is_named(tmp_path, monkeypatch):
    plain, find = builtins.__import__, importlib.util.find_spec

    def without(name, *rest, **more):
        if name.split(".")[0] in ("pygltflib", "assimp_py", "pxr"):
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "assimp_py" else find(name))
    (tmp_path / "a.glb").write_bytes(b"glTF\2\0\0\0")
    (tmp_path / "a.x").write_text("xof 0303txt 0032\n")
    (tmp_path / "a.usda").write_text("#usda 1.0\n")
    for suffix, package in ((".glb", "pygltflib"), (".x", "assimp-py"), (".usda", "usd-core")):
        with pytest.raises(MissingExtraError, match=rf"'{package}'.*pliant\[mesh\]"):
            read_mesh(tmp_path / f"a{suffix}")


def test_table_of_formats():
    suffixes = [suffix for row in FORMATS for suffix in row.suffixes]
    assert len(suffixes) == len(set(suffixes)) and all(suffix == suffix.lower() for suffix in suffixes)
    for row in FORMATS:
        assert row.surface or row.tets
        assert format_of(f"Some.Thing{row.suffixes[0].upper()}") is row
        module = io._module(row)
        assert row.pair or (callable(module.read) and callable(module.write))
    assert all(suffix in known_formats() for suffix in suffixes if suffix != ".txt")
    assert ".obj" not in known_formats(surface=False) and ".node" not in known_formats(tets=False)
