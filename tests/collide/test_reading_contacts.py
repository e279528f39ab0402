"""Contacts between bodies as they are read: forces, names, quantities, notes."""

import dataclasses
import warnings

import numpy as np
import pytest
from bodies import STILL, bits

from pliant import Material, Scene, shapes
from pliant.errors import InputError

GRAVITY = 9.81
STUFF = Material(density=500.0, young=2e5, damping=0.005, friction=0.5, drag=2.0)
BLOCK = shapes.box((0.4, 0.4, 0.4), 2)
WAYS = ("features", "cube_maps", "boxes")
METHODS = ("mass_spring", "shape_matching", "xpbd", "fem")


def stack(method, way="features", **contact):
    """Two blocks on a floor, a little above each other."""
    scene = Scene(contact={"between": "bodies", "method": way, **contact})
    scene.add_plane(name="floor")
    for k, name in enumerate(("lower", "upper")):
        scene.add_body(BLOCK, STUFF, method=method, name=name, position=(0.0, 0.201 + 0.404 * k, 0.0))
    return scene


def built(scene):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scene.build("cpu")


def weight(sim, name):
    return GRAVITY * sim.model.particles.mass[slice(*sim.body(name).particles)].sum()


def mean_over(sim, frames, measure):
    found = []
    for _ in range(frames):
        sim.frame()
        found.append(measure())
    return np.mean(found, axis=0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", METHODS)
def test_each_carries_what_stands_on_it(method, way):
    sim = built(stack(method, way))
    sim.frame(50)
    pairs = (("upper", "lower"), ("lower", "upper"), ("lower", "floor"), ("upper", "floor"))
    forces = mean_over(sim, 15, lambda: np.array([sim.contact_force_between(*pair) for pair in pairs]))
    upper, both = weight(sim, "upper"), weight(sim, "lower") + weight(sim, "upper")
    expected = np.array([[0.0, upper, 0.0], [0.0, -upper, 0.0], [0.0, both, 0.0], [0.0, 0.0, 0.0]])
    # within 1 % where it was tried
    np.testing.assert_allclose(forces, expected, atol=0.03 * both)


def test_a_hanging_cloth_carries_a_ball():
    scene = Scene(contact="bodies")
    scene.add_body(shapes.sheet((1.0, 1.0), 8), "cotton", method="xpbd", name="cloth")
    scene.pin("cloth", lambda x: (np.abs(x[:, [0, 2]]) > 0.499).all(axis=1))
    light = dataclasses.replace(STUFF, density=50.0)
    scene.add_body(shapes.ball(0.15, 3), light, method="shape_matching", name="ball", position=(0.0, 0.2, 0.0))
    sim = built(scene)
    sim.frame(120)
    force = mean_over(sim, 60, lambda: sim.contact_force_between("ball", "cloth"))
    speed = sim.velocities("ball").mean(axis=0)
    # it still swings a little
    assert np.abs(speed).max() < 0.3
    np.testing.assert_allclose(force / weight(sim, "ball"), [0.0, 1.0, 0.0], atol=0.1)


@pytest.mark.parametrize("way", WAYS)
def test_the_list_names_bodies_and_vertices(way):
    sim = built(stack("shape_matching", way))
    sim.frame(40)
    found = sim.body_contact_list()
    assert len(found) and found.names == tuple(body.name for body in sim.model.bodies)
    assert found.between("upper", "lower").all() and not found.between("upper", "upper").any()
    for (body, _), vertex, particle in zip(found.bodies, found.vertices[:, 0], found.particles[:, 0], strict=True):
        np.testing.assert_array_equal(sim.positions(int(body))[vertex], sim.state.x.numpy()[particle])
    np.testing.assert_allclose(found.force_on("upper", "lower"), -found.force_on("lower", "upper"))
    forces = found.particle_forces(sim.state.count)
    np.testing.assert_allclose(forces.sum(axis=0), 0.0, atol=1e-3 * weight(sim, "upper"))


@pytest.mark.parametrize("way", WAYS)
def test_measuring_changes_nothing(way):
    sims = [built(stack("shape_matching", way)) for _ in range(2)]
    for sim in sims:
        sim.frame(40)
    before = sims[0].body_contacts.read(sims[0].state, sims[0].dt)
    sims[0].contact_forces()
    sims[0].body_contact_list()
    sims[0].quantity("contact")
    after = sims[0].body_contacts.read(sims[0].state, sims[0].dt)
    for field in dataclasses.fields(before):
        np.testing.assert_array_equal(getattr(before, field.name), getattr(after, field.name))
    for sim in sims:
        sim.frame(5)
    assert bits(sims[0]) == bits(sims[1])


def test_contact_is_a_quantity_of_every_vertex():
    sim = built(stack("shape_matching"))
    sim.frame(50)
    upper = mean_over(sim, 10, lambda: sim.quantity("contact", "upper"))
    assert upper.sum() == pytest.approx(weight(sim, "upper"), rel=0.1)
    assert upper[BLOCK.vertices[:, 1] > 0].max() == 0.0
    lower = mean_over(sim, 10, lambda: sim.quantity("contact", "lower"))
    total = 2 * weight(sim, "upper") + weight(sim, "lower")
    assert lower.sum() == pytest.approx(total, rel=0.1)
    net = mean_over(sim, 10, lambda: sim.vertex_contact_forces("lower").sum(axis=0))
    np.testing.assert_allclose(net, [0.0, weight(sim, "lower"), 0.0], atol=0.05 * total)


def test_without_contact_nothing_is_listed():
    scene = Scene()
    scene.add_body(BLOCK, name="one")
    scene.add_body(BLOCK, name="two")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = scene.build("cpu")
    sim.frame()
    assert not len(sim.body_contact_list())
    np.testing.assert_array_equal(sim.contact_force_between("one", "two"), STILL)
    assert not sim.quantity("contact").any()
    with pytest.raises(InputError, match="no body or collider 'three'"):
        sim.contact_force_between("one", "three")


def test_bodies_that_start_inside_each_other_are_told_of():
    scene = Scene(gravity=STILL, contact="bodies")
    scene.add_body(BLOCK, STUFF, method="shape_matching", calibrate="off", name="one")
    scene.add_body(BLOCK, STUFF, method="shape_matching", calibrate="off", name="two", position=(0.35, 0.01, 0.02))
    scene.add_body(BLOCK, STUFF, method="shape_matching", calibrate="off", name="far", position=(0.0, 0.41, 0.0))
    with pytest.warns(UserWarning, match="starts 0.05 m inside '(one|two)'; they will be pushed apart"):
        sim = scene.build("cpu")
    assert sum("inside" in note for note in sim.notes) == 1
    sim.frame(60)
    apart = sim.positions("two").mean(axis=0) - sim.positions("one").mean(axis=0)
    assert np.linalg.norm(apart) > 0.4


def test_what_passed_through_a_sheet_is_told_of_once():
    scene = Scene(gravity=STILL, contact="bodies")
    for k in range(2):
        scene.add_body(shapes.sheet((0.4, 0.4), 4), "cotton", method="xpbd", name=f"sheet{k}", position=(0, 0.1 * k, 0))
    sim = built(scene)
    sim.frame()
    assert not any("passed" in note for note in sim.notes)
    sim.body_contacts.careful.left.fill_(1)
    with pytest.warns(UserWarning, match="passed through a sheet or a rod by frame 2"):
        sim.frame()
    sim.frame(2)
    assert sum("passed" in note for note in sim.notes) == 1
