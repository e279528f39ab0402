"""All layered bodies of a model as tables on the device."""

from __future__ import annotations

import numpy as np
import warp as wp

from pliant.model.model import Body
from pliant.solvers.layered.data import Carry, Chunks, Holds, Layer, Moment
from pliant.solvers.layered.plastic_kernels import Yielding
from pliant.solvers.layered.rest import LayerRest

CHUNK = {True: 256, False: 16}
"""Nodes that one thread adds up, on the CPU and on CUDA."""
GROUP = {True: 1, False: 16}
"""Chunks that are added up together: 256 nodes, a patch of the surface."""


CARRIED = ("force", "corner", "share", "partner", "last", "load")
"""The arrays of a `Carry`."""


def layer_tables(bodies: list[Body], numbers: list[int], first: int, device: str) -> Layer:
    """Nodes, rows of the stiffness matrix, cores and materials of bodies with some numbers in their model."""
    rests: list[LayerRest] = [body.own for body in bodies]
    counts = [len(rest.mass) for rest in rests]
    starts = np.concatenate([[0], np.cumsum(counts)])
    pairs = np.concatenate([rest.pairs + start for rest, start in zip(rests, starts, strict=False)])
    blocks = np.concatenate([rest.blocks for rest in rests])
    own = pairs[:, 0] == pairs[:, 1]
    diagonal = np.zeros((starts[-1], 3, 3))
    diagonal[pairs[own, 0]] = blocks[own]
    rows = pairs[~own]
    layer = Layer()
    floats = lambda values: wp.array(np.asarray(values, np.float32), dtype=float, device=device)
    ints = lambda values: wp.array(np.asarray(values, np.int32), dtype=int, device=device)
    vectors = lambda values, kind: wp.array(values, dtype=kind, device=device)
    layer.body = ints(np.repeat(np.arange(len(bodies)), counts))
    layer.rest = vectors(np.concatenate([rest.rest for rest in rests]).astype(np.float32), wp.vec3)
    layer.mass = floats(np.concatenate([rest.mass for rest in rests]))
    layer.row_starts = ints(np.searchsorted(rows[:, 0], np.arange(starts[-1] + 1)))
    layer.row_other = ints(rows[:, 1])
    layer.diagonal = vectors(diagonal.astype(np.float32), wp.mat33)
    layer.block = vectors(blocks[~own].astype(np.float32), wp.mat33)
    layer.core_mass = vectors(np.array([rest.core_mass for rest in rests]), wp.float64)
    layer.core_inertia = vectors(np.array([rest.core_inertia for rest in rests]), wp.mat33d)
    # of the masses as the kernels have them
    sums = np.add.reduceat(layer.mass.numpy().astype(np.float64), starts[:-1])
    layer.total_mass = vectors(sums + np.array([rest.core_mass for rest in rests]), wp.float64)
    layer.damping = floats([body.material.damping for body in bodies])
    layer.drag = floats([body.material.drag for body in bodies])
    grips = [(body.material.friction, body.material.holding) for body in bodies]
    layer.friction = vectors(np.array(grips, np.float32), wp.vec2)
    layer.restitution = floats([body.material.restitution for body in bodies])
    layer.number = ints(numbers)
    layer.first = first
    return layer


def chunk_tables(counts: list[int], device: str) -> tuple[Chunks, int, int]:
    """Chunks of nodes and groups of chunks of bodies with so many nodes; how many chunks and groups there are."""
    size, together = CHUNK[device == "cpu"], GROUP[device == "cpu"]
    bounds: dict[str, list[int]] = {key: [] for key in ("begin", "end", "group_begin", "group_end")}
    bounds |= {"body_begin": [], "body_end": []}
    first = 0
    for count in counts:
        chunk, group = len(bounds["begin"]), len(bounds["group_begin"])
        starts = list(range(first, first + count, size))
        bounds["begin"] += starts
        bounds["end"] += [min(start + size, first + count) for start in starts]
        last = len(bounds["begin"])
        groups = list(range(chunk, last, together))
        bounds["group_begin"] += groups
        bounds["group_end"] += [min(start + together, last) for start in groups]
        bounds["body_begin"].append(group)
        bounds["body_end"].append(len(bounds["group_begin"]))
        first += count
    chunks = Chunks()
    for key, values in bounds.items():
        setattr(chunks, key, wp.array(np.array(values, np.int32), dtype=int, device=device))
    return chunks, len(bounds["begin"]), len(bounds["group_begin"])


def new_moment(bodies: int, nodes: int, device: str) -> Moment:
    """Room for where all bodies are."""
    moment = Moment()
    moment.c, moment.v, moment.w = (wp.zeros(bodies, dtype=wp.vec3d, device=device) for _ in range(3))
    moment.turn = wp.array(np.tile(np.eye(3), (bodies, 1, 1)), dtype=wp.mat33d, device=device)
    moment.u, moment.rate = (wp.zeros(nodes, dtype=wp.vec3, device=device) for _ in range(2))
    return moment


def new_holds(nodes: int, device: str) -> Holds:
    """Room for what holds nodes; nothing does."""
    holds = Holds()
    holds.mode = wp.zeros(nodes, dtype=int, device=device)
    holds.grip = wp.zeros(nodes, dtype=wp.vec2, device=device)
    for name in ("normal", "speed", "rub", "impulse"):
        setattr(holds, name, wp.zeros(nodes, dtype=wp.vec3, device=device))
    return holds


def new_carry(nodes: int, device: str) -> Carry:
    """Room for what contacts between bodies do again; nothing."""
    carry = Carry()
    carry.force, carry.share, carry.load = (wp.zeros(nodes, dtype=wp.vec3, device=device) for _ in range(3))
    carry.corner = wp.zeros(nodes, dtype=wp.vec3i, device=device)
    carry.partner = wp.full(nodes, -1, dtype=int, device=device)
    carry.last = wp.zeros(nodes, dtype=float, device=device)
    return carry


def yielding_tables(bodies: list[Body], device: str) -> tuple[Yielding, list[tuple[int, int]]] | None:
    """Tets of bodies whose material yields, and the run of tets of each body; None where there are none."""
    if all(body.material.yields_at is None for body in bodies):
        return None
    nodes, gradients, limits, entries, runs = [], [], [], [], []
    first = tets = 0
    for body in bodies:
        rest: LayerRest = body.own
        material = body.material
        if material.yields_at is not None:
            nodes.append(np.where(rest.tets >= 0, rest.tets + first, -1))
            gradients.append(rest.gradients)
            count = len(rest.volume)
            limits.append(
                np.stack(
                    [
                        material.yields_at * rest.yields,
                        np.full(count, material.creep),
                        np.full(count, material.plastic_limit),
                    ],
                    axis=1,
                )
            )
            tet, corner = np.nonzero(rest.tets >= 0)
            push = (2.0 * rest.lame[:, 1] * rest.volume)[tet, None] * rest.gradients[tet, corner]
            entries.append((rest.tets[tet, corner] + first, tet + tets, push))
            runs.append((tets, tets + count))
            tets += count
        else:
            runs.append((tets, tets))
        first += len(rest.mass)
    vectors = lambda values, kind: wp.array(np.ascontiguousarray(values), dtype=kind, device=device)
    found = Yielding()
    found.nodes = vectors(np.concatenate(nodes).astype(np.int32), wp.vec4i)
    slopes = np.concatenate(gradients).astype(np.float32)
    found.g0, found.g1, found.g2, found.g3 = (vectors(slopes[:, k], wp.vec3) for k in range(4))
    found.limits = vectors(np.concatenate(limits).astype(np.float32), wp.vec3)
    node, tet, push = (np.concatenate(column) for column in zip(*entries, strict=True))
    order = np.argsort(node, kind="stable")
    found.starts = vectors(np.searchsorted(node[order], np.arange(first + 1)).astype(np.int32), int)
    found.tet = vectors(tet[order].astype(np.int32), int)
    found.gradient = vectors(push[order].astype(np.float32), wp.vec3)
    return found, runs
