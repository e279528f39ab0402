"""Tets whose boundary follows the surface, through the optional package pytetwild (fTetWild, Hu et al. 2020)."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from pliant.errors import MissingExtraError, PliantError
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh

ENVELOPE = 1e-2
"""How far the boundary may be from the surface, as a part of the diagonal of its box."""
EDGE_PER_SIZE = 0.93
"""Edge length asked for per element size: the mean edge of a body-centred lattice of that cell size."""
# A process of its own: the library can run for an hour or crash, and only a process can be stopped.
SCRIPT = """
import sys
import numpy as np
import pytetwild
given = np.load(sys.argv[1])
vertices, tets = pytetwild.tetrahedralize(
    given["vertices"], given["triangles"], edge_length_abs=float(given["edge"]), epsilon=float(given["envelope"]),
    coarsen=True, num_threads=1, quiet=True)
np.savez(sys.argv[2], vertices=vertices, tets=tets)
"""


class ConformingError(PliantError):
    """The conforming mesher failed or ran out of time; callers do something else instead."""


def conform(surface: SurfaceMesh, size: float, time_limit: float = 120.0, envelope: float = ENVELOPE) -> TetMesh:
    """Tets that follow a surface to within a tolerance; slow, and for surfaces that stuffing rounds off too much.

    Args:
        surface: any triangles.
        size: element size, in the sense of `stuff` [m].
        time_limit: after which the work is stopped and `ConformingError` raised [s].
        envelope: largest distance between the surface and the tets' boundary, as a part of the box's diagonal.
    """
    if importlib.util.find_spec("pytetwild") is None:
        raise MissingExtraError("pytetwild", "tetwild", "Meshing with method 'conforming'")
    low, high = surface.vertices.min(axis=0), surface.vertices.max(axis=0)
    center, scale = 0.5 * (low + high), float((high - low).max())
    with tempfile.TemporaryDirectory(prefix="pliant-") as folder:
        given, made = Path(folder, "given.npz"), Path(folder, "made.npz")
        np.savez(
            given,
            vertices=(surface.vertices - center) / scale,
            triangles=surface.triangles,
            edge=EDGE_PER_SIZE * size / scale,
            envelope=envelope,
        )
        command = [sys.executable, "-c", SCRIPT, str(given), str(made)]
        try:
            # In the folder, since the library leaves a file where it runs.
            done = subprocess.run(command, capture_output=True, timeout=time_limit, check=False, cwd=folder)
        except subprocess.TimeoutExpired:
            raise ConformingError(f"pytetwild was stopped after {time_limit:.3g} s") from None
        if done.returncode != 0 or not made.exists():
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise ConformingError(f"pytetwild ended with code {done.returncode}: {lines[-1]}")
        with np.load(made) as result:
            vertices, tets = result["vertices"], result["tets"]
    if not len(tets):
        raise ConformingError("pytetwild found nothing inside the surface")
    mesh = TetMesh(vertices * scale + center, tets.astype(np.int32), surface.name).drop_unused().oriented()[0]
    try:
        mesh.check()
    except ValueError as error:
        raise ConformingError(f"pytetwild made a mesh that cannot be used: {error}") from error
    return TetMesh(mesh.vertices, mesh.tets, mesh.name)
