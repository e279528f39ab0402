"""Raw spring and volume constants, as papers print them.

With `raw` the material's stiffness is not used. The constants then belong to one mesh: refine it and the body
changes, which is why materials are the default. The numbers are the parameters of a cube of 15,484 tets
(Lesmes, table 6.3): a mass of 50 kg, springs of 50 N/m, mass shared out by mean tet volume, one pass of a
strain limit, and a step of 8 ms.
"""

import pliant

CONSTANTS = pliant.RawConstants(
    spring=50.0, spring_damping=0.001, volume=25.0, volume_damping=0.01, volume_form="absolute", mass=50.0
)


def build() -> pliant.Scene:
    scene = pliant.Scene(name="raw", frame_dt=0.04, substeps=5)
    cube = pliant.shapes.box(10.0, cells=(7, 7, 6))
    scene.add_body(cube, raw=CONSTANTS, mass_distribution="average_volume", position=(0, 6, 0), name="cube")
    scene.add_plane(friction=0.0)
    scene.configure("mass_spring", volume_damping_form="corner", strain_limit=1.5, strain_passes=1)
    return scene


def check(sim: pliant.Simulation) -> None:
    assert abs(sim.model.particles.mass.sum() - 50.0) < 1e-9
    assert (sim.model.springs.stiffness == 50.0).all()
    assert sim.dt == 0.008 < sim.stable_dt, "the source's step is stable here"
    sim.frame(75)  # 3 s
    now = sim.diagnostics()
    assert now.finite and now.max_stretch < 1.6
    assert sim.positions()[:, 1].min() >= 0.0


def main() -> None:
    sim = build().build()
    for _ in range(5):
        sim.frame(15)
        now = sim.diagnostics()
        print(f"{sim.time:.1f} s: volume {now.volume_ratio:.3f}, longest spring {now.max_stretch:.2f} of rest")


if __name__ == "__main__":
    main()
