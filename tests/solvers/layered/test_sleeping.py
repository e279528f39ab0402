"""Layered bodies sleep where they lie, and wake when something falls on them."""

import numpy as np
from bodies import layered

from pliant import Material, Scene, shapes

STUFF = Material(density=300.0, young=2e5, poisson=0.35, damping=0.002, friction=0.6)


def block():
    return layered(shapes.box((0.4, 0.3, 0.4), (3, 2, 3)).surface_mesh(), 0.6)


def test_a_block_falls_asleep_stays_and_wakes(device):
    scene = Scene(contact="bodies", sleep=0.2)
    scene.add_body(block(), STUFF, method="layered", name="low", position=(0, 0.151, 0))
    scene.add_body(block(), STUFF, method="layered", name="high", position=(0.02, 1.9, 0.02))
    scene.add_plane()
    sim = scene.build(device)
    sim.frame(27)
    assert sim.is_asleep("low") and not sim.is_asleep("high")
    before, core = sim.positions("low").copy(), sim.solvers[0].cores().position[0]
    sim.frame(3)
    assert sim.is_asleep("low")
    np.testing.assert_array_equal(sim.positions("low"), before)
    np.testing.assert_array_equal(sim.solvers[0].cores().position[0], core)
    assert np.abs(sim.velocities("low")).max() == 0.0
    asleep = True
    for _ in range(20):
        sim.frame()
        asleep &= sim.is_asleep("low")
    assert not asleep
    # both come to rest, one on the other
    sim.frame(60)
    assert sim.positions("high")[:, 1].mean() > 0.4
    assert 0.14 < sim.positions("low")[:, 1].mean() < 0.151
