"""The command ``pliant prep``: what it says, writes and refuses."""

import json

import numpy as np
import pytest

from pliant.cli import main
from pliant.mesh import cache, shapes
from pliant.mesh.io import read_mesh, write_mesh
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import read_body
from pliant.mesh.tets import TetMesh

BALL = shapes.ball(0.1, 4).surface_mesh()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in."""
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def prep(capsys):
    """Run the command; returns exit code, output and errors."""

    def run(*words):
        try:
            code = main(["prep", *map(str, words)])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def ball(folder):
    write_mesh(BALL, folder / "ball.obj")
    return "ball.obj"


@pytest.fixture
def torn(folder):
    """A ball with a hole, two triangles twice, and a hundred times too large."""
    rows = np.concatenate([np.flatnonzero(BALL.normals()[:, 1] < 0.9), [0, 1]])
    write_mesh(BALL.of_triangles(rows).drop_unused().scaled(300.0), folder / "torn.stl")
    return "torn.stl"


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_body_and_what_was_done(prep, ball, folder):
    code, out, err = prep(ball, "--tets", 300)
    assert code == 0 and err == "" and names(folder) == ["ball.obj", "ball.plb"]
    body = read_body("ball.plb")
    assert body.kind == "tets" and len(body.skin.triangles) == len(BALL.triangles)
    assert "Found:\n  ball: " in out and "no problems" in out and "nothing: there was no need" in out
    assert f"Body: {len(body.solid.vertices):,} vertices, {len(body.solid.tets):,} tets, made by stuffing" in out
    assert f"{len(BALL.vertices):,} vertices and {len(BALL.triangles):,} triangles" in out
    assert "Body written to ball.plb after" in out
    # the same bytes whenever it is made, from the mesh or from what was kept
    first = (folder / "ball.plb").read_bytes()
    code, out, _ = prep(ball, "--tets", 300, "--out", "again.plb")
    assert code == 0 and "kept from an earlier time" in out and (folder / "again.plb").read_bytes() == first
    code, out, _ = prep(ball, "--tets", 300, "--out", "anew.plb", "--no-cache")
    assert code == 0 and "earlier time" not in out and (folder / "anew.plb").read_bytes() == first


def test_nothing_is_said_twice(prep, torn):
    code, out, _ = prep(torn, "--tets", 300)
    assert code == 0
    lines = [line.strip() for line in out.splitlines()]
    assert len(lines) == len(set(lines)) and out.count("millimetres") == 1
    assert any(line.startswith("filled 1 hole") for line in lines)
    assert "problem: 1 hole" in lines
    for jargon in ("winding number", "largest_hole", "stuff(", "None", "nan"):
        assert jargon not in out, jargon


def test_a_sheet_is_told_once(prep, folder):
    write_mesh(shapes.sheet(0.3, 6), folder / "sheet.ply")
    code, out, _ = prep("sheet.ply")
    assert code == 0 and out.count("encloses no space") == 2
    assert "simulated as a sheet" in out and "of the surface itself" in out
    assert read_body("sheet.plb").kind == "surface"


def test_a_file_of_tets(prep, folder):
    write_mesh(shapes.box(0.2, 2), folder / "block.mesh")
    code, out, _ = prep("block.mesh")
    assert code == 0 and "27 vertices, 48 tets, as in the file" in out and "angles between faces" in out


@pytest.mark.parametrize("suffix", [".vtu", ".msh", ".mesh", ".node"])
def test_the_solid_alone(prep, ball, folder, suffix):
    code, out, _ = prep(ball, "--tets", 300, "--out", f"solid{suffix}")
    assert code == 0 and f"Solid written to solid{suffix}" in out
    solid, expected = read_mesh(f"solid{suffix}"), prepare(ball, PrepareSettings(tets=300)).solid
    assert isinstance(solid, TetMesh) and np.array_equal(np.sort(solid.tets), np.sort(expected.tets))
    assert np.allclose(solid.vertices, expected.vertices, atol=1e-7)


def test_a_format_without_tets_gets_the_outside_and_says_so(prep, ball):
    code, out, _ = prep(ball, "--tets", 300, "--out", "solid.obj")
    assert code == 0 and ".obj holds no tets" in out
    expected = prepare(ball, PrepareSettings(tets=300)).solid
    assert len(read_mesh("solid.obj").triangles) == len(expected.surface())


def test_a_lattice_as_tets(prep, ball):
    code, out, _ = prep(ball, "--solid", "lattice", "--tets", 100, "--out", "cubes.vtu")
    assert code == 0 and "cubes, of a lattice" in out
    lattice = prepare(ball, PrepareSettings(tets=100, solid="lattice")).solid
    assert read_mesh("cubes.vtu").volumes().sum() == pytest.approx(lattice.volume(), rel=1e-5)


def test_json_and_reports(prep, torn, folder):
    pytest.importorskip("matplotlib")
    options = ("--tets", 200, "--size", 0.3, "--json", "sub/facts.json")
    code, out, _ = prep(torn, *options, "--report", "sub/page.html")
    assert code == 0 and "Facts written to" in out and "Report written to" in out
    facts = json.loads((folder / "sub/facts.json").read_text())
    assert facts["mesh"] == "torn.stl" and facts["before"]["holes"] == 1 and facts["after"]["holes"] == 0
    assert facts["settings"]["tets"] == 200 and facts["counts"]["tets"] > 50 and facts["notes"]
    assert facts["quality"]["slivers"] == 0 and facts["scale"] < 0.02
    page = (folder / "sub/page.html").read_text()
    assert page.startswith("<!") and "torn" in page and "filled 1 hole" in page
    assert prep(torn, *options, "--report", "sheet.png")[0] == 0
    assert (folder / "sheet.png").read_bytes().startswith(b"\x89PNG")


def test_checking_only(prep, ball, torn, folder):
    before = names(folder)
    code, out, err = prep(ball, "--check")
    assert code == 0 and "no problems" in out and err == ""
    code, out, err = prep(torn, "--check")
    assert code == 1 and "problem: 1 hole" in out and err == ""
    assert names(folder) == before
    assert prep(torn, "--check", "--quiet", "--json", "found.json") == (1, "", "")
    found = json.loads((folder / "found.json").read_text())
    assert "1 hole" in found["problems"] and found["diagnosis"]["holes"] == 1


def test_flags_reach_the_settings(prep, ball):
    words = (
        "--size 0.5 --up z --no-repair --solid voxels --tets 150 --no-skin --time-limit 30 --out b.plb --json f.json"
    )
    assert prep(ball, *words.split())[0] == 0
    with open("f.json") as file:
        settings = json.load(file)["settings"]
    assert settings == {
        "size": 0.5, "up": "z", "repair": False, "solid": "voxels", "tets": 150, "element_size": None,
        "enclose": False, "skin": False, "time_limit": 30.0,
    }  # fmt: skip
    assert read_body("b.plb").skin is None


def test_another_skin(prep, ball, folder):
    write_mesh(shapes.box(0.05, 2).surface_mesh(), folder / "cover.ply")
    assert prep(ball, "--tets", 200, "--skin-file", "cover.ply")[0] == 0
    assert len(read_body("ball.plb").skin.triangles) == 48


def test_a_prepared_body_in_another_size(prep, ball):
    assert prep(ball, "--tets", 200)[0] == 0
    code, _, err = prep("ball.plb", "--size", 0.4)
    assert code == 2 and "is the file that is read" in err and "--out" in err
    assert prep("ball.plb", "--size", 0.4, "--out", "large.plb")[0] == 0
    assert np.ptp(read_body("large.plb").skin.vertices, axis=0).max() == pytest.approx(0.4)


def test_quiet(prep, ball):
    assert prep(ball, "--tets", 200, "--quiet") == (0, "", "")


def test_clearing_the_cache(prep, ball, tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "kept"))
    assert prep(ball, "--tets", 200)[0] == 0
    assert len(list((tmp_path / "kept").iterdir())) == 1
    code, out, _ = prep("--clear-cache")
    assert code == 0 and out == f"Prepared bodies removed from {tmp_path / 'kept'}: 1\n"
    assert list((tmp_path / "kept").iterdir()) == []
    # and with a mesh it goes on
    code, out, _ = prep(ball, "--tets", 200, "--clear-cache")
    assert code == 0 and "earlier time" not in out and len(list((tmp_path / "kept").iterdir())) == 1
    monkeypatch.setenv("PLIANT_CACHE", "off")
    assert prep("--clear-cache") == (0, "Nothing is kept: the cache is off\n", "")
    assert cache.folder() is None


def write_broken(folder):
    (folder / "broken.obj").write_text("v 0 0 0\nv 1 0 0\nf 1 2 7\n")
    (folder / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n")
    (folder / "taken.plb").mkdir()


REFUSED = {
    "no mesh": ([], "no mesh is given"),
    "no such file": (["none.obj"], "none.obj"),
    "no such sample": (["rabbit"], "small_bunny"),
    "broken": (["broken.obj"], "broken.obj, line 3"),
    "broken, only checked": (["broken.obj", "--check"], "broken.obj, line 3"),
    "nothing to use": (["flat.obj", "--json", "facts.json"], "flat"),
    "suffix of the body": (["ball.obj", "--out", "b.doc"], "'.doc'"),
    "suffix that is only read": (["ball.obj", "--out", "b.usdz"], "'.usdz'"),
    "suffix of the report": (["ball.obj", "--report", "r.pdf"], "'.pdf'"),
    "a folder in the way": (["ball.obj", "--out", "taken.plb"], "taken.plb"),
    "the mesh itself": (["ball.obj", "--out", "./ball.obj"], "is the file that is read"),
    "facts over the mesh": (["ball.obj", "--json", "ball.obj"], "is the file that is read"),
    "tets and size": (["ball.obj", "--tets", 200, "--element-size", 0.1], "together"),
    "size": (["ball.obj", "--size", 0], "size"),
    "number": (["ball.obj", "--tets", 2], "tets"),
    "tets of a surface": (["ball.obj", "--solid", "tets"], "no tets"),
    "skin": (["ball.obj", "--tets", 100, "--skin-file", "none.ply"], "none.ply"),
    "device": (["ball.obj", "--device", "tpu"], "tpu"),
    "a sheet as tets": (["sheet.ply", "--out", "s.node"], "s.node"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_said_in_one_line_and_leaves_nothing(name, prep, ball, folder):
    write_broken(folder)
    write_mesh(shapes.sheet(0.3, 4), folder / "sheet.ply")
    before = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    words, told = REFUSED[name]
    code, _, err = prep(*words)
    assert code == 2 and told in err, err
    assert err.startswith("pliant: error: ") and err.count("\n") == 1 and "Traceback" not in err
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before


def test_words_that_are_no_options(prep, ball):
    code, _, err = prep(ball, "--solid", "jelly")
    assert code == 2 and "jelly" in err
    code, out, _ = prep("--help")
    assert code == 0 and "--check" in out and "1 --check found something wrong" in out.replace("\n", " ")
