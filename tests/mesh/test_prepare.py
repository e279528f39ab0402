"""From any mesh to a body: what is kept, made, carried and told."""

import dataclasses

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.assets import asset
from pliant.mesh.io import write_mesh
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import write_body
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

BOX = shapes.box(0.4, 2)
BALL = shapes.ball(0.1, 4).surface_mesh()
SLIVERS = TetMesh(
    0.2 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.3, 0.3, 1e-5], [1, 1, 1]]),
    [[0, 1, 2, 3], [1, 2, 3, 5], [0, 2, 1, 4]],
    "slivers",
)


def settings(**values):
    return PrepareSettings(**{"tets": 400, **values})


def longest_side(mesh):
    return np.ptp(mesh.vertices, axis=0).max()


def open_ball():
    return BALL.of_triangles(BALL.normals()[:, 1] < 0.9).drop_unused()


@pytest.fixture(scope="module")
def bunny():
    return prepare("small_bunny", settings(tets=800))


def test_a_sample_mesh_by_its_name(bunny):
    assert bunny.name == "small_bunny" and bunny.kind == "tets" and bunny.uneven
    assert bunny.facts["method"] == "stuffing" and bunny.facts["before"]["clean"]
    assert 400 < len(bunny.solid.tets) < 8000 and (bunny.solid.volumes() > 0).all()
    # what is seen is the surface as it was, at its place
    source = asset("small_bunny")
    assert np.array_equal(bunny.skin.vertices, source.vertices)
    assert np.array_equal(bunny.skin.triangles, source.triangles)
    assert np.allclose(bunny.embedding.apply(bunny.solid.vertices), source.vertices, atol=1e-12)
    assert bunny.facts["counts"] == {
        "vertices": len(bunny.solid.vertices),
        "tets": len(bunny.solid.tets),
        "skin_vertices": len(source.vertices),
        "skin_triangles": len(source.triangles),
    }


def test_a_file_a_surface_and_a_name_give_the_same_body(bunny, tmp_path):
    source = asset("small_bunny")
    path = tmp_path / "small_bunny.ply"
    write_mesh(source, path)
    given = prepare(source, settings(tets=800), use_cache=False)
    read = prepare(path, settings(tets=800), use_cache=False)
    # the file's numbers may be rounded
    assert np.array_equal(given.solid.tets, bunny.solid.tets) and np.array_equal(read.solid.tets, bunny.solid.tets)
    assert np.array_equal(given.solid.vertices, bunny.solid.vertices)
    assert np.allclose(read.solid.vertices, bunny.solid.vertices, atol=1e-7)


def test_a_name_in_the_way_is_a_file(tmp_path, monkeypatch):
    """A file called as a sample mesh is what the user means."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "teapot").write_text("not a mesh")
    with pytest.raises(InputError, match="unknown suffix"):
        prepare("teapot")


@pytest.mark.parametrize("make", [lambda: "small_bunny", open_ball, lambda: BOX], ids=["asset", "open", "tets"])
def test_the_same_mesh_gives_the_same_bytes(make, tmp_path):
    contents = []
    for k in range(2):
        body = prepare(make(), settings(size=0.3), use_cache=False)
        facts = {key: value for key, value in body.facts.items() if key != "seconds"}
        path = write_body(dataclasses.replace(body, facts=facts), tmp_path / f"{k}.plb")
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_sound_tets_are_kept():
    body = prepare(BOX, settings())
    assert np.array_equal(body.solid.tets, BOX.tets) and np.array_equal(body.solid.vertices, BOX.vertices)
    assert body.skin is None and body.notes == () and not body.uneven
    assert body.facts["quality"]["tets"] == len(BOX.tets)


def test_tets_that_are_inside_out_are_turned_and_loose_vertices_go():
    vertices = np.vstack([BOX.vertices, [[9.0, 9, 9]]])
    body = prepare(TetMesh(vertices, BOX.tets[:, [0, 2, 1, 3]]), settings())
    assert (body.solid.volumes() > 0).all() and len(body.solid.vertices) == len(BOX.vertices)
    assert any("48 of 48 tets were inside out" in note for note in body.notes)


def test_slivers_are_made_anew_and_told():
    body = prepare(SLIVERS, settings())
    assert body.kind == "tets" and body.uneven and not np.array_equal(body.solid.tets, SLIVERS.tets)
    smallest, largest = body.solid.dihedral_range()
    assert smallest > 5.0 and largest < 175.0
    assert any("solid = 'tets' keeps them" in note for note in body.notes)
    kept = prepare(SLIVERS, PrepareSettings(solid="tets"))
    assert np.array_equal(np.sort(kept.solid.tets), np.sort(SLIVERS.tets)) and not kept.uneven


def test_a_lattice_is_kept_or_made():
    lattice = VoxelLattice.from_cells(np.argwhere(np.ones((3, 2, 2))), 0.1)
    kept = prepare(lattice)
    assert kept.kind == "lattice" and np.array_equal(kept.solid.cubes, lattice.cubes) and kept.notes == ()
    stuffed = prepare(lattice, settings(solid="stuffing"))
    assert stuffed.kind == "tets" and abs(stuffed.solid.volumes().sum() - 0.012) < 0.0012
    made = prepare(BALL, settings(solid="lattice", tets=200))
    assert made.kind == "lattice" and not made.uneven
    # so many cubes, not tets
    assert 100 < len(made.solid.cubes) < 400
    assert made.embedding.share_outside == 0.0


def test_cubes_cut_into_tets():
    body = prepare(BALL, settings(solid="voxels"))
    assert body.kind == "tets" and body.facts["method"] == "voxels" and body.embedding.share_outside == 0.0


def test_the_surface_itself_when_asked_for():
    body = prepare(BALL, PrepareSettings(solid="surface"))
    assert body.kind == "surface" and body.solid.is_closed()
    assert body.solid.volume() == pytest.approx(BALL.volume(), rel=0.05)


def test_an_open_surface_is_closed():
    body = prepare(open_ball(), settings())
    assert body.kind == "tets" and body.facts["kind"] == "solid"
    assert any(note.startswith("Repaired: filled 1 hole") for note in body.notes)
    assert body.facts["before"]["holes"] == 1 and body.facts["after"]["holes"] == 0
    assert body.solid.volumes().sum() == pytest.approx(BALL.volume(), rel=0.15)


def test_a_sheet_stays_one():
    sheet = shapes.sheet(0.3, 8)
    body = prepare(sheet, settings())
    assert body.kind == "surface" and body.facts["kind"] == "sheet"
    # said once
    assert [note for note in body.notes if "encloses no space" in note] == [
        "The surface encloses no space: its triangles are simulated as a sheet"
    ]
    assert body.facts["left"] == []
    with pytest.raises(InputError, match="encloses no volume"):
        prepare(sheet, settings(solid="stuffing"))


@pytest.mark.parametrize("repair", [True, False])
def test_nothing_to_use(repair):
    with pytest.raises(InputError, match="no triangles"):
        prepare(SurfaceMesh(np.zeros((0, 3)), np.zeros((0, 3), int), "void"), settings(repair=repair))
    flat = SurfaceMesh([[0, 0, 0], [1, 0, 0], [2, 0, 0.0]], [[0, 1, 2]], "line")
    with pytest.raises(InputError, match="line"):
        prepare(flat, settings(repair=repair))


def test_size_and_up():
    tall = shapes.box((0.1, 0.2, 0.5), (2, 3, 5))
    for source in (tall, tall.surface_mesh()):
        body = prepare(source, settings(size=2.0, up="z"))
        seen = body.skin or body.solid
        assert longest_side(seen) == pytest.approx(2.0)
        # z of the file points up now, and what was y points away
        assert np.allclose(np.ptp(seen.vertices, axis=0), [0.4, 2.0, 0.8])
        assert body.facts["scale"] == pytest.approx(4.0)
    turned = prepare(tall, PrepareSettings(up="z"))
    assert (turned.solid.volumes() > 0).all()
    assert np.allclose(turned.solid.vertices[:, 1], tall.vertices[:, 2])


def test_the_size_counts_only_what_is_used():
    vertices = np.vstack([BALL.vertices, [[100.0, 0, 0]], [[np.nan, 0, 0]]])
    triangles = np.vstack([BALL.triangles, [[0, 1, 9999]], [[0, 1, -1]]])
    body = prepare(SurfaceMesh(vertices, triangles), settings(size=0.3))
    assert longest_side(body.skin) == pytest.approx(0.3)


def test_an_odd_size_is_told_once_unless_given():
    for source in (BOX.scaled(1000.0), BALL.scaled(1000.0)):
        told = prepare(source, settings()).notes
        assert len([note for note in told if "millimetres" in note]) == 1
        assert not any("millimetres" in note for note in prepare(source, settings(size=0.3)).notes)


def test_without_repair():
    body = prepare(open_ball(), settings(repair=False))
    assert body.kind == "tets" and "Not repaired: 1 hole" in body.notes
    assert len(body.skin.triangles) == len(open_ball().triangles)
    with pytest.raises(InputError, match="out of range"):
        prepare(SurfaceMesh(BALL.vertices, [[0, 1, 9999]]), settings(repair=False))


def test_without_a_skin_and_with_another(bunny):
    bare = prepare("small_bunny", settings(tets=800, skin=False))
    assert bare.skin is None and bare.carried is None and np.array_equal(bare.solid.tets, bunny.solid.tets)
    cover = shapes.box(0.05, 3).surface_mesh().translated((0.0, 0.1, 0.0))
    other = prepare("small_bunny", settings(tets=800, size=0.4), skin=cover)
    # in the place and units of the source, so scaled as it is
    assert np.allclose(other.skin.vertices, other.facts["scale"] * cover.vertices, atol=1e-12)
    assert np.allclose(other.embedding.apply(other.solid.vertices), other.skin.vertices)
    on_tets = prepare(BOX, skin=BALL)
    assert np.array_equal(on_tets.solid.tets, BOX.tets) and on_tets.embedding.share_outside == 0.0
    on_sheet = prepare(shapes.sheet(0.3, 6), skin=shapes.sheet(0.3, 12))
    assert on_sheet.kind == "surface" and len(on_sheet.skin.triangles) == 288


def test_skin_that_sticks_out_is_told_and_that_of_coarse_elements_is_not():
    assert not any("stick out" in note for note in prepare(BALL, settings()).notes)
    body = prepare(BOX, skin=BALL.translated((0.5, 0.0, 0.0)))
    (note,) = [note for note in body.notes if "stick out" in note]
    assert f"of {len(BALL.vertices):,} vertices" in note and f"{body.embedding.outside.max():.3g} m" in note


def test_a_prepared_body_is_taken_as_it_is(bunny, tmp_path):
    path = write_body(bunny, tmp_path / "b.plb")
    again = prepare(path)
    assert np.array_equal(again.solid.tets, bunny.solid.tets) and again.notes == bunny.notes
    larger = prepare(str(path), PrepareSettings(size=1.0))
    assert longest_side(larger.skin) == pytest.approx(1.0)
    assert np.allclose(larger.embedding.apply(larger.solid.vertices), larger.skin.vertices, atol=1e-12)
    factor = 1.0 / longest_side(bunny.skin)
    assert np.allclose(larger.embedding.outside, factor * bunny.embedding.outside)
    bare = prepare(path, PrepareSettings(skin=False))
    assert bare.skin is None and "skin_vertices" not in bare.facts["counts"]
    other = prepare(path, skin=BALL.translated((0.0, 0.1, 0.0)))
    assert len(other.embedding) == len(BALL.vertices)
    for bad in ({"tets": 300}, {"solid": "lattice"}, {"up": "z"}, {"enclose": True}):
        with pytest.raises(InputError, match=next(iter(bad))):
            prepare(path, PrepareSettings(**bad))


def test_a_sheet_with_a_skin_can_be_resized(tmp_path):
    body = prepare(shapes.sheet(0.3, 6), skin=shapes.sheet(0.2, 9).translated((0.0, 0.05, 0.0)))
    assert body.embedding.height is not None
    larger = prepare(write_body(body, tmp_path / "s.plb"), PrepareSettings(size=2.0))
    assert np.allclose(larger.embedding.apply(larger.solid.vertices), larger.skin.vertices, atol=1e-12)
    assert larger.skin.vertices[0, 1] == pytest.approx(0.5)


def test_progress_is_told():
    told = []
    prepare(BALL, settings(), use_cache=False, progress=lambda stage, done: told.append((stage, done)))
    assert told[0][0].endswith("reading") and all(0.0 <= done <= 1.0 for _, done in told)
    assert len({stage for stage, _ in told}) >= 3


BAD = {
    "no such file": (lambda: prepare("nothing.obj"), "nothing.obj", "no such file"),
    "no such name": (lambda: prepare("rabbit"), "rabbit", "small_bunny"),
    "no such prepared body": (lambda: prepare("nothing.plb"), "nothing.plb", "no such file"),
    "no mesh": (lambda: prepare(5), "prepare", "int"),
    "unknown suffix": (lambda: prepare(__file__), ".py", "suffix"),
    "tets of a surface": (lambda: prepare(BALL, PrepareSettings(solid="tets")), "ball", "no tets"),
    "tets of a lattice": (
        lambda: prepare(VoxelLattice.from_cells([[0, 0, 0]], 0.1, name="one"), PrepareSettings(solid="tets")),
        "one",
        "no tets",
    ),
    "number and size": (lambda: prepare(BALL, settings(element_size=0.1)), "PrepareSettings", "together"),
    "number and size of tets": (lambda: prepare(BOX, settings(element_size=0.1)), "PrepareSettings", "together"),
    "size": (lambda: PrepareSettings(size=-1.0), "size", "-1"),
    "size of text": (lambda: PrepareSettings(size="big"), "size", "big"),
    "size not a number": (lambda: PrepareSettings(size=float("nan")), "size", "nan"),
    "up": (lambda: PrepareSettings(up="x"), "up", "'x'"),
    "solid": (lambda: PrepareSettings(solid="jelly"), "solid", "jelly"),
    "number": (lambda: PrepareSettings(tets=3), "tets", "3"),
    "no extent": (
        lambda: prepare(SurfaceMesh(np.ones((3, 3)), [[0, 1, 2]], "dot"), settings(size=1.0)),
        "dot",
        "no extent",
    ),
    "tets out of range": (lambda: prepare(TetMesh(BOX.vertices, [[0, 1, 2, 99]], "far")), "far", "99"),
    "no tets": (lambda: prepare(TetMesh(BOX.vertices, np.zeros((0, 4), int), "none")), "none", "no tets"),
    "skin without triangles": (
        lambda: prepare(BOX, skin=SurfaceMesh(BALL.vertices, np.zeros((0, 3), int), "s")),
        "s",
        "no triangles",
    ),
    "skin out of range": (lambda: prepare(BOX, skin=SurfaceMesh(BALL.vertices, [[0, 1, 9999]], "s")), "s", "9999"),
    "skin not finite": (
        lambda: prepare(BOX, skin=SurfaceMesh(BALL.vertices * np.nan, BALL.triangles, "s")),
        "s",
        "nan",
    ),
    "elements too small": (lambda: prepare(BALL, PrepareSettings(element_size=1e-7)), "ball", "at least"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_refused(name):
    action, where, words = BAD[name]
    with pytest.raises(InputError) as error:
        action()
    assert where in error.value.where and words in str(error.value) and error.value.remedy


def test_a_mesh_far_from_the_origin_is_moved_there_with_its_skin():
    ball = shapes.ball(0.5, 4).surface_mesh()
    near = prepare(ball, PrepareSettings(tets=300), use_cache=False)
    far = prepare(ball.translated((3e5, -4e5, 0.0)), PrepareSettings(tets=300), use_cache=False)
    assert any("5e+05 m from the origin" in note for note in far.notes)
    assert np.allclose(far.skin.vertices, near.skin.vertices, atol=1e-9 * 5e5)
    assert len(far.solid.tets) == pytest.approx(len(near.solid.tets), rel=0.2)
    assert not any("origin" in note for note in near.notes)
