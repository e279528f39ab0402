"""Files of prepared bodies: what is written comes back, and nothing else is taken for one."""

import dataclasses
import io
import json
import zipfile

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.embed import embed
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.look import Look, Paint
from pliant.mesh.prepared import PreparedBody, read_body, write_body
from pliant.mesh.surface import SurfaceMesh

SOLID = shapes.box(0.4, 2)
LATTICE = VoxelLattice.from_cells(np.argwhere(np.ones((3, 2, 2))), 0.1, (-0.1, -0.1, -0.1), "lattice")
SHEET = shapes.sheet(0.3, 4)


def with_look(mesh, seed=0):
    rng = np.random.default_rng(seed)
    n, k = len(mesh.vertices), len(mesh.triangles)
    look = Look(
        uv=rng.random((k, 3, 2)).astype(np.float32),
        paints=(Paint("red", (1.0, 0.0, 0.0, 0.5), "röt.png"), Paint("grey")),
        paint_of=rng.integers(-1, 2, k).astype(np.int32),
        parts=("head", "tail", ""),
        part_of=rng.integers(-1, 3, k).astype(np.int32),
        vertex_colors=rng.random((n, 4)).astype(np.float32),
    )
    return dataclasses.replace(mesh, look=look)


COVER = with_look(shapes.ball(0.1, 3).surface_mesh())


def body_of(solid, skin=None):
    embedding = None if skin is None else embed(skin.vertices, solid)
    return PreparedBody("thing", solid, skin, embedding, ("one", "zwei: ü"), {"counts": {"vertices": 3}, "kind": None})


BODIES = {
    "tets": body_of(SOLID),
    "tets and skin": body_of(SOLID, COVER),
    "lattice": body_of(LATTICE),
    "lattice and skin": body_of(LATTICE, COVER),
    "sheet": body_of(SHEET),
    "sheet with a look": body_of(with_look(SHEET)),
    "sheet and skin": body_of(SHEET, COVER),
    "skin without a look": body_of(SOLID, shapes.ball(0.1, 3).surface_mesh()),
}


def same_look(a, b):
    if a is None or b is None:
        return a is b
    arrays = all(
        (x is None and y is None) or (x.dtype == y.dtype and np.array_equal(x, y))
        for x, y in ((getattr(a, n), getattr(b, n)) for n in ("uv", "paint_of", "part_of", "vertex_colors"))
    )
    return arrays and a.paints == b.paints and a.parts == b.parts


@pytest.mark.parametrize("name", BODIES)
def test_a_body_comes_back_as_it_was(name, tmp_path):
    body = BODIES[name]
    path = write_body(body, tmp_path / "b.plb")
    back = read_body(path)
    assert (back.name, back.kind, back.notes, back.facts) == (body.name, body.kind, body.notes, body.facts)
    assert type(back.solid) is type(body.solid) and back.solid.name == body.solid.name
    assert np.array_equal(back.solid.vertices, body.solid.vertices)
    for field in ("tets", "cubes", "cells", "triangles"):
        # tets of a lattice are a method
        if isinstance(getattr(body.solid, field, None), np.ndarray):
            assert np.array_equal(getattr(back.solid, field), getattr(body.solid, field))
    if isinstance(body.solid, SurfaceMesh):
        assert same_look(back.solid.look, body.solid.look)
    assert (back.carried is None) == (body.carried is None)
    if body.skin is not None:
        assert np.array_equal(back.skin.vertices, body.skin.vertices)
        assert np.array_equal(back.skin.triangles, body.skin.triangles) and same_look(back.skin.look, body.skin.look)
        for key, array in body.embedding.arrays().items():
            assert np.array_equal(back.embedding.arrays()[key], array)
    # and is written with the same bytes
    assert write_body(back, tmp_path / "again.plb").read_bytes() == path.read_bytes()


@pytest.fixture
def written(tmp_path):
    return write_body(BODIES["tets and skin"], tmp_path / "b.plb")


def expect_refusal(path, words=None):
    with pytest.raises(InputError, match=words) as error:
        read_body(path)
    assert path.name in error.value.where and error.value.remedy


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_cut_short(written, share):
    data = written.read_bytes()
    written.write_bytes(data[: int(share * len(data))])
    expect_refusal(written)


def test_flipped_bytes(written):
    """Any flip is found, or it changes nothing that is read."""
    data = written.read_bytes()
    body = BODIES["tets and skin"]
    rng = np.random.default_rng(3)
    refused = 0
    for at in rng.integers(0, len(data), 150).tolist():
        damaged = bytearray(data)
        damaged[at] ^= int(rng.integers(1, 256))
        written.write_bytes(damaged)
        try:
            back = read_body(written)
        except InputError as error:
            assert "b.plb" in error.where
            refused += 1
        else:
            assert np.array_equal(back.solid.tets, body.solid.tets) and np.array_equal(
                back.skin.vertices, body.skin.vertices
            )
    assert refused > 100


@pytest.mark.parametrize("content", [b"", b"v 0 0 0\n", b"PK\x03\x04" + bytes(100), bytes(range(256)) * 20])
def test_something_else(tmp_path, content):
    path = tmp_path / "b.plb"
    path.write_bytes(content)
    expect_refusal(path, "not a prepared body")


def test_a_zip_of_something_else(tmp_path):
    path = tmp_path / "b.plb"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    expect_refusal(path, "lacks a part")


def test_a_folder_and_nothing(tmp_path):
    (tmp_path / "folder.plb").mkdir()
    expect_refusal(tmp_path / "folder.plb", "cannot be read")
    expect_refusal(tmp_path / "none.plb", "no such file")


def rewritten(path, change):
    """The file again after `change` had its arrays and its description."""
    with zipfile.ZipFile(path) as archive:
        arrays = {
            name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)))
            for name in archive.namelist()
        }
    about = json.loads(arrays.pop("about").tobytes())
    change(about, arrays)
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, array)
            archive.writestr(f"{name}.npy", data.getvalue())


def put(name, value):
    return lambda about, arrays: arrays.__setitem__(name, value)


def spoil(name, at, value):
    return lambda about, arrays: arrays[name].reshape(-1).__setitem__(at, value)


WRONG = {
    "version": lambda about, arrays: about.update(pliant_body=99),
    "kind": lambda about, arrays: about.update(kind="jelly"),
    "other kind": lambda about, arrays: about.update(kind="lattice"),
    "no name": lambda about, arrays: about.pop("name"),
    "notes": lambda about, arrays: about.update(notes=5),
    "facts": lambda about, arrays: about.update(facts=[1, 2]),
    "no vertices": lambda about, arrays: arrays.pop("solid_vertices"),
    "no weights": lambda about, arrays: arrays.pop("embedding_weights"),
    "no skin": lambda about, arrays: arrays.pop("skin_triangles"),
    "paints": lambda about, arrays: about["skin"]["look"].update(paints=[]),
    "parts": lambda about, arrays: about["skin"]["look"].pop("parts"),
    "texture coordinates": put("skin_uv", np.zeros((2, 3, 2), np.float32)),
    "vertex not finite": spoil("solid_vertices", 4, np.nan),
    "corner out of range": spoil("solid_elements", 0, 999),
    "corner below zero": spoil("solid_elements", 0, -1),
    "host out of range": spoil("embedding_hosts", 0, 999),
    "weight": spoil("embedding_weights", 0, 7.0),
    "skin vertex not finite": spoil("skin_vertices", 0, np.inf),
    "skin corner out of range": spoil("skin_triangles", 0, 99999),
    "skin corner below zero": spoil("skin_triangles", 0, -1),
    "skin without triangles": put("skin_triangles", np.zeros((0, 3), np.int32)),
    "too few embedded": put("skin_vertices", np.zeros((3, 3))),
    "elements of text": put("solid_elements", np.array([["a", "b", "c", "d"]])),
    "vertices of one row": put("solid_vertices", np.zeros(5)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_together_is_refused(name, written):
    rewritten(written, WRONG[name])
    expect_refusal(written)


def test_pickles_are_not_loaded(written):
    with zipfile.ZipFile(written, "a") as archive:
        data = io.BytesIO()
        np.lib.format.write_array(data, np.array([{}], object), allow_pickle=True)
        archive.writestr("extra.npy", data.getvalue())
    expect_refusal(written, "not a prepared body")


def test_the_old_file_stays_when_writing_fails(written):
    before = written.read_bytes()
    bad = dataclasses.replace(BODIES["tets"], facts={"unfit": object()})
    with pytest.raises(TypeError):
        write_body(bad, written)
    assert written.read_bytes() == before and [p.name for p in written.parent.iterdir()] == ["b.plb"]


def test_names_that_are_not_ours(tmp_path):
    with pytest.raises(InputError, match=r"Use \.plb"):
        write_body(BODIES["tets"], tmp_path / "b.zip")
    (tmp_path / "taken.plb").mkdir()
    with pytest.raises(InputError, match=r"taken\.plb"):
        write_body(BODIES["tets"], tmp_path / "taken.plb")
