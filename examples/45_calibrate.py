"""Calibration: a method is fitted to finite elements of a body's own mesh.

That is done by itself wherever a material says how stiff a body is, once for a mesh. `calibrate=False` leaves the
method's own formulas; the notes of the simulation say how far the body is off before and after. On the command line:
`pliant calibrate bunny --method shape_matching`.
"""

import pliant
from pliant import lab

BALL = pliant.shapes.ball(0.2, cells=3)
MATCHING = {"mode": "quadratic", "clusters": 4}


def build() -> pliant.Scene:
    scene = pliant.Scene(name="calibrated")
    for k, way in enumerate((False, True)):
        scene.add_body(
            BALL,
            "rubber",
            method="shape_matching",
            matching=MATCHING,
            calibrate=way,
            position=(0.6 * k, 0.5, 0.0),
            name="fitted" if way else "plain",
        )
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    assert any("'fitted': calibrated against finite elements" in note for note in sim.notes)
    errors = [
        abs(lab.test_material("rubber", "shape_matching", body=BALL, tests=("cantilever",), matching=MATCHING,
                              calibrate=way)["cantilever.displacement"].error)
        for way in (False, True)
    ]  # fmt: skip
    assert errors[1] < 0.25 * errors[0], "the fitted ball leans as far as finite elements say"


def main() -> None:
    sim = build().build()
    for note in sim.notes:
        print(note)
    print(sim.plan.text())


if __name__ == "__main__":
    main()
