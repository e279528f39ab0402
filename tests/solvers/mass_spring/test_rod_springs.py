"""Rods of springs: they stretch as E A, bend as E I, keep curved rest shapes, and run under every integrator."""

import numpy as np
import pytest
from bodies import build, make_scene, make_sim

from pliant import Material
from pliant.mesh.rods import RodMesh
from pliant.model.springs import BEND, STRUCTURAL, TORSION
from pliant.solvers.mass_spring.elements import mass_spring_elements
from pliant.solvers.mass_spring.settings import INTEGRATORS
from pliant.solvers.protocol import BodySpec

from .rod_bodies import chain, fork, helix
from .spring_matrix import forces, moved, stiffness_matrix

STUFF = Material(young=1e6, density=1000.0)


def elements(mesh, material=STUFF):
    return mass_spring_elements(BodySpec(mesh, material, None, "lumped", None))


def pulled(mesh, axis, material=STUFF):
    """Displacement of the tip under a unit force, the first two vertices held."""
    body = elements(mesh, material)
    load = np.zeros_like(mesh.vertices)
    load[-1, axis] = 1.0
    free = np.arange(len(load)) > 1
    return moved(mesh.vertices, body.springs, free, load)[-1, axis]


@pytest.mark.parametrize("count", [8, 20])
@pytest.mark.parametrize("uneven", [0.0, 0.3])
def test_a_rod_stretches_by_its_section(count, uneven):
    mesh = chain(count, uneven=uneven)
    expected = (1.0 - mesh.vertices[1, 0]) / (STUFF.young * np.pi * 0.01**2)
    # clamped by two vertices, it lacks the half of the spring over the clamp
    assert pulled(mesh, 0) == pytest.approx(expected, rel=0.25 / count)


@pytest.mark.parametrize(("count", "slack"), [(10, 0.2), (20, 0.1)])
def test_a_cantilever_sags_as_a_beam(count, slack):
    """F l^3 / (3 E I); the hinge at the clamp bends like half a segment more, so the error falls with the segments."""
    for uneven in (0.0, 0.3):
        mesh = chain(count, uneven=uneven)
        body = elements(mesh)
        assert np.abs(forces(mesh.vertices, body.springs)).max() < 1e-10 * STUFF.young * np.pi * 0.01**2
        length = 1.0 - mesh.vertices[1, 0]
        expected = length**3 / (3 * STUFF.young * 0.25 * np.pi * 0.01**4)
        assert expected < pulled(mesh, 1) < (1 + slack) * expected


def test_bending_grows_with_the_fourth_power_of_the_radius():
    assert pulled(chain(10, radius=0.01), 1) / pulled(chain(10, radius=0.02), 1) == pytest.approx(16.0, rel=1e-6)


def test_kinds_and_counts():
    springs = elements(chain(10)).springs
    assert np.bincount(springs.kind, minlength=4).tolist() == [10, 0, 9, 0]
    springs = elements(helix()).springs
    assert [(springs.kind == k).sum() for k in (STRUCTURAL, BEND, TORSION)] == [60, 59, 58]
    assert (springs.stiffness > 0).all() and len(np.unique(springs.pairs, axis=0)) == springs.count


def test_mass_is_that_of_the_cylinders():
    mesh = fork()
    assert elements(mesh).mass.sum() == pytest.approx(1000.0 * mesh.volumes().sum())


def free_modes(mesh, held):
    """How many motions cost nothing, with the first vertices held."""
    springs = elements(mesh).springs
    assert np.abs(forces(mesh.vertices, springs)).max() < 1e-8 * springs.stiffness.max()
    keep = np.repeat(np.arange(len(mesh.vertices)) >= held, 3)
    values = np.linalg.eigvalsh(stiffness_matrix(mesh.vertices, springs)[np.ix_(keep, keep)])
    assert values.min() > -1e-12 * values.max()
    return int((values < 1e-13 * values.max()).sum())


def test_curved_and_forked_rest_shapes_resist():
    """A coil resists every way; the branches of a fork hold each other, and only turn together about a straight stem,
    whose points feel no torsion."""
    assert free_modes(helix(), 3) == 0
    assert free_modes(fork(), 3) == 1


def test_a_root_in_the_middle_of_a_chain_bends_like_the_rest():
    """The vertex of the smallest number is the root, wherever it lies."""
    plain = chain(10)
    order = np.array([5, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4])
    place = np.argsort(order)
    turned = RodMesh(plain.vertices[order], place[plain.segments], 0.01)
    one, two = elements(plain).springs, elements(turned).springs
    values = [np.linalg.eigvalsh(stiffness_matrix(m.vertices, s)) for m, s in ((plain, one), (turned, two))]
    np.testing.assert_allclose(values[0], values[1], atol=1e-9 * values[0].max())


def test_a_helix_keeps_its_shape(device):
    mesh = helix()
    material = Material(young=5e6, damping=1e-3, drag=2.0)
    sim = make_sim(mesh, material, device=device, integrator="implicit")
    sim.frame(10)
    np.testing.assert_allclose(sim.positions(), mesh.vertices, atol=1e-5)
    scene = make_scene(mesh, material, gravity=(0, -9.81, 0), integrator="implicit", substeps=4)
    scene.pin("body", [59, 60])
    hung = build(scene, device)
    hung.frame(60)
    long = np.ptp(hung.positions()[:, 1])
    # a coil of wire d hung by one end: by m g / (2 k), k = G d^4 / (8 D^3 n) per coil
    rate = material.shear_modulus * 0.008**4 / (8 * 0.1**3 * 3)
    sag = 0.5 * 9.81 * hung.model.particles.mass.sum() / rate
    assert 0.4 * sag < long - np.ptp(mesh.vertices[:, 1]) < 1.5 * sag


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_rope_swings_under_every_integrator(integrator, device):
    scene = make_scene(
        chain(12), Material(young=1e6, damping=2e-3, drag=1.0), gravity=(0, -9.81, 0), integrator=integrator
    )
    scene.pin("body", [0])
    sim = build(scene, device)
    sim.frame(20)
    x = sim.positions().astype(np.float64)
    lengths = np.linalg.norm(np.diff(x, axis=0), axis=1)
    assert np.abs(lengths * 12 - 1).max() < 0.05
    assert x[-1, 1] < (-0.1 if integrator != "hybrid" else -1e-4)


def test_a_thick_rod_is_told():
    assert "softer than the material" in elements(chain(40, radius=0.02)).notes[0]
