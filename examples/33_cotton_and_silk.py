"""Cotton and silk with their real stiffness, one step per frame: two cloths fall over two balls.

The method is that of Baraff and Witkin (1998): implicit steps of 1/60 s. A step that is too violent is cut into smaller
ones, and the solver tells how many it took.
"""

import numpy as np

import pliant

FABRICS = ("cotton", "silk")
RADIUS, CELLS, FRAMES = 0.15, 16, 150


def place(k: int) -> float:
    """Where ball k stands along x [m]."""
    return 0.7 * (k - 0.5)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="cotton and silk")
    scene.add_plane()
    for k, fabric in enumerate(FABRICS):
        mesh = pliant.shapes.sheet((0.5, 0.5), (CELLS, CELLS))
        scene.add_body(mesh, fabric, method="baraff_witkin", name=fabric, position=(place(k), 2 * RADIUS + 0.05, 0.0))
        scene.add_sphere(RADIUS, (place(k), RADIUS, 0.0))
    return scene


def away(sim: pliant.Simulation, k: int) -> float:
    """Mean distance of a cloth from its ball [m]."""
    x = sim.positions(FABRICS[k]) - [place(k), RADIUS, 0.0]
    return float(np.linalg.norm(x, axis=1).mean() - RADIUS)


def check(sim: pliant.Simulation) -> None:
    assert sim.substeps == 1, "a frame is one step"
    sim.frame(FRAMES)
    seen = sim.diagnostics()
    assert seen.mean_stretch < 0.01, "real cloth hardly stretches"
    assert seen.max_stretch < 1.1
    for k, fabric in enumerate(FABRICS):
        x = sim.positions(fabric)
        assert x[:, 1].max() > 2 * RADIUS - 1e-3, "it lies on the ball"
        assert 0.0 < away(sim, k) < 0.1, "and hangs around it"
        assert x[:, 1].min() > -1e-5, "above the floor"
    steps = sim.solvers[0].inner_steps()
    assert FRAMES <= steps.taken < 3 * FRAMES, "few steps had to be cut"


def main() -> None:
    sim = build().build()
    sim.frame(FRAMES)
    for k, fabric in enumerate(FABRICS):
        print(f"{fabric}: on average {1000 * away(sim, k):.0f} mm from its ball")
    steps = sim.solvers[0].inner_steps()
    print(f"{FRAMES} frames in {steps.taken} steps, {steps.thrown_away} more were thrown away")


if __name__ == "__main__":
    main()
