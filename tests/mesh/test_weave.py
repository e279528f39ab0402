"""The warp of a cloth comes from what is given, else from its texture, else it is its mesh's x."""

import dataclasses

import numpy as np
import pytest

from pliant.mesh import shapes
from pliant.mesh.look import Look
from pliant.mesh.weave import warp_directions
from pliant.scene import Scene
from pliant.studio.document import Document

METHODS = ("mass_spring", "xpbd", "baraff_witkin")
SHEET = shapes.sheet((1.0, 1.0), (4, 4))
BARE = dataclasses.replace(SHEET, look=None)
# its texture lies across it: u grows where v did
ACROSS = dataclasses.replace(SHEET, look=Look(uv=SHEET.look.uv[..., ::-1].copy()))


def energies(mesh, method, **options):
    """Elastic energy [J] of a square of denim that is stretched by 1 % along x, and along z."""
    scene = Scene()
    scene.add_body(mesh, "denim", method=method, **options)
    sim = scene.build("cpu")
    x = sim.state.x.numpy().astype(float)
    return [sim.solvers[0].energy(x * np.where(np.arange(3) == axis, 1.01, 1.0)) for axis in (0, 2)]


def test_directions_lie_in_the_triangles():
    rng = np.random.default_rng(3)
    bent = dataclasses.replace(BARE, vertices=BARE.vertices + 0.03 * rng.normal(size=BARE.vertices.shape))
    along, unsure = warp_directions(bent, None)
    assert unsure == 0
    np.testing.assert_allclose(np.linalg.norm(along, axis=1), 1.0)
    np.testing.assert_allclose((along * bent.normals()).sum(axis=1), 0.0, atol=1e-12)
    assert (along[:, 0] > 0.5).all()


def test_the_texture_tells_the_warp():
    assert np.allclose(np.abs(warp_directions(SHEET, None)[0]), (1, 0, 0))
    assert np.allclose(np.abs(warp_directions(ACROSS, None)[0]), (0, 0, 1))
    assert np.allclose(np.abs(warp_directions(ACROSS, (1.0, 0.0, 0.0))[0]), (1, 0, 0)), "what is given goes first"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_the_same_warp(method):
    """Denim is stiffer along its warp, wherever that is known from."""
    x, z = energies(SHEET, method)
    assert x > 1.2 * z
    for mesh, options in (
        (ACROSS, {}),
        (SHEET, {"warp": (0.0, 0.0, 1.0)}),
        (SHEET, {"rotation": (0.0, 90.0, 0.0)}),
        (BARE, {"rotation": (0.0, 90.0, 0.0)}),
        (BARE, {"rotation": (0.0, 90.0, 0.0), "warp": (1.0, 0.0, 0.0)}),
    ):
        np.testing.assert_allclose(energies(mesh, method, **options), [z, x], rtol=0.15)
    np.testing.assert_allclose(energies(BARE, method), [x, z], rtol=1e-5)


@pytest.mark.parametrize("mesh", [SHEET, BARE], ids=["textured", "bare"])
@pytest.mark.parametrize("warp", [None, (0.6, 0.0, 0.8)], ids=["found", "given"])
def test_the_warp_survives_being_written_down(mesh, warp, tmp_path):
    """A scene that is opened in the studio has the warp that the script gave, or none."""
    scene = Scene()
    scene.add_body(mesh, "denim", method="xpbd", warp=warp, rotation=(20.0, 30.0, 40.0))
    again = Document.from_scene(scene, tmp_path).scene()
    first, second = scene.bodies[0].spec.warp, again.bodies[0].spec.warp
    if first is None:
        assert second is None
    else:
        np.testing.assert_allclose(second, first, atol=1e-6)
