"""What holds the bodies of a scene: pins, and attachments to other bodies and to colliders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pliant.assembly import BodyEntry
from pliant.attachments import AttachmentEntry, Tie, as_limit, find_tie
from pliant.collide.collider import Collider
from pliant.errors import InputError
from pliant.model.model import Model
from pliant.motion import MotionPath
from pliant.pins import ColliderLead, as_motion
from pliant.scene_checks import new_name, picked_vertices
from pliant.simulation import Simulation


class SceneHolding:
    """The part of a `Scene` that pins and attaches."""

    bodies: list[BodyEntry]
    colliders: list[Collider]
    attachments: list[AttachmentEntry]

    def pin(
        self,
        body: str,
        where: Callable[[np.ndarray], np.ndarray] | Sequence[int] | np.ndarray | str,
        path: MotionPath | Sequence[Any] | None = None,
        *,
        center: Sequence[float] | None = None,
    ) -> int:
        """Hold vertices of a body; returns how many.

        Args:
            body: its name.
            where: vertex numbers, a function from rest positions (n, 3) in the world to a mask (n,), or 'roots': the
                first segment of every strand of a `RodMesh`.
            path: keys along which the pinned vertices are led: ``(time [s], offset [m])``, or tables of 'time',
                'offset', 'rotation' (axis times degrees) and 'scale', or a `MotionPath`.
            center: what is turned and scaled about [m]; the middle of the chosen vertices if not given.
        """
        entry = self._entry(body, "pin")
        index = picked_vertices(entry.mesh, where, f"pin of body '{body}'")
        entry.pins.append((index, as_motion(path, center, entry.mesh.vertices[index], f"pin of body '{body}'")))
        return int(index.size)

    def _entry(self, body: Any, where: str) -> BodyEntry:
        entry = next((b for b in self.bodies if b.name == body), None)
        if entry is None:
            names = ", ".join(b.name for b in self.bodies)
            raise InputError(f"no body {body!r}", where, f"The bodies are: {names or 'none'}")
        return entry

    def attach(
        self,
        body: str,
        where: Callable[[np.ndarray], np.ndarray] | Sequence[int] | np.ndarray | str,
        to: str,
        *,
        at: Callable[[np.ndarray], np.ndarray] | Sequence[int] | np.ndarray | str | None = None,
        stiffness: float | None = None,
        distance: float | None = None,
        strength: float | None = None,
        name: str | None = None,
    ) -> str:
        """Attach vertices of a body to another body, to other vertices of the same one, or to a collider.

        Each vertex is held to the nearest point of the other body, as if by a rod with joints at its ends; where they
        meet it is a joint. Vertices that are attached to a collider are pinned, and go where the collider goes. Returns
        the name of the attachment, which `Simulation.detach` takes.

        Args:
            body, where: the vertices, as in `pin`.
            to: name of a body or of a collider.
            at: vertices of the other body instead of the nearest point of it. Two lists of as many numbers are pairs;
                otherwise each vertex goes to the nearest of these.
            stiffness: of a spring in place of the rod [N/m].
            distance: that is kept [m], as at the start if not given; another one is reached in half a second.
            strength: mean force of a frame at which a vertex comes off [N].
            name: must be new; numbered if not given.
        """
        name = new_name(name, "attachment", [a.name for a in self.attachments])
        label = f"attachment '{name}'"
        entry = self._entry(body, f"{label}.body")
        index = picked_vertices(entry.mesh, where, label)
        other = next((b for b in self.bodies if b.name == to), None)
        is_collider = other is None and any(c.name == to for c in self.colliders)
        if other is None and not is_collider:
            known = [b.name for b in self.bodies] + [c.name for c in self.colliders]
            raise InputError(f"no body or collider {to!r}", f"{label}.to", f"There are: {', '.join(known)}")
        made = AttachmentEntry(name, body, index, to, is_collider)
        made.stiffness = as_limit(stiffness, f"{label}.stiffness", "N/m")
        made.distance = as_limit(distance, f"{label}.distance", "m", zero=True)
        made.strength = as_limit(strength, f"{label}.strength", "N")
        if other is None:
            for key, value in (("at", at), ("stiffness", stiffness), ("distance", distance), ("strength", strength)):
                if value is not None:
                    raise InputError(
                        "what is attached to a collider is pinned to it", f"{label}.{key}", f"Leave '{key}' out"
                    )
        elif at is not None:
            made.at = picked_vertices(other.mesh, at, f"{label}.at")
            listed = not (callable(where) or callable(at) or isinstance(where, str) or isinstance(at, str))
            made.is_paired = bool(
                listed and np.asarray(where).dtype != bool != np.asarray(at).dtype and len(made.at) == len(index)
            )
        elif to == body:
            raise InputError(
                "every vertex is the nearest point of its own body", f"{label}.at", "Give the vertices in 'at'"
            )
        if not made.is_paired:
            made.vertices = np.unique(index)
        self.attachments.append(made)
        return name

    def _ties(self, model: Model) -> list[Tie]:
        """The attachments between bodies, by particles of the model."""
        meshes, made = {entry.name: entry.mesh for entry in self.bodies}, {body.name: body for body in model.bodies}
        return [find_tie(entry, meshes, made) for entry in self.attachments if not entry.is_collider]

    def _hold(self, sim: Simulation) -> None:
        """Pin in a simulation what is pinned here, and what is attached to a collider."""
        rest, made = sim.model.particles.rest, {body.name: body for body in sim.model.bodies}
        pinned = {entry.name: entry.pins for entry in self.bodies}
        for body in sim.model.bodies:
            for index, path in pinned[body.name]:
                particles = body.particle_of[index]
                sim.pins.add(particles, rest[particles], path, sim.state)
        for attached in self.attachments:
            if attached.is_collider:
                particles = made[attached.body].particle_of[attached.vertices]
                slot = sim.pipeline.slot(attached.to)
                lead = ColliderLead(slot, *sim.pins.pose(slot, 0.0), sim.pins.pose)
                sim.pins.add(particles, rest[particles], lead, sim.state)
                sim.attachments.led[attached.name] = particles
