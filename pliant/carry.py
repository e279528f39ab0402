"""A simulation of a changed scene goes on from the state of the one before it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import warp as wp

from pliant.model.model import Body
from pliant.pins import ColliderLead, Lead
from pliant.simulation import Simulation
from pliant.solvers.protocol import Solver
from pliant.solvers.shape_matching.solver import ShapeMatching

SAME_PLACE = 1e-6
"""Distance over a body's size below which two rest positions are the same."""


def carry_state(old: Simulation, new: Simulation) -> list[str]:
    """Bring the state of a simulation to one that was just built of a changed scene; returns the bodies it has reached.

    The frame number goes over. A body goes on where it was, as fast as it was, if one of the same name has the same
    vertices at rest, whatever its method and material are now; one whose mesh has changed or was placed elsewhere
    starts anew. Permanent changes of shape and broken links go over where the clusters are the same, and so do
    vertices that were pinned or let go by hand. Pulls do not.
    """
    new.frame_number = old.frame_number
    pairs = _same_bodies(old, new)
    states = [(getattr(old.state, key), getattr(new.state, key)) for key in ("x", "v")]
    for source, target in states:
        values, found = target.numpy().copy(), source.numpy()
        for before, now in pairs:
            values[now.particle_of] = found[before.particle_of]
        target.assign(values)
    scratch = _Rows(new)
    for before, now in pairs:
        _carry_scratch(old, new, before, now, scratch)
    scratch.write()
    _carry_tears(old, new, pairs)
    if len(pairs) == len(old.model.bodies) == len(new.model.bodies):
        _carry_forces(old, new)
    new.wind.carry(old.wind)
    for before, now in pairs:
        _carry_pins(old, new, before, now)
    new.attachments.carry(old.attachments, {now.name for _, now in pairs}, new.state.x.numpy())
    new.follow_restored()
    new.forget_programs()
    return [now.name for _, now in pairs]


def _same_bodies(old: Simulation, new: Simulation) -> list[tuple[Body, Body]]:
    """Bodies of the same name with the same rest positions, as they were and as they are."""
    known = {body.name: body for body in old.model.bodies}
    pairs = []
    for now in new.model.bodies:
        before = known.get(now.name)
        if before is None or len(before.rank) != len(now.rank):
            continue
        rest = new.model.particles.rest[now.particle_of]
        moved = np.abs(old.model.particles.rest[before.particle_of] - rest).max(initial=0.0)
        if moved <= SAME_PLACE * np.ptp(rest, axis=0).max(initial=0.0):
            pairs.append((before, now))
    return pairs


class _Rows:
    """Rows of device arrays that are set one after the other and written at once."""

    def __init__(self, sim: Simulation):
        self._device = sim.device
        self._values: dict[int, tuple[wp.array, np.ndarray]] = {}
        self._read: dict[int, np.ndarray] = {}

    def copy(self, source: wp.array, rows: slice, target: wp.array, at: slice) -> None:
        """Set rows of the target from rows of the source, which have as many."""
        if id(source) not in self._read:
            self._read[id(source)] = source.numpy()
        if id(target) not in self._values:
            self._values[id(target)] = (target, target.numpy().copy())
        self._values[id(target)][1][at] = self._read[id(source)][rows]

    def write(self) -> None:
        for target, values in self._values.values():
            target.assign(values)


def _solver_of(sim: Simulation, body: Body) -> Solver:
    return next(solver for solver in sim.solvers if solver.name == body.method)


def _carry_scratch(old: Simulation, new: Simulation, before: Body, now: Body, rows: _Rows) -> None:
    """What the method remembers of a body, where that means the same as before."""
    if before.method != now.method:
        if getattr(_solver_of(new, now), "rods", None) is not None:
            # segments stand as their vertices do
            _solver_of(new, now).reset(new.state, now.particles)
        return
    source, target = _solver_of(old, before), _solver_of(new, now)
    if isinstance(source, ShapeMatching) and isinstance(target, ShapeMatching):
        _carry_clusters(source, target, before, now, rows)
        return
    rods, others = getattr(source, "rods", None), getattr(target, "rods", None)
    if rods is not None and others is not None:
        others.carry(rods, before.name, now.name)
    # remainders of rounding, and accelerations, which are others once a constant has changed
    same = before.material == now.material and before.raw == now.raw and source.settings == target.settings
    if not same or old.dt != new.dt or not np.array_equal(before.rank, now.rank):
        return
    theirs, ours = source.scratch(), target.scratch()
    for key in theirs.keys() & ours.keys():
        if key.startswith("tear_"):
            continue  # see _carry_tears
        if len(theirs[key]) == old.state.count and len(ours[key]) == new.state.count:
            rows.copy(theirs[key], slice(*before.particles), ours[key], slice(*now.particles))


def _carry_tears(old: Simulation, new: Simulation, pairs: list[tuple[Body, Body]]) -> None:
    """Where sheets have come apart, and the state of what was split off."""
    if old.tearing is None or new.tearing is None:
        return
    split = []
    for before, now in pairs:
        rows = new.tearing.carry(old.tearing, before.name, now.name)
        split += [] if rows is None else [rows]
    mass = new.tearing.masses()
    for key in ("x", "v", "inv_mass"):
        theirs, ours = getattr(old.state, key).numpy(), getattr(new.state, key)
        values = ours.numpy().copy()
        for there, here in split:
            if key != "inv_mass":
                values[here] = theirs[there]
                continue
            # pins stay as they are in the new scene
            own, held = mass[here], values[here] == 0.0
            spare = new.model.particles.mass[here] == 0.0
            loose = (own > 0.0) & (~held | spare)
            fresh = np.where(loose, 1.0 / np.where(loose, own, 1.0), 0.0).astype(np.float32)
            # the same to the last bit where the masses are
            same = loose & (np.abs(theirs[there] * own - 1.0) < 1e-3)
            values[here] = np.where(same, theirs[there], fresh)
        ours.assign(values)


def _carry_clusters(source: ShapeMatching, target: ShapeMatching, before: Body, now: Body, rows: _Rows) -> None:
    """The shape a shape-matched body has taken on, and its broken links."""
    if not _same_arrays(before.clusters, now.clusters) or not np.array_equal(before.rank, now.rank):
        return
    here, there = _place(source, before.name), _place(target, now.name)
    if here is None or there is None:
        return
    (g, k), (h, m) = here, there
    first, second = source.groups[g], target.groups[h]
    one, two = first.clusters_of(k), second.clusters_of(m)
    if first.order == second.order and one.stop - one.start == two.stop - two.start:
        theirs, ours = first.scratch(), second.scratch()
        for key in theirs.keys() & ours.keys():
            rows.copy(theirs[key], one, ours[key], two)
    if g in source.fractures and h in target.fractures:
        links, others = _link_rows(source, g).get(k), _link_rows(target, h).get(m)
        if links is not None and others is not None and links.stop - links.start == others.stop - others.start:
            theirs, ours = source.fractures[g].scratch(), target.fractures[h].scratch()
            for key in theirs.keys() & ours.keys():
                rows.copy(theirs[key], links, ours[key], others)


def _place(solver: ShapeMatching, name: str) -> tuple[int, int] | None:
    """The group of a body, and the body's place in it."""
    for g, group in enumerate(solver.groups):
        for k, body in enumerate(group.bodies):
            if body.name == name:
                return g, k
    return None


def _link_rows(solver: ShapeMatching, g: int) -> dict[int, slice]:
    """The rows of each body's links in the arrays of a group's fracture."""
    found, end = {}, 0
    for k, links in solver.fractures[g].links.items():
        found[k] = slice(end, end + links.count)
        end += links.count
    return found


def _same_arrays(first: Any, second: Any) -> bool:
    """Whether two dataclasses of arrays hold the same, or both are missing."""
    if first is None or second is None:
        return first is second
    if type(first) is not type(second):
        return False
    for field in dataclasses.fields(first):
        a, b = getattr(first, field.name), getattr(second, field.name)
        equal = np.array_equal(a, b) if isinstance(a, np.ndarray) else _equal(a, b)
        if not equal:
            return False
    return True


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(np.array_equal, a, b))
    return bool(np.all(a == b))


def _carry_forces(old: Simulation, new: Simulation) -> None:
    """What the forces inside of bodies remember, where all bodies are the same."""
    for before, now in zip(old.forces, new.forces, strict=False):
        theirs, ours = before.arrays(), now.arrays()
        same = getattr(before, "settings", None) == getattr(now, "settings", None)
        if (
            same
            and type(before) is type(now)
            and {k: a.shape for k, a in theirs.items()} == {k: a.shape for k, a in ours.items()}
        ):
            for key, array in ours.items():
                array.assign(theirs[key].numpy())


def _carry_pins(old: Simulation, new: Simulation, before: Body, now: Body) -> None:
    """Pins set by hand, and those of the scene that were let go by hand."""
    held = _pinned(old, before)
    asked, wanted = _scene_pins(old, before.name), _scene_pins(new, now.name)
    freed = sorted((asked & wanted) - held.keys())
    if freed:
        new.pins.remove(now.particle_of[freed], new.state)
    by_path: dict[int, tuple[Lead | None, list[int]]] = {}
    for vertex in sorted(held.keys() - asked - wanted):
        path = held[vertex][1]
        if isinstance(path, ColliderLead):
            continue
        by_path.setdefault(id(path), (path, []))[1].append(vertex)
    for path, vertices in by_path.values():
        home = np.array([held[vertex][0] for vertex in vertices])
        new.pins.add(now.particle_of[vertices], home, path, new.state)


def _pinned(sim: Simulation, body: Body) -> dict[int, tuple[np.ndarray, Lead | None]]:
    """The pinned vertices of a body, with their homes and paths."""
    vertex = np.empty(len(body.rank), np.int64)
    vertex[body.rank] = np.arange(len(body.rank))
    first, end = body.particles
    return {int(vertex[i - first]): (sim.pins.home[i], sim.pins.paths[i]) for i in sim.pins.home if first <= i < end}


def _scene_pins(sim: Simulation, name: str) -> set[int]:
    """The vertices of a body that its scene pins."""
    scene = getattr(sim, "scene", None)
    entries = [] if scene is None else [entry for entry in scene.bodies if entry.name == name]
    pinned = [index for entry in entries for index, _ in entry.pins]
    if scene is not None:
        pinned += [a.vertices for a in scene.attachments if a.is_collider and a.body == name]
    return {int(v) for index in pinned for v in index}
