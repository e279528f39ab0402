"""One mesh, one material, two methods: springs and volumes on tets, and shape matching on the same vertices.

Both take their stiffness from the material by formulas, so a shear costs about the same energy in both. So does a
swelling, if beta is chosen after Poisson's ratio. Shape matching needs far fewer steps. Calibration, which is off here,
compares what is seen instead: how far a body gives in where it is held.
"""

import numpy as np

import pliant

JELLY = pliant.Material(density=1000.0, young=3e4, poisson=0.3, damping=0.004, friction=0.8)
METHODS = ("mass_spring", "shape_matching")
MATCHING = {"beta": 3 * JELLY.poisson / (1 + JELLY.poisson)}
SHEARS = [0.02 * np.roll([[0, 1, 0], [1, 0, 0], [0, 0, 0]], (k, k), axis=(0, 1)) for k in range(3)]
SWELLING = [0.02 * np.eye(3)]


def build(methods: tuple[str, ...] = METHODS) -> pliant.Scene:
    scene = pliant.Scene(name="two methods")
    for k, method in enumerate(methods):
        how = {"method": method, "matching": MATCHING, "name": method, "position": (0.5 * k, 0.2, 0.0)}
        how["calibrate"] = "off"
        scene.add("duck", JELLY, size=0.3, tets=2000, **how)
    scene.add_plane()
    return scene


def energy(sim: pliant.Simulation, name: str, strains: list[np.ndarray]) -> float:
    """Mean elastic energy of a duck under uniform strains (3, 3), over mu V |E|^2."""
    x = sim.positions(name).astype(float)
    volume = sim.model.particles.mass[sim.body(name).particle_of].sum() / JELLY.density
    found = []
    for strain in strains:
        sim.set_state(name, x + (x - x.mean(axis=0)) @ strain)
        found.append(sim.diagnostics().elastic / (JELLY.shear_modulus * volume * (strain**2).sum()))
    sim.set_state(name, x)
    return float(np.mean(found))


def check(sim: pliant.Simulation) -> None:
    assert all(abs(energy(sim, name, SHEARS) - 1.0) < 0.15 for name in METHODS), "both resist shear as said"
    springs, matched = (energy(sim, name, SWELLING) for name in METHODS)
    assert abs(matched / springs - 1.0) < 0.15 and matched > 2.5, "and swelling, which costs more"
    steps = [build((method,)).build(sim.device).substeps for method in METHODS]
    assert steps[0] > 4 * steps[1], "shape matching takes fewer steps"
    tall = []
    for _ in range(20):
        tall.append([np.ptp(sim.positions(name)[:, 1]) for name in METHODS])
        sim.frame()
    squeezed = np.min(tall, axis=0) / tall[0]
    assert np.all(squeezed > 0.5) and np.all(squeezed < 0.9), "both are flattened where they land"


def main() -> None:
    sim = build().build()
    for name in METHODS:
        shear, swelling = energy(sim, name, SHEARS), energy(sim, name, SWELLING)
        steps = build((name,)).build().substeps
        print(f"{name}: shear costs {shear:.2f}, swelling {swelling:.2f} times mu V |E|^2; {steps} substeps a frame")


if __name__ == "__main__":
    main()
