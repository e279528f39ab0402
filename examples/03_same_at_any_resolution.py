"""The same block, cut into coarse, middle and fine tets, sags the same.

Spring constants follow from the material and from the volume around each edge, so refining a mesh does not make
the body stiffer or softer. Here three blocks hang from their upper faces. A free bar would sag by rho g L^2 /
(2 E); these sag by about four fifths of it, since their upper faces cannot narrow and a lattice of equal cells
is stiffer along its axes. Calibration is off: it would lead each block to finite elements of its own mesh, and those
change with the mesh by some percent.
"""

import numpy as np

import pliant

CELLS = (3, 5, 8)
MATERIAL = pliant.Material(density=1000.0, young=5e4, poisson=0.3, damping=0.02, drag=8.0)
HEIGHT, WIDTH = 0.6, 0.3
EXPECTED = 1000.0 * 9.81 * HEIGHT**2 / (2.0 * 5e4)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="resolutions")
    for k, cells in enumerate(CELLS):
        mesh = pliant.shapes.box((WIDTH, HEIGHT, WIDTH), (cells, 2 * cells, cells), split="five")
        options = {"position": (0.5 * (k - 1), 0.0, 0.0), "name": f"{cells} cells", "calibrate": "off"}
        name = scene.add_body(mesh, MATERIAL, **options)
        scene.pin(name, lambda x: x[:, 1] > 0.5 * HEIGHT - 1e-6)
    return scene


def sag(sim: pliant.Simulation) -> list[float]:
    """How far the lower faces have come down [m], on average."""
    result = []
    for body in sim.model.bodies:
        rest = sim.model.particles.rest[body.particle_of]
        below = rest[:, 1] < -0.5 * HEIGHT + 1e-6
        result.append(float(np.mean(rest[below, 1] - sim.positions(body.name)[below, 1])))
    return result


def check(sim: pliant.Simulation) -> None:
    sim.frame(90)
    found = np.array(sag(sim))
    assert sim.diagnostics().max_speed < 0.01, "they have come to rest"
    assert np.ptp(found) < 0.03 * found.mean(), "all three sag the same within 3 per cent"
    assert np.all((found > 0.75 * EXPECTED) & (found < EXPECTED)), "somewhat less than a free bar"


def main() -> None:
    sim = build().build()
    sim.frame(90)
    for cells, down in zip(CELLS, sag(sim), strict=True):
        print(f"{cells} cells across: {1e3 * down:.2f} mm (a free bar: {1e3 * EXPECTED:.2f} mm)")


if __name__ == "__main__":
    main()
