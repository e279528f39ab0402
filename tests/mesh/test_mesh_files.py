"""Tet meshes in files: round trips, index bases, and messages that name file, line, value and remedy."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.io import read_tets, write_tets
from pliant.mesh.io.tetgen import read_tetgen
from pliant.mesh.io.text_pair import read_text_pair
from pliant.mesh.tets import TetMesh

VERT = "4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
TET = "1\n0 1 2 3\n"
NODE = "4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n"
ELE = "1 4 0\n0 0 1 2 3\n"


def put(folder, **texts):
    """Write files duck.<suffix>; returns the first one's path."""
    for suffix, text in texts.items():
        data = text if isinstance(text, bytes) else text.encode()
        (folder / f"duck.{suffix}").write_bytes(data)
    return folder / f"duck.{next(iter(texts))}"


@pytest.mark.parametrize(
    "name", ["duck.node", "duck.ele", "duck.vert", "duck.tet", "duck.txt", "duck_tets.txt", "a.1.ELE"]
)
def test_round_trip(tmp_path, name):
    mesh = shapes.ball(1 / 3, 3)
    paths = write_tets(mesh, tmp_path / name)
    assert all(path.exists() for path in paths) and len(list(tmp_path.iterdir())) == 2
    for given_path in (tmp_path / name, *paths):
        again = read_tets(given_path)
        assert np.array_equal(again.vertices, mesh.vertices) and np.array_equal(again.tets, mesh.tets)
        assert again.notes == ()
    assert again.name == name.rsplit(".", 1)[0].removesuffix("_tets")
    if not name.endswith("txt"):
        assert np.array_equal(read_tets(paths[1], paths[0]).tets, mesh.tets)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=True), min_size=12, max_size=12))
def test_every_float_survives(tmp_path, numbers):
    mesh = TetMesh(np.reshape(numbers, (4, 3)), [[0, 1, 2, 3]])
    for suffix, read in (("node", read_tetgen), ("vert", read_text_pair)):
        again = read(*write_tets(mesh, tmp_path / f"a.{suffix}"))
        assert np.array_equal(again.vertices, mesh.vertices)


def test_numbers_from_one(tmp_path):
    mesh = read_tets(put(tmp_path, vert=VERT, tet="1\n1 2 3 4\n"))
    assert mesh.tets.tolist() == [[0, 1, 2, 3]] and "start at 1" in mesh.notes[0] and "duck.tet" in mesh.notes[0]
    node = "4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"
    mesh = read_tets(put(tmp_path, node=node, ele="1 4 0\n1 1 2 3 4\n"))
    assert mesh.tets.tolist() == [[0, 1, 2, 3]] and "start at 1" in mesh.notes[0]


def test_comments_blanks_attributes_and_markers(tmp_path):
    node = "# made by hand\n\n4  3  2  1\r\n  0 0 0 0 7 8 1\n1 1 0 0 7 8 0 # here\n"
    node += "\n2 0 1 0 7 8 0\n3 0 0 1.0e0 7 8 0\n# end\n"
    mesh = read_tets(put(tmp_path, node=node, ele="1 4 1\n0 0 1 2 3 -5\n"))
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    mesh = read_tets(put(tmp_path, vert=b"\xef\xbb\xbf" + VERT.replace("\n", "\r\n").encode(), tet=TET))
    assert len(mesh.vertices) == 4


def test_second_order(tmp_path):
    middles = "".join(f"{i} 0.5 0.{i} 0\n" for i in range(4, 10))
    node = NODE.replace("4 3 0 0", "10 3 0 0") + middles
    mesh = read_tets(put(tmp_path, node=node, ele="1 10 0\n0 0 1 2 3 4 5 6 7 8 9\n"))
    assert mesh.tets.tolist() == [[0, 1, 2, 3]] and len(mesh.vertices) == 4
    assert "second-order" in mesh.notes[0] and "6 vertices" in mesh.notes[1]


def test_inverted_and_unused(tmp_path):
    mesh = read_tets(put(tmp_path, vert=VERT, tet="1\n0 2 1 3\n"))
    assert mesh.volumes()[0] > 0 and "1 of 1 tets were inside out" in mesh.notes[0]
    path = put(tmp_path, vert=VERT.replace("4\n", "5\n", 1) + "9 9 9\n", tet=TET)
    with pytest.raises(InputError, match=r"duck.vert: 1 of 5 vertices .* vertex 4.*drop_unused=True"):
        read_tets(path)
    assert len(read_tets(path, drop_unused=True).vertices) == 4


BAD = {
    # kind: files, the message's file and line, value, remedy
    "vertex file missing": ({"tet": TET}, "duck.vert: there is no such file", "duck.vert", "Give the file"),
    "tet file missing": ({"vert": VERT}, "duck.tet: there is no such file", "the folder", "duck.vert"),
    "empty": ({"vert": "", "tet": TET}, "duck.vert: ", "empty", "number of vertices"),
    "blank": ({"vert": VERT, "tet": "\n # nothing\n\n"}, "duck.tet: ", "line 3", "four vertex numbers"),
    "garbage": ({"vert": b"\x89PNG\r\n\x1a\n\0\0", "tet": TET}, "duck.vert, line 2: ", "0x1a", "text file"),
    "UTF-16": ({"vert": VERT.encode("utf-16"), "tet": TET}, "duck.vert, line 1: ", "0x00", "UTF-8"),
    "count is a word": ({"vert": "four\n0 0 0\n", "tet": TET}, "duck.vert, line 1: ", "'four'", "whole number"),
    "count is negative": ({"vert": "-4\n0 0 0\n", "tet": TET}, "duck.vert, line 1: ", "'-4'", "whole number"),
    "count is broken": ({"vert": VERT, "tet": "1.5\n0 1 2 3\n"}, "duck.tet, line 1: ", "'1.5'", "whole number"),
    "count is zero": ({"vert": VERT, "tet": "0\n"}, "duck.tet, line 1: ", "0 tets", "at least one"),
    "no count": ({"vert": VERT[2:], "tet": TET}, "duck.vert, line 1: ", "'0 0 0'", "alone on the first line"),
    "too few": ({"vert": VERT.replace("4\n", "9\n", 1), "tet": TET}, "duck.vert, line 5: ", "announces 9", "cut short"),
    "huge count": ({"vert": VERT, "tet": "1" * 18 + TET[1:]}, "duck.tet, line 2: ", "1" * 18, "count"),
    "too many": ({"vert": VERT, "tet": TET + "3 2 1 0\n"}, "duck.tet, line 3: ", "'3 2 1 0'", "Correct the count"),
    "only a count": ({"vert": "4\n", "tet": TET}, "duck.vert, line 1: ", "after 0 vertices", "cut short"),
    "a word": ({"vert": VERT.replace("1 0 0", "1 0 O"), "tet": TET}, "duck.vert, line 3: ", "'O'", "3 numbers: x y z"),
    "commas": ({"vert": VERT.replace("1 0 0", "1,0 0 0"), "tet": TET}, "duck.vert, line 3: ", "'1,0'", "decimal mark"),
    "NaN": ({"vert": VERT.replace("0 1 0", "0 nan 0"), "tet": TET}, "duck.vert, line 4: ", "y is nan", "finite number"),
    "infinite": ({"vert": VERT.replace("0 1 0", "0 1 -inf"), "tet": TET}, "duck.vert, line 4: ", "z is -inf", "finite"),
    "overflow": ({"vert": VERT.replace("0 1 0", "0 1e999 0"), "tet": TET}, "duck.vert, line 4: ", "y is inf", "finite"),
    "too far": ({"vert": VERT.replace("0 1 0", "0 1e99 0"), "tet": TET}, "duck.vert: vertex 2", "1e+99", "in metres"),
    "truncated": ({"vert": VERT[:-3], "tet": TET}, "duck.vert, line 5: ", "'0 0' has 2", "cut short"),
    "extra column": ({"vert": VERT.replace("1 0 0", "1 0 0 1"), "tet": TET}, "duck.vert, line 3: ", "has 4", "x y z"),
    "all columns": ({"vert": VERT, "tet": "1\n0 0 1 2 3\n"}, "duck.tet, line 2: ", "has 5 numbers", "vertex 4"),
    "too large": ({"vert": VERT, "tet": "2\n0 1 2 3\n0 1 2 4\n"}, "duck.tet, line 3: ", "vertex 4 is 4", "0 to 3"),
    "negative": ({"vert": VERT, "tet": "1\n\n0 1 -2 3\n"}, "duck.tet, line 3: ", "vertex 3 is -2", "4 vertices"),
    "fraction": ({"vert": VERT, "tet": "1\n0 1.5 2 3\n"}, "duck.tet, line 2: ", "1.5", "whole numbers"),
    "corner twice": ({"vert": VERT, "tet": "1\n0 1 3 3\n"}, "duck.tet, line 2: ", "[0, 1, 3, 3]", "different vertices"),
    "flat": ({"vert": VERT.replace("0 0 1\n", "1 1 0\n"), "tet": TET}, "duck.tet: tet 0", "volume 0 m^3", "flat tets"),
    "no element file": ({"node": NODE}, "duck.ele: there is no such file", "duck.ele", "TetGen tets"),
    "two dimensions": ({"node": "4 2 0 0\n", "ele": ELE}, "duck.node, line 1: ", "dimension 2", "three"),
    "node markers": ({"node": "4 3 0 7\n", "ele": ELE}, "duck.node, line 1: ", "7 boundary", "0 or 1"),
    "node count": ({"node": "x 3 0 0\n", "ele": ELE}, "duck.node, line 1: ", "'x'", "number of nodes"),
    "lost node": ({"node": NODE.replace("2 0 1 0", "5 0 1 0"), "ele": ELE}, "duck.node, line 4: ", "is 5", "missing"),
    "from seven": ({"node": NODE.replace("\n0 0", "\n7 0"), "ele": ELE}, "duck.node, line 2: ", "is 7", "at 0 or at 1"),
    "node columns": ({"node": "4 3 1" + NODE[5:], "ele": ELE}, "duck.node, line 2: ", "has 4", "attribute 1"),
    "six-node tets": ({"node": NODE, "ele": "1 6 0\n"}, "duck.ele, line 1: ", "6 nodes", "10 for second order"),
    "element range": ({"node": NODE, "ele": "1 4 0\n0 0 1 2 9\n"}, "duck.ele, line 2: ", "node 4 is 9", "0 to 3"),
    "base mismatch": ({"node": NODE, "ele": "1 4 0\n1 1 2 3 4\n"}, "duck.ele, line 2: ", "node 4 is 4", "from 0 to 3"),
    "element word": ({"node": NODE, "ele": "1 4 0\n0 a 1 2 3\n"}, "duck.ele, line 2: ", "'a'", "tet number node 1"),
    "cut element": ({"node": NODE, "ele": "2 4 0\n0 0 1 2 3\n"}, "duck.ele, line 2: ", "announces 2", "cut short"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_refused(tmp_path, kind):
    files, place, value, remedy = BAD[kind]
    path = put(tmp_path, **files)
    with pytest.raises(InputError) as caught:
        read_tets(path)
    message = str(caught.value)
    assert str(tmp_path) in message
    for part in (place, value, remedy):
        assert part in message
    assert caught.value.remedy


def test_other_refusals(tmp_path):
    with pytest.raises(InputError, match=r"duck.stl: the suffix '.stl'.*\.node.*\.vert"):
        read_tets(tmp_path / "duck.stl")
    with pytest.raises(InputError, match=r"the suffix ''"):
        write_tets(shapes.tetrahedron(), tmp_path / "duck")
    with pytest.raises(InputError, match=r"duck.node: cannot be paired with .*duck.tet.*Known are"):
        read_tets(tmp_path / "duck.node", tmp_path / "duck.tet")
    (tmp_path / "points.txt").write_text(VERT)
    (tmp_path / "solid.txt").write_text(TET)
    with pytest.raises(InputError, match=r"points.txt: this is one file of two.*read_tets\(vertices, tets\)"):
        read_tets(tmp_path / "points.txt")
    assert len(read_tets(tmp_path / "points.txt", tmp_path / "solid.txt").tets) == 1
    (tmp_path / "a.node").mkdir()
    with pytest.raises(InputError, match=r"a.node: this is a folder"):
        read_tets(tmp_path / "a.node")


def test_old_file_survives_a_failed_write(tmp_path):
    path = put(tmp_path, node=NODE, ele=ELE)
    mesh = shapes.tetrahedron()
    object.__setattr__(mesh, "vertices", np.array([[object()] * 3], dtype=object))
    object.__setattr__(mesh, "tets", None)
    with pytest.raises(TypeError):
        write_tets(mesh, path.with_suffix(".ele"))
    assert len(list(tmp_path.iterdir())) == 2
    assert (tmp_path / "duck.ele").read_text() == ELE
