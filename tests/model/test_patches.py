"""Patches, halos and sliced tables against brute force."""

import numpy as np
import pytest

from pliant import shapes
from pliant.mesh.order import bisect_order
from pliant.model.patches import OTHER_CORNERS, build_patches, incidence, slice_incidence
from pliant.model.springs import Springs, edge_volumes
from pliant.model.tets import Tets, signed_volumes
from pliant.model.triangles import Triangles, areas


@pytest.fixture(scope="module")
def cut():
    """A ball whose vertices are ordered in space, with patch starts of uneven size."""
    mesh = shapes.ball(0.5, 4)
    order, starts = bisect_order(mesh.vertices, 32)
    rank = np.argsort(order)
    return mesh.vertices[order], rank[mesh.tets], starts


def test_incidence(cut):
    x, tets, _ = cut
    starts, element, corner = incidence(tets, len(x))
    for i in range(len(x)):
        found = list(zip(element[starts[i] : starts[i + 1]], corner[starts[i] : starts[i + 1]], strict=True))
        expected = [(t, c) for t in range(len(tets)) for c in range(4) if tets[t, c] == i]
        assert found == expected
    starts, element, _ = incidence(np.zeros((0, 4), np.int32), 5)
    assert starts.tolist() == [0] * 6 and len(element) == 0


def test_halo_is_what_touches_a_patch_from_outside(cut):
    x, tets, starts = cut
    pairs = np.concatenate([tets[:, [i, j]] for i in range(4) for j in range(i)])
    patches = build_patches(starts, pairs, len(x))
    assert patches.count == len(starts) - 1 > 3
    for p in range(patches.count):
        own = set(range(starts[p], starts[p + 1]))
        touching = {int(v) for tet in tets if own & set(tet.tolist()) for v in tet}
        halo = patches.halo[patches.halo_starts[p] : patches.halo_starts[p + 1]]
        assert halo.tolist() == sorted(touching - own)
        assert (patches.patch_of[list(own)] == p).all()
        members = np.array(sorted(own) + halo.tolist())
        np.testing.assert_array_equal(patches.local(np.full(len(members), p), members), np.arange(len(members)))
    assert patches.largest() == max(
        starts[p + 1] - starts[p] + patches.halo_starts[p + 1] - patches.halo_starts[p] for p in range(patches.count)
    )


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_slices_hold_every_entry_once(cut, lanes):
    x, tets, _ = cut
    slots = np.full(32 * (-(-len(x) // 32)), -1)
    slots[: len(x)] = np.random.default_rng(0).permutation(len(x))
    table = slice_incidence(*incidence(tets, len(x)), slots, lanes)
    real = table.entry >= 0
    assert real.sum() == tets.size
    owner, element, corner = table.owner[real], table.entry[real], table.corner[real]
    np.testing.assert_array_equal(tets[element, corner], owner)
    assert len(set(zip(element.tolist(), corner.tolist(), strict=True))) == tets.size
    # lane l of a slice serves the particle of its vertex slot
    per_slice = 32 // lanes
    for s, (first, rows) in enumerate(zip(table.starts, table.rows, strict=True)):
        block = table.owner[first : first + 32 * rows].reshape(rows, 32)
        expected = np.repeat(np.maximum(slots[s * per_slice : (s + 1) * per_slice], 0), lanes)
        assert (block == expected).all()


def test_other_corners_see_a_positive_volume():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    for corner, others in enumerate(OTHER_CORNERS):
        assert sorted([corner, *others]) == [0, 1, 2, 3]
        e = x[others] - x[corner]
        assert np.linalg.det(e) == pytest.approx(1.0)


def test_edge_volumes(cut):
    x, tets, _ = cut
    volumes = signed_volumes(x, tets)
    edges = np.unique(np.sort(np.concatenate([tets[:, [i, j]] for i in range(4) for j in range(i)]), axis=1), axis=0)
    found = edge_volumes(tets, volumes, edges, len(x))
    for k in range(0, len(edges), 37):
        both = (tets == edges[k, 0]).any(axis=1) & (tets == edges[k, 1]).any(axis=1)
        assert found[k] == pytest.approx(volumes[both].sum())
    assert found.sum() == pytest.approx(6 * volumes.sum())


def test_groups_are_shifted_when_put_together():
    mesh = shapes.tetrahedron(1.0)
    edges = mesh.edges()
    spring = Springs.build(mesh.vertices, edges, 5.0)
    assert spring.rest_length == pytest.approx(np.ones(6))
    both = Springs.concat([spring, spring], [0, 4])
    assert both.count == 12 and both.pairs[6:].tolist() == (edges + 4).tolist()
    tet = Tets.build(mesh.vertices, mesh.tets)
    assert Tets.concat([tet, tet], [0, 4]).corners[1].tolist() == (mesh.tets[0] + 4).tolist()
    sheet = shapes.sheet(1.0, 1)
    triangle = Triangles.build(sheet.vertices, sheet.triangles)
    assert triangle.rest_area == pytest.approx([0.5, 0.5])
    assert Triangles.concat([triangle, triangle], [0, 4]).corners.shape == (4, 3)
    assert areas(sheet.vertices, np.zeros((0, 3), int)).shape == (0,)
