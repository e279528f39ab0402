"""A running simulation: owns the state, runs the stages in their fixed order, captures them, watches for blow-ups."""

from __future__ import annotations

import importlib
import math
import time as clock
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from pliant.attachments import Attachments, collider_pose
from pliant.blow_up import Moment, describe
from pliant.collide.contacts import Contacts
from pliant.collide.pipeline import Pipeline
from pliant.collide.soft.backing import WHOLE
from pliant.collide.soft.body_contacts import BodyContacts
from pliant.collide.soft.methods import contact_method
from pliant.collide.soft.parting import SplitSheets
from pliant.collide.soft.settings import ContactSettings
from pliant.contact_forces import is_backed
from pliant.errors import BlowUpError
from pliant.forces.inside import clear_forces, inside_forces, surround
from pliant.forces.pull import Pulls
from pliant.forces.wind import WindForce
from pliant.forces.wind_settings import Wind
from pliant.guard import Guard, GuardReport
from pliant.launch import Recording, copy, record, run_if
from pliant.model.model import Model
from pliant.model.state import State
from pliant.pins import Pins
from pliant.plan import Plan
from pliant.quantities import Quantities
from pliant.settle import Settled, settle
from pliant.skin.bodies import BodySkins
from pliant.skin.pieces import PartingSkins
from pliant.sleep.settings import SleepSettings
from pliant.sleep.sleeping import Sleeping
from pliant.solvers.protocol import Solver, World
from pliant.touching import Touching
from pliant.vectors import as_count

# The step that is used by default, over the largest that is stable at rest: a compressed body is stiffer.
SAFETY = 0.7


class Simulation(Touching):
    """Made by `Scene.build`. Call `frame()` to advance by one frame.

    Attributes:
        model: what is simulated.
        state: positions and velocities on the device, in the model's order; use `positions()` for yours.
        frame_dt: duration of a frame [s].
        frame_number: frames done.
        notes: what the user should know about how the scene was built.
        plan: the steps that were chosen, and why; None where a step was given and none was estimated.
        scene: what it was built from; None where it was put together by hand.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        world: World,
        pipeline: Pipeline,
        solvers: Sequence[Solver],
        frame_dt: float,
        substeps: int,
        stretch_limit: float,
        device: str,
        wind: Wind | tuple[float, float, float] = (0.0, 0.0, 0.0),
        air_density: float = 1.2,
        attachments: Attachments | None = None,
        contact: ContactSettings | None = None,
        sleep: SleepSettings | None = None,
    ):
        self.model = model
        self.state = state
        self.world = world
        self.pipeline = pipeline
        self.solvers = list(solvers)
        self.device = device
        self.frame_dt = frame_dt
        self.substeps = substeps
        self.frame_number = 0
        self.notes: list[str] = []
        self.scene: Any = None
        self.plan: Plan | None = None
        self.contacts = Contacts(state.count, pipeline.slots, device)
        apart = frozenset(solver.name for solver in self.solvers if getattr(solver, "keeps_apart", False))
        self.body_contacts = contact_method(model, contact or ContactSettings(), device, apart)
        self.notes += getattr(self.body_contacts, "notes", [])
        if self.body_contacts.active and hasattr(self.body_contacts, "let_follow"):
            self.body_contacts.let_follow([s for s in self.solvers if hasattr(s, "follow_contacts")])
            if isinstance(self.body_contacts, BodyContacts):
                joining: list[Any] = [s for s in self.solvers if hasattr(s, "let_join")]
                self.body_contacts.let_join(joining[0] if joining else None)
                self.body_contacts.let_back(pipeline, self.contacts, self._taken_from_colliders())
        self.pins = Pins(model.particles.mass, device, collider_pose(pipeline))
        self.attachments = Attachments([], state.count, device) if attachments is None else attachments
        self.sleeping = Sleeping(
            model, state, sleep or SleepSettings(), self.contacts, self.body_contacts, self.attachments, device
        )
        self.pulls = Pulls(device)
        self.forces = inside_forces(model, device)
        surround(self.forces, world.gravity, air_density)
        self.sleeping.follow(self.solvers, self.forces, model)
        self.wind = WindForce(model, device, wind, air_density)
        self.built_in = (world.gravity, self.wind.settings, air_density)
        found = (getattr(solver, "tearing", None) for solver in self.solvers)
        self.tearing = next((tearing for tearing in found if tearing is not None), None)
        if self.tearing is not None:
            self.wind.follow(self.tearing.fans())
        self._parting_contacts = getattr(self.body_contacts, "parting", None)
        if self.tearing is not None and self._parting_contacts is not None:
            names = [body.name for body in model.bodies]
            first = {names.index(sheet.name): self.tearing.slots(sheet.name).start for sheet in self.tearing.sheets}
            self._parting_contacts.follow_split(SplitSheets(self.tearing.corners, self.tearing.home, first))
        self.skins = BodySkins(model.bodies, device, model.particles, self.tearing)
        self._parting = PartingSkins(model.bodies, self.skins)
        self._told_of_break = False
        self._told_of_passing = False
        self._skins_stale = True
        self.guard = Guard(model, device, stretch_limit)
        for solver in self.solvers:
            # a method that breaks springs tells the guard of them
            if hasattr(solver, "watched_by"):
                solver.watched_by(self.guard)
        self.quantities = Quantities(model, device)
        self.quantities.contact = self.contact_pressures
        if self.tearing is not None:
            self.quantities.follow(self.tearing.fans(), self.tearing.rest_inv)
        self.stable_dt = math.inf
        self._programs: dict[Any, Recording | wp.Graph] = {}
        self._good = {name: wp.clone(array) for name, array in self.arrays().items()}
        self._good_frame = 0
        self._unchecked = False
        self._pins_told = -1

    # ---- advancing ----------------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.frame_number * self.frame_dt

    @property
    def substeps(self) -> int:
        """Steps per frame."""
        return self._substeps

    @substeps.setter
    def substeps(self, count: int) -> None:
        self._substeps = as_count(count, "substeps", high=100_000)

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self.frame_dt / self.substeps

    def frame(self, count: int = 1, *, check: bool = True) -> None:
        """Advance by `count` frames.

        Args:
            count: number of frames.
            check: look for a blow-up after each frame, and let bodies break; on CUDA this waits for the frame to
                finish. What goes wrong in frames that are not checked is found when the next one is, and what was
                stretched too far in them breaks after it.

        Raises:
            BlowUpError: a value is not finite or absurd; the state is put back to the last frame known to be good.
        """
        for _ in range(as_count(count, "frame(count)", low=0)):
            if check:
                self._look_before_change()
            keep = not self._unchecked
            if keep:
                self._good_frame = self.frame_number
            self._tell_of_pins()
            self.pins.aim(self.time + self.frame_dt)
            self.pipeline.aim(self.time, self.time + self.frame_dt, self.substeps)
            self._tell_of_stir()
            self._run(keep)
            if check:
                self._make_room()
            self.frame_number += 1
            self.pipeline.end_frame()
            self._skins_stale = False
            if check:
                self._stop_if_bad()
                self._break_bodies()
                self._tell_of_passing()
            else:
                self._unchecked = True

    def _run(self, keep: bool) -> None:
        program = self._program(keep)
        if isinstance(program, Recording):
            program.replay()
        else:
            wp.capture_launch(program)

    def _make_room(self) -> None:
        """Do the frame again with larger tables, where contacts did not fit into them."""
        while self.body_contacts.grow():
            self._programs.clear()
            self._forget_passing()
            for name, array in self.arrays().items():
                wp.copy(array, self._good[name])
            self.follow_restored()
            self._run(True)

    def _tell_of_lost_contacts(self) -> None:
        """Tell of contacts that did not fit in frames which were not checked, and make room for more."""
        if self.make_room_for_contacts():
            self.notes.append(
                f"There was too little room for contacts in one of the frames {self._good_frame + 1} to "
                f"{self.frame_number}, which were not checked one by one: some were not seen. There is more room now."
            )
            warnings.warn(self.notes[-1], stacklevel=4)

    def make_room_for_contacts(self) -> bool:
        if not self.body_contacts.grow():
            return False
        self._programs.clear()
        return True

    def _tell_of_passing(self) -> None:
        """Tell, once, of something thin that has passed through something."""
        careful = getattr(self.body_contacts, "careful", None)
        if careful is None or self._told_of_passing or not careful.left.numpy()[0]:
            return
        self._told_of_passing = True
        self.notes.append(
            f"Something passed through a sheet or a rod by frame {self.frame_number}, though it was stopped again and "
            "again. More substeps, or a larger thickness of the contacts, hold it better."
        )
        warnings.warn(self.notes[-1], stacklevel=3)

    def _forget_passing(self) -> None:
        """The last frame is done again: what passed in it has not."""
        careful = getattr(self.body_contacts, "careful", None)
        if careful is not None and not self._told_of_passing:
            careful.left.zero_()

    def _tell_of_pins(self) -> None:
        """Tell the methods which particles are pinned, where that has changed."""
        if self._pins_told != self.pins.version:
            for solver in self.solvers:
                solver.pins_changed(self.state, np.array(self.pins.order, np.int64))
            self._pins_told = self.pins.version

    def _tell_of_stir(self) -> None:
        """Tell what sleeps of what is done in the next frame: pulls, pins and colliders that move, gusts."""
        if not self.sleeping.active:
            return
        held = [pull.members for pull in self.pulls.host if len(pull.members)]
        begin, end = self.time, self.time + self.frame_dt
        moving = self.pipeline.moving(begin, end)
        held.append(self.pins.led_on(begin, end))
        held += [np.array(self.pins.led_by(slot), np.int64) for slot in moving]
        stirred = set(self.model.particles.body[np.concatenate(held).astype(np.int64)].tolist())
        if self.wind.gusty:
            stirred = set(range(len(self.model.bodies)))
        self.sleeping.tell(stirred, moving)

    def _stop_if_bad(self) -> None:
        report = self.guard.read()
        if report.bad:
            self._explain_blow_up(report)

    def _break_bodies(self) -> None:
        """Break what was stretched too far, and let what is seen follow."""
        if any([solver.between_frames(self.frame_dt) for solver in self.solvers]):
            self.sleeping.wake()
            self._follow_breaks()
            if not self._told_of_break:
                broken = [b.name for b in self.model.bodies if len(self.broken_links(b.name))]
                broken += [b.name for b in self.model.bodies if self.broken_springs(b.name).any()]
                self.notes += [f"Body '{name}' began to break in frame {self.frame_number}." for name in broken[:1]]
                self._told_of_break = bool(broken)
        self.notes += [f"{what} in frame {self.frame_number}." for what in self.attachments.newly_broken()]
        for solver in self.solvers:
            for what, loud in getattr(solver, "news", list)():
                self.notes.append(f"{what} in frame {self.frame_number}.")
                if loud:
                    warnings.warn(self.notes[-1], stacklevel=3)

    def _follow_breaks(self) -> None:
        """Let the seen surfaces follow what hangs together now."""
        apart = [np.zeros((0, 2), np.int64)]
        for body in self.model.bodies:
            links = self._links(body.name)
            if links is not None:
                self._parting.follow(body.name, links)
            if body.options.get("tears"):
                self.skins.tear(body, self.torn_triangles(body.name))
            if body.segments is not None and body.material.breaks_at is not None:
                broken = self.broken_segments(body.name)
                self.skins.break_rods(body, broken)
                apart.append(body.segments[broken].astype(np.int64) + body.particles[0])
        self.quantities.forget(np.concatenate(apart))
        if any(body.options.get("tears") for body in self.model.bodies):
            self.wind.tear(np.concatenate([self.torn_triangles(body.name) for body in self.model.bodies]))
        self._let_contacts_follow()
        torn = [body for body in self.model.bodies if body.method == "mass_spring" and body.material.breaks_at]
        self.guard.forget([(body.springs[0], self.broken_springs(body.name)) for body in torn])

    def _let_contacts_follow(self) -> None:
        """Let contacts between bodies know what is outside now."""
        if self._parting_contacts is None:
            return
        pieces, gone = {}, {}
        for b, body in enumerate(self.model.bodies):
            links = self._links(body.name)
            if links is not None:
                pieces[b] = links.particle_pieces()
            elif body.segments is not None:
                gone[b] = self.broken_segments(body.name)
            elif not body.splits and body.material.breaks_at is not None:
                gone[b] = self.torn_triangles(body.name)
        self._parting_contacts.follow(pieces, gone)

    def follow_restored(self) -> None:
        """Follow the arrays of `arrays`, which were set from outside."""
        if any([solver.restored() for solver in self.solvers]):
            self._follow_breaks()
        self.attachments.restored()
        self.pipeline.restored()
        self.sleeping.restored()
        self._skins_stale = True

    def _program(self, keep: bool = True) -> Recording | wp.Graph:
        """The frame as one recording or one CUDA graph; made again when what takes part in it changes."""
        forced = (self.pulls.active, self.wind.active, self.wind.gusty)
        key = (keep, forced, self.pins.count, id(self.pins.particle), self.pipeline.moves, self.substeps, self.frame_dt)
        if key not in self._programs:
            if len(self._programs) > 8:
                self._programs.clear()
            if self.device == "cpu":
                with record() as recording:
                    self._issue_frame(keep=keep)
                self._programs[key] = recording
            else:
                self._load_kernels()
                with wp.ScopedCapture(device=self.device) as capture:
                    self._issue_frame(keep=keep)
                self._programs[key] = capture.graph
        return self._programs[key]

    def _load_kernels(self) -> None:
        """Run a frame eagerly and undo it, so that every kernel is compiled and loaded before the capture."""
        saved = {name: wp.clone(array) for name, array in self.arrays().items()}
        self.sleeping.any.fill_(1)
        self._issue_frame(substeps=min(self.substeps, 2), keep=False)
        for name, array in self.arrays().items():
            wp.copy(array, saved[name])

    def can_fuse(self) -> bool:
        """Whether a substep is a single launch: one method, no forces nor attachments, and the method knows how."""
        alone = len(self.solvers) == 1 and not self.attachments.count and not self.body_contacts.active
        return alone and self.solvers[0].can_fuse() and not self.is_forced()

    def is_forced(self) -> bool:
        """Whether forces besides those of the methods act: pulls, wind, or what fills a closed surface."""
        return self.pulls.active or self.wind.active or any(force.active for force in self.forces)

    def apply_forces(self) -> None:
        """Write state.f_ext: every force adds its own."""
        if self.forces or self.wind.active:
            clear_forces(self.state, self.device)
        if self.pulls.active:
            self.pulls.apply(self.state)
        for force in self.forces:
            force.apply(self.state, self.dt)
        if self.wind.active:
            self.wind.apply(self.state, self.dt)

    def _issue_frame(self, substeps: int | None = None, *, keep: bool = True) -> None:
        """Launch everything a frame consists of, in order. Nothing here allocates or reads back.

        Args:
            substeps: how many; those of a whole frame if not given.
            keep: remember the state before it as the last good one.
        """
        if keep:
            for name, array in self.arrays().items():
                copy(self._good[name], array)
        self._issue_begin()
        self.world.has_f_ext = self.is_forced()
        count = self.substeps if substeps is None else substeps
        # while all sleep nothing happens, unless something besides the bodies goes on
        goes_on = self.is_forced() or self.pipeline.moves or self.pipeline.deforms
        if self.sleeping.active and not goes_on:
            run_if(self.sleeping.any, lambda: self._issue_substeps(count), device=self.device)
        else:
            self._issue_substeps(count)
        if self.skins.active:
            self.skins.update(self.state.x)
        self.guard.look(self.state)

    def _issue_begin(self) -> None:
        """What comes before the substeps of a frame."""
        self.sleeping.begin_frame()
        self.pins.lead(self.state, self.frame_dt)
        self.sleeping.stop_pins(self.pins)

    def _issue_substeps(self, count: int) -> None:
        """So many substeps, and what sums up over them."""
        self.attachments.begin_frame()
        self.body_contacts.begin_frame(self.frame_dt)
        if self.can_fuse():
            self.solvers[0].fused(self.state, self.dt, count)
            self.pipeline.detect(self.state.x, self.contacts, margin=1e-6)
        else:
            for _ in range(count):
                self.issue_substep()
        self.attachments.end_frame(self.frame_dt, self.state)
        self.sleeping.end_frame(self.frame_dt)

    def issue_substep(self) -> None:
        self.sleeping.begin_step()
        self.attachments.begin_step(self.state, self.dt, self.world.gravity)
        if self.is_forced():
            self.apply_forces()
        for solver in self.solvers:
            solver.predict(self.state, self.dt)
        if self.body_contacts.active:
            self.body_contacts.resolve(self.state, self.dt)
        self.pipeline.detect(self.state.x_next, self.contacts, before=self.state.x, again=self._is_backed())
        if self.pipeline.moves or self.pipeline.deforms:
            self.sleeping.wake_hit()
        for solver in self.solvers:
            solver.resolve(self.state, self.contacts, self.dt)
        self.attachments.apply(self.state, self.dt)
        if self.body_contacts.active:
            self.body_contacts.finish(self.state, self.dt)

    def _is_backed(self) -> bool:
        """Whether contacts between bodies have looked at colliders in this step already."""
        return is_backed(self.body_contacts)

    def _taken_from_colliders(self) -> np.ndarray:
        """What the method of each particle takes of momentum that is left to colliders (n,): all, that along their
        normals, or none."""
        takes = np.zeros(self.state.count, np.int32)
        for body in self.model.bodies:
            solver = next(solver for solver in self.solvers if solver.name == body.method)
            takes[slice(*body.particles)] = getattr(solver, "takes_from_colliders", WHOLE)
        return takes

    def settle(
        self, *, loads: Mapping[str, np.ndarray] | None = None, tolerance: float = 2e-6, most: int = 100
    ) -> Settled:
        """Bring all bodies to rest where forces balance, by Newton's method; time does not pass. See `pliant.settle`.

        Args:
            loads: forces on the vertices of bodies by name [N] (n, 3), in the order of their meshes, which act besides.
            tolerance: move of a step at which to stop, over the size of the bodies.
            most: steps that may be taken.
        """
        self._look_before_change()
        return settle(self, loads=loads, tolerance=tolerance, most=most)

    def stage_times(self, frames: int = 2) -> dict[str, float]:
        """Time of each stage per frame [ms], measured stage by stage outside the capture; the state is put back."""
        saved = {name: wp.clone(array) for name, array in self.arrays().items()}
        times: dict[str, float] = {}

        def timed(name: str, action: Any) -> None:
            wp.synchronize_device(self.device)
            begin = clock.perf_counter()
            action()
            wp.synchronize_device(self.device)
            times[name] = times.get(name, 0.0) + (clock.perf_counter() - begin) * 1e3 / frames

        for _ in range(frames):
            self.pipeline.aim(self.time, self.time + self.frame_dt, self.substeps)
            self.body_contacts.begin_frame(self.frame_dt)
            timed("pins", self._issue_begin)
            if self.can_fuse():
                timed("fused step", lambda: self.solvers[0].fused(self.state, self.dt, self.substeps))
                timed("detect", lambda: self.pipeline.detect(self.state.x, self.contacts, margin=1e-6))
            else:
                for _ in range(self.substeps):
                    if self.attachments.count:
                        begin = [self.state, self.dt, self.world.gravity]
                        timed("attachments", lambda given=begin: self.attachments.begin_step(*given))
                    if self.is_forced():
                        timed("forces", self.apply_forces)
                    for solver in self.solvers:
                        timed(f"predict {solver.name}", lambda s=solver: s.predict(self.state, self.dt))
                    if self.body_contacts.active:
                        timed("contacts", lambda: self.body_contacts.resolve(self.state, self.dt))
                    again = self._is_backed()
                    met = [self.state.x_next, self.contacts, 0.0, self.state.x]
                    timed("detect", lambda given=met, again=again: self.pipeline.detect(*given, again=again))
                    for solver in self.solvers:
                        timed(f"resolve {solver.name}", lambda s=solver: s.resolve(self.state, self.contacts, self.dt))
                    if self.attachments.count:
                        timed("attachments", lambda: self.attachments.apply(self.state, self.dt))
                    if self.body_contacts.active:
                        timed("contacts", lambda: self.body_contacts.finish(self.state, self.dt))
            if self.skins.active:
                timed("skin", lambda: self.skins.update(self.state.x))
            timed("guard", lambda: self.guard.look(self.state))
        for name, array in self.arrays().items():
            wp.copy(array, saved[name])
        self._skins_stale = True
        return times

    # ---- blow-ups -----------------------------------------------------------------------------------------------

    def _explain_blow_up(self, found: GuardReport) -> None:
        """Go back to the last good frame, find the substep and the element that went wrong, and say so."""
        last = self.frame_number
        self._restore_good()
        self.world.has_f_ext = self.is_forced()
        report, substep = found, 0
        calm = self.state.x.numpy().astype(np.float64)
        while self.frame_number < last and not substep:
            self.pins.aim(self.time + self.frame_dt)
            self.pipeline.aim(self.time, self.time + self.frame_dt, self.substeps)
            self._tell_of_stir()
            self._issue_begin()
            self.body_contacts.begin_frame(self.frame_dt)
            for k in range(1, self.substeps + 1):
                self.issue_substep()
                self.guard.look(self.state)
                seen = self.guard.read()
                if seen.bad:
                    report, substep = seen, k
                    break
                calm = self.state.x.numpy().astype(np.float64)
            self.frame_number += 1
        x, v = self.state.x.numpy(), self.state.v.numpy()
        moment = Moment(
            self.frame_number, substep, self.substeps, self.frame_dt, self.stable_dt, SAFETY, self._good_frame
        )
        details = describe(self.model, report, x, v, calm, moment)
        self._restore_good()
        self._unchecked = False
        raise BlowUpError(details.pop("message"), details)

    def _look_before_change(self) -> None:
        """Check the frames that were not checked, while it can still be told what went wrong in them."""
        if self._unchecked:
            self._stop_if_bad()
            self._tell_of_lost_contacts()
            self._unchecked = False

    def _restore_good(self) -> None:
        self.frame_number = self._good_frame
        for name, array in self.arrays().items():
            wp.copy(array, self._good[name])
        self.follow_restored()

    def adopt(self, other: Simulation) -> None:
        """Become another simulation in place, for those who hold a reference to this one."""
        self.__dict__ = dict(other.__dict__)
        self.quantities.contact = self.contact_pressures

    def view(self, **options: Any) -> Any:
        """Show it in a page, where it can be dragged and changed, and go on at once; see `pliant.show`.

        In a notebook the view that is returned shows itself.
        """
        # the studio is built on simulations, and not the other way round: it is looked up when it is wanted
        return importlib.import_module("pliant.studio.show").show(self, block=False, **options)

    def forget_programs(self) -> None:
        """Record the frame again before it runs next: what takes part in it has changed."""
        self._programs.clear()
        self._unchecked = False
        self._skins_stale = True

    def arrays(self) -> dict[str, wp.array]:
        """Every device array a checkpoint must hold, by name."""
        arrays = {f"state.{k}": a for k, a in self.state.checkpointed().items()}
        for solver in self.solvers:
            arrays |= {f"{solver.name}.{k}": a for k, a in solver.scratch().items()}
        arrays |= {f"colliders.{k}": a for k, a in self.pipeline.arrays().items()}
        for force in self.forces:
            arrays |= {f"forces.{k}": a for k, a in force.arrays().items()}
        arrays |= {f"attachments.{k}": a for k, a in self.attachments.arrays().items()}
        arrays |= {f"wind.{k}": a for k, a in self.wind.arrays().items()}
        arrays |= {f"contact.{k}": a for k, a in self.body_contacts.arrays().items()}
        arrays |= {f"sleep.{k}": a for k, a in self.sleeping.arrays().items()}
        return arrays
