"""A camera sees what it was asked to frame."""

import numpy as np
import pytest

from pliant.errors import InputError
from pliant.render.camera import Camera


def on_screen(camera, points, aspect):
    """Points in the picture's coordinates, -1 to 1 on both axes (n, 2)."""
    right, up, forward = camera.axes()
    seen = np.asarray(points) - camera.position
    slope = np.tan(np.radians(camera.fov_deg / 2))
    depth = seen @ forward
    assert (depth > 0).all()
    return np.stack([seen @ right / (depth * slope * aspect), seen @ up / (depth * slope)], axis=1)


@pytest.mark.parametrize("aspect", [0.5, 1.0, 16 / 9])
@pytest.mark.parametrize("direction", [(0.5, 0.4, 1), (0, 1, 0), (0, -1, 0), (-3, 0.1, -1)])
def test_framing_is_tight(aspect, direction):
    low, high = np.array([-2.0, 0.0, 1.0]), np.array([1.0, 0.5, 9.0])
    camera = Camera.framing(low, high, aspect, direction, margin=1.0)
    corners = [
        [(low, high)[i][0], (low, high)[j][1], (low, high)[k][2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)
    ]
    assert np.abs(on_screen(camera, corners, aspect)).max() == pytest.approx(1.0, abs=1e-6)


def test_axes_are_orthonormal_and_upright():
    camera = Camera((1, 2, 3), (0, 0, 0))
    axes = np.array(camera.axes())
    assert np.allclose(axes @ axes.T, np.eye(3), atol=1e-12) and axes[1, 1] > 0
    assert np.allclose(np.cross(axes[0], axes[1]), -axes[2])


def test_a_point_can_be_framed():
    camera = Camera.framing((1, 1, 1), (1, 1, 1), 1.5)
    assert camera.target == (1.0, 1.0, 1.0) and camera.position != camera.target


def test_mistakes_are_told():
    for bad in (lambda: Camera((0, 0, 0), (0, 0, 0)), lambda: Camera((0, 0, np.nan), (0, 0, 0)),
                lambda: Camera((0, 0, 1), (0, 0, 0), fov_deg=180), lambda: Camera((0, 0), (0, 0, 0)),
                lambda: Camera.framing((1, 0, 0), (0, 0, 0), 1.0), lambda: Camera.framing((0, 0, 0), (1, 1, 1), 0.0),
                lambda: Camera.framing((0, 0, 0), (1, 1, 1), 1.0, (0, 0, 0))):  # fmt: skip
        with pytest.raises(InputError):
            bad()
