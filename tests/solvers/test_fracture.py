"""Bodies that break: when they do, into what, and that nothing is lost or gained by it."""

import numpy as np
import pytest
from bodies import STILL, build

from pliant import InputError, Material, Scene, VoxelLattice, load_checkpoint, save_checkpoint, shapes
from pliant.mesh.cluster import Clusters
from pliant.solvers.shape_matching.fracture_links import ClusterLinks, cluster_centres
from pliant.solvers.shape_matching.rest import functions

BAR = shapes.box((0.8, 0.1, 0.1), (24, 3, 3))
BOXES = {"mode": "rigid", "clusters": 8, "clusters_by": "boxes", "axis": "x"}
BRITTLE = {"young": 2e6, "damping": 0.002, "density": 1000.0}


def bar_scene(strain=0.1, matching=BOXES, gravity=STILL, mesh=BAR, substeps=6, **body):
    scene = Scene(gravity=gravity, substeps=substeps)
    material = Material(**BRITTLE, fracture_strain=strain)
    scene.add_body(mesh, material, method="shape_matching", name="bar", matching=matching, **body)
    return scene


def pulled(by, strain=0.1, time=1 / 3, **options):
    """A bar whose ends are led apart by `by` [m] within a time [s]."""
    scene = bar_scene(strain, **options)
    x = scene.bodies[0].mesh.vertices[:, 0]
    scene.pin("bar", x < -0.39, path=[(0.0, (0.0, 0.0, 0.0)), (time, (-by / 2, 0.0, 0.0))])
    scene.pin("bar", x > 0.39, path=[(0.0, (0.0, 0.0, 0.0)), (time, (by / 2, 0.0, 0.0))])
    return scene


def momenta(sim):
    """Mass, linear and angular momentum about the origin, in float64."""
    m = sim.model.particles.mass[:, None]
    x, v = (array.numpy().astype(np.float64) for array in (sim.state.x, sim.state.v))
    return m.sum(), (m * v).sum(axis=0), (m * np.cross(x, v)).sum(axis=0)


def flying_apart(device, strain=0.05, **options):
    """A free bar whose halves move away from each other and turn, so that it must break."""
    sim = build(bar_scene(strain, **options), device)
    x = sim.positions("bar").astype(np.float64)
    v = 3.0 * np.sign(x[:, :1]) * [1.0, 0.2, 0.0] + np.cross([0.5, 1.0, 2.0], x)
    sim.set_state("bar", velocities=v)
    return sim


def test_bodies_do_not_break_unless_told_to(device):
    sim = build(pulled(0.6, strain=None), device)
    sim.frame(30)
    assert sim.pieces("bar") == 1 and len(sim.broken_links("bar")) == 0
    assert sim.body("bar").skin is None
    assert not any("break" in note for note in sim.notes)
    assert not any("broken" in name for name in sim.arrays())


def test_breaks_above_the_limit_and_not_below(device):
    # the bar between the pins is 0.78 m long
    whole, broken = build(pulled(0.05), device), build(pulled(0.12), device)
    for sim in (whole, broken):
        assert any("can break: 7 links between 8 clusters" in note for note in sim.notes)
        sim.frame(30)
    assert whole.pieces("bar") == 1
    assert broken.pieces("bar") > 1
    told = [note for note in broken.notes if "began to break" in note]
    assert len(told) == 1 and not any("began" in note for note in whole.notes)


def test_a_slow_pull_breaks_a_bar_in_one_place_only(device):
    # the whole bar is stretched to its limit, and the first break takes the load off the rest
    sim = build(pulled(0.3, time=2.0, substeps=12), device)
    sim.frame(125)
    assert sim.pieces("bar") == 2 and len(sim.broken_links("bar")) == 1
    # each piece has its own length again; what was between is empty
    x = np.sort(sim.positions("bar")[:, 0])
    gaps = np.diff(x)
    assert gaps.max() > 0.2
    low, high = x[: np.argmax(gaps) + 1], x[np.argmax(gaps) + 1 :]
    assert np.ptp(low) + np.ptp(high) == pytest.approx(0.8 - 0.8 / 24, rel=0.02)


def test_two_clusters_come_apart_into_halves(device):
    sim = build(pulled(0.4, matching={**BOXES, "clusters": 2}), device)
    sim.frame(30)
    assert sim.pieces("bar") == 2 and sim.broken_links("bar").tolist() == [[0, 1]]
    x, rest = sim.positions("bar")[:, 0], BAR.vertices[:, 0]
    moved = x - rest
    # the halves still shake
    np.testing.assert_allclose(moved[rest < -0.01], -0.2, atol=0.03)
    np.testing.assert_allclose(moved[rest > 0.01], 0.2, atol=0.03)


def test_momentum_and_mass_are_kept_when_a_free_body_breaks(device):
    sim = flying_apart(device)
    mass, linear, angular = momenta(sim)
    scale = float((sim.model.particles.mass * np.linalg.norm(sim.state.v.numpy(), axis=1)).sum())
    sim.frame(30)
    assert sim.pieces("bar") >= 2
    after = momenta(sim)
    assert after[0] == mass
    np.testing.assert_allclose(after[1], linear, atol=2e-5 * scale)
    np.testing.assert_allclose(after[2], angular, atol=2e-5 * scale)


@pytest.mark.parametrize("mode", ["rigid", "linear", "quadratic"])
def test_nothing_blows_up_at_a_break(mode, device):
    sim = flying_apart(device, matching={**BOXES, "mode": mode})
    energy = sim.diagnostics().kinetic
    fastest = np.abs(sim.velocities("bar")).max()
    for _ in range(30):
        sim.frame()
        assert np.abs(sim.velocities("bar")).max() < 2.0 * fastest
    assert sim.pieces("bar") >= 2
    assert sim.diagnostics().kinetic < energy


def test_pieces_fall_on_their_own(device):
    scene = bar_scene(gravity=(0.0, -10.0, 0.0))
    scene.pin("bar", BAR.vertices[:, 0] < -0.39)
    scene.pin("bar", BAR.vertices[:, 0] > 0.39, path=[(0.0, (0.0, 0.0, 0.0)), (0.2, (0.3, 0.0, 0.0))])
    sim = build(scene, device)
    sim.frame(12)
    assert sim.pieces("bar") >= 2
    sim.unpin("bar", BAR.vertices[:, 0] > 0.39)
    # the piece that nothing holds falls freely from here on
    right = sim.positions("bar")[:, 0] > sim.positions("bar")[:, 0].max() - 0.2
    before = sim.velocities("bar")[right, 1].mean()
    sim.frame(30)
    assert sim.velocities("bar")[right, 1].mean() - before == pytest.approx(-10.0 * 0.5, rel=0.1)
    assert sim.positions("bar")[~right, 1].max() > -0.1


def test_the_same_strain_breaks_rigid_linear_and_quadratic_bodies(device):
    for mode in ("rigid", "linear", "quadratic"):
        below, above = (build(pulled(by, matching={**BOXES, "mode": mode}), device) for by in (0.05, 0.13))
        below.frame(30)
        above.frame(30)
        assert below.pieces("bar") == 1, mode
        assert above.pieces("bar") > 1, mode


def test_pressing_does_not_break(device):
    sim = build(pulled(-0.2, strain=0.05), device)
    sim.frame(10)
    assert np.ptp(sim.positions("bar")[:, 0]) < 0.72
    assert sim.pieces("bar") == 1


def test_frames_that_are_not_checked_break_at_the_next_that_is(device):
    sim = build(pulled(0.3), device)
    sim.frame(15, check=False)
    assert sim.pieces("bar") == 1
    sim.frame()
    assert sim.pieces("bar") > 1


@pytest.mark.parametrize(
    "matching", [{"mode": "linear", "clusters": 12}, {"mode": "rigid", "clusters": 30, "clusters_by": "grids"}]
)
def test_no_cluster_is_left_empty_and_every_particle_has_one(matching, device):
    sim = flying_apart(device, strain=0.002, matching=matching)
    sim.frame(30)
    links = sim.solvers[0].links("bar")
    assert links.broken.sum() > 5
    now = links.members()
    assert (now.sizes() >= 1).all()
    assert set(now.members.tolist()) == set(range(len(BAR.vertices)))
    assert np.isfinite(sim.surface_positions()).all()


def test_runs_are_the_same_bit_for_bit(device, set_threads):
    found = []
    for threads in (1, 2):
        set_threads(threads)
        sim = flying_apart(device)
        sim.frame(20)
        found.append((sim.state.x.numpy(), sim.surface_positions(), sim.broken_links("bar")))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("frame", [0, 3, 12])
def test_a_checkpoint_goes_on_bit_for_bit_across_breaks(frame, device, tmp_path):
    sim = flying_apart(device)
    sim.frame(frame)
    save_checkpoint(sim, tmp_path / "a.ckpt")
    sim.frame(20)
    assert sim.pieces("bar") >= 2
    # one that is new, and one that went further and has broken already
    for other in (flying_apart(device), sim):
        load_checkpoint(other, tmp_path / "a.ckpt")
        if frame == 0:
            assert other.pieces("bar") == 1
        other.frame(20)
        np.testing.assert_array_equal(other.state.x.numpy(), sim.state.x.numpy())
        np.testing.assert_array_equal(other.surface_positions(), sim.surface_positions())
    fresh = flying_apart(device)
    fresh.frame(frame + 20)
    np.testing.assert_array_equal(fresh.state.x.numpy(), sim.state.x.numpy())
    np.testing.assert_array_equal(fresh.surface_positions(), sim.surface_positions())


def test_a_blow_up_leads_back_to_the_last_good_frame_with_its_breaks(device):
    sim = flying_apart(device)
    sim.frame(8)
    good, seen, pieces = sim.state.x.numpy().copy(), sim.surface_positions(), sim.pieces("bar")
    assert pieces >= 2
    # a state that makes no sense, as a blow-up leaves it
    v = sim.state.v.numpy().copy()
    v[0] = np.nan
    sim.state.v.assign(v)
    with pytest.raises(Exception, match="Blow-up"):
        sim.frame()
    np.testing.assert_array_equal(sim.state.x.numpy(), good)
    np.testing.assert_array_equal(sim.surface_positions(), seen)
    assert sim.pieces("bar") == pieces


def test_bodies_of_one_mesh_break_each_for_itself(device):
    scene = Scene(gravity=STILL, substeps=6)
    material = Material(**BRITTLE, fracture_strain=0.05)
    for k, name in enumerate(("still", "pulled")):
        scene.add_body(
            BAR,
            material,
            method="shape_matching",
            name=name,
            matching=BOXES,
            position=(0.0, 0.0, k),
            rotation=(0, 30, 0),
        )
    scene.add_body(BAR, Material(**BRITTLE), method="shape_matching", name="tough", matching=BOXES, position=(0, 1, 0))
    sim = build(scene, device)
    start = sim.positions("still")
    v = 3.0 * np.sign(BAR.vertices[:, :1]) * [1.0, 0.2, 0.0]
    sim.set_state("pulled", velocities=v)
    sim.set_state("tough", velocities=v)
    sim.frame(20)
    assert sim.pieces("pulled") > 1 and sim.pieces("still") == sim.pieces("tough") == 1
    np.testing.assert_allclose(sim.positions("still"), start, atol=1e-4)


def test_what_cannot_break_is_told():
    scene = Scene()
    scene.add_body(BAR, Material(fracture_strain=0.1), name="springs")
    assert any("means nothing to the method 'mass_spring'" in note for note in build(scene).notes)
    one = build(bar_scene(matching={"clusters": 1}))
    assert any("single cluster" in note for note in one.notes)
    assert one.pieces("bar") == 1
    lattice = VoxelLattice.from_cells(np.argwhere(np.ones((4, 2, 2))), 0.1)
    with pytest.raises(InputError, match="cannot break"):
        build(bar_scene(mesh=lattice, matching={"clusters_by": "lattice"}))


# ---- links alone ------------------------------------------------------------------------------------------------


def chain():
    """Seven particles in a row in three clusters, of which neighbours share two and the outer ones one."""
    vertices = np.stack([np.arange(7.0), np.zeros(7), np.zeros(7)], axis=1)
    members = [[0, 1, 2, 3], [2, 3, 4], [3, 4, 5, 6]]
    starts = np.concatenate([[0], np.cumsum([len(m) for m in members])])
    clusters = Clusters(starts.astype(np.int64), np.concatenate(members).astype(np.int32))
    return vertices, np.ones(7), clusters


def test_shared_particles_stay_with_the_nearer_cluster():
    vertices, mass, clusters = chain()
    links = ClusterLinks(vertices, mass, clusters)
    assert links.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    centres = cluster_centres(vertices, mass, clusters)[:, 0]
    links.set_broken(np.array([True, False, False]))
    now = [links.members().of(k).tolist() for k in range(3)]
    for particle in (2, 3):
        near, far = (0, 1) if abs(particle - centres[0]) < abs(particle - centres[1]) else (1, 0)
        assert particle in now[near] and particle not in now[far]
    assert now[2] == [3, 4, 5, 6]
    assert links.pieces()[0] in (1, 2)


def test_what_is_left_does_not_depend_on_the_order_of_breaks():
    rng = np.random.default_rng(3)
    vertices = rng.uniform(size=(200, 3))
    middles = rng.uniform(size=(12, 3))
    distance = np.linalg.norm(vertices[:, None] - middles, axis=2)
    near = np.argsort(distance, axis=1)[:, :3]
    members = [np.flatnonzero((near == k).any(axis=1)) for k in range(12)]
    starts = np.concatenate([[0], np.cumsum([len(m) for m in members])]).astype(np.int64)
    clusters = Clusters(starts, np.concatenate(members).astype(np.int32))
    make = lambda: ClusterLinks(vertices, np.ones(200), clusters)
    one, other = make(), make()
    chosen = rng.permutation(one.count)[: one.count // 2]
    one.break_links(chosen, 0.0)
    other.set_broken(one.broken)
    np.testing.assert_array_equal(one.kept, other.kept)
    again = make()
    again.break_links(np.flatnonzero(one.broken)[::-1], 0.0)
    np.testing.assert_array_equal(one.kept, again.kept)
    # every particle is left with the nearest of its clusters
    centres = cluster_centres(vertices, np.ones(200), clusters)
    now = [set(one.members().of(k).tolist()) for k in range(12)]
    for i, around in enumerate(near):
        assert i in now[min(around, key=lambda k: np.linalg.norm(vertices[i] - centres[k]))]


def test_a_link_whose_break_would_empty_a_cluster_holds():
    vertices = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    # the second cluster's only particle is nearer to the first one's centre
    clusters = Clusters(np.array([0, 3, 4]), np.array([0, 1, 2, 1], np.int32))
    mass = np.ones(3)
    links = ClusterLinks(vertices, mass, clusters)
    done, _ = links.break_links(np.array([0]), 0.0)
    assert done == 0 and not links.broken.any() and links.pieces()[0] == 1
    with pytest.raises(InputError, match="empty"):
        links.set_broken(np.array([True]))


def test_a_permanent_shape_outlasts_a_break():
    sim = build(bar_scene(matching={**BOXES, "mode": "quadratic"}))
    fracture = sim.solvers[0].fractures[0]
    group, links = fracture.group, fracture.links[0]
    rng = np.random.default_rng(0)
    shape = np.concatenate([np.eye(3), np.zeros((3, 6))], axis=1) + rng.uniform(-0.2, 0.2, (8, 3, 9))
    group.plastic.assign(shape.reshape(8, 27).astype(np.float32))

    def shapes_of(cluster):
        """Permanent shape of a cluster at the particles it has [m], by particle."""
        rest = group.rests[0]
        rows = slice(rest.starts[cluster], rest.starts[cluster + 1])
        place = rest.radius[cluster] * functions(rest.rest[rows], 9) @ group.plastic_of(0)[cluster].T
        return dict(zip(rest.member[rows].tolist(), place, strict=True))

    before = [shapes_of(k) for k in range(8)]
    fracture.stretch.fill_(1.0)
    assert fracture.between_frames(1e-9)
    assert links.broken.all()
    for k in range(8):
        after = shapes_of(k)
        assert len(after) < len(before[k])
        moved = np.array([after[i] - before[k][i] for i in after])
        assert np.ptp(moved, axis=0).max() < 1e-7
