"""Rods from files and to files."""

import gzip
import struct

import numpy as np
import pytest

import pliant
from pliant import InputError, RodMesh, shapes

TREE = shapes.tree(levels=3, branches=3)


def by_ends(mesh):
    """Radius of each segment by its ends."""
    ends = np.sort(mesh.segments, axis=1)
    return dict(zip(map(tuple, ends.tolist()), mesh.radius.tolist(), strict=True))


def load(tmp_path, name, data, **given):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return RodMesh.load(path, **given)


@pytest.mark.parametrize("suffix", [".swc", ".ply", ".obj"])
def test_what_is_written_is_read(suffix, tmp_path):
    path = tmp_path / f"tree{suffix}"
    TREE.save(path)
    back = RodMesh.load(path)
    assert np.array_equal(back.vertices, TREE.vertices), "vertices keep their numbers"
    assert back.name == "tree"
    if suffix == ".obj":
        assert by_ends(back).keys() == by_ends(TREE).keys() and "no radii" in back.notes[0]
        assert set(RodMesh.load(path, radius=0.25).radius) == {0.25}
    else:
        assert by_ends(back) == by_ends(TREE) and back.notes == ()


def test_a_compressed_file_is_read(tmp_path):
    TREE.save(tmp_path / "tree.swc")
    packed = gzip.compress((tmp_path / "tree.swc").read_bytes())
    assert np.array_equal(load(tmp_path, "packed.swc.gz", packed).vertices, TREE.vertices)


def test_swc_rows_in_any_order(tmp_path):
    """The radius of a segment is that of its child; roots come first."""
    text = "# made by hand\n7 3 0 2 0 0.1 5\n5 3 0 1 0 0.2 2\n\n2 1 0 0 0 0.9 -1\n9 3 1 1 0 0.05 5\n"
    mesh = load(tmp_path, "cell.swc", text)
    assert mesh.vertices[0].tolist() == [0, 0, 0] and mesh.roots().tolist() == [0]
    assert sorted(mesh.radius.tolist()) == [0.05, 0.1, 0.2]
    assert mesh.notes == ("roots were moved before the other points",)


def test_polylines_of_obj(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nl 1/1 2/2 -1\nv 2 0 0\nv 3 0 0\nl 2 -2 \\\n -1\nvt 0 0\n"
    mesh = load(tmp_path, "lines.obj", text)
    assert np.sort(mesh.segments, axis=1).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert "1 segments without a length, or given twice, were left out" in mesh.notes


def test_points_at_one_place_are_merged_where_lines_meet(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 1 0 0\nv 2 0 0\nv 9 9 9\nl 1 2\nl 3 4\n"
    mesh = load(tmp_path, "lines.obj", text)
    assert mesh.segments.tolist() == [[0, 1], [1, 2]] and len(mesh.roots()) == 1
    assert "1 points at the place of another were merged with it" in mesh.notes
    assert "1 points that belong to no line were left out" in mesh.notes


def test_edges_of_a_text_ply_with_radii_of_vertices(tmp_path):
    text = (
        "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        "property float radius\nelement edge 2\nproperty int vertex1\nproperty int vertex2\nend_header\n"
        "0 0 0 1\n1 0 0 2\n2 0 0 4\n0 1\n2 1\n"
    )
    mesh = load(tmp_path, "edges.ply", text)
    assert by_ends(mesh) == {(0, 1): 1.5, (1, 2): 3.0}


def hair_file(lengths, points, thickness=0.002, arrays=True, strands=None):
    flags = 2 | (1 if arrays else 0)
    head = struct.pack(
        "<4s4I2f3f", b"HAIR", strands or len(lengths), len(points), flags, lengths[0], thickness, 0, 1, 1, 1
    )
    head += b"a test".ljust(128 - len(head), b"\0")
    counts = np.array(lengths, "<u2").tobytes() if arrays else b""
    return head + counts + np.asarray(points, "<f4").tobytes()


POINTS = np.arange(21, dtype=float).reshape(7, 3) ** 1.5


def test_hair(tmp_path):
    mesh = load(tmp_path, "wig.hair", hair_file([2, 3], POINTS))
    assert mesh.segments.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5], [5, 6]]
    assert np.allclose(mesh.vertices, POINTS, rtol=1e-6) and mesh.radius == pytest.approx(np.full(5, 0.001))
    same = load(tmp_path, "same.hair", hair_file([2, 2], POINTS[:6], arrays=False))
    assert same.segments.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]


def test_strands_of_one_root_stay_apart(tmp_path):
    points = np.concatenate([POINTS[:3], POINTS[:1], POINTS[3:5]])
    assert len(load(tmp_path, "wig.hair", hair_file([2, 2], points)).roots()) == 2


@pytest.mark.parametrize("mode", [1, 3])
def test_lines_of_gltf(mode, tmp_path):
    package = pytest.importorskip("pygltflib")
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0], [2, 1, 0]] if mode == 1 else [[0, 0, 0], [1, 0, 0], [2, 1, 0]])
    blob = points.astype("<f4").tobytes()
    scene = package.GLTF2(
        asset=package.Asset(version="2.0"),
        scenes=[package.Scene(nodes=[0])],
        scene=0,
        nodes=[package.Node(mesh=0, translation=[0.0, 5.0, 0.0])],
        meshes=[package.Mesh(primitives=[package.Primitive(attributes=package.Attributes(POSITION=0), mode=mode)])],
        accessors=[package.Accessor(bufferView=0, componentType=5126, count=len(points), type="VEC3")],
        bufferViews=[package.BufferView(buffer=0, byteLength=len(blob))],
        buffers=[package.Buffer(byteLength=len(blob))],
    )
    scene.set_binary_blob(blob)
    scene.save(str(tmp_path / "lines.glb"))
    mesh = RodMesh.load(tmp_path / "lines.glb")
    assert mesh.segments.tolist() == [[0, 1], [1, 2]]
    assert mesh.vertices.tolist() == [[0, 5, 0], [1, 5, 0], [2, 6, 0]]


SWC = "1 0 0 0 0 1 -1\n2 0 1 0 0 1 1\n"
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.swc", SWC + "3 0 1 1", "line 3.*cut short"),
        ("a.swc", SWC + "3 0 1 1 0 1 7\n", "line 3.*a parent that is not there"),
        ("a.swc", SWC + "2 0 1 1 0 1 1\n", "line 3.*an id that is taken"),
        ("a.swc", SWC + "3 0 1 x 0 1 1\n", "line 3.*'x' is not a number"),
        ("a.swc", SWC + "3 0 nan 1 0 1 1\n", "line 3.*not finite"),
        ("a.swc", SWC + "1e300 0 1 1 0 1 1\n", "line 3.*no whole number"),
        ("a.swc", SWC + "3.5 0 1 1 0 1 1\n", "line 3.*no whole number"),
        ("a.swc", SWC + "3 0 1 1 0 -2 1\n", "the radius -2 m"),
        ("a.swc", "1 0 0 0 0 1 2\n2 0 1 0 0 1 1\n", "line 1.*is its own ancestor"),
        ("a.swc", "1 0 0 0 0 1 -1\n", "no segments"),
        ("a.swc", "", "empty"),
        ("a.swc", "# nothing\n", "no rows"),
        ("a.obj", OBJ + "l 1 2 3 1\n", "1 segments close loops.*attach its ends"),
        ("a.obj", OBJ + "l 1 4\n", "line 4.*out of range"),
        ("a.obj", OBJ + "l 1 b\n", "line 4.*'b' is not a point"),
        ("a.obj", OBJ + "l 1\n", "line 4.*fewer than two"),
        ("a.obj", OBJ + "f 1 2 3\n", "holds no polyline.*Scene.add"),
        ("a.obj", "v 0 0 0\nv 0 0 0\nl 1 2\n", "no length"),
        ("a.ply", "ply\nformat ascii 1.0\nelement vertex 0\nend_header\n", "no element 'edge'"),
        ("a.hair", b"HARE" + bytes(200), "not with 'HAIR'"),
        ("a.hair", hair_file([2, 3], POINTS)[:60], "cut short"),
        ("a.hair", hair_file([2, 3], POINTS)[:-4], "cut short"),
        ("a.hair", hair_file([2, 5], POINTS), "9 points, and the header says 7"),
        ("a.hair", hair_file([2, 3], POINTS, strands=4_000_000_000), "cut short"),
        ("a.stl", b"solid", "'.stl' is no suffix of a file of rods. Known are .swc"),
    ],
)
def test_broken_files_are_refused(name, data, message, tmp_path):
    with pytest.raises(InputError, match=f"(?s){message}"):
        load(tmp_path, name, data)


def test_a_file_that_is_not_there_and_one_that_is_not_written(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        RodMesh.load(tmp_path / "none.swc")
    with pytest.raises(InputError, match="is no path"):
        RodMesh.load(3)
    TREE.save(tmp_path / "tree.swc")
    for radius in (-1.0, "thick"):
        with pytest.raises(InputError, match=r"RodMesh\.load\(radius\)"):
            RodMesh.load(tmp_path / "tree.swc", radius=radius)
    with pytest.raises(InputError, match="read but not written"):
        TREE.save(tmp_path / "tree.hair")


def test_other_readers_say_who_reads_rods(tmp_path):
    TREE.save(tmp_path / "tree.swc")
    TREE.save(tmp_path / "tree.obj")
    for name in ("tree.swc", "tree.obj"):
        with pytest.raises(InputError, match=r"RodMesh\.load"):
            pliant.Scene().add(tmp_path / name)
    with pytest.raises(InputError, match=r"hand it to Scene\.add"):
        pliant.prepare(TREE)
