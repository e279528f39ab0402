"""Small steps: for the same work, many substeps of one pass are stiffer than few substeps of many passes.

A cloth hangs from one edge. Each pass over its constraints costs the same. XPBD with one pass in each of 20 substeps
is compared with 20 passes in one substep, and with 4 times 5 (Macklin et al. 2019, Small Steps in Physics Simulation).
"""

import numpy as np

import pliant

STIFF = pliant.Material(density=400.0, thickness=0.0005, young=2e7, poisson=0.33, bending=1e-5, drag=1.0)
WAYS = ((20, 1), (4, 5), (1, 20))
CELLS = (6, 40)


def scene(substeps: int, iterations: int) -> pliant.Scene:
    """A strip of a metre that hangs from its upper end and swings a little."""
    out = pliant.Scene(name=f"{substeps} substeps, {iterations} passes", substeps=substeps)
    out.add_body(pliant.shapes.sheet((0.15, 1.0), CELLS), STIFF, method="xpbd", name="strip", rotation=(60.0, 0.0, 0.0))
    out.pin("strip", lambda x: x[:, 1] > x[:, 1].max() - 1e-6)
    out.configure("xpbd", iterations=iterations)
    return out


def build() -> pliant.Scene:
    return scene(*WAYS[0])


def too_long(sim: pliant.Simulation) -> float:
    """Mean strain over one second, from half a second on: it is all error, the cloth itself gives 0.01 %."""
    mesh = pliant.shapes.sheet((0.15, 1.0), CELLS)
    edges, rest = mesh.edges(), mesh.vertices
    length = lambda x: np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    sim.frame(30)
    total = 0.0
    for _ in range(60):
        sim.frame()
        total += float(np.abs(length(sim.positions()) / length(rest) - 1.0).mean()) / 60
    return total


def check(sim: pliant.Simulation) -> None:
    small, middle, large = too_long(sim), *(too_long(scene(*way).build()) for way in WAYS[1:])
    assert small < 0.5 * middle < 0.25 * large, "the more substeps, the stiffer, at the same cost"
    assert small < 0.02


def main() -> None:
    for substeps, passes in WAYS:
        strain = too_long(scene(substeps, passes).build())
        print(f"{substeps:3d} substeps of {passes:2d} passes: edges longer by {strain:.2%} on average")


if __name__ == "__main__":
    main()
