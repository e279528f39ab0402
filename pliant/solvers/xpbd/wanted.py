"""How long a step resolves a body's stiffness."""

from __future__ import annotations

import math

import numpy as np

from pliant.mesh import arrays
from pliant.mesh.tets import TetMesh
from pliant.model.model import Body

STRAIN = 0.03
"""Strain by which a body may be softer than its material under its own weight."""
LONGEST = 1.0 / 240.0
"""Longest step that resolves a motion well [s]."""
TOLERANCE = 0.05
"""Share by which a solid may give in farther than its material, for want of steps."""
UNSEEN = 0.001
"""How far it may sag too far in any case, over its size."""
NEAR = 1.3
"""What is found for real bodies over the formula of `excess`."""
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


def excess(body: Body, iterations: int) -> float:
    """By which share a solid gives in too far, over the square of the step [1/s^2]; 0 for a sheet.

    A pass lets each element take up what it would at rest plus what the masses at its corners do in a step: its
    compliance a becomes a + h^2 W / 2 on average, W = sum of w |b|^2 over its corners, for the gradients b of strain.
    For a load that strains the body along one direction, W / a is E V sum w (b . n)^2, on average with |b|^2 / 3.
    Passes in a row do as well as shorter steps.
    """
    mesh = body.own.mesh
    if not isinstance(mesh, TetMesh) or body.raw is not None:
        return 0.0
    x = mesh.vertices
    edges = x[mesh.tets[:, 1:]] - x[mesh.tets[:, :1]]
    volume = np.abs(np.linalg.det(edges)) / 6.0
    inner = np.linalg.inv(edges).transpose(0, 2, 1)
    gradients = np.concatenate([-inner.sum(axis=1, keepdims=True), inner], axis=1)
    mass = np.bincount(mesh.tets.reshape(-1), np.repeat(0.25 * body.material.density * volume, 4), len(x))
    each = volume * ((gradients**2).sum(axis=2) / mass[mesh.tets]).sum(axis=1)
    return NEAR * body.material.young / 6.0 * float(np.average(each, weights=volume)) / iterations**2


def resolving_step(body: Body, gravity: float, iterations: int) -> float:
    """Longest step [s] in which a solid is as stiff as its material, to `TOLERANCE`, or sags but `UNSEEN` too far.

    The sag is that of a cantilever as long as the body and as thick as its least extent, 3/2 rho g L^4 / (E t^2).
    """
    growth = excess(body, iterations)
    if growth == 0.0:
        return math.inf
    x = body.own.mesh.vertices
    size = float(np.ptp(x, axis=0).max())
    thick = math.sqrt(12.0 * float(np.linalg.eigvalsh(np.cov(x.T))[0]))
    sag = 1.5 * body.material.density * max(gravity, 1e-9) * size / body.material.young * (size / max(thick, 1e-9)) ** 2
    return max(math.sqrt(max(TOLERANCE, UNSEEN / sag) / growth), SHORTEST)
