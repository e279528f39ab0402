"""Coulomb friction: a block on a slope slides if the tangent of its angle is larger than the friction coefficient.

A contact's coefficient is the geometric mean of the body's and the plane's.
"""

import dataclasses
import math

import numpy as np

import pliant

ANGLE = math.radians(20.0)  # tan = 0.364
NORMAL = np.array([-math.sin(ANGLE), math.cos(ANGLE), 0.0])
DOWNHILL = np.array([-math.cos(ANGLE), -math.sin(ANGLE), 0.0])
FRICTION = {"slides": 0.2, "holds": 0.5}
FRAMES = 30


def build() -> pliant.Scene:
    scene = pliant.Scene(name="slope")
    block = pliant.shapes.box((0.3, 0.15, 0.3), (4, 2, 4))
    for k, (name, friction) in enumerate(FRICTION.items()):
        # the plane has a coefficient of 1, so the contact has the square root of the body's: give the square
        material = dataclasses.replace(pliant.PRESETS["rubber"], friction=friction**2, restitution=0.0)
        position = 0.075 * NORMAL + (0.0, 0.0, 0.5 * k)
        scene.add_body(block, material, position=position, rotation=(0, 0, 20), name=name)
    scene.add_plane(normal=NORMAL, friction=1.0)
    return scene


def slide(sim: pliant.Simulation) -> dict[str, float]:
    """How far each block has come downhill after half a second [m]."""
    start = {name: sim.positions(name).mean(axis=0) for name in FRICTION}
    sim.frame(FRAMES)
    return {name: float((sim.positions(name).mean(axis=0) - start[name]) @ DOWNHILL) for name in FRICTION}


def expected() -> float:
    """Where a block with the smaller coefficient should be: a = g (sin - mu cos) [m]."""
    pull = 9.81 * (math.sin(ANGLE) - FRICTION["slides"] * math.cos(ANGLE))
    return 0.5 * pull * (FRAMES / 60) ** 2


def check(sim: pliant.Simulation) -> None:
    moved = slide(sim)
    assert abs(moved["holds"]) < 0.003, "below the friction angle it stays"
    assert abs(moved["slides"] / expected() - 1.0) < 0.1, "above it, it slides as Coulomb says"


def main() -> None:
    for name, distance in slide(build().build()).items():
        print(f"{name}: {1e3 * distance:.1f} mm downhill")
    print(f"Coulomb: {1e3 * expected():.1f} mm for the one that slides")


if __name__ == "__main__":
    main()
