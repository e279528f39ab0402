"""What a repair may do to a surface."""

from __future__ import annotations

import dataclasses

from pliant.mesh.repair import weld
from pliant.settings import Described, setting


@dataclasses.dataclass(frozen=True)
class RepairSettings(Described):
    """What `repair` does, and how far it goes."""

    weld_tolerance: float = setting(
        weld.TOLERANCE,
        "vertices nearer than this, as a part of the box's diagonal, become one; 0 joins none",
        low=0.0,
        high=0.01,
    )
    close_cracks: bool = setting(True, "split triangles where a vertex of another lies on their free edge")
    fill_holes: bool = setting(True, "fill holes, except in sheets")
    largest_hole: float = setting(
        0.5, "diagonal of the largest hole that is filled, as a part of the surface's", low=0.0, high=1.0
    )
    most_hole_edges: int = setting(4000, "edges of the longest hole that is filled", low=3, high=20_000)
    drop_walls: bool = setting(True, "drop walls inside a body, which no side of them sees the outside from")
    smallest_part: float = setting(
        0.0, "parts whose diagonal is below this part of the surface's are dropped; 0 keeps all", low=0.0, high=1.0
    )
    face_outward: bool = setting(True, "turn patches that face inward")
    cut_non_manifold: bool = setting(
        False, "cut the surface at edges of more than two triangles and at vertices where parts only touch"
    )
    intersections: bool = setting(True, "look for triangles that cut others, before and after")
