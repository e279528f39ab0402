"""Forces of contacts: they carry the weight, oppose sliding, and measuring them changes nothing."""

import dataclasses

import numpy as np
import pytest
from bodies import bits, build

from pliant import PRESETS, Scene, shapes

GRAVITY = 9.81
CALM = dataclasses.replace(PRESETS["soft_rubber"], drag=10.0)
METHODS = {
    "verlet": ("mass_spring", {"integrator": "verlet"}),
    "symplectic": ("mass_spring", {"integrator": "symplectic"}),
    "implicit": ("mass_spring", {"integrator": "implicit"}),
    "projection": ("shape_matching", {}),
    "penalty": ("shape_matching", {"contact": "penalty"}),
}
GROUNDS = {
    "plane": lambda scene, friction: scene.add_plane(friction=friction),
    "box": lambda scene, friction: scene.add_box((4, 1, 4), (0, -0.5, 0), friction=friction),
    "room": lambda scene, friction: scene.add_box((4, 4, 4), (0, 2, 0), inside=True, friction=friction),
    "sphere": lambda scene, friction: scene.add_sphere(1000.0, (0, -1000, 0), friction=friction),
}


def resting(how, ground, device, friction=0.6, material=CALM):
    method, settings = METHODS[how]
    scene = Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.configure(method, **settings)
    scene.add_body(shapes.box((0.2, 0.2, 0.2), 2), material, method=method, position=(0, 0.1005, 0), name="block")
    GROUNDS[ground](scene, friction)
    return build(scene, device)


def total(sim, frames):
    """Mean of all contact forces over some frames [N] (3,)."""
    sums = []
    for _ in range(frames):
        sim.frame()
        sums.append(sim.contact_forces()[1].sum(axis=0))
    return np.mean(sums, axis=0)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("how", METHODS)
def test_the_forces_on_a_body_at_rest_add_up_to_its_weight(how, ground, device):
    # implicit steps are so long that drag takes a share of what falls within one of them
    drag = 1.0 if how == "implicit" else 10.0
    sim = resting(how, ground, device, material=dataclasses.replace(CALM, drag=drag))
    sim.frame(50)
    weight = GRAVITY * sim.model.particles.mass.sum()
    force = total(sim, 15)
    np.testing.assert_allclose(force / weight, [0.0, 1.0, 0.0], atol=0.04)


@pytest.mark.parametrize("ground", ["plane", "box"])
@pytest.mark.parametrize("how", ["verlet", "implicit", "projection"])
def test_friction_is_opposite_to_the_motion_and_as_large_as_coulomb_says(how, ground, device):
    material = dataclasses.replace(CALM, drag=0.0, friction=0.3)
    sim = resting(how, ground, device, 0.3, material)
    sim.frame(30)
    sim.set_state("block", velocities=sim.velocities() + np.array([2.0, 0.0, 1.0], np.float32))
    sim.frame(2)
    force = total(sim, 8)
    speed = sim.velocities().mean(axis=0)
    assert np.hypot(*speed[[0, 2]]) > 0.5
    along = force[[0, 2]] / np.hypot(*force[[0, 2]])
    np.testing.assert_allclose(along, -speed[[0, 2]] / np.hypot(*speed[[0, 2]]), atol=0.1)
    assert np.hypot(*force[[0, 2]]) == pytest.approx(0.3 * force[1], rel=0.05)


@pytest.mark.parametrize("how", METHODS)
def test_measuring_changes_nothing(how, device):
    sims = [resting(how, "plane", device) for _ in range(2)]
    for sim in sims:
        sim.pull("block", 0, (0.3, 0.4, 0.0), 5.0)
        sim.frame(5)
    before, listed = bits(sims[0]), sims[0].contact_list()
    found, forces = sims[0].contact_forces()
    assert len(found) == len(forces) > 0 and np.abs(forces).max() > 0
    assert bits(sims[0]) == before
    again = sims[0].contact_list()
    np.testing.assert_array_equal(listed.particle, again.particle)
    np.testing.assert_array_equal(listed.depth, again.depth)
    for sim in sims:
        sim.frame(3)
    assert bits(sims[0]) == bits(sims[1])


def test_every_collider_has_its_own_share(device):
    # a block in a groove between two slopes of 45 degrees
    scene = Scene(gravity=(0.0, -GRAVITY, 0.0))
    frictionless = dataclasses.replace(CALM, friction=0.0)
    mesh = shapes.box((0.2, 0.2, 0.2), 2)
    scene.add_body(mesh, frictionless, position=(0, 0.1 * 2**0.5, 0), rotation=(0, 0, 45), name="block")
    scene.add_plane((0, 0, 0), (1, 1, 0), name="left")
    scene.add_plane((0, 0, 0), (-1, 1, 0), name="right")
    scene.add_box((4, 4, 4), (0, 9, 0))
    sim = build(scene, device)
    sim.frame(60)
    shares = []
    for _ in range(20):
        sim.frame()
        found, forces = sim.contact_forces()
        shares.append([forces[found.collider == k].sum(axis=0) for k in range(3)])
        for k, normal in ((0, [1, 1, 0]), (1, [-1, 1, 0])):
            mine = found.collider == k
            np.testing.assert_allclose(found.normal[mine], np.tile(normal, (mine.sum(), 1)) / 2**0.5, atol=1e-6)
    left, right, above = np.mean(shares, axis=0) / (GRAVITY * sim.model.particles.mass.sum())
    np.testing.assert_allclose(left, [0.5, 0.5, 0.0], atol=0.05)
    np.testing.assert_allclose(right, [-0.5, 0.5, 0.0], atol=0.05)
    assert not above.any()


def test_nothing_touches_where_nothing_is(device):
    scene = Scene()
    scene.add_body(shapes.box((0.2, 0.2, 0.2), 2), CALM, name="block")
    sim = build(scene, device)
    found, forces = sim.contact_forces()
    assert len(found) == 0 and forces.shape == (0, 3)
    assert len(found.body) == 0


def test_contacts_name_bodies_and_vertices(device):
    sim = resting("projection", "plane", device)
    sim.frame(20)
    found, forces = sim.contact_forces()
    assert set(found.body.tolist()) == {0} and forces.shape == (len(found), 3)
    assert np.all(sim.positions("block")[found.vertex, 1] < 1e-3)
