"""Rods: their trees, measures, placement, and what is refused."""

import numpy as np
import pytest

from pliant import InputError, RodMesh
from pliant.mesh.tubes import Tubes

# two trees: 0-1-2-(3-4, 5), and 6-7
VERTICES = np.array(
    [[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 3, 0], [1, 4, 0], [-1, 3, 0], [5, 0, 0], [5, 0, 2]], dtype=float
)
SEGMENTS = np.array([[1, 0], [1, 2], [3, 2], [2, 5], [3, 4], [7, 6]])
RADIUS = np.array([0.3, 0.25, 0.2, 0.1, 0.15, 0.05])


def mesh():
    return RodMesh(VERTICES, SEGMENTS, RADIUS)


def test_parents_lead_from_every_vertex_to_its_root():
    assert mesh().parents.tolist() == [-1, 0, 1, 2, 3, 2, -1, 6]
    assert mesh().roots().tolist() == [0, 6]


def test_parents_come_before_their_children_and_the_longest_chain_is_in_a_row():
    assert mesh().depth_first.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    shuffled = np.random.default_rng(3).permutation(40)
    ends = np.stack([np.arange(39), np.arange(1, 40)], axis=1)
    ends[20, 0] = 4
    made = RodMesh(np.random.default_rng(0).normal(size=(40, 3)), shuffled[ends])
    place = np.empty(40, int)
    place[made.depth_first] = np.arange(40)
    inner = made.parents >= 0
    assert np.all(place[made.parents[inner]] < place[inner])


def test_root_segments_are_the_first_two_vertices_of_each_part():
    assert mesh().root_segments().tolist() == [0, 1, 6, 7]


def test_measures():
    assert mesh().lengths() == pytest.approx([1, 1, 2**0.5, 2**0.5, 1, 2])
    assert mesh().volumes() == pytest.approx(np.pi * RADIUS**2 * mesh().lengths())
    assert mesh().vertex_radius().tolist() == [0.3, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.05]
    assert RodMesh(VERTICES, SEGMENTS, 0.1).radius.tolist() == [0.1] * 6


def test_placement_moves_the_vertices_and_scales_the_radii():
    assert np.allclose(mesh().translated((1, 2, 3)).vertices, VERTICES + [1, 2, 3])
    turned = mesh().rotated((0, 0, 1), np.pi / 2).vertices
    assert np.allclose(turned, VERTICES @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    assert np.allclose(mesh().scaled(2.0).radius, 2.0 * RADIUS)
    assert np.allclose(mesh().scaled((1.0, 8.0, 1.0)).radius, 2.0 * RADIUS)


def test_the_radius_that_is_seen_is_carried_along():
    made = RodMesh(VERTICES, SEGMENTS, 0.1, seen_radius=0.5)
    for other in (made.translated((1, 0, 0)), made.rotated((0, 1, 0), 1.0), RodMesh.joined([made, made])):
        assert other.seen_radius == 0.5 and set(other.radius) == {0.1}
    assert made.scaled(2.0).seen_radius == 1.0
    assert set(Tubes.of(made).radius) == {0.5}
    with pytest.raises(InputError, match="seen_radius"):
        RodMesh(VERTICES, SEGMENTS, 0.1, seen_radius=-1.0)


def test_joined_rods_keep_their_parts_apart():
    both = RodMesh.joined([mesh(), mesh().translated((9, 0, 0))])
    assert both.roots().tolist() == [0, 6, 8, 14] and both.check() == []
    assert np.allclose(both.radius, np.tile(RADIUS, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"segments": np.zeros((0, 2), int)}, "no segments"),
        ({"radius": -1.0}, "the radius -1 m"),
        ({"segments": [*SEGMENTS.tolist(), [4, 0]]}, "1 segments close loops"),
        ({"segments": [*SEGMENTS.tolist(), [0, 1]]}, "1 segments close loops"),
        ({"segments": [[0, 9]]}, "9"),
        ({"segments": SEGMENTS[:-1], "radius": RADIUS[:-1]}, "no segment"),
        ({"vertices": np.where(np.arange(8)[:, None] == 7, VERTICES[6], VERTICES)}, "the length 0 m"),
    ],
)
def test_what_cannot_be_simulated_is_refused(change, message):
    given = {"vertices": VERTICES, "segments": SEGMENTS, "radius": 0.1, **change}
    with pytest.raises(InputError, match=message):
        RodMesh(**given).check("rope")


def test_a_radius_for_each_segment_is_needed():
    with pytest.raises(InputError, match="one for each of the 6 segments"):
        RodMesh(VERTICES, SEGMENTS, [0.1, 0.2])
