"""Contacts of bodies that come apart: pieces meet each other, and nothing meets what is no more."""

import numpy as np
import pytest

from pliant import Material, Scene, load_checkpoint, save_checkpoint, shapes
from pliant.collide.soft.features import edges_of
from pliant.collide.soft.outsides import SolidFaces, sides_of

STONE = Material(density=800.0, young=1e6, damping=0.01, friction=0.6, fracture_strain=0.5)
FLOORS = {"mode": "linear", "clusters": 6, "clusters_by": "boxes", "axis": "y"}


def column(device, contact="bodies"):
    scene = Scene(contact=contact)
    scene.add_plane()
    bar = shapes.box((0.12, 0.36, 0.12), (3, 9, 3))
    scene.add_body(bar, STONE, method="shape_matching", matching=FLOORS, position=(0, 0.181, 0), name="bar")
    return scene.build(device)


def halves(sim):
    piece = sim._links("bar").particle_pieces()
    upper = piece == piece[np.argmax(sim.state.x.numpy()[:, 1])]
    return sim.state.x.numpy()[upper], sim.state.x.numpy()[~upper]


@pytest.mark.parametrize("contact", ["bodies", "all"])
def test_a_piece_that_is_cut_off_stands_on_the_rest(contact, device):
    sim = column(device, contact)
    sim.frame(3)
    before = sim.state.x.numpy()
    assert sim.cut((-0.3, 0.18, 0.0), (0.3, 0.18, 0.0), (0.0, 0.18, -3.0)) > 0 and sim.pieces("bar") == 2
    sim.frame(40)
    upper, lower = halves(sim)
    # a cell of 0.04 m lay between them; without contact it falls to the floor
    assert upper[:, 1].min() > lower[:, 1].max() + 0.025
    assert np.abs(sim.state.x.numpy() - before).max() < 0.02


def test_a_piece_carries_what_falls_on_its_new_face(device):
    sim = column(device)
    sim.cut((-0.3, 0.18, 0.0), (0.3, 0.18, 0.0), (0.0, 0.18, -3.0))
    piece = sim._links("bar").particle_pieces()
    upper = np.flatnonzero(piece == piece[np.argmax(sim.state.x.numpy()[:, 1])])
    x = sim.state.x.numpy()
    # the upper half is taken away, and put back from above
    x[upper] += (0.0, 0.15, 0.0)
    sim.state.x.assign(x)
    sim.state.v.zero_()
    for solver in sim.solvers:
        solver.reset(sim.state, (0, len(x)))
    sim.frame(60)
    high, low = halves(sim)
    assert high[:, 1].min() > low[:, 1].max() + 0.02
    assert np.abs(sim.velocities("bar")).max() < 0.2


def test_pieces_are_the_same_after_a_checkpoint(tmp_path, device):
    one = column(device)
    one.frame(2)
    one.cut((-0.3, 0.18, 0.0), (0.3, 0.18, 0.0), (0.0, 0.18, -3.0))
    one.frame(4)
    save_checkpoint(one, tmp_path / "half.ckpt")
    one.frame(6)
    two = column(device)
    load_checkpoint(two, tmp_path / "half.ckpt")
    two.frame(6)
    np.testing.assert_array_equal(one.state.x.numpy(), two.state.x.numpy())


def test_every_piece_of_a_solid_is_closed():
    scene = Scene()
    scene.add_body(shapes.box((0.3, 0.3, 0.3), 4), STONE, method="shape_matching", matching={"clusters": 9}, name="a")
    body = scene.build("cpu").model.bodies[0]
    faces = SolidFaces.of(body)
    homes = body.options["breaks"][0]
    whole, _ = faces.outside(np.zeros(len(homes), int))
    key = lambda triangles: np.unique(np.sort(triangles, axis=1), axis=0)
    np.testing.assert_array_equal(key(faces.triangles[whole]), key(body.surface))
    piece = np.arange(9)[homes] % 4
    bare, loose = faces.outside(piece)
    for k in range(4):
        own = faces.triangles[bare & (piece[faces.triangles[:, 0]] == k)]
        assert (piece[own] == k).all()
        sides = np.concatenate([own[:, [0, 1]], own[:, [1, 2]], own[:, [2, 0]]])
        turned = np.unique(sides[:, 0] * 10_000 + sides[:, 1])
        back = np.unique(sides[:, 1] * 10_000 + sides[:, 0])
        np.testing.assert_array_equal(turned, back)
    assert not np.isin(loose, faces.triangles[bare]).any()


def torn_sheet(method, device, contact="all"):
    cloth = Material(young=2e5, density=300.0, thickness=0.004, fracture_strain=0.3, damping=0.01)
    scene = Scene(contact=contact)
    mesh = shapes.sheet((0.6, 0.3), (12, 6))
    scene.add_body(mesh, cloth, method=method, name="sheet", position=(0, 0.5, 0), tear_capacity=3.0)
    for sign in (-1.0, 1.0):
        ends = np.flatnonzero(sign * mesh.vertices[:, 0] > 0.29)
        scene.pin("sheet", ends, path=[(0.0, (0, 0, 0)), (0.4, (0.4 * sign, 0, 0))])
    rubber = Material(density=1000, young=3e5)
    scene.add_body(shapes.ball(0.05, 2), rubber, method="shape_matching", name="ball", position=(0, 1.4, 0))
    return scene.build(device)


@pytest.mark.parametrize("method", ["xpbd", "mass_spring"])
def test_a_ball_falls_through_where_a_sheet_is_torn_apart(method, device):
    sim = torn_sheet(method, device)
    sim.frame(40)
    assert sim.positions("ball")[:, 1].mean() == pytest.approx(1.4 - 0.5 * 9.81 * (40 / 60) ** 2, abs=0.15)
    found = sim.body_contacts.candidates
    triangles = found.triangles.data.corners.numpy()
    torn = sim.body("sheet")
    own = lambda rows: rows[(rows[:, 0] >= torn.particles[0]) & (rows[:, 0] < torn.particles[1])]
    triangles = own(triangles).astype(np.int64)
    if method == "xpbd":
        assert len(triangles) == len(torn.surface)
        now = sim.tearing.corners_of("sheet")
        np.testing.assert_array_equal(np.unique(triangles, axis=0), np.unique(now, axis=0))
    else:
        assert len(triangles) == len(torn.surface) - sim.torn_triangles("sheet").sum() < len(torn.surface)
    # its edges are those of its triangles, each of them once
    edges, _, _ = edges_of(triangles, sim.state.x.numpy())
    standing = own(found.edges.data.corners.numpy())[:, :2]
    np.testing.assert_array_equal(np.unique(standing, axis=0), edges)
    assert len(standing) == len(edges)


def test_a_torn_sheet_is_the_same_after_a_checkpoint(tmp_path, device):
    one = torn_sheet("xpbd", device)
    one.frame(14)
    assert one.pieces("sheet") > 1
    save_checkpoint(one, tmp_path / "half.ckpt")
    one.frame(4)
    two = torn_sheet("xpbd", device)
    load_checkpoint(two, tmp_path / "half.ckpt")
    two.frame(4)
    np.testing.assert_array_equal(one.state.x.numpy(), two.state.x.numpy())


def test_sides_are_joined_in_twos():
    quad = np.array([[0, 1, 2], [2, 1, 3]])
    sides = sides_of(quad)
    joined = sides[sides[:, 2] >= 0]
    assert len(sides) == 6 and len(joined) == 2
    np.testing.assert_array_equal(np.sort(quad[joined[0, 0], [joined[0, 1], (joined[0, 1] + 1) % 3]]), [1, 2])
    assert len(sides_of(np.array([[4, 5, 5], [5, 6, 6]]))) == 2
    assert len(sides_of(np.array([[7, 7, 7]]))) == 0
