"""When a vertex meets a triangle and an edge an edge, against dense sampling of the step in float64."""

import numpy as np
import pytest
import warp as wp

from pliant.launch import launch
from pliant.physics.crossing import time_of_edges, time_of_meeting

SAMPLES = 4001


@wp.kernel
def _vertices(p: wp.array2d(dtype=wp.vec3), d: wp.array2d(dtype=wp.vec3), near: float, t_out: wp.array(dtype=float)):
    i = wp.tid()
    t_out[i] = time_of_meeting(p[i, 0], p[i, 1], p[i, 2], p[i, 3], d[i, 0], d[i, 1], d[i, 2], d[i, 3], near)


@wp.kernel
def _edges(p: wp.array2d(dtype=wp.vec3), d: wp.array2d(dtype=wp.vec3), near: float, t_out: wp.array(dtype=float)):
    i = wp.tid()
    t_out[i] = time_of_edges(p[i, 0], p[i, 1], p[i, 2], p[i, 3], d[i, 0], d[i, 1], d[i, 2], d[i, 3], near)


def times(kernel, p, d, device, near=1e-4):
    put = lambda a: wp.array(a.astype(np.float32), dtype=wp.vec3, ndim=2, device=device)
    out = wp.zeros(len(p), dtype=float, device=device)
    launch(kernel, len(p), [put(p), put(d), near], [out], device=device)
    return out.numpy()


def spat(u, v, w):
    return (u * np.cross(v, w)).sum(axis=-1)


def sampled(p, d, edges):
    """The first time at which four points change sides within each other's reach; 2 for never.

    Those that pass within 2 % of a rim, or twice between samples, are left to chance and marked with nan.
    """
    t = np.linspace(0.0, 1.0, SAMPLES)[:, None, None]
    found = np.full(len(p), 2.0)
    for k in range(len(p)):
        q = p[k] + t * d[k]
        if edges:
            f = spat(q[:, 1] - q[:, 0], q[:, 3] - q[:, 2], q[:, 2] - q[:, 0])
        else:
            f = spat(q[:, 0] - q[:, 1], q[:, 2] - q[:, 1], q[:, 3] - q[:, 1])
        for j in np.flatnonzero(f[:-1] * f[1:] < 0.0):
            at = q[j]
            if edges:
                u, v, r = at[1] - at[0], at[3] - at[2], at[2] - at[0]
                w = np.linalg.lstsq(np.stack([u, -v], axis=1), r, rcond=None)[0]
                inside = min(w.min(), (1.0 - w).min())
            else:
                w = np.linalg.lstsq(np.stack([at[2] - at[1], at[3] - at[1]], axis=1), at[0] - at[1], rcond=None)[0]
                inside = min(w.min(), 1.0 - w.sum())
            if abs(inside) < 0.02:
                found[k] = np.nan
                break
            if inside > 0.0:
                found[k] = j / (SAMPLES - 1)
                break
    return found


@pytest.mark.parametrize("edges", [False, True], ids=["vertex", "edge"])
def test_meetings_are_those_that_sampling_finds(edges, device):
    rng = np.random.default_rng(3)
    p = 0.7 * rng.normal(size=(600, 4, 3))
    # some move slowly, others turn round themselves, which makes several roots
    d = 2.0 * rng.normal(size=(600, 4, 3))
    d[:150] *= 0.3
    want = sampled(p, d, edges)
    got = times(_edges if edges else _vertices, p, d, device)
    sure = ~np.isnan(want)
    assert (want[sure] <= 1.0).sum() > 30 and (want[sure] > 1.0).sum() > 40
    np.testing.assert_allclose(got[sure], want[sure], atol=2e-3)


def test_a_fast_vertex_through_a_small_triangle(device):
    """A millimetre of cloth, a metre of way."""
    p = np.array([[[0.0, 0.5, 0.0], [-1e-3, 0, -1e-3], [1e-3, 0, -1e-3], [0.0, 0.0, 1e-3]]])
    d = np.zeros((1, 4, 3))
    d[0, 0, 1] = -1.0
    assert times(_vertices, p, d, device, 1e-6)[0] == pytest.approx(0.5, abs=1e-4)


def test_what_does_not_move_does_not_meet(device):
    p = np.random.default_rng(1).normal(size=(50, 4, 3))
    assert (times(_vertices, p, np.zeros_like(p), device) > 1.0).all()
    assert (times(_edges, p, np.zeros_like(p), device) > 1.0).all()


def test_what_moves_together_does_not_meet(device):
    p = np.random.default_rng(2).normal(size=(50, 4, 3))
    d = np.broadcast_to([[[3.0, -2.0, 1.0]]], p.shape)
    assert (times(_vertices, p, d, device) > 1.0).all()
