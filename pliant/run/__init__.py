"""Run a scene: simulate, record, checkpoint, resume, and make films of it."""

from pliant.run.fields import FieldsWriter
from pliant.run.recording import film_settings, make_film, open_recording, write_sequence
from pliant.run.runner import RunOptions, RunResult, run_scene

__all__ = [
    "FieldsWriter",
    "RunOptions",
    "RunResult",
    "film_settings",
    "make_film",
    "open_recording",
    "run_scene",
    "write_sequence",
]
