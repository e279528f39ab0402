"""A tree is a rod that branches: pulled aside at a twig and let go, it swings back.

`pliant.shapes.tree` grows a tree after Leonardo da Vinci's rule: where a branch leaves, the areas of the cross sections
before and after are equal. Any other tree is a `pliant.RodMesh` of vertices, segments and radii, or read from a file:
`pliant.RodMesh.load("tree.swc")`, which also takes polylines of .obj and edges of .ply.
"""

import tempfile
from pathlib import Path

import numpy as np

import pliant

TREE = pliant.shapes.tree(height=3.0, radius=0.05, levels=3, branches=5, seed=1)
GREEN_WOOD = pliant.Material(density=900.0, young=4e8, poisson=0.3, damping=0.01)
TIP = int(TREE.vertices[:, 1].argmax())


def build() -> pliant.Scene:
    scene = pliant.Scene(name="tree")
    scene.add_body(TREE, GREEN_WOOD, method="xpbd", name="tree", color=(0.42, 0.29, 0.19))
    scene.pin("tree", "roots")
    scene.add_plane()
    return scene


def aside(sim: pliant.Simulation) -> float:
    """How far the top is to the side of where it grew [m]."""
    return float(sim.positions("tree")[TIP, 0] - TREE.vertices[TIP, 0])


def areas(mesh: pliant.RodMesh) -> np.ndarray:
    """Area of the sections that leave each fork over that which comes to it."""
    child = np.where(mesh.parents[mesh.segments[:, 1]] == mesh.segments[:, 0], *mesh.segments.T[::-1])
    square = np.zeros(len(mesh.vertices))
    square[child] = mesh.radius**2
    after = np.bincount(mesh.parents[child], square[child], len(square))
    forks = (np.bincount(mesh.parents[child], minlength=len(square)) > 1) & (mesh.parents >= 0)
    return after[forks] / square[forks]


def swing(sim: pliant.Simulation) -> tuple[float, np.ndarray]:
    """Pull the top aside for a second and let it go: how far it came, and where it was in each frame after [m]."""
    sim.frame(30)
    still = aside(sim)
    hand = sim.pull("tree", TIP, sim.positions("tree")[TIP] + [0.8, -0.1, 0.0], stiffness=400.0)
    sim.frame(60)
    far = aside(sim) - still
    sim.release(hand)
    back = []
    for _ in range(120):
        sim.frame()
        back.append(aside(sim) - still)
    return far, np.array(back)


def check(sim: pliant.Simulation) -> None:
    assert np.abs(areas(TREE) - 1.0).max() < 1e-9, "branches leave with the area that the stem loses"
    with tempfile.TemporaryDirectory() as folder:
        TREE.save(Path(folder) / "tree.swc")
        again = pliant.RodMesh.load(Path(folder) / "tree.swc")
        assert np.array_equal(again.vertices, TREE.vertices), "a file holds it exactly"
    far, back = swing(sim)
    assert far > 0.1, "the hand pulls the top aside"
    assert back.min() < 0.0, "it swings over to the other side"
    assert np.abs(back[-10:]).max() < 0.5 * far, "and comes to rest"
    assert sim.quantity("strain", "tree").max() < 0.01, "branches bend and hardly stretch"
    chains = len(sim.body("tree").tubes.chains) - 1
    tips = (np.bincount(TREE.segments.ravel()) == 1).sum() - 1
    assert chains == tips, "it is seen as a tube for each branch"


def main() -> None:
    sim = build().build()
    far, back = swing(sim)
    print(f"{len(TREE.segments)} segments, {sim.substeps} substeps; pulled aside by {far:.3f} m")
    for k in range(0, len(back), 10):
        print(f"{k / 60:.2f} s after it was let go: {back[k]:+.3f} m")


if __name__ == "__main__":
    main()
