"""Drop a soft ball on a floor: the smallest complete program."""

import pliant


def build() -> pliant.Simulation:
    scene = pliant.Scene()
    scene.add_body(pliant.shapes.ball(0.3, cells=6), "soft_rubber", position=(0, 1, 0), name="ball")
    scene.add_plane()
    return scene.build()


def check(sim: pliant.Simulation) -> None:
    lowest = []
    for _ in range(60):
        sim.frame()
        lowest.append(sim.positions("ball")[:, 1].min())
    assert min(lowest) >= 0.0, "nothing is below the floor"
    landed = next(k for k, height in enumerate(lowest) if height == 0.0)
    assert abs(landed / 60 - 0.378) < 0.03, "0.7 m of free fall take sqrt(2 h / g) = 0.378 s"
    assert max(lowest[landed:]) > 0.1, "it bounces"
    assert abs(sim.diagnostics().volume_ratio - 1.0) < 0.05, "and keeps its volume"


def main() -> None:
    sim = build()
    for _ in range(12):
        sim.frame(10)
        print(f"{sim.time:.2f} s: lowest point at {sim.positions('ball')[:, 1].min():.3f} m")


if __name__ == "__main__":
    main()
