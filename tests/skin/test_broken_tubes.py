"""Tubes of rods that break: the seen surface ends on either side of a broken segment."""

import numpy as np
import pytest
import warp as wp

from pliant import Material, RodMesh, Scene
from pliant.checkpoint import load_checkpoint, save_checkpoint
from pliant.mesh.tubes import Tubes
from pliant.skin.tubes import TubeSkin

COUNT = 9
LINE = RodMesh(
    np.stack([np.linspace(0.0, 1.0, COUNT), np.ones(COUNT), np.zeros(COUNT)], axis=1),
    np.stack([np.arange(COUNT - 1), np.arange(1, COUNT)], axis=1),
    np.full(COUNT - 1, 0.02),
)


def areas(x, triangles):
    a, b, c = (x[triangles[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def rope(method, device="cpu"):
    scene = Scene(gravity=(0.0, 0.0, 0.0))
    stuff = Material(density=1000.0, young=1e5, damping=0.01, fracture_strain=0.2)
    scene.add_body(LINE, stuff, method=method, name="rope")
    for vertex, way in ((0, -0.2), (COUNT - 1, 0.2)):
        scene.pin("rope", [vertex], [(0.0, (0.0, 0.0, 0.0)), (1.0, (way, 0.0, 0.0))])
    return scene.build(device)


@pytest.mark.parametrize("method", ["mass_spring", "xpbd"])
def test_a_torn_rope_has_a_gap(method, device, tmp_path):
    sim = rope(method, device)
    assert not sim.broken_segments("rope").any()
    whole = areas(sim.surface_positions("rope"), sim.surface("rope")).sum()
    sim.frame(60)
    broken = sim.broken_segments("rope")
    assert broken.any() and not broken.all()
    x, triangles = sim.surface_positions("rope"), sim.surface("rope")
    size = areas(x, triangles)
    seen = size > 1e-9
    longest = np.linalg.norm(x[triangles] - np.roll(x[triangles], 1, axis=1), axis=2).max(axis=1)
    assert longest[seen].max() < 0.06, "nothing with an area reaches over the gap"
    # a broken segment leaves the area of two discs instead of a tube
    sides = sim.body("rope").tubes.sides
    disc = 0.5 * sides * 0.02**2 * np.sin(2.0 * np.pi / sides)
    assert size.sum() == pytest.approx(whole * (1.0 - broken.mean()) + 2.0 * disc * broken.sum(), rel=0.1)
    assert sim.quantity("strain", "rope").max() < 0.25, "what is broken is not stretched"
    save_checkpoint(sim, tmp_path / "rope.ckpt")
    other = rope(method, device)
    load_checkpoint(other, tmp_path / "rope.ckpt")
    np.testing.assert_array_equal(other.broken_segments("rope"), broken)
    np.testing.assert_array_equal(other.surface_positions("rope"), x)


def test_ends_at_a_gap_are_closed_discs(device):
    tubes = Tubes.of(LINE, sides=8, steps=4, breaks=True)
    skin = TubeSkin(tubes, device)
    x = LINE.vertices.copy()
    x[5:, 0] += 1.0
    gone = np.zeros(COUNT, bool)
    gone[5] = True
    skin.break_segments(0, gone)
    skin.update(wp.array(x.astype(np.float32), dtype=wp.vec3, device=device))
    seen, found = skin.x.numpy(), skin.triangles
    size = areas(seen, found)
    assert np.isfinite(seen).all()
    inside = (seen[:, 0] > 0.5 + 1e-4) & (seen[:, 0] < 1.625 - 1e-4)
    assert not inside.any(), "no vertex is within the gap"
    # signed volume of a closed surface: two pieces of an octagonal tube
    a, b, c = (seen[found[:, k]].astype(np.float64) for k in range(3))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    disc = 0.5 * 8 * 0.02**2 * np.sin(np.pi / 4)
    assert volume == pytest.approx(disc * (0.875 + 2 * 0.6 * 0.02 / 3), rel=0.01)
    assert size.sum() > 0.0
    skin.break_segments(0, np.zeros(COUNT, bool))
    skin.update(wp.array(LINE.vertices.astype(np.float32), dtype=wp.vec3, device=device))
    np.testing.assert_allclose(skin.x.numpy(), tubes.placed(LINE.vertices), atol=1e-6)
