"""What can be asked of the studio, by name: the arguments, and what is done with them.

Pages, the stream and scripts all go through this table, so that nothing is done with a value that was not checked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.errors import InputError
from pliant.mesh.assets import asset_names
from pliant.quantities import QUANTITIES
from pliant.scene_file import shipped_scenes
from pliant.studio.arguments import (
    Argument,
    anything,
    check_arguments,
    flag,
    number,
    optional,
    table,
    tables,
    text,
    vector,
    whole,
)
from pliant.studio.document import Document
from pliant.studio.files_of import moved, renamed
from pliant.studio.jobs import export_request
from pliant.studio.lane import Ball, Variant
from pliant.vectors import FARTHEST, FASTEST

if TYPE_CHECKING:
    from pliant.studio.engine import Engine

MOST_FRAMES = 1_000_000_000
MOST_VERTICES = 1 << 31
KINDS = ("mp4", "gif", "webp", "glb", "usd", "pc2", "obj", "ply", "stl")
PLACE = vector(FARTHEST)


@dataclasses.dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        arguments: what it takes.
        run: called with the engine, the client's name and the arguments, in the engine's thread.
    """

    arguments: dict[str, Argument]
    run: Callable[..., Any]


COMMANDS: dict[str, Command] = {}


def command(**arguments: Argument) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function to the table under its name."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        COMMANDS[function.__name__.rstrip("_")] = Command(arguments, function)
        return function

    return add


def checked(name: Any, arguments: dict[str, Any]) -> tuple[Command, dict[str, Any]]:
    """The command of a name, and its arguments checked."""
    if not isinstance(name, str) or name not in COMMANDS:
        raise InputError(f"no command {str(name)[:60]!r}", "do", f"The commands are: {', '.join(COMMANDS)}")
    return COMMANDS[name], check_arguments(name, COMMANDS[name].arguments, arguments)


# ---- time -----------------------------------------------------------------------------------------------------------


@command()
def play(engine: Engine, client: str) -> None:
    if not engine.world.has_bodies:
        raise InputError("there is nothing to simulate", "play", "Add a body first")
    engine.show_live()
    engine.set_playing(True)


@command()
def pause(engine: Engine, client: str) -> None:
    engine.set_playing(False)


@command(frames=whole(1, 1000, 1))
def step(engine: Engine, client: str, frames: int) -> None:
    engine.set_playing(False)
    engine.show_live()
    for _ in range(frames):
        if not engine.advance():
            break


@command()
def reset(engine: Engine, client: str) -> None:
    engine.world.reset()
    engine.show_live()
    engine.say_scene()


@command(value=number(0.01, 10.0))
def speed(engine: Engine, client: str, value: float) -> None:
    engine.clock.speed = value


@command(frame=whole(0, MOST_FRAMES))
def seek(engine: Engine, client: str, frame: int) -> None:
    engine.set_playing(False)
    engine.show_past(frame)


@command()
def live(engine: Engine, client: str) -> None:
    engine.show_live()


@command(frame=whole(0, MOST_FRAMES))
def resume_from(engine: Engine, client: str, frame: int) -> int:
    found = engine.world.resume_from(frame)
    engine.show_live()
    return found


# ---- hands ----------------------------------------------------------------------------------------------------------


@command(body=text(), vertex=whole(0, MOST_VERTICES), at=PLACE, strength=number(0.001, 1000.0, 1.0))
def grab(engine: Engine, client: str, body: str, vertex: int, at: Any, strength: float) -> None:
    engine.show_live()
    world = engine.world
    world.hands.grab(world.lanes, client, body, vertex, at, strength)


@command(target=PLACE, seq=whole(0, 1 << 53, 0))
def drag(engine: Engine, client: str, target: Any, seq: int) -> None:
    world = engine.world
    world.hands.drag(world.lanes, client, target, seq)
    engine.drags[client] = max(seq, engine.drags.get(client, 0))


@command()
def release(engine: Engine, client: str) -> None:
    engine.world.hands.release(engine.world.lanes, client)


@command(body=text(), velocity=vector(FASTEST))
def throw(engine: Engine, client: str, body: str, velocity: Any) -> None:
    engine.show_live()
    engine.world.hands.throw(engine.world.lanes, body, velocity)


@command(body=text(), vertex=whole(0, MOST_VERTICES), radius=number(0.0, FARTHEST, 0.0))
def pin(engine: Engine, client: str, body: str, vertex: int, radius: float) -> bool:
    engine.show_live()
    return engine.world.hands.pin(engine.world.lanes, body, vertex, radius)


@command(body=optional(text()))
def unpin(engine: Engine, client: str, body: str | None) -> None:
    world = engine.world
    for name in [body] if body else [b.name for b in world.lanes[0].bodies]:
        world.hands.unpin(world.lanes, name)


@command(position=PLACE, radius=number(1e-4, 1e4))
def poke(engine: Engine, client: str, position: Any, radius: float) -> None:
    engine.show_live()
    engine.world.poke(Ball(position, radius))
    engine.poker = client


@command()
def unpoke(engine: Engine, client: str) -> None:
    engine.world.unpoke()


@command(eye=PLACE, first=PLACE, last=PLACE)
def cut(engine: Engine, client: str, eye: Any, first: Any, last: Any) -> int:
    engine.show_live()
    broken = engine.world.hands.cut(engine.world.lanes, eye, first, last)
    engine.world.history.forget_moments()
    return broken


def _leave(engine: Engine, client: str) -> None:
    """What a client that has gone held is let go, and what it wanted to see is forgotten."""
    engine.layers.pop(client, None)
    engine.drags.pop(client, None)
    release(engine, client)
    if engine.poker == client:
        engine.poker = None
        engine.world.unpoke()


LEAVE = Command({}, _leave)
"""Not in the table: only the engine asks for it."""


# ---- looking --------------------------------------------------------------------------------------------------------


@command(particles=flag(False), contacts=flag(False), stages=flag(False))
def layers(engine: Engine, client: str, **wanted: bool) -> None:
    engine.layers[client] = {name for name, on in wanted.items() if on}


@command(name=optional(text(choices=tuple(QUANTITIES))))
def heat(engine: Engine, client: str, name: str | None) -> None:
    engine.heat = name


@command(eye=PLACE, target=PLACE, up=PLACE, fov=number(1.0, 170.0))
def camera(engine: Engine, client: str, **view: Any) -> None:
    if view["eye"] == view["target"]:
        raise InputError("eye and target are the same point", "camera", "Move one of them")
    engine.world.camera = view


# ---- the scene ------------------------------------------------------------------------------------------------------


@command(target=table(), key=text(), value=anything(None))
def set_(engine: Engine, client: str, target: dict[str, Any], key: str, value: Any) -> None:
    _check_files(engine, [{key: value}])
    engine.edit(lambda document: document.set(target, key, value))


@command(table=table())
def add_body(engine: Engine, client: str, table: dict[str, Any]) -> str:
    _check_files(engine, [table])
    return engine.edit(lambda document: document.add_body(table))


@command(name=text())
def remove_body(engine: Engine, client: str, name: str) -> None:
    engine.edit(lambda document: document.remove_body(name))


@command(name=text())
def copy_body(engine: Engine, client: str, name: str) -> str:
    return engine.edit(lambda document: document.copy_body(name))


@command(name=text(), new=text())
def rename_body(engine: Engine, client: str, name: str, new: str) -> None:
    engine.edit(lambda document: document.rename_body(name, new))


@command(kind=text(), table=table({}))
def add_collider(engine: Engine, client: str, kind: str, table: dict[str, Any]) -> str:
    _check_files(engine, [table])
    return engine.edit(lambda document: document.add_collider(kind, table))


@command(name=text())
def remove_collider(engine: Engine, client: str, name: str) -> None:
    engine.edit(lambda document: document.remove_collider(name))


@command()
def undo(engine: Engine, client: str) -> bool:
    return engine.document.can_undo and engine.edit(lambda document: document.undo())


@command()
def redo(engine: Engine, client: str) -> bool:
    return engine.document.can_redo and engine.edit(lambda document: document.redo())


@command(scene=text())
def open_(engine: Engine, client: str, scene: str) -> None:
    if scene == "empty":
        document = Document.empty(engine.world.folder)
    elif scene in shipped_scenes():
        document = Document.open(scene)
    else:
        names = ", ".join(["empty", *shipped_scenes()])
        raise InputError(f"no scene {scene!r}", "open", f"The scenes are: {names}")
    engine.set_playing(False)
    engine.show_live()
    engine.world.open(at_home(document, engine.world.folder))
    engine.say_scene()


@command(lanes=tables(4), reference=whole(0, 3, 0))
def compare(engine: Engine, client: str, lanes: list[dict[str, Any]], reference: int) -> None:
    if len(lanes) == 1:
        raise InputError("one lane cannot be compared", "compare.lanes", "Give 2 to 4, or none to end the comparison")
    known = {
        "name": optional(text()),
        "method": optional(text()),
        "matching": optional(table()),
        "settings": optional(table()),
    }
    variants = []
    for lane in lanes:
        given = check_arguments("compare.lanes", known, lane)
        variants.append(Variant(given["name"] or "", given["method"], given["matching"], given["settings"]))
    engine.world.compare(variants, reference)
    engine.show_live()
    engine.say_scene()


@command(form=text("toml", choices=("toml", "python")))
def copy(engine: Engine, client: str, form: str) -> dict[str, str]:
    document = engine.world.document_with_pins()
    return {"text": document.toml() if form == "toml" else document.python()}


# ---- recordings -----------------------------------------------------------------------------------------------------


@command(on=flag(), name=optional(text()))
def record(engine: Engine, client: str, on: bool, name: str | None) -> str | None:
    world = engine.world
    engine.show_live()
    told = world.recorder.start(world.lanes, name, world.camera) if on else world.recorder.stop()
    engine.tell(event="recording", name=world.recorder.name)
    return told


@command(recording=text(), kind=text(choices=KINDS), camera=optional(table()))
def export(engine: Engine, client: str, recording: str, kind: str, camera: dict[str, Any] | None) -> int:
    from pliant.studio.recorder import check_name

    view = engine.world.camera
    if camera is not None:
        view = check_arguments("camera", COMMANDS["camera"].arguments, camera)
    folder = engine.world.recorder.folder
    request, file = export_request(folder, check_name(recording, "export.recording"), kind, view, engine.world.device)
    return engine.jobs.add(f"{recording} as {kind}", request, file)


def at_home(document: Document, folder: Path) -> Document:
    """The document with files named as seen from the project's folder, where uploads lie, too."""
    if document.folder.resolve() == folder:
        return document
    return Document(moved(document.tables, document.folder, folder), folder, document.meshes)


def _check_files(engine: Engine, given: list[dict[str, Any]]) -> None:
    """Refuse files outside of the project: a client may name what was uploaded, and the samples."""
    root = engine.world.folder

    def check(name: str) -> str:
        if name in asset_names():
            return name
        if "\0" in name:
            raise InputError(f"{name[:80]!r} cannot be a file's name", "file", "Upload the file first")
        path = Path(engine.world.document.folder, name).resolve()
        if not path.is_relative_to(root):
            raise InputError(f"the file {name[:80]!r} lies outside of the project", "file", "Upload the file first")
        return name

    renamed({"given": given}, check)
