"""Ropes, hair and trees made by formula, and the texture coordinates of cloth."""

import numpy as np
import pytest

from pliant import InputError, RodMesh, shapes
from pliant.mesh.rod_shapes_hair import HEAD

SMALL_HAIR = {"strands": 40, "segments": 12, "turns": 2.0, "tufts": 5}
SMALL_TREE = {"levels": 3, "branches": 4}


def strands(mesh, segments):
    return mesh.vertices.reshape(-1, segments + 1, 3)


@pytest.mark.parametrize("name", ["rope", "hair", "tree"])
def test_the_defaults_make_rods_that_can_be_simulated(name):
    mesh = getattr(shapes, name)()
    assert isinstance(mesh, RodMesh) and mesh.check() == [] and mesh.name == name


def test_a_rope_lies_along_x_from_its_root():
    rope = shapes.rope(2.0, 8, 0.01)
    assert np.allclose(rope.vertices[:, 0], np.linspace(0, 2, 9)) and not rope.vertices[:, 1:].any()
    assert rope.roots().tolist() == [0] and set(rope.radius) == {0.01}


@pytest.mark.parametrize(("shape", "given"), [(shapes.hair, SMALL_HAIR), (shapes.tree, SMALL_TREE)])
def test_the_seed_decides(shape, given):
    first, same, other = shape(**given, seed=3), shape(**given, seed=3), shape(**given, seed=4)
    assert np.array_equal(first.vertices, same.vertices) and np.array_equal(first.radius, same.radius)
    assert not np.array_equal(first.vertices[:20], other.vertices[:20])


# ---- hair ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fall", [0.0, 0.8])
def test_strands_leave_the_head_along_its_normals(fall):
    x = strands(shapes.hair(**SMALL_HAIR, fall=fall), 12)
    assert np.linalg.norm(x[:, 0], axis=1) == pytest.approx(np.full(40, HEAD))
    first = x[:, 1] - x[:, 0]
    cosine = np.einsum("ij,ij->i", first, x[:, 0]) / np.linalg.norm(first, axis=1) / HEAD
    assert cosine.min() > 1.0 - 1e-9
    assert (np.linalg.norm(x[:, 1:], axis=2) > HEAD).all(), "none grows into the head"


def test_the_face_stays_free():
    roots = strands(shapes.hair(strands=400, segments=12, turns=2.0), 12)[:, 0]
    assert not (roots @ [0.0, -0.3, 1.0] > 0.9 * HEAD).any()
    assert (roots[:, 2] < -0.5 * HEAD).any() and (roots[:, 1] > 0.9 * HEAD).any()


def test_curls_do_not_make_strands_longer():
    for curly in (0.0, 1.0):
        mesh = shapes.hair(80, 0.3, 60, curl=0.008, turns=3.0, curly=curly, tightness=0.0, spread=0.0)
        length = mesh.lengths().reshape(80, 60).sum(axis=1)
        assert length == pytest.approx(np.full(80, 0.3), rel=0.1)


def test_curly_strands_wind_and_straight_ones_do_not():
    given = {"strands": 50, "segments": 40, "curl": 0.006, "turns": 4.0, "spread": 0.0, "tightness": 0.0}
    x = strands(shapes.hair(**given, curly=0.4, tufts=10), 40)
    way = np.diff(x, axis=1)
    way /= np.linalg.norm(way, axis=2, keepdims=True)
    bend = np.arccos(np.clip(np.einsum("nij,nij->ni", way[:, 1:], way[:, :-1]), -1, 1)).sum(axis=1)
    assert ((bend > 6.0) | (bend < 2.0)).all() and (bend > 6.0).any() and (bend < 2.0).any()


def test_tufts_draw_together():
    def width(tightness):
        x = strands(shapes.hair(60, curl=0.0, segments=20, tufts=1, tightness=tightness), 20)
        return np.linalg.norm(x[:, -1] - x[:, -1].mean(axis=0), axis=1).mean()

    assert width(1.0) < 0.1 * width(0.0)


def test_strands_that_fall_end_lower():
    low = [strands(shapes.hair(**SMALL_HAIR, fall=fall), 12)[:, -1, 1].mean() for fall in (0.0, 0.5, 1.0)]
    assert low[0] > low[1] > low[2]


@pytest.mark.parametrize("given", ["mesh", "sample", "file"])
def test_hair_grows_on_a_given_surface(given, tmp_path):
    ball = shapes.ball(0.3, 4).surface_mesh()
    scalp = {"mesh": ball, "sample": "small_bunny", "file": tmp_path / "ball.ply"}[given]
    if given == "file":
        from pliant import write_mesh

        write_mesh(ball, scalp)
    x = strands(shapes.hair(**SMALL_HAIR, scalp=scalp), 12)
    if given != "sample":
        assert (np.abs(np.linalg.norm(x[:, 0], axis=1) - 0.3) < 0.02).all()
        first = x[:, 1] - x[:, 0]
        assert (np.einsum("ij,ij->i", first, x[:, 0]) > 0.9 * 0.3 * np.linalg.norm(first, axis=1)).all()


# ---- trees --------------------------------------------------------------------------------------------------------


def test_areas_are_kept_where_branches_leave():
    """Leonardo da Vinci's rule."""
    mesh = shapes.tree(**SMALL_TREE)
    parent = mesh.parents
    radius = np.zeros(len(mesh.vertices))
    radius[mesh.segments[:, 1]] = mesh.radius
    after = np.zeros(len(mesh.vertices))
    np.add.at(after, parent[parent >= 0], radius[parent >= 0] ** 2)
    children = np.bincount(parent[parent >= 0], minlength=len(parent))
    forks = np.flatnonzero((children > 1) & (parent >= 0))
    assert len(forks) > 5
    assert after[forks] == pytest.approx(radius[forks] ** 2)


def test_a_tree_is_one_part_that_grows_up_and_thins_out():
    mesh = shapes.tree()
    assert mesh.roots().tolist() == [0] and not mesh.vertices[0].any()
    assert mesh.vertices[:, 1].min() >= 0.0 and 2.0 < mesh.vertices[:, 1].max() < 4.5
    assert mesh.radius.max() == pytest.approx(0.06) and mesh.radius.min() < 0.003
    assert np.linalg.norm(mesh.vertices[:, [0, 2]], axis=1).max() > 0.7


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_orders_of_branches(levels):
    mesh = shapes.tree(levels=levels, branches=3)
    tips = (np.bincount(mesh.segments.ravel()) == 1).sum() - 1
    assert tips == sum(3**k for k in range(levels))


# ---- bad input, and cloth -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "given", "message"),
    [
        ("rope", {"length": -1.0}, r"rope\(length\)"),
        ("rope", {"segments": 0}, r"rope\(segments\)"),
        ("hair", {"tightness": 1.5}, r"hair\(tightness\).*from 0 up, at most 1"),
        ("hair", {"segments": 10}, "10 segments cannot show 3 turns"),
        ("hair", {"curl": 0.03}, "Give a smaller curl"),
        ("hair", {"scalp": 3}, "int is no surface"),
        ("hair", {"seed": -1}, r"hair\(seed\)"),
        ("tree", {"taper": 0.0}, r"tree\(taper\).*above 0"),
        ("tree", {"levels": 9}, "at most 8"),
        ("tree", {"levels": 8, "branches": 32}, "elements"),
        ("sheet", {"diagonals": "none"}, "'alternating' or 'same'"),
    ],
)
def test_bad_arguments_are_named(shape, given, message):
    with pytest.raises(InputError, match=message):
        getattr(shapes, shape)(**given)


@pytest.mark.parametrize("diagonals", ["alternating", "same"])
def test_texture_coordinates_of_a_sheet_follow_its_threads(diagonals):
    sheet = shapes.sheet((2.0, 3.0), (4, 6), diagonals)
    uv = sheet.look.uv.astype(float)
    x = sheet.vertices[sheet.triangles]
    assert np.allclose(uv[..., 0], x[..., 0] / 2.0 + 0.5) and np.allclose(uv[..., 1], 0.5 - x[..., 2] / 3.0)
    # a picture on it is not mirrored
    edge = np.diff(uv, axis=1)
    assert (edge[:, 0, 0] * edge[:, 1, 1] > edge[:, 0, 1] * edge[:, 1, 0]).all()
    assert sheet.areas().sum() == pytest.approx(6.0) and (sheet.normals()[:, 1] > 0.99).all()
    ends = sheet.vertices[sheet.edges()]
    across = (ends[:, 1] - ends[:, 0])[:, [0, 2]]
    slopes = np.sign(across.prod(axis=1)[np.abs(across).min(axis=1) > 0.0])
    assert abs(slopes.sum()) == (24 if diagonals == "same" else 0)
