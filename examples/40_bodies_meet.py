"""Bodies of different methods meet: a ball falls onto a cloth, and two blocks hit each other in free space.

Bodies pass through each other unless a scene asks for contact. What one does to another the other does to it: where
nothing else acts, momentum is kept.
"""

import numpy as np

import pliant

RUBBER = pliant.Material(density=60.0, young=1e5, damping=0.005, friction=0.5, restitution=0.2)
BLOCK = pliant.shapes.box(size=0.3, cells=3)


def build() -> pliant.Scene:
    """A shape-matched ball above an XPBD cloth that hangs by its corners."""
    scene = pliant.Scene(name="bodies meet", contact="bodies")
    scene.add_body(pliant.shapes.sheet((1.0, 1.0), 10), "cotton", method="xpbd", name="cloth")
    scene.pin("cloth", lambda x: (np.abs(x[:, [0, 2]]) > 0.499).all(axis=1))
    ball = pliant.shapes.ball(0.15, 3)
    scene.add_body(ball, RUBBER, method="shape_matching", name="ball", position=(0.0, 0.2, 0.0))
    return scene


def blocks() -> pliant.Simulation:
    """A block of springs flies towards a shape-matched one that stands still, without gravity."""
    scene = pliant.Scene(gravity=(0.0, 0.0, 0.0), name="two blocks", contact="bodies")
    scene.add_body(BLOCK, RUBBER, name="springs", position=(-0.3, 0.02, 0.0), velocity=(2.0, 0.0, 0.0))
    scene.add_body(BLOCK, RUBBER, method="shape_matching", name="matched", position=(0.1, 0.0, 0.0))
    return scene.build()


def above(sim: pliant.Simulation) -> float:
    """How far the lowest point of the ball is above the lowest of the cloth, which hangs around it [m]."""
    return float(sim.positions("ball")[:, 1].min() - sim.positions("cloth")[:, 1].min())


def check(sim: pliant.Simulation) -> None:
    for _ in range(6):
        sim.frame(10)
        assert above(sim) > -0.001, "the cloth holds the ball"
    middle = sim.positions("ball").mean(axis=0)
    assert np.abs(middle[[0, 2]]).max() < 0.1, "which stays in its middle"
    assert sim.positions("ball")[:, 1].min() < -0.05, "and weighs it down"

    pair = blocks()
    before = pair.diagnostics().momentum
    pair.frame(40)
    np.testing.assert_allclose(pair.diagnostics().momentum, before, atol=1e-4 * np.linalg.norm(before))
    gap = pair.positions("matched")[:, 0].min() - pair.positions("springs")[:, 0].max()
    assert gap > 0.0, "they have not passed through each other, and part"
    assert pair.velocities("matched")[:, 0].mean() > 1.0, "the one that stood still was pushed"


def main() -> None:
    sim = build().build()
    for _ in range(6):
        sim.frame(30)
        force = sim.contact_force_between("ball", "cloth")
        print(f"{sim.time:.1f} s: ball {1e3 * above(sim):.0f} mm above the lowest point, pushed by {force[1]:.1f} N")
    pair = blocks()
    print("momentum before", pair.diagnostics().momentum)
    pair.frame(40)
    print("momentum after", pair.diagnostics().momentum)


if __name__ == "__main__":
    main()
