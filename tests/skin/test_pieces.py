"""The seen surface of bodies that can break: closed pieces whose copies coincide until a break opens them."""

import numpy as np
import pytest
from bodies import STILL, build, deformed

from pliant import Material, PointCloud, Scene, SurfaceMesh, VoxelLattice, shapes
from pliant.mesh.embed import embed
from pliant.mesh.look import Look, Paint
from pliant.skin.pieces import boundaries, element_homes, parted_weights
from pliant.solvers.shape_matching.fracture_links import ClusterLinks

BAR = shapes.box((0.8, 0.2, 0.2), (16, 4, 4))
LATTICE = VoxelLattice.from_cells(np.argwhere(np.ones((8, 2, 2), bool)), 0.1)
SHEET = shapes.sheet((1.0, 0.5), (20, 10))
CLUSTERS = {"mode": "linear", "clusters": 6}


def breakable(mesh, device="cpu", matching=CLUSTERS, strain=0.05, **body):
    scene = Scene(gravity=STILL, substeps=4)
    scene.add_body(
        mesh, Material(fracture_strain=strain), method="shape_matching", name="body", matching=matching, **body
    )
    return build(scene, device)


def copies(sim, name="body"):
    """Seen vertices in groups that lay at one place at rest, as one number for each."""
    rest = sim.body(name).skin.vertices
    return np.unique(np.round(rest, 9), axis=0, return_inverse=True)[1].reshape(-1)


def widest_gap(sim, name="body"):
    """Largest distance of seen vertices that lay at one place at rest."""
    x, group = sim.surface_positions(name).astype(np.float64), copies(sim, name)
    low, high = np.full((group.max() + 1, 3), np.inf), np.full((group.max() + 1, 3), -np.inf)
    np.minimum.at(low, group, x)
    np.maximum.at(high, group, x)
    return float((high - low).max())


def tear(sim, frames=12):
    """Throw the two halves of a body apart along x."""
    x = sim.positions("body")
    sim.set_state("body", velocities=4.0 * np.sign(x[:, :1] - x[:, 0].mean()) * [1.0, 0.0, 0.0])
    sim.frame(frames)
    assert sim.pieces("body") > 1


def is_balanced(triangles):
    """Whether every edge is walked as often one way as the other."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).astype(np.int64)
    keys = lambda rows: np.sort(rows[:, 0] << 32 | rows[:, 1])
    return np.array_equal(keys(edges), keys(edges[:, ::-1]))


@pytest.mark.parametrize("mesh", [BAR, LATTICE], ids=["tets", "voxels"])
def test_every_piece_of_a_solid_is_closed_and_together_they_fill_it(mesh):
    sim = breakable(mesh)
    body = sim.body("body")
    skin, homes = body.skin, body.options["homes"]
    home = homes[skin.triangles]
    assert (home == home[:, :1]).all()
    place = copies(sim)
    volume = 0.0
    for k in np.unique(homes):
        rows = skin.triangles[home[:, 0] == k]
        assert is_balanced(place[rows])
        corners = skin.vertices[rows]
        piece = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
        assert piece > 0.0
        volume += piece
    assert len(np.unique(homes)) == body.clusters.count
    assert volume == pytest.approx(0.8 * 0.2 * 0.2, rel=1e-9)


@pytest.mark.parametrize("mesh", [BAR, LATTICE, SHEET], ids=["tets", "voxels", "sheet"])
def test_copies_coincide_while_whole_and_part_when_broken(mesh, device):
    sim = breakable(mesh, device)
    assert np.bincount(copies(sim)).max() > 1
    # bent far beyond what would break it; nothing moves yet, so it is whole
    sim.set_state("body", positions=deformed(mesh, 0.1))
    assert widest_gap(sim) == 0.0
    sim.set_state("body", positions=mesh.vertices)
    np.testing.assert_allclose(sim.surface_positions("body"), sim.body("body").skin.vertices, atol=1e-6)
    triangles = sim.surface("body").copy()
    tear(sim)
    assert widest_gap(sim) > 0.2
    np.testing.assert_array_equal(sim.surface("body"), triangles)
    # each seen vertex stays near the particles of its own piece
    x, seen = sim.positions("body"), sim.surface_positions("body")
    nearest = np.min(np.linalg.norm(seen[:, None] - x, axis=2), axis=1)
    edges = mesh.edges()
    assert nearest.max() < 1.5 * np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1).min()


def test_the_triangles_of_a_sheet_keep_their_order_and_look():
    paints = (Paint("red", (1.0, 0.0, 0.0, 1.0)), Paint("blue", (0.0, 0.0, 1.0, 1.0)))
    rows = np.random.default_rng(0).permutation(len(SHEET.triangles))
    paint_of = (SHEET.vertices[SHEET.triangles[rows]].mean(axis=1)[:, 0] > 0.0).astype(np.int32)
    shades = np.random.default_rng(1).uniform(size=(len(SHEET.vertices), 4)).astype(np.float32)
    mesh = SurfaceMesh(SHEET.vertices, SHEET.triangles[rows], look=Look(paints=paints, paint_of=paint_of))
    sim = breakable(mesh)
    corners = sim.surface_positions("body")[sim.surface("body")]
    np.testing.assert_allclose(corners, mesh.vertices[mesh.triangles], atol=1e-6)
    np.testing.assert_array_equal(sim.surface_colors("body")[:, 2], paint_of)
    tinted = SurfaceMesh(SHEET.vertices, SHEET.triangles[rows], look=Look(vertex_colors=shades))
    expected = shades[tinted.triangles][:, :, :3].mean(axis=1)
    np.testing.assert_allclose(breakable(tinted).surface_colors("body"), expected, atol=1e-6)


def test_a_skin_is_cut_and_inner_faces_end_inside_it(device):
    solid = shapes.box((0.9, 0.3, 0.3), (9, 3, 3))
    skin = shapes.box((0.8, 0.2, 0.2), (24, 6, 6)).surface_mesh()
    sim = breakable(solid, device, skin=(skin, embed(skin.vertices, solid)))
    seen = sim.body("body").skin
    # the skin's own triangles come first, in their order
    first = seen.vertices[seen.triangles[: len(skin.triangles)]]
    np.testing.assert_array_equal(first, skin.vertices[skin.triangles])
    inner = seen.vertices[seen.triangles[len(skin.triangles) :]].reshape(-1, 3)
    assert len(inner) > 0
    assert (np.abs(inner) <= np.array([0.4, 0.1, 0.1]) + 1e-6).all()
    assert widest_gap(sim) == 0.0
    tear(sim)
    assert widest_gap(sim) > 0.2


def test_a_skin_that_follows_clusters_of_points_is_cut_too(device):
    skin = shapes.box((0.8, 0.2, 0.2), (12, 3, 3)).surface_mesh()
    sim = breakable(PointCloud(BAR.vertices), device, skin=(skin, None))
    assert len(sim.body("body").skin.triangles) == len(skin.triangles)
    assert widest_gap(sim) == 0.0
    tear(sim)
    assert widest_gap(sim) > 0.2


def test_loose_points_come_apart_as_balls(device):
    sim = breakable(PointCloud(BAR.vertices), device)
    assert sim.body("body").skin is None
    tear(sim)


def test_turned_and_moved_bodies_are_seen_where_they_are():
    sim = breakable(BAR, position=(1.0, 2.0, 3.0), rotation=(0.0, 40.0, 20.0))
    plain = Scene(gravity=STILL)
    plain.add_body(BAR, name="body", position=(1.0, 2.0, 3.0), rotation=(0.0, 40.0, 20.0))
    seen, x = sim.surface_positions("body"), build(plain).positions("body")
    assert np.min(np.linalg.norm(seen[:, None] - x, axis=2), axis=1).max() < 1e-5


def test_boundaries_of_two_tets():
    tets = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
    one, home, inner = boundaries(tets, np.array([5, 5]))
    assert len(one) == 6 and (home == 5).all() and not inner.any()
    two, home, inner = boundaries(tets, np.array([2, 7]))
    assert len(two) == 8 and home.tolist() == [2] * 4 + [7] * 4
    assert [sorted(row) for row in two[inner].tolist()] == [[1, 2, 3]] * 2
    assert is_balanced(two[home == 2]) and is_balanced(two[home == 7])


def test_an_element_belongs_where_most_of_its_corners_do():
    vertices = np.array([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0], [3.0, 0, 0]])
    centres = np.array([[0.0, 0, 0], [3.0, 0, 0]])
    homes = np.array([0, 1, 1, 1])
    assert element_homes(np.array([[0, 1, 2], [0, 1, 1]]), vertices, homes, centres).tolist() == [1, 1]
    assert element_homes(np.array([[0, 1]]), vertices, homes, centres).tolist() == [0]


def test_a_vertex_lets_go_of_what_its_home_has_lost():
    sim = breakable(BAR)
    body = sim.body("body")
    clusters, weights = sim.skins.cluster_weights("body")
    links = ClusterLinks(body.rest_shape.mesh.vertices, body.rest_shape.mass, body.clusters)
    same = parted_weights(clusters, weights, body.options["homes"], links)
    np.testing.assert_array_equal(same[1], weights)
    links.break_links(np.arange(links.count), 0.0)
    now, shares = parted_weights(clusters, weights, body.options["homes"], links)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert links.pieces()[0] == body.clusters.count
    followed = np.where(shares > 0.0, now, body.options["homes"][:, None])
    assert (followed == body.options["homes"][:, None]).all()
