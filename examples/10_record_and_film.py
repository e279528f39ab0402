"""Record every frame in one file, then read it back and draw it: pictures need no GPU, no display and no OpenGL.

The recording is lossless and survives a crash of the program. Films need the extra `film` (`pip install
'pliant[film]'`). The command line does all of this: `pliant run SCENE` and `pliant render RECORDING`.
"""

import tempfile
from pathlib import Path

import numpy as np

import pliant
from pliant.export.frames import FramesReader, FramesWriter
from pliant.render.camera import Camera
from pliant.render.film import Film
from pliant.render.raycast import Renderer


def build() -> pliant.Scene:
    scene = pliant.Scene(name="film")
    scene.add_body(pliant.shapes.torus(0.25, 0.1, cells=2), "soft_rubber", position=(0, 0.5, 0), rotation=(70, 0, 0))
    scene.add_plane()
    return scene


def record(sim: pliant.Simulation, path: Path, frames: int) -> None:
    with FramesWriter(path, {"frame_dt": sim.frame_dt}, {"triangles": sim.model.surface()}) as writer:
        for _ in range(frames):
            sim.frame()
            # `model.surface()` counts particles in the model's order, so record them in that order too
            writer.add(sim.frame_number, sim.time, sim.state.x.numpy())


def film(recording: Path, path: Path, size: tuple[int, int], device: str) -> int:
    with FramesReader(recording) as reader, Film(path, fps=30.0) as target:
        first, triangles = reader[0][2], reader.arrays["triangles"]
        low, high = first.min(axis=0), first.max(axis=0)
        camera = Camera.framing((low[0], 0.0, low[2]), high, size[0] / size[1], margin=1.3)
        renderer = Renderer(*size, device)
        renderer.set_geometry(triangles, np.array([0.2, 0.5, 0.8]), len(first))
        for k in range(0, len(reader), 2):
            target.add(renderer.draw(reader[k][2], camera, ground_height=0.0))
        return target.count


def check(sim: pliant.Simulation) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recording, movie = Path(folder) / "torus.plf", Path(folder) / "torus.webp"
        record(sim, recording, 12)
        with FramesReader(recording) as reader:
            assert len(reader) == 12
            assert np.array_equal(reader[11][2], sim.state.x.numpy()), "what is read is what was written"
        assert film(recording, movie, (96, 54), sim.device) == 6
        assert movie.stat().st_size > 500


def main() -> None:
    sim = build().build()
    out = Path("out") / "example_10"
    record(sim, out / "torus.plf", 120)
    count = film(out / "torus.plf", out / "torus.mp4", (640, 360), sim.device)
    print(f"{count} pictures in {out / 'torus.mp4'}")


if __name__ == "__main__":
    main()
