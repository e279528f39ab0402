"""Meshes as colliders: distances and insides against brute force, what is fast, thin, open, branched or deforming."""

import dataclasses

import numpy as np
import pytest
from bodies import bits, build
from detecting import closest_points, detect, put, winding

from pliant import InputError, Scene, load_checkpoint, save_checkpoint, shapes
from pliant.collide.contacts import Contacts
from pliant.collide.device_mesh import NORMALS, SHELL, WINDING
from pliant.collide.pipeline import Pipeline
from pliant.collide.shapes.mesh import Mesh
from pliant.mesh.io import write_mesh
from pliant.mesh.surface import SurfaceMesh


def surface_of(tets):
    return SurfaceMesh(tets.vertices, tets.surface()).drop_unused()


def merged(*parts):
    """Surfaces in one mesh; vertices in one place become one."""
    points = np.concatenate([part.vertices for part in parts])
    firsts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    triangles = np.concatenate([part.triangles + first for part, first in zip(parts, firsts, strict=True)])
    unique, number = np.unique(np.round(points, 9), axis=0, return_inverse=True)
    return SurfaceMesh(unique, number.reshape(-1)[triangles].astype(np.int32))


CUBE = surface_of(shapes.box((0.8, 0.6, 1.0), (2, 2, 2)))
BALL = surface_of(shapes.ball(0.5, 4))
L_SHAPE = merged(CUBE, CUBE.translated((0.8, 0.6, 0.0)))


def points_around(mesh, count, seed=0):
    low, high = mesh.vertices.min(axis=0) - 0.3, mesh.vertices.max(axis=0) + 0.3
    return np.random.default_rng(seed).uniform(low, high, (count, 3)).astype(np.float32).astype(np.float64)


def open_box():
    """A cube without its top."""
    top = CUBE.vertices[CUBE.triangles][:, :, 1].min(axis=1) > 0.29
    return SurfaceMesh(CUBE.vertices, CUBE.triangles[~top]).drop_unused()


@pytest.mark.parametrize(
    "mesh, sign", [(CUBE, NORMALS), (BALL, NORMALS), (L_SHAPE, WINDING)], ids=["cube", "ball", "branching edge"]
)
def test_distances_and_insides_are_those_of_brute_force(mesh, sign, device):
    collider = Mesh(mesh)
    assert collider.sign == sign
    points = points_around(mesh, 400)
    corners = mesh.vertices[mesh.triangles]
    _, apart = closest_points(points, corners)
    inside = winding(points, corners) > 0.5
    clear = apart > 1e-5
    distance = collider.distance(points)
    np.testing.assert_allclose(np.abs(distance), apart, atol=2e-6)
    np.testing.assert_array_equal((distance < 0)[clear], inside[clear])
    found = detect([collider], points, device)
    touching = found.depth[:, 0] >= 0
    np.testing.assert_array_equal(touching[clear], inside[clear])
    assert 30 < np.count_nonzero(touching) < 370
    np.testing.assert_allclose(found.depth[touching, 0], apart[touching], atol=3e-6)
    # what is put back is on the surface
    back = points - found.gap[:, :1] * found.normal[:, 0]
    np.testing.assert_allclose(closest_points(back[touching], corners)[1], 0.0, atol=1e-5)


def test_a_mesh_that_meets_itself_is_inside_where_it_winds_around(device):
    mesh = merged(CUBE, CUBE.translated((0.3, 0.21, 0.13)))
    points = points_around(mesh, 400)
    corners = mesh.vertices[mesh.triangles]
    clear = closest_points(points, corners)[1] > 1e-4
    inside = winding(points, corners) > 0.5
    collider = Mesh(mesh, solid=True)
    np.testing.assert_array_equal((collider.distance(points) < 0)[clear], inside[clear])
    np.testing.assert_array_equal((detect([collider], points, device).depth[:, 0] >= 0)[clear], inside[clear])


def test_a_mesh_that_faces_inward_is_turned():
    wrong = Mesh(CUBE.turned(np.arange(len(CUBE.triangles))))
    assert wrong.notes and wrong.distance(np.zeros((1, 3)))[0] < 0.0 and not Mesh(CUBE).notes


def test_an_open_surface_is_a_shell_with_two_sides(device):
    mesh = open_box()
    shell = Mesh(mesh, thickness=0.1)
    assert shell.sign == SHELL
    points = points_around(mesh, 500, 1)
    _, apart = closest_points(points, mesh.vertices[mesh.triangles])
    np.testing.assert_allclose(shell.distance(points), apart - 0.05, atol=2e-6)
    found = detect([shell], points, device, radius=0.02)
    touching = found.depth[:, 0] >= 0
    clear = np.abs(apart - 0.07) > 1e-5
    np.testing.assert_array_equal(touching[clear], (apart < 0.07)[clear])
    back = points - found.gap[:, :1] * found.normal[:, 0]
    apart = closest_points(back[touching], mesh.vertices[mesh.triangles])[1]
    assert apart.min() > 0.0 and np.median(np.abs(apart - 0.07)) < 1e-5
    # the same with an inside, though it has a hole
    solid = Mesh(mesh, solid=True)
    assert solid.sign == WINDING
    np.testing.assert_array_equal(np.sign(solid.distance([[0, -0.1, 0], [0, 0.5, 0], [0.6, 0, 0]])), [-1, 1, 1])
    assert Mesh(mesh).half_thickness > 0.0 and Mesh(CUBE).half_thickness == 0.0


def test_a_particle_leaves_where_it_came_in(device):
    plate = surface_of(shapes.box((2.0, 0.02, 2.0), (2, 1, 2)))
    cases = {
        "through a thin plate": ([0.1, 0.3, 0.2], [0.1, -0.3, 0.2], [0, 1, 0], 0.31),
        "from below": ([0.1, -0.3, 0.2], [0.1, 0.2, 0.2], [0, -1, 0], 0.21),
        "from rest on it": ([0.1, 0.01, 0.2], [0.1, -0.5, 0.2], [0, 1, 0], 0.51),
        "past it": ([1.2, 0.3, 0.0], [1.2, -0.3, 0.0], [0, 0, 0], -1.0),
        "away from it": ([0.1, 0.011, 0.0], [0.1, 0.3, 0.0], [0, 0, 0], -1.0),
        "not yet there": ([0.1, 0.6, 0.0], [0.1, 0.1, 0.0], [0, 0, 0], -1.0),
    }
    before, x, normals, depths = (np.array(column, float) for column in zip(*cases.values(), strict=True))
    for collider in (Mesh(plate), Mesh(plate, (0.0, 0.0, 0.0), rotation=(0, 90, 0))):
        found = detect([collider], x, device, before=before)
        np.testing.assert_allclose(found.depth[:, 0], depths, atol=2e-6)
        np.testing.assert_allclose(found.normal[:, 0], normals, atol=1e-6)


def test_ways_through_a_shell_are_those_that_brute_force_finds(device):
    mesh = open_box()
    before, x = points_around(mesh, 1500, 3), points_around(mesh, 1500, 4)
    corners = mesh.vertices[mesh.triangles]
    crossed = np.zeros(len(x), bool)
    for a, b, c in corners:
        way = x - before
        normal = np.cross(b - a, c - a)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = ((a - before) @ normal) / (way @ normal)
        hit = before + t[:, None] * way
        sides = [np.cross(q - p, hit - p) @ normal for p, q in ((a, b), (b, c), (c, a))]
        crossed |= (t >= 0) & (t <= 1) & (np.min(sides, axis=0) >= 0)
    near = closest_points(x, corners)[1] < 0.011
    found = detect([Mesh(mesh, thickness=0.02)], x, device, before=before)
    touching = found.depth[:, 0] >= 0
    assert touching[crossed].all() and not touching[~crossed & ~near].any()
    assert np.count_nonzero(crossed) > 200
    assert np.all(np.einsum("ij,ij->i", found.normal[:, 0], x - before)[crossed & ~near] < 0)


@pytest.mark.parametrize("solid", [True, False])
def test_what_is_fast_does_not_jump_through(solid, device):
    scene = Scene(gravity=(0, 0, 0), substeps=1)
    scene.add_body(shapes.box((0.1, 0.1, 0.1), 2), method="shape_matching", position=(0.0, 0.2, 0.0), name="block")
    plate = surface_of(shapes.box((2.0, 0.004, 2.0), (2, 1, 2)))
    if not solid:
        plate = SurfaceMesh([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], [[0, 2, 1], [0, 3, 2]])
    scene.add_mesh_collider(plate, friction=0.0, thickness=0.002)
    sim = build(scene, device)
    sim.set_state("block", velocities=np.tile([0.0, -20.0, 0.0], (len(sim.positions()), 1)))
    sim.frame(3)
    assert sim.positions()[:, 1].min() > 0.0


@pytest.mark.parametrize("angle, holds", [(20.0, True), (45.0, False)])
@pytest.mark.parametrize("kind", ["mesh", "capsule"])
def test_friction_holds_on_a_slope_that_is_not_steep(kind, angle, holds, device):
    """Material and slope both have a friction of 0.6: 31 degrees."""
    scene = Scene(substeps=20)
    turn = np.radians(angle)
    along, up = np.array([np.cos(turn), -np.sin(turn), 0.0]), np.array([np.sin(turn), np.cos(turn), 0.0])
    cloud = shapes.box((0.1, 0.1, 0.1), 1)
    scene.add_body(cloud, name="block", rotation=(0, 0, -angle), position=tuple(0.06 * up), method="shape_matching")
    if kind == "mesh":
        slab = surface_of(shapes.box((4.0, 0.2, 2.0), (3, 1, 3)))
        scene.add_mesh_collider(slab, tuple(-0.1 * up), rotation=(0, 0, -angle))
    else:
        # two bars side by side are rails
        for z in (-0.05, 0.05):
            ends = [tuple(s * 2.0 * along - 0.05 * up + [0, 0, z]) for s in (-1, 1)]
            scene.add_capsule(0.05, *ends)
    sim = build(scene, device)
    sim.frame(20)
    start = sim.positions().mean(axis=0)
    sim.frame(20)
    way = float((sim.positions().mean(axis=0) - start) @ along)
    assert abs(way) < 2e-3 if holds else way > 0.05


def test_vertices_that_are_set_carry_what_lies_on_them(device):
    """A sheet that is raised by its vertices lifts a particle at their speed, and a wave of its own is where it is."""
    mesh = SurfaceMesh([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], [[0, 2, 1], [0, 3, 2]])
    scene = Scene(gravity=(0, -9.81, 0), substeps=10)
    scene.add_body(shapes.box((0.1, 0.1, 0.1), 1), method="shape_matching", position=(0, 0.07, 0), name="block")
    scene.add_mesh_collider(mesh, thickness=0.02, deforms=True, name="floor")
    sim = build(scene, device)
    sim.frame(10)
    rest = sim.positions()[:, 1].min()
    assert rest == pytest.approx(0.01, abs=1e-4)
    for k in range(1, 11):
        sim.set_collider_vertices("floor", mesh.vertices + [0.01 * k, 0.02 * k, 0.0])
        sim.frame()
    np.testing.assert_allclose(sim.collider("floor").triangles()[0], mesh.vertices + [0.1, 0.2, 0.0], atol=1e-6)
    assert sim.positions()[:, 1].min() == pytest.approx(0.2 + rest, abs=2e-3)
    np.testing.assert_allclose(sim.velocities().mean(axis=0), [0.6, 1.2, 0.0], atol=0.2)
    assert sim.positions()[:, 0].mean() == pytest.approx(0.1, abs=0.02)


def test_a_surface_that_passes_a_particle_in_a_step_meets_it(device):
    mesh = SurfaceMesh([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], [[0, 2, 1], [0, 3, 2]])
    pipeline = Pipeline([Mesh(mesh, thickness=0.01, deforms=True, name="m")], 1, device)
    contacts = Contacts(1, 1, device)
    pipeline.set_vertices("m", mesh.vertices + [0, 1.0, 0], 2, 0.1)
    x, before = (put([[0.1, 0.3, 0.2]], device) for _ in range(2))
    pipeline.detect(x, contacts, before=before)
    plane = contacts.surface.numpy()[0]
    np.testing.assert_allclose(plane["normal"], [0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(plane["velocity"], [0, 10.0, 0], atol=1e-4)
    assert contacts.depth.numpy()[0] == pytest.approx(0.205, abs=1e-5)


def test_a_checkpoint_holds_vertices_on_their_way(tmp_path, device):
    def made():
        scene = Scene(substeps=8)
        scene.add_body(shapes.box((0.1, 0.1, 0.1), 1), method="shape_matching", position=(0, 0.4, 0))
        scene.add_mesh_collider(BALL, deforms=True, name="m", path=[(0, (0, 0, 0)), (1, (0.3, 0, 0))])
        return build(scene, device)

    sim, other = made(), made()
    sim.frame(4)
    sim.set_collider_vertices("m", 1.1 * BALL.vertices)
    sim.frame(2)
    sim.set_collider_vertices("m", 1.2 * BALL.vertices)
    save_checkpoint(sim, tmp_path / "a.ckpt")
    sim.frame(5)
    load_checkpoint(other, tmp_path / "a.ckpt")
    other.frame(5)
    assert bits(sim) == bits(other)


def test_bad_meshes_and_vertices_are_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        Mesh(tmp_path / "sea.obj")
    with pytest.raises(InputError, match="no triangles"):
        Mesh(SurfaceMesh(np.zeros((3, 3)), np.zeros((0, 3), np.int32)), name="m")
    for change in ({"scale": 0.0}, {"thickness": -1.0}, {"solid": 3}, {"rotation": (0, 1)}):
        with pytest.raises(InputError, match=f"m'.{next(iter(change))}"):
            dataclasses.replace(Mesh(CUBE, name="m"), **change)
    pipeline = Pipeline([Mesh(CUBE, name="m"), Mesh(CUBE, name="d", deforms=True)], 1, "cpu")
    with pytest.raises(InputError, match="deforms=True"):
        pipeline.set_vertices("m", CUBE.vertices, 1, 0.1)
    for bad in (CUBE.vertices[1:], np.full(CUBE.vertices.shape, np.nan), "all"):
        with pytest.raises(InputError, match="collider 'd'"):
            pipeline.set_vertices("d", bad, 1, 0.1)


def test_a_mesh_from_a_file_is_the_mesh(tmp_path):
    write_mesh(CUBE, tmp_path / "cube.ply")
    read = Mesh(tmp_path / "cube.ply")
    points = points_around(CUBE, 50)
    np.testing.assert_allclose(read.distance(points), Mesh(CUBE).distance(points), atol=1e-6)
    tets = Mesh(shapes.box((0.8, 0.6, 1.0), (2, 2, 2)))
    np.testing.assert_allclose(tets.distance(points), Mesh(CUBE).distance(points), atol=1e-6)
    half = Mesh(CUBE, (1, 2, 3), rotation=(0, 90, 0), scale=0.5)
    np.testing.assert_allclose(half.triangles()[0].min(axis=0), [0.75, 1.85, 2.8], atol=1e-12)
