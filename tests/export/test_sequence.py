"""A sequence of files, one per frame, that other programs read."""

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.export.sequence import KINDS, SequenceWriter
from pliant.mesh.io import read_surface
from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
T = np.array([[0, 1, 2], [2, 3, 4]], dtype=np.int32)
LOOK = Look(
    uv=np.linspace(0.0, 1.0, 12, dtype=np.float32).reshape(2, 3, 2),
    paints=(Paint("red", (1.0, 0.0, 0.0, 1.0)), Paint("blue", (0.0, 0.0, 1.0, 1.0))),
    paint_of=np.array([0, 1], np.int32),
    parts=("head", "tail"),
    part_of=np.array([0, 1], np.int32),
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_frame_is_a_file_with_its_positions(tmp_path, kind):
    writer = SequenceWriter(tmp_path / "new" / "frames", kind, SurfaceMesh(X, T))
    assert writer.add(0, X).name == f"frame_00000.{kind}"
    writer.add(12, X + 1)
    names = sorted(p.name for p in (tmp_path / "new" / "frames").iterdir())
    assert names == [f"frame_00000.{kind}", f"frame_00012.{kind}"]
    read = read_surface(writer.path(12))
    assert np.array_equal(read.vertices[read.triangles].astype(np.float32), (X + 1)[T])


@pytest.mark.parametrize("kind", ["obj", "glb"])
def test_names_paints_and_texture_coordinates_survive(tmp_path, kind):
    writer = SequenceWriter(tmp_path, kind, SurfaceMesh(X, T, look=LOOK))
    writer.add(0, X)
    writer.add(1, X)
    for k in range(2):
        look = read_surface(writer.path(k)).look
        assert look.parts == LOOK.parts and look.part_of.tolist() == [0, 1]
        assert [paint.name for paint in look.paints] == ["red", "blue"]
        assert np.allclose([paint.color for paint in look.paints], [paint.color for paint in LOOK.paints], atol=1e-6)
        assert np.allclose(look.uv, LOOK.uv, atol=1e-6)


def test_the_frames_of_an_obj_sequence_share_one_library_of_paints(tmp_path):
    writer = SequenceWriter(tmp_path, "obj", SurfaceMesh(X, T, look=LOOK))
    writer.add(0, X)
    writer.add(1, X)
    assert [p.name for p in tmp_path.glob("*.mtl")] == ["paints.mtl"]


def test_mistakes_are_told(tmp_path):
    with pytest.raises(InputError, match="abc"):
        SequenceWriter(tmp_path, "abc", SurfaceMesh(X, T))
    with pytest.raises(InputError, match="shape"):
        SequenceWriter(tmp_path, "obj", SurfaceMesh(X, T)).add(0, X[:3])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        SequenceWriter(tmp_path / "file" / "sub", "obj", SurfaceMesh(X, T))
