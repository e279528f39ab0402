"""A dragon of 90,000 triangles rides on a cage of 1,500 tets: little is simulated, much is seen.

Every vertex of the skin belongs to one tet and follows its corners, so an affine motion of the cage moves the skin
exactly so. The skin is moved once a frame, the cage in every step. With `enclose` the cage reaches around the whole
surface: no vertex has to be carried from outside.
"""

import dataclasses
from pathlib import Path

import numpy as np

import pliant
from pliant.render.camera import Camera
from pliant.render.film import contact_sheet
from pliant.render.raycast import Renderer

RUBBER = dataclasses.replace(pliant.PRESETS["soft_rubber"], damping=1e-3)
SIZE = 0.4


def build() -> pliant.Scene:
    scene = pliant.Scene(name="dragon")
    scene.add("dragon", RUBBER, size=SIZE, solid="voxels", tets=1500, enclose=True, position=(0, 0.2, 0), name="dragon")
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    embedding = sim.body("dragon").embedding
    assert embedding is not None and len(embedding) == len(sim.surface_positions()) > 40_000
    assert len(sim.positions()) < 1000, "the cage is coarse"
    assert embedding.share_outside == 0.0 and embedding.weights.min() > -1e-6, "every vertex lies inside its tet"

    cage, skin = sim.positions(), sim.surface_positions()
    stretch = np.array([[1.3, 0.2, 0.0], [-0.1, 0.8, 0.3], [0.0, 0.4, 1.1]])
    move = np.array([0.1, 0.2, -0.3])
    sim.set_state("dragon", cage @ stretch.T + move)
    wrong = np.abs(sim.surface_positions() - (skin @ stretch.T + move)).max()
    assert wrong < 1e-6, "the skin follows an affine motion exactly, to the last digits of float32"

    sim.set_state("dragon", cage)
    lowest = []
    for _ in range(30):
        sim.frame()
        lowest.append(sim.surface_positions()[:, 1].min())
    assert min(lowest) >= 0.0, "the cage stands on the floor, so the skin is above it"
    assert min(lowest) < 0.05 * SIZE, "but not by much"
    assert 0.9 < sim.diagnostics().volume_ratio < 1.1
    assert "skin" in sim.stage_times(), "its time is a stage of its own"


def picture(sim: pliant.Simulation, what: str, camera: Camera, size: tuple[int, int]) -> np.ndarray:
    """The skin, or the cage with the edges of its outside."""
    renderer = Renderer(*size, sim.device)
    if what == "skin":
        renderer.set_geometry(sim.surface(), sim.surface_colors(), len(sim.surface_positions()))
        return renderer.draw(sim.surface_positions(), camera)
    renderer.set_geometry(sim.model.surface(), np.array([0.6, 0.65, 0.7]), sim.state.count)
    return renderer.draw(sim.state.x, camera, wireframe=True)


def main() -> None:
    sim = build().build()
    print("\n".join(sim.notes))
    size, x = (480, 360), sim.positions()
    low, high = x.min(axis=0), x.max(axis=0)
    camera = Camera.framing((low[0], 0.0, low[2]), high, size[0] / size[1])
    pictures, labels = [], []
    for _ in range(5):
        for what in ("cage", "skin"):
            pictures.append(picture(sim, what, camera, size))
            labels.append(f"{what} at {sim.time:.2f} s")
        sim.frame(9)
    path = Path("out") / "example_15" / "dragon.png"
    contact_sheet(pictures[0::2] + pictures[1::2], path, columns=5, labels=labels[0::2] + labels[1::2])
    times = sim.stage_times()
    print(f"{len(sim.positions())} particles carry {len(sim.surface_positions()):,} vertices of the skin")
    print(f"the skin takes {times['skin']:.2f} ms of a frame of {sum(times.values()):.2f} ms")
    print(path)


if __name__ == "__main__":
    main()
