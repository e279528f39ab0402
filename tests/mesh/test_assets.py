"""The sample meshes: each can be read, stands on the ground, is small, and is credited."""

import re

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.assets import FOLDER, SUFFIX, asset, asset_names, asset_path
from pliant.mesh.repair.diagnose import diagnose

CLOSED = {"armadillo", "bunny", "car", "dragon", "duck", "small_bunny"}
# Vertices, and colours that must be there: whether red, green and blue are above one half.
SCULPTED = {
    "duck": ((1522, 1522), {"yellow": (1, 1, 0), "orange": (1, 0, 0), "dark": (0, 0, 0)}),
    "car": ((10_000, 10_400), {"red": (1, 0, 0), "dark": (0, 0, 0), "light": (1, 1, 1)}),
}


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


@pytest.mark.parametrize("name", sorted(SCULPTED))
def test_a_mesh_of_our_own(name):
    (least, most), colors = SCULPTED[name]
    assert asset_path(name).stat().st_size < 150_000
    mesh = asset(name)
    assert least <= len(mesh.vertices) <= most
    assert mesh.is_closed() and mesh.volume() > 0.0 and mesh.components()[0] == 1
    # no handles, and no triangle goes through another
    assert len(mesh.vertices) - len(mesh.edges()) + len(mesh.triangles) == 2
    assert diagnose(mesh).clean
    edge = arrays.edge_lengths(mesh.vertices, mesh.edges())
    assert edge.min() > 0.4 * edge.mean() and edge.max() < 2.0 * edge.mean()
    corners = mesh.vertices[mesh.triangles]
    squares = ((corners - np.roll(corners, 1, axis=1)) ** 2).sum(axis=(1, 2))
    # 1 for an equilateral triangle, 0 for a sliver
    assert (4.0 * np.sqrt(3.0) * mesh.areas() / squares).min() > 0.4
    painted = mesh.look.vertex_colors[:, :3]
    for color, bright in colors.items():
        assert ((painted > 0.5) == np.array(bright, bool)).all(axis=1).sum() >= 10, color
    # facing +x: the beak, the lamps
    front = np.array([0.95, 0.42, 0.07]) if name == "duck" else np.array([1.0, 0.96, 0.8])
    assert mesh.vertices[np.abs(painted - front).max(axis=1) < 0.01, 0].min() > 0.3 * mesh.vertices[:, 0].max()


def test_no_such_sample():
    with pytest.raises(InputError, match=r"no sample mesh 'rabbit'.*small_bunny"):
        asset("rabbit")
    for name in ("", "../scenes/drop", "bunny.ply.gz"):
        with pytest.raises(InputError):
            asset_path(name)
