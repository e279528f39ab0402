"""Colliders that move: a turntable that carries what lies on it, a lift, and a swinging bar that knocks a block off.

A path is given by keys of time, offset and rotation about the collider's own place. Contacts see where the collider is
in every substep and how fast its surface moves there, so friction carries bodies along. Any mesh can be a collider:
here the turntable is one. What is moved by hand goes by `move_collider` instead.
"""

import numpy as np

import pliant

RUBBER = pliant.Material(density=900.0, young=2e5, damping=0.002, friction=1.5)
SPIN = 60.0  # degrees per second


def build() -> pliant.Scene:
    scene = pliant.Scene(name="moving colliders", substeps=12)
    cube = pliant.shapes.box((0.1, 0.1, 0.1), 2)
    for name, x in (("rider", -1.0 + 0.3), ("passenger", 0.0), ("target", 1.0)):
        scene.add_body(cube, RUBBER, method="shape_matching", name=name, position=(x, 0.05, 0.0))
    table = pliant.shapes.box((0.8, 0.1, 0.8), 2)
    spin = [
        {"time": 0.0},
        {"time": 0.5, "rotation": (0, 0.25 * SPIN, 0)},
        {"time": 6.5, "rotation": (0, 6.25 * SPIN, 0)},
    ]
    scene.add_mesh_collider(table, (-1.0, -0.05, 0.0), friction=1.5, name="turntable", path=spin)
    scene.add_box((0.4, 0.1, 0.4), (0.0, -0.05, 0.0), name="lift", path=[(0.5, (0, 0, 0)), (1.5, (0.0, 0.5, 0.0))])
    scene.add_box((0.4, 0.1, 0.4), (1.0, -0.05, 0.0), name="stand")
    scene.add_capsule(
        0.03, (1.0, 0.05, 0.3), (1.0, 0.55, 0.3), name="bar",
        path=[(1.0, (0, 0, 0)), {"time": 1.5, "offset": (0, 0, -0.4), "rotation": (60, 0, 0)}],
    )  # fmt: skip
    scene.add_plane((0.0, -0.5, 0.0))
    return scene


def angle(sim: pliant.Simulation) -> float:
    """How far the rider has been carried about the turntable's axis [degrees]."""
    x = sim.positions("rider").mean(axis=0) - [-1.0, 0.0, 0.0]
    return float(np.degrees(np.arctan2(-x[2], x[0]))) % 360.0


def check(sim: pliant.Simulation) -> None:
    sim.frame(120)
    assert abs(angle(sim) - 1.75 * SPIN) < 4.0, "the turntable carries the rider by friction"
    assert abs(sim.positions("passenger").mean(axis=0)[1] - 0.55) < 0.01, "the lift carries the passenger"
    assert sim.positions("target")[:, 2].mean() < -0.15, "the bar knocks the block off its stand"
    for name in ("turntable", "lift", "bar"):
        assert sim.collider(name).distance(sim.positions()).min() > -1e-3, "nothing is inside of what moves"


def main() -> None:
    sim = build().build()
    for second in range(1, 4):
        sim.frame(60)
        lift = sim.collider("lift").position
        print(f"{second} s: carried by {angle(sim):.0f} degrees, the lift is at {lift[1] + 0.05:.2f} m")


if __name__ == "__main__":
    main()
