"""Static and kinetic friction: on a slope between both angles a block stays if it stands still, and slides if pushed.

Up to the static coefficient a surface holds what does not slip; what slips feels the smaller, kinetic one.
"""

import dataclasses
import math

import numpy as np

import pliant
from pliant.collide.collider import Surface
from pliant.collide.shapes.box import Box

KINETIC, STATIC = 0.3, 0.6
ANGLE = math.radians(24.0)  # tan = 0.445
NORMAL = np.array([-math.sin(ANGLE), math.cos(ANGLE), 0.0])
DOWNHILL = np.array([-math.cos(ANGLE), -math.sin(ANGLE), 0.0])
PUSH = {"still": 0.0, "pushed": 0.5}
FRAMES = 30


def build() -> pliant.Scene:
    scene = pliant.Scene(name="static friction")
    block = pliant.shapes.box((0.3, 0.1, 0.3), (3, 1, 3))
    material = dataclasses.replace(
        pliant.PRESETS["rubber"], friction=KINETIC, static_friction=STATIC, restitution=0.0, damping=0.005
    )
    for k, (name, speed) in enumerate(PUSH.items()):
        place = 0.05 * NORMAL + (0.0, 0.0, 0.5 * k)
        scene.add_body(
            block,
            material,
            method="shape_matching",
            position=place,
            rotation=(0, 0, 24),
            velocity=speed * DOWNHILL,
            name=name,
        )
    board = Box(
        (6.0, 0.1, 2.0),
        tuple(-0.05 * NORMAL),
        (0, 0, 24),
        surface=Surface(KINETIC, static_friction=STATIC),
        name="board",
    )
    scene.add_collider(board)
    return scene


def slide(sim: pliant.Simulation) -> dict[str, float]:
    """How far each block has come downhill after half a second [m]."""
    start = {name: sim.positions(name).mean(axis=0) for name in PUSH}
    sim.frame(FRAMES)
    return {name: float((sim.positions(name).mean(axis=0) - start[name]) @ DOWNHILL) for name in PUSH}


def expected() -> float:
    """How far the block that was pushed should come: it gains g (sin - mu cos) with the kinetic coefficient [m]."""
    time = FRAMES / 60
    gain = 9.81 * (math.sin(ANGLE) - KINETIC * math.cos(ANGLE))
    return PUSH["pushed"] * time + 0.5 * gain * time**2


def check(sim: pliant.Simulation) -> None:
    moved = slide(sim)
    assert abs(moved["still"]) < 0.003, "what stands still is held up to the static coefficient"
    assert abs(moved["pushed"] / expected() - 1.0) < 0.05, "what slips feels the kinetic one"


def main() -> None:
    print(f"tan of the slope {math.tan(ANGLE):.2f}, friction {KINETIC} kinetic and {STATIC} static")
    for name, distance in slide(build().build()).items():
        print(f"{name}: {1e3 * distance:.1f} mm downhill")
    print(f"Coulomb: {1e3 * expected():.1f} mm for the one that was pushed")


if __name__ == "__main__":
    main()
