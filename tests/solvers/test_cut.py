"""Cutting: what a stroke crosses comes apart, and nothing else."""

import numpy as np
import pytest
from bodies import STILL, bits, build, rotation

from pliant import InputError, Material, Scene, load_checkpoint, save_checkpoint, shapes
from pliant.solvers.shape_matching.cut import Wedge

BAR = shapes.box((0.8, 0.1, 0.1), (24, 3, 3))
SLAB = shapes.box((0.8, 0.8, 0.1), (12, 12, 2))
BOXES = {"mode": "rigid", "clusters": 8, "clusters_by": "boxes", "axis": "x"}
EYE = (0.0, 0.0, 2.0)


def bodies(mesh=BAR, matching=BOXES, names=("bar",), strain=0.5, gravity=STILL):
    scene = Scene(gravity=gravity, substeps=6)
    material = Material(young=2e6, damping=0.002, density=1000.0, fracture_strain=strain)
    for k, name in enumerate(names):
        scene.add_body(
            mesh, material, method="shape_matching", name=name, matching=matching, position=(0.0, -0.5 * k, 0.0)
        )
    return scene


def triangle_crossed(wedge, a, b, far=1e4):
    """Whether a segment crosses a long triangle, by volumes of tets (six signs)."""
    volume = lambda p, q, r, s: float(np.dot(np.cross(q - p, r - p), s - p))
    e, f, g = wedge.eye, wedge.eye + far * wedge.first, wedge.eye + far * wedge.last
    if volume(e, f, g, a) * volume(e, f, g, b) >= 0:
        return False
    sides = [volume(a, b, e, f), volume(a, b, f, g), volume(a, b, g, e)]
    return all(s > 0 for s in sides) or all(s < 0 for s in sides)


def test_segments_that_cross_a_wedge_are_those_that_cross_a_long_triangle():
    rng = np.random.default_rng(0)
    count = 0
    for _ in range(5):
        wedge = Wedge.between(*rng.normal(size=(3, 3)))
        a, b = rng.normal(size=(2, 400, 3))
        found = wedge.crossed(a, b)
        assert found.tolist() == [triangle_crossed(wedge, p, q) for p, q in zip(a, b, strict=True)]
        np.testing.assert_array_equal(found, wedge.crossed(b, a))
        count += found.sum()
    assert count > 50


def test_an_end_in_the_plane_is_on_one_side_of_it():
    wedge = Wedge.between((-1, 0, 0), (1, 0, 0), EYE)
    ends = np.array([[0, 1, 0], [0, 0, 0], [0, -1, 0]], float)
    assert wedge.crossed(ends[:2], ends[1:]).sum() == 1


@pytest.mark.parametrize("mode", ["rigid", "linear", "quadratic"])
def test_a_stroke_across_a_bar_makes_two_pieces(mode, device):
    sim = build(bodies(matching={**BOXES, "mode": mode}), device)
    sim.frame()
    x = sim.positions()
    assert sim.can_cut("bar") and sim.pieces("bar") == 1
    # between the fourth and the fifth of eight boxes
    assert sim.cut((0.01, 0.2, 0.0), (0.01, -0.2, 0.0), EYE) == 1
    assert sim.pieces("bar") == 2 and sim.broken_links("bar").tolist() == [[3, 4]]
    assert sim.cut((0.01, 0.2, 0.0), (0.01, -0.2, 0.0), EYE) == 0
    # nothing is stretched, so nothing moves
    sim.frame(5)
    np.testing.assert_allclose(sim.positions(), x, atol=1e-4)
    right = BAR.vertices[:, 0] > 0.02
    left = BAR.vertices[:, 0] < -0.02
    sim.set_state("bar", velocities=np.where(right[:, None], [1.0, 0.0, 0.0], 0.0))
    sim.frame(30)
    moved = sim.positions()[:, 0] - x[:, 0]
    np.testing.assert_allclose(moved[right], 0.5, atol=0.06)
    assert np.abs(moved[left]).max() < 0.06


def test_what_is_seen_parts_with_the_pieces(device):
    sim = build(bodies(), device)
    assert sim.cut((0.01, 0.2, 0.0), (0.01, -0.2, 0.0), EYE) > 0
    piece = sim.solvers[0].links("bar").particle_pieces()[sim.body("bar").particle_of]
    right = piece == piece[np.argmax(BAR.vertices[:, 0])]
    assert 0.4 < right.mean() < 0.6
    sim.set_state("bar", positions=BAR.vertices + np.where(right[:, None], [1.0, 0.0, 0.0], 0.0))
    seen, triangles = sim.surface_positions(), sim.surface()
    # no triangle is drawn from one piece to the other
    corners = seen[triangles]
    assert np.ptp(corners[:, :, 0], axis=1).max() < 0.2
    sides = corners[:, :, 0].mean(axis=1) > 0.7
    assert sides.any() and (~sides).any()


@pytest.mark.parametrize("clusters_by", ["kmeans", "grids"])
def test_strokes_cut_as_far_as_they_go(clusters_by, device):
    matching = {"mode": "linear", "clusters": 40, "clusters_by": clusters_by}
    short, long = (build(bodies(SLAB, matching), device) for _ in range(2))
    few = short.cut((0.003, 0.5, 0.0), (0.003, 0.1, 0.0), EYE)
    many = long.cut((0.003, 0.5, 0.0), (0.003, -0.5, 0.0), EYE)
    assert 0 < few < many
    assert short.pieces("bar") == 1 and long.pieces("bar") == 2
    # the pieces lie on either side of the stroke
    piece = long.solvers[0].links("bar").particle_pieces()
    x = long.state.x.numpy()[:, 0]
    low, high = sorted((x[piece == 0], x[piece == 1]), key=np.mean)
    assert np.mean(low < 0.1) > 0.95 and np.mean(high > -0.1) > 0.95
    # a second half finishes the first
    short.cut((0.003, 0.11, 0.0), (0.003, -0.5, 0.0), EYE)
    assert short.pieces("bar") == 2


def test_a_stroke_beside_or_behind_cuts_nothing(device):
    sim = build(bodies(), device)
    before = bits(sim)
    assert sim.cut((0.9, 0.2, 0.0), (0.9, -0.2, 0.0), EYE) == 0
    # the body is behind the eye
    assert sim.cut((0.01, 0.2, 4.0), (0.01, -0.2, 4.0), EYE) == 0
    # the points may lie before the body: the rays go on
    assert bits(sim) == before
    assert sim.cut((0.005, 0.05, 1.5), (0.005, -0.05, 1.5), EYE) == 1


def test_a_body_is_cut_where_it_is_now(device):
    sim = build(bodies(), device)
    turn = rotation((0, 0, 1), np.pi / 2)
    sim.set_state("bar", positions=BAR.vertices @ turn.T + [3.0, 0.0, 0.0])
    assert sim.cut((0.01, 0.2, 0.0), (0.01, -0.2, 0.0), EYE) == 0
    # the same link as in a bar that was not turned
    assert sim.cut((2.8, 0.01, 0.0), (3.2, 0.01, 0.0), (3.0, 0.0, 2.0)) == 1
    assert sim.broken_links("bar").tolist() == [[3, 4]]


def test_one_stroke_cuts_all_bodies_or_the_one_that_is_named(device):
    stroke = (0.01, 0.2, 0.0), (0.01, -0.7, 0.0), EYE
    sim = build(bodies(names=("a", "b")), device)
    assert sim.cut(*stroke, body="b") == 1
    assert (sim.pieces("a"), sim.pieces("b")) == (1, 2)
    assert sim.cut(*stroke) == 1
    assert (sim.pieces("a"), sim.pieces("b")) == (2, 2)


def test_a_cut_outlasts_checkpoints_and_can_be_taken_back(device, tmp_path):
    make = lambda: build(bodies(gravity=(0.0, -10.0, 0.0)), device)
    sim, other = make(), make()
    sim.frame(2)
    save_checkpoint(sim, tmp_path / "whole.ckpt")
    sim.cut((0.01, 0.5, 0.0), (0.01, -0.5, 0.0), EYE)
    save_checkpoint(sim, tmp_path / "cut.ckpt")
    load_checkpoint(other, tmp_path / "cut.ckpt")
    assert other.pieces("bar") == 2
    for s in (sim, other):
        s.frame(10)
    assert bits(sim) == bits(other)
    np.testing.assert_array_equal(sim.surface_positions(), other.surface_positions())
    load_checkpoint(sim, tmp_path / "whole.ckpt")
    assert sim.pieces("bar") == 1 and len(sim.broken_links("bar")) == 0
    fresh = make()
    fresh.frame(12)
    sim.frame(10)
    assert bits(sim) == bits(fresh)


def test_a_cut_is_no_break_of_its_own_and_needs_no_new_recording(device):
    sim = build(bodies(), device)
    sim.frame()
    programs = dict(sim._programs)
    sim.cut((0.01, 0.2, 0.0), (0.01, -0.2, 0.0), EYE)
    sim.frame(3)
    assert sim._programs == programs and len(sim.broken_links("bar")) == 1
    assert not any("began to break" in note for note in sim.notes)


def test_what_cannot_be_cut_says_what_it_would_take(device):
    scene = bodies()
    scene.add_body(BAR, Material(), name="springs", position=(0, 1, 0))
    tough = {"method": "shape_matching", "matching": BOXES}
    scene.add_body(BAR, Material(), name="tough", position=(0, 2, 0), **tough)
    sim = build(scene, device)
    stroke = (0.01, 3.0, 0.0), (0.01, 0.5, 0.0), EYE
    assert sim.cut(*stroke) == 0
    for name in ("springs", "tough"):
        assert not sim.can_cut(name)
        with pytest.raises(InputError, match="fracture_strain"):
            sim.cut(*stroke, body=name)
    with pytest.raises(InputError, match="no body"):
        sim.cut(*stroke, body="other")
    for bad in (((0, 0, 0), (0, 0, 1), EYE), (EYE, (1, 0, 0), EYE), ((0, 0), (1, 0, 0), EYE)):
        with pytest.raises(InputError, match="cut"):
            sim.cut(*bad)
