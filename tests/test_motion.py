"""Motions over time: straight between keys, about their centre, the short way round."""

import itertools

import numpy as np
import pytest
from bodies import rotation

from pliant.errors import InputError
from pliant.motion import MotionPath, axis_angle, turned_by

POINTS = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [-0.4, 0.2, 0.9]])


def test_pairs_are_translations():
    path = MotionPath.make([(1.0, (0, 0, 0)), (3.0, (2, 4, 6))], "path", (5, 5, 5))
    assert path.is_translation and path.is_rigid
    for time, share in ((0.0, 0.0), (1.0, 0.0), (1.5, 0.25), (3.0, 1.0), (9.0, 1.0)):
        np.testing.assert_allclose(path.moved(POINTS, time), POINTS + share * np.array([2, 4, 6]), atol=1e-14)


def test_it_turns_and_scales_about_its_centre():
    center = np.array([1.0, -2.0, 0.5])
    path = MotionPath.make(
        [{"time": 0}, {"time": 2, "offset": (0, 1, 0), "rotation": (0, 0, 90), "scale": (2, 1, 0.5)}], "path", center
    )
    assert not path.is_rigid
    turned = (POINTS - center) * [1.5, 1.0, 0.75] @ rotation((0, 0, 1), np.pi / 4).T
    np.testing.assert_allclose(path.moved(POINTS, 1.0), center + turned + [0, 0.5, 0], atol=1e-14)


def test_whole_turns_about_one_axis_are_kept():
    path = MotionPath.make([{"time": 0}, {"time": 1, "rotation": (0, 720, 0)}], "path")
    np.testing.assert_allclose(path.at(0.125)[0], rotation((0, 1, 0), np.pi / 2), atol=1e-12)
    np.testing.assert_allclose(path.at(1.0)[0], np.eye(3), atol=1e-12)


def test_turns_about_several_axes_go_the_short_way_at_a_steady_pace():
    path = MotionPath.make([{"time": 0, "rotation": (90, 0, 0)}, {"time": 1, "rotation": (0, 90, 0)}], "path")
    times = np.linspace(0, 1, 9)
    turns = [path.at(t)[0] for t in times]
    np.testing.assert_allclose(turns[0], rotation((1, 0, 0), np.pi / 2), atol=1e-12)
    np.testing.assert_allclose(turns[-1], rotation((0, 1, 0), np.pi / 2), atol=1e-12)
    steps = [np.linalg.norm(axis_angle(b @ a.T)) for a, b in itertools.pairwise(turns)]
    np.testing.assert_allclose(steps, steps[0], atol=1e-12)
    assert sum(steps) == pytest.approx(2 * np.pi / 3)
    for turn in turns:
        np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)


def test_rotations_and_their_vectors_go_both_ways():
    rng = np.random.default_rng(2)
    for axis in rng.normal(size=(20, 3)):
        for angle in (0.0, 1e-5, 1.0, 3.0, np.pi):
            vector = angle * axis / np.linalg.norm(axis)
            back = axis_angle(turned_by(vector))
            np.testing.assert_allclose(turned_by(back), turned_by(vector), atol=1e-9)
            assert np.linalg.norm(back) == pytest.approx(angle, abs=1e-7)


def test_later_is_the_same_motion_later():
    path = MotionPath.make([(0.0, (0, 0, 0)), (1.0, (1, 0, 0))], "path")
    np.testing.assert_array_equal(path.later(2.0).moved(POINTS, 2.4), path.moved(POINTS, 2.4 - 2.0))


def test_arrays_hold_all_of_it():
    path = MotionPath.make([{"time": 0}, {"time": 2, "rotation": (5, 6, 7), "scale": 3}], "path", (1, 2, 3))
    again = MotionPath(**path.arrays())
    np.testing.assert_array_equal(again.moved(POINTS, 0.7), path.moved(POINTS, 0.7))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([], "no keys"),
        ("now", "not a path"),
        ({"time": 0}, "not a path"),
        (3, "not a path"),
        ([(0, (0, 0, 0)), (0, (1, 0, 0))], "do not rise"),
        ([(float("inf"), (0, 0, 0))], "inf"),
        ([(0, (0, 0))], "[0].offset"),
        ([{"time": 0, "turn": (0, 0, 0)}], "key 0"),
        ([{"time": 0, "scale": (1, -1, 1)}], "[0].scale"),
        ([{"time": 0, "rotation": (0, "x", 0)}], "[0].rotation"),
        ([(0, 1, 2)], "key 0"),
    ],
)
def test_mistakes_are_named(keys, words):
    with pytest.raises(InputError) as error:
        MotionPath.make(keys, "path")
    assert words in str(error.value)
