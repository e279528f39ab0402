"""Paints, parts and texture coordinates through what is done to a surface."""

import dataclasses

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.look import GREY, Look, Paint
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.surface import SurfaceMesh

RED, BLUE = Paint("red", (1.0, 0.0, 0.0, 1.0)), Paint("blue", (0.0, 0.0, 1.0, 1.0), "sea.png")


def look_of(mesh):
    """A look in which everything tells where it was: texture coordinates are x and y, colours the place."""
    corners = mesh.vertices[mesh.triangles]
    upper = corners[:, :, 1].mean(axis=1) > 0.0
    right = corners[:, :, 0].mean(axis=1) > 0.0
    shade = np.concatenate([mesh.vertices * 2.0 + 0.5, np.ones((len(mesh.vertices), 1))], axis=1)
    return Look(
        uv=corners[:, :, :2].astype(np.float32),
        paints=(RED, BLUE),
        paint_of=upper.astype(np.int32),
        parts=("left", "right"),
        part_of=right.astype(np.int32),
        vertex_colors=shade.astype(np.float32),
    )


def dressed(mesh):
    return dataclasses.replace(mesh, look=look_of(mesh))


def check_dress(mesh):
    """Whether each triangle still wears what its place says."""
    expected, look = look_of(mesh), mesh.look
    assert np.allclose(look.uv, expected.uv, atol=1e-6)
    assert np.array_equal(look.paint_of, expected.paint_of) and np.array_equal(look.part_of, expected.part_of)
    assert np.allclose(look.vertex_colors, expected.vertex_colors, atol=1e-6)


BALL = dressed(shapes.ball(0.2, 3).surface_mesh())


def test_through_the_operations_of_a_surface():
    rng = np.random.default_rng(1)
    check_dress(BALL)
    check_dress(BALL.of_triangles(rng.permutation(len(BALL.triangles))[:40]).drop_unused())
    check_dress(BALL.turned(rng.random(len(BALL.triangles)) < 0.5))
    order = rng.permutation(len(BALL.vertices))
    check_dress(BALL.merged(order, BALL.vertices[np.argsort(order)]))


def test_through_repair_to_the_skin():
    """Triangles apart, some twice, some the other way round, some gone: those that stay keep what they wear."""
    n = len(BALL.triangles)
    rows = np.concatenate([np.arange(3, n), [7, 8]])
    torn = SurfaceMesh(BALL.vertices[BALL.triangles[rows]].reshape(-1, 3), np.arange(3 * len(rows)).reshape(-1, 3))
    torn = dressed(torn).turned(np.arange(len(rows)) % 5 == 0)
    body = prepare(torn, PrepareSettings(tets=100), use_cache=False)
    look = body.skin.look
    assert look.paints == (RED, BLUE) and look.parts == ("left", "right")
    old = look.paint_of >= 0
    assert 0 < (~old).sum() <= 3 and old.sum() == n - 3
    kept = body.skin.of_triangles(old)
    expected = look_of(kept)
    assert np.allclose(kept.look.uv, expected.uv, atol=1e-6)
    assert np.array_equal(kept.look.paint_of, expected.paint_of)
    assert np.array_equal(kept.look.part_of, expected.part_of)


def test_joining():
    bare = Look()
    only_uv = Look(uv=np.ones((2, 3, 2), np.float32))
    painted = Look(paints=(RED,), paint_of=np.array([0], np.int32), parts=("p",), part_of=np.array([-1], np.int32))
    joined = Look.join(
        [BALL.look, bare, only_uv, painted], [len(BALL.triangles), 4, 2, 1], [len(BALL.vertices), 3, 3, 3]
    )
    k = len(BALL.triangles)
    joined.check(k + 7, len(BALL.vertices) + 9, "joined")
    assert joined.paints == (RED, BLUE, RED) and joined.parts == ("left", "right", "p")
    assert joined.paint_of[:k].tolist() == BALL.look.paint_of.tolist()
    assert joined.paint_of[k:].tolist() == [-1] * 6 + [2] and joined.part_of[k:].tolist() == [-1] * 7
    assert (joined.uv[k : k + 4] == 0).all() and (joined.uv[k + 4 : k + 6] == 1).all()
    assert (joined.vertex_colors[len(BALL.vertices) :] == 1.0).all()
    nothing = Look.join([bare, bare], [1, 2], [3, 3])
    assert nothing.uv is None and nothing.paint_of is None and nothing.vertex_colors is None and nothing.paints == ()


def test_more_triangles_wear_nothing():
    more = BALL.look.with_more(2)
    assert more.paint_of[-2:].tolist() == [-1, -1] and more.part_of[-2:].tolist() == [-1, -1]
    assert (more.uv[-2:] == 0).all() and len(more.uv) == len(BALL.triangles) + 2
    assert Look().with_more(3).uv is None


def test_colors_of_triangles():
    triangles = np.array([[0, 1, 2], [1, 2, 3], [0, 1, 3]])
    default = (0.1, 0.2, 0.3)
    assert np.allclose(Look().triangle_colors(triangles, default), default)
    shades = np.array([[0, 0, 0, 1], [0.3, 0, 0, 1], [0.6, 0, 0, 1], [0.9, 0, 0, 1]], np.float32)
    colors = Look(vertex_colors=shades).triangle_colors(triangles, default)
    assert np.allclose(colors[:, 0], [0.3, 0.6, 0.4])
    # a paint counts more than corners, and those more than the default
    both = Look(paints=(BLUE,), paint_of=np.array([0, -1, 0], np.int32), vertex_colors=shades)
    assert np.allclose(both.triangle_colors(triangles, default), [[0, 0, 1], [0.6, 0, 0], [0, 0, 1]])
    assert Paint("plain").color == GREY


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (Look(uv=np.zeros((3, 3, 2), np.float32)), "uv"),
        (Look(vertex_colors=np.zeros((4, 3), np.float32)), "vertex_colors"),
        (Look(paints=(RED,), paint_of=np.array([0, 1], np.int32)), "paint_of"),
        (Look(parts=("a",), part_of=np.array([0, -2], np.int32)), "part_of"),
        (Look(part_of=np.array([0], np.int32)), "part_of"),
    ],
)
def test_what_does_not_fit_is_refused(look, words):
    with pytest.raises(InputError, match=words):
        SurfaceMesh(np.eye(4, 3), [[0, 1, 2], [1, 2, 3]], look=look)
