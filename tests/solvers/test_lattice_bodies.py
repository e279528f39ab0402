"""Voxel lattices as bodies: the material's moduli at every cell size, and a body that falls, lands and rests."""

import numpy as np
import pytest
from bodies import build, make_scene, make_sim

from pliant import InputError, Material, RawConstants, shapes
from pliant.mesh.lattice import FLEXION, VoxelLattice
from pliant.solvers.mass_spring.elements import mass_spring_elements
from pliant.solvers.mass_spring.lattice_springs import lattice_stiffness
from pliant.solvers.protocol import BodySpec

VOIGT = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))


def block(nx, ny, nz, size):
    """A block of cells with its centre at the origin."""
    lattice = VoxelLattice.from_cells(np.argwhere(np.ones((nx, ny, nz))), size)
    return lattice.translated(-lattice.vertices.mean(axis=0))


def bar_with_a_notch():
    cells = np.argwhere(np.ones((6, 3, 3)))
    return VoxelLattice.from_cells(cells[(cells[:, 0] != 2) | (cells[:, 1] < 2)], 0.1)


def moduli(lattice, material):
    """Second derivatives of the energy per volume with respect to an affine strain (6, 6) [Pa]."""
    sim = make_sim(lattice, material, frame_dt=1e-3, substeps=1)
    order = np.argsort(sim.body("body").particle_of)
    density = lambda strain: (
        sim.solvers[0].energy((lattice.vertices @ (np.eye(3) + strain).T)[order]) / lattice.volume()
    )
    strains = []
    for i, j in VOIGT:
        strain = np.zeros((3, 3))
        strain[i, j] += 0.5e-4
        strain[j, i] += 0.5e-4
        strains.append(strain)
    c = np.empty((6, 6))
    for a, p in enumerate(strains):
        for b, q in enumerate(strains):
            c[a, b] = (density(p + q) - density(p - q) - density(q - p) + density(-p - q)) / 4e-8
    return c


@pytest.mark.parametrize("poisson", [0.25, 0.3, 0.45])
@pytest.mark.parametrize("make", [lambda: block(3, 3, 3, 0.1), lambda: block(1, 2, 5, 0.02), bar_with_a_notch])
def test_isotropic_with_the_moduli_of_the_material(make, poisson):
    """Exactly, whatever the shape: each cube has what it needs, at the boundary too, flexion springs included."""
    material = Material(young=1e5, poisson=poisson)
    c = moduli(make(), material)
    lame = material.bulk_modulus - 2.0 / 3.0 * material.shear_modulus
    expected = np.diag([2.0 * material.shear_modulus] * 3 + [material.shear_modulus] * 3)
    expected[:3, :3] += lame
    np.testing.assert_allclose(c, expected, atol=1e-4 * material.young)


def test_turned_and_stretched_cells():
    """Turned, a lattice is the same stuff; with cells that are no cubes it has the moduli in the mean."""
    material = Material(young=1e5, poisson=0.3)
    turned = moduli(block(2, 3, 2, 0.1).rotated((1, 2, 3), 0.7), material)
    np.testing.assert_allclose(turned, moduli(block(2, 3, 2, 0.1), material), atol=20.0)
    c = moduli(block(2, 3, 2, 0.1).scaled((1.0, 1.3, 0.8)), material)
    bulk = c[:3, :3].sum() / 9
    shear = (np.trace(c[:3, :3]) - c[0, 1] - c[0, 2] - c[1, 2]) / 15 + np.diag(c)[3:].sum() / 5
    assert bulk == pytest.approx(material.bulk_modulus, rel=1e-4)
    assert shear == pytest.approx(material.shear_modulus, rel=1e-4)


def test_flexion_takes_from_the_edges_what_it_has():
    lattice = bar_with_a_notch()
    springs = lattice.springs()
    stiffness = lattice_stiffness(lattice, springs, 1e5)
    assert (stiffness > 0).all()
    squares = ((lattice.vertices[springs.pairs[:, 1]] - lattice.vertices[springs.pairs[:, 0]]) ** 2).sum(axis=1)
    assert np.sum(stiffness * squares) == pytest.approx(6 * 1e5 * lattice.volume())
    assert 0 < np.sum((stiffness * squares)[springs.kind == FLEXION]) < 0.1 * np.sum(stiffness * squares)


def test_mass():
    lattice = block(2, 3, 4, 0.1)
    spec = BodySpec(lattice, Material(density=500.0), None, "lumped", None)
    mass = mass_spring_elements(spec).mass
    assert mass.sum() == pytest.approx(500 * 24e-3)
    corner = np.abs(lattice.vertices / lattice.vertices.max(axis=0)).min(axis=1) > 0.999
    np.testing.assert_allclose(mass[corner], 500e-3 / 8)
    noted = mass_spring_elements(BodySpec(lattice, Material(), None, "average_volume", None))
    assert "lattice" in noted.notes[-1] and noted.mass.sum() == pytest.approx(1000 * 24e-3)
    raw = mass_spring_elements(BodySpec(lattice, Material(), RawConstants(spring=7.0, mass=2.0), "lumped", None))
    assert (raw.springs.stiffness == 7.0).all() and raw.mass.sum() == pytest.approx(2.0)


def settle(mesh, material, held, frames=60):
    """Positions at rest under gravity, by implicit steps until nothing moves any more [m]."""
    scene = make_scene(
        mesh, material, gravity=(0, -9.81, 0), frame_dt=0.04, substeps=1, integrator="implicit", newton_steps=1,
        cg_iterations=300, cg_tolerance=1e-3,
    )  # fmt: skip
    scene.pin("body", held)
    sim = build(scene)
    for _ in range(frames):
        sim.frame()
        if np.abs(sim.velocities()).max() < 2e-4:
            break
    assert np.abs(sim.velocities()).max() < 2e-2
    return sim.positions().astype(np.float64)


@pytest.mark.parametrize("poisson, tolerance", [(0.25, 1.02), (0.4, 1.07), (0.45, 1.12)])
def test_a_hanging_block_sags_the_same_at_two_cell_sizes(poisson, tolerance):
    """Measured at 4 and 8 cells: 19.9 and 20.1 mm, 18.2 and 18.9 mm, 16.7 and 18.1 mm: tets stiffen a coarse block."""
    material = Material(young=2e4, poisson=poisson, damping=0.02)
    sags = []
    for cells in (4, 8):
        lattice = block(cells, cells, cells, 0.3 / cells)
        x = settle(lattice, material, lambda p: p[:, 1] > 0.149)
        sags.append(-(x - lattice.vertices)[lattice.vertices[:, 1] < -0.149, 1].mean())
    assert max(sags) / min(sags) < tolerance
    # a bar that may not narrow at the top sinks less than a free one
    free = 1000 * 9.81 * 0.3**2 / (2 * 2e4)
    assert 0.7 * free < sags[-1] < free


@pytest.mark.parametrize("cells", [4, 6])
@pytest.mark.parametrize("poisson", [0.25, 0.4])
def test_a_pulled_bar(cells, poisson):
    """A bar drawn out by 2 % at its ends, which may narrow: Young's modulus to 3 %, Poisson's ratio to 0.03."""
    length, width, strain = 1.0, 0.25, 0.02
    lattice = block(4 * cells, cells, cells, width / cells)
    scene = make_scene(
        lattice, Material(young=1e5, poisson=poisson, damping=0.01), frame_dt=0.02, substeps=1, integrator="implicit",
        newton_steps=1, cg_iterations=300, cg_tolerance=1e-4,
    )  # fmt: skip
    for side in (-1, 1):
        path = [(0.0, (0, 0, 0)), (0.2, (side * strain * length / 2, 0, 0))]
        scene.pin("body", lambda x, side=side: side * x[:, 0] > 0.499, path=path)
    sim = build(scene)
    sim.frame(60)
    x, rest = sim.positions().astype(np.float64), lattice.vertices
    order = np.argsort(sim.body("body").particle_of)
    # the stress in the middle, far from the clamps, from the energy of a further pull of that part alone
    inner = np.abs(rest[:, 0]) < 0.3
    along = np.polyfit(rest[inner, 0], x[inner, 0], 1)[0] - 1
    across = np.mean([np.polyfit(rest[inner, a], x[inner, a], 1)[0] - 1 for a in (1, 2)])
    assert -across / along == pytest.approx(poisson, abs=0.03)
    force = lambda shift: sim.solvers[0].energy((x + shift * np.outer(rest[:, 0] > 0.499, [1, 0, 0]))[order])
    pull = (force(1e-5) - force(-1e-5)) / 2e-5
    assert pull / width**2 / along == pytest.approx(1e5, rel=0.03)


@pytest.mark.parametrize("material", ["soft_rubber", "foam"])
def test_falls_lands_and_rests(material, device):
    """With the substeps the scene chooses itself; it ends on the floor in its own shape."""
    lattice = block(5, 4, 3, 0.05)
    scene = make_scene(lattice, material, gravity=(0, -9.81, 0), body={"position": (0, 0.3, 0), "rotation": (0, 0, 20)})
    scene.add_plane()
    sim = scene.build(device)
    sim.frame(250)
    x = sim.positions()
    assert np.isfinite(x).all() and x[:, 1].min() > -2e-3
    assert np.abs(sim.velocities()).max() < 0.03
    # its edges have their lengths
    edges = lattice.edges()
    lengths = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    np.testing.assert_allclose(lengths, 0.05, rtol=0.08)
    assert x[:, 1].max() < 0.24


def test_surface_and_poisson_note():
    lattice = block(2, 2, 2, 0.1)
    sim = make_sim(lattice, Material(poisson=0.1))
    assert "Poisson's ratio 0.1" in sim.notes[0]
    assert len(sim.model.surface()) == 48
    rank = sim.body("body").particle_of
    key = lambda t: sorted(map(tuple, np.sort(t, axis=1).tolist()))
    assert key(sim.model.surface()) == key(rank[lattice.surface()])


def test_what_a_scene_refuses():
    with pytest.raises(InputError, match="springs: a solid has no springs across edges"):
        make_scene(block(1, 1, 1, 0.1), body={"springs": "two_ring"})
    with pytest.raises(InputError, match="'three_ring' is not known"):
        make_scene(shapes.sheet(1.0, 2), body={"springs": "three_ring"})
    broken = VoxelLattice(np.zeros((8, 3)), np.arange(8)[None], [[0, 0, 0]])
    with pytest.raises(InputError, match="body 'body': cube 0"):
        make_scene(broken)
