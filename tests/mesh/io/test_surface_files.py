"""Surfaces in files: round trips of shape and look, the dialects of each format, and real meshes."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.io import FORMATS, read_mesh, read_surface, read_tets, write_mesh
from pliant.mesh.io.polygons import to_triangles
from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

DATA = Path(__file__).parents[2] / "data" / "meshes"
SHARED = Path(__file__).parents[4] / "shared" / "meshes"
NEEDS = {".glb": "pygltflib", ".gltf": "pygltflib", ".x": "assimp_py", ".usda": "pxr", ".usdc": "pxr", ".usd": "pxr"}
OWN = (".obj", ".ply", ".off", ".stl")
ALL = (*OWN, *NEEDS)
FLOAT32 = (".stl", *NEEDS)


def need(suffix):
    if suffix in NEEDS:
        pytest.importorskip(NEEDS[suffix])


def painted_box() -> SurfaceMesh:
    """A box 1 x 2 x 3 in two parts and two paints, with random texture coordinates and vertex colours."""
    vertices = np.array([[x, y, z] for x in (0.1, 1.1) for y in (0.0, 2.0) for z in (0.0, 3.0)])
    triangles = [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    colors = rng.random((8, 4), dtype=np.float32)
    colors[:, 3] = 1.0
    look = Look(
        uv=rng.random((12, 3, 2), dtype=np.float32),
        paints=(Paint("red", (1.0, 0.25, 0.0, 1.0), "bricks.png"), Paint("blue", (0.0, 0.1, 1.0, 0.5))),
        paint_of=np.array([0, 1] * 6, np.int32),
        parts=("left", "right"),
        part_of=np.array([0] * 6 + [1] * 6, np.int32),
        vertex_colors=colors,
    )
    return SurfaceMesh(vertices, triangles, "box", (), look)


def described(mesh: SurfaceMesh) -> set:
    """Every triangle told without numbers: corners in their cyclic order, with texture, part and paint."""
    look, found = mesh.look, set()
    for k, triangle in enumerate(mesh.triangles):
        corners = [tuple(np.round(mesh.vertices[i], 5).tolist()) for i in triangle]
        if look is not None and look.uv is not None:
            corners = [c + tuple(np.round(uv, 5).tolist()) for c, uv in zip(corners, look.uv[k])]
        first = corners.index(min(corners))
        found.add((
            tuple(corners[first:] + corners[:first]),
            look.parts[look.part_of[k]] if look is not None and look.part_of is not None else "",
            look.paints[look.paint_of[k]].name if look is not None and look.paint_of is not None else "",
        ))  # fmt: skip
    return found


@pytest.mark.parametrize("suffix", ALL)
def test_shape_survives(tmp_path, suffix):
    need(suffix)
    mesh = painted_box()
    write_mesh(mesh, tmp_path / f"box{suffix}")
    again = read_mesh(tmp_path / f"box{suffix}")
    assert again.name == "box" and len(again.vertices) == 8 and len(again.triangles) == 12
    assert again.is_closed() and again.volume() == pytest.approx(6.0, rel=1e-6)
    if suffix not in FLOAT32:
        assert np.array_equal(again.vertices, mesh.vertices) and np.array_equal(again.triangles, mesh.triangles)
    if suffix.startswith(".usd"):
        assert np.array_equal(again.triangles, mesh.triangles)


@pytest.mark.parametrize("suffix", [".obj", *NEEDS])
def test_look_survives(tmp_path, suffix):
    need(suffix)
    mesh = painted_box()
    write_mesh(mesh, tmp_path / f"box{suffix}")
    again = read_mesh(tmp_path / f"box{suffix}")
    assert described(again) == described(mesh)
    assert [paint.texture for paint in again.look.paints] == ["bricks.png", ""]
    for paint, was in zip(again.look.paints, mesh.look.paints):
        assert paint.color == pytest.approx(was.color, abs=1e-6)


@pytest.mark.parametrize("suffix", [".obj", ".ply", ".off", ".glb", ".gltf", ".usda", ".usdc"])
def test_vertex_colors_survive(tmp_path, suffix):
    need(suffix)
    mesh = painted_box()
    write_mesh(mesh, tmp_path / f"box{suffix}")
    again = read_mesh(tmp_path / f"box{suffix}")
    nearest = np.argmin(((mesh.vertices[:, None] - again.vertices) ** 2).sum(axis=2), axis=1)
    assert np.abs(again.look.vertex_colors[nearest] - mesh.look.vertex_colors).max() < (
        3e-3 if suffix == ".ply" else 1e-5
    )


def test_texture_and_picture_survive_ply(tmp_path):
    mesh = painted_box()
    write_mesh(mesh, tmp_path / "box.ply")
    again = read_mesh(tmp_path / "box.ply")
    assert np.array_equal(again.look.uv, mesh.look.uv) and again.look.paints[0].texture == "bricks.png"


@pytest.mark.parametrize("suffix", ALL)
def test_same_bytes_again(tmp_path, suffix):
    need(suffix)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_mesh(painted_box(), tmp_path / name / f"box{suffix}")
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted({f"box{suffix}", *(["box.mtl"] if suffix == ".obj" else [])})
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize("suffix", ALL)
def test_a_tet_mesh_gives_its_boundary(tmp_path, suffix):
    need(suffix)
    ball = shapes.ball(1.0, 3)
    write_mesh(ball, tmp_path / f"ball{suffix}")
    surface = read_surface(tmp_path / f"ball{suffix}")
    assert surface.is_closed() and len(surface.triangles) == len(ball.surface())
    assert surface.volume() == pytest.approx(ball.volumes().sum(), rel=1e-5)
    if suffix.startswith(".usd"):
        solid = read_tets(tmp_path / f"ball{suffix}")
        assert np.array_equal(solid.tets, ball.tets) and np.allclose(solid.vertices, ball.vertices, atol=1e-7)


@pytest.mark.parametrize("suffix", (".obj", ".off", ".ply", ".stl", ".glb"))
def test_another_library_reads_the_same(tmp_path, suffix):
    need(suffix)
    trimesh = pytest.importorskip("trimesh")
    surface = shapes.ball(1.0, 3).surface_mesh()
    write_mesh(surface, tmp_path / f"ball{suffix}")
    theirs = trimesh.load(tmp_path / f"ball{suffix}", force="mesh")
    assert theirs.is_watertight and theirs.volume == pytest.approx(surface.volume(), rel=1e-5)
    theirs.export(tmp_path / f"theirs{suffix}")
    again = read_mesh(tmp_path / f"theirs{suffix}")
    assert again.is_closed() and again.volume() == pytest.approx(surface.volume(), rel=1e-5)


@pytest.mark.parametrize("suffix", OWN)
def test_compressed(tmp_path, suffix):
    write_mesh(painted_box(), tmp_path / f"box{suffix}")
    packed = tmp_path / f"box{suffix}.gz"
    packed.write_bytes(gzip.compress((tmp_path / f"box{suffix}").read_bytes()))
    again = read_mesh(packed)
    assert again.name == "box" and again.volume() == pytest.approx(6.0, rel=1e-6)
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"\.gz: cannot be unpacked as gzip.*cut short"):
        read_mesh(packed)


# OBJ

OBJ = """# a house
mtllib house.mtl
o walls
v 0 0 0 1 0 0
v 1 0 0 0 1 0
  v 1 1 0 0 0 1 # in the middle
v 0 1 0 \\
  1 1 1
v 0.5 1.5 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
s off
usemtl brick
f 1/1/1 2/2/1 3/3/1 4/4/1
g roof top
usemtl tile
f -3//1 -1//1 -2//1
unknown statement
"""


def test_obj_dialects(tmp_path):
    (tmp_path / "house.obj").write_text(OBJ)
    (tmp_path / "house.mtl").write_text(
        "newmtl brick\nKd 0.5 0.25 0\nd 0.75\nmap_Kd -s 1 1 1 wall paper.png\nnewmtl tile\nTr 0.25\n"
    )
    mesh = read_mesh(tmp_path / "house.obj")
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [2, 4, 3]]
    assert mesh.look.parts == ("walls", "roof top") and mesh.look.part_of.tolist() == [0, 0, 1]
    assert mesh.look.paints[0] == Paint("brick", (0.5, 0.25, 0.0, 0.75), "wall paper.png")
    assert mesh.look.paints[1].color[3] == 0.75 and mesh.look.paint_of.tolist() == [0, 0, 1]
    assert mesh.look.uv.tolist()[1] == [[0, 0], [1, 1], [0, 1]] and not mesh.look.uv[2].any()
    assert mesh.look.vertex_colors.tolist() == [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]]
    assert mesh.notes == ()
    for text in (OBJ.replace("\n", "\r\n"), OBJ.replace("\\\n", " ").replace("\n", "\r"), "\ufeff" + OBJ):
        (tmp_path / "house.obj").write_bytes(text.encode())
        assert np.array_equal(read_mesh(tmp_path / "house.obj").triangles, mesh.triangles)
    (tmp_path / "house.mtl").unlink()
    mesh = read_mesh(tmp_path / "house.obj")
    assert "house.mtl" in mesh.notes[0] and [paint.name for paint in mesh.look.paints] == ["brick", "tile"]


def test_obj_relative_numbers_count_from_their_line(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nv 0 0 1\nf -4 -2 -1\n")
    assert read_mesh(tmp_path / "a.obj").triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize("corners", [4, 5, 8, 13])
def test_polygons_keep_their_area(corners):
    rng = np.random.default_rng(corners)
    for _ in range(20):
        # A star-shaped polygon in a random plane, mostly not convex.
        angle = 2.0 * np.pi * np.arange(corners) / corners
        ring = rng.uniform(0.2, 1.0, corners)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        points = ring @ axes[:2]
        normal = np.cross(axes[0], axes[1])
        area = 0.5 * (ring[:, 0] * np.roll(ring[:, 1], -1) - ring[:, 1] * np.roll(ring[:, 0], -1)).sum()
        places, owner = to_triangles(np.array([corners]), np.arange(corners), points)
        a, b, c = (points[places[:, i]] for i in range(3))
        signed = 0.5 * np.cross(b - a, c - a) @ normal
        # Folded triangles would make the sum of their sizes larger than the area.
        assert len(places) == corners - 2 and not owner.any()
        assert np.abs(signed).sum() == pytest.approx(area) and (signed > -1e-12).all()


# PLY


def ply(form, faces, body):
    header = f"ply\nformat {form} 1.0\ncomment x\nelement extra 2\nproperty short k\nelement vertex 5\n"
    header += "property uchar red\nproperty double z\nproperty float x\nproperty uchar green\nproperty float y\n"
    header += f"property uchar blue\nelement face {faces}\nproperty char flag\n"
    return (header + "property list uchar uint vertex_index\nproperty int after\nend_header\n").encode() + body


CORNERS = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (0.5, 0.5, 1.5)]


@pytest.mark.parametrize("polygons", [[(0, 1, 2), (0, 2, 3)], [(0, 1, 2, 3), (3, 2, 4), (0, 1, 4, 2, 3)]])
@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_ply_any_order_of_properties(tmp_path, form, polygons):
    if form == "ascii":
        body = "1\n2\n" + "".join(f"255 {z} {x} 0 {y} 51\n" for x, y, z in CORNERS)
        body += "".join(f"7 {len(p)} {' '.join(map(str, p))} 9\n" for p in polygons)
        body = body.encode()
    else:
        order = "<" if "little" in form else ">"
        body = struct.pack(f"{order}2h", 1, 2)
        body += b"".join(struct.pack(f"{order}BdfBfB", 255, z, x, 0, y, 51) for x, y, z in CORNERS)
        body += b"".join(struct.pack(f"{order}bB{len(p)}Ii", 7, len(p), *p, 9) for p in polygons)
    path = tmp_path / "a.ply"
    path.write_bytes(ply(form, len(polygons), body))
    mesh = read_mesh(path)
    assert np.array_equal(mesh.vertices, CORNERS)
    assert mesh.look.vertex_colors[0].tolist() == pytest.approx([1.0, 0.0, 0.2, 1.0])
    counts, flat = [len(p) for p in polygons], np.concatenate(polygons)
    assert np.array_equal(mesh.triangles, flat[to_triangles(np.array(counts), flat, mesh.vertices)[0]])
    path.write_bytes(ply(form, len(polygons), body[:-9]))
    with pytest.raises(InputError, match=r"a.ply, (byte \d+|line 2\d): .*(cut short|too few)"):
        read_mesh(path)


# STL, OFF


def test_stl_text_and_its_solids(tmp_path):
    facet = "  facet normal 0 0 1\n    outer loop\n{}    endloop\n  endfacet\n"
    corners = lambda rows: "".join(f"      vertex {' '.join(map(str, CORNERS[row]))}\n" for row in rows)
    text = f"solid one\n{facet.format(corners((0, 1, 2)))}endsolid one\nsolid two b\n{facet.format(corners((0, 2, 3)))}"
    (tmp_path / "a.stl").write_text(text + "endsolid two b\n")
    mesh = read_mesh(tmp_path / "a.stl")
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]] and np.array_equal(mesh.vertices, CORNERS[:4])
    assert mesh.look.parts == ("one", "two b") and "6 vertices were made 4" in mesh.notes[0]
    with pytest.raises(InputError, match=r"line 16: has no line .endsolid.*cut short"):
        (tmp_path / "a.stl").write_text(text.replace("endsolid one\n", ""))
        read_mesh(tmp_path / "a.stl")


def test_binary_stl_that_starts_like_text(tmp_path):
    write_mesh(painted_box(), tmp_path / "a.stl")
    data = (tmp_path / "a.stl").read_bytes()
    (tmp_path / "a.stl").write_bytes(b"solid made by something".ljust(80, b" ") + data[80:])
    assert read_mesh(tmp_path / "a.stl").volume() == pytest.approx(6.0, rel=1e-6)


def test_off_dialects(tmp_path):
    text = "# made by hand\nCOFF 5 2 0 # counts\n\n"
    text += "".join(f"{x} {y} {z}  255 0 51 255\n" for x, y, z in CORNERS) + "4  0 1 2 3  255 0 0\n3 3 2 4 0.5\n"
    (tmp_path / "a.off").write_text(text)
    mesh = read_mesh(tmp_path / "a.off")
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [3, 2, 4]]
    assert mesh.look.vertex_colors[4].tolist() == pytest.approx([1.0, 0.0, 0.2, 1.0])


# glTF, USD, DirectX


def test_gltf_nodes_are_moved_and_mirrored(tmp_path):
    pygltflib = pytest.importorskip("pygltflib")
    write_mesh(shapes.ball(1.0, 3), tmp_path / "a.gltf")
    scene = pygltflib.GLTF2().load(tmp_path / "a.gltf")
    ball = scene.nodes[0]
    ball.translation, ball.scale, ball.rotation = [5.0, 0.0, 0.0], [-1.0, 2.0, 1.0], [0.0, 0.0, 0.6, 0.8]
    scene.nodes.append(pygltflib.Node(children=[0], translation=[0.0, 0.0, 7.0], name="above"))
    scene.scenes[0].nodes = [1]
    (tmp_path / "b.gltf").write_text(scene.to_json())
    plain, moved = read_mesh(tmp_path / "a.gltf"), read_mesh(tmp_path / "b.gltf")
    assert moved.is_closed() and moved.volume() == pytest.approx(2.0 * plain.volume(), rel=1e-6)
    turn = np.array([[0.28, -0.96, 0.0], [0.96, 0.28, 0.0], [0.0, 0.0, 1.0]])
    expected = (plain.vertices * [-1.0, 2.0, 1.0]) @ turn.T + [5.0, 0.0, 7.0]
    assert np.allclose(moved.vertices, expected, atol=1e-6)


def test_gltf_refuses_what_it_cannot_unpack(tmp_path):
    pygltflib = pytest.importorskip("pygltflib")
    write_mesh(painted_box(), tmp_path / "a.gltf")
    scene = pygltflib.GLTF2().load(tmp_path / "a.gltf")
    scene.extensionsRequired = ["KHR_draco_mesh_compression"]
    (tmp_path / "b.gltf").write_text(scene.to_json())
    with pytest.raises(InputError, match=r"b.gltf: .*KHR_draco_mesh_compression.*without compression"):
        read_mesh(tmp_path / "b.gltf")
    scene.extensionsRequired = []
    scene.buffers[0].uri = "gone.bin"
    (tmp_path / "b.gltf").write_text(scene.to_json())
    with pytest.raises(InputError, match=r"gone.bin: there is no such file.*buffer of b.gltf"):
        read_mesh(tmp_path / "b.gltf")


USDA = """#usda 1.0
( metersPerUnit = 0.01
  upAxis = "Z" )
def Xform "a" {
    double3 xformOp:translate = (0, 0, 100)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Mesh "b" {
        uniform token orientation = "leftHanded"
        int[] faceVertexCounts = [4, 3]
        int[] faceVertexIndices = [3, 2, 1, 0, 4, 2, 3]
        point3f[] points = [(0, 0, 0), (100, 0, 0), (100, 100, 0), (0, 100, 0), (50, 150, 0)]
        color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0)] ( interpolation = "uniform" )
        texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1), (0.5, 1)] ( interpolation = "vertex" )
    }
}
"""


def test_usd_units_axes_and_handedness(tmp_path):
    pytest.importorskip("pxr")
    (tmp_path / "a.usda").write_text(USDA)
    mesh = read_mesh(tmp_path / "a.usda")
    assert np.allclose(mesh.vertices, [[0, 1, 0], [1, 1, 0], [1, 1, -1], [0, 1, -1], [0.5, 1, -1.5]])
    assert (mesh.normals()[:, 1] > 0.99).all(), "z up in the file, so y up here"
    assert mesh.look.parts == ("b",) and [p.color[:2] for p in mesh.look.paints] == [(0.0, 1.0), (1.0, 0.0)]
    assert mesh.look.paint_of.tolist() == [1, 1, 0]
    assert mesh.look.uv[2].tolist() in ([[0.5, 1], [0, 1], [1, 1]],)
    assert any("0.01" in note for note in mesh.notes) and any("z up" in note for note in mesh.notes)


@pytest.mark.parametrize("name", ["test_cube_text.x", "test_cube_binary.x", "test_cube_compressed.x"])
def test_directx_kinds(name):
    pytest.importorskip("assimp_py")
    mesh = read_mesh(DATA / name)
    assert len(mesh.vertices) == 8 and len(mesh.triangles) == 12 and mesh.volume() == pytest.approx(8.0, rel=1e-6)
    assert mesh.look.parts == ("Cube",) and mesh.look.paints[0].name == "Material"
    assert any("left-handed" in note for note in mesh.notes) and any("were made 8" in note for note in mesh.notes)


def test_directx_materials_and_vertex_colors():
    pytest.importorskip("assimp_py")
    mesh = read_mesh(DATA / "kwxport_test_cubewithvcolors.x")
    assert [paint.name for paint in mesh.look.paints] == ["bottom", "top", "side"] and mesh.is_closed()
    assert mesh.look.paints[1].texture.endswith("top.tga") and mesh.look.vertex_colors.shape == (8, 4)
    # The triangles in the paint 'top' are the upper side.
    top = mesh.look.paint_of == 1
    assert (mesh.normals()[top][:, 1] > 0.9).all() or (mesh.normals()[top][:, 2] ** 2 > 0.8).all()


# Real meshes


def shared_files():
    known = {suffix for row in FORMATS for suffix in row.suffixes}
    return (
        sorted(p for p in SHARED.rglob("*") if p.suffix.lower() in known - {".txt", ".mesh"}) if SHARED.exists() else []
    )


@pytest.mark.skipif(not SHARED.exists(), reason="needs the shared folder of real meshes")
def test_real_meshes():
    closed = {}
    for path in shared_files():
        need(path.suffix.lower() if path.suffix.lower() in NEEDS else "")
        mesh = read_mesh(path)
        surface = mesh.surface_mesh() if isinstance(mesh, TetMesh) else mesh
        assert len(surface.triangles) > 10 and np.ptp(surface.vertices, axis=0).max() > 0.0, path
        closed[path.name] = surface.is_closed() and surface.volume() > 0.0
    assert len(closed) >= 30
    for name in (
        "npm_bunny.obj", "genesis_dragon.obj", "genesis_duck.obj", "cgaldemo_armadillo.off", "cgaldemo_bunny00.off",
        "newton_bear.usd", "spot__spot_low_resolution.obj", "c3dtm_spot.obj", "libigl_fertility.off", "anim_test.x",
    ):  # fmt: skip
        assert closed[name], name
    assert not closed["newton_unisex_shirt.usd"] and not closed["npm_teapot.obj"]
