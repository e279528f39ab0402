"""Finite elements: a cantilever in equilibrium against beam theory, and the stress in its tets.

`sim.settle` finds where forces balance by Newton's method; time does not pass. `sim.tet_fields` tells strain and stress
of every tet.
"""

import numpy as np

import pliant

LENGTH, SIDE = 1.0, 0.1
STUFF = pliant.Material(density=1000.0, young=5e7, poisson=0.0)


def build(cells: int = 4) -> pliant.Scene:
    scene = pliant.Scene(name="cantilever")
    beam = pliant.shapes.box((LENGTH, SIDE, SIDE), (10 * cells, cells, cells), split="five")
    scene.add_body(beam, STUFF, method="fem", name="beam")
    scene.pin("beam", lambda x: x[:, 0] < -0.4999 * LENGTH)
    scene.configure("fem", cg_tolerance=1e-5)
    return scene


def rest_of(sim: pliant.Simulation) -> np.ndarray:
    """The beam's vertices before it bends [m] (n, 3)."""
    return sim.model.particles.rest[sim.body("beam").particle_of]


def sag(sim: pliant.Simulation) -> float:
    """How far the end hangs below the root [m]."""
    x, rest = sim.positions("beam"), rest_of(sim)
    return float(x[rest[:, 0] < -0.4999 * LENGTH, 1].mean() - x[rest[:, 0] > 0.4999 * LENGTH, 1].mean())


def theory() -> float:
    """w L^4 / (8 E I), and what shear adds to it [m]."""
    weight = STUFF.density * 9.81 * SIDE**2
    bending = weight * LENGTH**4 / (8 * STUFF.young * SIDE**4 / 12)
    return bending + weight * LENGTH**2 / (2 * 5 / 6 * STUFF.shear_modulus * SIDE**2)


def check(sim: pliant.Simulation) -> None:
    assert sim.settle().found
    assert 0.85 < sag(sim) / theory() < 1.0, "four cells across are a little too stiff"
    fields = sim.tet_fields("beam")
    worst = fields.tets[np.argmax(fields.von_mises)]
    assert rest_of(sim)[worst, 0].mean() < -0.4 * LENGTH, "the stress is largest at the root"


def main() -> None:
    for cells in (2, 4, 8):
        sim = build(cells).build()
        found = sim.settle()
        stress = sim.tet_fields("beam").von_mises.max()
        print(
            f"{cells} cells across: {found.steps} steps, the end sags by {1e3 * sag(sim):.2f} mm of "
            f"{1e3 * theory():.2f} mm, the largest stress is {1e-3 * stress:.0f} kPa"
        )


if __name__ == "__main__":
    main()
