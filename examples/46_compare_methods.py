"""The same scene under several methods, each measured against finite elements with small steps.

`pliant.lab.compare` gives the error over time, the time of a frame, the worst stretch and the change of volume of each,
and says which is the most accurate that a budget allows. On the command line: `pliant compare bunny`.
"""

import pliant
from pliant import lab
from pliant.lab.ways import Way, as_way

METHODS = ("mass_spring", "xpbd", "fem", "fem/substeps=8")


def bar(way: Way) -> pliant.Scene:
    """A bar that bends under its weight."""
    scene = pliant.Scene(name="bar")
    mesh = pliant.shapes.box((0.4, 0.1, 0.1), (4, 1, 1))
    scene.add_body(mesh, pliant.Material(young="0.3 MPa", damping="5 ms"), method=way.method, name="bar")
    scene.pin("bar", lambda x: x[:, 0] < x[:, 0].min() + 1e-6)
    return scene


def build() -> pliant.Scene:
    return bar(as_way("mass_spring"))


def check(sim: pliant.Simulation) -> None:
    found = lab.compare(bar, METHODS, frames=24, reference_substeps=16)
    error = {lane.way.name: lane.error for lane in found.lanes}
    assert error["fem/substeps=8"] < 0.5 * error["fem"], "smaller steps come nearer"
    assert all(value < 0.1 for value in error.values())
    assert found.best(1e6)[0].way.name == min(error, key=error.__getitem__)


def main() -> None:
    found = lab.compare(bar, METHODS, frames=60)
    print(found.table())
    print(found.best(1000.0 / 60.0)[1])


if __name__ == "__main__":
    main()
