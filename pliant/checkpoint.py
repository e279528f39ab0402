"""Checkpoints: everything needed to go on bit for bit, in one file that is written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.forces.inside import surround
from pliant.forces.wind_settings import as_wind
from pliant.pins import wrong_pins
from pliant.simulation import Simulation

VERSION = 1


def scene_digest(sim: Simulation) -> str:
    """A fingerprint of what is simulated: a checkpoint fits only the scene it came from."""
    model = sim.model
    digest = hashlib.sha256()
    for array in (
        model.particles.rest,
        model.particles.mass,
        model.springs.pairs,
        model.springs.stiffness,
        model.tets.corners,
        model.triangles.corners,
    ):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(
        repr(
            [
                (b.name, b.method, b.material, b.raw, b.options.get("volume"), b.options.get("matching"))
                for b in model.bodies
            ]
        ).encode()
    )
    gravity, wind, air_density = sim.built_in
    digest.update(repr((gravity, sim.pipeline.colliders)).encode())
    if any(wind.velocity):
        digest.update(repr((wind.velocity, air_density)).encode())
    if not wind.is_plain:
        digest.update(repr((wind, air_density)).encode())
    if sim.body_contacts.settings.between != "none":
        digest.update(repr(sim.body_contacts.settings).encode())
    if sim.sleeping.active:
        digest.update(repr(sim.sleeping.settings).encode())
    for tie in sim.attachments.host:
        digest.update(repr((tie.entry.name, tie.entry.stiffness, tie.entry.strength)).encode())
        for array in (tie.particles, tie.host_particles, tie.weights, tie.target):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_checkpoint(sim: Simulation, path: str | Path) -> None:
    """Write a simulation's state, pins, pulls and clock to a file (a zip of .npy arrays, no pickle)."""
    arrays = {name: array.numpy() for name, array in sim.arrays().items()}
    arrays |= {f"pins.{name}": array for name, array in sim.pins.saved().items()}
    arrays["pulls"] = sim.pulls.saved()
    arrays["world"] = np.array([sim.world.gravity, sim.wind.velocity], np.float64)
    meta = {
        "version": VERSION,
        "scene": scene_digest(sim),
        "frame": sim.frame_number,
        "frame_dt": sim.frame_dt,
        "substeps": sim.substeps,
        "device": sim.device,
        "wind": sim.wind.settings.table(),
        "solvers": {s.name: repr(s.settings) for s in sim.solvers},
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    with replace_file(path) as file:
        np.savez_compressed(file, **arrays)


def load_checkpoint(sim: Simulation, path: str | Path) -> None:
    """Put a simulation built from the same scene where the checkpoint left off.

    Raises:
        InputError: the file is missing, damaged, or of another scene; the simulation is unchanged.
    """
    path = Path(path)
    saved = read_checkpoint(path)
    meta = json.loads(saved.pop("meta").tobytes())
    if meta.get("version") != VERSION:
        raise InputError(
            f"the checkpoint has version {meta.get('version')}, this program reads {VERSION}",
            str(path),
            "Run the scene again from the start",
        )
    missing = {"scene", "solvers", "substeps", "frame_dt", "frame"} - meta.keys()
    if missing:
        raise _damaged(f"'{sorted(missing)[0]}' is missing", path)
    if meta["scene"] != scene_digest(sim):
        raise InputError(
            "the checkpoint belongs to another scene, or the scene was changed since",
            str(path),
            "Resume with the scene file it was made from",
        )
    settings = {s.name: repr(s.settings) for s in sim.solvers}
    if meta["solvers"] != settings or meta["substeps"] != sim.substeps or meta["frame_dt"] != sim.frame_dt:
        raise InputError(
            f"the checkpoint was made with {meta['substeps']} substeps of a frame of {meta['frame_dt']:g} s and "
            f"settings {meta['solvers']}",
            str(path),
            "Resume with the same settings",
        )
    # everything is looked at before anything is changed
    arrays = sim.arrays()
    kinds = {name: (array.numpy().shape, array.numpy().dtype.kind) for name, array in arrays.items()}
    for name, kind in kinds.items():
        if name not in saved and name in ("wind.phase", "forces.gas"):
            continue  # files of before gusts, or gas that is let in
        if name not in saved or (saved[name].shape, saved[name].dtype.kind) != kind:
            raise _damaged(f"the array '{name}' is missing or has the wrong shape or type", path)
    wrong = sim.pulls.fits(saved.get("pulls", np.zeros(0)), sim.state.count)
    if wrong:
        raise _damaged(wrong, path)
    # files of before wind could blow hold no such array
    world = saved.get("world", np.array([sim.built_in[0], (0.0, 0.0, 0.0)]))
    if world.shape != (2, 3) or world.dtype.kind != "f" or not np.isfinite(world).all():
        raise _damaged("gravity and wind make no sense", path)
    try:
        wind = as_wind({**meta.get("wind", {}), "velocity": world[1].tolist()})
    except (InputError, TypeError) as error:
        raise _damaged("the wind makes no sense", path) from error
    if not isinstance(meta["frame"], int) or meta["frame"] < 0:
        raise _damaged(f"the frame is {meta['frame']!r}", path)
    pins = {name.removeprefix("pins."): array for name, array in saved.items() if name.startswith("pins.")}
    wrong = wrong_pins(pins, sim.state.count, sim.pipeline.slots)
    if wrong:
        raise _damaged(wrong, path)
    for name, array in arrays.items():
        if name in saved:
            array.assign(saved[name])
    sim.pins.load(pins)
    sim.pulls.load(saved["pulls"])
    gravity = tuple(world[0].tolist())
    sim.world.gravity = gravity
    surround(sim.forces, gravity, sim.wind.density)
    sim.wind.set(wind)
    if "wind.phase" in saved:
        sim.wind.arrays()["phase"].assign(saved["wind.phase"])
    sim.state.f_ext.zero_()
    sim.frame_number = int(meta["frame"])
    sim.follow_restored()
    sim.forget_programs()


def _damaged(what: str, path: Path) -> InputError:
    return InputError(f"the file is damaged or no checkpoint ({what})", str(path), "Use an older checkpoint")


def read_checkpoint(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a checkpoint file, 'meta' among them as JSON; damaged files get one clear error."""
    if not path.is_file():
        raise InputError("there is no such file", str(path), "Give the path of a checkpoint (.ckpt)")
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise ValueError("it is no zip file")
        with np.load(path, allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
        if not isinstance(json.loads(arrays["meta"].tobytes()), dict):
            raise ValueError("its description makes no sense")
    except KeyError as error:
        raise _damaged(f"{error} is missing", path) from error
    except (
        AttributeError,
        ValueError,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        SyntaxError,
        tokenize.TokenError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise _damaged(str(error), path) from error
    return arrays
