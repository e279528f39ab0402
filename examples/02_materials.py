"""Materials in SI units: the same ball, dropped, made of three different stuffs.

A material is a density, a Young's modulus, a Poisson's ratio, a damping and a friction. The same numbers mean
the same stuff at every resolution and time step. Presets have names: `pliant.PRESETS` lists them.
"""

import dataclasses

import pliant

MATERIALS = {
    "firm": dataclasses.replace(pliant.PRESETS["rubber"], restitution=0.0),
    "soft": "flesh",
    "own": pliant.Material(density=300.0, young=4e4, poisson=0.3, damping=0.004, friction=0.7),
}


def build() -> pliant.Scene:
    scene = pliant.Scene(name="materials")
    ball = pliant.shapes.ball(0.25, cells=4)
    for k, (name, material) in enumerate(MATERIALS.items()):
        scene.add_body(ball, material, position=(0.8 * (k - 1), 0.6, 0.0), name=name)
    scene.add_plane()
    return scene


def flattest(sim: pliant.Simulation, frames: int) -> dict[str, float]:
    """Least height of each ball over its diameter, in some frames."""
    least = dict.fromkeys(MATERIALS, 1.0)
    for _ in range(frames):
        sim.frame()
        for name in least:
            y = sim.positions(name)[:, 1]
            least[name] = min(least[name], float(y.max() - y.min()) / 0.5)
    return least


def check(sim: pliant.Simulation) -> None:
    least = flattest(sim, 30)
    assert least["soft"] < least["own"] < least["firm"], "the softer for its density, the flatter"
    assert least["soft"] < 0.65 and least["firm"] > 0.78
    masses = [sim.model.particles.mass[slice(*body.particles)].sum() for body in sim.model.bodies]
    volume = pliant.shapes.ball(0.25, cells=4).volumes().sum()
    assert abs(masses[2] - 300.0 * volume) < 1e-6 * masses[2], "mass is density times volume"


def main() -> None:
    sim = build().build()
    for name, ratio in flattest(sim, 30).items():
        print(f"{name}: flattened to {ratio:.2f} of its diameter")


if __name__ == "__main__":
    main()
