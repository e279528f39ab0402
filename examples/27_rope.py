"""Three ropes of the same length and weight let go from the horizontal: a chain, a soft rope and a stiff one.

A rod is solved as a whole, from its tips to its root, so a thousand segments stay as long as they are; what differs is
how much each resists bending. A chain resists none, and whips; a rope bends in a wide arc; a cable hardly bends.
"""

import numpy as np

import pliant

LENGTH, COUNT = 4.0, 200
HEMP = pliant.Material(density=1200.0, young=2e8, damping=0.001, drag=0.1)
CABLE = pliant.Material(density=1200.0, young=5e10, damping=0.001, drag=0.1)


def line(radius: float = 0.008) -> pliant.RodMesh:
    """A straight row of segments along x."""
    along = np.linspace(0.0, LENGTH, COUNT + 1)
    vertices = np.stack([along, np.zeros_like(along), np.zeros_like(along)], axis=1)
    return pliant.RodMesh(vertices, np.stack([np.arange(COUNT), np.arange(1, COUNT + 1)], axis=1), radius)


def build() -> pliant.Scene:
    scene = pliant.Scene(substeps=4, name="ropes")
    for k, (name, material, bends) in enumerate([("chain", HEMP, False), ("rope", HEMP, True), ("cable", CABLE, True)]):
        scene.add_body(line(), material, method="xpbd", bends=bends, name=name, position=(0.0, 0.0, 0.5 * k))
        # one pinned vertex is a hinge, two hold the direction as well
        scene.pin(name, [0] if name != "cable" else [0, 1])
    return scene


def sharpest(x: np.ndarray) -> float:
    """The sharpest corner along a rope, in degrees."""
    e = np.diff(x.astype(float), axis=0)
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    return float(np.degrees(np.arccos(np.clip((e[1:] * e[:-1]).sum(axis=1), -1.0, 1.0)).max()))


def swing(sim: pliant.Simulation, frames: int = 150) -> tuple[dict[str, float], dict[str, float]]:
    """The worst change of length, and the sharpest corner, of each rope while it swings."""
    names = [body.name for body in sim.model.bodies]
    worst, corner = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for _ in range(frames):
        sim.frame()
        for name in names:
            x = sim.positions(name)
            length = np.linalg.norm(np.diff(x.astype(float), axis=0), axis=1).sum()
            worst[name] = max(worst[name], abs(length / LENGTH - 1.0))
            corner[name] = max(corner[name], sharpest(x))
    return worst, corner


def check(sim: pliant.Simulation) -> None:
    worst, corner = swing(sim)
    assert max(worst.values()) < 0.01, "no rope is stretched by a percent"
    assert corner["chain"] > 3.0 * corner["rope"] > 3.0 * corner["cable"], "what resists bending has no sharp corners"


def main() -> None:
    worst, corner = swing(build().build())
    for name in worst:
        print(f"{name}: within {worst[name]:.2%} of its length, sharpest corner {corner[name]:.1f} degrees")


if __name__ == "__main__":
    main()
