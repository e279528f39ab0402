"""Provot's limit on a hanging cloth: no spring beyond a tenth, on the kinds that were chosen, by every integrator."""

import numpy as np
import pytest
from bodies import build, make_scene

from pliant import Material, RawConstants, shapes
from pliant.model.springs import BEND, SHEAR, STRUCTURAL
from pliant.solvers.mass_spring.settings import INTEGRATORS
from pliant.solvers.mass_spring.strain_limit import StrainLimit

from .rod_bodies import chain

CLOTH = Material(young=1.5e4, shear=3e3, bending=1e-6, thickness=1e-3, density=300.0, damping=1e-3, drag=0.5)


def hung(device="cpu", cells=8, **settings):
    scene = make_scene(
        shapes.sheet(0.5, cells), CLOTH, gravity=(0, -9.81, 0), body={"springs": "grid"}, **{"substeps": 8, **settings}
    )
    scene.pin("body", lambda x: (np.abs(x[:, 0]) > 0.249) & (x[:, 2] > 0.249))
    return build(scene, device)


def stretches(sim, kind=None):
    """Length of each spring over that at rest; of one kind only if given."""
    springs, rest = sim.model.springs, sim.model.particles.rest
    x = sim.state.x.numpy().astype(np.float64)
    length = lambda p: np.linalg.norm(p[springs.pairs[:, 0]] - p[springs.pairs[:, 1]], axis=1)
    ratio = length(x) / length(rest)
    return ratio if kind is None else ratio[springs.kind == kind]


def test_the_share_over_a_tenth_drops_to_zero(device):
    free, held = hung(device), hung(device, strain_limit=1.1, strain_passes=30)
    for _ in range(3):
        free.frame(20)
        held.frame(20)
        assert (stretches(free) > 1.1).mean() > 0.02
        assert stretches(held).max() <= 1.1 + 2e-3
    assert stretches(held, STRUCTURAL).max() > 1.05


def test_the_springs_at_the_corners_stretch_most():
    sim = hung()
    sim.frame(40)
    springs = sim.model.springs
    worst = springs.pairs[np.argmax(stretches(sim))]
    pinned = np.flatnonzero(sim.state.inv_mass.numpy() == 0)
    assert np.isin(worst, pinned).any()


def test_only_the_chosen_kinds_are_held(device):
    structural = hung(device, strain_limit=1.02, strain_passes=40, strain_limit_on="structural")
    both = hung(device, strain_limit=1.02, strain_passes=40, strain_limit_on="structural_shear")
    structural.frame(40)
    both.frame(40)
    assert stretches(structural, STRUCTURAL).max() < 1.025
    assert stretches(structural, SHEAR).max() > 1.05
    assert stretches(both, SHEAR).max() < 1.025
    # what keeps all of a straight line keeps what goes over it
    assert stretches(both, BEND).max() < 1.025


def test_it_converges_in_few_passes(device):
    """Held from the beginning, a small cloth needs a dozen passes a step."""
    few = hung(device, strain_limit=1.1, strain_passes=12)
    few.frame(60)
    assert stretches(few).max() < 1.11


def test_the_colours_are_walked_alike_by_one_thread_and_by_launches(monkeypatch):
    ends = []
    for serial in (10**9, 0):
        monkeypatch.setattr("pliant.solvers.mass_spring.strain_limit.SERIAL", serial)
        sim = hung(strain_limit=1.05)
        sim.frame(10)
        ends.append(sim.positions())
    np.testing.assert_array_equal(*ends)
    assert isinstance(sim.solvers[0].limit, StrainLimit)


def test_a_lower_limit_keeps_springs_from_shrinking(device):
    mesh = shapes.sheet(0.5, 4)
    limp = RawConstants(spring=0.0, spring_damping=0.0, volume=0.0, volume_damping=0.0, mass=1.0)
    scene = make_scene(
        mesh, body={"raw": limp, "springs": "grid"}, frame_dt=0.01, substeps=1, compression_limit=0.9, strain_passes=300
    )
    sim = build(scene, device)
    squeezed = mesh.vertices * [0.7, 1.0, 0.8]
    sim.set_state("body", squeezed)
    sim.frame()
    ratio = stretches(sim)
    assert ratio.min() > 0.9 - 1e-3 and ratio.min() < 0.905
    mass = sim.model.particles.mass[sim.body("body").particle_of][:, None]
    assert np.abs(np.sum(mass * (sim.positions() - squeezed), axis=0)).max() < 1e-6


def test_jakobsen_by_relaxation_alone(device):
    """Verlet with springs of no stiffness and both limits at 1: a rope of infinitely stiff segments."""
    limp = RawConstants(spring=0.0, spring_damping=0.0, volume=0.0, volume_damping=0.0)
    scene = make_scene(
        chain(20), body={"raw": limp}, gravity=(0, -9.81, 0), substeps=8, integrator="verlet", strain_limit=1.0,
        compression_limit=1.0, strain_limit_on="structural", strain_passes=100,
    )  # fmt: skip
    scene.pin("body", [0])
    sim = build(scene, device)
    low = 0.0
    for _ in range(60):
        sim.frame()
        low = min(low, sim.positions()[-1, 1])
        assert np.abs(stretches(sim, STRUCTURAL) - 1.0).max() < 0.02
    assert low < -0.95


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_every_integrator_holds_a_hanging_cloth(integrator, device):
    sim = hung(device, integrator=integrator, strain_limit=1.1, strain_passes=40, substeps=12)
    sim.frame(30)
    assert stretches(sim).max() <= 1.1 + 5e-3
