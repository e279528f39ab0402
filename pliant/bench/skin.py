"""`pliant bench skin`: what it costs to move a fine skin, beside a frame of the coarse body it rides on."""

from __future__ import annotations

import numpy as np

from pliant.bench.report import Report
from pliant.bench.timing import seconds_per_call
from pliant.mesh.embed import embed
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.surface import SurfaceMesh
from pliant.scene import MASS_SHIFT, Scene

TETS = 5000
VERTICES = 100_000


def split(mesh: SurfaceMesh) -> SurfaceMesh:
    """Each triangle cut into four at the middles of its edges; the new vertices keep the surface's shape."""
    edges = mesh.edges()
    keys = edges[:, 0].astype(np.int64) << 32 | edges[:, 1]
    middles = len(mesh.vertices) + np.arange(len(edges))
    t = mesh.triangles.astype(np.int64)

    def middle(i: int, j: int) -> np.ndarray:
        low, high = np.minimum(t[:, i], t[:, j]), np.maximum(t[:, i], t[:, j])
        return middles[np.searchsorted(keys, low << 32 | high)]

    ab, bc, ca = middle(0, 1), middle(1, 2), middle(2, 0)
    corners = [(t[:, 0], ab, ca), (t[:, 1], bc, ab), (t[:, 2], ca, bc), (ab, bc, ca)]
    vertices = np.concatenate([mesh.vertices, 0.5 * (mesh.vertices[edges[:, 0]] + mesh.vertices[edges[:, 1]])])
    triangles = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1).reshape(-1, 3)
    return SurfaceMesh(vertices, triangles.astype(np.int32), mesh.name)


def run(report: Report, device: str, quick: bool = False) -> None:
    body = prepare("small_bunny", PrepareSettings(tets=TETS, size=0.3))
    assert body.skin is not None and not isinstance(body.solid, LayeredMesh)
    skin = SurfaceMesh(body.skin.vertices, body.skin.triangles, body.name)
    while len(skin.vertices) < (10_000 if quick else VERTICES):
        skin = split(skin)
    scene = Scene()
    scene.add_body(
        body.solid,
        "soft_rubber",
        skin=(skin, embed(skin.vertices, body.solid)),
        position=(0.0, 0.1, 0.0),
        mass_shift=MASS_SHIFT,
    )
    scene.add_plane()
    sim = scene.build(device)
    sim.frame(2)
    x = sim.state.x
    assert sim.skins.skin is not None
    moved = sim.skins.skin
    solver = sim.solvers[0]
    frame = seconds_per_call(lambda: solver.fused(sim.state, sim.dt, sim.substeps), device)
    case = f"bunny, {len(body.solid.vertices):,} particles"
    size = {"skin_vertices": len(skin.vertices), "skin_triangles": len(skin.triangles), "substeps": sim.substeps}
    report.add(case, device, "ms_per_frame_simulated", 1e3 * frame, **size)
    report.add(case, device, "ms_per_step", 1e3 * frame / sim.substeps)
    for name, normals in (("ms_skin_positions", False), ("ms_skin_with_normals", True)):
        seconds = seconds_per_call(lambda n=normals: moved.update(x, n), device)
        report.add(case, device, name, 1e3 * seconds)
        report.add(case, device, f"{name[3:]}_over_frame", seconds / frame)
