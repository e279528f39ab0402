"""Meshes and simulations that several tests use; needs NumPy and Pliant only."""

import warnings

import numpy as np

from pliant import Material, Scene, SurfaceMesh, TetMesh, shapes
from pliant.mesh.layered import LayeredMesh
from pliant.solvers import solver_class

STILL = (0.0, 0.0, 0.0)


def jittered(mesh, amount=0.15, seed=0):
    """A copy of a tet mesh whose vertices are moved at random by up to `amount` of the shortest edge."""
    edges = mesh.edges()
    shortest = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1).min()
    moved = mesh.vertices + amount * shortest * np.random.default_rng(seed).uniform(-1, 1, mesh.vertices.shape)
    mixed = TetMesh(moved, mesh.tets, mesh.name)
    assert (mixed.volumes() > 0).all()
    return mixed


def taken(method, mesh):
    """A tet mesh as it is, or where a method takes none of that kind, a layer over a core with the same outside, or a
    sheet over its extent along x and z."""
    if isinstance(mesh, solver_class(method).takes):
        return mesh
    if LayeredMesh in solver_class(method).takes:
        return layered(mesh.surface_mesh())
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    side = np.linalg.norm(mesh.vertices[mesh.edges()[:, 0]] - mesh.vertices[mesh.edges()[:, 1]], axis=1).min()
    size = (high - low)[[0, 2]]
    cells = np.maximum(2, np.round(0.7 * size / side)).astype(int)
    return shapes.sheet(tuple(size.tolist()), tuple(cells.tolist())).translated(0.5 * (low + high))


def layered(surface, core=0.6, **factors):
    """A layered mesh of a closed surface that is seen whole from its middle; the core is the surface, scaled down."""
    nodes, triangles = surface.vertices, surface.triangles
    count = len(nodes)
    middle = 0.5 * (nodes.min(axis=0) + nodes.max(axis=0))
    feet = middle + core * (nodes - middle)
    a, b, c = np.sort(triangles, axis=1).T
    stairs = [(a + count, b + count, c + count, c), (a + count, b + count, b, c), (a + count, a, b, c)]
    tets = TetMesh(np.concatenate([nodes, feet]), np.concatenate([np.stack(tet, axis=1) for tet in stairs]))
    side = int(np.ceil(np.sqrt(count)))
    texel = np.stack(np.divmod(np.arange(count), side), axis=1)
    node_of_texel = np.full((side, side), -1)
    node_of_texel[texel[:, 0], texel[:, 1]] = np.arange(count)
    return LayeredMesh(
        nodes, feet, np.arange(count), triangles, tets.oriented()[0].tets, feet, triangles, side, texel, node_of_texel,
        **factors,
    )  # fmt: skip


def shuffled(mesh, seed=0):
    """The mesh with vertices and elements in random order, and where each old vertex went."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(mesh.vertices))
    place = np.argsort(order)
    if isinstance(mesh, TetMesh):
        # even permutations of the corners keep a tet upright
        even = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0], [0, 2, 3, 1], [3, 0, 2, 1]])
        tets = place[mesh.tets][rng.permutation(len(mesh.tets))]
        tets = np.take_along_axis(tets, even[rng.integers(0, len(even), len(tets))], axis=1)
        return TetMesh(mesh.vertices[order], tets, mesh.name), place
    triangles = place[mesh.triangles][rng.permutation(len(mesh.triangles))]
    return type(mesh)(mesh.vertices[order], triangles, mesh.name), place


def make_scene(mesh, material=None, *, gravity=STILL, frame_dt=1 / 60, substeps=None, method="mass_spring", **settings):
    """A scene of one body; what is left of the keywords is the solver's settings, `body` the body's keywords.

    The body is as its method's own formulas have it, unless it is to be calibrated.
    """
    body = {"calibrate": "off", **settings.pop("body_options", {}), **settings.pop("body", {})}
    stretch_limit = settings.pop("stretch_limit", 20.0)
    scene = Scene(gravity=gravity, frame_dt=frame_dt, substeps=substeps, stretch_limit=stretch_limit)
    scene.add_body(mesh, Material() if material is None else material, method=method, name="body", **body)
    if settings:
        scene.configure(method, **settings)
    return scene


def make_sim(mesh, material=None, *, device="cpu", **settings):
    """A simulation of one body, see `make_scene`; a step that is too large is asked for on purpose."""
    return build(make_scene(mesh, material, **settings), device)


def build(scene, device="cpu"):
    """Build a scene without the warning that its step is too large."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The step of")
        return scene.build(device)


def equilateral(radius=1.0):
    """One triangle whose corners lie on a circle in the plane y = 0 [m]."""
    angles = 2 * np.pi * np.arange(3) / 3
    vertices = radius * np.stack([np.cos(angles), np.zeros(3), -np.sin(angles)], axis=1)
    return SurfaceMesh(vertices, [[0, 1, 2]], "equilateral")


def deformed(mesh, amount=0.1, seed=1):
    """Vertices of a mesh bent, twisted and shaken by about `amount` of its size, a smooth motion and some noise."""
    rng = np.random.default_rng(seed)
    x = mesh.vertices
    size = np.ptp(x, axis=0).max()
    wave = np.sin(x / size * rng.uniform(2, 5, 3) + rng.uniform(0, 6, 3))
    edges = mesh.edges()
    shortest = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1).min()
    return (
        x + amount * size * wave @ rng.uniform(-0.5, 0.5, (3, 3)) + 0.3 * amount * shortest * rng.normal(size=x.shape)
    )


def precise_positions(sim, body="body"):
    """Positions with the part that float32 cannot hold [m] (n, 3) float64, in the order of the mesh."""
    x = sim.state.x.numpy().astype(np.float64)
    for solver in sim.solvers:
        if "carry" in solver.scratch():
            x = x + solver.scratch()["carry"].numpy()
    return x[sim.body(body).particle_of]


def bits(sim):
    """Every array that makes up the simulation's state, as bytes."""
    return {name: array.numpy().tobytes() for name, array in sim.arrays().items()}


def rotation(axis, angle):
    """Rotation matrix (3, 3)."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
