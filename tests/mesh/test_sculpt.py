"""Sculpted shapes: distances that hold what they promise, and surfaces of exactly so many even, painted triangles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import InputError
from pliant.mesh import arrays, sculpt
from pliant.mesh.assets import asset
from pliant.mesh.sculpt_figures import FIGURES
from pliant.mesh.sculpt_paint import Coat, painted
from pliant.mesh.sculpt_surface import even_surface, fine_surface

SHAPES = {
    "ellipsoid": sculpt.ellipsoid((0.1, 0.0, -0.2), (0.5, 0.3, 0.4)),
    "boxy": sculpt.ellipsoid((0.0, 0.2, 0.0), (0.5, 0.3, 0.4), 3.0),
    "box": sculpt.box((0.0, 0.1, 0.0), (0.4, 0.3, 0.2), 0.1),
    "disc": sculpt.disc((0.2, 0.0, 0.0), 0.4, 0.15, 0.05),
    "capsule": sculpt.capsule((-0.3, 0.0, 0.0), (0.3, 0.2, 0.1), 0.2, 0.1),
}
BOTH = sculpt.union([SHAPES["ellipsoid"], SHAPES["capsule"].moved((0.4, 0.3, 0.0))], 0.1)
CUT = sculpt.cut(SHAPES["box"], SHAPES["disc"], 0.05)
COMMON = sculpt.common(SHAPES["box"], SHAPES["ellipsoid"], 0.05)
PRESSED = sculpt.pressed(SHAPES["ellipsoid"], sculpt.box((0.5, 0.0, -0.2), (0.3, 0.2, 0.2)), 0.03, 0.1)
MADE = {
    "union": BOTH, "cut": CUT, "common": COMMON, "pressed": PRESSED, "grown": SHAPES["box"].grown(0.05),
    "turned": SHAPES["box"].turned((1.0, 2.0, 0.5), 40.0, (0.3, 0.0, 0.0)),
    "mirrored": SHAPES["capsule"].moved((0.0, 0.0, 0.4)).mirrored(),
}  # fmt: skip
RED, BLUE, WHITE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)


def points(count=2000, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 3))


def lengths(mesh):
    return arrays.edge_lengths(mesh.vertices, mesh.edges())


@given(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(0.001, 0.5))
@settings(max_examples=200, deadline=None)
def test_smooth_min(a, b, blend):
    value = float(sculpt.smooth_min(np.array([a]), np.array([b]), blend)[0])
    assert value == pytest.approx(float(sculpt.smooth_min(np.array([b]), np.array([a]), blend)[0]), abs=1e-12)
    assert min(a, b) - 0.25 * blend - 1e-12 <= value <= min(a, b)
    if abs(a - b) >= blend:
        assert value == min(a, b)


def test_smooth_min_without_blend_is_the_minimum():
    a, b = points()[:, :2].T
    assert np.array_equal(sculpt.smooth_min(a, b, 0.0), np.minimum(a, b))


def test_exact_distances():
    p = points()
    assert sculpt.ellipsoid((0.1, 0.2, 0.3), (0.5,) * 3).distance(p) == pytest.approx(
        np.linalg.norm(p - (0.1, 0.2, 0.3), axis=1) - 0.5, abs=1e-9
    )
    # outside a box with sharp edges: to the nearest of its points
    half = np.array([0.4, 0.3, 0.2])
    nearest = np.linalg.norm(p - np.clip(p, -half, half), axis=1)
    found = sculpt.box((0.0, 0.0, 0.0), half).distance(p)
    assert found[nearest > 0.0] == pytest.approx(nearest[nearest > 0.0], abs=1e-12)
    assert (found[nearest == 0.0] <= 0.0).all()
    along = np.clip(p[:, 0], -0.3, 0.3)[:, None] * (1.0, 0.0, 0.0)
    rod = sculpt.capsule((-0.3, 0.0, 0.0), (0.3, 0.0, 0.0), 0.2)
    assert rod.distance(p) == pytest.approx(np.linalg.norm(p - along, axis=1) - 0.2, abs=1e-12)
    flat = sculpt.disc((0.0, 0.0, 0.0), 0.4, 0.2)
    inside = (np.hypot(p[:, 0], p[:, 1]) < 0.4) & (np.abs(p[:, 2]) < 0.2)
    assert np.array_equal(flat.distance(p) < 0.0, inside)


@pytest.mark.parametrize("name", [*SHAPES, *MADE])
def test_near_the_surface_it_is_a_distance(name):
    shape = {**SHAPES, **MADE}[name]
    start = points() * 0.5 * shape.size + 0.5 * (shape.low + shape.high)
    on = shape.project(start, 12)
    on = on[np.abs(shape.distance(on)) < 1e-6 * shape.size]
    assert len(on) > 0.9 * len(start)
    assert ((on > shape.low - 1e-6) & (on < shape.high + 1e-6)).all()
    slope = np.linalg.norm(shape.gradient(on), axis=1)
    assert np.median(slope) == pytest.approx(1.0, abs=0.05) and slope.max() < 1.5
    normal = shape.gradient(on) / slope[:, None]
    clear = slope > 0.5
    assert (shape.distance(on + 1e-3 * normal)[clear] > 0.0).all()
    assert (shape.distance(on - 1e-3 * normal)[clear] < 0.0).all()


def test_what_is_inside_of_joined_shapes():
    p = points()
    box, disc, ball = (SHAPES[name].distance(p) for name in ("box", "disc", "ellipsoid"))
    sharp = sculpt.union([SHAPES["box"], SHAPES["disc"], SHAPES["ellipsoid"]])
    assert np.array_equal(sharp.distance(p), np.minimum(np.minimum(box, disc), ball))
    smooth = sculpt.union([SHAPES["box"], SHAPES["disc"], SHAPES["ellipsoid"]], 0.1)
    assert (smooth.distance(p) <= sharp.distance(p)).all() and (smooth.distance(p) < sharp.distance(p)).any()
    assert np.array_equal(sculpt.cut(SHAPES["box"], SHAPES["disc"]).distance(p) < 0.0, (box < 0.0) & (disc > 0.0))
    assert not (CUT.distance(p)[(box > 0.0) | (disc < 0.0)] < 0.0).any()
    assert not (COMMON.distance(p)[(box > 0.0) | (ball > 0.0)] < 0.0).any()


def test_pressing_moves_the_surface_in_inside_the_region_only():
    ball = sculpt.ellipsoid((0.0, 0.0, 0.0), (0.5, 0.5, 0.5))
    for depth in (0.04, -0.04):
        dent = sculpt.pressed(ball, sculpt.box((0.5, 0.0, 0.0), (0.3, 0.2, 0.2)), depth, 0.02)
        assert dent.project([[0.6, 0.0, 0.0]])[0, 0] == pytest.approx(0.5 - depth, abs=1e-6)
        assert dent.project([[-0.6, 0.0, 0.0]])[0, 0] == pytest.approx(-0.5, abs=1e-6)


def test_moved_turned_mirrored_grown():
    p, shape = points(), SHAPES["capsule"].moved((0.0, 0.0, 0.4))
    assert shape.distance(p + (0.0, 0.0, 0.4)) == pytest.approx(SHAPES["capsule"].distance(p))
    turn, about = arrays.rotation((0.0, 0.0, 1.0), 0.5, ""), np.array([0.3, 0.0, 0.0])
    turned = shape.turned((0.0, 0.0, 1.0), np.degrees(0.5), about)
    assert turned.distance((p - about) @ turn.T + about) == pytest.approx(shape.distance(p))
    both = shape.mirrored()
    assert np.array_equal(both.distance(p), both.distance(p * (1.0, 1.0, -1.0)))
    assert np.array_equal(both.distance(p)[p[:, 2] > 0.0], shape.distance(p)[p[:, 2] > 0.0])
    assert shape.grown(0.05).distance(p) == pytest.approx(shape.distance(p) - 0.05)


def test_bad_shapes():
    for wrong in (
        lambda: sculpt.ellipsoid((0, 0, 0), (1.0, 0.0, 1.0)),
        lambda: sculpt.ellipsoid((0, 0, 0), (1.0, 1.0, 1.0), 1.0),
        lambda: sculpt.ellipsoid((0, np.nan, 0), (1.0, 1.0, 1.0)),
        lambda: sculpt.box((0, 0, 0), (1.0, 1.0, 0.1), 0.2),
        lambda: sculpt.disc((0, 0, 0), 0.3, 0.1, 0.2),
        lambda: sculpt.capsule((0, 0, 0), (0, 0, 0), 0.1),
        lambda: sculpt.union([]),
        lambda: sculpt.union([SHAPES["box"]], -1.0),
        lambda: sculpt.pressed(SHAPES["box"], SHAPES["disc"], 0.1, 0.0),
        lambda: fine_surface(SHAPES["box"], 0.0),
        lambda: fine_surface(SHAPES["box"], 1e-6),
        lambda: even_surface(SHAPES["box"], 3),
    ):
        with pytest.raises(InputError):
            wrong()


def test_fine_surface_of_a_ball():
    mesh = fine_surface(sculpt.ellipsoid((0.3, 0.0, 0.0), (0.5, 0.5, 0.5)), 0.03)
    assert mesh.is_closed() and mesh.volume() == pytest.approx(np.pi / 6.0, rel=0.01)
    assert np.linalg.norm(mesh.vertices - (0.3, 0.0, 0.0), axis=1) == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("count", [60, 157, 800])
def test_exactly_so_many_even_triangles(count):
    mesh = even_surface(BOTH, count, "blob")
    assert len(mesh.vertices) == count and len(mesh.triangles) == 2 * count - 4
    assert mesh.name == "blob" and mesh.is_closed() and mesh.components()[0] == 1
    assert 0.0 < mesh.volume() < fine_surface(BOTH, 0.02).volume() * 1.01
    assert np.abs(BOTH.distance(mesh.vertices)).max() < 1e-4
    edge = lengths(mesh)
    assert edge.min() > 0.45 * edge.mean() and edge.max() < 1.9 * edge.mean()


def test_holes_and_parts_are_kept():
    ring = sculpt.cut(sculpt.disc((0, 0, 0), 0.5, 0.15, 0.1), sculpt.disc((0, 0, 0), 0.2, 0.5), 0.1)
    apart = ring.moved((2.0, 0.0, 0.0))
    mesh = even_surface(sculpt.union([ring, apart]), 700)
    assert mesh.is_closed() and mesh.components()[0] == 2
    assert len(mesh.vertices) - len(mesh.edges()) + len(mesh.triangles) == 0


def test_too_few_vertices_for_the_shape():
    with pytest.raises(InputError, match="do not make a closed surface"):
        even_surface(sculpt.capsule((0, 0, 0), (5.0, 0, 0), 0.05), 20)


def test_the_same_every_time():
    one, two = (even_surface(SHAPES["boxy"], 200) for _ in range(2))
    assert np.array_equal(one.vertices, two.vertices) and np.array_equal(one.triangles, two.triangles)


def test_paint_ends_at_its_borders():
    ball = sculpt.ellipsoid((0.0, 0.0, 0.0), (0.5, 0.5, 0.5))
    cap = sculpt.box((0.0, 0.7, 0.0), (1.0, 0.5, 1.0))
    spot = sculpt.ellipsoid((0.5, 0.2, 0.0), (0.2, 0.2, 0.2))
    plain = even_surface(ball, 800)
    mesh = painted(plain, ball, WHITE, [Coat(RED, cap), Coat(BLUE, spot)])
    assert mesh.is_closed() and len(mesh.vertices) == 800 and np.abs(ball.distance(mesh.vertices)).max() < 1e-4
    edge = lengths(mesh)
    assert edge.min() > 0.4 * edge.mean() and edge.max() < 2.0 * edge.mean()
    color = mesh.look.vertex_colors
    assert color.dtype == np.float32 and set(map(tuple, color[:, :3])) == {RED, BLUE, WHITE}
    red, blue = ((color[:, :3] == wanted).all(axis=1) for wanted in (RED, BLUE))
    near = 0.25 * edge.mean()
    assert (spot.distance(mesh.vertices)[blue] < near).all() and (spot.distance(mesh.vertices)[~blue] > -near).all()
    assert (cap.distance(mesh.vertices)[red] < near).all()
    assert (cap.distance(mesh.vertices)[~red & ~blue] > -near).all()
    # the last ring of red lies on the border, but for the few that would have made uneven triangles
    height = np.sort(mesh.vertices[red, 1])[:20]
    assert (np.abs(height - 0.2) < 0.01 * edge.mean()).sum() >= 18


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_the_sample_is_the_figure(name):
    """The file's vertices lie on the shape, once it is set where the file's is."""
    figure, mesh = FIGURES[name](), asset(name)
    assert len(mesh.vertices) == figure.count
    rough = fine_surface(figure.shape, figure.shape.size / 60.0).vertices
    low, high = rough.min(axis=0), rough.max(axis=0)
    middle = np.array([0.5 * (low[0] + high[0]), low[1], 0.5 * (low[2] + high[2])])
    away = np.abs(figure.shape.distance(mesh.vertices * (high[0] - low[0]) / figure.length + middle))
    assert np.quantile(away, 0.95) < 0.01 * figure.length
