"""bisect_order: a permutation in full, compact leaves, the same every time."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import InputError
from pliant.mesh import shapes
from pliant.mesh.order import bisect_order


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(1, 70), st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 1000]))
def test_permutation_with_full_leaves(count, leaf_size, seed, steps):
    """For any number of points; ``steps`` coarse enough that many of them coincide."""
    points = np.random.default_rng(seed).random((count, 3))
    points = np.round(points * steps)
    order, starts = bisect_order(points, leaf_size)
    assert np.array_equal(np.sort(order), np.arange(count))
    sizes = np.diff(starts)
    assert starts[0] == 0 and starts[-1] == count
    assert (sizes[:-1] == leaf_size).all() and 1 <= sizes[-1] <= leaf_size
    again = bisect_order(points, leaf_size)
    assert np.array_equal(again[0], order) and np.array_equal(again[1], starts)


def test_block_fills_every_leaf():
    points = shapes.box(1.0, 31).vertices
    order, starts = bisect_order(points, 128)
    assert starts.tolist() == list(range(0, 32768 + 1, 128))
    spans = np.array([np.ptp(points[order[a:b]], axis=0) for a, b in itertools.pairwise(starts)])
    # 128 points of a lattice make a block of 4 x 4 x 8, whichever way it lies.
    assert np.sort(np.rint(spans * 31) + 1, axis=1) == pytest.approx(np.tile([4, 4, 8], (256, 1)))
    # Within a leaf: z first, then y, then x.
    x, y, z = points[order[:128]].T
    assert np.array_equal(np.lexsort((x, y, z)), np.arange(128))


def test_numbering_of_the_input_does_not_matter():
    rng = np.random.default_rng(3)
    points = rng.random((1000, 3))
    mixed = rng.permutation(1000)
    plain, again = bisect_order(points, 32)[0], bisect_order(points[mixed], 32)[0]
    leaves = [
        {frozenset(part.tolist()) for part in np.split(found, range(32, 1000, 32))} for found in (plain, mixed[again])
    ]
    assert leaves[0] == leaves[1]


def test_edges_become_shorter():
    mesh = shapes.ball(cells=8)
    place = np.argsort(bisect_order(mesh.vertices, 64)[0])
    edges = mesh.edges()
    mixed = np.random.default_rng(0).permutation(len(place))
    same_leaf = (place[edges] // 64 == place[edges][:, ::-1] // 64).all(axis=1).mean()
    same_mixed = (mixed[edges] // 64 == mixed[edges][:, ::-1] // 64).all(axis=1).mean()
    assert same_leaf > 0.4 > 10 * same_mixed


def test_odd_input():
    assert bisect_order(np.zeros((0, 3)), 4)[1].tolist() == [0]
    assert bisect_order(np.zeros((5, 3)), 2)[0].tolist() == [0, 1, 2, 3, 4]
    line = np.zeros((9, 3))
    line[:, 1] = np.arange(9)[::-1]
    assert bisect_order(line, 2)[0].tolist() == list(range(8, -1, -1))
    tiny = line * 1e-300
    assert bisect_order(tiny, 2)[1].tolist() == [0, 2, 4, 6, 8, 9]
    with pytest.raises(InputError, match=r"leaf_size.*0 is below 1"):
        bisect_order(line, 0)
    with pytest.raises(InputError, match=r"vertex 2 is .*nan"):
        bisect_order(np.where(np.arange(9)[:, None] == 2, np.nan, line), 2)
    with pytest.raises(InputError, match=r"shape \(9, 2\)"):
        bisect_order(line[:, :2], 2)
