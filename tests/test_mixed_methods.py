"""Bodies of different methods in one scene: each moves as it does alone."""

import numpy as np
import pytest
from bodies import build

from pliant import Material, Scene, shapes

STUFF = Material(young=3e4, damping=0.003, friction=0.5)
BOX = shapes.box((0.4, 0.3, 0.3), (5, 4, 4))
WAYS = {
    "springs": {"method": "mass_spring"},
    "rigid": {"method": "shape_matching", "matching": {"mode": "rigid", "clusters": 2}},
    "quadratic": {"method": "shape_matching", "matching": {"mode": "quadratic", "clusters": 2}},
}


def dropped(names, device):
    """The named bodies above a floor, each at a place of its own whatever else is there."""
    scene = Scene(frame_dt=0.01, substeps=20)
    scene.add_plane()
    for name in names:
        place = (float(list(WAYS).index(name)), 0.25, 0.0)
        scene.add_body(
            BOX, STUFF, name=name, position=place, rotation=(10, 20, 5), angular_velocity=(0, 1, 2), **WAYS[name]
        )
    return build(scene, device)


@pytest.mark.parametrize("names", [("springs", "quadratic"), ("quadratic", "rigid", "springs")], ids=len)
def test_each_moves_as_alone(names, device):
    together = dropped(names, device)
    together.frame(30)
    for name in names:
        alone = dropped([name], device)
        alone.frame(30)
        assert alone.positions()[:, 1].min() < 1e-6
        # the fused step of a scene of springs alone rounds as its stages do on the CPU, not on CUDA
        slack = 0.0 if device == "cpu" else 2e-5
        np.testing.assert_allclose(together.positions(name), alone.positions(), atol=slack)
        np.testing.assert_allclose(together.velocities(name), alone.velocities(), atol=50 * slack)


def test_a_mixed_scene_resumes_bit_for_bit(tmp_path, device):
    from pliant.checkpoint import load_checkpoint, save_checkpoint

    straight, stopped, resumed = (dropped(tuple(WAYS), device) for _ in range(3))
    straight.frame(20)
    stopped.frame(9)
    save_checkpoint(stopped, tmp_path / "mixed.ckpt")
    load_checkpoint(resumed, tmp_path / "mixed.ckpt")
    resumed.frame(11)
    for name in WAYS:
        assert np.array_equal(straight.positions(name), resumed.positions(name))
        assert np.array_equal(straight.velocities(name), resumed.velocities(name))
