"""What is seen of bodies without tets: skins that follow clusters, beside embedded ones, and balls for loose points."""

import dataclasses

import numpy as np
import pytest
from bodies import build
from drifting import use_drifting

from pliant import InputError, Material, PointCloud, Scene, shapes
from pliant.mesh.embed import embed
from pliant.mesh.look import Look, Paint
from pliant.mesh.points import ball_offsets
from pliant.skin.bodies import BodySkins

SOFT = Material(density=1000.0, young=2e4, damping=1e-3)
SOLID = shapes.box((0.4, 0.1, 0.1), (16, 4, 4))
SEEN = shapes.ellipsoid((0.19, 0.045, 0.045), 5).surface_mesh()
MATRIX = np.array([[1.1, 0.2, -0.1], [-0.3, 0.9, 0.2], [0.1, 0.4, 1.2]])
# float32 next to 1 m, and what the maps of clusters beyond their own particles make of it
CLOSE = 2e-6


@pytest.fixture(autouse=True)
def drifting(monkeypatch):
    use_drifting(monkeypatch)


def cloud(**given):
    return PointCloud(SOLID.vertices, "dust", **given)


def worn(scene, name, position=(0.0, 0.0, 0.0), mesh=None, **options):
    """A body whose skin follows clusters."""
    mesh = cloud() if mesh is None else mesh
    scene.add_body(mesh, SOFT, method="drifting", name=name, position=position, skin=(SEEN, None), **options)


def scene(**settings):
    return Scene(gravity=(0.0, 0.0, 0.0), **{"substeps": 4, **settings})


def moved(x):
    return x @ MATRIX.T + [0.3, -0.2, 0.1]


@pytest.mark.parametrize("mesh", [cloud(), SOLID, SOLID.surface_mesh()], ids=["points", "tets", "surface"])
def test_affine_motion_moves_the_skin_exactly(mesh, device):
    made = scene()
    worn(made, "dust", (1.0, 0.5, -0.5), mesh)
    sim = build(made, device)
    rest = SEEN.vertices + [1.0, 0.5, -0.5]
    assert np.abs(sim.surface_positions() - rest).max() < CLOSE
    assert np.array_equal(sim.surface(), SEEN.triangles) and sim.surface_colors().shape == (len(SEEN.triangles), 3)
    sim.set_state("dust", moved(sim.positions().astype(np.float64)))
    assert np.abs(sim.surface_positions("dust") - moved(rest)).max() < CLOSE
    normals = sim.skins.normals("dust")
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(rest)), abs=1e-5)


def test_the_skin_moves_with_every_frame(device):
    """A velocity that is an affine function of place, through the recorded or captured frame."""
    made = scene()
    worn(made, "a")
    sim = build(made, device)
    rest = sim.positions().astype(np.float64)
    sim.set_state("a", velocities=moved(rest))
    sim.frame(6)
    reached = SEEN.vertices + 6 * sim.frame_dt * moved(SEEN.vertices)
    assert np.abs(sim.surface_positions() - reached).max() < CLOSE
    eager = BodySkins(sim.model.bodies, device, sim.model.particles)
    eager.update(sim.state.x)
    assert np.array_equal(eager.positions("a"), sim.surface_positions())


def test_rotation_and_position_act_on_the_skin_too():
    made = scene()
    worn(made, "a", (0.0, 1.0, 0.0), rotation=(0.0, 0.0, 90.0))
    sim = build(made)
    turned = SEEN.rotated((0, 0, 1), np.pi / 2).vertices + [0, 1, 0]
    assert np.abs(sim.surface_positions() - turned).max() < CLOSE


def mixed():
    """Bodies of both kinds of skin, and of none, in an order that mixes them."""
    made = scene()
    worn(made, "left", (-1.0, 0.0, 0.0))
    made.add_body(SOLID, SOFT, name="carried", position=(0, 1, 0), skin=(SEEN, embed(SEEN.vertices, SOLID)))
    # as near as it can be: neighbours must not be taken for the body's own
    worn(made, "right", (-1.0, 0.101, 0.0))
    made.add_body(cloud(), SOFT, method="drifting", name="dust", position=(2, 0, 0))
    made.add_body(SOLID, SOFT, name="bare", position=(0, 0, 5))
    return made


def test_bodies_of_all_kinds_beside_each_other(device):
    sim = build(mixed(), device)
    alone = {}
    for name, position in (("left", (-1.0, 0.0, 0.0)), ("right", (-1.0, 0.101, 0.0))):
        single = scene()
        worn(single, name, position)
        alone[name] = build(single, device)
    rng = np.random.default_rng(0)
    for name in ("left", "right"):
        x = sim.positions(name) + 0.02 * rng.normal(size=(len(SOLID.vertices), 3)).astype(np.float32)
        sim.set_state(name, x)
        alone[name].set_state(name, x)
        assert np.allclose(sim.surface_positions(name), alone[name].surface_positions(), atol=1e-6)
    x = moved(sim.positions("carried").astype(np.float64))
    sim.set_state("carried", x)
    assert np.abs(sim.surface_positions("carried") - embed(SEEN.vertices, SOLID).apply(x)).max() < CLOSE
    assert np.array_equal(sim.surface_positions("bare"), sim.positions("bare"))
    names = [body.name for body in sim.model.bodies]
    assert np.array_equal(sim.surface_positions(), np.concatenate([sim.surface_positions(name) for name in names]))
    triangles = sim.surface()
    assert len(np.unique(triangles)) <= len(sim.surface_positions()) and triangles.max() < len(sim.surface_positions())
    assert len(sim.surface_colors()) == len(triangles)
    counts = [body.seen_vertices for body in sim.model.bodies]
    assert sum(counts) == len(sim.surface_positions())


def test_loose_points_are_seen_as_balls(device):
    made = scene()
    points = np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0.3, 0.3, 0.3]])
    made.add_body(PointCloud(points, radius=0.02), SOFT, method="drifting", name="dust", color=(1, 0, 0))
    made.add(cloud(), SOFT, method="drifting", name="more", position=(0, 1, 0))
    sim = build(made, device)
    x = sim.surface_positions("dust")
    assert x.shape == (4 * 12, 3) and sim.surface("dust").shape == (4 * 20, 3)
    assert np.array_equal(x, (points.astype(np.float32)[:, None] + ball_offsets(0.02, 4)).reshape(-1, 3))
    assert (sim.surface_colors("dust") == [1, 0, 0]).all()
    assert sim.body("more").ball_radius == pytest.approx(0.45 * 0.025)
    sim.set_state("dust", velocities=np.tile([1.0, 2.0, 3.0], (4, 1)))
    sim.frame(3)
    assert np.allclose(sim.surface_positions("dust"), x + 3 * sim.frame_dt * np.array([1, 2, 3]), atol=1e-6)
    assert len(sim.surface()) == 80 + 20 * len(SOLID.vertices)


def test_a_skin_given_to_add_follows_the_clusters():
    look = Look(paints=(Paint("red", (1.0, 0.0, 0.0, 1.0)),), paint_of=np.zeros(len(SEEN.triangles), np.int32))
    made = scene()
    made.add(cloud(), SOFT, method="drifting", name="dust", skin=dataclasses.replace(SEEN, look=look))
    sim = build(made)
    assert sim.body("dust").follows_clusters and sim.body("dust").ball_radius is None
    assert np.abs(sim.surface_positions() - SEEN.vertices).max() < CLOSE
    assert (sim.surface_colors() == [1, 0, 0]).all()


def test_what_vertices_follow_can_be_changed(device):
    """All vertices follow one cluster of their body: then its particles alone move them, and the others nothing."""
    made = scene()
    worn(made, "a")
    worn(made, "b", (0.0, 1.0, 0.0))
    sim = build(made, device)
    sim.frame(1)
    clusters, weights = sim.skins.cluster_weights("b")
    count = sim.body("b").clusters.count
    assert clusters.shape == weights.shape and len(clusters) == len(SEEN.vertices) and clusters.shape[1] > 1
    assert clusters.min() == 0 and clusters.max() == count - 1
    assert weights.sum(axis=1) == pytest.approx(np.ones(len(weights)))
    kept = sim.surface_positions("a").copy()
    sim.skins.set_cluster_weights("b", np.full((len(SEEN.vertices), 1), count - 1), np.ones((len(SEEN.vertices), 1)))
    body = sim.body("b")
    inside = np.zeros(len(SOLID.vertices), bool)
    inside[np.argsort(body.rank)[body.clusters.of(count - 1)]] = True
    x = sim.positions("b").astype(np.float64)
    rest = SEEN.vertices + [0, 1, 0]
    sim.set_state("b", np.where(inside[:, None], moved(x), x + 0.1 * np.random.default_rng(0).normal(size=x.shape)))
    assert np.abs(sim.surface_positions("b") - moved(rest)).max() < 3e-6
    assert np.array_equal(sim.surface_positions("a"), kept)
    # and within a frame that was recorded or captured before
    sim.set_state("b", x, velocities=np.where(inside[:, None], [0.0, 0.0, 1.0], [5.0, 0.0, 0.0]))
    sim.frame(1)
    assert np.abs(sim.surface_positions("b") - rest - [0, 0, sim.frame_dt]).max() < 3e-6
    # back again, without the state being touched
    sim.set_state("b", x)
    sim.surface_positions()
    sim.skins.set_cluster_weights("b", clusters, weights)
    assert np.abs(sim.surface_positions("b") - rest).max() < CLOSE
    again = sim.skins.cluster_weights("b")
    assert np.array_equal(again[0], clusters) and np.array_equal(again[1], weights)


def test_bad_weights_are_refused():
    sim = build(mixed())
    clusters, weights = sim.skins.cluster_weights("right")
    count = sim.body("right").clusters.count
    wide = np.zeros((len(clusters), clusters.shape[1] + 1), int)
    for bad, share, word in [
        (clusters[:-1], weights[:-1], "Give both as"),
        (wide, wide + 1.0 / wide.shape[1], "Give both as"),
        (clusters, weights[:, :1], "Give both as"),
        (clusters + count, weights, f"0 to {count - 1}"),
        (clusters - count, weights, f"0 to {count - 1}"),
        (clusters.astype(float), weights, f"0 to {count - 1}"),
        (clusters, 2.0 * weights, "add up to 1"),
        (clusters, np.nan * weights, "add up to 1"),
    ]:
        with pytest.raises(InputError, match=word):
            sim.skins.set_cluster_weights("right", bad, share)
    assert np.array_equal(sim.skins.cluster_weights("right")[1], weights)
    for name in ("carried", "dust", "nobody"):
        with pytest.raises(InputError, match=r"follows clusters.*left, right"):
            sim.skins.cluster_weights(name)


def test_shape_matching_of_loose_points(device):
    """A cloud that falls on the floor, bare and with a skin: both are seen where their particles are."""
    made = Scene()
    for name, x, skin in (("bare", -1.0, None), ("worn", 1.0, (SEEN, None))):
        made.add_body(cloud(), SOFT, method="shape_matching", name=name, position=(x, 0.1, 0.0), skin=skin)
    made.add_plane()
    sim = build(made, device)
    assert sim.body("worn").follows_clusters and sim.body("bare").ball_radius is not None
    rest = SEEN.vertices + [1.0, 0.1, 0.0]
    assert np.abs(sim.surface_positions("worn") - rest).max() < CLOSE
    sim.frame(25)
    x = sim.positions("worn")
    assert x[:, 1].mean() < 0.09 and x[:, 1].min() > -1e-3
    # one cluster: the skin follows the affine map that fits its particles best, weighted by their masses
    body = sim.body("worn")
    assert body.clusters.count == 1
    share = np.sqrt(sim.model.particles.mass[body.particle_of])[:, None]
    homogeneous = lambda p: np.concatenate([p, np.ones((len(p), 1))], axis=1)
    fit = np.linalg.lstsq(share * homogeneous(SOLID.vertices + [1.0, 0.1, 0.0]), share * x, rcond=None)[0]
    assert np.abs(sim.surface_positions("worn") - homogeneous(rest) @ fit).max() < 5e-6
    balls = sim.surface_positions("bare").reshape(len(SOLID.vertices), -1, 3)
    assert np.allclose(balls.mean(axis=1), sim.positions("bare"), atol=1e-5)


def test_a_method_without_clusters_cannot_have_such_a_skin():
    made = scene()
    made.add_body(SOLID, SOFT, name="springs", skin=(SEEN, None))
    with pytest.raises(InputError, match=r"'springs'.*shape_matching"):
        build(made)
