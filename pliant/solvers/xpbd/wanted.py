"""How long a step resolves a body's stiffness."""

from __future__ import annotations

import math

import numpy as np

from pliant.mesh import arrays
from pliant.model.model import Body

STRAIN = 0.03
"""Strain by which a body may be softer than its material under its own weight."""
LONGEST = 1.0 / 240.0
"""Longest step that resolves a motion well [s]."""
SHORTEST = 1.0 / 3600.0
"""No shorter step is asked for [s]."""


def wanted_step(body: Body, gravity: float, iterations: int) -> float:
    """Longest step [s] in which a body stretches little more than its material under its own weight.

    A pass over the constraints carries a force over about one edge. In each step every particle falls by g h^2 anew;
    where n = size / L edges hang on one, that one must take up n g h^2 at a time: it stays longer by about that, a
    strain of n g h^2 / L. So h = L sqrt(strain / (g size)), and several passes are worth as many particles less.
    """
    x = body.own.mesh.vertices
    edge = float(np.median(arrays.edge_lengths(x, body.own.mesh.edges())))
    size = float(np.ptp(x, axis=0).max())
    if gravity <= 0.0 or size <= 0.0:
        return LONGEST
    own = body.material.density * gravity * size / body.material.young
    step = edge * math.sqrt(iterations * (STRAIN + own) / (gravity * size))
    return min(max(step, SHORTEST), LONGEST)
