"""Pull a vertex towards a point with a spring, move the point, and let go: what a mouse does.

Up to sixteen pulls can be active at once. A pull is a force, not a pin: the body gives way as its weight and
stiffness demand.
"""

import numpy as np

import pliant


def build() -> pliant.Scene:
    scene = pliant.Scene(name="pull")
    scene.add_body(pliant.shapes.box(0.2, cells=3), "foam", position=(0, 0.1, 0), name="block")
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    sim.frame(10)
    top = int(np.argmax(sim.positions("block")[:, 1]))
    hand = sim.pull("block", top, target=(0.0, 0.6, 0.0), stiffness=40.0)
    sim.frame(60)
    assert sim.positions("block")[:, 1].min() > 0.0, "the block is lifted off the floor"
    sim.move_pull(hand, (0.4, 0.6, 0.0))
    sim.frame(60)
    assert sim.positions("block")[top, 0] > 0.2, "it follows the hand"
    sim.release(hand)
    sim.frame(60)
    assert abs(sim.positions("block")[:, 1].min()) < 0.03, "let go, it comes down again"


def main() -> None:
    sim = build().build()
    hand = sim.pull("block", 0, target=(0.0, 0.6, 0.0), stiffness=40.0)
    for _ in range(6):
        sim.frame(10)
        print(f"{sim.time:.2f} s: vertex 0 at {sim.positions('block')[0].round(3)} m")
    sim.release(hand)
    for note in sim.notes:  # a pull that is too stiff for the step is weakened, and the notes say so
        print(note)


if __name__ == "__main__":
    main()
