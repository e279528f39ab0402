"""Closed surfaces without tets: a gas, a kept volume, or support springs fill them.

A mass-spring surface is a skin, and an empty one collapses under its own weight. `volume` says what is inside:

- `Pressure`: an ideal gas (Matyka & Ollila 2003). More overpressure makes a tighter, larger balloon.
- `GlobalVolume`: the enclosed volume is kept, whatever the shape (Hong et al. 2006). A water bag.
- `SupportSprings`: every vertex is held at its rest place in the body's own frame (Vassilev & Spanlang 2002). A
  foam figure.

All three come from values in SI, so a finer mesh is the same body; none of them moves or turns the body as a whole.
In a scene file the same is a table: ``[body.volume]`` with ``kind = "pressure"`` and ``overpressure = 800``.
"""

import numpy as np

import pliant
from pliant.forces import GlobalVolume, Pressure, SupportSprings

SKIN = pliant.Material(young=1e5, poisson=0.4, thickness=0.003, damping=0.01, friction=0.6)
INSIDES = {
    "empty": None,
    "balloon": Pressure(overpressure=2000.0),
    "water bag": GlobalVolume(stiffness=5e4),
    "foam": SupportSprings(young=5e4),
}
RADIUS = 0.3


def build() -> pliant.Scene:
    scene = pliant.Scene(name="inflated")
    ball = pliant.shapes.ball(RADIUS, cells=5).surface_mesh()
    for n, (name, inside) in enumerate(INSIDES.items()):
        scene.add_body(ball, SKIN, name=name, position=(1.2 * n, 1.2 * RADIUS, 0), volume=inside)
    scene.add_plane()
    return scene


def volume(sim: pliant.Simulation, body: str) -> float:
    """Enclosed volume over that of the ball it began as."""
    ball = pliant.shapes.ball(RADIUS, cells=5).surface_mesh()
    return pliant.SurfaceMesh(sim.positions(body), sim.surface(body)).volume() / ball.volume()


def height(sim: pliant.Simulation, body: str) -> float:
    return float(np.ptp(sim.positions(body)[:, 1]))


def check(sim: pliant.Simulation) -> None:
    sim.frame(120)  # 2 s
    assert volume(sim, "empty") < 0.7, "a skin alone falls in"
    assert volume(sim, "balloon") > 1.01, "the gas has stretched the skin"
    assert 0.98 < volume(sim, "water bag") < 1.02
    assert 0.9 < volume(sim, "foam") < 1.02
    assert height(sim, "foam") > max(height(sim, "balloon"), height(sim, "water bag")) > height(sim, "empty")
    assert sim.positions()[:, 1].min() > -1e-6


def main() -> None:
    sim = build().build()
    for _ in range(8):
        sim.frame(15)
        told = [f"{name} {volume(sim, name):.2f} ({height(sim, name):.2f} m)" for name in INSIDES]
        print(f"{sim.time:.2f} s: volume (height) of {', '.join(told)}")


if __name__ == "__main__":
    main()
