"""Plasticity: two bars are bent and let go. The elastic one becomes straight, the plastic one stays bent.

Beyond `yield_strain` a share of the strain becomes part of the rest shape, `creep` of it per second, up to
`plastic_limit`. `reset_shape` gives the original shape back.
"""

import dataclasses

import numpy as np

import pliant

ELASTIC = pliant.Material(density=500.0, young=3e5, damping=0.02)
BARS = {"elastic": ELASTIC, "plastic": dataclasses.replace(ELASTIC, yield_strain=0.05, creep=20.0, plastic_limit=0.6)}
BAR = pliant.shapes.box((1.0, 0.12, 0.12), (20, 2, 2))
MIDDLE, ENDS = np.abs(BAR.vertices[:, 0]) < 0.01, np.abs(BAR.vertices[:, 0]) > 0.49


def build() -> pliant.Scene:
    scene = pliant.Scene(gravity=(0.0, 0.0, 0.0), name="plastic")
    matching = {"mode": "quadratic", "clusters": 3, "clusters_by": "boxes"}
    for k, (name, material) in enumerate(BARS.items()):
        scene.add_body(BAR, material, method="shape_matching", matching=matching, name=name, position=(0, 0, 0.4 * k))
        scene.pin(name, MIDDLE)
        scene.pin(name, ENDS, path=[(0.0, (0.0, 0.0, 0.0)), (0.5, (0.0, -0.25, 0.0))])
    return scene


def bends(sim: pliant.Simulation, frames: int) -> dict[str, float]:
    """Distance from the middle of each bar to the middle of its ends [m], some frames later."""
    sim.frame(frames)
    x = {name: sim.positions(name) for name in BARS}
    return {name: float(np.linalg.norm(p[MIDDLE].mean(axis=0) - p[ENDS].mean(axis=0))) for name, p in x.items()}


def bend_and_let_go(sim: pliant.Simulation) -> list[dict[str, float]]:
    """The bends while the bars are held, when they are free, and after the rest shape was reset."""
    held = bends(sim, 30)
    for name in BARS:
        sim.unpin(name, MIDDLE | ENDS)
    free = bends(sim, 90)
    sim.reset_shape("plastic")
    return [held, free, bends(sim, 90)]


def check(sim: pliant.Simulation) -> None:
    held, free, reset = bend_and_let_go(sim)
    assert min(held.values()) > 0.24
    assert free["elastic"] < 0.01 and free["plastic"] > 0.12, "the plastic bar stays bent"
    assert reset["plastic"] < 0.4 * free["plastic"], "reset, it springs back, and yields a little on the way"


def main() -> None:
    for when, found in zip(("held", "let go", "reset"), bend_and_let_go(build().build()), strict=True):
        print(f"{when}: " + ", ".join(f"{name} bent by {1e3 * bend:.0f} mm" for name, bend in found.items()))


if __name__ == "__main__":
    main()
