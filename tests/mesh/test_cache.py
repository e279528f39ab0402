"""What is kept on disk: found again when nothing changed, made anew when anything did, and never in the way."""

import dataclasses
import os
import time

import numpy as np
import pytest

from pliant.mesh import cache, shapes
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.look import Look, Paint
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.surface import SurfaceMesh

BALL = shapes.ball(0.1, 3).surface_mesh()
SMALL = PrepareSettings(tets=100)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A cache of the test's own."""
    folder = tmp_path / "kept"
    monkeypatch.setenv("PLIANT_CACHE", str(folder))
    return folder


def names(place):
    return sorted(p.name for p in place.iterdir()) if place.is_dir() else []


def test_the_second_time_is_from_disk(place):
    first = prepare(BALL, SMALL)
    assert not first.facts["cached"] and len(names(place)) == 1
    second = prepare(BALL, SMALL)
    assert second.facts["cached"] and len(names(place)) == 1
    assert np.array_equal(first.solid.tets, second.solid.tets) and first.notes == second.notes
    assert np.array_equal(first.solid.vertices, second.solid.vertices)
    assert np.array_equal(first.embedding.weights, second.embedding.weights)
    strip = lambda body: {k: v for k, v in body.facts.items() if k not in ("seconds", "cached")}
    assert strip(first) == strip(second)


def painted(color):
    look = Look(paints=(Paint("p", color),), paint_of=np.zeros(len(BALL.triangles), np.int32))
    return dataclasses.replace(BALL, look=look)


def with_uv(value):
    return dataclasses.replace(BALL, look=Look(uv=np.full((len(BALL.triangles), 3, 2), value, np.float32)))


def moved_by_a_hair():
    vertices = BALL.vertices.copy()
    vertices[5, 1] = np.nextafter(vertices[5, 1], 1.0)
    return dataclasses.replace(BALL, vertices=vertices)


CHANGES = {
    "a vertex": (moved_by_a_hair, {}, None),
    "a triangle": (lambda: BALL.of_triangles(np.arange(1, len(BALL.triangles))), {}, None),
    "the order": (lambda: BALL.of_triangles(np.arange(len(BALL.triangles))[::-1]), {}, None),
    "the name": (lambda: dataclasses.replace(BALL, name="other"), {}, None),
    "the notes": (lambda: dataclasses.replace(BALL, notes=("read with care",)), {}, None),
    "a paint": (lambda: painted((1.0, 0.0, 0.0, 1.0)), {}, None),
    "another paint": (lambda: painted((1.0, 0.0, 0.1, 1.0)), {}, None),
    "texture coordinates": (lambda: with_uv(0.5), {}, None),
    "other texture coordinates": (lambda: with_uv(0.25), {}, None),
    "the size": (lambda: BALL, {"size": 0.3}, None),
    "the number": (lambda: BALL, {"tets": 150}, None),
    "the kind": (lambda: BALL, {"solid": "voxels"}, None),
    "up": (lambda: BALL, {"up": "z"}, None),
    "no skin": (lambda: BALL, {"skin": False}, None),
    "a skin": (lambda: BALL, {}, BALL),
    "another skin": (lambda: BALL, {}, BALL.scaled(0.5)),
}


def test_any_change_is_made_anew(place):
    prepare(BALL, SMALL)
    for k, (name, (make, changes, skin)) in enumerate(CHANGES.items()):
        body = prepare(make(), dataclasses.replace(SMALL, **changes), skin=skin)
        assert not body.facts["cached"], name
        assert len(names(place)) == k + 2, name
    assert prepare(BALL, SMALL).facts["cached"]


def test_tets_and_cubes_too(place):
    box = shapes.box(0.4, 2)
    lattice = VoxelLattice.from_cells(np.argwhere(np.ones((2, 2, 2))), 0.1)
    for source in (box, dataclasses.replace(box, tets=box.tets[::-1]), lattice):
        assert not prepare(source).facts["cached"] and prepare(source).facts["cached"]
    assert len(names(place)) == 3


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-40], lambda data: b"x" * 500])
def test_a_damaged_file_is_made_again(place, damage):
    first = prepare(BALL, SMALL)
    (path,) = place.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    again = prepare(BALL, SMALL)
    assert not again.facts["cached"] and np.array_equal(again.solid.tets, first.solid.tets)
    assert prepare(BALL, SMALL).facts["cached"]


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no"])
def test_switched_off(place, monkeypatch, tmp_path, word):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLIANT_CACHE", word)
    for _ in range(2):
        assert not prepare(BALL, SMALL).facts["cached"]
    assert cache.folder() is None and cache.clear() == 0 and os.listdir(tmp_path) == []


def test_not_used_when_not_wanted(place):
    prepare(BALL, SMALL, use_cache=False)
    assert names(place) == []
    prepare(BALL, SMALL)
    assert not prepare(BALL, SMALL, use_cache=False).facts["cached"]


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.delenv("PLIANT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "pliant"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "pliant"


def test_a_place_that_cannot_be_written_costs_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "file" / "below"))
    assert prepare(BALL, SMALL).kind == "tets" and not prepare(BALL, SMALL).facts["cached"]
    assert cache.clear() == 0


def test_a_file_that_cannot_be_written_costs_nothing(place):
    prepare(BALL, SMALL)
    (path,) = place.iterdir()
    path.unlink()
    path.mkdir()
    body = prepare(BALL, SMALL)
    assert body.kind == "tets" and not body.facts["cached"] and names(place) == [path.name]


def fill(place, count, size=100, age=1000.0):
    """Files of ours, the first used longest ago."""
    place.mkdir(exist_ok=True)
    paths = []
    for k in range(count):
        path = place / f"{k:064x}.plb"
        path.write_bytes(bytes(size))
        used = time.time() - age + k
        os.utime(path, (used, used))
        paths.append(path)
    return paths


def test_room_is_made_of_the_oldest_of_ours(place):
    paths = fill(place, 6)
    others = [place / "notes.txt", place / "mine.plb", place / ("0" * 64), place / f"{'g' * 64}.plb"]
    for other in others:
        other.write_bytes(bytes(1000))
        os.utime(other, (0, 0))
    (place / f"{'a' * 64}.plb").mkdir()
    assert cache.make_room(place, 350) == 3
    assert [p.exists() for p in paths] == [False] * 3 + [True] * 3
    assert all(other.exists() for other in others)
    assert cache.make_room(place, 350) == 0


def test_what_is_used_stays_and_what_is_new_is_left_alone(place):
    paths = fill(place, 4)
    cache.find(paths[0].stem, ".plb")
    assert cache.make_room(place, 150) == 3
    # the one used just now is left even though it is too much
    assert [p.exists() for p in paths] == [True, False, False, False]
    assert cache.make_room(place, 0) == 0


def test_room_in_no_place(tmp_path):
    assert cache.make_room(tmp_path / "none") == 0


def test_clearing_removes_ours_only(place):
    fill(place, 3, age=0.0)
    (place / "notes.txt").write_text("keep")
    (place / "sub").mkdir()
    assert cache.clear() == 3 and names(place) == ["notes.txt", "sub"]
    assert cache.clear() == 0


def test_fingerprints_tell_apart():
    a = np.arange(6, dtype=np.int32)
    different = [
        (a,), (a.reshape(2, 3),), (a.astype(np.int64),), (a[::-1],), (a, a), (b"",), ("",), (None,), (0,), ("0",),
        (0.0,), ({"a": 1},), ({"a": 1.5},), (["a", "b"],), ("a", "b"), (["ab"],), (b"ab",), (b"a", b"b"),
    ]  # fmt: skip
    keys = [cache.fingerprint(*parts) for parts in different]
    assert len(set(keys)) == len(keys)
    assert cache.fingerprint({"a": 1, "b": 2}) == cache.fingerprint({"b": 2, "a": 1})
    assert cache.fingerprint(np.asfortranarray(a.reshape(2, 3))) == cache.fingerprint(a.reshape(2, 3))


def test_a_mesh_too_broken_to_use_is_not_kept(place):
    with pytest.raises(ValueError):
        prepare(SurfaceMesh(np.zeros((3, 3)), [[0, 1, 2]]), SMALL)
    assert names(place) == []
