"""The sample meshes: each can be read, stands on the ground, is small, and is credited."""

import re

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh.assets import FOLDER, SUFFIX, asset, asset_names, asset_path
from pliant.mesh.repair.diagnose import diagnose

CLOSED = {"armadillo", "bunny", "dragon", "small_bunny"}


def credited():
    """Name, longest side [m] and triangles of each row of the credits."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| ([\d,]+) \| (.*?) \|$", (FOLDER / "CREDITS.md").read_text(), re.M)
    return {name: (what, int(count.replace(",", "")), origin) for name, what, count, origin in rows}


def test_every_mesh_is_credited_and_every_credit_has_a_mesh():
    assert sorted(credited()) == asset_names() and set(asset_names()) >= CLOSED


@pytest.mark.parametrize("name", asset_names())
def test_a_sample_mesh(name):
    path = asset_path(name)
    assert path.name == name + SUFFIX and path.stat().st_size < 1_000_000
    mesh = asset(name)
    what, triangles, origin = credited()[name]
    assert len(mesh.triangles) == triangles and origin
    lowest, highest = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    assert abs(lowest[1]) < 1e-4
    # over its place
    assert np.all(np.abs(lowest + highest)[[0, 2]] < 0.05)
    size = float(re.search(r"([\d.]+) m$", what)[1])
    assert (highest - lowest).max() == pytest.approx(size, rel=0.01)
    found = diagnose(mesh, intersections=False)
    assert (found.kind == "solid" and found.clean) if name in CLOSED else found.kind == "open"


def test_no_such_sample():
    with pytest.raises(InputError, match=r"no sample mesh 'rabbit'.*small_bunny"):
        asset("rabbit")
    for name in ("", "../scenes/drop", "bunny.ply.gz"):
        with pytest.raises(InputError):
            asset_path(name)
