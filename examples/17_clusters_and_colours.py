"""Clusters and colours of a body: groups of vertices that overlap, and elements that may be handled at once.

Shape matching treats each cluster of vertices as one; the overlaps hold the clusters together. Clusters come from
k-means, from boxes in a row, or, in a lattice, from around each vertex. A solver that changes vertices in place, such
as Gauss-Seidel, runs in parallel over the elements of one colour: no two of them share a vertex.
"""

import colorsys
from pathlib import Path

import numpy as np

import pliant
from pliant.mesh.cluster import Clusters, box_clusters, kmeans_clusters, lattice_regions
from pliant.mesh.coloring import color, color_springs, color_tets, color_vertices
from pliant.render.camera import Camera
from pliant.render.film import contact_sheet
from pliant.render.raycast import Renderer

COUNT = 12


def bunny(solid: str, tets: int) -> pliant.TetMesh | pliant.VoxelLattice | pliant.SurfaceMesh:
    """What would be simulated of a bunny of 0.3 m."""
    return pliant.prepare("bunny", pliant.PrepareSettings(size=0.3, solid=solid, tets=tets)).solid


def build() -> pliant.Scene:
    scene = pliant.Scene(name="clusters")
    scene.add_body(bunny("stuffing", 2000), name="bunny", position=(0, 0.1, 0))
    return scene


def check(sim: pliant.Simulation) -> None:
    body, blocks = bunny("stuffing", 2000), bunny("lattice", 2000)
    assert isinstance(body, pliant.TetMesh) and isinstance(blocks, pliant.VoxelLattice)
    assert len(sim.positions("bunny")) == len(body.vertices), "numbers of vertices are those of the body"
    edges, count = body.edges(), len(body.vertices)

    regions = lattice_regions(blocks, width=1)
    for clusters, total in (
        (kmeans_clusters(body.vertices, edges, COUNT), count),
        (box_clusters(body.vertices, COUNT, overlap=0.2), count),
        (regions, len(blocks.vertices)),
    ):
        clusters.check(total)  # raises where a vertex is in no cluster
        assert np.array_equal(np.unique(clusters.members), np.arange(total)), "every vertex is in a cluster"
        assert clusters.parts() == 1 and len(clusters.members) > total, "they overlap, so the body holds together"
    assert regions.count == len(blocks.vertices) and regions.sizes().max() == 27, "one for each vertex, 3 x 3 x 3"

    for elements, coloring in ((edges, color_springs(edges, count)), (body.tets, color_tets(body.tets, count))):
        for k in range(coloring.count):
            touched = elements[coloring.of(k)].ravel()
            assert len(np.unique(touched)) == len(touched), "no two elements of a colour share a vertex"
        assert np.array_equal(np.sort(coloring.order), np.arange(len(elements))), "every element has one colour"
        assert coloring.count >= np.bincount(elements.ravel()).max(), "those around a vertex all differ"
    shades = color_vertices(edges, count)
    assert np.all(shades.color[edges[:, 0]] != shades.color[edges[:, 1]]), "no edge joins two of a colour"


def palette(count: int) -> np.ndarray:
    """Colours that differ (count, 3)."""
    return np.array([colorsys.hsv_to_rgb(k * 0.618 % 1.0, 0.55 + 0.25 * (k % 2), 0.9) for k in range(count)])


def paint(clusters: Clusters, vertices: int) -> np.ndarray:
    """Colour of each vertex (n, 3): the mean of those of its clusters, which shows where they overlap."""
    starts, owner = clusters.clusters_of(vertices)
    return np.add.reduceat(palette(clusters.count)[owner], starts[:-1]) / np.diff(starts)[:, None]


def main() -> None:
    body = bunny("stuffing", 8000)
    assert isinstance(body, pliant.TetMesh)
    edges, count, surface = body.edges(), len(body.vertices), body.surface()
    for name, coloring in (("springs", color_springs(edges, count)), ("tets", color_tets(body.tets, count))):
        sizes = np.diff(coloring.starts)
        print(f"{len(coloring.color)} {name} in {coloring.count} colours of {sizes.min()} to {sizes.max()}")
    kmeans, boxes = kmeans_clusters(body.vertices, edges, COUNT), box_clusters(body.vertices, COUNT)
    faces = color(surface, count)
    shades = {
        f"{kmeans.count} clusters by k-means": paint(kmeans, count)[surface].mean(axis=1),
        f"{boxes.count} clusters in boxes": paint(boxes, count)[surface].mean(axis=1),
        f"{faces.count} colours of triangles": palette(faces.count)[faces.color],
    }
    camera = Camera.framing(body.vertices.min(axis=0), body.vertices.max(axis=0), 1.0)
    renderer, pictures = Renderer(480, 480, wireframe=True), []
    for shade in shades.values():
        renderer.set_geometry(surface, shade, count)
        pictures.append(renderer.draw(body.vertices, camera))
    path = Path("out") / "example_17" / "clusters.png"
    contact_sheet(pictures, path, columns=3, labels=list(shades))
    print(path)


if __name__ == "__main__":
    main()
