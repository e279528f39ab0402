"""Contact between bodies as it is meant to be used: tall stacks, folds, cloth around bodies, plates, bowls."""

import dataclasses

import numpy as np
import pytest

from pliant import PRESETS, Material, Scene, SurfaceMesh, shapes
from pliant.bench.pile import deepest
from pliant.mesh.repair.intersect import self_intersections

COTTON = dataclasses.replace(PRESETS["cotton"], drag=0.0)


def crossings(sim, *names):
    """Triangles of these bodies that cut another of them, by brute force."""
    points, triangles, first = [], [], 0
    for name in names:
        points.append(sim.positions(name).astype(np.float64))
        triangles.append(sim.body(name).seen_triangles() + first)
        first += len(points[-1])
    return self_intersections(SurfaceMesh(np.concatenate(points), np.concatenate(triangles))).triangles


def place(scene, method, name, at):
    """A light and stiff block of 0.2 m: a column of ten of it is far from bending under its weight."""
    stuff = Material(young=2e6, poisson=0.3, density=200.0, damping=0.002, friction=0.6)
    scene.add_body(shapes.box((0.2,) * 3, 1), stuff, method=method, name=name, position=at)


@pytest.mark.parametrize("method", ["mass_spring", "shape_matching", "xpbd", "fem"])
def test_a_stack_of_ten_blocks_stands(method, device):
    scene = Scene(contact="bodies")
    scene.add_plane()
    start = np.array([(0.005 * (k % 2), 0.101 + 0.2015 * k, 0.0) for k in range(10)])
    for k, at in enumerate(start):
        place(scene, method, f"b{k}", at)
    sim = scene.build(device)
    sim.frame(120)
    first = np.array([sim.positions(f"b{k}").mean(axis=0) for k in range(10)])
    sim.frame(60)
    middles = np.array([sim.positions(f"b{k}").mean(axis=0) for k in range(10)])
    np.testing.assert_allclose(middles[:, [0, 2]], start[:, [0, 2]], atol=0.015)
    # each on the one below, and none sinks in over time
    np.testing.assert_allclose(np.diff(middles[:, 1]), 0.2, atol=0.004)
    np.testing.assert_allclose(middles, first, atol=0.01)
    assert deepest(sim) < 1e-3


def folded(layers, side, per_layer, rise):
    """A strip at rest, and where its vertices are when it is folded to and fro [m]."""
    strip = shapes.sheet((layers * side, 0.1), (layers * per_layer, 3))
    along = (strip.vertices[:, 0] - strip.vertices[:, 0].min()) / side
    layer = np.minimum(np.floor(along + 1e-9), layers - 1)
    share = along - layer
    width = np.sqrt(side**2 - rise**2)
    x = width * (np.where(layer % 2 == 0, share, 1.0 - share) - 0.5)
    return strip, layer, np.stack([x, 0.02 + rise * along, strip.vertices[:, 2]], axis=1)


@pytest.mark.parametrize("contact", ["all", "none"])
def test_a_cloth_folded_ten_times_does_not_cross_itself(contact, device):
    """Eleven layers fall onto each other; without contact they all end in the floor's plane."""
    strip, layer, x = folded(11, 0.16, 4, 0.05)
    scene = Scene(contact=contact)
    scene.add_plane()
    scene.add_body(strip, COTTON, method="xpbd", name="strip")
    sim = scene.build(device)
    sim.set_state("strip", x)
    sim.frame(30)
    found, y = crossings(sim, "strip"), sim.positions("strip")
    # they have come down: the pile was 0.55 m high
    assert y[:, 1].max() < 0.1
    if contact == "none":
        assert found > 50
        return
    assert found == 0 and sim.body_contacts.careful.left.numpy()[0] == 0
    # still eleven layers, each above the one before
    heights = [np.median(y[layer == k, 1]) for k in range(11)]
    assert (np.diff(heights) > 0.0).all()
    middle = [y[layer == k, 0].max() - y[layer == k, 0].min() for k in range(11)]
    assert min(middle) > 0.08


@pytest.mark.parametrize("cloth", ["xpbd", "baraff_witkin", "mass_spring"])
@pytest.mark.parametrize("plate", ["sheet", "fem", "shape_matching"])
def test_cloth_at_ten_metres_a_second_does_not_pass_a_plate_of_a_millimetre(cloth, plate, device):
    """The plate is a body too: a sheet of this thickness, or a solid."""
    scene = Scene(contact="bodies")
    soft = Material(young=2e5, density=400.0, thickness=3e-4, damping=0.002)
    stuff = soft if cloth == "mass_spring" else COTTON
    at = (0.003, 0.12, 0.002)
    scene.add_body(shapes.sheet((0.3, 0.3), 6), stuff, method=cloth, position=at, velocity=(0, -10, 0), name="cloth")
    hard = Material(young=1e6, density=1000.0, thickness=1e-3, damping=0.001, friction=0.5)
    mesh = shapes.sheet((0.5, 0.5), 4) if plate == "sheet" else shapes.box((0.5, 0.001, 0.5), (4, 1, 4))
    scene.add_body(mesh, hard, method="xpbd" if plate == "sheet" else plate, name="plate")
    scene.pin("plate", lambda x: np.ones(len(x), bool))
    sim = scene.build(device)
    for _ in range(4):
        sim.frame()
        assert sim.positions("cloth")[:, 1].min() > 0.0005
    assert sim.velocities("cloth")[:, 1].mean() > -1.0
    assert crossings(sim, "cloth", "plate") == 0


def test_cloth_lies_under_and_over_a_ball(device):
    scene = Scene(contact="all")
    scene.add_plane()
    for name, height in (("under", 0.01), ("over", 0.3)):
        scene.add_body(shapes.sheet((0.6, 0.6), 10), "cotton", method="xpbd", position=(0, height, 0), name=name)
    scene.add_body(shapes.ball(0.12, 2), "soft_rubber", method="shape_matching", position=(0, 0.15, 0), name="ball")
    sim = scene.build(device)
    sim.frame(90)
    assert crossings(sim, "under", "over") == 0
    assert not any("passed" in note for note in sim.notes)
    away = np.linalg.norm(sim.positions("over") - sim.positions("ball").mean(axis=0), axis=1)
    assert away.min() > 0.07
    under, over, ball = (sim.positions(name)[:, 1] for name in ("under", "over", "ball"))
    # the one is flat below the ball, the other hangs over it down to the floor
    assert under.max() < 0.01 < over.max() and ball.min() > 0.0 and over.max() > ball.max()
    assert over.min() < 0.02


@pytest.mark.parametrize("method", ["shape_matching", "xpbd", "fem"])
def test_ducks_come_to_rest_in_a_bowl(method, device):
    scene = Scene(contact="bodies")
    ball = shapes.ball(0.5, 4)
    vertices, triangles = ball.vertices * [1.0, 0.7, 1.0], ball.surface()
    lower = triangles[vertices[triangles].mean(axis=1)[:, 1] < 0.0]
    scene.add_mesh_collider(SurfaceMesh(vertices, lower), thickness=0.01, name="bowl")
    for k in range(4):
        at = (0.1 * (-1) ** k, 0.22 * k, 0.05 * (k % 3 - 1))
        scene.add("duck", "soft_rubber", size=0.25, tets=150, method=method, position=at, name=f"duck{k}")
    sim = scene.build(device)
    sim.frame(90)
    x = sim.positions()
    assert (np.abs(x[:, [0, 2]]) < 0.6).all() and (x[:, 1] > -0.36).all()
    assert deepest(sim) < 2e-3
    assert np.abs(sim.velocities()).max() < 1.5
