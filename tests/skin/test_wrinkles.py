"""Wrinkles: none at rest, across the compression, with the missing length, smooth, and in every kind of file."""

import dataclasses

import numpy as np
import pytest
import warp as wp
from bodies import build
from windy import LIGHT, sheet

from pliant import InputError, Material, Scene, SurfaceMesh, Wrinkles, shapes
from pliant.mesh.look import Look, Paint
from pliant.mesh.subdivide import Subdivision
from pliant.mesh.wrinkles import wrinkled
from pliant.motion import turned_by
from pliant.scene_file.load import load_tables
from pliant.scene_file.python_code import python_code
from pliant.skin.wrinkles import WrinkleSkin

FINE = Wrinkles(wavelength=0.125, levels=4)


class Seen:
    """A sheet of 1 m and its wrinkled skin, which can be put anywhere."""

    def __init__(self, mesh=None, settings=FINE, device="cpu"):
        self.mesh = sheet(8) if mesh is None else mesh
        self.rest, self.embedding, found, self.notes = wrinkled(self.mesh, settings)
        self.skin = WrinkleSkin([found], len(self.mesh.vertices), device)
        self.device = device

    def at(self, x):
        self.skin.update(wp.array(np.asarray(x, np.float32), dtype=wp.vec3, device=self.device))
        return self.skin.x.numpy().astype(np.float64)

    def row(self, axis, at=0.0):
        """Fine vertices on a straight line along an axis, in order."""
        other = 1 - axis
        found = np.flatnonzero(np.abs(self.rest.vertices[:, other] - at) < 1e-9)
        return found[np.argsort(self.rest.vertices[found, axis])]


def length(x):
    return np.linalg.norm(np.diff(x, axis=0), axis=1).sum()


def test_triangles_are_cut_alike_and_shared(device):
    mesh = shapes.ball(0.2, 4)
    surface = SurfaceMesh(mesh.vertices, mesh.surface()).drop_unused()
    uv = np.random.default_rng(0).uniform(0, 1, (len(surface.triangles), 3, 2)).astype(np.float32)
    paint = np.arange(len(surface.triangles), dtype=np.int32) % 2
    look = Look(uv=uv, paints=(Paint("a", (1, 0, 0, 1)), Paint("b", (0, 1, 0, 1))), paint_of=paint)
    surface = SurfaceMesh(surface.vertices, surface.triangles, look=look)
    for levels in (0, 1, 3):
        cut = Subdivision.of(surface, levels)
        fine = cut.surface(surface)
        assert len(fine.triangles) == 4**levels * len(surface.triangles) and fine.is_closed()
        assert len(fine.vertices) == len(surface.vertices) + (4**levels - 1) * len(surface.triangles) // 2
        assert fine.volume() == pytest.approx(surface.volume())
        np.testing.assert_allclose(fine.areas(), np.repeat(surface.areas(), cut.parts) / cut.parts)
        np.testing.assert_allclose(cut.embedding(surface).apply(surface.vertices), fine.vertices, atol=1e-12)
        np.testing.assert_array_equal(fine.look.paint_of, np.repeat(paint, cut.parts))
        np.testing.assert_allclose(
            fine.look.uv.reshape(len(surface.triangles), -1, 2).mean(axis=1), uv.mean(axis=1), atol=1e-5
        )


def test_subdivision_is_smooth_and_moves_as_the_mesh_does():
    """Weights add up to one, flat regular sheets stay, and a coarse cylinder's limit is round."""
    mesh = sheet(6)
    cut = Subdivision.of(mesh, 2)
    x = mesh.vertices
    for stencils in (cut.limit, *cut.stencils):
        np.testing.assert_allclose(np.add.reduceat(stencils.weights, stencils.starts[:-1]), 1.0)
        assert (np.diff(stencils.starts) > 0).all()
    np.testing.assert_allclose(cut.limit.apply(x), x, atol=1e-12)
    for stencils in cut.stencils:
        x = stencils.apply(x)
    np.testing.assert_allclose(x, cut.surface(mesh).vertices, atol=1e-12)
    corner = np.flatnonzero(np.abs(mesh.vertices[:, :2]).min(axis=1) > 0.499)
    for stencils in (cut.limit, cut.stencils[0]):
        np.testing.assert_array_equal(stencils.columns[stencils.starts[corner]], corner)
        np.testing.assert_array_equal(np.diff(stencils.starts)[corner], 1)


def test_there_are_none_at_rest_nor_when_only_moved_or_stretched(device):
    seen = Seen(device=device)
    np.testing.assert_allclose(seen.at(seen.mesh.vertices), seen.rest.vertices, atol=1e-6)
    turn = turned_by(np.array([0.7, -1.1, 0.4]))
    moved = lambda x: x @ turn.T + [3.0, -2.0, 5.0]
    np.testing.assert_allclose(seen.at(moved(seen.mesh.vertices)), moved(seen.rest.vertices), atol=5e-6)
    np.testing.assert_allclose(seen.at(seen.mesh.vertices * [1.3, 1, 1]), seen.rest.vertices * [1.3, 1, 1], atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("part", [0.95, 0.8, 0.6])
def test_waves_across_the_compression_have_the_missing_length(axis, part, device):
    seen = Seen(device=device)
    squeeze = np.array([part if k == axis else 1.0 for k in range(3)])
    x = seen.at(seen.mesh.vertices * squeeze)
    for at in (-0.25, 0.0, 0.25):
        assert length(x[seen.row(axis, at)]) == pytest.approx(1.0, rel=0.01)
        # crests are straight lines normal to the compression
        assert np.ptp(x[seen.row(1 - axis, at), 2]) < 1e-5
    z = x[seen.row(axis), 2]
    crests = np.flatnonzero((z[1:-1] > z[:-2]) & (z[1:-1] > z[2:]))
    assert 7 <= len(crests) <= 9
    assert z.max() == pytest.approx(0.125 / np.pi * np.sqrt(part * (1 - part)), rel=0.25)


def test_a_slanted_compression_has_slanted_crests(device):
    seen = Seen(device=device)
    along = np.array([np.cos(np.radians(45)), np.sin(np.radians(45)), 0.0])
    squeezed = lambda x: x - 0.2 * np.outer(x @ along, along)
    x = seen.at(squeezed(seen.mesh.vertices)) - squeezed(seen.rest.vertices)
    # the same height at points of the same place along the compression
    place = np.round(seen.rest.vertices @ along, 6)
    heights = [x[place == value, 2] for value in np.unique(place)]
    assert max(np.ptp(h) for h in heights) < 1e-4 < np.abs(x[:, 2]).max()


def test_they_fade_in_smoothly(device):
    seen = Seen(device=device)
    parts = np.linspace(1.0, 0.9, 201)
    tall = np.array([np.abs(seen.at(seen.mesh.vertices * [part, 1, 1])[:, 2]).max() for part in parts])
    assert (tall[parts > 0.99] < 1e-6).all() and (np.diff(tall) > -1e-6).all()
    assert np.diff(tall).max() < 0.04 * tall[-1]


def test_strength_and_threshold_do_what_they_say(device):
    squeezed = lambda **more: Seen(settings=Wrinkles(wavelength=0.125, levels=4, **more), device=device)
    tall = lambda seen: np.abs(seen.at(seen.mesh.vertices * [0.8, 1, 1])[:, 2]).max()
    assert tall(squeezed(strength=0.5)) == pytest.approx(0.5 * tall(squeezed()), rel=1e-3)
    assert tall(squeezed(threshold=0.25)) < 1e-6


def test_the_fine_surface_of_a_curved_sheet_is_smooth(device):
    """PN triangles over a coarse half-cylinder lie nearer to it than the flat triangles do."""
    mesh = sheet(8)
    seen = Seen(mesh, Wrinkles(wavelength=0.125, levels=3, strength=0.0), device)
    angle = np.pi * mesh.vertices[:, 0]
    bent = np.stack([np.sin(angle) / np.pi, mesh.vertices[:, 1], np.cos(angle) / np.pi], axis=1)
    x, flat = seen.at(bent), seen.embedding.apply(bent)
    inner = np.abs(seen.rest.vertices[:, 0]) < 0.3
    off = lambda p: np.abs(np.hypot(p[inner, 0], p[inner, 2]) - 1 / np.pi).max()
    assert off(x) < 0.25 * off(flat)


def test_a_tube_gets_rings_all_around_it(device):
    """Phases are found modulo whole turns, so a closed direction has no seam."""
    around, high = 24, 12
    a, h = np.meshgrid(np.arange(around) * 2 * np.pi / around, np.linspace(0, 1, high + 1), indexing="ij")
    points = np.stack([0.2 * np.cos(a), h, 0.2 * np.sin(a)], axis=-1).reshape(-1, 3)
    i, j = (k.reshape(-1) for k in np.meshgrid(np.arange(around), np.arange(high), indexing="ij"))
    at = lambda i, j: (i % around) * (high + 1) + j
    first = np.stack([at(i, j), at(i, j + 1), at(i + 1, j)], axis=1)
    second = np.stack([at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)], axis=1)
    seen = Seen(SurfaceMesh(points, np.concatenate([first, second])), Wrinkles(wavelength=0.1, levels=3), device)
    x = seen.at(points * [1, 0.8, 1])
    away = np.hypot(x[:, 0], x[:, 2]) - np.hypot(*seen.at(points)[:, [0, 2]].T)
    levels = np.round(seen.rest.vertices[:, 1], 6)
    inside = (levels > 0.2) & (levels < 0.8)
    assert np.abs(away[inside]).max() > 0.008
    for value in np.unique(levels[inside]):
        assert np.ptp(away[levels == value]) < 0.004


def scene(**more):
    made = Scene(gravity=(0, 0, 0), substeps=40)
    made.add_body(sheet(4), LIGHT, name="sheet", rotation=(90, 0, 0), position=(0, 1, 0), wrinkles=more or True)
    made.add_body(shapes.box(0.1, 1), LIGHT, name="box", position=(3, 0, 0))
    return made


def test_a_body_is_seen_with_its_wrinkles(device):
    sim = build(scene(levels=2, wavelength=0.3), device)
    body = sim.body("sheet")
    assert body.seen_vertices == len(sim.surface_positions("sheet")) == 17 * 17 and body.is_skin_recorded
    np.testing.assert_allclose(sim.surface_positions("sheet")[:, 1], 1.0, atol=1e-6)
    sim.set_state("sheet", positions=sim.positions("sheet") * [0.8, 1, 1])
    assert np.ptp(sim.surface_positions("sheet")[:, 1]) > 0.03
    assert len(sim.surface_positions()) == 17 * 17 + 8
    normals = sim.skins.normals("sheet")
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-5)
    assert np.abs(normals[:, 0]).max() > 0.2
    first, again = (build(scene(levels=2), device) for _ in range(2))
    for other in (first, again):
        other.set_state("sheet", positions=sim.positions("sheet"))
        other.frame(2)
    assert first.surface_positions().tobytes() == again.surface_positions().tobytes()
    handle = sim.pull_seen("sheet", 100, (0, 2, 0), 1.0)
    assert np.isfinite(sim.pull_point(handle)).all()


def test_files_programs_and_recordings_hold_them(tmp_path):
    from pliant.run.export import export_recording
    from pliant.run.recording import open_recording
    from pliant.run.runner import RunOptions, run_scene
    from pliant.run.seen import SeenVertices
    from pliant.studio.scene_tables import scene_tables

    tables = scene_tables(scene(levels=2, wavelength=0.3), tmp_path)
    assert tables["body"][0]["wrinkles"] == {"wavelength": 0.3, "levels": 2}
    loaded = load_tables(tables, tmp_path)
    assert loaded.scene.bodies[0].wrinkles.settings == Wrinkles(wavelength=0.3, levels=2)
    assert "pliant.Wrinkles(wavelength=0.3, levels=2)" in python_code(tables)
    loaded = dataclasses.replace(loaded, frames=2)
    result = run_scene(loaded, RunOptions(out=tmp_path / "run", device="cpu", pictures=False, quiet=True))
    assert result.code == 0
    with open_recording(result.outputs["recording"]) as reader:
        seen = SeenVertices(reader)
        assert seen.count == 17 * 17 + 8
        sim = build(loaded.scene)
        sim.frame(2)
        np.testing.assert_allclose(seen.of(reader[2][2]), sim.surface_positions(), atol=1e-4)
        assert export_recording(reader, tmp_path / "sheet.pc2")


def test_what_cannot_wrinkle_says_so():
    with pytest.raises(InputError, match="only a sheet"):
        Scene().add_body(shapes.box(0.1, 1), wrinkles=True)
    with pytest.raises(InputError, match="tear"):
        Scene().add_body(sheet(2), Material(fracture_strain=0.5), wrinkles=True)
    for bad in ({"levels": 99}, {"waves": 3}, 5):
        with pytest.raises(InputError):
            Scene().add_body(sheet(2), wrinkles=bad)
    made = Scene()
    made.add_body(sheet(2), wrinkles={"wavelength": 0.05, "levels": 1})
    assert any("raise 'levels'" in note for note in made.bodies[0].notes)
