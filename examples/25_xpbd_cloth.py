"""XPBD cloth in SI units: cotton falls over a ball, and the same cloth hangs from two corners.

XPBD solves constraints one after the other, each as soft as the material says. It is stable at any step; what a step is
too long for comes out softer. Long-range attachments keep what hangs from pins from being stretched by its own weight.
"""

import numpy as np

import pliant

COTTON = pliant.Material(
    density=400.0, thickness=0.0005, young=2e6, poisson=0.33, bending=1e-5, damping=0.002, friction=0.4
)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="cotton", substeps=8)
    cloth = pliant.shapes.sheet(1.0, 32)
    scene.add_body(cloth, COTTON, method="xpbd", name="falls", position=(0.0, 0.75, 0.0))
    scene.add_sphere(0.3, (0.0, 0.3, 0.0), friction=0.4)
    scene.add_body(cloth, COTTON, method="xpbd", name="hangs", position=(2.0, 1.5, 0.0))
    scene.pin("hangs", lambda x: (np.abs(x[:, 0] - 2.0) > 0.499) & (x[:, 2] < -0.499))
    scene.configure("xpbd", long_range=True)
    scene.add_plane()
    return scene


def strain(sim: pliant.Simulation, name: str) -> np.ndarray:
    """Strain of every edge of a cloth (e,)."""
    edges = pliant.shapes.sheet(1.0, 32).edges()
    rest = pliant.shapes.sheet(1.0, 32).vertices
    length = lambda x: np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    return length(sim.positions(name)) / length(rest) - 1.0


def check(sim: pliant.Simulation) -> None:
    sim.frame(75)
    falls, hangs = sim.positions("falls"), sim.positions("hangs")
    inside = 0.3 - np.linalg.norm(falls - [0.0, 0.3, 0.0], axis=1)
    assert inside.max() < 1e-4, "no vertex is inside the ball"
    assert falls[:, 1].max() > 0.59, "it lies on the ball"
    assert falls[:, 1].min() < 0.35, "and hangs down from it"
    for name in ("falls", "hangs"):
        assert np.abs(strain(sim, name)).mean() < 0.03, "cotton hardly stretches"
    corner = np.array([1.5, 1.5, -0.5])
    assert np.linalg.norm(hangs - corner, axis=1).max() < 1.02 * 2.0, "no further from a pin than along the cloth"


def main() -> None:
    sim = build().build()
    for _ in range(6):
        sim.frame(15)
        worst = [f"{name}: mean {strain(sim, name).mean():+.2%}" for name in ("falls", "hangs")]
        print(f"{sim.time:.2f} s  strain of the edges  {',  '.join(worst)}")


if __name__ == "__main__":
    main()
