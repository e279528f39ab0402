"""Balloons: thin rubber that is blown up and then floats, or does not.

Both are filled over half a second. The gas presses on the skin until its tension answers; helium is lighter than the
air in its place, and the air also brakes what moves. Gas can be let out while it runs.
"""

import numpy as np

import pliant

RUBBER = pliant.Material(density=950.0, young=1.2e6, poisson=0.45, thickness=5e-5, damping=0.002)
GASES = {"helium": 0.17, "breath": 1.2}
RADIUS = 0.13


def build() -> pliant.Scene:
    scene = pliant.Scene(name="balloons", wind={"still_air": True})
    skin = pliant.shapes.ball(RADIUS, 5).surface_mesh()
    for k, (name, density) in enumerate(GASES.items()):
        # without the air outside, the gas is as soft as a pump that goes on until its pressure is reached
        gas = pliant.Pressure(overpressure=350.0, ambient=0.0, rise=0.5, gas_density=density)
        scene.add_body(
            skin, RUBBER, method="baraff_witkin", name=name, position=(0.6 * k, 1.0, 0.0), volume=gas,
            color=((0.85, 0.2, 0.25), (0.95, 0.75, 0.2))[k],
        )  # fmt: skip
    scene.add_plane()
    return scene


def height(sim: pliant.Simulation, name: str) -> float:
    return float(sim.positions(name)[:, 1].mean())


def check(sim: pliant.Simulation) -> None:
    before = {name: sim.gas_state(name)[1] for name in GASES}
    sim.frame(45)
    for name in GASES:
        pressure, volume = sim.gas_state(name)
        assert volume > 1.2 * before[name], "the gas has blown it up"
        assert np.isclose(pressure * volume, 350.0 * before[name], rtol=1e-3), "p V is the same as at the rest volume"
    start = {name: height(sim, name) for name in GASES}
    sim.frame(45)
    assert height(sim, "helium") > start["helium"], "helium carries the balloon up"
    assert height(sim, "breath") < start["breath"], "one full of air falls"
    full = sim.gas_state("helium")[1]
    sim.set_pressure("helium", 100.0, over=0.2)
    sim.frame(30)
    assert sim.gas_state("helium")[1] < full, "it shrinks when gas is let out"


def main() -> None:
    sim = build().build()
    for _ in range(8):
        sim.frame(15)
        told = (f"{name} {1e3 * sim.gas_state(name)[1]:.1f} l at {height(sim, name):.2f} m" for name in GASES)
        print(f"{sim.time:.2f} s: " + ", ".join(told))


if __name__ == "__main__":
    main()
