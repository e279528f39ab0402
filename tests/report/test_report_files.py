"""Report files: well-formed, self-contained, the same every time, and not there when something fails."""

import base64
import html.parser
import io
import re
import sys

import numpy as np
import pytest

from pliant.errors import InputError, MissingExtraError
from pliant.mesh import shapes
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.look import Look, Paint
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.report import ReportInput, write_report
from pliant.report.pictures import SCALE, body_pictures, scale_colors

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("matplotlib")

SIZE = {"width": 128, "height": 96}
VOID = {"meta", "img", "br", "link", "input", "hr"}
SLY = '<script>alert("x")</script>'


def ball_input(**changes):
    given = {
        "title": f"Ball {SLY}",
        "surface": shapes.ball(0.4, 4).surface_mesh(),
        "solid": shapes.ball(0.5, 3),
        "facts": [("Repair", [("holes & gaps", "2"), (SLY, SLY), ("", "a line of its own")])],
        "notes": [f"Two holes were filled in {SLY}."],
        "truncate": 0.8,
    }
    return ReportInput(**(given | changes))


def lattice():
    return VoxelLattice.from_cells(np.argwhere(np.ones((3, 3, 3))), 0.1)


class Reader(html.parser.HTMLParser):
    """Checks that tags close in order, and gathers them."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def read_page(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "ball.html"
    write_report(ball_input(), path, **SIZE)
    return path


def test_page_is_well_formed_and_has_its_pictures(page):
    reader = read_page(page)
    images = [attrs for tag, attrs in reader.tags if tag == "img"]
    assert len(images) == 4
    for attrs in images:
        assert len(attrs["alt"]) > 10
        kind, data = attrs["src"].split(",")
        assert kind == "data:image/png;base64"
        picture = Image.open(io.BytesIO(base64.b64decode(data)))
        assert picture.size == (128, 96) and np.asarray(picture).std() > 5.0
    # inverse mass, the same truncated, volume, edge length, angle
    assert sum(tag == "svg" for tag, _ in reader.tags) == 5
    labels = [attrs["aria-label"] for _, attrs in reader.tags if attrs.get("role") == "img"]
    assert len(labels) == 5 and all("median" in label for label in labels)


def test_page_asks_for_nothing_from_elsewhere(page):
    text = page.read_text(encoding="utf-8")
    bare = re.sub(r'src="data:[^"]*"', "", text)
    assert "http" not in bare and "//" not in bare and "@import" not in bare
    for tag, attrs in read_page(page).tags:
        assert tag not in ("script", "link", "iframe", "object")
        for name in ("href", "xlink:href"):
            assert attrs.get(name, "#").startswith("#")


def test_page_ids_are_unique_and_references_lead_to_them(page):
    tags = read_page(page).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"url\(#([^)]*)\)", text)) <= set(ids)
    assert {attrs["xlink:href"][1:] for _, attrs in tags if "xlink:href" in attrs} <= set(ids)


def test_page_shows_texts_and_does_not_run_them(page):
    reader = read_page(page)
    shown = " ".join(reader.text)
    assert shown.count(SLY) == 5
    assert "holes & gaps" in shown and "a line of its own" in shown and "Two holes were filled" in shown


@pytest.mark.parametrize("suffix", [".html", ".png"])
def test_same_input_same_bytes(suffix, tmp_path, monkeypatch):
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_report(ball_input(), first, **SIZE)
    import matplotlib

    # a person's own settings for plots change nothing, and stay as they are
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 23.0)
    write_report(ball_input(), second, **SIZE)
    assert matplotlib.rcParams["font.size"] == 23.0
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    "solid",
    [shapes.ball(0.5, 3), lattice(), shapes.sheet(cells=4), shapes.tetrahedron()],
    ids=["tets", "cubes", "sheet", "one"],
)
def test_sheet_is_a_picture_of_every_kind_of_body(solid, tmp_path):
    path = tmp_path / "body.PNG"
    steps = []
    data = ReportInput("Body", None, solid, [("Counts", [("a", "1")])], ["A note."])
    write_report(data, path, progress=lambda what, share: steps.append((what, share)), **SIZE)
    picture = Image.open(path)
    picture.load()
    # two pictures side by side, a gap, the texts, and margins
    assert picture.width == 2 * 128 + 16 + 2 * 16 + 520 + 2 * 24 and picture.mode == "RGB"
    pixels = np.asarray(picture)
    for part in np.array_split(pixels, 4):
        assert part.std() > 5.0
    shares = [share for _, share in steps]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] == 1.0 and len(steps) >= 5


def test_long_texts_do_not_widen_the_sheet(tmp_path):
    facts = [("Many", [(f"row {k} " * 9, "value " * 30) for k in range(200)])]
    data = ball_input(title="title " * 80, facts=facts, notes=["w" * 900, "", "word " * 300])
    path = tmp_path / "long.png"
    write_report(data, path, **SIZE)
    assert Image.open(path).width == 872


def test_colours_run_from_bad_to_good_and_stop_at_the_ends():
    np.testing.assert_allclose(scale_colors(np.array([-5.0, 0.0, 6.0, 9.0]), 0.0, 6.0), np.array(SCALE)[[0, 0, -1, -1]])


def test_bad_triangles_are_red_and_paints_are_seen():
    ball = shapes.ball(0.5, 3)
    skin = ball.surface_mesh()
    look = Look(paints=(Paint("leaf", (0.1, 0.8, 0.1, 1.0)),), paint_of=np.zeros(len(skin.triangles), np.int32))
    skin = SurfaceMesh(skin.vertices, skin.triangles, look=look)

    def count(image, channel):
        others = [c for c in range(3) if c != channel]
        return int((image[..., channel] > image[..., others].max(axis=2) + 60.0).sum())

    plain = body_pictures(ReportInput("ball", skin, ball), **SIZE)
    assert count(plain[0].image.astype(float), 1) > 500 and count(plain[0].image.astype(float), 0) == 0
    front = np.flatnonzero(skin.vertices[skin.triangles].mean(axis=1)[:, 2] > 0.35)
    marked = body_pictures(ReportInput("ball", skin, ball, bad_triangles=front), **SIZE)
    assert count(marked[0].image.astype(float), 0) > 200
    assert f"{len(front):,} with problems" in marked[0].caption
    mask = np.isin(np.arange(len(skin.triangles)), front)
    again = body_pictures(ReportInput("ball", skin, ball, bad_triangles=mask), **SIZE)
    np.testing.assert_array_equal(marked[0].image, again[0].image)


def test_without_a_skin_both_halves_of_the_solid_are_shown():
    pictures = body_pictures(ReportInput("ball", None, shapes.ball(0.5, 3)), **SIZE)
    assert [picture.name for picture in pictures] == ["surface_front", "surface_back", "cut_back", "cut_front"]
    counts = [int(re.search(r"the ([\d,]+) of", p.caption)[1].replace(",", "")) for p in pictures[2:]]
    assert sum(counts) == len(shapes.ball(0.5, 3).tets)
    assert all(picture.legend is not None for picture in pictures[2:])


@pytest.mark.parametrize("scale", [1e-4, 1e5])
def test_size_and_place_of_a_body_do_not_change_its_pictures_much(scale):
    ball = shapes.ball(0.5, 2)
    plain = body_pictures(ReportInput("a", None, ball), **SIZE)
    moved = body_pictures(ReportInput("b", None, ball.translated((3.0, 1.0, 2.0)).scaled(scale)), **SIZE)
    for one, other in zip(plain[:2], moved[:2]):
        assert np.abs(one.image.astype(float) - other.image).mean() < 2.0


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.htm"])
def test_unknown_suffix(name, tmp_path):
    with pytest.raises(InputError, match=r"\.html, \.png"):
        write_report(ball_input(), tmp_path / name)
    assert not list(tmp_path.iterdir())


EMPTY = [
    TetMesh(np.zeros((0, 3)), np.zeros((0, 4), np.int32), "nothing"),
    VoxelLattice(np.zeros((0, 3)), np.zeros((0, 8), np.int32), np.zeros((0, 3), np.int32), "nothing"),
    SurfaceMesh(np.zeros((0, 3)), np.zeros((0, 3), np.int32), "nothing"),
]


@pytest.mark.parametrize("solid", EMPTY, ids=["tets", "cubes", "sheet"])
def test_empty_solid(solid, tmp_path):
    with pytest.raises(InputError, match="nothing: has no"):
        write_report(ball_input(solid=solid), tmp_path / "a.html")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surface": EMPTY[2]}, "has no triangles"),
        ({"surface": SurfaceMesh(np.eye(3), [[0, 1, 7]])}, "name vertices 0 to 7 of 3"),
        ({"surface": SurfaceMesh(np.eye(3) * np.nan, [[0, 1, 2]])}, "vertex 0"),
        ({"solid": TetMesh(np.eye(4, 3), [[0, 1, 2, 9]])}, "out of range"),
        ({"solid": "a cube"}, "a str is no solid"),
        ({"density": -1.0}, "density"),
        ({"truncate": float("nan")}, "truncate"),
        ({"bad_triangles": np.array([0, 10**6])}, "bad_triangles"),
        ({"bad_triangles": np.array([True, False])}, "bad_triangles"),
    ],
)
def test_bad_input_is_told_and_the_old_report_kept(changes, message, tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old")
    with pytest.raises(InputError, match=message):
        write_report(ball_input(**changes), path, **SIZE)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_old_report_is_kept_when_the_work_fails_half_way(tmp_path):
    path = tmp_path / "a.png"
    path.write_text("old")

    def stop(step, share):
        if step == "histograms":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_report(ball_input(), path, progress=stop, **SIZE)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(("module", "package"), [("matplotlib", "matplotlib"), ("PIL", "pillow")])
def test_missing_package_is_named(module, package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*pliant\[report\]"):
        write_report(ball_input(), tmp_path / "a.html")
    assert not list(tmp_path.iterdir())
