"""Pins hold vertices; a path leads them.

A path is a list of times [s] and offsets [m] from where the vertices stood when the scene was built. It is
straight between the keys, and at rest before the first and after the last one.
"""

import numpy as np

import pliant

PATH = [(0.0, (0, 0, 0)), (0.3, (0.3, 0, 0)), (0.6, (0.3, 0.2, 0)), (1.0, (0, 0, 0))]


def build() -> pliant.Scene:
    scene = pliant.Scene(name="pins")
    bar = pliant.shapes.box((0.8, 0.16, 0.16), (10, 2, 2))
    scene.add_body(bar, "soft_rubber", position=(0, 0.5, 0), name="bar")
    scene.pin("bar", lambda x: x[:, 0] < -0.4 + 1e-6)
    scene.pin("bar", lambda x: x[:, 0] > 0.4 - 1e-6, path=PATH)
    return scene


def check(sim: pliant.Simulation) -> None:
    start = sim.positions("bar")
    held, led = start[:, 0] < -0.4 + 1e-6, start[:, 0] > 0.4 - 1e-6
    sim.frame(18)  # 0.3 s
    x = sim.positions("bar")
    assert np.array_equal(x[held], start[held]), "what is held does not move at all"
    assert np.abs(x[led] - start[led] - (0.3, 0, 0)).max() < 1e-6, "what is led is where the path says"
    assert sim.diagnostics().max_stretch > 1.2, "the bar is pulled long"
    sim.frame(42)
    sim.unpin("bar", led)
    sim.frame(10)
    assert sim.positions("bar")[led, 1].mean() < 0.5, "let go, the end falls"


def main() -> None:
    sim = build().build()
    for _ in range(6):
        sim.frame(10)
        now = sim.diagnostics()
        print(f"{sim.time:.2f} s: longest spring {now.max_stretch:.2f} times its rest length")


if __name__ == "__main__":
    main()
