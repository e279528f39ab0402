"""The world the studio shows: a document, the lanes that simulate it, what hands do, and what was shown so far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pliant.errors import BlowUpError, InputError
from pliant.launch import pick_device
from pliant.simulation import Simulation
from pliant.studio.document import Document
from pliant.studio.frames import FrameMaker
from pliant.studio.hands import Hands, pinned_vertices
from pliant.studio.history import History
from pliant.studio.lane import Ball, Lane, Variant, moment_of, restore
from pliant.studio.meter import Meter
from pliant.studio.packing_scene import common_color, vertex_colors
from pliant.studio.recorder import Recorder

MOST_LANES = 4
BLOWN_FRAMES = 10
"""Frames before a blow-up that are not gone on from where there are earlier ones."""


class World:
    """Used by one thread: the engine's.

    Args:
        document: the scene.
        folder: where recordings, exports and uploads lie.
        device: 'auto', 'cpu' or 'cuda:0'.
        sim: a simulation of the document that runs already; built if not given.
        history_mb: memory for frames that can be gone back to.
    """

    def __init__(
        self,
        document: Document,
        folder: Path,
        device: str = "auto",
        sim: Simulation | None = None,
        history_mb: float = 512.0,
    ):
        self.document = document
        self.folder = folder
        self.device = pick_device(device) if sim is None else sim.device
        self.owned = sim
        self.variants = [Variant()]
        self.reference = 0
        self.hands = Hands()
        self.history = History(history_mb)
        self.meter = Meter()
        self.recorder = Recorder(folder / "files")
        self.frames = FrameMaker()
        self.camera: dict[str, Any] | None = None
        self._blown = False
        if sim is not None:
            self.lanes = [Lane(document.name, sim, document.loaded())]
        else:
            self.lanes = [Lane.build(self.variants[0], document, self.device, None)]
        self.scene_message = self.frames.scene(self.lanes, self.document)
        self.keep_moment()

    def painted(self) -> dict[str, list[float]]:
        """The colour that stands for each body that is seen in the paint of its mesh, by its name."""
        sim = self.lanes[0].sim
        found = [] if sim is None else [body for body in sim.model.bodies if body.painted and body.look is not None]
        return {body.name: common_color(body, vertex_colors(body, body.seen_triangles())) for body in found}

    # ---- time ---------------------------------------------------------------------------------------------------

    @property
    def frame_dt(self) -> float:
        lead = self.lanes[0]
        if lead.sim is not None:
            return lead.sim.frame_dt
        return lead.loaded.scene.settings.frame_dt if lead.loaded is not None else 1.0 / 60.0

    @property
    def frame_number(self) -> int:
        return 0 if self.lanes[0].sim is None else self.lanes[0].sim.frame_number

    @property
    def has_bodies(self) -> bool:
        return self.lanes[0].sim is not None

    def advance(self) -> None:
        """One frame of every lane."""
        self.hands.before_frame(self.lanes, self.frame_dt)
        try:
            for lane in self.lanes:
                lane.frame()
        except BlowUpError:
            self._blown = True
            raise
        self.recorder.add(self.lanes)
        if self.history.wants_moment(self.frame_number):
            self.keep_moment()

    def keep_moment(self) -> None:
        if self.has_bodies:
            self.history.add_moment(self.frame_number, [moment_of(lane.sim) for lane in self.lanes if lane.sim])

    def _begin_history(self) -> None:
        """Forget what was, and let the start be gone on from."""
        self.history.clear()
        self.keep_moment()

    def resume_from(self, frame: int) -> int:
        """Go on from the latest moment that is not after a frame; returns its number."""
        found = self.history.moment(frame)
        if found is None:
            raise InputError(
                f"from frame {frame} one cannot go on: the bodies were changed since, or it is too long ago",
                "resume_from",
                "Choose a later frame",
            )
        number, lanes = found
        self.recorder.stop()
        self.hands.release_all(self.lanes)
        for lane, moment in zip(self.lanes, lanes, strict=True):
            if lane.sim is not None and not restore(lane.sim, number, moment):
                raise InputError("the bodies were changed since", "resume_from", "Choose a later frame")
        self.history.forget_after(number)
        self._blown = False
        return number

    def reset(self) -> None:
        """Back to the start."""
        self.recorder.stop()
        self.hands.release_all(self.lanes)
        rewound = len(self.lanes) == 1 and self.owned is not None and self.lanes[0].rewind()
        if not rewound:
            self.rebuild(carry=False)
        self._begin_history()
        self._blown = False

    # ---- changes ------------------------------------------------------------------------------------------------

    def edit(self, change: Callable[[Document], Any], *, carry: bool = True) -> Any:
        """Change the document and build the lanes anew; neither changes if that fails."""
        with self.document.attempt():
            result = change(self.document)
            self.rebuild(carry=carry)
        return result

    def rebuild(self, *, carry: bool = True) -> None:
        """Build all lanes of the document as it is now; they go on from where they are if `carry`."""
        if carry and self._blown:
            self._go_back()
        same = carry and len(self.lanes) == len(self.variants)
        olds = self.lanes if same else [None] * len(self.variants)
        lanes = [
            Lane.build(variant, self.document, self.device, self.hands.ball, old)
            for variant, old in zip(self.variants, olds, strict=True)
        ]
        self._take(lanes)
        self._blown = False

    def _go_back(self) -> None:
        """Leave a blow-up by a little: what led to it would blow up the changed scene as well."""
        for frame in (self.frame_number - BLOWN_FRAMES, self.frame_number):
            if self.history.moment(frame) is not None:
                self.resume_from(frame)
                break

    def _take(self, lanes: list[Lane]) -> None:
        before = self.frames.layout
        if self.owned is not None and len(lanes) == 1 and lanes[0].sim is not None:
            # whoever holds the simulation that is shown goes on holding it
            self.owned.adopt(lanes[0].sim)
            lanes[0].hold(self.owned)
        self.lanes = lanes
        self.hands.hold_again(lanes)
        self.scene_message = self.frames.scene(lanes, self.document)
        if self.frames.layout != before:
            self.history.clear()
            self.recorder.stop()
        else:
            self.history.forget_moments()
        self.keep_moment()

    def open(self, document: Document) -> None:
        """Take another scene, from its start."""

        def change(mine: Document) -> None:
            mine.replace(document.tables, document.folder)

        self.hands.release_all(self.lanes)
        self.hands.put_ball_away()
        self.recorder.stop()
        owned, self.owned = self.owned, None
        self.variants, variants = [Variant()], self.variants
        try:
            self.edit(change, carry=False)
        except BaseException:
            self.variants, self.owned = variants, owned
            raise
        self.reference = 0
        self.camera = None
        self._begin_history()

    def compare(self, variants: list[Variant], reference: int) -> None:
        """Simulate the scene in several ways at once, from the start; one way ends the comparison."""
        if len(variants) > MOST_LANES:
            raise InputError(f"{len(variants)} ways at once", "compare", f"Give 2 to {MOST_LANES}")
        if variants and not 0 <= reference < len(variants):
            raise InputError(f"no lane {reference}", "compare.reference", f"Give 0 to {len(variants) - 1}")
        self.recorder.stop()
        self.hands.release_all(self.lanes)
        old, self.variants = self.variants, variants or [Variant()]
        try:
            self.rebuild(carry=False)
        except BaseException:
            self.variants = old
            raise
        self.reference = reference if variants else 0
        self._begin_history()

    def poke(self, ball: Ball) -> None:
        if not self.hands.poke(self.lanes, ball):
            try:
                self.rebuild()
            except BaseException:
                self.hands.put_ball_away()
                raise

    def unpoke(self) -> None:
        if self.hands.ball is not None:
            self.hands.put_ball_away()
            self.rebuild()

    # ---- looking ------------------------------------------------------------------------------------------------

    def document_with_pins(self) -> Document:
        """A copy of the document that holds what was pinned by hand, too."""
        copy = Document(self.document.tables, self.document.folder, self.document.meshes)
        sim = self.lanes[0].sim
        for name in copy.bodies():
            if sim is not None and any(body.name == name for body in sim.model.bodies):
                held = pinned_vertices(sim, name)
                if held and not copy.body(name).get("pins"):
                    copy.set_pins(name, held)
        return copy
