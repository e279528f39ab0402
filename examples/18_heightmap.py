"""Ground from a grid of heights, and a box: soft balls fall on hills, roll into a dip, and one lands on a block.

Heights are an array, a picture (`scene.add_heightmap("hills.png", scale=2.0)`), a .npy, a .csv or a .txt file.
"""

import dataclasses

import numpy as np

import pliant
from pliant.collide.heights import hills

SIZE = (6.0, 6.0)
RADIUS = 0.25
FRAMES = 150
BALLS = {"west": (-1.5, 1.0, 0.2), "east": (1.4, 1.0, -0.4), "block": (0.0, 1.6, 0.0)}


def heights() -> np.ndarray:
    """A wide bowl with small hills in it [m], 97 x 97."""
    u = np.linspace(-1.0, 1.0, 97)
    return 0.9 * (u**2 + u[:, None] ** 2) + hills(SIZE, amplitude=0.05, wavelength=1.5, seed=3, cells=96)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="hills")
    calm = dataclasses.replace(pliant.PRESETS["soft_rubber"], drag=1.0)
    for name, position in BALLS.items():
        scene.add_body(pliant.shapes.ball(RADIUS, 3), calm, position=position, name=name)
    scene.add_heightmap(heights(), SIZE, friction=0.8, name="ground")
    scene.add_box((0.8, 0.8, 0.8), (0.0, 0.4, 0.0), rotation=(0, 30, 0), friction=1.0, name="block")
    return scene


def check(sim: pliant.Simulation) -> None:
    ground, block = sim.pipeline.colliders
    start = {name: np.hypot(*sim.positions(name).mean(axis=0)[[0, 2]]) for name in BALLS}
    for _ in range(FRAMES):
        sim.frame()
        assert block.distance(sim.positions()).min() > -1e-5, "nothing is inside the block"
        assert ground.distance(sim.positions()).min() > -1e-3, "nor, but for rounding at the cells' edges, underground"
    for name in ("west", "east"):
        end = np.hypot(*sim.positions(name).mean(axis=0)[[0, 2]])
        assert end < start[name], "balls roll down into the bowl"
    assert sim.positions("block")[:, 1].min() > 0.79, "this one stays on top of the block"


def main() -> None:
    sim = build().build()
    for k in range(5):
        sim.frame(FRAMES // 5 if k else 0)
        centres = {name: sim.positions(name).mean(axis=0).round(2).tolist() for name in BALLS}
        print(f"{sim.time:.1f} s: {centres}")


if __name__ == "__main__":
    main()
