"""What does not change from frame to frame, for a scene message: triangles, colours, clusters and tets."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.model.model import Body
from pliant.quantities.neighbours import body_tets
from pliant.simulation import Simulation
from pliant.solvers.shape_matching.fracture_links import cluster_centres, homes_of


def scene_sections(sim: Simulation, lane: int) -> tuple[list[dict[str, Any]], dict[str, np.ndarray]]:
    """The bodies of a simulation as a scene message describes them, and their sections.

    Triangles and colours are over the vertices of `Packer.pack`, tets over the particles of `Packer.particles`: the
    user's own vertex numbers. The triangles of a body that breaks stay the same: its pieces have vertices of their own
    from the beginning.

    Args:
        sim: the simulation.
        lane: its number in the message.
    """
    described: list[dict[str, Any]] = []
    sections: dict[str, np.ndarray] = {}
    for k, body in enumerate(sim.model.bodies):
        prefix = f"{lane}.{k}."
        triangles = body.seen_triangles()
        tets = _user_tets(sim, body)
        clusters = _dominant_clusters(sim, body)
        run = slice(*body.own_particles)
        rest = sim.model.particles.rest[run]
        sections[prefix + "triangles"] = triangles.astype(np.uint32)
        sections[prefix + "colors"] = colors = vertex_colors(body, triangles)
        if clusters is not None:
            sections[prefix + "clusters"] = clusters.astype(np.uint16)
        if len(tets):
            sections[prefix + "tets"] = tets.astype(np.uint32)
        described.append(
            {
                "name": body.name,
                "method": body.method,
                "color": common_color(body, colors),
                "vertices": int(body.seen_vertices),
                "triangles": len(triangles),
                "particles": len(body.rank),
                "mass": float(sim.model.particles.mass[run].sum()),
                "tets": len(tets),
                "clusters": 0 if body.clusters is None else int(body.clusters.count),
                "can_cut": bool(sim.can_cut(body.name)),
                "size": float(np.linalg.norm(np.ptp(rest, axis=0))),
            }
        )
    return described, sections


def vertex_colors(body: Body, triangles: np.ndarray) -> np.ndarray:
    """Red, green, blue and opacity of each seen vertex (n, 4) uint8, sRGB as in a picture.

    A vertex has its own colour where the look has colours of vertices, else that of its last triangle, else the body's.
    """
    colors = np.ones((body.seen_vertices, 4), np.float32)
    colors[:, :3] = body.color
    of_triangle = body.seen_colors()
    colors[triangles.reshape(-1), :3] = np.repeat(of_triangle, 3, axis=0)
    look = body.look
    if body.painted and look is not None and look.vertex_colors is not None and not look.paints:
        colors[:, :3] = look.vertex_colors[:, :3]
    return np.rint(255.0 * np.clip(colors, 0.0, 1.0)).astype(np.uint8)


def common_color(body: Body, colors: np.ndarray) -> list[float]:
    """Red, green and blue from 0 to 1 that stand for a body of these `vertex_colors`: of a painted one the median."""
    if not body.painted or not len(colors):
        return [float(c) for c in body.color]
    return [round(float(c) / 255.0, 3) for c in np.median(colors[:, :3], axis=0)]


def _user_tets(sim: Simulation, body: Body) -> np.ndarray:
    """Tets of a body (m, 4) in the user's vertex numbers; none of sheets and loose points."""
    tets = body_tets(sim.model, body)
    return np.argsort(body.rank)[tets] if len(tets) else tets


def _dominant_clusters(sim: Simulation, body: Body) -> np.ndarray | None:
    """The cluster that each seen vertex follows most (n,); None where there are fewer than two.

    Of vertices that are or follow particles, the nearest of the clusters that hold the particle.
    """
    if body.clusters is None or body.clusters.count < 2:
        return None
    if body.follows_clusters:
        clusters, weights = sim.skins.cluster_weights(body.name)
        return np.take_along_axis(clusters, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    run = slice(*body.particles)
    rest, mass = sim.model.particles.rest[run], sim.model.particles.mass[run]
    held = homes_of(rest, body.clusters, cluster_centres(rest, mass, body.clusters))
    homes = np.zeros(len(rest), np.int64)
    homes[np.unique(body.clusters.members)] = held
    if body.embedding is not None:
        most = body.embedding.weights.argmax(axis=1)
        return homes[body.embedding.hosts[np.arange(len(most)), most] - body.particles[0]]
    if body.tubes is not None:
        return homes[body.tubes.hosts()]
    return np.repeat(homes[body.rank], body.seen_vertices // len(body.rank))
