"""Capsules: their distance, the contacts the device finds with them, and what is fast."""

import dataclasses

import numpy as np
import pytest
from bodies import build
from detecting import closest_points, detect

from pliant import InputError, Scene, shapes
from pliant.collide.shapes.capsule import Capsule

BAR = Capsule(0.3, (-0.6, 0.1, 0.2), (0.5, 0.4, -0.1), name="bar")


def points_around(count, seed=0):
    local = np.random.default_rng(seed).uniform(-1.1, 1.1, (count, 3))
    return (BAR.center + local).astype(np.float32).astype(np.float64)


def test_what_is_drawn_is_closed_and_lies_on_it():
    vertices, triangles = BAR.triangles()
    np.testing.assert_allclose(BAR.distance(vertices), 0.0, atol=1e-12)
    edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    corners = vertices[triangles]
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    exact = np.pi * 0.3**2 * 2.0 * np.linalg.norm(BAR.half) + 4.0 / 3.0 * np.pi * 0.3**3
    assert 0.95 * exact < volume < exact
    points = points_around(100)
    _, apart = closest_points(points, corners)
    np.testing.assert_allclose(np.abs(BAR.distance(points)), apart, atol=0.01)


def test_two_ends_in_one_place_are_a_sphere(device):
    ball = Capsule(0.5, (1, 2, 3), (1, 2, 3))
    points = np.array([1, 2, 3]) + np.random.default_rng(0).uniform(-1, 1, (100, 3))
    np.testing.assert_allclose(ball.distance(points), np.linalg.norm(points - [1, 2, 3], axis=1) - 0.5)
    assert np.isfinite(ball.triangles()[0]).all()
    found = detect([ball], points, device)
    np.testing.assert_array_equal(found.depth[:, 0] >= 0, ball.distance(points) <= 0)


@pytest.mark.parametrize("margin, radius", [(0.0, 0.0), (0.1, 0.0), (0.0, 0.15), (0.05, 0.1)])
def test_the_device_finds_what_the_distance_says(margin, radius, device):
    points = points_around(2000)
    distance = BAR.distance(points) - radius
    clear = np.abs(distance - margin) > 1e-5
    found = detect([BAR], points, device, margin, radius=radius)
    touching = found.depth[:, 0] >= 0
    np.testing.assert_array_equal(touching[clear], (distance <= margin)[clear])
    assert 50 < np.count_nonzero(touching) < 1900
    np.testing.assert_allclose(found.depth[touching, 0], np.maximum(-distance[touching], 0.0), atol=2e-6)
    np.testing.assert_allclose(found.gap[touching, 0], distance[touching], atol=3e-6)


def test_ways_into_a_capsule_are_those_that_sampling_finds(device):
    rng = np.random.default_rng(3)
    before = points_around(8000, 1)
    before = before[BAR.distance(before) > 0.01]
    x = (before + rng.normal(0.0, 0.8, before.shape)).astype(np.float32).astype(np.float64)
    ways = before + np.linspace(0, 1, 200)[:, None, None] * (x - before)
    least = BAR.distance(ways.reshape(-1, 3)).reshape(200, -1).min(axis=0)
    found = detect([BAR], x, device, before=before)
    touching = found.depth[:, 0] >= 0
    surely, never = least < -0.01, least > 0.005
    assert touching[surely].all() and not touching[never].any()
    assert np.count_nonzero(surely) > 300 and np.count_nonzero(never) > 300
    assert np.all(np.einsum("ij,ij->i", found.normal[:, 0], x - before)[touching] < 0)
    # the plane that puts a particle back touches the capsule and has nothing of it in front
    vertices = BAR.triangles()[0]
    offset = np.einsum("ij,ij->i", found.normal[:, 0], x) - found.gap[:, 0]
    front = (found.normal[touching, 0] @ vertices.T).max(axis=1)
    np.testing.assert_allclose(offset[touching], front, atol=0.01)


def test_what_is_fast_does_not_jump_through_a_thin_bar(device):
    scene = Scene(gravity=(0, 0, 0), substeps=1)
    box = shapes.box((0.1, 0.1, 0.1), 2)
    scene.add_body(box, method="shape_matching", position=(0.0, 0.2, 0.0), name="block")
    scene.add_capsule(0.002, (-1, 0, 0), (1, 0, 0), friction=0.0)
    sim = build(scene, device)
    sim.set_state("block", velocities=np.tile([0.0, -20.0, 0.0], (len(sim.positions()), 1)))
    sim.frame(1)
    line = np.abs(scene.bodies[0].mesh.vertices[:, 2]) < 1e-9
    assert line.any() and sim.positions()[line, 1].min() > 0.0


@pytest.mark.parametrize(
    "change", [{"radius": 0.0}, {"radius": np.inf}, {"start": (0, 1)}, {"end": (0, np.nan, 0)}, {"radius": "big"}]
)
def test_bad_values_are_named(change):
    with pytest.raises(InputError, match=f"bar'.{next(iter(change))}"):
        dataclasses.replace(BAR, **change)
