"""How a body's mass is shared out: lumping, Lesmes 3.13, truncation of inverse masses."""

import numpy as np
import pytest
from bodies import jittered, make_sim

from pliant import InputError, Material, RawConstants, shapes
from pliant.model.particles import Particles, average_volume_mass, lumped_mass, truncate_inverse_mass


@pytest.fixture(scope="module")
def mesh():
    return jittered(shapes.box((1.0, 0.7, 0.5), (5, 4, 3)), 0.25)


def test_lumping_gives_each_corner_a_quarter(mesh):
    volumes = mesh.volumes()
    mass = lumped_mass(mesh.tets, 800.0 * volumes, len(mesh.vertices))
    expected = np.zeros(len(mesh.vertices))
    for tet, volume in zip(mesh.tets, volumes, strict=True):
        expected[tet] += 800.0 * volume / 4
    np.testing.assert_allclose(mass, expected, rtol=1e-12)
    assert mass.sum() == pytest.approx(800.0 * volumes.sum())


def test_average_volume_distribution(mesh):
    """Lesmes 3.13: the mean volume of the tets around a particle, over the sum of these means, times the mass."""
    volumes = mesh.volumes()
    means = np.array([volumes[(mesh.tets == i).any(axis=1)].mean() for i in range(len(mesh.vertices))])
    mass = average_volume_mass(mesh.tets, volumes, 12.0, len(mesh.vertices))
    np.testing.assert_allclose(mass, 12.0 * means / means.sum(), rtol=1e-12)
    assert mass.sum() == pytest.approx(12.0)


@pytest.mark.parametrize("distribution", ["lumped", "average_volume"])
@pytest.mark.parametrize("raw_mass", [None, 5.0])
def test_in_a_simulation(mesh, distribution, raw_mass):
    raw = None if raw_mass is None else RawConstants(mass=raw_mass)
    sim = make_sim(
        mesh, Material(density=700.0), body={"mass_distribution": distribution, "raw": raw}, frame_dt=1e-4, substeps=1
    )
    total = raw_mass or 700.0 * mesh.volumes().sum()
    mass = sim.model.particles.mass
    assert mass.sum() == pytest.approx(total)
    np.testing.assert_allclose(sim.state.inv_mass.numpy(), 1 / mass, rtol=1e-6)
    if distribution == "average_volume":
        # in the user's order, whatever the order inside
        expected = average_volume_mass(mesh.tets, mesh.volumes(), total, len(mesh.vertices))
        np.testing.assert_allclose(mass[sim.body("body").particle_of], expected, rtol=1e-10)
        # it evens the masses out, which is why the source uses it
        lumped = lumped_mass(mesh.tets, mesh.volumes(), len(mesh.vertices))
        assert mass.max() / mass.min() < 0.5 * lumped.max() / lumped.min()


def test_a_sheet_has_the_mass_of_its_area():
    sim = make_sim(shapes.sheet((0.5, 0.8), (4, 6)), Material(density=500.0, thickness=0.002))
    assert sim.model.particles.mass.sum() == pytest.approx(500.0 * 0.002 * 0.4)
    other = make_sim(shapes.sheet((0.5, 0.8), (4, 6)), body={"mass_distribution": "average_volume"})
    assert any("sheet" in note and "lumped" in note for note in other.notes)


def test_truncation_acts_and_is_reported(mesh):
    plain = make_sim(mesh, Material(density=1000.0))
    inverse = np.sort(1 / plain.model.particles.mass)
    limit = float(0.5 * (inverse[-5] + inverse[-6]))
    sim = make_sim(mesh, Material(density=1000.0), body={"largest_inverse_mass": limit})
    assert (sim.state.inv_mass.numpy() <= limit * (1 + 1e-6)).all()
    np.testing.assert_allclose(sim.model.particles.mass, np.maximum(plain.model.particles.mass, 1 / limit))
    note = next(n for n in sim.notes if "inverse masses" in n)
    assert "'body'" in note and f"5 of {len(inverse)}" in note and f"{limit:g} 1/kg" in note
    # it buys a larger step
    assert sim.stable_dt > plain.stable_dt
    assert not any("inverse masses" in n for n in make_sim(mesh, body={"largest_inverse_mass": 1e9}).notes)


def test_truncate_inverse_mass_counts():
    mass, count = truncate_inverse_mass(np.array([0.1, 0.5, 2.0]), 4.0)
    np.testing.assert_allclose(mass, [0.25, 0.5, 2.0])
    assert count == 1


@pytest.mark.parametrize(
    "field, row, words", [("rest", 2, "position"), ("velocity", 1, "velocity"), ("mass", 0, "mass")]
)
def test_particles_must_make_sense(field, row, words):
    arrays = {"rest": np.zeros((3, 3)), "velocity": np.zeros((3, 3)), "mass": np.ones(3), "body": np.zeros(3, np.int32)}
    Particles(**arrays).check()
    arrays[field][row] = np.nan
    with pytest.raises(InputError, match=f"{words} of particle {row}"):
        Particles(**arrays).check()
    arrays[field][row] = 0.0
    if field == "mass":
        with pytest.raises(InputError, match="mass 0 kg"):
            Particles(**arrays).check()
