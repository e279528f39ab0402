"""When bodies fall asleep."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pliant.errors import InputError
from pliant.settings import Described, setting

TIME = 0.5
"""Time at rest after which a body falls asleep where sleep is wanted and no time is given [s]."""


@dataclasses.dataclass(frozen=True)
class SleepSettings(Described):
    """When bodies at rest fall asleep; never, unless a time is given."""

    time: float | None = setting(
        None,
        "how long a body and all that it touches must be at rest until they fall asleep; never if not given",
        unit="s",
        above=0.0,
        high=1000.0,
    )
    speed: float = setting(
        0.01,
        "at rest is a body of which no part strays further within `time` than this speed would take it; more for "
        "bodies that tremble",
        unit="m/s",
        above=0.0,
        high=1000.0,
    )

    @property
    def active(self) -> bool:
        """Whether anything falls asleep."""
        return self.time is not None


def as_sleep(value: Any, where: str = "scene.sleep") -> SleepSettings:
    """Settings from a `SleepSettings`, a table of its fields, the time [s], or whether bodies sleep at all."""
    if isinstance(value, SleepSettings):
        return value
    if value is None or isinstance(value, bool):
        return SleepSettings(time=TIME if value else None)
    if isinstance(value, int | float):
        return SleepSettings(time=float(value))
    if not isinstance(value, Mapping):
        raise InputError(f"{value!r} is no table of settings", where, "Give True, False, a time in s, or a table")
    known = {f.name for f in dataclasses.fields(SleepSettings)}
    for key in value:
        if key not in known:
            raise InputError(f"no setting {key!r}", where, f"The settings are: {', '.join(sorted(known))}")
    return SleepSettings(**value)
