"""Checkpoints: everything needed to go on bit for bit, in one file that is written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from pathlib import Path

import numpy as np

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.model.model import Model
from pliant.simulation import Simulation

VERSION = 1


def model_digest(model: Model) -> str:
    """A fingerprint of what is simulated: a checkpoint fits only the scene it came from."""
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
    digest.update(repr([(b.name, b.method, b.material, b.raw) for b in model.bodies]).encode())
    return digest.hexdigest()


def save_checkpoint(sim: Simulation, path: str | Path) -> None:
    """Write a simulation's state, pins, pulls and clock to a file (a zip of .npy arrays, no pickle)."""
    arrays = {name: array.numpy() for name, array in sim.arrays().items()}
    arrays |= {f"pins.{name}": array for name, array in sim.pins.saved().items()}
    arrays["pulls"] = sim.pulls.saved()
    meta = {
        "version": VERSION,
        "model": model_digest(sim.model),
        "frame": sim.frame_number,
        "frame_dt": sim.frame_dt,
        "substeps": sim.substeps,
        "device": sim.device,
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
    if meta["model"] != model_digest(sim.model):
        raise InputError(
            "the checkpoint belongs to another scene, or the scene was changed since",
            str(path),
            "Resume with the scene file it was made from",
        )
    settings = {s.name: repr(s.settings) for s in sim.solvers}
    if meta["solvers"] != settings or meta["substeps"] != sim.substeps or meta["frame_dt"] != sim.frame_dt:
        raise InputError(
            f"the checkpoint was made with {meta['substeps']} substeps of a frame of {meta['frame_dt']:g} s and settings {meta['solvers']}",
            str(path),
            "Resume with the same settings",
        )
    arrays = sim.arrays()
    for name, array in arrays.items():
        if name not in saved or saved[name].shape != array.numpy().shape:
            raise InputError(
                f"the array '{name}' is missing or has the wrong shape",
                str(path),
                "The file is damaged; use an older checkpoint",
            )
    for name, array in arrays.items():
        array.assign(saved[name])
    sim.pins.load({k.removeprefix("pins."): v for k, v in saved.items() if k.startswith("pins.")})
    sim.pulls.load(saved["pulls"])
    sim.frame_number = int(meta["frame"])
    sim.forget_programs()


def read_checkpoint(path: Path) -> dict[str, np.ndarray]:
    """All arrays of a checkpoint file; damaged files get one clear error."""
    if not path.is_file():
        raise InputError("there is no such file", str(path), "Give the path of a checkpoint (.ckpt)")
    try:
        with np.load(path, allow_pickle=False) as data:
            return {name: data[name] for name in data.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"the file is damaged or no checkpoint ({error})", str(path), "Use an older checkpoint"
        ) from error
