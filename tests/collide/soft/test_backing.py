"""What is pressed against colliders by bodies: the weight gets to the floor, and forces are read as they are."""

import numpy as np
import pytest

from pliant import Material, Scene, SurfaceMesh, shapes

COTTON = Material(
    density=400.0, young=3.3e7, young_weft=2e7, shear=1.9e5, bending=6e-6, thickness=3e-4, damping=0.004, friction=0.5
)
RUBBER = Material(density=1200.0, young=1e6, damping=0.01, friction=0.6)
WEIGHT = 1200.0 * 0.3**3 * 9.81
"""Of the block [N]."""


def floored(kind, scene):
    if kind == "plane":
        scene.add_plane(name="floor", friction=0.5)
    elif kind == "thin box":
        scene.add_box((2.0, 0.01, 2.0), position=(0, -0.005, 0), name="floor", friction=0.5)
    else:
        slab = shapes.box((2.0, 0.1, 2.0), 4)
        mesh = SurfaceMesh(slab.vertices + [0, -0.05, 0], slab.surface())
        scene.add_mesh_collider(mesh, name="floor", friction=0.5)


def block_on_cloth(device, cloth="xpbd", block="shape_matching", kind="plane", **more):
    scene = Scene(contact="bodies")
    floored(kind, scene)
    scene.add_body(shapes.sheet((0.8, 0.8), 10), COTTON, method=cloth, name="cloth", position=(0, 0.004, 0))
    box = shapes.box((0.3, 0.3, 0.3), 3)
    scene.add_body(box, RUBBER, method=block, name="block", position=(0, 0.165, 0), **more)
    return scene.build(device)


def forces(sim, count=4):
    found = []
    for _ in range(count):
        sim.frame()
        found.append([sim.contact_force_between("block", "cloth"), sim.contact_force_between("cloth", "floor")])
    return np.mean(found, axis=0)


@pytest.mark.parametrize(
    ("cloth", "block", "kind"),
    [
        ("xpbd", "shape_matching", "plane"),
        ("shape_matching", "xpbd", "plane"),
        ("baraff_witkin", "shape_matching", "plane"),
        ("xpbd", "fem", "plane"),
        ("xpbd", "shape_matching", "thin box"),
        ("xpbd", "shape_matching", "mesh"),
    ],
)
def test_a_heavy_block_on_a_light_cloth_presses_on_the_floor(cloth, block, kind, device):
    sim = block_on_cloth(device, cloth, block, kind)
    sim.frame(36)
    on_block, on_cloth = forces(sim)
    light = 400.0 * 3e-4 * 0.8**2 * 9.81
    # 1 % off was measured
    assert on_block[1] == pytest.approx(WEIGHT, rel=0.04)
    assert on_cloth[1] == pytest.approx(WEIGHT + light, rel=0.04)
    np.testing.assert_allclose(sim.contact_force_between("block", "floor"), 0.0, atol=0.02 * WEIGHT)
    # in their order, and nothing moves
    assert sim.positions("block")[:, 1].min() > sim.positions("cloth")[:, 1].max() > 0.0
    assert sim.positions("cloth")[:, 1].max() < 0.002
    assert np.abs(sim.velocities("cloth")).max() < 0.02
    assert np.abs(sim.velocities("block").mean(axis=0)).max() < 0.03
    assert not any("passed" in note for note in sim.notes)


def test_a_block_slides_on_a_cloth_that_the_floor_holds(device):
    sim = block_on_cloth(device, velocity=(1.0, 0.0, 0.0))
    sim.frame(4)
    rubs = []
    for _ in range(4):
        sim.frame()
        force = sim.contact_force_between("block", "cloth")
        rubs.append(force[0] / force[1])
    sim.frame(42)
    # the cloth lets go of neither before the floor does: friction is the geometric mean of 0.5 and 0.5
    assert -0.51 < np.mean(rubs) < -0.2
    assert np.abs(sim.velocities("block").mean(axis=0)).max() < 0.06
    assert 0.02 < sim.positions("block")[:, 0].mean() < 0.16
    assert np.abs(sim.positions("cloth")[:, [0, 2]]).max() < 0.405


def test_momentum_is_what_the_floor_gives(device):
    sim = block_on_cloth(device)
    sim.frame(3)
    mass = sim.masses()[:, None]
    momentum = lambda: (mass * sim.state.v.numpy().astype(np.float64)).sum(axis=0)
    for _ in range(4):
        sim.frame(3)
        before = momentum()
        force = sim.contact_force_between("cloth", "floor") + sim.contact_force_between("block", "floor")
        sim.pipeline.aim(sim.time, sim.time + sim.frame_dt, sim.substeps)
        sim.body_contacts.begin_frame(sim.frame_dt)
        sim.issue_substep()
        gained = (momentum() - before) / sim.dt - mass.sum() * np.array([0.0, -9.81, 0.0])
        np.testing.assert_allclose(gained, force, atol=0.01 * WEIGHT)


def test_a_stack_is_pressed_into_a_corner(device):
    scene = Scene(contact="bodies", gravity=(-4.0, -9.81, 0.0))
    scene.add_plane(name="floor", friction=0.02)
    scene.add_plane(normal=(1.0, 0.0, 0.0), name="wall", friction=0.3)
    cube = shapes.box((0.2, 0.2, 0.2), 2)
    for k in range(2):
        scene.add_body(cube, RUBBER, method="shape_matching", name=f"b{k}", position=(0.105, 0.102 + 0.204 * k, 0.0))
    scene.add_body(shapes.sheet((0.2, 0.2), 4), COTTON, method="xpbd", name="cloth", position=(0.11, 0.412, 0.0))
    cotton = shapes.sheet((0.16, 0.16), 4)
    scene.add_body(cotton, COTTON, method="xpbd", name="lining", position=(0.0025, 0.1, 0.0), rotation=(0, 0, 90))
    sim = scene.build(device)
    sim.frame(60)
    for k in range(2):
        x = sim.positions(f"b{k}")
        assert x[:, :2].min() > -1e-4
        assert x.mean(axis=0) == pytest.approx([0.105, 0.1 + 0.2 * k, 0.0], abs=0.02)
    held = np.zeros(3)
    for name in ("b0", "b1", "lining"):
        held += sim.contact_force_between(name, "floor") + sim.contact_force_between(name, "wall")
    mass = sum(sim.masses()[slice(*sim.body(name).particles)].sum() for name in ("b0", "b1", "cloth", "lining"))
    np.testing.assert_allclose(held, [4.0 * mass, 9.81 * mass, 0.0], atol=0.05 * 9.81 * mass)
    assert sim.contact_force_between("lining", "wall")[0] > 0.3 * 4.0 * mass
    assert sim.positions("b1")[:, 1].min() > sim.positions("b0")[:, 1].max() - 0.004
    # the cloth between the lower one and the wall stays there
    assert np.abs(sim.positions("lining")[:, 0]).max() < 0.004


@pytest.mark.parametrize("replayed", [True, False])
def test_a_plate_that_moves_presses_a_cloth_on_a_block(replayed, device):
    scene = Scene(contact="bodies")
    scene.add_plane(name="floor")
    scene.add_body(
        shapes.box((0.3, 0.2, 0.3), (3, 2, 3)), RUBBER, method="shape_matching", name="block", position=(0, 0.1, 0)
    )
    scene.add_body(shapes.sheet((0.28, 0.28), 6), COTTON, method="xpbd", name="cloth", position=(0, 0.2065, 0))
    down = [(0.0, (0, 0, 0)), (0.1, (0, 0, 0)), (0.4, (0, -0.02, 0))]
    scene.add_box((0.5, 0.1, 0.5), position=(0, 0.262, 0), path=down, name="plate")
    sim = scene.build(device)
    sim.frame(30, check=not replayed)
    x, y = sim.positions("block"), sim.positions("cloth")
    # what is squeezed between the two stays between them
    assert y[:, 1].max() < 0.1921 and y[:, 1].min() > x[:, 1].max() - 0.002
    pressed = sim.contact_force_between("cloth", "plate")[1]
    assert pressed < -100.0
    assert sim.contact_force_between("block", "cloth")[1] == pytest.approx(pressed, rel=0.1)
