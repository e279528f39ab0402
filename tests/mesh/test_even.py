"""Surfaces made even: short edges and slivers go; shape, outline, holes and looks stay."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.embed import embed
from pliant.mesh.even import SHORTEST, THINNEST, even_out, evenness
from pliant.mesh.look import Look, Paint
from pliant.mesh.repair.topology import edge_table, fans
from pliant.mesh.surface import SurfaceMesh

MESHES = Path(__file__).parents[3] / "shared" / "meshes"


def shaken(mesh, amount, seed=0):
    """Vertices of a regular sheet moved in its plane by up to so many cells, those of the outline along it."""
    rng = np.random.default_rng(seed)
    cell = np.linalg.norm(np.diff(mesh.vertices[mesh.edges()[0]], axis=0))
    x = mesh.vertices.copy()
    step = rng.uniform(-amount, amount, (len(x), 2)) * cell
    for axis, column in ((0, 0), (2, 1)):
        inner = np.abs(x[:, axis]) < np.abs(x[:, axis]).max() - 1e-9
        x[inner, axis] += step[inner, column]
    return dataclasses.replace(mesh, vertices=x)


def uneven_sheet(seed=0):
    """A sheet of 1 m whose cells are squeezed, so that edges of all lengths down to a thousandth stand in it."""
    mesh = shaken(shapes.sheet(1.0, 24), 0.2, seed)
    x = mesh.vertices.copy()
    x[:, 0] += 0.0395 * np.sin(8 * np.pi * (x[:, 0] + 0.5))
    mesh = dataclasses.replace(mesh, vertices=x)
    assert mesh.normals()[:, 1].min() > 0.99
    return mesh


def bent(mesh):
    """A sheet rolled to a third of a tube: lengths stay."""
    x, y, z = mesh.vertices.T
    return dataclasses.replace(mesh, vertices=np.stack([0.5 * np.sin(2 * x), y + 0.5 * np.cos(2 * x), z], axis=1))


def uneven_ball(seed=0):
    """A closed surface with vertices drawn together in pairs."""
    mesh = shapes.ball(0.5, 8).surface_mesh()
    edges = mesh.edges()
    rng = np.random.default_rng(seed)
    x = mesh.vertices.copy()
    for row in rng.choice(len(edges), 40, replace=False):
        a, b = edges[row]
        p = 0.97 * x[b] + 0.03 * x[a]
        x[a] = 0.5 * p / np.linalg.norm(p)
    return dataclasses.replace(mesh, vertices=x)


def outline(mesh):
    table = edge_table(mesh.triangles)
    ends = mesh.vertices[table.ends[table.count == 1]]
    return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum())


def is_manifold(mesh):
    """Edges of one triangle, or of two that wind alike; one fan around each vertex; no vertex unused."""
    table = edge_table(mesh.triangles)
    count, _ = fans(table)
    alike = table.balance()[table.count == 2]
    return table.count.max() <= 2 and not alike.any() and count == len(mesh.vertices)


def euler(mesh):
    return len(mesh.vertices) - len(mesh.edges()) + len(mesh.triangles)


def is_even(mesh):
    return evenness(mesh.vertices, mesh.triangles).reaches(SHORTEST, THINNEST)


SHEETS = {
    "flat": uneven_sheet,
    "another": lambda: uneven_sheet(1),
    "curved": lambda: bent(uneven_sheet(2)),
    "ball": uneven_ball,
}


@pytest.fixture(scope="module", params=SHEETS)
def pair(request):
    mesh = SHEETS[request.param]()
    return mesh, even_out(mesh)


def test_uneven_becomes_even(pair):
    mesh, even = pair
    assert not is_even(mesh) and is_even(even)
    assert len(even.triangles) > 0.4 * len(mesh.triangles)
    even.check()


def test_area_and_outline_stay(pair):
    mesh, even = pair
    assert even.areas().sum() == pytest.approx(mesh.areas().sum(), rel=0.01)
    assert outline(even) == pytest.approx(outline(mesh), rel=0.01)


def test_it_stays_the_same_kind_of_surface(pair):
    mesh, even = pair
    assert is_manifold(mesh) and is_manifold(even)
    assert mesh.is_closed() == even.is_closed() and euler(mesh) == euler(even)


def test_no_triangle_turns_over_and_the_shape_is_near(pair):
    """Each new triangle faces as the old surface does at its middle, and old vertices lie close to the new surface."""
    mesh, even = pair
    middles = even.vertices[even.triangles].mean(axis=1)
    place = embed(middles, mesh)
    below = mesh.vertices[place.hosts]
    facing = np.cross(below[:, 1] - below[:, 0], below[:, 2] - below[:, 0])
    facing /= np.linalg.norm(facing, axis=1, keepdims=True)
    # a sliver of the old surface may lean; an overturned triangle would face the other way
    assert np.einsum("ij,ij->i", even.normals(), facing).min() > 0.5
    edge = evenness(mesh.vertices, mesh.triangles).edge
    assert np.abs(embed(mesh.vertices, even).outside).max() < 0.2 * edge


def test_twice_is_once(pair):
    _, even = pair
    assert even_out(even) is even


def test_same_input_same_output(pair):
    mesh, even = pair
    again = even_out(mesh)
    assert again.vertices.tobytes() == even.vertices.tobytes()
    assert again.triangles.tobytes() == even.triangles.tobytes() and again.notes == even.notes


def test_the_note_tells_lengths(pair):
    mesh, even = pair
    before, after = (evenness(m.vertices, m.triangles) for m in (mesh, even))
    note = even.notes[-1]
    for value in (before.shortest, before.thinnest, after.shortest, after.thinnest):
        assert f"{value:.3g} m" in note
    assert even.notes[:-1] == mesh.notes and "collapsed" in note


@pytest.mark.parametrize("seed", range(3))
def test_corners_of_the_outline_stay(seed):
    even = even_out(uneven_sheet(seed))
    for x in (-0.5, 0.5):
        for z in (-0.5, 0.5):
            assert np.linalg.norm(even.vertices - [x, 0.0, z], axis=1).min() < 1e-12
    # a flat sheet stays flat, and inside its outline
    assert np.abs(even.vertices[:, 1]).max() < 1e-12 and np.abs(even.vertices).max() <= 0.5 + 1e-12


@pytest.mark.parametrize("cells", [1, 2, 16, (4, 8)])
def test_even_comes_back_itself(cells):
    mesh = shapes.sheet(1.0, cells)
    assert even_out(mesh) is mesh


def test_a_hole_stays():
    mesh = uneven_sheet(3)
    middle = mesh.vertices[mesh.triangles].mean(axis=1)
    holed = mesh.of_triangles(np.linalg.norm(middle, axis=1) > 0.2).drop_unused()
    even = even_out(holed)
    assert is_manifold(even) and euler(even) == euler(holed) == 0
    # its outline is jagged, and keeps what corners it can
    assert evenness(even.vertices, even.triangles).reaches(0.2, 0.15)
    assert outline(even) == pytest.approx(outline(holed), rel=0.05)
    assert even.areas().sum() == pytest.approx(holed.areas().sum(), rel=0.01)


def test_a_sliver_on_the_outline_goes():
    """A vertex a hair above the middle of an outline edge."""
    mesh = shapes.sheet(1.0, 4)
    x = mesh.vertices.copy()
    row = np.flatnonzero(np.isclose(x[:, 2], -0.25) & np.isclose(x[:, 0], 0.0))[0]
    x[row, 2] = -0.4995
    thin = dataclasses.replace(mesh, vertices=x)
    even = even_out(thin)
    assert not is_even(thin) and is_even(even)
    assert outline(even) == pytest.approx(4.0) and even.areas().sum() == pytest.approx(1.0)


def test_a_sliver_is_flipped_and_no_vertex_lost():
    """Two triangles over a long diagonal where the short one makes two good ones."""
    x = [[-1.0, 0, 0], [1.0, 0, 0], [0, 0, 0.1], [0, 0, -0.1], [0, 0, -1.2], [0, 0, 1.2]]
    mesh = SurfaceMesh(x, [[0, 2, 1], [0, 1, 3], [0, 3, 4], [3, 1, 4], [0, 5, 2], [2, 5, 1]])
    assert (mesh.normals()[:, 1] > 0.99).all()
    even = even_out(mesh, thinnest=0.15)
    assert even.areas().sum() == pytest.approx(mesh.areas().sum())
    now = evenness(even.vertices, even.triangles)
    assert now.thinnest > evenness(mesh.vertices, mesh.triangles).thinnest
    assert (even.normals()[:, 1] > 0.99).all()


TRIANGLE = SurfaceMesh([[0.0, 0, 0], [1, 0, 0], [0.5, 0, -0.01]], [[0, 1, 2]])
TWO = SurfaceMesh([[0.0, 0, 0], [1, 0, 0], [1, 0, -0.01], [0, 0, -0.01]], [[0, 1, 2], [0, 2, 3]])
BOOK = SurfaceMesh([[0.0, 0, 0], [0, 0.01, 0], [1, 0, 0], [0, 0, 1], [-1, 0, 0]], [[0, 1, 2], [0, 1, 3], [1, 0, 4]])
TETRAHEDRON = shapes.tetrahedron().surface_mesh().scaled((1.0, 0.01, 1.0))


@pytest.mark.parametrize("mesh", [TRIANGLE, TWO, BOOK, TETRAHEDRON], ids=["one", "two", "book", "tetrahedron"])
def test_what_cannot_be_made_even_stays(mesh):
    even = even_out(mesh)
    assert len(even.triangles) >= 1 and even_out(even) is even
    even.check()
    if mesh is BOOK or mesh is TETRAHEDRON:
        assert len(even.triangles) == len(mesh.triangles)


def test_no_triangles():
    empty = SurfaceMesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    assert even_out(empty) is empty


def test_parts_that_meet_in_edges_of_three_stay_there():
    """A wall stands on an uneven sheet: their common edges are as they were."""
    sheet = uneven_sheet()
    line = np.flatnonzero(np.arange(25 * 25) // 25 == 12)
    tops = sheet.vertices[line] + [0.0, 0.05, 0.0]
    n = len(sheet.vertices)
    a, b = line[:-1], line[1:]
    c, d = n + np.arange(24), n + 1 + np.arange(24)
    wall = np.concatenate([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
    mesh = SurfaceMesh(np.concatenate([sheet.vertices, tops]), np.concatenate([sheet.triangles, wall]))
    even = even_out(mesh)
    assert len(even.triangles) < len(mesh.triangles)
    table = edge_table(even.triangles)
    spine = even.vertices[table.ends[table.count == 3]]
    assert len(spine) == 24 and table.count.max() == 3
    assert np.linalg.norm(spine[:, 1] - spine[:, 0], axis=1).sum() == pytest.approx(
        np.linalg.norm(np.diff(sheet.vertices[line], axis=0), axis=1).sum()
    )


def test_paints_parts_and_colors_stay():
    mesh = uneven_sheet()
    left = (mesh.vertices[mesh.triangles].mean(axis=1)[:, 0] > 0).astype(np.int32)
    colors = np.ones((len(mesh.vertices), 4), np.float32)
    colors[:, 0] = mesh.vertices[:, 2] + 0.5
    uv = np.zeros((len(mesh.triangles), 3, 2), np.float32)
    look = Look(uv, (Paint("red"), Paint("blue")), left, ("a", "b"), 1 - left, colors)
    even = even_out(dataclasses.replace(mesh, look=look))
    assert even.look is not None and even.look.uv is None and even.look.parts == ("a", "b")
    np.testing.assert_array_equal(even.look.paint_of, 1 - even.look.part_of)
    x = even.vertices[even.triangles].mean(axis=1)[:, 0]
    far = np.abs(x) > 0.1
    np.testing.assert_array_equal(even.look.paint_of[far], (x > 0)[far])
    assert np.abs(even.look.vertex_colors[:, 0] - even.vertices[:, 2] - 0.5).max() < 0.1


@pytest.mark.parametrize("name", ["shortest", "thinnest", "tolerance"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "much"])
def test_bad_settings(name, value):
    with pytest.raises(InputError, match=name):
        even_out(shapes.sheet(1.0, 2), **{name: value})


def test_bad_meshes():
    with pytest.raises(InputError, match="out of range"):
        even_out(SurfaceMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 3]]))
    with pytest.raises(InputError, match="nan"):
        even_out(SurfaceMesh([[0.0, 0, 0], [1, 0, 0], [0, np.nan, 0]], [[0, 1, 2]]))


def test_a_prepared_sheet_shows_the_original():
    from pliant.mesh.prepare import prepare

    mesh = uneven_sheet()
    body = prepare(mesh, use_cache=False)
    assert isinstance(body.solid, SurfaceMesh) and is_even(body.solid)
    assert body.skin is not None and len(body.skin.triangles) == len(mesh.triangles)
    np.testing.assert_allclose(body.embedding.apply(body.solid.vertices), body.skin.vertices, atol=1e-9)
    assert any("made even" in note for note in body.notes)
    regular = prepare(shapes.sheet(1.0, 8), use_cache=False)
    assert regular.skin is None


def test_a_surface_to_be_simulated_keeps_its_openings():
    from pliant.mesh.prepare import prepare
    from pliant.mesh.prepare_settings import PrepareSettings

    ball = shapes.ball(0.5, 6).surface_mesh()
    opened = ball.of_triangles(np.arange(len(ball.triangles)) > 5).drop_unused()
    assert not opened.is_closed()
    body = prepare(opened, PrepareSettings(solid="surface"), use_cache=False)
    assert len(body.solid.triangles) == len(opened.triangles)


@pytest.mark.skipif(not MESHES.is_dir(), reason="the folder of real meshes is missing")
def test_a_real_cloth_needs_few_substeps():
    """Random points in a square: edges from a hundredth of the median. What a regular sheet needs is 548."""
    from pliant import Scene
    from pliant.mesh.io import read_mesh

    mesh = read_mesh(MESHES / "genesis_cloth.obj").scaled(0.6)
    even = even_out(mesh)
    assert is_even(even) and is_manifold(even) and outline(even) == pytest.approx(1.2)
    scene = Scene()
    scene.add_body(even, "soft_rubber", mass_shift=0.05)
    assert scene.build("cpu").substeps < 1200
