"""Frames with all that is known of them, for ParaView and other programs: strain, stress and contacts as arrays."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import TracebackType

import numpy as np

from pliant.errors import InputError
from pliant.export.vtk import write_collection, write_grid
from pliant.files import cannot_write, safe_names, write_json
from pliant.model.model import Body
from pliant.simulation import Simulation

MEASURED = ("strain", "stress")
CONTACTS = "contacts"
VERTEX, EDGE, COLLIDER = 0, 1, 2
KINDS = {"vertex": VERTEX, "edge": EDGE}


class FieldsWriter:
    """Writes what a simulation knows, frame by frame, into a folder of VTK files.

    For each body ``NAME_00012.vtu``: its tets, triangles, segments or points with ``velocity``, ``strain``, ``stress``,
    ``contact`` and ``contact_force`` of each vertex, and of finite elements ``tet_strain``, ``tet_stress``,
    ``tet_von_mises`` and ``tet_volume`` of each tet. ``contacts_00012.vtu`` holds a point for each contact, with
    ``normal``, ``depth``, ``force``, ``body``, ``vertex``, ``other``, ``collider`` and ``kind``. ``fields.pvd`` says
    which file belongs to which time, ``names.json`` what the numbers of bodies and colliders mean.

    Args:
        sim: what is simulated.
        folder: made if it does not exist. Files of frames beyond the present one are removed: they are of another run.
    """

    def __init__(self, sim: Simulation, folder: str | os.PathLike) -> None:
        self.sim = sim
        self.folder = Path(folder)
        bodies = [body.name for body in sim.model.bodies]
        *self._files, self._contacts = safe_names([*bodies, CONTACTS])
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for frame, _, path in self._written():
                if frame > sim.frame_number:
                    path.unlink()
        except OSError as error:
            raise cannot_write(self.folder, error) from error
        colliders = [collider.name for collider in sim.pipeline.colliders]
        write_json(self.folder / "names.json", {"bodies": bodies, "colliders": colliders})

    def __enter__(self) -> FieldsWriter:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None or not issubclass(kind, InputError):
            self.close()

    def add(self) -> list[Path]:
        """Write the present frame; returns its files. Contacts are measured by a step that is undone."""
        sim = self.sim
        touched, forces = sim.contact_forces()
        met = sim.body_contact_list()
        count = sim.state.count
        on_colliders = np.zeros((count, 3))
        np.add.at(on_colliders, touched.particle, forces)
        between = met.particle_forces(count)
        of_particles = {
            "velocity": sim.state.v.numpy(),
            **{name: sim.quantities.measure(name, sim.state).numpy().copy() for name in MEASURED},
            "contact": np.linalg.norm(between, axis=1) + np.linalg.norm(on_colliders, axis=1),
            "contact_force": between + on_colliders,
        }
        x = sim.state.x.numpy()
        paths = []
        for body, name in zip(sim.model.bodies, self._files, strict=True):
            particles, cells, of_cells = self._grid(body)
            path = self._path(name)
            own = {key: values[particles] for key, values in of_particles.items()}
            write_grid(path, x[particles], cells, own, of_cells)
            paths.append(path)
        none, other = np.full(len(touched), -1), np.full(len(met), -1)
        assert touched.body is not None and touched.vertex is not None
        contacts = {
            "normal": np.concatenate([met.normal, touched.normal]),
            "depth": np.concatenate([met.depth, touched.depth]),
            "force": np.concatenate([met.force, forces]),
            "body": np.concatenate([met.bodies[:, 0], touched.body]),
            "vertex": np.concatenate([met.vertices[:, 0], touched.vertex]),
            "other": np.concatenate([met.bodies[:, 1], none]),
            "collider": np.concatenate([other, touched.collider]),
            "kind": np.concatenate([[KINDS[str(kind)] for kind in met.kind], np.full(len(touched), COLLIDER)]),
        }
        whole = ("body", "vertex", "other", "collider", "kind")
        contacts |= {key: contacts[key].astype(np.int32) for key in whole}
        points = np.concatenate([met.point, x[touched.particle]])
        path = self._path(self._contacts)
        write_grid(path, points, np.arange(len(points)).reshape(-1, 1), contacts)
        return [*paths, path]

    def close(self) -> Path:
        """Write which file belongs to which time; returns that file."""
        rows = sorted((frame, part, path) for frame, part, path in self._written())
        path = self.folder / "fields.pvd"
        write_collection(path, [(frame * self.sim.frame_dt, part, file) for frame, part, file in rows])
        return path

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}_{self.sim.frame_number:05d}.vtu"

    def _written(self) -> list[tuple[int, str, Path]]:
        """Frame, part and file of all that lies in the folder."""
        parts = [*self._files, self._contacts]
        found = [(re.fullmatch(r"(.+)_(\d{5,})\.vtu", path.name), path) for path in self.folder.iterdir()]
        return [(int(match[2]), match[1], path) for match, path in found if match and match[1] in parts]

    def _grid(self, body: Body) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Particles of a body, its vertices in their order and then what has split off; cells over them, and the data
        of the cells."""
        sim = self.sim
        particles = body.particle_of
        solver = next(s for s in sim.solvers if s.name == body.method)
        if hasattr(solver, "tet_fields"):
            found = sim.tet_fields(body.name)
            data = {"strain": found.strain, "stress": found.stress, "von_mises": found.von_mises}
            return particles, found.tets, {f"tet_{k}": v for k, v in (data | {"volume": found.volume}).items()}
        cells = sim.model.tets.corners[slice(*body.tets)].astype(np.int64)
        if not len(cells):
            splits = sim.tearing is not None and sim.tearing.owns(body.name)
            cells = sim.tearing.corners_of(body.name) if splits and sim.tearing else body.surface.astype(np.int64)
            torn = sim.torn_triangles(body.name)
            cells = cells[~torn] if len(torn) == len(cells) else cells
        if not len(cells) and body.segments is not None:
            cells = body.segments[~sim.broken_segments(body.name)].astype(np.int64) + body.particles[0]
        if not len(cells):
            cells = particles.reshape(-1, 1)
        particles = np.concatenate([particles, np.setdiff1d(cells, particles)])
        place = np.zeros(sim.state.count, np.int64)
        place[particles] = np.arange(len(particles))
        return particles, place[cells], {}
