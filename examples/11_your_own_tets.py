"""Bring your own tets: TetGen's .node and .ele, two text files, or arrays.

`read_tets` takes one file of a pair and finds the other, turns tets that are inside out, and says in `notes`
what it did. What cannot be simulated is refused with the file, the line and the remedy.
"""

import tempfile
from pathlib import Path

import numpy as np

import pliant

VERTICES = """5
0 0 0
0.3 0 0
0 0.3 0
0 0 0.3
0.3 0.3 0.3
"""
TETS = """2
1 2 3 4
2 3 4 5
"""


def build() -> pliant.Scene:
    scene = pliant.Scene(name="own tets")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "two_vertices.txt").write_text(VERTICES)
        (here / "two_tets.txt").write_text(TETS)
        two = pliant.read_tets(here / "two.txt")
        pliant.write_tets(pliant.shapes.cylinder(0.15, 0.3, cells=2), here / "can.node")
        can = pliant.read_tets(here / "can.ele")
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    one = pliant.TetMesh(0.3 * corners, np.array([[0, 1, 2, 3]]), "one")
    for k, mesh in enumerate((two, can, one)):
        scene.add_body(mesh, "soft_rubber", position=(0.6 * k, 0.4, 0), name=mesh.name)
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    assert [body.name for body in sim.model.bodies] == ["two", "can", "one"]
    assert len(sim.positions("two")) == 5, "positions come in the order of the file, whatever the order in memory is"
    assert np.allclose(sim.positions("two")[4], (0.3, 0.7, 0.3))
    sim.frame(30)
    assert sim.positions()[:, 1].min() >= 0.0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bad_vertices.txt").write_text(VERTICES)
        (Path(folder) / "bad_tets.txt").write_text("1\n0 1 2 9\n")
        try:
            pliant.read_tets(Path(folder) / "bad.txt")
        except pliant.InputError as error:
            assert "line 2" in error.where and "9" in error.what
        else:
            raise AssertionError("a vertex that does not exist should be refused")


def main() -> None:
    sim = build().build()
    for body in sim.model.bodies:
        print(f"{body.name}: {len(sim.positions(body.name))} vertices, {body.tets[1] - body.tets[0]} tets")
    check(sim)


if __name__ == "__main__":
    main()
