"""Strain and stress are those of the motion, whatever the body is made of and whatever moves it."""

import numpy as np
import pytest
from bodies import jittered, make_sim, rotation, shuffled

from pliant import InputError, Material, PointCloud, SurfaceMesh, VoxelLattice, shapes
from pliant.quantities import QUANTITIES, Quantities
from pliant.quantities.nearest import nearest_points
from pliant.quantities.strain import Strain

SOLID = shuffled(jittered(shapes.box((0.8, 0.5, 0.4), (5, 3, 3))), 3)[0]
LATTICE = VoxelLattice.from_cells(np.indices((4, 3, 2)).reshape(3, -1).T, 0.1)
POINTS = PointCloud(np.random.default_rng(2).uniform(-0.5, 0.5, (300, 3)))
MATERIAL = Material(young=3e4, poisson=0.3)
MATRIX = np.array([[1.1, 0.2, -0.1], [-0.3, 0.9, 0.2], [0.1, 0.4, 1.2]])


def wavy_sheet(height=0.1):
    """A sheet of 8 x 8 quads, bent at rest."""
    i, j = np.indices((9, 9)).reshape(2, -1)
    vertices = np.stack([0.1 * i, height * np.sin(0.8 * i), 0.1 * j], axis=1)
    q = (9 * np.arange(8)[:, None] + np.arange(8)).reshape(-1)
    triangles = np.concatenate([np.stack([q, q + 1, q + 9], axis=1), np.stack([q + 9, q + 1, q + 10], axis=1)])
    return shuffled(SurfaceMesh(vertices, triangles), 1)[0]


BODIES = {
    "tets": (SOLID, "mass_spring"),
    "voxels": (LATTICE, "mass_spring"),
    "sheet": (wavy_sheet(), "mass_spring"),
    "matched tets": (SOLID, "shape_matching"),
    "matched voxels": (LATTICE, "shape_matching"),
    "matched sheet": (wavy_sheet(), "shape_matching"),
    "points": (POINTS, "shape_matching"),
}
each_body = pytest.mark.parametrize(("mesh", "method"), BODIES.values(), ids=BODIES)


def placed(mesh, method, move, device="cpu", material=MATERIAL):
    """A simulation of one body whose vertices were moved."""
    sim = make_sim(mesh, material, method=method, device=device, substeps=1)
    sim.set_state("body", move(mesh.vertices))
    return sim


@each_body
def test_an_affine_motion_gives_its_matrix(mesh, method, device):
    sim = placed(mesh, method, lambda x: x @ MATRIX.T + [0.3, -0.2, 0.1], device)
    strain = Strain(sim.model, sim.device)
    found = strain.gradients(sim.state.x)
    if isinstance(mesh, SurfaceMesh):
        # in its plane: F is the matrix on two directions, and nothing on the third
        assert (strain.rank == 2).all()
        value, vector = np.linalg.eigh(np.einsum("nji,njk->nik", found, found))
        assert np.abs(value[:, 0]).max() < 1e-5
        plane = np.eye(3) - np.einsum("ni,nj->nij", vector[:, :, 0], vector[:, :, 0])
        assert np.abs(found - MATRIX @ plane).max() < 1e-4
    else:
        assert (strain.rank == 3).all()
        assert np.abs(found - MATRIX).max() < 1e-4
        wanted = np.abs(np.linalg.svd(MATRIX)[1] - 1.0).max()
        assert sim.quantity("strain") == pytest.approx(np.full(len(mesh.vertices), wanted), abs=1e-4)


@each_body
def test_a_turn_is_no_strain(mesh, method, device):
    turn = rotation([1, 2, 3], 2.0)
    sim = placed(mesh, method, lambda x: x @ turn.T + [1.0, 0.0, -1.0], device)
    assert sim.quantity("strain").max() < 2e-5
    assert sim.quantity("stress").max() < 2e-5 * 2.0 * MATERIAL.young


@pytest.mark.parametrize("stretch", [0.2, -0.1])
@each_body
def test_a_pull_has_youngs_modulus(mesh, method, stretch):
    """Stretched along one axis and narrowed across as Poisson's ratio says, then turned: the stress is E times it."""
    if isinstance(mesh, SurfaceMesh):
        mesh = wavy_sheet(0.0)
    narrow = 1.0 - MATERIAL.poisson * stretch
    turn = rotation([0, 1, 1], 1.0)
    sim = placed(mesh, method, lambda x: x * [1.0 + stretch, narrow, narrow] @ turn.T)
    count = len(mesh.vertices)
    assert sim.quantity("strain") == pytest.approx(np.full(count, abs(stretch)), abs=1e-4)
    assert sim.quantity("stress") == pytest.approx(np.full(count, MATERIAL.young * abs(stretch)), rel=2e-3)


def test_pressure_is_no_shear_and_shear_is():
    even = placed(SOLID, "mass_spring", lambda x: 1.1 * x)
    assert even.quantity("strain") == pytest.approx(np.full(len(SOLID.vertices), 0.1), abs=1e-4)
    assert even.quantity("stress").max() < 1e-3 * MATERIAL.young
    # stretched only one way: 2 mu e
    side = placed(SOLID, "mass_spring", lambda x: x * [1.0, 1.2, 1.0])
    wanted = 2.0 * MATERIAL.shear_modulus * 0.2
    assert side.quantity("stress") == pytest.approx(np.full(len(SOLID.vertices), wanted), rel=1e-3)


def test_inside_out_is_strained():
    sim = placed(SOLID, "mass_spring", lambda x: x * [-1.0, 1.0, 1.0])
    assert sim.quantity("strain") == pytest.approx(np.full(len(SOLID.vertices), 2.0), abs=1e-3)


def test_bending_a_sheet_is_hardly_strain():
    """Rolled up without a change of length, as fine as its edges allow."""
    mesh = wavy_sheet(0.0)
    radius = 0.8
    roll = lambda x: np.stack(
        [radius * np.sin(x[:, 0] / radius), radius * (1 - np.cos(x[:, 0] / radius)), x[:, 2]], axis=1
    )
    sim = placed(mesh, "mass_spring", roll)
    assert sim.quantity("strain").max() < 0.01


def test_rods_and_lone_particles():
    line = np.linspace(0.0, 1.0, 11)[:, None] * [1.0, 0.5, 0.2]
    sim = placed(PointCloud(line, volume=1e-3), "shape_matching", lambda x: 1.3 * x @ rotation([0, 0, 1], 0.5).T)
    assert (Strain(sim.model, "cpu").rank == 1).all()
    assert sim.quantity("strain") == pytest.approx(np.full(11, 0.3), abs=1e-4)
    assert sim.quantity("stress") == pytest.approx(np.full(11, 0.3 * MATERIAL.young), rel=1e-3)
    one = placed(PointCloud([[0.0, 0.0, 0.0]], volume=1e-3), "shape_matching", lambda x: x + 1.0)
    assert one.quantity("strain")[0] == 0.0 and one.quantity("stress")[0] == 0.0
    pair = np.zeros((4, 3))
    pair[2:] = [1.0, 0.0, 0.0]
    twice = placed(PointCloud(pair, volume=1e-3), "shape_matching", lambda x: 2.0 * x)
    assert twice.quantity("strain") == pytest.approx(np.ones(4), abs=1e-5)


def test_smooth_motion_is_measured_where_it_happens():
    """Stretch that grows along a bar: each vertex has that of its place, to the size of an element."""
    bar = shapes.box((1.0, 0.1, 0.1), (20, 2, 2))
    sim = placed(bar, "mass_spring", lambda x: x + np.stack([0.2 * x[:, 0] ** 2, 0 * x[:, 0], 0 * x[:, 0]], axis=1))
    wanted = np.abs(0.4 * bar.vertices[:, 0])
    assert np.abs(sim.quantity("strain") - wanted).max() < 0.03


def test_several_bodies_keep_their_own_materials_and_order(device):
    from bodies import build

    from pliant import Scene

    scene = Scene(gravity=(0.0, 0.0, 0.0), substeps=1)
    for k, (mesh, method) in enumerate([(SOLID, "shape_matching"), (SOLID, "mass_spring"), (POINTS, "shape_matching")]):
        scene.add_body(mesh, Material(young=1e4 * (k + 1), poisson=0.25), method=method, name=f"b{k}")
    sim = build(scene, device)
    for k in range(3):
        sim.set_state(f"b{k}", sim.positions(f"b{k}") * [1.0, 1.0 + 0.1 * (k + 1), 1.0])
        stress = sim.quantity("stress", f"b{k}")
        wanted = 1e4 * (k + 1) / 1.25 * 0.1 * (k + 1)
        assert stress == pytest.approx(np.full(len(stress), wanted), rel=2e-3)
    whole = sim.quantity("stress")
    assert np.array_equal(whole, np.concatenate([sim.quantity("stress", b.name) for b in sim.model.bodies]))


def test_speed_and_names():
    sim = make_sim(SOLID, MATERIAL, substeps=1)
    v = np.random.default_rng(0).normal(size=SOLID.vertices.shape)
    sim.set_state("body", velocities=v)
    assert sim.quantity("speed", "body") == pytest.approx(np.linalg.norm(v, axis=1), rel=1e-5)
    assert list(QUANTITIES) == ["strain", "stress", "speed", "contact"] and QUANTITIES["stress"].unit == "Pa"
    assert all(q.meaning and q.name == name for name, q in QUANTITIES.items())
    with pytest.raises(InputError, match="'warmth'"):
        sim.quantity("warmth")
    with pytest.raises(InputError, match="nobody"):
        sim.quantity("strain", "nobody")


def test_values_that_are_not_finite_are_no_error():
    sim = placed(SOLID, "mass_spring", lambda x: x)
    x = sim.state.x.numpy()
    x[5] = np.nan
    sim.state.x.assign(x)
    found = Quantities(sim.model, "cpu").measure("strain", sim.state).numpy()
    assert np.isfinite(found).sum() > len(found) // 2


@pytest.mark.parametrize("own", [True, False])
def test_nearest_points_against_brute_force(own):
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform(size=(200, 3)), 1e-3 * rng.uniform(size=(100, 3))])
    places = points if own else rng.uniform(-3.0, 3.0, size=(50, 3))
    away = np.linalg.norm(places[:, None] - points, axis=2)
    if own:
        np.fill_diagonal(away, np.inf)
    found = nearest_points(points, None if own else places, 7)
    wanted = np.sort(away, axis=1)[:, :7]
    assert np.take_along_axis(away, found, axis=1) == pytest.approx(wanted, abs=1e-6)
    assert nearest_points(points[:3], None, 7).shape == (3, 2)
