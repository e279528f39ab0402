"""Lattice shape matching by running sums: the same motion as with explicit regions, at a cost that knows no width."""

import numpy as np
import pytest
from bodies import STILL, build

from pliant import Material, Scene
from pliant.launch import record
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.lattice_runs import axis_regions, lattice_runs
from pliant.solvers.shape_matching.lattice_group import LatticeGroup
from pliant.solvers.shape_matching.lattice_rest import region_sums

SOFT = Material(young=2e4, poisson=0.4, density=1000.0, damping=0.002)


def block(*counts):
    return np.stack(np.meshgrid(*(range(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3)


CELLS = {
    "block": block(4, 3, 5),
    "arms": np.array([c for c in block(7, 4, 3).tolist() if not (c[0] == 3 and c[1] > 0)]),
    "plate": block(7, 1, 6),
}
"""A solid block, a U with a gap of one cell between its arms, and a plate one cube thick."""


def lattice_of(name):
    return VoxelLattice.from_cells(CELLS[name], 0.1, name=name)


def regions(width, fast=True, **more):
    return {"clusters_by": "lattice", "region_width": width, "fast": fast, **more}


def make(lattice, matching, device, material=SOFT, *, gravity=STILL, pinned=(), **placed):
    scene = Scene(gravity=gravity, frame_dt=1 / 120, substeps=1)
    scene.add_body(lattice, material, method="shape_matching", name="body", matching=matching, **placed)
    sim = build(scene, device)
    if len(pinned):
        sim.pin("body", pinned)
    return sim


def shaken(sim, amount=0.02, seed=0):
    """Give the body noise of some metres, and velocities to match."""
    rng = np.random.default_rng(seed)
    x, v = sim.positions("body"), sim.velocities("body")
    sim.set_state("body", x + amount * rng.normal(size=x.shape), v + 10 * amount * rng.normal(size=x.shape))


def momentum(sim, body="body"):
    """Linear and angular momentum, per mass, about a fixed place in the world."""
    which = sim.body(body)
    mass = sim.model.particles.mass[which.particle_of][:, None] / sim.model.particles.mass[which.particle_of].sum()
    x, v = sim.positions(body).astype(float), sim.velocities(body).astype(float)
    return np.concatenate([(mass * v).sum(axis=0), (mass * np.cross(x - [1.0, 2.0, 3.0], v)).sum(axis=0)])


PLACED = {
    "position": (1.0, 2.0, 3.0),
    "rotation": (10.0, 50.0, 20.0),
    "velocity": (1.0, 0.5, 0.0),
    "angular_velocity": (1.0, 2.0, 0.5),
}


@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("mode", ["rigid", "linear"])
def test_it_moves_as_with_explicit_regions(mode, name, width, device):
    lattice = lattice_of(name)
    fast, explicit = (make(lattice, regions(width, fast, mode=mode), device, **PLACED) for fast in (True, False))
    assert isinstance(fast.solvers[0].groups[0], LatticeGroup)
    assert not isinstance(explicit.solvers[0].groups[0], LatticeGroup)
    start = fast.positions()
    for sim in (fast, explicit):
        shaken(sim)
    x = fast.state.x.numpy().astype(float)
    assert fast.solvers[0].energy(x) == pytest.approx(explicit.solvers[0].energy(x), rel=1e-9)
    before = momentum(fast)
    fast.frame(50)
    explicit.frame(50)
    assert np.abs(fast.positions() - start).max() > 0.3
    # positions near 4 m, rounded 50 times; what was shaken swings still, by centimetres
    assert np.abs(fast.positions() - explicit.positions()).max() < 4e-5
    assert np.abs(fast.velocities() - explicit.velocities()).max() < 6e-4
    assert np.abs(momentum(fast) - before).max() < 4e-5


def test_a_long_bar_is_fitted_as_well_at_its_ends(device):
    """Sums are about one place of the body, and a region is small against it: nothing of that may be seen."""
    lattice = VoxelLattice.from_cells(block(400, 1, 1), 0.01)
    fast, explicit = (make(lattice, regions(2, fast), device, velocity=(0, 0, 1)) for fast in (True, False))
    for sim in (fast, explicit):
        shaken(sim, 0.001)
        sim.frame(20)
    assert np.abs(fast.positions() - explicit.positions()).max() < 1e-5


@pytest.mark.parametrize("name", CELLS)
def test_sums_are_those_over_the_members(name):
    """Running sums there and back against the table of members."""
    lattice, rng = lattice_of(name), np.random.default_rng(1)
    count = len(lattice.vertices)
    values = rng.normal(size=(count, 5)) * 10.0 ** rng.integers(-3, 4, size=(count, 1))
    for width in (1, 3, 30):
        table = axis_regions(lattice, width)
        member = np.zeros((count, count))
        member[np.repeat(np.arange(count), table.sizes()), table.members] = 1.0
        runs = lattice_runs(lattice)
        assert np.allclose(region_sums(runs, width, values), member @ values, rtol=0, atol=1e-9)
        assert np.allclose(region_sums(runs, width, values, back=True), member.T @ values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", CELLS)
def test_rest_stays_at_rest(name, device):
    sim = make(lattice_of(name), regions(2, mode="linear"), device, position=(0.3, -0.2, 0.1), rotation=(0, 0, 77))
    before = sim.positions()
    sim.frame(200)
    assert np.abs(sim.positions() - before).max() < 3e-6
    assert np.abs(sim.velocities()).max() < 1e-4
    assert sim.solvers[0].energy(sim.state.x.numpy().astype(float)) < 1e-7


@pytest.mark.parametrize("mode", ["rigid", "linear"])
def test_a_scrambled_body_returns_to_its_shape(mode, device):
    lattice = lattice_of("block")
    sim = make(lattice, regions(3, mode=mode, alpha=0.8), device)
    rng = np.random.default_rng(5)
    sim.set_state("body", lattice.vertices + rng.uniform(-0.25, 0.25, lattice.vertices.shape))
    sim.frame(1200)
    a, b = lattice.vertices - lattice.vertices.mean(axis=0), sim.positions().astype(float)
    b -= b.mean(axis=0)
    u, _, vt = np.linalg.svd(b.T @ a)
    turn = u @ np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt))]) @ vt
    assert np.abs(b - a @ turn.T).max() < 1e-3


def test_yielding_bodies_and_pins_too(device):
    clay = Material(young=2e4, poisson=0.4, damping=0.002, yield_strain=0.05, creep=5.0)
    lattice = lattice_of("arms")
    held = np.flatnonzero(lattice.vertices[:, 0] < 0.05)
    made = [make(lattice, regions(2, fast), device, clay, gravity=(0, -9.81, 0), pinned=held) for fast in (True, False)]
    for sim in made:
        sim.frame(40)
    fast, explicit = made
    assert np.array_equal(fast.positions()[held], lattice.vertices[held].astype(np.float32))
    assert np.abs(fast.positions() - explicit.positions()).max() < 1e-4
    groups = [sim.solvers[0].groups[0] for sim in made]
    plastic = [group.plastic_of(0) for group in groups]
    assert np.abs(plastic[0] - np.eye(3)).max() > 0.01
    assert np.abs(plastic[0] - plastic[1]).max() < 2e-3
    fast.reset_shape(0)
    assert np.array_equal(groups[0].plastic_of(0), np.broadcast_to(np.eye(3), plastic[0].shape))


def test_bodies_together_move_as_alone(device):
    """Instances of one lattice, another lattice with another width, and a body with clusters."""
    one, other = lattice_of("block"), lattice_of("arms")
    placed = [
        (one, regions(2), {"position": (0, 1, 0), "rotation": (30, 0, 0), "angular_velocity": (0, 3, 0)}),
        (other, {"clusters": 3}, {"position": (2, 1, 0)}),
        (one, regions(2), {"position": (4, 1, 0), "velocity": (0, -1, 0)}),
        (other, regions(3, mode="rigid"), {"position": (6, 1, 0), "angular_velocity": (1, 0, 0)}),
    ]

    def scene_of(rows):
        scene = Scene(gravity=(0, -9.81, 0), frame_dt=1 / 60, substeps=2)
        scene.add_plane()
        for k, (mesh, matching, where) in rows:
            scene.add_body(mesh, SOFT, method="shape_matching", name=f"body{k}", matching=matching, **where)
        return build(scene, device)

    together = scene_of(enumerate(placed))
    together.frame(40)
    group = next(g for g in together.solvers[0].groups if isinstance(g, LatticeGroup))
    assert len(group.rests) == 3 and group.rests[0] is group.rests[1]
    assert len(group.rest) == len(one.vertices) + len(other.vertices)
    for k, row in enumerate(placed):
        alone = scene_of([(k, row)])
        alone.frame(40)
        assert np.array_equal(alone.positions(f"body{k}"), together.positions(f"body{k}"))
        assert together.positions(f"body{k}")[:, 1].min() > -0.01


def test_many_small_bodies_move_as_alone(device):
    """Many bodies are summed body by body on the CPU; the numbers are the same to the last bit."""
    lattice = lattice_of("arms")

    def scene_of(numbers):
        scene = Scene(gravity=(0, -9.81, 0), frame_dt=1 / 60, substeps=2)
        scene.add_plane()
        for k in numbers:
            spin, position = (0.1 * k, 2.0, 0.3 * k), (1.5 * k, 0.5, 0)
            scene.add_body(
                lattice, SOFT, method="shape_matching", name=f"body{k}", matching=regions(2), position=position,
                angular_velocity=spin,
            )  # fmt: skip
        return build(scene, device)

    many = scene_of(range(20))
    assert many.solvers[0].groups[0].by_body == (device == "cpu")
    many.frame(30)
    for k in (0, 7, 19):
        alone = scene_of([k])
        assert not alone.solvers[0].groups[0].by_body
        alone.frame(30)
        assert np.array_equal(alone.positions(f"body{k}"), many.positions(f"body{k}"))


def test_width_costs_nothing(device):
    """The launches of a step, and the memory, are the same for every width; there is no table of members."""
    lattice = VoxelLattice.from_cells(block(9, 8, 7), 0.1)
    found = []
    for width in (1, 2, 5, 40):
        sim = make(lattice, regions(width), device)
        assert sim.body("body").clusters is None
        solver = sim.solvers[0]
        group = solver.groups[0]
        arrays = [a for value in vars(group).values() for a in (value if isinstance(value, list) else [value])]
        sizes = [a.size for a in arrays if hasattr(a, "ptr")]
        launches = 0
        if device == "cpu":
            with record() as recording:
                solver.predict(sim.state, sim.dt)
            launches = len(recording)
        found.append((sizes, launches))
    assert all(f == found[0] for f in found)
    assert max(found[0][0]) <= 24 * len(lattice.vertices)


def test_threads_do_not_change_a_bit(set_threads):
    ends = []
    for count in (1, 3):
        set_threads(count)
        sim = make(VoxelLattice.from_cells(block(12, 14, 11), 0.05), regions(2), "cpu")
        shaken(sim, 0.005)
        sim.frame(5)
        ends.append(sim.positions().tobytes())
    assert ends[0] == ends[1]


def test_quadratic_regions_stand_in_a_table(device):
    sim = make(lattice_of("plate"), regions(1, mode="quadratic"), device)
    assert sim.body("body").clusters is not None
    before = sim.positions()
    sim.frame(20)
    assert np.abs(sim.positions() - before).max() < 3e-6


def test_loose_parts_are_told(device):
    scene = Scene()
    scene.add_body(
        VoxelLattice.from_cells([[0, 0, 0], [3, 0, 0]], 0.1), SOFT, method="shape_matching", matching=regions(1)
    )
    assert any("2 parts" in note for note in build(scene, device).model.notes)
