"""Skins on tets, voxels and triangles: affine motions, normals, several bodies, no cracks, same bits."""

import numpy as np
import pytest
import warp as wp

from pliant.errors import InputError
from pliant.launch import record
from pliant.mesh import shapes
from pliant.mesh.embed import embed, identity
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.surface import SurfaceMesh
from pliant.skin import kernels
from pliant.skin.skin import Skin

EPSILON = float(np.finfo(np.float32).eps)


def cube_lattice():
    cells = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return VoxelLattice.from_cells(cells, 0.3, (-0.6, -0.6, -0.6))


HOSTS = {"tets": lambda: shapes.ball(0.5, 3), "voxels": cube_lattice, "triangles": lambda: shapes.sheet((1, 1), 5)}


def cover(host):
    """A surface on a host: a finer ball, partly outside it, or points of a sheet."""
    if isinstance(host, SurfaceMesh):
        fine = shapes.sheet((1, 1), 17)
        middle = fine.vertices.mean(axis=0)
        return SurfaceMesh(middle + 0.97 * (fine.vertices - middle), fine.triangles)
    return shapes.ball(0.51, 7).surface_mesh()


def upload(x, device):
    return wp.array(np.ascontiguousarray(x, np.float32), dtype=wp.vec3, device=device)


def vertex_normals(x, triangles):
    """Area-weighted unit normals (n, 3) in float64."""
    corners = x[triangles].astype(np.float64)
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros(x.shape)
    for k in range(3):
        np.add.at(total, triangles[:, k], faces)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.divide(total, length, out=np.zeros_like(total), where=length > 0.0)


def bend(x):
    """A twist and a bend: no affine motion."""
    angle = 1.5 * x[:, 1]
    twisted = np.stack(
        [
            np.cos(angle) * x[:, 0] - np.sin(angle) * x[:, 2],
            x[:, 1] + 0.3 * x[:, 0] ** 2,
            np.sin(angle) * x[:, 0] + np.cos(angle) * x[:, 2],
        ],
        axis=1,
    )
    return twisted + [0.2, 0.3, -0.1]


@pytest.mark.parametrize("kind", HOSTS)
@pytest.mark.parametrize("size, offset", [(1.0, 0.0), (1.0, 1e3), (1e-3, 0.0), (1e3, 0.0), (1e-3, 1.0)])
def test_affine_motion_is_exact(kind, size, offset, device):
    """To the rounding of the hosts' positions, which the weights amplify, and that of the vertices'."""
    rng = np.random.default_rng(1)
    host = HOSTS[kind]()
    seen = cover(host)
    embedding = embed(seen.vertices, host)
    skin = Skin(embedding, seen.triangles, device)
    matrix = rng.normal(size=(3, 3))
    motion = lambda p: size * p @ matrix.T + [offset, -offset, offset]
    skin.update(upload(motion(host.vertices), device))
    amplified = 1.0 + np.abs(embedding.weights).sum(axis=1).max()
    allowed = EPSILON * (offset + 2.0 * size) * amplified
    assert np.abs(skin.x.numpy() - motion(seen.vertices)).max() <= allowed


@pytest.mark.parametrize("kind", HOSTS)
def test_any_motion_is_that_of_the_embedding(kind, device):
    host = HOSTS[kind]()
    seen = cover(host)
    embedding = embed(seen.vertices, host)
    skin = Skin(embedding, seen.triangles, device)
    x = bend(host.vertices)
    skin.update(upload(x, device))
    assert np.abs(skin.x.numpy() - embedding.apply(x)).max() < 3e-6
    normals = skin.normals.numpy()
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(len(seen.vertices)), abs=1e-6)
    assert np.abs(normals - vertex_normals(skin.x.numpy(), seen.triangles)).max() < 2e-5


def test_height_above_triangles_is_kept_by_turns(device):
    sheet = shapes.sheet((1, 1), 4)
    ball = shapes.ball(0.3, 3).surface_mesh()
    skin = Skin(embed(ball.vertices, sheet), ball.triangles, device)
    turn = lambda mesh: mesh.rotated((3, 2, 1), 2.0).translated((1, 2, 3)).vertices
    skin.update(upload(turn(sheet), device))
    assert np.abs(skin.x.numpy() - turn(ball)).max() < 3e-6


@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e3])
def test_normals_of_any_size(size, device):
    ball = shapes.ball(size, 9).surface_mesh()
    skin = Skin(identity(len(ball.vertices)), ball.triangles, device)
    skin.update(upload(ball.vertices, device))
    assert np.abs(skin.normals.numpy() - vertex_normals(ball.vertices, ball.triangles)).max() < 1e-5
    outward = np.einsum("ij,ij->i", skin.normals.numpy(), ball.vertices / size)
    assert outward.min() > 0.99


def test_normals_where_many_triangles_meet_and_where_none_do(device):
    """A cone of 200 triangles around one vertex, a triangle without area, and a vertex of no triangle."""
    angle = np.linspace(0.0, 2.0 * np.pi, 201)[:-1]
    rim = np.stack([np.cos(angle), np.zeros(200), -np.sin(angle)], axis=1)
    x = np.concatenate([rim, [[0.0, 0.5, 0.0]], np.full((3, 3), 7.0), [[9.0, 9.0, 9.0]]])
    fan = np.stack([np.arange(200), np.roll(np.arange(200), -1), np.full(200, 200)], axis=1)
    triangles = np.concatenate([fan, [[201, 202, 203]]]).astype(np.int32)
    skin = Skin(identity(len(x)), triangles, device)
    skin.update(upload(x, device))
    normals = skin.normals.numpy()
    assert np.abs(normals - vertex_normals(x, triangles)).max() < 1e-5
    assert normals[200] == pytest.approx([0, 1, 0], abs=1e-5)
    assert (normals[201:] == 0.0).all()


def test_normals_only_when_asked(device):
    ball = shapes.ball(0.5, 2).surface_mesh()
    skin = Skin(identity(len(ball.vertices)), ball.triangles, device)
    skin.update(upload(ball.vertices, device), normals=False)
    assert (skin.normals.numpy() == 0.0).all()
    assert (skin.x.numpy() == ball.vertices.astype(np.float32)).all()


def test_several_bodies_move_as_each_alone(device):
    """Tets, voxels, particles, triangles and tets again in a row, each with its own particles."""
    made = [HOSTS[kind]() for kind in ("tets", "tets", "voxels", "triangles")]
    covers = [cover(host) for host in made]
    embeddings = [embed(seen.vertices, host) for seen, host in zip(covers, made, strict=True)]
    points = shapes.sheet((1, 1), 3)
    made.insert(2, points)
    covers.insert(2, points)
    embeddings.insert(2, identity(len(points.vertices)))
    x = [bend(host.vertices) + k for k, host in enumerate(made)]
    firsts = np.cumsum([0, *[len(part) for part in x]])[:-1].tolist()
    together = Skin(embeddings, [seen.triangles for seen in covers], device, firsts)
    together.update(upload(np.concatenate(x), device))
    for k, (seen, embedding) in enumerate(zip(covers, embeddings, strict=True)):
        alone = Skin(embedding, seen.triangles, device)
        alone.update(upload(x[k], device))
        rows = slice(together.vertex_starts[k], together.vertex_starts[k + 1])
        assert np.array_equal(together.x.numpy()[rows], alone.x.numpy())
        assert together.normals.numpy()[rows] == pytest.approx(alone.normals.numpy(), abs=1e-6)
        own = together.triangles[together.triangle_starts[k] : together.triangle_starts[k + 1]]
        assert np.array_equal(own - together.vertex_starts[k], seen.triangles)


def test_no_cracks_along_a_seam(device):
    """Vertices doubled along a seam stay together to the last bit while the body turns and deforms."""
    host = shapes.ball(0.5, 3)
    seen = shapes.ball(0.51, 6).surface_mesh()
    doubled = np.concatenate([seen.vertices, seen.vertices])
    half = len(seen.triangles) // 2
    triangles = np.concatenate([seen.triangles[:half], seen.triangles[half:] + len(seen.vertices)])
    skin = Skin(embed(doubled, host), triangles, device)
    for angle in (0.3, 2.0):
        skin.update(upload(bend(host.rotated((1, 1, 0), angle).vertices), device))
        x = skin.x.numpy()
        assert np.array_equal(x[: len(seen.vertices)], x[len(seen.vertices) :])


def test_same_bits_with_any_number_of_threads(set_threads):
    host, seen = shapes.ball(0.5, 3), shapes.sheet((1, 1), 150)
    assert len(seen.vertices) > 2 * 8192
    embedding = embed(seen.vertices, host)
    x = upload(bend(host.vertices), "cpu")
    results = []
    for count in (1, 2):
        set_threads(count)
        skin = Skin(embedding, seen.triangles, "cpu")
        skin.update(x)
        results.append((skin.x.numpy().copy(), skin.normals.numpy().copy()))
    assert np.array_equal(results[0][0], results[1][0]) and np.array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("kind", HOSTS)
def test_both_sets_of_kernels_agree(kind, monkeypatch):
    """Those for CUDA run on the CPU as well, and give what those for the CPU give, to rounding."""
    host = HOSTS[kind]()
    seen = cover(host)
    embedding = embed(seen.vertices, host)
    x = upload(bend(host.vertices), "cpu")
    fast = Skin(embedding, seen.triangles, "cpu")
    monkeypatch.setattr("pliant.skin.surface.cpu_kernels", kernels)
    plain = Skin(embedding, seen.triangles, "cpu")
    for skin in (fast, plain):
        skin.update(x)
    assert np.abs(fast.x.numpy() - plain.x.numpy()).max() < 1e-6
    assert np.abs(fast.normals.numpy() - plain.normals.numpy()).max() < 2e-5


def test_recorded_update_follows_the_particles():
    host = shapes.ball(0.5, 2)
    seen = cover(host)
    embedding = embed(seen.vertices, host)
    skin = Skin(embedding, seen.triangles, "cpu")
    x = upload(host.vertices, "cpu")
    skin.update(x)
    with record() as recording:
        skin.update(x)
    assert len(recording) == 3
    moved = bend(host.vertices)
    x.assign(moved.astype(np.float32))
    recording.replay()
    assert np.abs(skin.x.numpy() - embedding.apply(moved)).max() < 2e-6
    assert np.abs(skin.normals.numpy() - vertex_normals(skin.x.numpy(), seen.triangles)).max() < 2e-5


def test_captured_update_follows_the_particles(cuda):
    host = shapes.ball(0.5, 2)
    seen = cover(host)
    embedding = embed(seen.vertices, host)
    skin = Skin(embedding, seen.triangles, cuda)
    x = upload(host.vertices, cuda)
    skin.update(x)
    with wp.ScopedCapture(device=cuda) as capture:
        skin.update(x)
    moved = bend(host.vertices)
    x.assign(moved.astype(np.float32))
    wp.capture_launch(capture.graph)
    assert np.abs(skin.x.numpy() - embedding.apply(moved)).max() < 2e-6


def test_bad_input():
    ball = shapes.ball(0.5, 2).surface_mesh()
    embedding = identity(len(ball.vertices))
    with pytest.raises(InputError, match=r"Skin\.triangles"):
        Skin(embedding, ball.triangles + len(ball.vertices))
    with pytest.raises(InputError, match="one of each per body"):
        Skin([embedding, embedding], [ball.triangles])
    skin = Skin(embedding, ball.triangles)
    with pytest.raises(InputError, match="all particles"):
        skin.update(upload(np.zeros((2, 3)), "cpu"))
    with pytest.raises(InputError, match="contiguous"):
        skin.update(upload(np.zeros((2 * len(ball.vertices), 3)), "cpu")[::2])


def test_no_vertices_and_no_triangles():
    skin = Skin([], [])
    skin.update(upload(np.zeros((0, 3)), "cpu"))
    assert len(skin) == 0
    points = Skin(identity(3), np.zeros((0, 3), np.int32))
    points.update(upload(np.eye(3), "cpu"))
    assert np.array_equal(points.x.numpy(), np.eye(3)) and (points.normals.numpy() == 0.0).all()
