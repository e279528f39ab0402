"""Bodies attached to bodies: a strap carries a crate, a spring another one, and a thread breaks.

Attachments hold vertices to the nearest points of other bodies, whatever method simulates them. Without a stiffness
they are rigid, with one they stretch by force over stiffness, and with a strength they come off when they carry more.
"""

import numpy as np

import pliant

WOOD = pliant.Material(density=500.0, young=2e5, damping=0.01, drag=4.0)
STRAP = pliant.Material(density=300.0, young=2e5, damping=0.0005, drag=4.0)
CRATE = pliant.shapes.box(size=0.2, cells=2)
WEIGHT = 500.0 * 0.2**3 * 9.81
STIFFNESS = 200.0


def top(x: np.ndarray) -> np.ndarray:
    return x[:, 1] > x[:, 1].max() - 1e-6


def corners(x: np.ndarray) -> np.ndarray:
    return top(x) & (np.abs(x - x.mean(axis=0)) > 0.09).all(axis=1)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="attachments")
    scene.add_plane(point=(0.0, -1.0, 0.0))
    scene.add_body(pliant.shapes.box((1.6, 0.05, 0.3), (8, 1, 1)), WOOD, name="beam", position=(0.0, 0.5, 0.0))
    scene.pin("beam", lambda x: np.ones(len(x), bool))

    # a strap of mass-spring tets between the beam and a shape-matched crate
    strap = pliant.shapes.box((0.1, 0.4, 0.05), (1, 4, 1))
    scene.add_body(strap, STRAP, name="strap", position=(-0.5, 0.275, 0.0))
    scene.attach("strap", top, "beam", name="nails")
    scene.add_body(CRATE, WOOD, method="shape_matching", name="carried", position=(-0.5, -0.025, 0.0))
    scene.attach("strap", lambda x: x[:, 1] < x[:, 1].min() + 1e-6, "carried", name="handle")

    for name, x, options in (("sprung", 0.0, {"stiffness": STIFFNESS}), ("dropped", 0.5, {"strength": 0.15 * WEIGHT})):
        scene.add_body(CRATE, WOOD, method="shape_matching", name=name, position=(x, 0.375, 0.0))
        scene.attach(name, corners, "beam", name=f"{name} hooks", **options)
    return scene


def check(sim: pliant.Simulation) -> None:
    rest = {name: sim.positions(name)[:, 1].max() for name in ("carried", "sprung", "dropped")}
    sim.frame(180)
    held = sim.attachment_forces()
    assert abs(held["nails"][:, 1].sum() / (WEIGHT + 300.0 * 0.1 * 0.4 * 0.05 * 9.81) - 1) < 0.05, "strap and crate"
    assert 0.0 < rest["carried"] - sim.positions("carried")[:, 1].max() < 0.03, "the strap gives way a little"
    sunk = rest["sprung"] - sim.positions("sprung")[:, 1].max()
    assert abs(sunk / (WEIGHT / 4 / STIFFNESS) - 1) < 0.05, "four springs stretch by force over stiffness"
    assert not sim.attachments_intact()["dropped hooks"].any(), "the threads break"
    assert sim.positions("dropped")[:, 1].max() < -0.7, "and the crate lies on the floor"
    assert any("'dropped hooks'" in note for note in sim.notes)


def main() -> None:
    sim = build().build()
    sim.frame(180)
    for name, force in sim.attachment_forces().items():
        print(f"{name}: {np.linalg.norm(force.sum(axis=0)):.1f} N of {len(force)} vertices")
    print(sim.notes[-1])


if __name__ == "__main__":
    main()
