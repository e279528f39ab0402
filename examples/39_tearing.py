"""Paper tears: a ball is pushed through one sheet, and another is drawn apart at its sides.

A material with a `fracture_strain` tears where a triangle is stretched beyond it: its vertex splits in two, and the
triangles on either side go their own ways. The vertices for that are set aside beforehand; `tear_capacity` says how
many. Mass is kept, and a sheet below the limit is one that cannot tear.
"""

import numpy as np

import pliant

PAPER = pliant.Material(
    density=300.0, young=3e5, poisson=0.3, thickness=0.001, damping=0.003, drag=0.5, fracture_strain=0.25
)
SIZE, CELLS = 1.0, 20
UPRIGHT = (90.0, 0.0, 0.0)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="paper")
    sheet = pliant.shapes.sheet(SIZE, CELLS)
    left, right = (-0.6, 0.8, 0.0), (0.7, 0.8, 0.0)
    scene.add_body(sheet, PAPER, method="xpbd", name="screen", position=left, rotation=UPRIGHT)
    scene.add_body(sheet, PAPER, method="xpbd", name="strip", position=right, rotation=UPRIGHT)
    # one sheet is held all around
    rim = lambda x: np.abs(x - left)[:, :2].max(axis=1) > 0.499 * SIZE
    scene.pin("screen", rim)
    scene.add_sphere(0.15, (-0.6, 0.8, -0.4), name="ball", path=[(0.0, (0, 0, 0)), (0.8, (0, 0, 0.8))])
    # the sides of the other go apart
    for side in (-1.0, 1.0):
        edge = lambda x, s=side: s * (x[:, 0] - right[0]) > 0.499 * SIZE
        scene.pin("strip", edge, [(0.1, (0, 0, 0)), (1.1, (0.25 * side, 0, 0))])
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    mass = sim.masses().sum()
    sim.frame(5)
    assert sim.pieces("screen") == sim.pieces("strip") == 1, "both are whole at first"
    sim.frame(70)
    assert sim.pieces("strip") > 1, "the sides have parted"
    assert sim.broken_springs("screen").any(), "the ball is through"
    ball = np.array(sim.collider("ball").position)
    near = np.linalg.norm(sim.surface_positions("screen") - ball, axis=1)
    assert near.min() > 0.14, "and nothing is inside of it"
    assert np.isclose(sim.masses().sum(), mass), "no mass is lost"
    assert sum("began to tear" in note for note in sim.notes) == 2


def main() -> None:
    sim = build().build()
    for _ in range(6):
        sim.frame(15)
        told = (f"{name} {sim.broken_springs(name).sum()} edges parted" for name in ("screen", "strip"))
        print(f"{sim.time:.2f} s: " + ", ".join(told))


if __name__ == "__main__":
    main()
