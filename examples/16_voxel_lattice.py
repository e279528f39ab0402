"""One block twice: as a lattice of cubes with springs, and filled with tets. They behave much alike.

A lattice has four kinds of springs: along the edges of its cubes, across their faces (against shear), through their
middles (against a loss of volume), and over two edges in a line (flexion, against bending). Their constants follow from
the material. A lattice is made in no time and has no bad elements, but its outside is made of steps: it takes in every
cube that the surface touches, which adds weight unless the cubes fit as they do here.
"""

from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant.mesh.lattice import FACE_DIAGONAL, FLEXION, SPACE_DIAGONAL, STRUCTURAL
from pliant.render.camera import Camera
from pliant.render.film import contact_sheet
from pliant.render.raycast import Renderer

FOAM = pliant.Material(density=1000.0, young=3e4, poisson=0.35, damping=5e-3, drag=4.0, friction=0.8)
CELLS, EDGE = (4, 6, 4), 0.05
KINDS = {"edges": STRUCTURAL, "faces": FACE_DIAGONAL, "middles": SPACE_DIAGONAL, "flexion": FLEXION}
SETTINGS: dict[str, dict[str, Any]] = {
    "lattice": {"solid": "lattice", "element_size": EDGE},
    "tets": {"solid": "stuffing", "tets": 2500},
}
BLOCK = pliant.shapes.box(tuple(EDGE * n for n in CELLS), CELLS).surface_mesh()
HEIGHT = EDGE * CELLS[1]


def lattice() -> pliant.VoxelLattice:
    solid = pliant.prepare(BLOCK, pliant.PrepareSettings(**SETTINGS["lattice"])).solid
    assert isinstance(solid, pliant.VoxelLattice)
    return solid


def build() -> pliant.Scene:
    scene = pliant.Scene(name="lattice")
    for k, (name, settings) in enumerate(SETTINGS.items()):
        place = (0.4 * k - 0.2, 0.5 * HEIGHT + 0.1, 0.0)
        scene.add(BLOCK, FOAM, name=name, position=place, skin=False, **settings)
    scene.add_plane()
    return scene


def heights(sim: pliant.Simulation) -> list[float]:
    """How tall each block is [m]."""
    return [float(np.ptp(sim.positions(name)[:, 1])) for name in SETTINGS]


def check(sim: pliant.Simulation) -> None:
    springs, (x, y, z) = lattice().springs(), CELLS
    count = {name: len(springs.of_kind(kind)) for name, kind in KINDS.items()}
    assert count["edges"] == x * (y + 1) * (z + 1) + (x + 1) * y * (z + 1) + (x + 1) * (y + 1) * z
    assert count["faces"] == 2 * (x * y * (z + 1) + x * (y + 1) * z + (x + 1) * y * z)
    assert count["middles"] == 4 * x * y * z
    assert count["flexion"] == (x - 1) * (y + 1) * (z + 1) + (x + 1) * (y - 1) * (z + 1) + (x + 1) * (y + 1) * (z - 1)

    masses = [sim.model.particles.mass[sim.body(name).particle_of].sum() for name in SETTINGS]
    assert np.ptp(masses) < 0.05 * min(masses), "they weigh the same"
    tall = []
    for _ in range(90):
        sim.frame()
        tall.append(np.array(heights(sim)) / HEIGHT)
    squeezed, after = np.min(tall[:20], axis=0), np.max(tall[10:], axis=0)
    assert np.all(squeezed < 0.9) and np.ptp(squeezed) < 0.06, "they are squeezed the same when they land"
    assert np.all(after > squeezed + 0.1) and np.ptp(after) < 0.05, "and spring back the same"
    sag = 1.0 - np.mean(tall[-20:], axis=0)
    expected = FOAM.density * 9.81 * HEIGHT / (2.0 * FOAM.young)
    assert np.all(np.abs(sag / expected - 1.0) < 0.35), "then they stand, and sag about as a free bar does"
    assert np.ptp(sag) < 0.03
    assert all(abs(ratio - 1.0) < 0.05 for ratio in sim.diagnostics().body_volume_ratio)


def main() -> None:
    springs = lattice().springs()
    print("springs of the lattice:", {name: len(springs.of_kind(kind)) for name, kind in KINDS.items()})
    sim = build().build()
    size, x = (480, 320), sim.positions()
    renderer = Renderer(*size, sim.device, wireframe=True)
    renderer.set_geometry(sim.surface(), sim.surface_colors(), len(sim.surface_positions()))
    camera = Camera.framing((-0.35, 0.0, -0.15), (0.35, x[:, 1].max(), 0.15), size[0] / size[1])
    pictures, labels = [], []
    for _ in range(8):
        labels.append(f"{sim.time:.2f} s: heights {' and '.join(f'{1e3 * tall:.0f} mm' for tall in heights(sim))}")
        pictures.append(renderer.draw(sim.surface_positions(), camera))
        print(labels[-1])
        sim.frame(4)
    path = Path("out") / "example_16" / "blocks.png"
    contact_sheet(pictures, path, columns=4, labels=labels)
    print(path)


if __name__ == "__main__":
    main()
