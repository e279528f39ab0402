"""Save a simulation, build the scene anew, load it, and go on: the same bits as without the interruption.

A checkpoint fits the scene it came from and no other. It holds the state, pins, pulls and the clock, and is
written whole or not at all. The command line does the same with `pliant run SCENE --checkpoint-every N` and
`--resume`.
"""

import tempfile
from pathlib import Path

import numpy as np

import pliant


def build() -> pliant.Scene:
    scene = pliant.Scene(name="resume")
    scene.add_body(pliant.shapes.ball(0.2, cells=4), "jelly", position=(0, 0.3, 0), velocity=(1, 0, 0), name="ball")
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    sim.frame(20)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ball.ckpt"
        pliant.save_checkpoint(sim, path)
        sim.frame(20)

        again = build().build(sim.device)
        pliant.load_checkpoint(again, path)
        assert again.frame_number == 20
        again.frame(20)
    assert np.array_equal(sim.positions(), again.positions()), "bit for bit"
    assert np.array_equal(sim.velocities(), again.velocities())


def main() -> None:
    check(build().build())
    print("The resumed run ended in the same bits.")


if __name__ == "__main__":
    main()
