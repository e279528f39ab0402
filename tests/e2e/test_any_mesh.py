"""Any mesh, however broken: it falls on the floor as a body or a sheet, or is refused with a reason."""

import dataclasses
import gzip
from pathlib import Path

import numpy as np
import pytest
from broken_meshes import broken_meshes

from pliant.bench.meshes import drop
from pliant.errors import InputError
from pliant.mesh.assets import asset
from pliant.mesh.io import FORMATS, write_mesh
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings

SIZE = 0.3
FRAMES = 120
SETTINGS = PrepareSettings(size=SIZE, tets=400)
CASES = broken_meshes()
MESHES = Path(__file__).parents[3] / "shared" / "meshes"
REAL = sorted(p for p in MESHES.rglob("*") if p.is_file() and p.suffix.lower() != ".md") if MESHES.is_dir() else []
# Those that enclose no space.
SHEETS = {"genesis_cloth.obj"}
SURFACE_SUFFIXES = sorted(
    suffix for row in FORMATS if row.surface for suffix in row.suffixes if suffix not in row.read_only
)


def fall(body, frames):
    """Drop a body; what is simulated and what is seen of it must stay whole, near its place and above the floor."""
    sim = drop(body, "cpu", frames)
    assert sim.frame_number == frames
    for x in (sim.positions(), sim.surface_positions()):
        assert np.isfinite(x).all()
        # it lies somewhere on the floor, and did not grow
        assert np.ptp(x, axis=0).max() < 3.0 * SIZE
        assert np.abs(x - x.mean(axis=0)).max() < 3.0 * SIZE
    assert sim.positions()[:, 1].min() > -1e-3 * SIZE
    return sim


@pytest.mark.parametrize("name", CASES)
def test_a_broken_mesh(name, tmp_path):
    case = CASES[name]
    path = case.write(tmp_path)
    if case.expect == "refused":
        with pytest.raises(InputError) as error:
            prepare(path, SETTINGS, use_cache=False)
        # one line that names the file or its mesh, the reason and what to do
        assert name in error.value.where and error.value.what and error.value.remedy
        assert "\n" not in str(error.value) and "Traceback" not in str(error.value)
        return
    body = prepare(path, SETTINGS, use_cache=False)
    assert ("sheet" if body.kind == "surface" else "body") == case.expect
    seen = body.skin or body.solid
    assert np.ptp(seen.vertices, axis=0).max() == pytest.approx(SIZE, rel=0.1)
    assert len(body.notes) == len(set(body.notes))
    assert fall(body, FRAMES).surface_positions().shape == seen.vertices.shape


@pytest.mark.skipif(not REAL, reason="the folder of real meshes is not here")
@pytest.mark.parametrize("path", REAL, ids=[path.name for path in REAL])
def test_a_real_mesh(path):
    body = prepare(path, dataclasses.replace(SETTINGS, tets=1000))
    assert (body.kind == "surface") == (path.name in SHEETS), body.notes
    fall(body, 5)


@pytest.mark.skipif(not REAL, reason="the folder of real meshes is not here")
def test_a_garment_is_a_sheet_when_asked_for():
    """A shirt encloses space but for a few holes: only its owner knows that it is cloth."""
    body = prepare(MESHES / "newton_unisex_shirt.usd", PrepareSettings(size=SIZE, solid="surface"))
    assert body.kind == "surface"
    fall(body, 5)


@pytest.fixture(scope="module")
def bunny():
    mesh = asset("small_bunny")
    return mesh, prepare(mesh, SETTINGS)


@pytest.mark.parametrize("suffix", SURFACE_SUFFIXES)
def test_the_same_body_from_every_format(suffix, bunny, tmp_path):
    mesh, expected = bunny
    path = tmp_path / f"small_bunny{suffix}"
    write_mesh(mesh, path)
    body = prepare(path, SETTINGS)
    counts, wanted = body.facts["counts"], expected.facts["counts"]
    assert [counts[k] for k in ("skin_vertices", "skin_triangles")] == [len(mesh.vertices), len(mesh.triangles)]
    corners, others = (b.skin.vertices[b.skin.triangles] for b in (body, expected))
    if np.array_equal(corners, others):
        assert counts == wanted
    else:
        # a format that mirrors (.x) begins its triangles at another corner, and what is tried out ends a little apart
        assert np.allclose(np.sort(corners, axis=1), np.sort(others, axis=1), atol=1e-5 * SIZE)
        assert counts["tets"] == pytest.approx(wanted["tets"], rel=0.2)
    assert body.solid.volumes().sum() == pytest.approx(expected.solid.volumes().sum(), rel=0.05)


def test_the_same_body_from_a_compressed_file(bunny, tmp_path):
    mesh, expected = bunny
    write_mesh(mesh, tmp_path / "small_bunny.off")
    (tmp_path / "packed.off.gz").write_bytes(gzip.compress((tmp_path / "small_bunny.off").read_bytes()))
    assert prepare(tmp_path / "packed.off.gz", SETTINGS).facts["counts"] == expected.facts["counts"]
