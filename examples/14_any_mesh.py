"""Any mesh becomes a body: a scanned bunny, and the same bunny with a hole and triangles that face inward.

`Scene.add` takes a mesh file, a mesh, or the name of a sample mesh. It repairs the surface, fills it with tets and lets
the surface ride on them: the tets are simulated, the surface is seen. The notes say what was done. What is wrong with a
mesh is told by `pliant.diagnose`, and mended by `pliant.repair`; `Scene.add` calls both.
"""

import dataclasses
from pathlib import Path

import numpy as np

import pliant
from pliant.render.camera import Camera
from pliant.render.film import contact_sheet
from pliant.render.raycast import Renderer

# Damping counts with the square of the fineness: with a fifth of the preset's a small body needs fewer steps.
RUBBER = dataclasses.replace(pliant.PRESETS["soft_rubber"], damping=3e-4)
SIZE, DROP = 0.3, 0.05


def broken_bunny() -> pliant.SurfaceMesh:
    """The bunny with a hole in its back; every seventh triangle faces inward."""
    bunny = pliant.asset("bunny")
    centres = bunny.vertices[bunny.triangles].mean(axis=1)
    low, high = bunny.vertices.min(axis=0), bunny.vertices.max(axis=0)
    back = low + (0.65, 0.6, 0.5) * (high - low)
    far = np.linalg.norm(centres - back, axis=1) > 0.12 * (high - low).max()
    holed = bunny.of_triangles(far).drop_unused()
    return holed.turned(np.arange(len(holed.triangles)) % 7 == 0)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="any mesh")
    scene.add("bunny", RUBBER, size=SIZE, tets=2000, name="bunny", position=(-0.2, DROP, 0))
    scene.add(broken_bunny(), RUBBER, size=SIZE, tets=2000, name="mended", position=(0.2, DROP, 0))
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    mended, whole = pliant.repair(broken_bunny()), pliant.asset("bunny")
    assert not mended.before.watertight and mended.before.holes == 1 and mended.before.winding_edges > 1000
    assert mended.after.clean and mended.mesh.is_closed()
    assert abs(mended.mesh.volume() / whole.volume() - 1.0) < 0.02, "the hole is filled, and outside is outside"

    names = ("bunny", "mended")
    rest = {name: sim.surface_positions(name) for name in names}
    lowest, tall, middle = [], [], []
    for _ in range(24):
        sim.frame()
        seen = {name: sim.surface_positions(name) for name in names}
        lowest.append(min(x[:, 1].min() for x in seen.values()))
        tall.append([np.ptp(seen[name][:, 1]) / np.ptp(rest[name][:, 1]) for name in names])
        middle.append([sim.positions(name).mean(axis=0) for name in names])
        assert abs(sim.diagnostics().volume_ratio - 1.0) < 0.05, "it keeps its volume"
    assert abs(np.argmax(np.array(lowest) < 0.005) / 60 - 0.1) < 0.03, "0.05 m of free fall take 0.1 s"
    assert min(lowest) > -0.02 * SIZE, "what is seen stays above the floor, but for what overhangs the tets"
    squeezed = np.argmin(tall, axis=0)
    assert np.max(np.min(tall, axis=0)) < 0.97, "they are squeezed when they land"
    for which, when in enumerate(squeezed):
        assert max(row[which] for row in tall[when:]) > tall[when][which] + 0.03, "and spring back"
    apart = np.array(middle)[:, 1] - np.array(middle)[:, 0]
    assert np.abs(apart - apart[0]).max() < 0.02 * SIZE, "the mended bunny moves like the other"


def main() -> None:
    broken = broken_bunny()
    print("\n".join(["Diagnosis:", *pliant.diagnose(broken).lines(), "Repair:", *pliant.repair(broken).lines()]))
    sim = build().build()
    print("\n".join(["Bodies:", *sim.notes]))
    size, names = (480, 320), ("bunny", "mended")
    renderer = Renderer(*size, sim.device)
    renderer.set_geometry(sim.surface(), sim.surface_colors(), len(sim.surface_positions()))
    camera = Camera.framing((-0.35, 0.0, -0.12), (0.35, 0.3, 0.12), size[0] / size[1])
    pictures, labels = [], []
    for _ in range(8):
        labels.append(f"{sim.time:.2f} s: volume {sim.diagnostics().volume_ratio:.3f} of that at rest")
        pictures.append(renderer.draw(sim.surface_positions(), camera))
        told = [f"{name} {np.ptp(sim.surface_positions(name)[:, 1]):.3f} m" for name in names]
        print(f"{labels[-1]}; heights of {', '.join(told)}")
        sim.frame(3)
    path = Path("out") / "example_14" / "bunnies.png"
    contact_sheet(pictures, path, columns=4, labels=labels)
    print(path)


if __name__ == "__main__":
    main()
