"""Cloth in motion and at rest: moduli that come back, contacts, steps that are cut, checkpoints."""

import dataclasses

import numpy as np
import pytest
from bodies import bits, build, make_scene, make_sim

from pliant import PRESETS, InputError, Material, Scene, SurfaceMesh, shapes
from pliant.checkpoint import load_checkpoint, save_checkpoint
from pliant.mesh.look import Look
from pliant.mesh.weave import warp_directions

METHOD = {"method": "baraff_witkin"}
STRIP = Material(
    density=400.0, thickness=1e-3, young=4e5, young_weft=1e5, shear=3e4, bending=1e-4, poisson=0.3, drag=30.0,
    damping=0.01,
)  # fmt: skip


def pulled(warp, poisson=True):
    """Young's modulus that a strip pulled along x by 2 % shows, and how much it narrows over its stretch."""
    mesh = shapes.sheet((0.4, 0.2), (8, 4))
    sim = make_sim(mesh, STRIP, body={"warp": warp}, poisson=poisson, **METHOD)
    energies = []
    for stretch in (1.02, 1.0201):
        y = _relaxed(sim, mesh, stretch)
        energies.append((sim.solvers[0].energy(_by_particle(sim, y)), y))
    force = (energies[1][0] - energies[0][0]) / (0.0001 * 0.4)
    y = energies[0][1]
    narrow = 1.0 - np.ptp(y[:, 2]) / 0.2
    return force / (0.2 * 1e-3) / 0.02, narrow / 0.02


def _by_particle(sim, x):
    out = np.empty_like(x)
    out[sim.body("body").rank] = x
    return out


def _relaxed(sim, mesh, stretch):
    """The even shape of least energy at a stretch along x: only its width is free."""
    shape = lambda w: mesh.vertices * [stretch, 1.0, w]
    low, high = 0.95, 1.02
    energy = lambda w: sim.solvers[0].energy(_by_particle(sim, shape(w)))
    for _ in range(60):
        a, b = low + 0.382 * (high - low), low + 0.618 * (high - low)
        low, high = (low, b) if energy(a) < energy(b) else (a, high)
    return shape(0.5 * (low + high))


@pytest.mark.parametrize("warp, young", [((1, 0, 0), 4e5), ((0, 0, 1), 1e5)], ids=["warp", "weft"])
def test_a_pulled_strip_has_the_modulus_of_its_direction(warp, young):
    found, narrowing = pulled(warp)
    assert found == pytest.approx(young, rel=0.02)
    assert narrowing == pytest.approx(0.3 * np.sqrt(young / (4e5 * 1e5 / young)), rel=0.05)
    found, narrowing = pulled(warp, poisson=False)
    assert found == pytest.approx(young, rel=0.02) and abs(narrowing) < 1e-3


def test_a_strip_hangs_as_long_as_its_modulus_says(device):
    """Under its own weight a strip is longer by rho g L^2 / 2 E: the solver's equilibrium, not its energy's."""
    mesh = shapes.sheet((0.1, 0.5), (2, 10)).rotated((1, 0, 0), np.pi / 2)
    material = dataclasses.replace(STRIP, young=2e5, young_weft=2e5, poisson=0.0, shear=None)
    scene = make_scene(mesh, material, gravity=(0, -9.81, 0), **METHOD)
    scene.pin("body", lambda x: x[:, 1] > 0.249)
    sim = build(scene, device)
    sim.frame(300)
    longer = -0.25 - sim.positions()[:, 1].min()
    # the pinned row's share of the mass hangs on nothing
    assert longer == pytest.approx(400.0 * 9.81 * 0.5**2 / (2 * 2e5), rel=0.02)
    assert np.abs(sim.velocities()).max() < 1e-4


def test_shear_has_its_modulus():
    mesh = shapes.sheet((0.2, 0.2), (4, 4))
    sim = make_sim(mesh, STRIP, **METHOD)
    x = mesh.vertices.copy()
    x[:, 0] += 0.01 * x[:, 2]
    # a shear in the plane by 0.01: G t gamma^2 / 2 per area
    assert sim.solvers[0].energy(_by_particle(sim, x)) == pytest.approx(0.5 * 3e4 * 1e-3 * 1e-4 * 0.04, rel=0.01)


def test_a_clamped_strip_bends_as_a_plate(device):
    """A light cantilever sags by q L^4 / 8 D; triangles of a regular sheet give way a little more."""
    length, rigidity = 0.3, 2e-3
    mesh = shapes.sheet((length, 0.1), (18, 6)).translated((length / 2, 0, 0))
    material = Material(density=100.0, thickness=1e-3, young=1e7, bending=rigidity, poisson=0.0, damping=0.05, drag=3.0)
    scene = make_scene(mesh, material, gravity=(0, -1.0, 0), **METHOD)
    scene.pin("body", lambda x: x[:, 0] < length / 18 + 1e-6)
    sim = build(scene, device)
    sim.frame(250)
    free = length * 17 / 18
    expected = 0.1 * 1.0 * free**4 / (8 * rigidity)
    sag = -sim.positions()[:, 1].min()
    assert 0.9 * expected < sag < 1.6 * expected


def test_a_curved_sheet_keeps_its_curve(device):
    """Angles are measured from those at rest: a half pipe without gravity stays one."""
    flat = shapes.sheet((0.5, 0.3), (12, 6))
    angle = flat.vertices[:, 0] / 0.16
    pipe = SurfaceMesh(
        np.stack([0.16 * np.sin(angle), 0.16 * np.cos(angle), flat.vertices[:, 2]], axis=1), flat.triangles
    )
    sim = make_sim(pipe, "cotton", device=device, **METHOD)
    sim.frame(30)
    assert np.abs(sim.positions() - pipe.vertices).max() < 1e-6


def hung(name, device="cpu", cells=12, **options):
    mesh = shapes.sheet((0.8, 0.8), (cells, cells))
    scene = Scene(**options)
    scene.add_body(mesh, name, name="body", position=(0, 1, 0), **METHOD)
    scene.pin("body", lambda x: (x[:, 2] < -0.399) & (np.abs(x[:, 0]) > 0.399))
    return scene.build(device)


@pytest.mark.parametrize("name", ["cotton", "silk", "denim", "wool"])
def test_real_cloth_hangs_at_sixty_steps_a_second(name, device):
    """Five seconds of one step per frame: it never gains energy, ends nearly still, and is hardly stretched."""
    sim = hung(name, device)
    assert sim.substeps == 1
    energy = sim.diagnostics().energy
    for _ in range(10):
        sim.frame(30)
        now = sim.diagnostics()
        assert now.finite and now.energy < energy + 1e-4 and now.max_stretch < 1.25 and now.mean_stretch < 0.01
        energy = now.energy
    assert now.max_stretch < 1.1 and now.mean_stretch < 0.005 and now.max_speed < 0.4


@pytest.mark.parametrize("name", ["cotton", "silk"])
def test_real_cloth_drapes_over_a_ball(name, device):
    mesh = shapes.sheet((0.8, 0.8), (14, 14))
    scene = Scene()
    scene.add_body(mesh, name, name="body", position=(0, 0.55, 0), **METHOD)
    scene.add_sphere(0.25, (0, 0.27, 0))
    scene.add_plane()
    sim = scene.build(device)
    sim.frame(180)
    now, x = sim.diagnostics(), sim.positions()
    assert now.finite and now.max_stretch < 1.1 and now.mean_stretch < 0.01
    assert np.median(np.linalg.norm(sim.velocities(), axis=1)) < 0.01
    assert np.linalg.norm(x - [0, 0.27, 0], axis=1).min() > 0.25 - 1e-5 and x[:, 1].min() > -1e-5
    # it lies on the top, and its corners hang
    assert x[:, 1].max() > 0.515 and x[:, 1].min() < 0.3
    assert (np.linalg.norm(x - [0, 0.27, 0], axis=1) < 0.2515).sum() > 20


def test_cloth_waves_in_wind(device):
    sim = hung("silk", device, wind=(0.0, 0.0, 4.0))
    heights = []
    for _ in range(40):
        sim.frame(3)
        heights.append(sim.positions()[:, 1].mean())
    now = sim.diagnostics()
    assert now.finite and now.mean_stretch < 0.01
    assert np.mean(heights[20:]) > hung_height() + 0.1


def hung_height():
    sim = hung("silk")
    sim.frame(90)
    return sim.positions()[:, 1].mean()


def test_friction_holds_cloth_on_a_slope_or_lets_it_slide(device):
    """Coulomb's law: it stays below tan(angle) = mu, and slides with g (sin - mu cos) above."""
    mesh = shapes.sheet((0.2, 0.2), (4, 4))
    moved = []
    for mu in (0.6, 0.2):
        scene = Scene(frame_dt=1 / 60)
        material = dataclasses.replace(PRESETS["cotton"], friction=mu, drag=0.0)
        tilt = np.arctan(0.4)
        normal = (float(np.sin(tilt)), float(np.cos(tilt)), 0.0)
        turned = mesh.rotated((0, 0, 1), -tilt).translated(np.array(normal) * 0.5001 * material.thickness)
        scene.add_body(turned, material, name="body", **METHOD)
        scene.add_plane((0, 0, 0), normal, friction=mu)
        sim = scene.build(device)
        start = sim.positions().mean(axis=0)
        sim.frame(60)
        moved.append(np.linalg.norm(sim.positions().mean(axis=0) - start))
    assert moved[0] < 1e-3
    expected = 0.5 * 9.81 * (np.sin(tilt) - 0.2 * np.cos(tilt))
    assert moved[1] == pytest.approx(expected, rel=0.08)


def test_contact_forces_carry_the_weight():
    mesh = shapes.sheet((0.2, 0.2), (4, 4))
    scene = Scene()
    scene.add_body(mesh, "denim", name="body", position=(0, 0.001, 0), **METHOD)
    scene.add_plane()
    sim = scene.build("cpu")
    sim.frame(60)
    _, forces = sim.contact_forces()
    weight = 9.81 * sim.model.particles.mass.sum()
    assert np.asarray(forces)[:, 1].sum() == pytest.approx(weight, rel=0.02)


def test_a_violent_start_is_cut_into_smaller_steps(device):
    """Stretched to double, a sheet snaps back in halved steps, which grow again once it has; the count tells."""
    mesh = shapes.sheet((0.4, 0.4), (8, 8))
    sim = make_sim(mesh, dataclasses.replace(PRESETS["cotton"], damping=0.02), device=device, **METHOD)
    solver = sim.solvers[0]
    sim.set_state("body", mesh.vertices * 2.0, np.zeros_like(mesh.vertices))
    sim.frame()
    first = solver.inner_steps()
    assert first.taken > 4 and first.thrown_away >= 2 and first.smallest <= 0.25
    energy = sim.diagnostics().energy
    sim.frame(120)
    assert sim.diagnostics().energy < 0.1 * energy and sim.diagnostics().max_stretch < 1.05
    before = solver.inner_steps().taken
    sim.frame(20)
    assert solver.inner_steps().taken == before + 20
    kept = make_sim(mesh, "cotton", device=device, halvings=0, **METHOD)
    kept.set_state("body", mesh.vertices * 2.0, np.zeros_like(mesh.vertices))
    kept.frame()
    told = kept.solvers[0].inner_steps()
    assert (told.taken, told.thrown_away, told.forced) == (1, 0, 1)


def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path, device):
    """What holds each particle, the size of the step and the last acceleration are all remembered."""
    mesh = shapes.sheet((0.5, 0.5), (8, 8))

    def start():
        scene = Scene()
        scene.add_body(mesh, "silk", name="body", position=(0, 0.32, 0), **METHOD)
        scene.add_sphere(0.2, (0, 0.1, 0))
        return scene.build(device)

    sim = start()
    sim.frame(25)
    save_checkpoint(sim, tmp_path / "cloth.npz")
    sim.frame(10)
    other = start()
    load_checkpoint(other, tmp_path / "cloth.npz")
    other.frame(10)
    assert (sim.solvers[0].hold.numpy() > 0).any()
    assert bits(sim) == bits(other)


def test_the_warp_follows_what_is_given():
    mesh = shapes.sheet((1.0, 1.0), (2, 2))
    np.testing.assert_allclose(warp_directions(mesh, None)[0], np.tile([1.0, 0, 0], (8, 1)), atol=1e-12)
    uv = mesh.vertices[mesh.triangles][:, :, [2, 0]].astype(np.float32)
    seen = dataclasses.replace(mesh, look=Look(uv=uv))
    np.testing.assert_allclose(np.abs(warp_directions(seen, None)[0]), np.tile([0.0, 0, 1], (8, 1)), atol=1e-6)
    given, unsure = warp_directions(seen, (1.0, 5.0, 0.0))
    np.testing.assert_allclose(given, np.tile([1.0, 0, 0], (8, 1)), atol=1e-12)
    assert unsure == 0 and warp_directions(mesh, (0.0, 1.0, 0.0))[1] == 8


def test_only_sheets_are_taken():
    with pytest.raises(InputError, match="baraff_witkin"):
        make_scene(shapes.box(), Material(), **METHOD)
