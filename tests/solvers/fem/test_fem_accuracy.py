"""What finite elements are for: patch test, moduli, beams small and large, second order in space, any scale."""

import numpy as np
import pytest
from bodies import jittered, make_scene, rotation

from pliant import Material, shapes
from pliant.settle import settle

TIGHT = {"method": "fem", "cg_tolerance": 1e-6, "cg_iterations": 5000}


def on_surface(mesh):
    mask = np.zeros(len(mesh.vertices), bool)
    mask[mesh.surface().ravel()] = True
    return mask


def fixed(mesh, material, held, device, **settings):
    """A simulation whose vertices of a mask are pinned."""
    scene = make_scene(mesh, material, **{**TIGHT, **settings})
    scene.pin("body", np.flatnonzero(held))
    return scene.build(device)


@pytest.mark.parametrize("energy", ["corotated", "neo_hookean"])
def test_patch(energy, device):
    """An uneven mesh whose surface is moved by an affine map takes that map inside, to rounding."""
    mesh = jittered(shapes.box((1.0, 0.8, 0.6), (4, 3, 3)), 0.2)
    outside = on_surface(mesh)
    assert (~outside).any()
    sim = fixed(mesh, Material(young=1e5, poisson=0.3), outside, device, energy=energy)
    affine = rotation([1, 2, 0], 0.7) @ (np.eye(3) + [[0.1, 0.03, 0], [0, -0.05, 0.02], [0.04, 0, 0.02]])
    wanted = mesh.vertices @ affine.T
    x = wanted.copy()
    x[~outside] += 0.02 * np.random.default_rng(0).normal(size=x[~outside].shape)
    sim.set_state("body", x)
    assert settle(sim).found
    np.testing.assert_allclose(sim.positions(), wanted, atol=1e-6)


@pytest.mark.parametrize("energy", ["corotated", "neo_hookean"])
@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.45])
def test_tension_gives_young_and_poisson_back(energy, poisson, device):
    """A bar that is drawn out by a load has the strain F / (E A) along it, and -nu times that across."""
    young, side, length = 2e5, 0.2, 0.8
    mesh = shapes.box((length, side, side), (8, 2, 2), split="five")
    x = mesh.vertices
    # three pins hold it without hindering its sides
    held = np.zeros(len(x), bool)
    scene = make_scene(mesh, Material(young=young, poisson=poisson), energy=energy, **TIGHT)
    left = np.isclose(x[:, 0], -length / 2)
    held[left & np.isclose(x[:, 1], 0) & np.isclose(x[:, 2], 0)] = True
    scene.pin("body", np.flatnonzero(held))
    sim = scene.build(device)
    # loads balance: the pin carries nothing, inertia of the search holds what may turn
    strain = 0.004
    load = np.zeros_like(x)
    for sign in (-1.0, 1.0):
        face = np.isclose(x[:, 0], sign * length / 2)
        # each vertex of the face carries the area around it
        share = np.prod(np.where(np.isclose(np.abs(x[face][:, 1:]), side / 2), 0.5, 1.0), axis=1)
        load[face, 0] = sign * young * strain * side**2 * share / share.sum()
    assert settle(sim, loads={"body": load}).found
    y = sim.positions().astype(np.float64)
    middle = np.abs(x[:, 0]) <= 0.2 + 1e-9
    slopes = [np.polyfit(x[middle, k], y[middle, k], 1)[0] - 1.0 for k in range(3)]
    assert slopes[0] == pytest.approx(strain, rel=0.01)
    assert slopes[1] == pytest.approx(-poisson * strain, abs=0.01 * strain)
    assert slopes[2] == pytest.approx(-poisson * strain, abs=0.01 * strain)


def cantilever(load, cells, device, length=1.0, side=0.1, young=1e7, energy="corotated"):
    """Mean move of the end of a beam under a load at its end [m] (3,)."""
    mesh = shapes.box((length, side, side), cells, split="five")
    x = mesh.vertices
    sim = fixed(mesh, Material(young=young, poisson=0.0), x[:, 0] < -0.499999 * length, device, energy=energy)
    end = x[:, 0] > 0.499999 * length
    share = np.prod(np.where(np.isclose(np.abs(x[end][:, 1:]), side / 2), 0.5, 1.0), axis=1)
    force = np.zeros_like(x)
    force[end, 1] = -load * share / share.sum()
    found = settle(sim, loads={"body": force})
    assert found.found
    return ((sim.positions() - x)[end] * (share / share.sum())[:, None]).sum(axis=0)


def elastica(load):
    """Deflection and shortening of the end of a thin cantilever, over its length, for P L^2 / (E I): shooting on
    theta'' = -load cos(theta) along the beam (Bisshopp and Drucker 1945), down positive."""

    def shoot(bend, steps=400):
        h = 1.0 / steps
        state = np.array([0.0, bend, 0.0, 0.0])
        rate = lambda s: np.array([s[1], -load * np.cos(s[0]), np.cos(s[0]), np.sin(s[0])])
        for _ in range(steps):
            a = rate(state)
            b = rate(state + 0.5 * h * a)
            c = rate(state + 0.5 * h * b)
            d = rate(state + h * c)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
        return state

    low, high = 0.0, load + 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if shoot(middle)[1] < 0 else (low, middle)
    end = shoot(low)
    return end[3], 1.0 - end[2]


def test_elastica_is_that_of_the_tables():
    """Against Bisshopp and Drucker's figures, as given by Mattiasson (1981)."""
    for load, down, along in ((1.0, 0.30172, 0.05643), (2.0, 0.49346, 0.16064), (5.0, 0.71379, 0.38763)):
        np.testing.assert_allclose(elastica(load), (down, along), atol=3e-5)


def test_small_bending_converges_to_beam_theory(device):
    """The end goes down by P L^3 / (3 E I) (1 + shear); the error falls with the square of the cells."""
    young, side = 1e7, 0.1
    inertia = side**4 / 12
    load = 0.01 * 3 * young * inertia
    errors = []
    for n in (1, 2, 4):
        down = -cantilever(load, (10 * n, n, n), device)[1]
        # Timoshenko, with a shear coefficient of 5/6 and G = E / 2
        theory = load / (3 * young * inertia) + load / (5 / 6 * 0.5 * young * side**2)
        errors.append(abs(down / theory - 1.0))
    assert errors[2] < 0.13
    assert errors[1] < errors[0] / 1.5
    assert errors[2] < errors[1] / 2.8


@pytest.mark.parametrize("energy", ["corotated", "neo_hookean"])
def test_large_bending_converges_to_the_elastica(energy, device):
    """P L^2 / (E I) of 1 and 2; extrapolated from two meshes by the second order that they have."""
    young, side = 1e7, 0.1
    for ratio in (1.0, 2.0):
        load = ratio * young * side**4 / 12
        coarse, fine = (cantilever(load, (10 * n, n, n), device, energy=energy) for n in (2, 4))
        limit = fine + (fine - coarse) / 3.0
        down, along = elastica(ratio)
        assert -limit[1] == pytest.approx(down, rel=0.03)
        assert -limit[0] == pytest.approx(along, rel=0.1)


def test_second_order_in_space(device):
    """Against a smooth solution with its body force: halving the cells quarters the error."""
    young, nu = 1e5, 0.3
    lame, shear = young * nu / ((1 + nu) * (1 - 2 * nu)), young / (2 * (1 + nu))
    amount = 1e-3
    errors = []
    for n in (4, 8, 16):
        mesh = shapes.box(1.0, n, split="five")
        x = mesh.vertices + 0.5
        outside = (np.isclose(x, 0) | np.isclose(x, 1)).any(axis=1)
        s, c = np.sin(np.pi * x), np.cos(np.pi * x)
        wanted = np.zeros_like(x)
        wanted[:, 0] = amount * s.prod(axis=1)
        # -div of the stress of u = (w, 0, 0): -mu lap w on x, -(lambda + mu) grad(dw/dx)
        lap = -3 * np.pi**2 * wanted[:, 0]
        second = amount * np.pi**2 * np.stack([-s.prod(1), c[:, 0] * c[:, 1] * s[:, 2], c[:, 0] * s[:, 1] * c[:, 2]], 1)
        body_force = -(lame + shear) * second
        body_force[:, 0] -= shear * lap
        sim = fixed(mesh, Material(young=young, poisson=nu, density=1000.0), outside, device)
        load = body_force * (sim.model.particles.mass[sim.body("body").particle_of] / 1000.0)[:, None]
        assert settle(sim, loads={"body": load}).found
        error = sim.positions() - mesh.vertices - wanted
        errors.append(np.sqrt((error**2).sum() / (wanted**2).sum()))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] > 1.8
    assert errors[-1] < 0.02


@pytest.mark.parametrize("size", [1e-3, 100.0])
def test_the_same_at_any_size(size, device):
    """Scaled in length, with the modulus scaled so that gravity bends it alike, a body bends alike."""
    ends = []
    for scale in (1.0, size):
        mesh = shapes.box((0.6 * scale, 0.1 * scale, 0.1 * scale), (12, 2, 2))
        scene = make_scene(mesh, Material(young=1e5 * scale, poisson=0.3), gravity=(0, -9.81, 0), **TIGHT)
        scene.frame_dt = np.sqrt(scale) / 60
        scene.pin("body", lambda x, scale=scale: x[:, 0] < -0.29999 * scale)
        sim = scene.build(device)
        assert settle(sim).found
        ends.append((sim.positions() - mesh.vertices) / scale)
    assert np.abs(ends[0]).max() > 0.1
    np.testing.assert_allclose(ends[1], ends[0], atol=2e-4)
