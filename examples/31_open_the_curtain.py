"""A curtain on seven hooks opens: a path with a scale draws the hooks to one side, and the cloth is gathered.

Keys of a path move, turn and scale what is pinned about a centre, here the end of the rail. The hooks are exactly where
the keys say at the end of every frame; the cloth between them follows by its springs.
"""

import numpy as np

import pliant

COTTON = pliant.Material(density=300.0, young=3e4, thickness=0.002, damping=0.004, drag=1.0)
WIDTH, HEIGHT = 1.2, 0.8
OPEN = [{"time": 0.2}, {"time": 1.2, "scale": [0.35, 1.0, 1.0]}]


def hooks(x: np.ndarray) -> np.ndarray:
    """Seven points of the upper edge."""
    across = (x[:, 0] + 0.5 * WIDTH) / (WIDTH / 6)
    return (x[:, 1] > 0.5 * HEIGHT - 1e-6) & (np.abs(across - across.round()) < 1e-6)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="curtain")
    flat = pliant.shapes.sheet(size=(WIDTH, HEIGHT), cells=(18, 12)).vertices
    # hung upright, and in slight waves, so that it folds to and fro
    upright = np.stack([flat[:, 0], flat[:, 2], 0.01 * np.sin(6 * np.pi * flat[:, 0] / WIDTH)], axis=1)
    cloth = pliant.SurfaceMesh(upright, pliant.shapes.sheet(size=(WIDTH, HEIGHT), cells=(18, 12)).triangles)
    scene.add_body(cloth, COTTON, name="cloth", springs="two_ring")
    scene.pin("cloth", hooks, OPEN, center=(-0.5 * WIDTH, 0.0, 0.0))
    return scene


def check(sim: pliant.Simulation) -> None:
    start = sim.positions("cloth")
    hung = hooks(start)
    sim.frame(90)
    end = sim.positions("cloth")
    wanted = -0.5 * WIDTH + 0.35 * (start[hung, 0] + 0.5 * WIDTH)
    np.testing.assert_allclose(end[hung, 0], wanted, atol=1e-5, err_msg="the hooks are where the path says")
    assert np.ptp(end[:, 0]) < 0.7 * WIDTH, "the curtain is open"
    assert np.ptp(end[:, 2]) > 2 * np.ptp(start[:, 2]), "it hangs in folds"


def main() -> None:
    sim = build().build()
    for _ in range(6):
        sim.frame(15)
        x = sim.positions("cloth")
        print(f"{sim.time:.2f} s: {np.ptp(x[:, 0]):.2f} m wide, folds of {np.ptp(x[:, 2]):.2f} m")


if __name__ == "__main__":
    main()
