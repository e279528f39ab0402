"""What an animation is made of: surfaces that move, surfaces that stand still, and the moments they are shown at."""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.mesh.surface import SurfaceMesh

Report = Callable[[float], None]
"""Called with the share that is done, from 0 to 1; what it raises ends the work and leaves no file behind."""


@dataclasses.dataclass(frozen=True, eq=False)
class Clip:
    """Moving surfaces at chosen frames of a recording; y up, lengths in metres.

    Attributes:
        bodies: each with its name, its triangles, its look, and its vertices in the first frame. A look has paints or
            colours of vertices, not both: some formats multiply them.
        still: what does not move.
        times: of the frames, from the first on (k,) [s].
        rate: frames of the recording per second [1/s].
        every: frames of the recording from one that is chosen to the next.
        positions: the vertices of every body in a frame, by its place in `times`: (n, 3) float32 [m] each.
        source: the recording, for messages.
    """

    bodies: tuple[SurfaceMesh, ...]
    still: tuple[SurfaceMesh, ...]
    times: np.ndarray
    rate: float
    every: int
    positions: Callable[[int], list[np.ndarray]]
    source: str = "clip"

    def __len__(self) -> int:
        return len(self.times)

    def frames(self, report: Report | None = None) -> Iterator[list[np.ndarray]]:
        """The vertices of every body, frame by frame; an `InputError` for numbers that are not finite."""
        if report is not None:
            report(0.0)
        for k in range(len(self)):
            found = self.positions(k)
            for body, x in zip(self.bodies, found, strict=True):
                if not np.isfinite(x).all():
                    raise InputError(
                        f"body {body.name!r} has positions that are not finite at {self.times[k]:g} s",
                        self.source,
                        "Export a recording of a run that stayed finite",
                    )
            yield found
            if report is not None:
                report((k + 1) / len(self))

    def check_times(self, times: np.ndarray) -> None:
        """Refuse times (k,), as a format holds them, that do not rise from frame to frame."""
        if np.any(np.diff(times) <= 0):
            raise InputError(
                "two frames have the same time", self.source, "Export fewer frames, or as a point cache (.pc2)"
            )

    def check_size(self, needed: int, most: int | None, path: Path) -> None:
        """Refuse to write so many bytes if the format, or the disk, has no room for them."""
        free = shutil.disk_usage(_existing(path)).free
        limit = free if most is None else min(free, most)
        if needed > limit:
            why = "the disk has room for" if limit == free else "such a file holds at most"
            wanted = self.every * math.ceil(needed / max(limit, 1))
            raise InputError(
                f"{len(self):,} frames take {needed / 1e9:,.2f} GB, and {why} {limit / 1e9:,.2f} GB",
                str(path),
                f"Export fewer frames: every={wanted} (--every {wanted})",
            )


def _existing(path: Path) -> Path:
    """The nearest folder above that exists."""
    return next((folder for folder in Path(os.path.abspath(path)).parents if folder.is_dir()), Path("."))


def vertex_normals(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Unit normals of vertices (n, 3) float32: the mean of their triangles' by area; upward where there is none."""
    a, b, c = (vertices[triangles[:, i]].astype(np.float64) for i in range(3))
    faces = np.cross(b - a, c - a)
    corners = triangles.ravel()
    # One sum per axis in the order of the corners: the same bytes each time.
    sums = [np.bincount(corners, np.repeat(faces[:, axis], 3), len(vertices)) for axis in range(3)]
    normals = np.stack(sums, axis=1)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    found = length > 1e-30
    return np.where(found, normals / np.where(found, length, 1.0), [0.0, 1.0, 0.0]).astype(np.float32)
