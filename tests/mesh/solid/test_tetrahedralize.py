"""From a surface to a solid: the size for a wanted count, what happens to thin parts, and every way back."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from pliant.errors import InputError, MissingExtraError
from pliant.mesh import shapes
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.solid import conforming
from pliant.mesh.solid import tetrahedralize as front
from pliant.mesh.solid.checks import Samples, sliver_count
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.solid.stuffing import ANGLES
from pliant.mesh.solid.tetrahedralize import SolidSettings, tetrahedralize
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

TORUS = shapes.torus(0.35, 0.15, 5, 48).surface_mesh().rotated((1, 2, 3), 0.3)
MESHES = Path(__file__).parents[4] / "shared" / "meshes"


def joined(*meshes):
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    return SurfaceMesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, starts[:-1], strict=True)]),
    )


def read_off(path):
    """The plain OFF of the test meshes: counts, then vertices, then triangles."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    count, faces = (int(word) for word in lines[1].split()[:2])
    vertices = np.array([line.split()[:3] for line in lines[2 : 2 + count]], np.float64)
    return SurfaceMesh(
        vertices, np.array([line.split()[1:4] for line in lines[2 + count : 2 + count + faces]], np.int32)
    )


def test_wanted_counts_are_reached(device):
    for wanted in (3000, 20_000):
        solid = tetrahedralize(TORUS, SolidSettings(tets=wanted), device)
        assert solid.method == "stuffing" and solid.offset == 0.0
        assert len(solid.mesh.tets) == pytest.approx(wanted, rel=0.1)
        assert solid.mesh.check() == []
        assert solid.quality["slivers"] == 0 and solid.quality["tets"] == len(solid.mesh.tets)
        assert ANGLES[0] < solid.quality["dihedral_min_degrees"] and solid.quality["dihedral_max_degrees"] < ANGLES[1]
    solid = tetrahedralize(TORUS, SolidSettings(vertices=2000), device)
    assert len(solid.mesh.vertices) == pytest.approx(2000, rel=0.1)


def test_element_size_is_taken_as_given():
    assert tetrahedralize(TORUS, SolidSettings(element_size=0.05)).element_size == 0.05


def test_enclosing_solid_holds_every_point_with_a_small_offset(device):
    solid = tetrahedralize(TORUS, SolidSettings(tets=4000, enclose=True), device)
    points = np.concatenate([TORUS.vertices, Samples.on(TORUS).points])
    assert SignedDistance(solid.mesh.surface_mesh(), device).at(points).max() < 1e-5
    assert 0.0 < solid.offset < 0.5 * solid.element_size
    assert len(solid.mesh.tets) == pytest.approx(4000, rel=0.12)


def test_thin_arm_is_kept_and_told():
    ball = shapes.ball(0.5, 8).surface_mesh()
    arm = shapes.box((1.2, 0.08, 0.08), (30, 2, 2)).surface_mesh().rotated((0, 0, 1), 0.7).translated((0.75, 0.6, 0.0))
    surface = joined(ball, arm)
    kept = tetrahedralize(surface, SolidSettings(tets=1500))
    assert any("were thickened" in note for note in kept.notes)
    assert len(kept.mesh.tets) == pytest.approx(1500, rel=0.15)
    assert kept.mesh.vertices[:, 0].max() > 1.0
    dropped = tetrahedralize(surface, SolidSettings(tets=1500, keep_thin=False))
    assert len(dropped.mesh.tets) == pytest.approx(1500, rel=0.15)


@pytest.mark.parametrize("thickness", [1e-2, 1e-4])
def test_plate_thinner_than_its_elements_gets_a_solid(thickness):
    plate = shapes.box((1.0, thickness, 1.0), (6, 1, 6)).surface_mesh()
    solid = tetrahedralize(plate, SolidSettings(tets=2000))
    assert len(solid.mesh.tets) == pytest.approx(2000, rel=0.15)
    assert any("were thickened" in note for note in solid.notes) and solid.mesh.check() == []
    assert solid.mesh.surface_mesh().volume() < 0.2


@pytest.mark.parametrize("settings", [SolidSettings(), SolidSettings(element_size=0.1)])
def test_flat_sheet_is_refused_with_a_way_out(settings):
    with pytest.raises(InputError, match=r'solid="surface"'):
        tetrahedralize(shapes.sheet(1.0, 8), settings)


def test_cages_exist_for_every_surface(device):
    for surface in (TORUS, shapes.sheet(1.0, 8)):
        cage = tetrahedralize(surface, SolidSettings(method="voxels", tets=3000), device)
        assert isinstance(cage.mesh, TetMesh) and cage.method == "voxels"
        assert len(cage.mesh.tets) == pytest.approx(3000, rel=0.25)
        lattice = tetrahedralize(surface, SolidSettings(method="lattice", element_size=cage.element_size), device)
        assert isinstance(lattice.mesh, VoxelLattice) and 6 * len(lattice.mesh.cubes) == len(cage.mesh.tets)
        assert lattice.quality["volume"] == pytest.approx(cage.mesh.volumes().sum())


def test_no_time_gives_something_coarser(monkeypatch):
    solid = tetrahedralize(TORUS, SolidSettings(tets=500_000, time_limit=1e-6))
    assert solid.method == "voxels" and any("time limit" in note for note in solid.notes)
    assert solid.mesh.check() == []


def test_progress_is_told():
    seen = []
    tetrahedralize(TORUS, SolidSettings(tets=1000), progress=lambda stage, done: seen.append((stage, done)))
    assert seen and all(isinstance(stage, str) and 0.0 <= done <= 1.0 for stage, done in seen)


def test_same_bytes_every_time(set_threads):
    found = []
    for threads in (1, 2):
        set_threads(threads)
        found.append(tetrahedralize(TORUS, SolidSettings(tets=2000)).mesh)
    assert found[0].vertices.tobytes() == found[1].vertices.tobytes()
    assert found[0].tets.tobytes() == found[1].tets.tobytes()


def test_bad_settings():
    with pytest.raises(InputError, match="together"):
        SolidSettings(tets=1000, element_size=0.1)
    with pytest.raises(InputError):
        SolidSettings(method="magic")
    with pytest.raises(InputError):
        SolidSettings(element_size=-1.0)
    with pytest.raises(InputError, match="nodes"):
        tetrahedralize(TORUS, SolidSettings(element_size=1e-5))


@pytest.mark.parametrize("method", ["stuffing", "conforming", "voxels", "lattice"])
def test_elements_too_large_for_the_surface_are_refused(method):
    box = shapes.box((1.0, 0.5, 0.5), 1).surface_mesh()
    whole = method in ("voxels", "lattice")
    with pytest.raises(InputError, match="longest side of the surface, which is 1 m"):
        tetrahedralize(box, SolidSettings(method=method, element_size=1.01 if whole else 0.51))
    if whole:
        assert len(tetrahedralize(box, SolidSettings(method=method, element_size=1.0)).mesh.vertices) == 8


def test_slivers_are_counted():
    flat = [[0.0, 0, 0], [1, 0, 0.01], [1, 1, 0], [0, 1, 0.01]]
    good = [[2.0, 0, 0], [3, 0, 0], [2, 1, 0], [2, 0, 1]]
    mesh = TetMesh([*flat, *good], [[0, 1, 2, 3], [4, 5, 6, 7]]).oriented()[0]
    assert sliver_count(mesh) == 1


def test_conforming_needs_its_extra(monkeypatch):
    monkeypatch.setattr(conforming.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="tetwild"):
        tetrahedralize(TORUS, SolidSettings(method="conforming"))


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("raise SystemExit('broken')", "broken"),
        ("import os; os.abort()", "ended with code"),
        ("import time; time.sleep(60)", "stopped after"),
        (
            "import sys, numpy as n; n.savez(sys.argv[2], vertices=n.zeros((0,3)), tets=n.zeros((0,4)))",
            "nothing inside",
        ),
    ],
)
def test_conforming_that_fails_is_replaced_by_stuffing(monkeypatch, script, told):
    monkeypatch.setattr(conforming.importlib.util, "find_spec", lambda name: sys)
    monkeypatch.setattr(conforming, "SCRIPT", script)
    limit = 1.0 if "sleep" in script else 60.0
    solid = tetrahedralize(TORUS, SolidSettings(method="conforming", tets=1000, time_limit=limit))
    assert solid.method == "stuffing" and told in solid.notes[0]


def test_conforming_result_is_put_back_to_its_place(monkeypatch):
    """A stand-in that returns one tet with its corners the wrong way round, in the unit box."""
    script = (
        "import sys, numpy as n; n.savez(sys.argv[2], tets=[[0, 2, 1, 3]], "
        "vertices=n.array([[0., 0, 0], [.5, 0, 0], [0, .5, 0], [0, 0, .5]]))"
    )
    monkeypatch.setattr(conforming.importlib.util, "find_spec", lambda name: sys)
    monkeypatch.setattr(conforming, "SCRIPT", script)
    surface = shapes.box(2.0, 1).surface_mesh().translated((10.0, 0.0, 0.0))
    mesh = conforming.conform(surface, 0.1)
    assert mesh.volumes().sum() == pytest.approx(1.0 / 6.0)
    np.testing.assert_allclose(mesh.vertices.min(axis=0), [10.0, 0.0, 0.0])


def test_conforming_leaves_nothing_where_it_is_called(monkeypatch, tmp_path):
    script = (
        "import sys, numpy as n; open('left_behind.stl', 'w').close(); n.savez(sys.argv[2], tets=[[0, 1, 2, 3]], "
        "vertices=n.array([[0., 0, 0], [.5, 0, 0], [0, .5, 0], [0, 0, .5]]))"
    )
    monkeypatch.setattr(conforming.importlib.util, "find_spec", lambda name: sys)
    monkeypatch.setattr(conforming, "SCRIPT", script)
    monkeypatch.chdir(tmp_path)
    conforming.conform(shapes.box(1.0, 1).surface_mesh(), 0.1)
    assert list(tmp_path.iterdir()) == []


def test_conforming_for_real():
    pytest.importorskip("pytetwild")
    solid = tetrahedralize(TORUS, SolidSettings(method="conforming", tets=1000))
    assert solid.method == "conforming"
    assert solid.mesh.volumes().sum() == pytest.approx(TORUS.volume(), rel=0.1)


@pytest.mark.parametrize(
    ("file", "vertices", "tets"),
    [
        ("cgaldemo_bunny00.off", 4700, 19_500),
        ("cgaldemo_bunny00.off", 7100, 35_000),
        ("cgaldemo_armadillo.off", 33_000, 146_000),
    ],
)
def test_sizes_of_lesmes(file, vertices, tets):
    """Lesmes' bodies (chapter 5): both counts within a fifth."""
    if not (MESHES / file).exists():
        pytest.skip("the real meshes are not here")
    solid = tetrahedralize(read_off(MESHES / file), SolidSettings(tets=tets))
    assert len(solid.mesh.tets) == pytest.approx(tets, rel=0.2)
    assert len(solid.mesh.vertices) == pytest.approx(vertices, rel=0.2)
    assert solid.quality["slivers"] == 0


def test_settings_are_plain_data():
    assert dataclasses.asdict(SolidSettings())["method"] == "stuffing" and set(front.METHODS) >= {"stuffing"}
