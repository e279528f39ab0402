"""A flag in gusty wind: drag and lift on every triangle, and turbulence that the wind carries past it.

The wind has a mean velocity and gusts of a given strength and size that follow from a seed: the same every time. A
steady wind leaves the flag nearly as it is; gusts make it flutter. Later the wind dies down, but not the air.
"""

import numpy as np

import pliant

POLYESTER = pliant.Material(density=450.0, young=4e6, poisson=0.3, thickness=2.5e-4, damping=0.001)
# The vertex of the sheet with the largest x and z.
TIP = -1
GUSTS = pliant.Gusts(strength=0.25, size=1.5, seed=3)


def build(gusts: pliant.Gusts | None = GUSTS) -> pliant.Scene:
    wind = pliant.Wind(velocity=(7.0, 0.0, 1.0), gusts=gusts)
    scene = pliant.Scene(name="flag", wind=wind, substeps=12)
    flag = pliant.shapes.sheet((1.5, 1.0), (24, 16))
    scene.add_body(
        flag, POLYESTER, method="xpbd", name="flag", rotation=(90.0, 0.0, 0.0), color=(0.80, 0.25, 0.20),
        wrinkles=pliant.Wrinkles(levels=2),
    )  # fmt: skip
    scene.pin("flag", lambda x: x[:, 0] < x[:, 0].min() + 1e-6)
    return scene


def run(sim: pliant.Simulation, frames: int) -> tuple[np.ndarray, float]:
    """Mean place of the free end [m] (3,), and how far it goes to either side of it as an rms [m]."""
    places = []
    for _ in range(frames):
        sim.frame()
        places.append(sim.positions("flag")[TIP].astype(float))
    path = np.array(places)
    return path.mean(axis=0), float(path[:, 2].std())


def check(sim: pliant.Simulation) -> None:
    run(sim, 60)
    middle, swing = run(sim, 90)
    assert middle[0] > 0.2, "the wind carries the free end away from the pole"
    assert swing > 0.05, "the gusts make it flutter"
    stretch = sim.diagnostics().max_stretch
    assert stretch < 1.3, f"the cloth holds together ({stretch:.2f})"
    sim.set_wind((0.0, 0.0, 0.0), still_air=True)
    sim.frame(120)
    hanging = sim.positions("flag").mean(axis=0)
    assert hanging[0] < middle[0], "without wind it hangs from the pole"


def main() -> None:
    sim = build().build()
    for k in range(6):
        middle, swing = run(sim, 60)
        print(f"{sim.time:.0f} s: the free end is {middle[0]:.2f} m from the middle and swings by {swing:.2f} m")
        if k == 3:
            sim.set_wind((0.0, 0.0, 0.0), still_air=True)
            print("the wind dies down")


if __name__ == "__main__":
    main()
