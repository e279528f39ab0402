"""Provot's springs on a grid: the three kinds where they belong, with the moduli of the cloth along warp and weft."""

import numpy as np
import pytest
from bodies import build, make_scene

from pliant import InputError, Material, SurfaceMesh, shapes
from pliant.model.springs import BEND, SHEAR, STRUCTURAL, Springs
from pliant.solvers.mass_spring.cloth_moduli import area_modulus, cloth_moduli
from pliant.solvers.mass_spring.elements import mass_spring_elements
from pliant.solvers.mass_spring.settings import INTEGRATORS
from pliant.solvers.protocol import BodySpec

from .spring_matrix import forces, moved

WOVEN = Material(young=1e5, young_weft=4e4, shear=5e3, bending=1e-3, thickness=1e-3, poisson=0.2, density=300.0)


def elements(mesh, material=WOVEN, springs="grid", warp=None):
    return mass_spring_elements(BodySpec(mesh, material, None, "lumped", None, springs, warp=warp))


def energy(x, springs):
    length = np.linalg.norm(x[springs.pairs[:, 0]] - x[springs.pairs[:, 1]], axis=1)
    return 0.5 * np.sum(springs.stiffness * (length - springs.rest_length) ** 2)


def modulus(mesh, springs, strain):
    """Second derivative of the springs' energy per area and thickness, by a strain (3, 3) [Pa]."""
    at = lambda e: energy(mesh.vertices @ (np.eye(3) + e * strain), springs)
    return (at(1e-3) + at(-1e-3) - 2 * at(0.0)) / 1e-6 / mesh.areas().sum() / WOVEN.thickness


@pytest.mark.parametrize("cells", [(4, 4), (6, 3)])
def test_kinds_of_a_grid(cells):
    nx, nz = cells
    mesh = shapes.sheet((0.1 * nx, 0.1 * nz), cells)
    springs = elements(mesh).springs
    count = lambda k: int((springs.kind == k).sum())
    assert count(STRUCTURAL) == nx * (nz + 1) + nz * (nx + 1)
    assert count(SHEAR) == 2 * nx * nz
    assert count(BEND) == (nx - 1) * (nz + 1) + (nz - 1) * (nx + 1)
    length = np.linalg.norm(mesh.vertices[springs.pairs[:, 0]] - mesh.vertices[springs.pairs[:, 1]], axis=1)
    for kind, expected in ((STRUCTURAL, 0.1), (SHEAR, 0.1 * np.sqrt(2)), (BEND, 0.2)):
        np.testing.assert_allclose(length[springs.kind == kind], expected)
    assert len(np.unique(springs.pairs, axis=0)) == springs.count
    # every edge of a triangle is a spring, which the kernels rely on
    edges = {tuple(e) for e in mesh.edges().tolist()}
    assert edges <= {tuple(p) for p in springs.pairs.tolist()}


def test_kinds_survive_the_assembly():
    sim = build(make_scene(shapes.sheet(0.4, 4), WOVEN, body={"springs": "grid"}))
    assert np.bincount(sim.model.springs.kind).tolist() == [40, 32, 30]
    assert np.bincount(sim.solvers[0].model.springs.kind).tolist() == [40, 32, 30]
    both = Springs.concat([sim.model.springs, sim.model.springs], [0, 25])
    assert np.bincount(both.kind).tolist() == [80, 64, 60]


@pytest.mark.parametrize("turned", [False, True])
def test_moduli_of_warp_weft_and_shear(turned):
    mesh = shapes.sheet(1.0, 8)
    springs = elements(mesh, warp=(0, 0, 1) if turned else None).springs
    moduli, area = cloth_moduli(WOVEN), area_modulus(WOVEN, "grid") / WOVEN.thickness
    first, second = (moduli.weft, moduli.warp) if turned else (moduli.warp, moduli.weft)
    assert modulus(mesh, springs, np.diag([1.0, 0, 0])) + area == pytest.approx(first, rel=1e-3)
    assert modulus(mesh, springs, np.diag([0, 0, 1.0])) + area == pytest.approx(second, rel=1e-3)
    shear = np.zeros((3, 3))
    shear[0, 2] = 1.0
    assert modulus(mesh, springs, shear) == pytest.approx(WOVEN.shear, rel=1e-3)


def test_uneven_triangles_have_the_moduli_on_average():
    """Van Gelder's springs with a modulus by direction: a mesh without preferred directions, within 15 %."""
    rng = np.random.default_rng(0)
    scipy = pytest.importorskip("scipy.spatial")
    points = rng.uniform(-0.5, 0.5, (900, 2))
    for _ in range(3):  # even out: each point to the middle of its neighbours
        triangles = scipy.Delaunay(points).simplices
        total, number = np.zeros_like(points), np.zeros(len(points))
        for i, j in ((0, 1), (1, 2), (2, 0)):
            np.add.at(total, triangles[:, i], points[triangles[:, j]])
            np.add.at(number, triangles[:, i], 1)
        inner = np.abs(points).max(axis=1) < 0.45
        points[inner] = (total / number[:, None])[inner]
    triangles = scipy.Delaunay(points).simplices
    x = np.stack([points[:, 0], np.zeros(len(points)), points[:, 1]], axis=1)
    a, b, c = (x[triangles[:, k]] for k in range(3))
    flat = np.linalg.norm(np.cross(b - a, c - a), axis=1) > 1e-5
    mesh = SurfaceMesh(x, triangles[flat]).drop_unused()
    soft = Material(young=1e5, young_weft=6e4, shear=3e4, thickness=1e-3, poisson=0.3)
    moduli, area = cloth_moduli(soft), area_modulus(soft) / soft.thickness
    for springs in ("one_ring", "two_ring"):
        body = elements(mesh, soft, springs)
        assert modulus(mesh, body.springs, np.diag([1.0, 0, 0])) + area == pytest.approx(moduli.warp, rel=0.15)
        assert modulus(mesh, body.springs, np.diag([0, 0, 1.0])) + area == pytest.approx(moduli.weft, rel=0.15)


def test_a_strip_bends_with_its_rigidity():
    strip = shapes.sheet((0.4, 0.1), (16, 4))
    material = Material(young=2e7, poisson=0.34, thickness=0.002, density=300.0, bending=0.02)
    body = elements(strip, material)
    x = strip.vertices
    assert np.abs(forces(x, body.springs)).max() < 1e-9 * body.springs.stiffness.max()
    load = np.zeros_like(x)
    load[:, 1] = -0.1 * body.mass
    u = moved(x, body.springs, x[:, 0] > -0.15 + 1e-6, load)
    weight = 0.1 * material.density * material.thickness  # per area
    expected = weight * 0.35**4 / (8 * 0.02)
    assert -u[x[:, 0] > 0.199, 1].mean() == pytest.approx(expected, rel=0.2)
    assert -u[x[:, 0] > 0.199, 1].mean() > expected


def test_a_pull_along_the_weft_is_easier(device):
    """The same strip hung along the warp and along the weft: strains as the moduli."""
    stretch = {}
    for warp in ((1, 0, 0), (0, 0, 1)):
        mesh = shapes.sheet((0.1, 0.4), (2, 8))
        stuff = Material(young=4e4, young_weft=1e4, shear=3e3, thickness=1e-3, poisson=0.2, damping=0.01, drag=4.0)
        scene = make_scene(mesh, stuff, gravity=(0, 0, -5.0), body={"springs": "grid", "warp": warp})
        scene.pin("body", lambda x: x[:, 2] > 0.199)
        sim = build(scene, device)
        sim.frame(120)
        stretch[warp] = np.ptp(sim.positions()[:, 2]) / 0.4 - 1
    strain = lambda young: stuff.density * 5.0 * 0.4 / 2 / young
    assert stretch[0, 0, 1] == pytest.approx(strain(4e4), rel=0.15)
    assert stretch[1, 0, 0] == pytest.approx(strain(1e4), rel=0.25)


def test_what_is_no_grid_is_refused():
    with pytest.raises(InputError, match="no partner over their longest edge"):
        build(make_scene(shapes.ball(0.3, 2).surface_mesh(), WOVEN, body={"springs": "grid"}))
    with pytest.raises(InputError, match="one_ring"):
        make_scene(shapes.sheet(0.4, 4), WOVEN, body={"springs": "three_ring"})


def test_long_cells_are_told():
    assert "stiffer there" in elements(shapes.sheet((1.0, 0.2), (4, 4)), Material(thickness=1e-3)).notes[0]


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_cloth_runs_under_every_integrator(integrator, device):
    cloth = Material(young=1e5, young_weft=5e4, shear=5e3, bending=1e-5, thickness=1e-3, density=300.0, damping=2e-3)
    scene = make_scene(
        shapes.sheet(0.5, 6), cloth, gravity=(0, -9.81, 0), integrator=integrator, body={"springs": "grid"}
    )
    scene.pin("body", lambda x: (np.abs(x[:, 0]) > 0.249) & (x[:, 2] > 0.249))
    sim = build(scene, device)
    sim.frame(20)
    assert sim.diagnostics().max_stretch < 1.6 and sim.positions()[:, 1].min() < (
        -0.1 if integrator != "hybrid" else -0.02
    )
