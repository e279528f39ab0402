"""Loose points are a body too: nothing connects them but the rest shape of their clusters.

A point cloud is what a scanner gives, or what fills a shape in one line. It is drawn as small balls, or carries a skin
that follows its clusters. Files: `pliant.PointCloud.load("scan.xyz")`, .ply, .csv, .txt or .npy.
"""

import numpy as np

import pliant

RADIUS = 0.2
SKIN = pliant.shapes.ball(RADIUS, cells=8).surface_mesh()
SOFT = pliant.Material(density=500.0, young=2e4, damping=0.01, friction=0.8)


def points() -> pliant.PointCloud:
    """Points at random in a ball, and the volume they stand for."""
    x = np.random.default_rng(1).uniform(-RADIUS, RADIUS, (3000, 3))
    return pliant.PointCloud(x[np.linalg.norm(x, axis=1) < RADIUS], volume=4.0 / 3.0 * np.pi * RADIUS**3)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="points")
    cloud = points()
    how = {"method": "shape_matching", "matching": {"clusters": 8}}
    scene.add(cloud, SOFT, name="bare", position=(-0.3, 0.5, 0.0), **how)
    scene.add(cloud, SOFT, name="dressed", position=(0.3, 0.5, 0.0), skin=SKIN, **how)
    scene.add_plane()
    return scene


def heights(sim: pliant.Simulation) -> np.ndarray:
    """How tall the points, and the skin, are [m] (2,)."""
    return np.array([np.ptp(sim.positions("bare")[:, 1]), np.ptp(sim.surface_positions("dressed")[:, 1])])


def check(sim: pliant.Simulation) -> None:
    assert len(sim.surface_positions("bare")) == 12 * len(points().vertices), "each point is seen as an icosahedron"
    assert len(sim.surface_positions("dressed")) == len(SKIN.vertices), "or a skin is seen"
    mass = sim.model.particles.mass[sim.body("bare").particle_of].sum()
    assert abs(mass / (SOFT.density * points().volume) - 1.0) < 1e-6, "points share the mass of the volume given"
    start, tall = heights(sim), []
    for _ in range(36):
        sim.frame()
        tall.append(heights(sim) / start)
        assert np.abs(np.diff(tall[-1])) < 0.12, "the skin goes along"
    assert np.all(np.min(tall, axis=0) < 0.6), "they are flattened"
    assert np.all(np.abs(tall[-1] - 1.0) < 0.1), "and become round again"


def main() -> None:
    sim = build().build()
    for _ in range(10):
        sim.frame(4)
        print(f"{sim.time:.2f} s: the points are {heights(sim)[0]:.3f} m tall, the skin {heights(sim)[1]:.3f} m")


if __name__ == "__main__":
    main()
