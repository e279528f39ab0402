"""The ray caster draws what is there, lit from where the lamp is, and the same every time."""

import numpy as np
import pytest
import warp as wp

from pliant.errors import InputError
from pliant.render.camera import Camera
from pliant.render.raycast import Renderer

SIZE = 96
RED = (0.9, 0.1, 0.1)


def sphere(center=(0.0, 1.0, 0.0), radius=0.5, rounds=3):
    """An octahedron, its triangles split and pushed out onto a sphere."""
    x = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    x = [np.array(p, float) for p in x]
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(rounds):
        middle = {}

        def mid(a, b, middle=middle):
            key = (min(a, b), max(a, b))
            if key not in middle:
                p = x[a] + x[b]
                middle[key] = len(x)
                x.append(p / np.linalg.norm(p))
            return middle[key]

        split = []
        for a, b, c in faces:
            ab, bc, ca = mid(a, b), mid(b, c), mid(c, a)
            split += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = split
    return (np.array(x) * radius + center).astype(np.float32), np.array(faces, np.int32)


def renderer(x, triangles, color=RED, **options):
    made = Renderer(SIZE, SIZE, "cpu", **options)
    made.set_geometry(triangles, np.array(color), len(x))
    return made


FRONT = Camera((0.0, 1.0, 4.0), (0.0, 1.0, 0.0), fov_deg=30.0)


def reddish(image):
    image = image.astype(int)
    return image[..., 0] > 1.3 * image[..., 2]


def test_a_sphere_is_round():
    x, triangles = sphere()
    image = renderer(x, triangles).draw(x, FRONT, ground_height=None)
    assert image.shape == (SIZE, SIZE, 3) and image.dtype == np.uint8
    rows, columns = np.nonzero(reddish(image))
    # Seen from distance 4 the outline has the angle asin(r / d).
    radius = np.tan(np.arcsin(0.5 / 4.0)) / np.tan(np.radians(15.0)) * SIZE / 2
    assert abs(len(rows) / (np.pi * radius**2) - 1.0) < 0.05
    assert abs(rows.mean() - SIZE / 2 + 0.5) < 0.5 and abs(columns.mean() - SIZE / 2 + 0.5) < 0.5
    assert abs(np.ptp(rows) - np.ptp(columns)) <= 1


def test_lit_side_is_brighter():
    x, triangles = sphere()
    for sign in (-1.0, 1.0):
        image = renderer(x, triangles, light=(sign, 0.3, 0.3)).draw(x, FRONT, ground_height=None).astype(float)
        left, right = image[40:56, 38:44].mean(), image[40:56, 52:58].mean()
        assert (right - left) * sign > 20.0


def test_a_shadow_is_darker_than_lit_ground():
    x, triangles = sphere(center=(0.0, 1.5, 0.0))
    camera = Camera((0.0, 4.0, 6.0), (0.0, 0.0, 0.0), fov_deg=30.0)
    made = renderer(x, triangles, light=(0.0, 1.0, 0.0))
    with_sphere = made.draw(x, camera, 0.0).astype(float)
    away = made.draw(x + np.float32([0, 0, 100]), camera, 0.0).astype(float)
    middle = slice(SIZE // 2 - 2, SIZE // 2 + 2)
    assert with_sphere[middle, middle].mean() < 0.75 * away[middle, middle].mean()
    assert np.abs(with_sphere[-4:, :4] - away[-4:, :4]).max() <= 8.0


def test_shadow_is_soft_and_has_no_speckles():
    x, triangles = sphere(center=(0.0, 1.5, 0.0))
    camera = Camera((0.0, 4.0, 6.0), (0.0, 0.0, 0.0), fov_deg=30.0)
    image = renderer(x, triangles, light=(0.0, 1.0, 0.0)).draw(x, camera, 0.0).astype(float)[SIZE // 2, :, 1]
    steps = np.abs(np.diff(image[10:-10]))
    assert image.min() < 180.0 and steps.max() < 45.0


def test_no_terminator_artefacts_on_a_coarse_sphere():
    """Brightness along the lit half of a coarse sphere falls smoothly: no triangle shades itself."""
    x, triangles = sphere(rounds=2)
    image = renderer(x, triangles, (0.8, 0.8, 0.8), light=(0.0, 1.0, 0.25)).draw(x, FRONT, None).astype(float)
    column = image[33:60, SIZE // 2, 1]
    assert np.diff(column).max() < 6.0


def test_normals_are_unit_and_outward():
    x, triangles = sphere()
    made = renderer(x, triangles)
    with pytest.raises(InputError, match="draw"):
        made.corner_normals()
    made.draw(x, FRONT)
    normals = made.corner_normals()
    radial = (x - np.float32([0, 1, 0]))[triangles] / 0.5
    assert np.allclose(np.linalg.norm(normals, axis=-1), 1.0, atol=1e-5)
    assert (np.sum(normals * radial, axis=-1) > 0.995).all()


def test_a_box_keeps_its_edges_and_a_flat_triangle_is_harmless():
    x = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], np.float32)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))] + [(0, 0, 1)])
    made = renderer(x, triangles)
    made.draw(x, Camera((3.0, 2.0, 4.0), (0.5, 0.5, 0.5)))
    normals = made.corner_normals()
    assert np.isfinite(normals).all()
    assert np.allclose(np.abs(normals[:12]).max(axis=-1), 1.0, atol=1e-6)


def test_same_bytes_twice_and_for_any_number_of_threads(monkeypatch):
    x, triangles = sphere()
    moved = x + np.float32([0.1, -0.3, 0.0])
    made = renderer(x, triangles)
    pictures = [made.draw(x, FRONT), made.draw(moved, FRONT), made.draw(x, FRONT)]
    for threads in ("1", "3"):
        monkeypatch.setenv("PLIANT_THREADS", threads)
        pictures.append(renderer(x, triangles).draw(x, FRONT))
    assert not np.array_equal(pictures[0], pictures[1])
    for other in pictures[2:]:
        assert np.array_equal(pictures[0], other)


def test_refit_and_rebuild_agree_with_a_fresh_renderer():
    a, triangles = sphere()
    b, _ = sphere(center=(1.2, 1.0, 0.0))
    both = np.concatenate([triangles, triangles + len(a)])
    made = renderer(np.concatenate([a, b]), both)
    made.draw(np.concatenate([a, b]), FRONT, None)
    for shift in (0.1, 4.0):
        x = np.concatenate([a, b - np.float32([shift, 0.0, 0.0])])
        fresh = renderer(x, both)
        fresh.draw(np.concatenate([a, b]), FRONT, None)
        difference = made.draw(x, FRONT, None).astype(int) - fresh.draw(x, FRONT, None)
        assert (np.abs(difference) > 2).mean() < 0.001


def test_device_arrays_and_host_arrays_give_one_picture():
    x, triangles = sphere()
    made = renderer(x, triangles)
    assert np.array_equal(made.draw(x, FRONT), made.draw(wp.array(x, dtype=wp.vec3, device="cpu"), FRONT))
    assert np.array_equal(made.draw(x, FRONT), made.draw(x.astype(np.float64), FRONT))


def test_anti_aliasing_softens_the_outline_only():
    x, triangles = sphere()
    hard = renderer(x, triangles, samples=1).draw(x, FRONT, None).astype(int)
    soft = renderer(x, triangles, samples=4).draw(x, FRONT, None).astype(int)
    changed = np.abs(hard - soft).max(axis=2) > 8
    assert 20 < changed.sum() < 0.15 * changed.size
    assert not changed[40:56, 40:56].any()


def test_wireframe_draws_lines():
    x, triangles = sphere(rounds=1)
    made = renderer(x, triangles)
    plain, lines = made.draw(x, FRONT, None).astype(int), made.draw(x, FRONT, None, wireframe=True).astype(int)
    darker = (plain - lines)[..., 0] > 40
    assert 0.02 < darker.sum() / reddish(plain).sum() < 0.6
    assert np.array_equal(renderer(x, triangles, wireframe=True).draw(x, FRONT, None), lines)


def test_both_sides_of_a_sheet_are_drawn():
    x = np.array([[-1, 0, 0], [1, 0, 0], [0, 2, 0]], np.float32)
    for triangles in ([[0, 1, 2]], [[0, 2, 1]]):
        image = renderer(x, np.array(triangles)).draw(x, FRONT, None)
        assert reddish(image)[SIZE // 2, SIZE // 2]


@pytest.mark.parametrize("size", [(1, 1), (7, 3), (33, 50)])
def test_odd_sizes(size):
    x, triangles = sphere()
    made = Renderer(*size, "cpu")
    made.set_geometry(triangles, np.tile(RED, (len(triangles), 1)), len(x))
    assert made.draw(x, FRONT).shape == (size[1], size[0], 3)


def test_mistakes_are_told():
    x, triangles = sphere(rounds=0)
    with pytest.raises(InputError, match="pixels"):
        Renderer(0, 10, "cpu")
    with pytest.raises(InputError, match="samples"):
        Renderer(8, 8, "cpu", samples=0)
    made = Renderer(8, 8, "cpu")
    with pytest.raises(InputError, match="set_geometry"):
        made.draw(x, FRONT)
    for bad in (triangles[:0], triangles.astype(float), triangles[:, :2], triangles + 3, triangles - 1):
        with pytest.raises(InputError, match="triangles"):
            made.set_geometry(bad, RED, len(x))
    for bad in ((2.0, 0.0, 0.0), np.zeros((3, 3)), (np.nan, 0.0, 0.0)):
        with pytest.raises(InputError, match="colors"):
            made.set_geometry(triangles, bad, len(x))
    made.set_geometry(triangles, RED, len(x))
    with pytest.raises(InputError, match="shape"):
        made.draw(x[:-1], FRONT)
    x[2, 1] = np.nan
    with pytest.raises(InputError, match="vertex 2"):
        made.draw(x, FRONT)
