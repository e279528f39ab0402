"""Hair: tufts of curly and straight strands on a head that turns from side to side.

`pliant.shapes.hair` grows strands along the normals of a head, or of any surface: `scalp=`. What is pinned is the first
segment of every strand, so that its place and its direction are held; the pins are led by a path with rotations. A
strand weighs and bends as one hair of 0.04 mm does, and is drawn as thick as the lock that it stands for. Hair of other
programs is read too: `pliant.RodMesh.load("wig.hair")`.
"""

from dataclasses import replace

import numpy as np

import pliant
from pliant.mesh.rod_shapes_hair import HEAD

SEGMENTS = 20
TURN = 40.0
PERIOD = 1.6
SHAKE = [(0.25 * PERIOD * k, (0.0, 0.0, 0.0), (0.0, (0.0, TURN, 0.0, -TURN)[k % 4], 0.0)) for k in range(13)]


def hair(strands: int = 80) -> pliant.RodMesh:
    return pliant.shapes.hair(strands, 0.22, SEGMENTS, curl=0.01, turns=2.5, curly=0.5, tufts=16, fall=0.6, seed=2)


def build(strands: int = 80) -> pliant.Scene:
    scene = pliant.Scene(name="hair", wind=(0.0, 0.0, 0.0))
    # hair rubs along hair, and the air slows it down
    stuff = replace(pliant.PRESETS["hair"], drag=2.0)
    scene.add_body(hair(strands), stuff, method="xpbd", name="hair", color=(0.36, 0.2, 0.1))
    keys = [{"time": time, "offset": offset, "rotation": turn} for time, offset, turn in SHAKE]
    scene.pin("hair", "roots", keys, center=(0.0, 0.0, 0.0))
    scene.add_sphere(0.98 * HEAD, name="head")
    return scene


def turned(sim: pliant.Simulation) -> np.ndarray:
    """Angle about the vertical by which roots, and tips, have been carried on average [degrees] (2,)."""
    rest = hair(len(sim.positions()) // (SEGMENTS + 1)).vertices.reshape(-1, SEGMENTS + 1, 3)
    now = sim.positions().reshape(rest.shape).astype(float)
    found = []
    for row in (0, -1):
        a, b = rest[:, row, 2] + 1j * rest[:, row, 0], now[:, row, 2] + 1j * now[:, row, 0]
        found.append(np.degrees(np.angle((b * a.conj()).sum())))
    return np.array(found)


def check(sim: pliant.Simulation) -> None:
    mesh = hair()
    assert len(mesh.roots()) == 80 and len(mesh.root_segments()) == 160
    lag = []
    for frame in range(48):
        sim.frame()
        lag.append(turned(sim))
        if frame % 8 == 7:
            x = sim.positions().astype(float)
            length = np.linalg.norm(np.diff(x[mesh.segments], axis=1)[:, 0], axis=1)
            total = length.reshape(80, -1).sum(axis=1) / mesh.lengths().reshape(80, -1).sum(axis=1)
            assert np.abs(total - 1.0).max() < 0.05, "strands keep their length"
            assert np.linalg.norm(x, axis=1).min() > 0.93 * HEAD, "and stay out of the head"
    roots, tips = np.array(lag).T
    assert abs(roots[23] - TURN) < 3.0, "the roots turn with the head"
    assert np.ptp(tips) > 0.25 * np.ptp(roots), "and the tips are carried along"
    assert tips.argmax() > roots.argmax(), "later"
    assert len(sim.body("hair").tubes.chains) - 1 == 80, "each strand is seen as a tube"


def main() -> None:
    sim = build(400).build()
    for _ in range(16):
        sim.frame(6)
        roots, tips = turned(sim)
        print(f"{sim.time:.2f} s: the head has turned by {roots:5.1f} degrees, the tips of its hair by {tips:5.1f}")


if __name__ == "__main__":
    main()
