"""Shape matching needs no tets: a duck's surface is pulled to where its rest shape fits best, in three modes.

What a goal may do decides how a body gives way. Rigid goals only turn, so what touches the floor is dented. Linear
goals are sheared and squeezed too, so the whole duck is. Quadratic ones bend and twist as well.
"""

import numpy as np

import pliant

VINYL = pliant.Material(density=300.0, young=2.5e4, damping=0.004, friction=0.7)
MODES = ("rigid", "linear", "quadratic")


def build() -> pliant.Scene:
    scene = pliant.Scene(name="ducks")
    for k, mode in enumerate(MODES):
        scene.add(
            "duck", VINYL, solid="surface", method="shape_matching", matching={"mode": mode, "beta": 0.7},
            name=mode, position=(0.4 * (k - 1), 0.4, 0.0), rotation=(0.0, 0.0, 50.0),
        )  # fmt: skip
    scene.add_plane()
    return scene


def left_over(x: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Squared deformation, and what the best linear and the best quadratic map leave of it, as a mean [m^2] (3,)."""
    p, q = x - x.mean(axis=0), rest - rest.mean(axis=0)
    u, _, vt = np.linalg.svd(p.T @ q)
    maps = [q, np.concatenate([q, q**2, q * np.roll(q, 1, axis=1)], axis=1)]
    fits = [f @ np.linalg.lstsq(f - f.mean(axis=0), p, rcond=None)[0] for f in maps]
    return np.array([((p - fit + fit.mean(axis=0)) ** 2).sum(axis=1).mean() for fit in (q @ (u @ vt).T, *fits)])


def landing(sim: pliant.Simulation) -> dict[str, np.ndarray]:
    """The sums of `left_over` over the first landing."""
    rest = {mode: sim.positions(mode).astype(float) for mode in MODES}
    total = dict.fromkeys(MODES, np.zeros(3))
    for _ in range(22):
        sim.frame()
        total = {mode: total[mode] + left_over(sim.positions(mode), rest[mode]) for mode in MODES}
    return total


def check(sim: pliant.Simulation) -> None:
    shares = {mode: sums[1:] / sums[0] for mode, sums in landing(sim).items()}
    assert shares["linear"][0] < 0.8 * shares["rigid"][0], "a linear goal lets the duck deform linearly"
    assert shares["quadratic"][1] < 0.6 * min(shares["rigid"][1], shares["linear"][1]), "a quadratic one lets it bend"


def main() -> None:
    for mode, sums in landing(build().build()).items():
        linear, quadratic = sums[1:] / sums[0]
        print(f"{mode}: the best linear map leaves {linear:.0%} of the deformation, a quadratic one {quadratic:.0%}")


if __name__ == "__main__":
    main()
