"""Settings of shape matching: those of the method, and those of each body."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pliant.errors import InputError
from pliant.settings import Described, setting

PLAIN_BETA = 0.5
"""How much of the deformation a goal follows where nothing says it."""
MODES = ("rigid", "linear", "quadratic")


@dataclasses.dataclass(frozen=True)
class ShapeMatchingSettings(Described):
    """How shape-matched bodies meet colliders."""

    contact: str = setting(
        "projection",
        "what keeps particles out of colliders: 'projection' puts them back, 'penalty' pushes them by a force",
        choices=("projection", "penalty"),
    )
    penalty_rate: float = setting(
        200.0,
        "frequency of the penalty's spring; weakened where the step does not allow it",
        unit="1/s",
        above=0.0,
        high=1e6,
    )
    rest_speed: float = setting(0.05, "approach speed below which nothing bounces", unit="m/s", low=0.0, high=100.0)


@dataclasses.dataclass(frozen=True)
class Matching(Described):
    """How one body is matched to its rest shape."""

    mode: str = setting(
        "linear", "what a cluster's goal may be: turned, sheared too, or bent and twisted too", choices=MODES
    )
    clusters: int = setting(1, "number of clusters", low=1, high=10_000_000)
    clusters_by: str = setting(
        "kmeans",
        "'kmeans' with the vertices next to them, 'boxes' along an axis, staggered 'grids', or 'lattice' regions "
        "around every vertex of a voxel body",
        choices=("kmeans", "boxes", "grids", "lattice"),
    )
    axis: str = setting("longest", "axis along which boxes stand", choices=("longest", "x", "y", "z"))
    overlap: float = setting(0.2, "how far a box reaches into its neighbours, over its width", low=0.0, high=10.0)
    rings: int = setting(
        2,
        "how often a k-means cluster is grown by the vertices next to it, so that neighbours overlap",
        low=0,
        high=100,
    )
    grids: int = setting(2, "staggered grids: the clusters that hold each particle", low=1, high=8)
    region_width: int = setting(1, "steps through the lattice from the middle of a region to its end", low=1, high=40)
    fast: bool = setting(True, "sum over lattice regions axis by axis, so that their width costs nothing")
    alpha: float | None = setting(
        None, "share of the way to the goal done in one step, as published; changes with the step", low=0.0, high=1.0
    )
    beta: float | None = setting(
        None, "how much of the deformation the goal follows; fitted, or 0.5, if not given", low=0.0, high=1.0
    )
    frequency: float | None = setting(
        None, "angular frequency of the pull to the goal, instead of the material's", unit="1/s", low=0.0, high=1e6
    )
    damping_rate: float | None = setting(
        None,
        "rate at which motion other than turning dies out, instead of the material's",
        unit="1/s",
        low=0.0,
        high=1e6,
    )
    keep_volume: bool = setting(True, "goals of linear and quadratic clusters keep the volume")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is not None and self.frequency is not None:
            raise InputError(
                f"both alpha = {self.alpha:g} and frequency = {self.frequency:g} are given",
                "Matching.frequency",
                "Give one of them; a frequency means the same at every step",
            )
        if self.clusters_by == "lattice" and self.mode == "quadratic" and self.fast:
            object.__setattr__(self, "fast", False)

    @property
    def follows(self) -> float:
        """beta, or what it is where none is given."""
        return PLAIN_BETA if self.beta is None else self.beta

    @property
    def order(self) -> int:
        """Functions of position a goal is made of: 3 linear ones, or 9 with the quadratic ones."""
        return 9 if self.mode == "quadratic" else 3

    @property
    def sums_along_axes(self) -> bool:
        """Whether sums over lattice regions are taken axis by axis, without a table of their members."""
        return self.clusters_by == "lattice" and self.fast and self.mode != "quadratic"


def as_matching(value: Any, where: str) -> Matching:
    """Settings from a `Matching`, a table of its fields, or nothing."""
    if value is None:
        return Matching()
    if isinstance(value, Matching):
        return value
    if not isinstance(value, Mapping):
        raise InputError(f"{value!r} is no table of settings", where, 'Give Matching(...) or {"mode": "linear"}')
    known = {f.name for f in dataclasses.fields(Matching)}
    for key in value:
        if key not in known:
            raise InputError(f"no setting {key!r}", where, f"The settings are: {', '.join(sorted(known))}")
    return Matching(**value)
