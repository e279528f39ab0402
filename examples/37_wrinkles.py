"""Wrinkles on a coarse cloth: what is seen is finer than what is simulated.

A cloth of 12 x 12 squares is held at two sides, and one of them is pushed along it. Its squares are compressed along
one diagonal, which the simulated triangles are too coarse to answer with folds. The skin is a smooth surface through
them with waves where cloth is missing (after Loviscach 2006), as high as takes up the missing length.
"""

import numpy as np

import pliant

COTTON = pliant.Material(density=350.0, young=2e5, thickness=6e-4, damping=0.003)
FRAMES = 60


def build() -> pliant.Scene:
    scene = pliant.Scene(name="wrinkles", gravity=(0.0, 0.0, 0.0), substeps=20)
    scene.add_body(
        pliant.shapes.sheet((0.6, 0.6), 12), COTTON, method="xpbd", name="cloth", color=(0.30, 0.50, 0.75),
        rotation=(90.0, 0.0, 0.0), wrinkles=pliant.Wrinkles(wavelength=0.045, levels=4),
    )  # fmt: skip
    scene.pin("cloth", lambda x: x[:, 1] < -0.299)
    scene.pin("cloth", lambda x: x[:, 1] > 0.299, path=[(0.0, (0.0, 0.0, 0.0)), (0.8, (0.16, 0.0, 0.0))])
    return scene


def heights(sim: pliant.Simulation) -> np.ndarray:
    """How far the seen vertices stand out of the plane of the cloth [m]."""
    return np.abs(sim.surface_positions("cloth")[:, 2])


def crests(sim: pliant.Simulation) -> float:
    """Angle of the crests to the sides that are held [degrees], from how the seen surface leans in its middle."""
    x, normals = sim.surface_positions("cloth"), sim.skins.normals("cloth")
    lean = normals[np.abs(x[:, 1]) < 0.15, :2].astype(float)
    _, vectors = np.linalg.eigh(lean.T @ lean)
    steepest = vectors[:, 1]
    return float(np.degrees(np.arctan2(steepest[0], -steepest[1])) % 180.0)


def check(sim: pliant.Simulation) -> None:
    assert heights(sim).max() < 1e-6, "a cloth at rest is as flat as it was made"
    sim.frame(FRAMES)
    assert np.abs(sim.positions("cloth")[:, 2]).max() < 1e-4, "the simulated cloth stays in its plane"
    assert 0.002 < heights(sim).max() < 0.02, "the seen one has wrinkles"
    assert 30.0 < crests(sim) < 75.0, "they run along the diagonal that is stretched"


def main() -> None:
    sim = build().build()
    for _ in range(6):
        sim.frame(FRAMES // 6)
        print(f"{sim.time:.2f} s: wrinkles of {1e3 * heights(sim).max():.1f} mm, at {crests(sim):.0f} degrees")


if __name__ == "__main__":
    main()
