"""NETGEN, Medit, Gmsh and VTK files that are wrong: errors that name file, line and remedy."""

import builtins
import random

import numpy as np
import pytest
from volume_texts import MEDIT, NEUTRAL, SUFFIXES, VOL, elements, fails, put, read, same, written

from pliant.errors import InputError, MissingExtraError
from pliant.mesh import shapes
from pliant.mesh.io import (
    through_meshio,
)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("1 0 0 7", "1 0,0 0 7", ["line 9", "'0,0' is not a number", "decimal mark"]),
        ("1 0 0 7", "1 0 0", ["line 9", "has 3 numbers", "x y z reference"]),
        ("1 0 0 7", "1 nan 0 7", ["line 9", "y of vertex 2 is nan"]),
        ("0 0 1 7", "0 0 1e999 7", ["line 11", "z of vertex 4 is inf"]),
        ("0 0 1 7\n", "0 0 1 7\n1 1 1 7\n", ["line 12", "4 more numbers", "line 7"]),
        ("0 0 1 7\n", "", ["line 10", "3 of the 4", "line 7"]),
        ("Vertices\n4", "Vertices\n4.5", ["line 7", "number of vertices is 4.5"]),
        ("Vertices\n4", "Vertices\n-4", ["line 7", "-4"]),
        ("Vertices\n4", "Vertices\n4000000000000", ["line 7", "4000000000000"]),
        ("Vertices\n4", "Vertices\n2000000000", ["2000000000"]),
        ("1 2 3 4 5", "1 2 3 5 5", ["line 15", "vertex 4 of tet 1 is 5", "from 1 to 4"]),
        ("1 2 3 4 5", "0 2 3 4 5", ["line 15", "vertex 1 of tet 1 is 0"]),
        ("1 2 3 4 5", "1 2 3.5 4 5", ["line 15", "vertex 3 of tet 1 is 3.5"]),
        ("1 2 3 4 5", "1 2 2 4 5", ["line 15", "names a vertex twice"]),
        ("Dimension\n3", "Dimension\n4", ["line 4", "dimension is 4"]),
        ("Dimension\n3", "", ["no section Dimension"]),
        ("Vertices\n", "Vortices\n", ["0 sections Vertices"]),
        ("Tetrahedra\n", "Vertices\n", ["line 13", "2 sections Vertices"]),
        ("Tetrahedra\n1\n1 2 3 4 5", "", ["no tets or triangles"]),
        ("MeshVersion", "Mesh", ["line 1", "begins with 'MeshFormatted'"]),
    ],
)
def test_bad_medit(tmp_path, old, new, expected):
    assert MEDIT.count(old) == 1
    fails(tmp_path, ".mesh", MEDIT.replace(old, new), *expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("mesh3d", "mesh2d", ["line 2", "begins with 'mesh2d'", "mesh3d"]),
        ("dimension\n3", "dimension\n2", ["line 4", "dimension is 2"]),
        ("endmesh", "", ["endmesh", "cut short"]),
        (" 1.0 0.0 0.0\n", " 1.0 0.0\n", ["line 28", "has 2 numbers", "x y z"]),
        (" 1.0 0.0 0.0\n", " 1.0 inf 0.0\n", ["line 28", "y of point 2 is inf"]),
        (" 1.0 0.0 0.0\n", " 1.0 1.0.0 0.0\n", ["line 28", "'1.0.0' is not a number"]),
        (" 1 4 2 3 5 4", " 1 4 2 3 6 4", ["line 17", "point 3 of volume element 2 is 6", "from 1 to 5"]),
        (" 1 4 2 3 5 4", " 1 4 2 3 2 4", ["line 17", "names a vertex twice"]),
        (" 1 4 2 3 5 4", " 1 4 2 3 5", ["line 17", "has 5 numbers"]),
        (" 1 4 2 3 5 4", " 1 7 2 3 5 4", ["has 7 points", "line 17"]),
        (" 1 4 1 3 2 4", " 1 4 1 3 2", ["line 16", "has 5 numbers", "material np and 4 points"]),
        ("volumeelements\n2", "volumeelements\n3", ["line 17", "2 of the 3"]),
        ("volumeelements\n2", "volumeelements\n1", ["line 17", "6 more numbers"]),
        ("volumeelements\n2", "volumeelements\nmany", ["line 14"]),
        ("points\n5", "points\n", ["points"]),
        ("points\n5", "pints\n5", ["0 sections 'points'"]),
        ("3 1 2 3 1 1 1", "3 1 2 3", ["line 11", "has 8 numbers"]),
    ],
)
def test_bad_netgen(tmp_path, old, new, expected):
    assert VOL.count(old) == 1
    fails(tmp_path, ".vol", VOL.replace(old, new), *expected)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_are_no_meshes(tmp_path, capfd, suffix):
    if SUFFIXES[suffix] is through_meshio:
        pytest.importorskip("meshio")
    generator = random.Random(3)
    for junk in (
        b"",
        b"\n\n",
        b"hello\n",
        b"\x00" * 100,
        "π ≈ 3".encode(),
        generator.randbytes(3000),
        b"7",
        b"$",
        b"#",
    ):
        fails(tmp_path, suffix, junk)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / f"none{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(InputError):
        read(tmp_path / f"folder{suffix}")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["tets", "triangles"])
@pytest.mark.parametrize("suffix", [*SUFFIXES, "neutral"])
def test_a_cut_file_is_refused_or_whole(tmp_path, capfd, suffix, kind):
    mesh = shapes.ball(0.3, 1)
    if suffix == "neutral":
        text = NEUTRAL if kind == "tets" else NEUTRAL.replace("1\n 1    1 3 2 4\n", "0\n")
        path = put(tmp_path, ".mesh", text)
    else:
        path = written(tmp_path, mesh if kind == "tets" else mesh.surface_mesh().drop_unused(), suffix)
    data = path.read_bytes()
    whole = read(path)
    ends = {*range(0, len(data), max(1, len(data) // 150)), *range(len(data) - 40, len(data))}
    refused = 0
    for end in sorted(ends):
        path.write_bytes(data[:end])
        try:
            assert same(read(path), whole), end
        except InputError:
            refused += 1
    # All but a few cuts near the end take something away that is needed.
    assert refused >= 0.8 * len(ends)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", [*SUFFIXES])
def test_damaged_files_never_raise_anything_else(tmp_path, capfd, suffix):
    path = written(tmp_path, shapes.ball(0.3, 1), suffix)
    data = path.read_bytes()
    generator = random.Random(11)
    for _ in range(60):
        broken = bytearray(data)
        at = generator.randrange(len(broken))
        broken[at : at + generator.randrange(3)] = generator.choice(
            [b"", b"x", b"7", b"-", b" ", b"\n", b"nan", b"1e9 "]
        )
        path.write_bytes(broken)
        try:
            mesh = read(path)
        except InputError as error:
            assert str(path) in str(error)
        else:
            assert np.isfinite(mesh.vertices).all()
            assert elements(mesh).min() >= 0 and elements(mesh).max() < len(mesh.vertices)
    assert capfd.readouterr() == ("", "")


def test_without_meshio(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name == "meshio":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    path = put(tmp_path, ".vtk", "# vtk DataFile Version 4.2\n")
    with pytest.raises(MissingExtraError, match=r"pliant\[mesh\]"):
        through_meshio.read(path)
    with pytest.raises(MissingExtraError, match="meshio"):
        through_meshio.write(shapes.ball(1.0, 1), path)


def test_suffix_that_meshio_is_not_asked_for(tmp_path):
    with pytest.raises(InputError, match=r"Known are \.msh, \.vtk, \.vtu"):
        through_meshio.read(tmp_path / "duck.xdmf")
