"""OBJ and PLY files that other programs read."""

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.export.sequence import SequenceWriter, write_obj, write_ply

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
T = np.array([[0, 1, 2], [2, 3, 4]], dtype=np.int32)


def test_obj_keeps_every_bit(tmp_path):
    write_obj(tmp_path / "a.obj", X, T)
    lines = (tmp_path / "a.obj").read_text().splitlines()
    x = np.array([line.split()[1:] for line in lines if line.startswith("v ")], dtype=np.float32)
    faces = np.array([line.split()[1:] for line in lines if line.startswith("f ")], dtype=int)
    assert np.array_equal(x, X) and np.array_equal(faces - 1, T)


def test_obj_normals(tmp_path):
    n = X / np.linalg.norm(X, axis=1, keepdims=True)
    write_obj(tmp_path / "a.obj", X, T, n)
    text = (tmp_path / "a.obj").read_text()
    assert text.count("\nvn ") == 5 and "f 1//1 2//2 3//3" in text
    with pytest.raises(InputError, match="normals"):
        write_obj(tmp_path / "a.obj", X, T, n[:2])


@pytest.mark.parametrize("colors", [None, np.linspace(0.0, 1.0, 15).reshape(5, 3)])
def test_ply_binary(tmp_path, colors):
    write_ply(tmp_path / "a.ply", X, T, colors)
    head, _, body = (tmp_path / "a.ply").read_bytes().partition(b"end_header\n")
    assert head.startswith(b"ply\nformat binary_little_endian 1.0\n")
    assert b"element vertex 5\n" in head and b"element face 2\n" in head
    kind = [("x", "<f4", 3)] + ([("c", "u1", 3)] if colors is not None else [])
    table = np.frombuffer(body, dtype=kind, count=5)
    faces = np.frombuffer(body[table.nbytes :], dtype=[("n", "u1"), ("i", "<i4", 3)])
    assert np.array_equal(table["x"], X) and np.array_equal(faces["i"], T) and (faces["n"] == 3).all()
    if colors is not None:
        assert np.array_equal(table["c"], np.rint(colors * 255))


def test_ply_text(tmp_path):
    write_ply(tmp_path / "a.ply", X, T, np.full((5, 3), 128, np.uint8), binary=False)
    body = (tmp_path / "a.ply").read_text().split("end_header\n")[1].splitlines()
    assert np.array_equal(np.array([row.split()[:3] for row in body[:5]], np.float32), X)
    assert body[0].endswith(" 128 128 128") and body[5:] == ["3 0 1 2", "3 2 3 4"]


@pytest.mark.parametrize("kind", ["obj", "ply"])
def test_sequence(tmp_path, kind):
    writer = SequenceWriter(tmp_path / "new" / "frames", kind, T)
    assert writer.add(0, X).name == f"frame_00000.{kind}"
    writer.add(12, X + 1)
    names = sorted(p.name for p in (tmp_path / "new" / "frames").iterdir())
    assert names == [f"frame_00000.{kind}", f"frame_00012.{kind}"]


def test_a_failure_keeps_the_old_file(tmp_path):
    write_obj(tmp_path / "a.obj", X, T)
    old = (tmp_path / "a.obj").read_bytes()
    with pytest.raises(InputError, match="indices"):
        write_obj(tmp_path / "a.obj", X, T + 3)
    assert (tmp_path / "a.obj").read_bytes() == old and len(list(tmp_path.iterdir())) == 1


def test_mistakes_are_told(tmp_path):
    with pytest.raises(InputError, match="stl"):
        SequenceWriter(tmp_path, "stl", T)
    with pytest.raises(InputError, match="colours"):
        SequenceWriter(tmp_path, "obj", T, colors=X)
    with pytest.raises(InputError, match="vertices"):
        write_ply(tmp_path / "a.ply", X[:, :2], T)
    with pytest.raises(InputError, match="triangles"):
        write_ply(tmp_path / "a.ply", X, T.astype(float))
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        SequenceWriter(tmp_path / "file" / "sub", "obj", T)
    with pytest.raises(InputError, match="cannot write"):
        write_obj(tmp_path / "file" / "a.obj", X, T)
