"""Choose the integrator: explicit ones take many small steps, the implicit one takes few large ones.

Explicit integrators have a largest stable step. Pliant estimates it and chooses the substeps from it. Implicit
Euler has no such limit; it solves a linear system in each step and damps motion, the more the larger the step
is.
"""

import math

import pliant


def build(integrator: str = "implicit") -> pliant.Scene:
    scene = pliant.Scene(name=integrator, substeps=4 if integrator == "implicit" else None)
    stiff = pliant.Material(density=1000.0, young=5e6, poisson=0.3, damping=1e-4, drag=5.0)
    beam = pliant.shapes.box((0.8, 0.1, 0.1), (8, 1, 1))
    scene.add_body(beam, stiff, position=(0, 0.5, 0), name="beam")
    scene.pin("beam", lambda x: x[:, 0] < -0.4 + 1e-6)
    scene.configure("mass_spring", integrator=integrator)
    return scene


def tip(sim: pliant.Simulation) -> float:
    return float(sim.positions("beam")[:, 1].min())


def check(sim: pliant.Simulation) -> None:
    explicit = {name: build(name).build(sim.device) for name in ("symplectic", "midpoint", "euler")}
    assert sim.substeps == 4 and math.isinf(sim.stable_dt)
    assert explicit["symplectic"].substeps > 5 * sim.substeps, "explicit steps must be much smaller"
    steps = {name: other.stable_dt for name, other in explicit.items()}
    assert steps["euler"] < steps["midpoint"] < steps["symplectic"], "and each integrator has a limit of its own"
    sim.frame(90)
    explicit["symplectic"].frame(90)
    assert abs(tip(sim) - tip(explicit["symplectic"])) < 0.003, "both bend the beam alike"


def main() -> None:
    for name in ("implicit", "symplectic", "verlet", "midpoint", "rk4", "euler"):
        sim = build(name).build()
        sim.frame(30)
        limit = f"stable up to {1e3 * sim.stable_dt:.3g} ms"
        print(f"{name:10s} {sim.substeps:4d} substeps, {limit}, tip at {tip(sim):.4f} m")


if __name__ == "__main__":
    main()
