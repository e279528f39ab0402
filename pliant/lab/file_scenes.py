"""Scene files under several methods."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

from pliant.lab.ways import Way
from pliant.scene import Scene
from pliant.scene_file import Overrides, load_scene
from pliant.solvers.shape_matching.settings import as_matching


def scene_of_file(path: str | os.PathLike) -> Callable[[Way], Scene]:
    """What `compare` takes: a scene file, with all of its bodies simulated in one way."""

    def build(way: Way) -> Scene:
        scene = load_scene(path, Overrides(method=way.method)).scene
        for k, entry in enumerate(scene.bodies):
            spec = entry.spec
            if way.matching:
                spec = dataclasses.replace(spec, matching=as_matching(way.matching, "matching"))
            how = entry.calibrate if way.calibrate == "auto" else way.calibrate
            scene.bodies[k] = dataclasses.replace(entry, spec=spec, calibrate=how)
        return scene

    build.__name__ = os.path.basename(os.fspath(path))
    return build
