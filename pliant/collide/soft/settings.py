"""How bodies meet each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pliant.errors import InputError
from pliant.settings import Described, setting

WHICH = ("none", "bodies", "all")
METHODS = ("features", "cube_maps", "boxes")


@dataclasses.dataclass(frozen=True)
class ContactSettings(Described):
    """How bodies meet each other and themselves."""

    between: str = setting(
        "none", "what meets: nothing, different 'bodies', or 'all', bodies with themselves too", choices=WHICH
    )
    method: str = setting(
        "features",
        "how: 'features' keeps vertices out of triangles and edges off edges; 'cube_maps' pushes vertices out of maps "
        "of the distances from clusters' centres to their surfaces; 'boxes', for comparison, keeps particles out of "
        "boxes around other bodies",
        choices=METHODS,
    )
    thickness: float | None = setting(
        None,
        "how far the surfaces of solids are kept apart; by their size if not given. Sheets and rods have their own",
        unit="m",
        above=0.0,
        high=1000.0,
    )
    reach: float | None = setting(
        None,
        "how far from each other parts are watched before they touch; the further, the more seldom they are looked for",
        unit="m",
        above=0.0,
        high=1000.0,
    )
    edges: bool = setting(True, "edges meet edges, and not only vertices triangles")
    rounds: int | None = setting(
        None,
        "rounds of passes per substep at most, as long as some contacts are not resolved; they are found anew where "
        "much is missing; 6 if not given",
        low=1,
        high=100,
    )
    iterations: int = setting(4, "passes over all contacts in a round", low=1, high=1000)
    push_speed: float | None = setting(
        None,
        "speed at which what overlaps already is pushed apart; by the size of the bodies if not given",
        unit="m/s",
        low=0.0,
        high=1000.0,
    )
    careful: bool = setting(
        True, "stop sheets short of passing through each other, where the response to contacts did not hold them"
    )


def as_contact(value: Any, where: str = "scene.contact") -> ContactSettings:
    """Settings from a `ContactSettings`, a table of its fields, or the word for what meets."""
    if isinstance(value, ContactSettings):
        return value
    if isinstance(value, str):
        return ContactSettings(between=value)
    if not isinstance(value, Mapping):
        raise InputError(f"{value!r} is no table of settings", where, "Give 'none', 'bodies', 'all' or a table")
    known = {f.name for f in dataclasses.fields(ContactSettings)}
    for key in value:
        if key not in known:
            raise InputError(f"no setting {key!r}", where, f"The settings are: {', '.join(sorted(known))}")
    return ContactSettings(**value)
