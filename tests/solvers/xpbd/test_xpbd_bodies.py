"""XPBD bodies against closed forms: chains, sheets, plates, bars; pins, long-range attachments, slopes, checkpoints."""

import dataclasses

import numpy as np
import pytest
from bodies import bits, build, make_scene, make_sim

from pliant import InputError, Material, RawConstants, Scene, SurfaceMesh, load_checkpoint, save_checkpoint, shapes
from pliant.materials import PRESETS
from pliant.solvers.xpbd import mesh_part
from pliant.solvers.xpbd.constraints import Constraints, Law

G = 9.81


def hanging_chain(monkeypatch, iterations, substeps, frames=150, links=10, strain=0.02, device="cpu"):
    """Two rows of vertices, each a chain of equal springs that hangs from its first: lengths of the links now, and as
    each carries the weight below it, over those at rest (links,)."""
    mesh = shapes.sheet((1.0, 0.1), (links, 1))
    chains = {}

    def constraints(body, settings):
        x = body.own.mesh.vertices
        rows = [np.flatnonzero(np.abs(x[:, 2] - z) < 1e-9) for z in (-0.05, 0.05)]
        pairs = np.concatenate([np.stack([r[:-1], r[1:]], axis=1) for r in (k[np.argsort(x[k, 0])] for k in rows)])
        weight = mass.sum() * G
        stiffness = weight / (strain / links)
        chains["k"] = stiffness
        values = np.column_stack([np.full(len(pairs), 1.0 / links), np.full(len(pairs), 1.0 / stiffness)])
        out = Constraints.empty()
        out.distance = Law(pairs.astype(np.int32), values, np.full(len(pairs), body.material.damping))
        return out

    material = Material(density=1000.0, thickness=0.001, drag=6.0, damping=0.004)
    mass = 1000.0 * 0.001 * mesh.areas()
    monkeypatch.setattr(mesh_part, "body_constraints", constraints)
    scene = make_scene(
        mesh, material, method="xpbd", gravity=(G, 0, 0), frame_dt=1 / 60, substeps=substeps, iterations=iterations
    )
    scene.pin("body", lambda x: x[:, 0] < -0.49)
    sim = build(scene, device)
    sim.frame(frames)
    x = sim.positions()
    row = np.flatnonzero(mesh.vertices[:, 2] < 0)
    row = row[np.argsort(mesh.vertices[row, 0])]
    lengths = np.diff(x[row, 0]) * links
    masses = sim.model.particles.mass[sim.body("body").particle_of][row]
    below = np.cumsum(masses[::-1])[::-1][1:]
    return lengths, 1.0 + below * G / chains["k"] * links


@pytest.mark.parametrize(("iterations", "substeps"), [(1, 40), (5, 10), (20, 5), (20, 10)])
def test_a_chain_hangs_as_its_springs_say(monkeypatch, iterations, substeps):
    """Stretch depends neither on the iterations nor on the step, once there are enough of them."""
    lengths, expected = hanging_chain(monkeypatch, iterations, substeps)
    assert (expected - 1).max() > 0.005
    np.testing.assert_allclose(lengths - 1, expected - 1, atol=0.03 * (expected - 1).max())


def strip_pulled(material, mesh=None, gravity=0.5, frames=150, substeps=10, device="cpu", body=None, **settings):
    """A strip along x, held at one end, that its own weight pulls along x: elongation over rho g L^2 / 2 [m per Pa]."""
    mesh = shapes.sheet((1.0, 0.25), (16, 4)) if mesh is None else mesh
    scene = make_scene(
        mesh, material, method="xpbd", gravity=(gravity, 0, 0), substeps=substeps, body=body or {}, **settings
    )
    scene.pin("body", lambda x: x[:, 0] < -0.499)
    sim = build(scene, device)
    sim.frame(frames)
    moved = (sim.positions() - mesh.vertices)[mesh.vertices[:, 0] > 0.499, 0].mean()
    return material.density * gravity / (2.0 * moved)


CLOTH = Material(young=1e4, poisson=0.33, density=200.0, thickness=0.002, drag=4.0, damping=0.003)


@pytest.mark.parametrize("stretch", ["edges", "triangles"])
def test_a_pulled_sheet_has_its_modulus(stretch, device):
    # along the edges of this grid springs have 1.2 E, and less across them: their mean over all directions is E
    expected = CLOTH.young * (1.17 if stretch == "edges" else 1.0)
    assert strip_pulled(CLOTH, stretch=stretch, device=device) == pytest.approx(expected, rel=0.05)


def test_warp_and_weft_have_their_own_moduli():
    woven = dataclasses.replace(CLOTH, young=2e4, young_weft=5e3, shear=2e3, poisson=0.1)
    assert strip_pulled(woven, body={"warp": (1, 0, 0)}) == pytest.approx(2e4, rel=0.05)
    assert strip_pulled(woven, body={"warp": (0, 0, 1)}) == pytest.approx(5e3, rel=0.05)
    # on the bias the shear counts: 1/E = (1/Ewarp + 1/Eweft - 2 nu / sqrt(Ewarp Eweft) + 1/G) / 4
    bias = 4.0 / (1 / 2e4 + 1 / 5e3 - 0.2 / 1e4 + 1 / 2e3)
    assert strip_pulled(woven, body={"warp": (1, 0, 1)}) == pytest.approx(bias, rel=0.12)


@pytest.mark.parametrize("poisson", [0.0, 0.45])
def test_a_pulled_bar_has_its_modulus_and_narrows(poisson, device):
    bar = Material(young=3e4, poisson=poisson, density=1000.0, drag=4.0, damping=0.003)
    mesh = shapes.box((1.0, 0.2, 0.2), (15, 3, 3))
    # its held end cannot narrow, which makes it a little stiffer
    assert strip_pulled(bar, mesh, gravity=1.0, device=device) == pytest.approx(bar.young, rel=0.03 + 0.12 * poisson)
    # the same with its width, where the bar is held and strained most but free to narrow
    scene = make_scene(mesh, bar, method="xpbd", gravity=(1.0, 0, 0), substeps=10)
    scene.pin("body", lambda x: x[:, 0] < -0.499)
    sim = build(scene, device)
    sim.frame(150)
    x, rest = sim.positions(), mesh.vertices
    near = np.abs(rest[:, 0] + 0.5 - 1 / 3) < 1e-6
    width = np.ptp(x[near, 1]) / 0.2 - 1.0
    strain = bar.density * 1.0 * (2 / 3) / bar.young
    assert width == pytest.approx(-poisson * strain, abs=0.1 * strain)


@pytest.mark.parametrize("bending", ["isometric", "dihedral"])
def test_a_clamped_strip_sags_as_a_plate(bending, device):
    """Over q L^4 / (8 D): within what hinges on a grid of alternating diagonals do, 1.0 to 1.4."""
    mesh = shapes.sheet((0.4, 0.1), (16, 4))
    material = Material(young=2e6, poisson=0.33, thickness=0.004, density=300, damping=1e-3, drag=8.0)
    scene = make_scene(mesh, material, method="xpbd", gravity=(0, -0.05, 0), substeps=40, bending=bending)
    scene.pin("body", lambda x: x[:, 0] < -0.175 + 1e-6)
    sim = build(scene, device)
    sim.frame(200)
    sag = -sim.positions()[mesh.vertices[:, 0] > 0.2 - 1e-6, 1].mean()
    plate = 300 * 0.004 * 0.05 * 0.375**4 / (8 * material.plate_rigidity)
    assert 0.9 < sag / plate < 1.45


def test_bending_can_be_given_and_left_out():
    sags = []
    for rigidity, bending in ((0.02, "isometric"), (0.04, "isometric"), (0.04, "none"), (0.04, "distance")):
        material = Material(young=1e6, thickness=0.002, density=300, drag=20.0, bending=rigidity)
        scene = make_scene(
            shapes.sheet((0.3, 0.1), (9, 3)),
            material,
            method="xpbd",
            gravity=(0, -2.0, 0),
            substeps=16,
            bending=bending,
        )
        scene.pin("body", lambda x: x[:, 0] < -0.116)
        sim = build(scene)
        sim.frame(60)
        sags.append(-sim.positions()[:, 1].min())
    assert sags[0] > 1.5 * sags[1]
    assert sags[2] > 1.5 * sags[0] and sags[2] > 0.08
    assert sags[3] > sags[1]


def test_a_curved_sheet_rests_and_springs_back():
    mesh = shapes.ball(0.3, 4).surface_mesh()
    material = Material(young=1e5, thickness=0.02, damping=0.01)
    sim = make_sim(mesh, material, method="xpbd", substeps=10)
    sim.frame(10)
    np.testing.assert_allclose(sim.positions(), mesh.vertices, atol=2e-6)
    sim.set_state("body", mesh.vertices * [1, 0.9, 1])
    first = sim.diagnostics().elastic
    sim.frame(60)
    assert sim.diagnostics().elastic < 0.02 * first


# ---- pins and long-range attachments ------------------------------------------------------------------------------


def curtain(long_range, substeps=4, cells=24):
    scene = make_scene(
        shapes.sheet(1.0, cells), Material(young=1e8, thickness=0.0005, density=400, damping=0.0),
        method="xpbd", gravity=(0, -G, 0), substeps=substeps, long_range=long_range, bending="none",
    )  # fmt: skip
    scene.pin("body", lambda x: (np.abs(x[:, 0]) > 0.499) & (x[:, 2] < -0.499))
    return scene


def test_long_range_attachments_hold_a_hanging_cloth():
    longest = {}
    for long_range in (False, True):
        sim = build(curtain(long_range))
        sim.frame(90)
        x = sim.positions().astype(float)
        rest = shapes.sheet(1.0, 24).vertices
        corners = (np.abs(rest[:, 0]) > 0.499) & (rest[:, 2] < -0.499)
        pins = x[corners]
        # along the edges of alternating diagonals no way is longer than that along the sides of cells
        ways = np.abs(rest[:, None] - rest[corners][None]).sum(axis=2)
        far = np.linalg.norm(x[:, None] - pins[None], axis=2)
        longest[long_range] = (far[~corners] / ways[~corners]).min(axis=1).max()
        if long_range:
            # one pin after the other: the last may have drawn it from the first
            assert (far <= 1.03 * ways).all()
    assert longest[True] < 1.011
    assert longest[False] > longest[True] + 0.05


def test_ways_are_the_shortest_along_edges():
    sim = build(curtain(True, cells=9))
    sim.frame()
    held = sim.solvers[0].meshes.long_range[0]
    mesh = sim.body("body").own.mesh
    count = len(mesh.vertices)
    edges = mesh.edges()
    apart = np.full((count, count), np.inf)
    length = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
    apart[edges[:, 0], edges[:, 1]] = apart[edges[:, 1], edges[:, 0]] = length
    np.fill_diagonal(apart, 0.0)
    for k in range(count):
        apart = np.minimum(apart, apart[:, k : k + 1] + apart[k : k + 1])
    pinned = np.array(sim.pins.order)
    assert len(pinned) == 2
    anchors, ways = held.anchors.numpy().reshape(-1, 3), held.ways.numpy().reshape(-1, 3)
    nearest = pinned[np.argsort(apart[:, pinned], axis=1, kind="stable")]
    np.testing.assert_allclose(ways[:, :2], 1.01 * np.sort(apart[:, pinned], axis=1), rtol=1e-5)
    clear = np.abs(apart[:, pinned[0]] - apart[:, pinned[1]]) > 1e-6
    np.testing.assert_array_equal(anchors[clear, :2], nearest[clear])
    assert (anchors[:, 2] == -1).all()


def test_pins_that_change_while_it_runs(device):
    """A cloth let go at one corner swings about the other; let go there too, it falls freely."""
    sim = build(curtain(True), device)
    mesh = shapes.sheet(1.0, 24)
    corners = np.flatnonzero((np.abs(mesh.vertices[:, 0]) > 0.499) & (mesh.vertices[:, 2] < -0.499))
    sim.frame(10)
    sim.unpin("body", corners[:1])
    sim.frame(30)
    x = sim.positions()
    assert x[corners[0], 1] < x[corners[1], 1] - 0.2
    sim.unpin("body", corners[1:])
    before = sim.diagnostics()
    sim.frame(6)
    after = sim.diagnostics()
    gained = (after.momentum - before.momentum) / sim.model.particles.mass.sum()
    np.testing.assert_allclose(gained, [0, -G * 0.1, 0], atol=1e-4)


def test_a_clamped_solid_is_as_stiff_as_one_pinned_later():
    """Blocks of tets with pinned corners are made anew when pins change: both bars end the same."""
    ends = []
    for later in (False, True):
        scene = make_scene(
            shapes.box((0.6, 0.2, 0.2), (6, 2, 2)), Material(young=3e5, drag=5.0), method="xpbd",
            gravity=(0, -G, 0), substeps=8,
        )  # fmt: skip
        if not later:
            scene.pin("body", lambda x: x[:, 0] < -0.29)
        sim = build(scene)
        if later:
            sim.pin("body", np.flatnonzero(shapes.box((0.6, 0.2, 0.2), (6, 2, 2)).vertices[:, 0] < -0.29))
        sim.frame(60)
        ends.append(sim.positions())
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


# ---- contact, damping, input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("friction", "slides"), [(0.5, False), (0.2, True)])
def test_friction_on_a_slope(friction, slides, device):
    angle = np.radians(20.0)
    normal, downhill = np.array([np.sin(angle), np.cos(angle), 0]), np.array([np.cos(angle), -np.sin(angle), 0])
    scene = Scene(gravity=(0, -G, 0), frame_dt=0.02)
    material = Material(young=1e5, poisson=0.3, damping=0.004, friction=friction, density=800.0)
    scene.add_body(
        shapes.box((0.4, 0.2, 0.3), (4, 2, 3)), material, method="xpbd", name="body", rotation=(0, 0, -20),
        position=0.1 * normal,
    )  # fmt: skip
    scene.add_plane(normal=normal, friction=friction)
    sim = build(scene, device)
    sim.frame(25)
    before = sim.positions().mean(axis=0) @ downhill
    sim.frame(25)
    if slides:
        speed = sim.diagnostics().momentum @ downhill / sim.model.particles.mass.sum()
        assert speed == pytest.approx(G * (np.sin(angle) - 0.2 * np.cos(angle)) * sim.time, rel=0.05)
    else:
        assert abs(sim.positions().mean(axis=0) @ downhill - before) < 1e-3


def test_damping_is_that_of_the_material_at_any_step():
    """A soft bar that swings lengthwise loses the share of its energy that Kelvin and Voigt say, in short steps."""
    mesh = shapes.box((0.8, 0.2, 0.2), (8, 2, 2))
    kept = {}
    for damping in (0.0, 0.004):
        for substeps in (20, 40):
            sim = make_sim(
                mesh, Material(young=2e4, poisson=0.0, damping=damping), method="xpbd", frame_dt=0.02, substeps=substeps
            )
            v = np.zeros_like(mesh.vertices)
            v[:, 0] = 0.3 * np.sin(np.pi * mesh.vertices[:, 0] / 0.8)
            sim.set_state("body", mesh.vertices, v)
            first = sim.diagnostics().energy
            sim.frame(10)
            kept[damping, substeps] = sim.diagnostics().energy / first
    omega = np.pi / 0.8 * np.sqrt(2e4 / 1000)
    expected = np.exp(-0.004 * omega**2 * 0.2)
    for substeps in (20, 40):
        share = kept[0.004, substeps] / kept[0.0, substeps]
        assert share == pytest.approx(expected, rel=0.1)
    # what the implicit step itself takes falls with it
    assert 1 - kept[0.0, 40] < 0.6 * (1 - kept[0.0, 20])


def test_settings_that_make_no_sense():
    for bad in ({"iterations": 0}, {"stretch": "springs"}, {"bending": "plate"}, {"long_range_slack": -1.0}):
        with pytest.raises(InputError):
            make_scene(shapes.sheet(1.0, 2), method="xpbd", **bad)


def test_poor_meshes_do_not_break_it():
    """A lone triangle, two, three on one edge, slivers, a needle tet: finite and calm."""
    sliver = [[0, 0, 0], [1, 0, 0], [0.5, 1e-4, 0], [0.5, 0, 1.0], [0.4, -1.0, 0.2]]
    meshes = [
        SurfaceMesh(sliver[:1] + [[1, 0, 0], [0, 0, 1]], [[0, 2, 1]]),
        SurfaceMesh(sliver[:4], [[0, 1, 2], [1, 0, 3]]),
        SurfaceMesh(sliver, [[0, 1, 2], [1, 0, 3], [0, 1, 4]]),
    ]
    for mesh in meshes:
        for settings in ({}, {"stretch": "triangles", "bending": "dihedral"}, {"bending": "distance"}):
            sim = make_sim(mesh, Material(), method="xpbd", gravity=(0, -G, 0), substeps=8, **settings)
            sim.set_state("body", mesh.vertices + 1e-5 * np.random.default_rng(0).normal(size=mesh.vertices.shape))
            sim.frame(20)
            d = sim.diagnostics()
            assert d.finite and d.max_speed < 30.0


def test_a_crushed_solid_comes_back():
    """Turned inside out and flattened, tets find their way back to their shape."""
    mesh = shapes.box(0.4, 3)
    sim = make_sim(mesh, Material(young=1e5, damping=0.01), method="xpbd", substeps=10)
    sim.set_state("body", mesh.vertices * [1.0, -0.2, 1.0])
    assert sim.diagnostics().inverted > 0
    sim.frame(120)
    d = sim.diagnostics()
    assert d.inverted == 0 and d.volume_ratio == pytest.approx(1.0, abs=1e-3)


def test_raw_constants_are_those_of_the_edges():
    mesh = shapes.sheet(1.0, 4)
    sim = make_sim(mesh, Material(), method="xpbd", substeps=4, body={"raw": RawConstants(spring=40.0, mass=2.0)})
    assert sim.model.particles.mass.sum() == pytest.approx(2.0)
    law = sim.solvers[0].meshes.constraints.distance
    assert len(law.corners) == len(mesh.edges())
    np.testing.assert_allclose(1 / law.values[:, 1], 40.0)
    assert any("edges alone" in note for note in sim.notes)


@pytest.mark.parametrize("iterations", [1, 3])
def test_a_checkpoint_goes_on_to_the_bit(iterations, tmp_path, device):
    def scene():
        out = Scene(gravity=(0, -G, 0), frame_dt=0.01, substeps=5)
        material = Material(young=2e4, damping=0.004, restitution=0.2)
        out.add_body(shapes.box(0.3, 3), material, method="xpbd", name="box", position=(0, 0.2, 0))
        out.add_body(shapes.sheet(0.6, 8), material, method="xpbd", name="cloth", position=(0, 0.5, 0))
        out.pin("cloth", lambda x: x[:, 0] < -0.29)
        out.configure("xpbd", iterations=iterations, long_range=True)
        out.add_plane()
        return build(out, device)

    sim = scene()
    sim.frame(7)
    save_checkpoint(sim, tmp_path / "there.ckpt")
    sim.frame(5)
    other = scene()
    load_checkpoint(other, tmp_path / "there.ckpt")
    other.frame(5)
    assert bits(sim) == bits(other)


def test_substeps_are_chosen_for_stiffness():
    cotton = Material(density=400.0, thickness=0.0005, young=2e6)
    count = lambda cells, **settings: (
        make_sim(shapes.sheet(1.0, cells), cotton, method="xpbd", gravity=(0, -G, 0), **settings).substeps
    )
    assert 4 <= count(8) <= count(32) <= count(128) == 30
    assert count(32, iterations=4) < count(32)
    coarse = make_sim(shapes.sheet(1.0, 64), cotton, method="xpbd", gravity=(0, -G, 0), substeps=2)
    assert any("softer than its material" in note for note in coarse.notes)


@pytest.mark.parametrize("preset", ["cotton", "silk"])
def test_a_woven_cloth_stands_a_hard_pull(preset, device):
    """Threads hundreds of times stiffer than the shear between them: a pull by the hand must not blow it up."""
    mesh = shapes.sheet(0.8, 12)
    scene = make_scene(mesh, PRESETS[preset], method="xpbd", gravity=(0, -9.81, 0), substeps=7)
    scene.pin("body", lambda x: np.abs(x[:, 0]) > 0.399)
    sim = build(scene, device)
    mass = float(sim.model.particles.mass.sum())
    middle = int(np.argmin(np.linalg.norm(mesh.vertices, axis=1)))
    handle = sim.pull("body", middle, (0.1, 0.5, 0.2), stiffness=12 * 9.81 * mass / 0.5)
    sim.frame(30)
    sim.release(handle)
    sim.frame(60)
    assert np.linalg.norm(sim.velocities(), axis=1).max() < 5.0
    assert sim.diagnostics().max_stretch < 1.5
