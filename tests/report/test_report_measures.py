"""Measures, histograms and the cut of a body's report, against brute force and known shapes."""

import numpy as np
import pytest

from pliant.mesh import shapes
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.report import cut, measures
from pliant.report.data import ReportInput
from pliant.report.histograms import body_histograms, histogram, mass_rows


def blob(cells=6):
    """A round lattice with a notch, turned, so that no axis of it is an axis of space."""
    grid = np.argwhere(np.ones((cells,) * 3))
    middle = (grid + 0.5) / cells - 0.5
    grid = grid[((middle**2).sum(axis=1) < 0.25) & ~((middle > 0.1).all(axis=1))]
    lattice = VoxelLattice.from_cells(grid, 0.5 / cells)
    angle = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    return VoxelLattice(lattice.vertices @ angle.T, lattice.cubes, lattice.cells)


def test_dihedral_angles_of_known_tets():
    regular = measures.dihedral_angles(shapes.tetrahedron())
    np.testing.assert_allclose(regular, np.degrees(np.arccos(1.0 / 3.0)))
    corner = TetMesh([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], [[0, 1, 2, 3]])
    sharp = np.degrees(np.arccos(1.0 / np.sqrt(3.0)))
    np.testing.assert_allclose(np.sort(measures.dihedral_angles(corner)[0]), [sharp] * 3 + [90.0] * 3)


def test_dihedral_angles_span_what_the_mesh_says():
    mesh = shapes.torus(cells=2)
    angles = measures.dihedral_angles(mesh)
    np.testing.assert_allclose((angles.min(), angles.max()), mesh.dihedral_range())


def test_triangle_angles_add_up():
    mesh = shapes.ball(cells=2).surface_mesh()
    angles = measures.triangle_angles(mesh)
    np.testing.assert_allclose(angles.sum(axis=1), 180.0)
    corner = SurfaceMesh([[0.0, 0, 0], [2, 0, 0], [0, 2, 0]], [[0, 1, 2]])
    np.testing.assert_allclose(measures.triangle_angles(corner), [[90.0, 45.0, 45.0]])


@pytest.mark.parametrize("solid", [shapes.ball(cells=3), blob(), shapes.sheet(cells=4)], ids=["tets", "cubes", "sheet"])
def test_masses_add_up_to_density_times_size(solid):
    masses = measures.vertex_masses(solid, 250.0)
    assert len(masses) == len(solid.vertices)
    np.testing.assert_allclose(masses.sum(), 250.0 * measures.element_sizes(solid).sum())


def test_cubes_have_the_volume_of_their_cells():
    lattice = blob()
    np.testing.assert_allclose(measures.element_sizes(lattice), (0.5 / 6) ** 3)
    np.testing.assert_allclose(measures.edge_lengths(lattice), 0.5 / 6)


def test_neighbours_of_cubes_by_brute_force():
    lattice = blob()
    filled = {tuple(cell) for cell in lattice.cells.tolist()}
    steps = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    expected = [sum((x + a, y + b, z + c) in filled for a, b, c in steps) for x, y, z in lattice.cells.tolist()]
    assert measures.cube_neighbours(lattice).tolist() == expected


@pytest.mark.parametrize("solid", [shapes.ball(cells=3), blob()], ids=["tets", "cubes"])
def test_cut_keeps_one_side_only(solid):
    normal, point = np.array([0.3, 0.1, 1.0]), solid.vertices.mean(axis=0) + 0.01
    elements = solid.tets if isinstance(solid, TetMesh) else solid.cubes
    heights = (solid.vertices[elements].mean(axis=1) - point) @ normal
    keep = cut.behind(solid, normal, point)
    assert keep.any() and not keep.all()
    assert (heights[keep] <= 1e-12).all() and (heights[~keep] > -1e-12).all()


@pytest.mark.parametrize("solid", [shapes.ball(cells=3), blob()], ids=["tets", "cubes"])
def test_shell_of_a_cut_encloses_the_kept_elements(solid):
    keep = cut.behind(solid, (0.0, 0.2, 1.0))
    shell = cut.shell(solid, keep)
    a, b, c = shell.triangles[:, 0], shell.triangles[:, 1], shell.triangles[:, 2]
    enclosed = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    np.testing.assert_allclose(enclosed, measures.element_sizes(solid)[keep].sum())
    assert keep[shell.owners].all()
    # each triangle lies on the element it is said to belong to
    elements = solid.tets if isinstance(solid, TetMesh) else solid.cubes
    own = solid.vertices[elements[shell.owners]]
    gaps = np.linalg.norm(own[:, :, None] - shell.triangles[:, None], axis=3).min(axis=1)
    assert gaps.max() == 0.0


def test_shell_of_the_whole_is_the_surface():
    mesh = shapes.torus(cells=2)
    assert len(cut.shell(mesh).triangles) == len(mesh.surface())
    assert len(cut.shell(mesh).ends) == len(mesh.surface_mesh().edges())


def test_a_single_tet_survives_the_cut():
    mesh = shapes.tetrahedron().translated((1e6, -1e5, 3.0))
    for normal in np.concatenate([np.eye(3), -np.eye(3)]):
        assert cut.behind(mesh, normal).tolist() == [True]


def test_tubes_and_beads_are_closed_around_their_place():
    ends = np.array([[[0.0, 0, 0], [0, 0, 2.0]], [[1.0, 1, 1], [2.0, 3, 1]]])
    tubes = cut.tubes(ends, 0.1)
    assert tubes.shape == (12, 3, 3)
    for tube, (start, end) in zip(tubes.reshape(2, -1, 3), ends):
        away = np.linalg.norm(np.cross(tube - start, end - start), axis=1) / np.linalg.norm(end - start)
        np.testing.assert_allclose(away, 0.1)
    bead = cut.beads(np.array([[3.0, 2.0, 1.0]]), 0.5)
    normals = np.cross(bead[:, 1] - bead[:, 0], bead[:, 2] - bead[:, 0])
    assert (np.einsum("ij,ij->i", normals, bead.mean(axis=1) - [3.0, 2.0, 1.0]) > 0.0).all()


def test_histograms_count_every_value_as_numpy_does():
    mesh = shapes.ball(cells=4)
    data = ReportInput("ball", None, mesh, density=700.0, truncate=2.0)
    found = {shape.name: shape for shape in body_histograms(data, 30)}
    mass = 700.0 * mesh.volumes().sum()
    theirs = mesh.histograms(30, mass=mass, truncate=2.0)
    for ours, name in (("size", "volume"), ("edge_length", "edge_length")):
        np.testing.assert_array_equal(found[ours].counts, theirs[name][0])
        np.testing.assert_allclose(found[ours].bounds, theirs[name][1])
    values = 1.0 / measures.vertex_masses(mesh, 700.0)
    assert found["inverse_mass"].mark == 2.0
    np.testing.assert_array_equal(found["inverse_mass"].counts, np.histogram(values, found["inverse_mass"].bounds)[0])
    assert found["inverse_mass_truncated"].largest == 2.0
    assert found["angle"].count == 6 * len(mesh.tets)
    for shape in found.values():
        assert shape.counts.sum() + shape.beyond == shape.count


def test_median_and_extremes_are_of_all_values():
    values = np.concatenate([np.linspace(1.0, 2.0, 999), [30.0]])
    shape = histogram("x", "x", "m", values)
    assert (shape.smallest, shape.largest) == (1.0, 30.0) and shape.median == np.median(values)
    assert not shape.log and shape.beyond > 0
    assert shape.counts.sum() + shape.beyond == 1000


def test_skewed_values_get_logarithmic_bins():
    values = np.geomspace(1e-9, 1e3, 500)
    shape = histogram("x", "x", "m", values)
    assert shape.log and shape.counts.sum() == 500
    assert shape.counts.max() <= 2 * shape.counts.min() + 2


@pytest.mark.parametrize("value", [0.0, 3.0, -2.0])
def test_equal_values_make_one_bar(value):
    shape = histogram("x", "x", "", np.full(7, value))
    assert shape.counts.tolist() == [7] and shape.bounds[0] < value < shape.bounds[1]


def test_negative_values_are_counted():
    shape = histogram("x", "x", "m³", np.array([-1.0, 2.0, 3.0, 400.0]))
    assert not shape.log and shape.counts.sum() + shape.beyond == 4


def test_a_truncation_that_does_not_act_is_not_drawn():
    data = ReportInput("ball", None, shapes.ball(cells=2), truncate=1e9)
    assert [shape.name for shape in body_histograms(data)] == ["inverse_mass", "size", "edge_length", "angle"]
    assert dict(mass_rows(data))["above that"] == "none"


def test_mass_rows_tell_what_truncation_touches():
    mesh = shapes.ball(cells=3)
    inverse = 1.0 / measures.vertex_masses(mesh, 1000.0)
    limit = float(np.median(inverse))
    rows = dict(mass_rows(ReportInput("ball", None, mesh, truncate=limit)))
    assert rows["above that"].startswith(f"{(inverse > limit).sum()} of {len(inverse)} vertices")
