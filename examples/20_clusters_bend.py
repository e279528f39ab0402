"""Clusters let a body bend: the same bar lies across a ridge in one, three and five overlapping clusters.

One cluster with a linear goal can be squeezed and sheared, but not bent. Clusters turn against each other, so the more
there are, the more the bar hangs down. That is so without calibration, which brings all that can bend near to the
material (example 45).
"""

import numpy as np

import pliant

SOFT = pliant.Material(density=1000.0, young=3e5, damping=0.01, drag=3.0, friction=0.8)
BAR = pliant.shapes.box((1.6, 0.16, 0.16), (30, 3, 3))
COUNTS = (1, 3, 5)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="bars")
    for k, count in enumerate(COUNTS):
        matching = {"mode": "linear", "clusters": count, "clusters_by": "boxes"}
        place = (0.0, 0.1, 0.4 * k)
        scene.add_body(
            BAR, SOFT, method="shape_matching", matching=matching, name=f"bar_{count}", position=place, calibrate="off"
        )
    scene.add_box((0.2, 1.0, 2.0), (0.0, -0.5, 0.4), name="ridge")
    return scene


def sag(sim: pliant.Simulation, count: int) -> float:
    """How far the ends hang below the middle [m]."""
    along, y = np.abs(BAR.vertices[:, 0]), sim.positions(f"bar_{count}")[:, 1]
    return float(y[along < 0.1].mean() - y[along > 0.79].mean())


def check(sim: pliant.Simulation) -> None:
    sim.frame(100)
    one, three, five = (sag(sim, count) for count in COUNTS)
    assert one < 0.03, "one linear cluster stays straight"
    assert three > 1.5 * one and five > 2.0 * three, "more clusters bend more"
    assert five < 0.3


def main() -> None:
    sim = build().build()
    sim.frame(100)
    for count in COUNTS:
        print(f"{count} clusters: the ends hang {1e3 * sag(sim, count):.0f} mm below the middle")


if __name__ == "__main__":
    main()
