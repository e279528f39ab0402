"""NETGEN, Medit, Gmsh and VTK files: round trips, and other programs' files."""

import contextlib
import dataclasses
import gzip
import io

import numpy as np
import pytest
from volume_texts import MEDIT, NEUTRAL, SHARED, SUFFIXES, TEXT_SUFFIXES, VOL, elements, fails, put, read, same, written

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.io import (
    known_formats,
    medit,
    netgen,
    read_mesh,
    read_surface,
    read_tets,
    through_meshio,
    write_mesh,
    write_tets,
)
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

# Round trips


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip(tmp_path, suffix):
    ball = shapes.ball(1 / 3, 3)
    for mesh in (ball, ball.surface_mesh().drop_unused()):
        path = written(tmp_path, mesh, suffix)
        again = read(path)
        assert same(again, mesh) and again.name == "duck"
        first = path.read_bytes()
        written(tmp_path, mesh, suffix)
        assert path.read_bytes() == first
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_awkward_numbers_survive(tmp_path, suffix):
    vertices = [[0.1, -1e-300, 1e9], [1 / 3, 5e-324, -0.0], [2**53 + 1.0 - 2**53, 1e-17, 7.0], [-1e8 / 3, 1.0, 2.0]]
    mesh = TetMesh(vertices, [[3, 1, 2, 0]])
    again = read(written(tmp_path, mesh, suffix))
    assert np.array_equal(again.vertices, mesh.vertices)
    assert sorted(again.tets[0]) == [0, 1, 2, 3]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_unused_vertices_and_orientation_are_left_alone(tmp_path, suffix):
    mesh = shapes.ball(1.0, 2)
    tets = mesh.tets.copy()
    tets[5, 2:] = tets[5, :1:-1]
    mesh = TetMesh(np.vstack([mesh.vertices, [[9.0, 9.0, 9.0]]]), tets)
    assert (mesh.volumes() < 0).sum() == 1
    assert same(read(written(tmp_path, mesh, suffix)), mesh)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_no_file_can_hold(tmp_path, suffix):
    module = SUFFIXES[suffix]
    if module is through_meshio:
        pytest.importorskip("meshio")
    path = tmp_path / f"duck{suffix}"
    good = shapes.ball(1.0, 1)
    vertices = good.vertices.copy()
    vertices[3, 1] = np.nan
    for bad, expected in (
        (dataclasses.replace(good, vertices=vertices), "vertex 3"),
        (TetMesh(good.vertices, [[0, 1, 2, 900]]), "900"),
        (TetMesh(good.vertices, np.zeros((0, 4), np.int32)), "no tets"),
        (SurfaceMesh(good.vertices, np.zeros((0, 3), np.int32)), "no triangles"),
        ("a string", "str is no mesh"),
    ):
        with pytest.raises(InputError, match=expected):
            module.write(bad, path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "here").write_text("a file")
    with pytest.raises(InputError, match="cannot write"):
        module.write(good, tmp_path / "here" / f"duck{suffix}")


# Other programs' files


@pytest.mark.parametrize("name", ["bunny", "hand", "octopus-low"])
def test_real_medit_files_agree_with_meshio(meshio, name):
    path = SHARED / f"libigl_{name}.mesh"
    if not path.exists():
        pytest.skip("the folder of real meshes is not here")
    mesh = medit.read(path)
    other = meshio.read(path)
    assert np.array_equal(mesh.tets, other.cells_dict["tetra"])
    assert np.allclose(mesh.vertices, other.points, rtol=0.0, atol=1e-6)
    assert any(f"{len(other.cells_dict['triangle'])} triangles" in note for note in mesh.notes)
    assert (mesh.volumes() > 0).all()


@pytest.mark.parametrize(
    ("suffix", "variant", "options"),
    [
        (".mesh", "medit", {}),
        (".vol", "netgen", {}),
        (".msh", "gmsh22", {"binary": False}),
        (".msh", "gmsh22", {"binary": True}),
        (".msh", "gmsh", {"binary": False}),
        (".msh", "gmsh", {"binary": True}),
        (".vtk", "vtk42", {"binary": False}),
        (".vtk", "vtk", {"binary": False}),
        (".vtk", "vtk", {"binary": True}),
        (".vtu", "vtu", {"binary": False}),
        (".vtu", "vtu", {"binary": True, "compression": "lzma"}),
    ],
)
def test_files_from_meshio(tmp_path, capfd, meshio, suffix, variant, options):
    ball = shapes.ball(0.3, 2)
    skin = ball.surface_mesh().drop_unused()
    for mesh, kind in ((ball, "tetra"), (skin, "triangle")):
        path = tmp_path / f"duck{suffix}"
        meshio.Mesh(mesh.vertices, [(kind, elements(mesh))]).write(path, file_format=variant, **options)
        capfd.readouterr()
        again = read(path)
        assert type(again) is type(mesh)
        assert np.allclose(again.vertices, mesh.vertices, rtol=0.0, atol=1e-12)
        assert np.array_equal(np.sort(elements(again), axis=1), np.sort(elements(mesh), axis=1))
        if kind == "tetra":
            assert (again.volumes() > 0).all()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("suffix", "variant"), [(".mesh", "medit"), (".vol", "netgen")])
def test_meshio_reads_what_we_write(tmp_path, meshio, suffix, variant):
    mesh = shapes.ball(0.3, 2)
    other = meshio.read(written(tmp_path, mesh, suffix), file_format=variant)
    assert np.array_equal(other.points, mesh.vertices)
    # meshio, like TetMesh, counts a NETGEN tet as positive the other way round than NETGEN does.
    assert (TetMesh(other.points, other.cells_dict["tetra"].astype(np.int32)).volumes() > 0).all()
    assert np.array_equal(np.sort(other.cells_dict["tetra"], axis=1), np.sort(mesh.tets, axis=1))
    if variant == "netgen":
        assert np.array_equal(other.cells_dict["triangle"], mesh.surface())


def test_netgen_layout(tmp_path):
    for text in (VOL, VOL.replace("\n", "\r\n")):
        mesh = netgen.read(put(tmp_path, ".vol", text))
        assert mesh.tets.tolist() == [[0, 2, 3, 1], [1, 2, 3, 4]]
        assert (mesh.volumes() > 0).all() and len(mesh.vertices) == 5
        assert mesh.notes == ("the file's 1 triangles and other surface elements were passed over",)
    # Tets that already lie the right way round are left as they are.
    mesh = netgen.read(put(tmp_path, ".vol", VOL.replace("1 3 2 4", "1 2 3 4").replace("2 3 5 4", "2 3 4 5")))
    assert mesh.tets.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]
    mesh = netgen.read(put(tmp_path, ".vol", VOL.replace("materials\n", "novelties\n")))
    assert "sections passed over: novelties" in mesh.notes


def test_netgen_surfaces_with_parameters_and_quads(tmp_path):
    start, end = VOL.index("surfaceelementsgi"), VOL.index("     surf1")
    surface = (
        "surfaceelementsuv\n3\n1 1 1 0 3 1 2 3 0.5 0.25 0 0 1 1\n1 1 1 0 4 1 2 5 3 0 0 1 0 1 1 0 1\n"
        "1 1 1 0 0 1 2 4 0 0 0 0 0 0\nvolumeelements\n0\n"
    )
    mesh = netgen.read(put(tmp_path, ".vol", VOL[:start] + surface + VOL[end:]))
    assert isinstance(mesh, SurfaceMesh) and len(mesh.triangles) == 4
    assert mesh.triangles[:2].tolist() == [[0, 1, 2], [0, 1, 3]]
    assert set(mesh.triangles[2:].ravel()) == {0, 1, 2, 4} and "1 quads" in mesh.notes[0]


def test_netgen_mixed_and_second_order(tmp_path):
    more = "4\n 1 4 1 3 2 4\n 1 5 1 2 3 4 5\n 1 4 2 3 5 4\n1 10 1 3 2 5 1 1 1 1 1 1\n"
    mesh = netgen.read(put(tmp_path, ".vol", VOL.replace("2\n 1 4 1 3 2 4\n 1 4 2 3 5 4\n", more)))
    assert np.sort(mesh.tets, axis=1).tolist() == [[0, 1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 4]]
    notes = " ".join(mesh.notes)
    assert "1 pyramids were left out" in notes and "second-order" in notes
    fails(
        tmp_path, ".vol", VOL.replace("2\n 1 4 1 3 2 4\n 1 4 2 3 5 4\n", "1\n1 5 1 2 3 4 5\n"), "1 pyramids", "no tets"
    )


def test_neutral_format(tmp_path):
    mesh = medit.read(put(tmp_path, ".mesh", NEUTRAL))
    assert mesh.tets.tolist() == [[0, 2, 3, 1]] and mesh.volumes()[0] > 0
    assert "4 triangles" in mesh.notes[0]
    mesh = medit.read(put(tmp_path, ".mesh", NEUTRAL.replace("1\n 1    1 3 2 4\n", "0\n")))
    assert isinstance(mesh, SurfaceMesh) and mesh.is_closed() and mesh.volume() == pytest.approx(1 / 6)
    quadratic = NEUTRAL.replace("4\n0 0 0", "10\n" + "9 9 9\n" * 6 + "0 0 0", 1)
    quadratic = quadratic.replace("1 3 2 4\n", "7 9 8 10 1 2 3 4 5 6\n", 1)
    mesh = medit.read(put(tmp_path, ".mesh", quadratic))
    assert len(mesh.vertices) == 4 and mesh.volumes().tolist() == pytest.approx([1 / 6])
    fails(tmp_path, ".mesh", NEUTRAL.replace("1 3 2 4\n", "1 3 2 5\n"), "line 7", "point 4 of volume element 1 is 5")
    fails(tmp_path, ".mesh", NEUTRAL.replace("1 3 2 4\n", "1 3 2\n"), "line 7", "has 4 numbers", "subdomain")
    fails(tmp_path, ".mesh", NEUTRAL + "1 2 3 4\n", "line 13", "4 more numbers")
    fails(tmp_path, ".mesh", NEUTRAL.replace("0 1 0", "0 x 0"), "line 4", "'x' is not a number")


def test_medit_layout(tmp_path):
    for text in (
        MEDIT,
        MEDIT.replace("\n", "\r\n"),
        MEDIT.replace("Dimension\n3", "Dimension 3 # here"),
        MEDIT.upper(),
    ):
        mesh = medit.read(put(tmp_path, ".mesh", text))
        assert mesh.tets.tolist() == [[0, 1, 2, 3]] and mesh.notes == ()
    # Numbers may be broken into lines at will.
    mesh = medit.read(put(tmp_path, ".mesh", " ".join(MEDIT.split())))
    assert mesh.tets.tolist() == [[0, 1, 2, 3]]
    more = (
        'Ridges\n2\n1\n2\nIdentifier\n"Vertices of a duck"\nEdges\n1\n1 2 0\nCorners 0\nTetrahedra\n1\n4 3 2 1 0\nEnd'
    )
    mesh = medit.read(put(tmp_path, ".mesh", MEDIT.replace("End", more)))
    assert mesh.tets.tolist() == [[0, 1, 2, 3], [3, 2, 1, 0]]
    assert mesh.notes == ("sections passed over: Ridges (2), Edges (1)",)
    mesh = medit.read(put(tmp_path, ".mesh", MEDIT.replace("End", "")))
    assert mesh.tets.tolist() == [[0, 1, 2, 3]] and "End" in mesh.notes[0]


def test_medit_triangles_quads_and_flat_files(tmp_path):
    quads = MEDIT.replace("Tetrahedra\n1\n1 2 3 4 5", "Triangles 1\n1 2 3 0\nQuadrilaterals\n1\n1 2 4 3 0")
    mesh = medit.read(put(tmp_path, ".mesh", quads))
    assert isinstance(mesh, SurfaceMesh) and len(mesh.triangles) == 3
    assert mesh.triangles[0].tolist() == [0, 1, 2] and "quads" in mesh.notes[0]
    edges = {(row[i], row[i - 2]) for row in mesh.triangles[1:].tolist() for i in range(3)}
    assert {(0, 1), (1, 3), (3, 2), (2, 0)} < edges and len(edges) == 6
    flat = "MeshVersionFormatted 1\nDimension 2\nVertices\n3\n0 0 1\n1 0 1\n0 2 1\nTriangles\n1\n1 2 3 1\nEnd\n"
    mesh = medit.read(put(tmp_path, ".mesh", flat))
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]] and "flat" in mesh.notes[0]


def test_medit_second_order_and_hexahedra(tmp_path):
    more = "".join(f"0.5 0.{i} 0 0\n" for i in range(6))
    text = MEDIT.replace("Vertices\n4\n", f"Vertices\n10\n{more}")
    text = text.replace("Tetrahedra\n1\n1 2 3 4 5", "TetrahedraP2\n1\n7 8 9 10 1 2 3 4 5 6 0")
    mesh = medit.read(put(tmp_path, ".mesh", text))
    assert mesh.tets.tolist() == [[0, 1, 2, 3]] and len(mesh.vertices) == 4 and "second-order" in mesh.notes[0]
    hexahedra = MEDIT.replace("Tetrahedra\n1\n1 2 3 4 5", "Hexahedra\n2\n1 2 3 4 1 2 3 4 0\n1 2 3 4 1 2 3 4 0")
    fails(tmp_path, ".mesh", hexahedra, "2 hexahedra", "no tets", "Cut the elements into tets")
    both = MEDIT.replace("End", "Prisms\n1\n1 2 3 4 1 2 0\nEnd")
    assert "1 prisms (wedges) were left out" in medit.read(put(tmp_path, ".mesh", both)).notes[0]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("variant", ["gmsh22", "gmsh"])
def test_gmsh_with_a_wild_node_number(tmp_path, meshio, variant, binary):
    """A table as long as the largest number would not fit into memory."""
    path = tmp_path / "duck.msh"
    tets = np.array([[0, 1, 2, 3]])
    meshio.Mesh(np.eye(4, 3), [("tetra", tets)]).write(path, file_format=variant, binary=binary)
    data = path.read_bytes()
    start = data.index(b"$Nodes\n")
    if binary:
        width = 4 if variant == "gmsh22" else 8
        start = data.index((4).to_bytes(width, "little"), start + (32 if width == 8 else 0) + 28)
        damaged = data[:start] + (2000000000).to_bytes(width, "little") + data[start + width :]
    else:
        start = data.index(b"\n4", start + (24 if variant == "gmsh" else 10)) + 1
        damaged = data[:start] + b"2000000000" + data[start + 1 :]
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="number 2000000000" if (variant, binary) != ("gmsh22", True) else "Gmsh"):
        read(path)


def test_binary_medit_is_refused(tmp_path, meshio):
    ball = shapes.ball(0.3, 1)
    meshio.Mesh(ball.vertices, [("tetra", ball.tets)]).write(tmp_path / "duck.meshb")
    (tmp_path / "renamed.mesh").write_bytes((tmp_path / "duck.meshb").read_bytes())
    for name in ("duck.meshb", "renamed.mesh"):
        for reader in (medit.read, read_mesh, read_tets):
            with pytest.raises(InputError, match=r"binary format \(\.meshb\).*meshio convert"):
                reader(tmp_path / name)
    (tmp_path / "packed.mesh.gz").write_bytes(gzip.compress((tmp_path / "duck.meshb").read_bytes()))
    with pytest.raises(InputError, match=r"packed.mesh.gz: this is .*binary format"):
        read_mesh(tmp_path / "packed.mesh.gz")
    with pytest.raises(InputError, match=r"\.meshb files are not written.*\.mesh"):
        write_mesh(ball, tmp_path / "new.meshb")
    assert ".meshb" not in known_formats() and not (tmp_path / "new.meshb").exists()


@pytest.mark.parametrize("suffix", TEXT_SUFFIXES)
def test_compressed(tmp_path, suffix):
    ball = shapes.ball(0.3, 1)
    write_mesh(ball, tmp_path / f"ball{suffix}")
    whole = (tmp_path / f"ball{suffix}").read_bytes()
    packed = tmp_path / f"ball{suffix}.gz"
    packed.write_bytes(gzip.compress(whole))
    plain = read_tets(tmp_path / f"ball{suffix}")
    for again in (read_tets(packed), read_mesh(packed)):
        assert again.name == plain.name == "ball"
        assert (again.vertices == plain.vertices).all() and (again.tets == plain.tets).all()
    assert read_surface(packed).is_closed()
    line = whole.count(b"\n", 0, whole.index(b"0.")) + 1
    packed.write_bytes(gzip.compress(whole.replace(b"0.", b"0..", 1)))
    with pytest.raises(InputError, match=rf"ball{suffix}.gz, line {line}: "):
        read_mesh(packed)
    packed.write_bytes(gzip.compress(whole)[:-20])
    with pytest.raises(InputError, match=r"\.gz: cannot be unpacked as gzip.*cut short"):
        read_mesh(packed)
    packed.write_bytes(gzip.compress(b"<!DOCTYPE html>\n<html></html>\n"))
    with pytest.raises(InputError, match=r"\.gz: .*web page.*Fetch"):
        read_mesh(packed)
    with pytest.raises(InputError, match="read but not written"):
        write_tets(ball, packed)


def test_compressed_pairs_are_refused(tmp_path):
    for reader in (read_mesh, read_tets):
        with pytest.raises(InputError, match=r"a compressed TetGen file is not read.*\.vol\.gz, \.mesh\.gz"):
            reader(tmp_path / "a.node.gz")


@pytest.mark.parametrize("suffix", [".msh", ".vtk", ".vtu"])
def test_blocks_are_joined_and_the_rest_is_told(tmp_path, meshio, suffix):
    cube = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
    points = np.vstack([cube, [[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]])
    tets, hexahedron = [[0, 1, 2, 4]], [[0, 1, 3, 2, 4, 5, 7, 6]]
    path = tmp_path / f"duck{suffix}"
    variant = {".msh": "gmsh22"}.get(suffix, suffix[1:])

    def write(*cells):
        with contextlib.redirect_stderr(io.StringIO()):
            meshio.Mesh(points, [(kind, np.array(rows)) for kind, rows in cells]).write(path, variant)

    write(("tetra", tets), ("triangle", [[0, 1, 2]]), ("tetra", [[1, 3, 2, 7]]), ("vertex", [[8]]))
    mesh = read(path)
    assert mesh.tets.tolist() == [[0, 1, 2, 4], [1, 3, 2, 7]] and len(mesh.vertices) == 10
    assert "1 triangles" in mesh.notes[0]
    write(("tetra", tets), ("hexahedron", hexahedron))
    mesh = read(path)
    assert len(mesh.tets) == 1 and len(mesh.vertices) == 4 and "1 hexahedra were left out" in mesh.notes[0]
    write(("hexahedron", hexahedron), ("quad", [[0, 1, 3, 2]]))
    with pytest.raises(InputError, match=r"1 hexahedra and no tets.*Cut the elements"):
        read(path)
    write(("line", [[0, 1]]))
    with pytest.raises(InputError, match="1 edges and no tets or triangles"):
        read(path)
    write(("quad", [[0, 1, 3, 2], [4, 5, 7, 6]]), ("triangle", [[0, 1, 4]]))
    mesh = read(path)
    assert isinstance(mesh, SurfaceMesh) and len(mesh.triangles) == 5 and mesh.areas().sum() == pytest.approx(2.5)
    write(("tetra10", [[0, 1, 2, 4, 3, 5, 6, 7, 8, 9]]))
    mesh = read(path)
    assert len(mesh.vertices) == 4 and mesh.volumes().tolist() == pytest.approx([1 / 6])
