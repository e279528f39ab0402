"""What a user says of the air: its velocity, how it pushes, and its gusts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pliant.errors import InputError
from pliant.settings import Described, check_value, setting
from pliant.vectors import FASTEST, as_bounded

Vector = tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class Gusts(Described):
    """Turbulence that is carried along by the wind."""

    strength: float = setting(
        0.2, "turbulence intensity: rms of each component of the gusts, over the mean wind's speed", low=0.0, high=10.0
    )
    size: float = setting(2.0, "length of the waves that hold most of the gusts", unit="m", low=1e-3, high=1e5)
    period: float | None = setting(
        None,
        "time in which gusts change by themselves, besides being carried past; size over their rms if not given",
        unit="s",
        low=1e-3,
        high=1e6,
    )
    seed: int = setting(0, "what the gusts follow from", low=0, high=2**31 - 1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Air(Described):
    """How the air pushes what is in it."""

    still_air: bool = setting(False, "there is air even where the wind is zero, and it brakes what moves")
    drag: float = setting(1.28, "drag coefficient of a sheet across the wind", low=0.0, high=100.0)
    lift: float = setting(
        1.28, "lift coefficient of a sheet, of which sin a cos a acts at the angle of attack a", low=0.0, high=100.0
    )
    friction: float = setting(0.005, "skin friction of sheets and rods, over their wetted area", low=0.0, high=10.0)
    rod_drag: float = setting(
        1.0, "drag coefficient of a rod across the wind; thin slow ones feel more (Reynolds)", low=0.0, high=100.0
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wind(Air):
    """The air of a scene.

    Args:
        velocity: mean velocity [m/s].
        gusts: a `Gusts`, a table of its settings, or None for a steady wind.
    """

    velocity: Vector = (0.0, 0.0, 0.0)
    gusts: Gusts | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(Air):
            value = check_value(field, getattr(self, field.name), f"wind.{field.name}")
            object.__setattr__(self, field.name, value)
        object.__setattr__(self, "velocity", as_bounded(self.velocity, FASTEST, "wind", "m/s"))
        object.__setattr__(self, "gusts", as_gusts(self.gusts, "wind.gusts"))

    @property
    def blows(self) -> bool:
        """Whether there is air at all."""
        return self.still_air or any(self.velocity)

    @property
    def is_plain(self) -> bool:
        """Whether its velocity says all of it."""
        return self == Wind(velocity=self.velocity)

    def table(self) -> dict[str, Any]:
        """As in a scene file: the velocity and what is not as usual."""
        usual = Wind()
        found: dict[str, Any] = {"velocity": self.velocity}
        for field in dataclasses.fields(Air):
            value = getattr(self, field.name)
            if value != getattr(usual, field.name):
                found[field.name] = value
        if self.gusts is not None:
            values = dataclasses.asdict(self.gusts)
            found["gusts"] = {key: value for key, value in values.items() if value is not None}
        return found


def as_gusts(value: Any, where: str) -> Gusts | None:
    """Gusts from a `Gusts`, a table, or None."""
    if value is None or isinstance(value, Gusts):
        return value
    return _made(Gusts, value, where)


def as_wind(value: Any, where: str = "scene.wind") -> Wind:
    """The air from a `Wind`, a table of its settings, or a velocity [m/s]."""
    if isinstance(value, Wind):
        return value
    if isinstance(value, Mapping):
        return _made(Wind, value, where)
    return Wind(velocity=as_bounded(value, FASTEST, where, "m/s"))


def changed_wind(wind: Wind, velocity: Any, gusts: Any, air: Mapping[str, Any]) -> Wind:
    """A wind with another velocity, or another one altogether, and changed settings; `...` keeps the gusts."""
    if isinstance(velocity, (Wind, Mapping)):
        wind = as_wind(velocity, "wind")
    elif velocity is not None:
        wind = dataclasses.replace(wind, velocity=as_bounded(velocity, FASTEST, "wind", "m/s"))
    more = dict(air) if gusts is ... else {**air, "gusts": gusts}
    _check_keys(Wind, more, "wind")
    return dataclasses.replace(wind, **more)


def _made(cls: type, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise InputError(f"{value!r} is no table of settings", where, f"Give a {cls.__name__}, or a table")
    _check_keys(cls, value, where)
    return cls(**value)


def _check_keys(cls: Any, value: Mapping[str, Any], where: str) -> None:
    known = [f.name for f in dataclasses.fields(cls)]
    for key in value:
        if key not in known:
            raise InputError(f"no setting {key!r}", where, f"The settings are: {', '.join(known)}")
