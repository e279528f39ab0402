"""What fills a closed surface without tets: gas, kept volume, support springs."""

import dataclasses
import math

import numpy as np
import pytest
from bodies import bits, build, deformed, make_scene, make_sim, rotation

from pliant import InputError, Material, Scene, SurfaceMesh, load_checkpoint, save_checkpoint, shapes
from pliant.forces import GlobalVolume, Pressure, SupportSprings
from pliant.forces.inside import check_inside, stable_step_with
from pliant.mesh.lattice import VoxelLattice

SKIN = Material(young=2e5, poisson=0.4, thickness=0.002, damping=0.002)
KINDS = {
    "gas": Pressure(overpressure=3000.0, ambient=2e4),
    "volume": GlobalVolume(stiffness=5e4, damping=0.003),
    "support": SupportSprings(young=2e4, damping=0.003),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def ball(cells=3, radius=0.5):
    return shapes.ball(radius, cells).surface_mesh()


def volume_ratio(sim, mesh, body="body"):
    return SurfaceMesh(sim.positions(body), mesh.triangles).volume() / mesh.volume()


def force_at(sim, x, v=None):
    """The force on every vertex of the only body in positions x and velocities v [N] (n, 3)."""
    sim.set_state("body", x, np.zeros_like(x) if v is None else v)
    sim.apply_forces()
    return sim.state.f_ext.numpy()[sim.body("body").particle_of].astype(np.float64)


# ---- the force itself ---------------------------------------------------------------------------------------------


@each_kind
def test_force_is_the_negative_gradient_of_the_energy(kind, device):
    mesh = shapes.torus(0.35, 0.15, 2).surface_mesh()
    settings = KINDS[kind]
    sim = make_sim(mesh, SKIN, body={"volume": settings}, device=device)
    x = deformed(mesh, 0.1).astype(np.float32).astype(np.float64)
    force = force_at(sim, x)
    body = sim.body("body")
    full = sim.state.x.numpy().astype(np.float64)
    expected = np.zeros_like(x)
    h = 1e-5
    chosen = np.random.default_rng(0).choice(len(x), 12, replace=False)
    for i in chosen:
        for axis in range(3):
            values = []
            for sign in (1, -1):
                moved = full.copy()
                moved[body.particle_of[i], axis] += sign * h
                values.append(sim.forces[0].energy(moved))
            expected[i, axis] = -(values[0] - values[1]) / (2 * h)
    scale = np.abs(force).max()
    assert scale > 1.0
    np.testing.assert_allclose(force[chosen], expected[chosen], atol=2e-5 * scale)


@each_kind
@pytest.mark.parametrize("away", [0.0, 300.0])
def test_forces_sum_to_nothing(kind, away, device):
    """No net force and no net torque, damping included, near the origin and far from it."""
    mesh = shapes.ellipsoid((0.6, 0.4, 0.5), 3).surface_mesh()
    sim = make_sim(mesh, SKIN, substeps=10, body={"volume": KINDS[kind]}, device=device)
    x = deformed(mesh, 0.15) + [away, 0, 0]
    v = np.random.default_rng(3).normal(size=x.shape) + [2.0, 1.0, 0.0]
    force = force_at(sim, x, v)
    x = sim.positions().astype(np.float64)
    size = np.abs(force).sum()
    assert np.abs(force.sum(axis=0)).max() < 2e-6 * size
    assert np.abs(np.cross(x - x.mean(axis=0), force).sum(axis=0)).max() < 2e-6 * size


@each_kind
def test_momentum_is_kept_in_free_flight(kind, device):
    mesh = ball(3)
    sim = make_sim(
        mesh, SKIN, frame_dt=0.01, device=device,
        body={"volume": KINDS[kind], "velocity": (1.0, 0.5, 0.0), "angular_velocity": (1.0, 2.0, 3.0)},
    )  # fmt: skip
    squeezed = mesh.vertices * [1.0, 0.8, 1.1]
    sim.set_state("body", squeezed)
    before = sim.diagnostics()
    sim.frame(60)
    after = sim.diagnostics()
    assert np.abs(after.momentum - before.momentum).max() < 2e-6 * np.linalg.norm(before.momentum)
    assert np.abs(after.angular_momentum - before.angular_momentum).max() < 2e-6 * np.linalg.norm(
        before.angular_momentum
    )
    assert np.ptp(sim.positions() - squeezed) > 0.1


@each_kind
def test_energy_is_kept_without_damping(kind):
    """Springs, inside and motion together: what a squeezed ball gives up of one it has of the other."""
    mesh = ball(2)
    calm = dataclasses.replace(SKIN, damping=0.0)
    settings = KINDS[kind] if kind == "gas" else dataclasses.replace(KINDS[kind], damping=0.0)
    sim = make_sim(mesh, calm, frame_dt=0.002, substeps=40, body={"volume": settings})
    sim.set_state("body", mesh.vertices * [1.1, 0.85, 1.05])
    energies, motions = [], []
    for _ in range(50):
        sim.frame()
        now = sim.diagnostics()
        energies.append(now.energy)
        motions.append(now.kinetic)
    assert max(motions) > 1.0
    assert np.ptp(energies) < 0.02 * max(motions)


@pytest.mark.parametrize("kind", ["volume", "support"])
def test_a_moved_and_turned_rest_shape_feels_nothing(kind, device):
    mesh = shapes.ellipsoid((0.6, 0.4, 0.5), 3).surface_mesh()
    sim = make_sim(mesh, SKIN, substeps=10, body={"volume": KINDS[kind]}, device=device)
    strong = np.abs(force_at(sim, deformed(mesh, 0.1))).max()
    spin = np.array([0.3, -1.0, 0.7])
    for angle in (0.1, 1.5, 3.0, np.pi):
        x = mesh.vertices @ rotation((1, 2, -1), angle).T + [1.0, -2.0, 0.5]
        v = np.cross(spin, x) + [3.0, 0.0, -1.0]
        assert np.abs(force_at(sim, x, v)).max() < 1e-4 * strong


def test_supports_find_their_frame_from_anywhere(device):
    """Scrambled, flat, on a line, in a point or inside out: finite, no torque, and the least energy there is."""
    mesh = shapes.ellipsoid((0.6, 0.4, 0.5), 2).surface_mesh()
    sim = make_sim(mesh, SKIN, substeps=10, body={"volume": KINDS["support"]}, device=device)
    rng = np.random.default_rng(5)
    x = mesh.vertices
    half = rotation((0, 0, 1), np.pi)
    cases = [rng.normal(size=x.shape), x * [1, 0, 1], x * [1, 0, 0], x * 0, -x, x * [1, 1, -1], x @ half.T,
             x @ rotation((1, 1, 1), 3.1).T, x @ half.T * [1, 0, 1]]  # fmt: skip
    k, place = sim.forces[0]._weight[0], sim.forces[0]._place[0]
    for case in cases:
        force = force_at(sim, case)
        assert np.isfinite(force).all()
        now = sim.positions().astype(np.float64)
        torque = np.cross(now - now.mean(axis=0), force).sum(axis=0)
        assert np.abs(torque).max() <= 1e-5 * np.abs(force).sum()
        turn = sim.forces[0].rotation.numpy()[0]
        np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
        full = sim.state.x.numpy().astype(np.float64)
        d = full - np.average(full, axis=0, weights=k)
        found = 0.5 * np.sum(k * np.sum((d - place @ turn.T) ** 2, axis=1))
        np.testing.assert_allclose(found, sim.forces[0].energy(full), rtol=1e-6, atol=1e-9 * k.sum())


# ---- what it does -------------------------------------------------------------------------------------------------


def swollen(cells, overpressure, device="cpu"):
    mesh = ball(cells, 0.2)
    material = Material(young=2e6, poisson=0.4, thickness=0.002, damping=0.004, drag=20.0)
    gas = Pressure(overpressure=overpressure)
    sim = make_sim(mesh, material, body={"volume": gas}, frame_dt=0.02, device=device)
    sim.frame(25)
    return volume_ratio(sim, mesh) - 1.0


def test_a_balloon_grows_with_its_pressure_and_not_with_its_mesh(device):
    """Laplace: p R / 2 = tension = E t / (1 - nu) dR/R, at any resolution."""
    low, high, fine = swollen(3, 1500.0, device), swollen(3, 3000.0, device), swollen(6, 3000.0, device)
    assert 0.0 < low < high
    assert abs(fine / high - 1.0) < 0.1

    # the balance of a thin shell: the gas loses pressure as it grows
    def excess(share):
        pressure = (101325.0 + 3000.0) / share - 101325.0
        radius = 0.2 * share ** (1 / 3)
        return pressure * radius / 2 - 2e6 * 0.002 / 0.6 * (share ** (1 / 3) - 1)

    low_share, high_share = 1.0, 1.5
    for _ in range(60):
        middle = 0.5 * (low_share + high_share)
        low_share, high_share = (middle, high_share) if excess(middle) > 0 else (low_share, middle)
    assert abs(fine / (low_share - 1.0) - 1.0) < 0.1


def test_a_squeezed_ball_returns_to_its_volume(device):
    mesh = ball(4)
    sim = make_sim(mesh, SKIN, body={"volume": GlobalVolume(stiffness=1e5)}, device=device)
    sim.set_state("body", mesh.vertices * [1.0, 0.5, 1.0])
    assert volume_ratio(sim, mesh) < 0.6
    sim.frame(60)
    assert volume_ratio(sim, mesh) > 0.98


def standing(mesh, volume, seconds=2.0, material=SKIN, device="cpu"):
    """A body dropped from a hand's width onto the floor, some time later."""
    scene = make_scene(
        mesh, material, gravity=(0, -9.81, 0), body={"volume": volume, "position": (0, -mesh.vertices[:, 1].min(), 0)}
    )
    scene.add_plane()
    sim = build(scene, device)
    sim.frame(round(seconds * 60))
    return sim


def test_an_empty_ball_collapses_and_a_filled_one_stands(device):
    mesh = ball(4)
    soft = Material(young=1e4, poisson=0.4, thickness=0.004, damping=0.02)
    empty = standing(mesh, None, material=soft, device=device)
    kept = standing(mesh, GlobalVolume(stiffness=5e4), material=soft, device=device)
    assert volume_ratio(empty, mesh) < 0.5
    assert volume_ratio(kept, mesh) > 0.98
    assert kept.positions()[:, 1].min() > -1e-6


def test_supports_hold_a_soft_shape_upright(device):
    mesh = shapes.ellipsoid((0.2, 0.5, 0.2), 4).surface_mesh()
    soft = Material(young=1e4, poisson=0.4, thickness=0.004, damping=0.02)
    empty = standing(mesh, None, material=soft, device=device)
    held = standing(mesh, SupportSprings(young=1e5), seconds=1.0, material=soft, device=device)
    assert empty.positions()[:, 1].max() < 0.5
    assert held.positions()[:, 1].max() > 0.95
    assert volume_ratio(held, mesh) > 0.95


@pytest.mark.parametrize("cells", [2, 6])
@pytest.mark.parametrize(
    "volume",
    [
        Pressure(), Pressure(overpressure=1e5), Pressure(overpressure=200.0, ambient=0.0),
        GlobalVolume(stiffness=1e3), GlobalVolume(stiffness=1e7), SupportSprings(young=1e3), SupportSprings(young=1e7),
    ],
    ids=["gas", "stiff gas", "thin gas", "soft volume", "stiff volume", "soft support", "stiff support"],
)  # fmt: skip
def test_default_steps_are_stable(cells, volume, device):
    """Dropped, bounced and at rest, from soft to stiff and coarse to fine, with the substeps that are chosen."""
    mesh = ball(cells, 0.3)
    tough = Material(young=5e7 if volume == Pressure(overpressure=1e5) else 1e6, thickness=0.004, damping=0.0005)
    scene = make_scene(
        mesh, tough, gravity=(0, -9.81, 0), body={"volume": volume, "position": (0, 0.7, 0), "velocity": (0.5, -3, 0)}
    )
    scene.add_plane(restitution=0.2)
    sim = build(scene, device)
    sim.frame(20 if sim.substeps > 150 else 60)
    now = sim.diagnostics()
    assert now.finite and now.max_speed < 8.0
    assert 0.4 < volume_ratio(sim, mesh) < 1.5
    assert now.mass_centre[1] < 1.3


@pytest.mark.parametrize("cells", [2, 6])
def test_a_limp_bag_thrown_on_the_floor_holds(cells, device):
    """Spread flat, it has four times the surface on the same mass: stiffer than at rest by far, at the same step."""
    mesh = ball(cells, 0.3)
    limp = Material(young=1e4, thickness=0.004, damping=0.0005)
    body = {"volume": GlobalVolume(stiffness=1e6), "position": (0, 0.35, 0), "velocity": (0.5, -3, 0)}
    scene = make_scene(mesh, limp, gravity=(0, -9.81, 0), body=body)
    scene.add_plane()
    sim = build(scene, device)
    for _ in range(24):
        sim.frame()
        assert 0.97 < volume_ratio(sim, mesh) < 1.03
    assert sim.diagnostics().max_speed < 6.0


@each_kind
@pytest.mark.parametrize("squash", [(1, 0.01, 1), (1, 1, -1), (0.3, 0.3, 0.3)], ids=["flat", "inside out", "small"])
def test_it_comes_back_from_anything(kind, squash, device):
    mesh = ball(2, 0.3)
    sim = make_sim(mesh, dataclasses.replace(SKIN, drag=5.0), body={"volume": KINDS[kind]}, device=device)
    sim.set_state("body", mesh.vertices * squash)
    sim.frame(60)
    assert 0.95 < volume_ratio(sim, mesh) < 1.3


def test_steps_add_up():
    """(omega h)^2 + 2 c h stays below 4 for bodies and forces together, and is not wasted for one alone."""
    force = dataclasses.make_dataclass("Force", ["fastest"])
    assert stable_step_with(0.01, []) == 0.01
    assert stable_step_with(math.inf, [force((1e4, 0.0))]) == pytest.approx(2 / 100.0)
    for omega, other, damping in ((100.0, 100.0, 0.0), (100.0, 1000.0, 50.0), (1000.0, 10.0, 300.0)):
        h = stable_step_with(2 / omega, [force((other**2, damping)), force((1.0, 0.0))])
        used = h * h * (omega**2 + other**2) + 2 * damping * h
        assert 2.0 < used <= 4.0


def test_implicit_steps_stay_within_the_stable_step_of_the_inside():
    mesh = ball(3, 0.3)
    scene = make_scene(
        mesh, SKIN, gravity=(0, -9.81, 0), integrator="implicit", frame_dt=1 / 60,
        body={"volume": GlobalVolume(stiffness=1e5), "position": (0, 0.4, 0)},
    )  # fmt: skip
    scene.add_plane()
    sim = build(scene)
    assert np.isfinite(sim.stable_dt)
    sim.frame(30)
    assert sim.diagnostics().finite and 0.9 < volume_ratio(sim, mesh) < 1.1


# ---- how it runs --------------------------------------------------------------------------------------------------


def company(device="cpu", substeps=7):
    """A ball of each kind, one without, a solid, and a pull."""
    scene = Scene(frame_dt=0.01, substeps=substeps)
    for n, volume in enumerate([*KINDS.values(), None]):
        scene.add_body(ball(3, 0.2), SKIN, name=f"ball{n}", position=(n, 0.25, 0), volume=volume,
                       velocity=(0.1, -2.0, 0), angular_velocity=(1.0, 0, 2.0))  # fmt: skip
    scene.add_body(shapes.box(0.3, 2), Material(young=2e4), name="solid", position=(5, 0.3, 0))
    scene.add_plane(restitution=0.2)
    sim = build(scene, device)
    sim.pull("ball0", 5, (0.3, 0.6, 0.1), 5.0)
    return sim


def test_recorded_equals_eager(device):
    for substeps in (7, 8):
        recorded, eager = company(device, substeps), company(device, substeps)
        for _ in range(5):
            recorded.frame()
            eager.pins.aim(eager.time + eager.frame_dt)
            eager._issue_frame()
            eager.frame_number += 1
        assert bits(recorded) == bits(eager)


def test_going_on_from_a_checkpoint_is_bit_identical(tmp_path, device):
    through = company(device)
    through.frame(8)
    save_checkpoint(through, tmp_path / "run.ckpt")
    through.frame(10)
    resumed = company(device)
    load_checkpoint(resumed, tmp_path / "run.ckpt")
    resumed.frame(10)
    assert bits(resumed) == bits(through)
    assert any(name.startswith("forces.") for name in bits(resumed))


def test_threads_do_not_change_a_bit(set_threads, monkeypatch):
    import pliant.forces.enclosed as enclosed
    import pliant.forces.support as support

    for module in (enclosed, support):  # split even these small bodies
        monkeypatch.setattr(module, "CHUNKS_PER_THREAD", 1)
        monkeypatch.setattr(module, "VERTICES_PER_THREAD", 16)
    results = []
    for count in (1, 2, 3):
        set_threads(count)
        sim = company()
        sim.frame(6)
        results.append(bits(sim))
    assert results[0] == results[1] == results[2]


def test_a_released_pull_leaves_the_inside_alone():
    mesh = ball(2)
    sim = make_sim(mesh, SKIN, substeps=10, body={"volume": KINDS["gas"]})
    before = force_at(sim, mesh.vertices)
    handle = sim.pull("body", 3, (2, 2, 2), 10.0)
    pulled = force_at(sim, mesh.vertices)
    assert np.abs(pulled - before)[3].max() > 1.0
    np.testing.assert_array_equal(np.delete(pulled, 3, axis=0), np.delete(before, 3, axis=0))
    sim.release(handle)
    np.testing.assert_array_equal(force_at(sim, mesh.vertices), before)


# ---- what is refused ----------------------------------------------------------------------------------------------


def refused(mesh, volume, **body):
    with pytest.raises(InputError) as error:
        make_scene(mesh, SKIN, body={"volume": volume, **body})
    return str(error.value)


def test_an_open_surface_is_refused():
    mesh = ball(2)
    said = refused(mesh.of_triangles(np.arange(1, len(mesh.triangles))), Pressure())
    assert "3 boundary edges" in said and "body 'body'.volume" in said and "Close its holes" in said
    assert "wind in opposite" in refused(mesh.turned(np.array([4])), Pressure())
    assert "boundary" in refused(shapes.sheet(1.0, 2), "pressure")


def test_an_inverted_surface_is_refused():
    mesh = ball(2)
    said = refused(mesh.turned(np.arange(len(mesh.triangles))), GlobalVolume())
    assert "face inwards" in said and "-0.4" in said


def test_a_solid_is_refused():
    assert "has tets already" in refused(shapes.ball(0.5, 2), SupportSprings())
    with pytest.raises(InputError, match="VoxelLattice has cells already"):
        check_inside(VoxelLattice.__new__(VoxelLattice), "body.volume")


def test_bad_settings_are_refused():
    mesh = ball(2)
    for make in (
        lambda: Pressure(overpressure=-1.0), lambda: Pressure(overpressure=0.0, ambient=0.0),
        lambda: GlobalVolume(stiffness=0.0), lambda: SupportSprings(young=-1.0), lambda: SupportSprings(depth=0.0),
    ):  # fmt: skip
        with pytest.raises(InputError):
            make()
    assert "pressure, support, global_volume" in refused(mesh, "vacuum")
    assert "pressure, support, global_volume" in refused(mesh, 3.0)


@pytest.mark.parametrize("integrator", ["euler", "midpoint", "rk4"])
def test_staged_integrators_are_refused(integrator):
    scene = make_scene(ball(2), SKIN, body={"volume": "pressure"}, integrator=integrator)
    with pytest.raises(InputError, match="once a substep"):
        build(scene)
