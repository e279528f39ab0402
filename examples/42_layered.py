"""A rigid core under a soft layer: a cylinder, soft on one side and a thousand times stiffer on the other, dents.

The method `layered` moves a core and the nodes of its layer by one implicit step a frame, however stiff the layer is.
Thrown onto the floor with its soft end first the cylinder dents there; the stiff end hardly changes.
"""

import numpy as np

import pliant
from pliant.mesh.layer_settings import LayerSettings
from pliant.mesh.prepare_layered import prepare_layered

RUBBER = pliant.Material(density=300.0, young=3e4, poisson=0.3, damping=0.004, friction=0.6)


def build() -> pliant.Simulation:
    """A cylinder that falls flat on its side and is soft where x is negative."""
    surface = pliant.shapes.ridged_cylinder(detail=96)
    made = prepare_layered(surface, LayerSettings(texture=32, layer_thickness=0.06))
    # along its axis, which is y before it is laid down
    mesh = made.solid.with_material(stiffness=lambda x: np.where(x[:, 1] > 0.0, 1.0, 1000.0))
    scene = pliant.Scene(name="half soft")
    scene.add(mesh, RUBBER, method="layered", name="cylinder", rotation=(0, 0, 90), position=(0, 0.35, 0))
    scene.add_plane()
    return scene.build()


def dents(sim: pliant.Simulation) -> tuple[float, float]:
    """Largest displacement of the soft and of the stiff half [m]."""
    solver = sim.solvers[0]
    size = np.linalg.norm(solver.moment.u.numpy(), axis=1)
    soft = solver.rests[0].rest[:, 0] < 0.0
    return float(size[soft].max()), float(size[~soft].max())


def check(sim: pliant.Simulation) -> None:
    deepest = np.zeros(2)
    for _ in range(40):
        sim.frame()
        deepest = np.maximum(deepest, dents(sim))
    assert sim.substeps == 1, "one step a frame, a thousandfold range of stiffness"
    assert deepest[0] > 0.005, "the soft half dents"
    assert deepest[1] < 0.2 * deepest[0], "the stiff half does not"
    assert sim.positions()[:, 1].min() > -1e-5, "nothing is in the floor"


def main() -> None:
    sim = build()
    for _ in range(6):
        sim.frame(10)
        soft, stiff = dents(sim)
        print(f"{sim.time:.2f} s: soft half dented by {1e3 * soft:.1f} mm, stiff half by {1e3 * stiff:.2f} mm")


if __name__ == "__main__":
    main()
