"""One step a frame, however stiff: the hybrid integrator of Desbrun, Schroeder and Barr, beside the explicit one.

A linear filter with the constant matrix of the spring constants makes every step stable; the spin that it would take is
given back, and a strain limit does what the soft springs do not. It pays with motion: bending is slowed down.
"""

import numpy as np

import pliant

CLOTH = pliant.Material(density=300.0, young=5e4, shear=5e3, bending=1e-6, thickness=1e-3, damping=1e-4)
STEEL = pliant.Material(density=7800.0, young=2e11, damping=0.0)


def build(young: float = 5e4, integrator: str = "hybrid") -> pliant.Scene:
    scene = pliant.Scene(name=integrator, substeps=1 if integrator == "hybrid" else None)
    material = pliant.Material(**{**CLOTH.__dict__, "young": young})
    scene.add_body(pliant.shapes.sheet(1.0, 12), material, springs="grid", name="cloth", position=(0, 1.2, 0))
    scene.pin("cloth", lambda x: (np.abs(x[:, 0]) > 0.499) & (x[:, 2] > 0.499))
    scene.configure("mass_spring", integrator=integrator, strain_limit=1.1, strain_passes=80)
    return scene


def spinning_wire() -> pliant.Scene:
    """A straight steel wire of 20 segments that spins in space."""
    x = np.zeros((21, 3))
    x[:, 0] = np.linspace(-0.5, 0.5, 21)
    wire = pliant.RodMesh(x, np.stack([np.arange(20), np.arange(1, 21)], axis=1), 0.002)
    scene = pliant.Scene(gravity=(0, 0, 0), substeps=1)
    scene.add_body(wire, STEEL, name="wire", angular_velocity=(0, 3.0, 0))
    scene.configure("mass_spring", integrator="hybrid")
    return scene


def check(sim: pliant.Simulation) -> None:
    assert np.isinf(sim.stable_dt) and sim.substeps == 1, "there is no largest step"
    sim.frame(60)
    now = sim.diagnostics()
    assert now.finite and sim.positions("cloth")[:, 1].min() < 0.9, "the cloth has swung down"
    stiff = build(5e10).build(sim.device)
    stiff.frame(30)
    assert stiff.diagnostics().finite, "a million times as stiff, it is as stable"
    wire = spinning_wire().build(sim.device)
    before = wire.diagnostics().angular_momentum
    wire.frame(60)
    after = wire.diagnostics()
    assert np.abs(after.angular_momentum - before).max() < 1e-3 * np.abs(before).max(), "spin is kept"


def main() -> None:
    for integrator in ("hybrid", "symplectic"):
        sim = build(integrator=integrator).build()
        sim.frame(60)
        low = sim.positions("cloth")[:, 1].min()
        print(f"{integrator}: {sim.substeps} steps a frame; after a second the cloth reaches down to {low:.2f} m")


if __name__ == "__main__":
    main()
