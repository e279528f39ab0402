"""Shape-matched bodies under forces and at contacts: no energy comes from springs besides, nor from a bounce."""

import numpy as np
import pytest
from bodies import build

from pliant import InputError, Material, PointCloud, Scene, SurfaceMesh, VoxelLattice, shapes

BOX = shapes.box((0.4, 0.2, 0.2), (6, 3, 3))
BALL = shapes.ball(0.2, 3)


@pytest.mark.parametrize("stiffness", [300.0, 1e9])
def test_an_undamped_pull_makes_no_energy(stiffness, device):
    scene = Scene(gravity=(0, 0, 0), substeps=8)
    scene.add_body(BOX, Material(young=8e4, damping=0.0), method="shape_matching", name="box")
    sim = build(scene, device)
    handle = sim.pull("box", 0, (0.5, 0.5, 0.0), stiffness, damping=0.0, spread=1)
    used = sim.pulls.get(handle).stiffness
    start = 0.5 * used * np.sum((sim.positions()[0] - [0.5, 0.5, 0.0]) ** 2)
    highest = 0.0
    for _ in range(150):
        sim.frame()
        highest = max(highest, sim.diagnostics().kinetic)
    # at the longest step that is allowed a pull wavers by half a swing's phase
    assert highest < 1.5 * start


@pytest.mark.parametrize("volume", ["pressure", "support", "global_volume"])
def test_filled_surfaces_come_to_rest(volume, device):
    surface = SurfaceMesh(BALL.vertices, BALL.surface()).drop_unused()
    scene = Scene()
    scene.add_body(
        surface, "soft_rubber", method="shape_matching", volume=volume, position=(0, 0.25, 0), name="balloon"
    )
    scene.add_plane()
    sim = build(scene, device)
    start = sim.diagnostics().energy
    sim.frame(120)
    now = sim.diagnostics()
    assert now.max_speed < 2.0 and now.kinetic < 0.1 * abs(start)


@pytest.mark.parametrize("restitution", [1.0, 0.7])
def test_a_bounce_makes_no_energy(restitution, device):
    scene = Scene()
    stuff = Material(young=1e6, damping=0.0, restitution=restitution, friction=0.0)
    scene.add_body(BALL, stuff, method="shape_matching", position=(0, 1.0, 0))
    scene.add_plane(friction=0.0)
    sim = build(scene, device)
    start = sim.diagnostics().energy
    highest = start
    for _ in range(200):
        sim.frame()
        highest = max(highest, sim.diagnostics().energy)
    assert highest < 1.001 * start


@pytest.mark.parametrize("mode", ["rigid", "linear"])
def test_a_penalty_holds_a_box_on_a_slope(mode, device):
    normal = (-np.sin(np.radians(20)), np.cos(np.radians(20)), 0.0)
    ways = []
    for friction in (0.5, 0.2):
        scene = Scene(substeps=8)
        scene.configure("shape_matching", contact="penalty")
        scene.add_body(
            shapes.box((0.3, 0.2, 0.3), (6, 4, 6)), Material(young=1e5, friction=friction), method="shape_matching",
            rotation=(0, 0, 20), position=(-0.0342, 0.094, 0), matching={"mode": mode},
        )  # fmt: skip
        scene.add_plane(normal=normal, friction=friction)
        sim = build(scene, device)
        sim.frame(120)
        before = sim.positions().mean(axis=0)
        sim.frame(60)
        ways.append(np.linalg.norm(sim.positions().mean(axis=0) - before))
    # tan(20 degrees) is 0.36: the first holds, the second slides
    assert ways[0] < 0.003 and ways[1] > 0.3


def test_the_energy_is_that_of_the_pull_in_use(device):
    """A body that the step makes softer, or whose alpha replaces its material, never has more than it fell with."""
    for stuff, matching in ((Material(young=1e10, damping=0.0), {}), (Material(young=1e10), {"alpha": 0.5})):
        scene = Scene(substeps=4)
        scene.add_body(BOX, stuff, method="shape_matching", position=(0, 0.5, 0), matching=matching)
        scene.add_plane()
        sim = build(scene, device)
        start = sim.diagnostics().energy
        for _ in range(40):
            sim.frame()
            assert sim.diagnostics().energy < 1.01 * start


def test_a_weakened_pull_is_damped_as_it_should_be():
    scene = Scene(gravity=(0, 0, 0), substeps=4)
    scene.add_body(BOX, "soft_rubber", method="shape_matching", name="box")
    sim = build(scene)
    pull = sim.pulls.get(sim.pull("box", 0, (0.5, 0.5, 0.0), 1e9, spread=1))
    mass = sim.model.particles.mass[sim.body("box").particle_of[0]]
    assert pull.stiffness == pytest.approx(0.25 * mass / sim.dt**2)
    assert pull.damping == pytest.approx(0.25 * mass / sim.dt)
    assert any("weakened" in note for note in sim.notes)


def refused(match, mesh, material=None, **how):
    scene = Scene()
    scene.add_body(mesh, material or Material(), method="shape_matching", name="it", **how)
    with pytest.raises(InputError, match=match):
        scene.build("cpu")


def test_what_would_take_for_ever_is_refused():
    rng = np.random.default_rng(0)
    refused("very long", PointCloud(rng.normal(size=(30_000, 3)), volume=1.0), matching={"clusters": 25_000})
    cells = np.argwhere(np.ones((24, 24, 24), bool))
    wide = {"mode": "quadratic", "clusters_by": "lattice", "region_width": 40}
    refused("members in all", VoxelLattice.from_cells(cells, 0.1), matching=wide)
    small = VoxelLattice.from_cells(cells[(cells < 12).all(axis=1)], 0.1)
    near = {"clusters_by": "lattice", "region_width": 3, "fast": False}
    refused("overlap so much", small, Material(fracture_strain=0.1), matching=near)


def test_errors_of_building_name_the_body():
    refused("body 'it'", BOX, matching={"clusters_by": "lattice"})
    refused("body 'it'", PointCloud([[0.0, 0, 0], [0, 0, 0]]))


def test_matching_of_springs_is_told():
    scene = Scene()
    scene.add_body(BOX, matching={"mode": "rigid"})
    assert any("'matching' means nothing" in note for note in scene.build("cpu").notes)


@pytest.mark.parametrize("skin", [3, (1,), "duck"])
def test_what_is_no_skin_is_refused(skin):
    with pytest.raises(InputError, match="is no skin"):
        Scene().add_body(BOX, method="shape_matching", skin=skin)
