"""A simulation in a browser: `pliant.show` opens a page in which it is dragged, changed, recorded and exported.

The page talks to an engine, which does one thing after the other in a thread of its own. A script can ask it for the
same things, as `check` does.
"""

import tempfile
from pathlib import Path

import numpy as np

import pliant


def build() -> pliant.Scene:
    scene = pliant.Scene(name="drag me")
    scene.add("duck", "soft_rubber", method="shape_matching", size=0.3, position=(0, 0.2, 0), name="duck")
    scene.add_plane()
    return scene


def check(sim: pliant.Simulation) -> None:
    from pliant.studio.document import Document
    from pliant.studio.engine import Engine

    folder = Path(tempfile.mkdtemp())
    engine = Engine(Document.from_simulation(sim, folder), folder, sim=sim)
    engine.start()

    def ask(command: str, **arguments: object) -> object:
        return engine.do(command, "a script", **arguments).result(60)

    try:
        seen = sim.surface_positions("duck")
        beak = int(seen[:, 0].argmax())
        target = seen[beak] + [0.2, 0.3, 0.0]
        ask("grab", body="duck", vertex=beak, at=seen[beak].tolist())
        ask("drag", target=target.tolist())
        ask("step", frames=90)
        assert np.linalg.norm(sim.surface_positions("duck")[beak] - target) < 0.1, "the duck follows the hand"
        ask("set", target={"material": "duck"}, key="density", value=500.0)
        light = sim.model.particles.mass.sum()
        ask("undo")
        assert abs(sim.model.particles.mass.sum() / light - 2.0) < 1e-3, "and its material is changed while it runs"
        program = ask("copy", form="python")
        assert isinstance(program, dict) and "pliant.Scene" in program["text"], "the scene can be taken away"
    finally:
        engine.stop()


def main() -> None:
    pliant.show(build())


if __name__ == "__main__":
    main()
