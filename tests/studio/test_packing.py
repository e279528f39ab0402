"""What is packed is what is seen: positions, normals, heat, particles, and what a scene message says of the bodies."""

import numpy as np
import pytest
from bodies import build
from matched_bodies import CLUSTERS

from pliant import Material, PointCloud, Scene, SurfaceMesh, VoxelLattice, shapes
from pliant.errors import InputError
from pliant.mesh.embed import embed
from pliant.mesh.look import Look, Paint
from pliant.studio.heat import HeatSpan
from pliant.studio.packing import Packer, scene_sections

SOFT = Material(density=1000.0, young=2e4, damping=1e-3)
SOLID = shapes.box((0.4, 0.1, 0.1), (8, 2, 2))
SEEN = shapes.ellipsoid((0.19, 0.045, 0.045), 5).surface_mesh()
LATTICE = VoxelLattice.from_cells(np.indices((4, 2, 2)).reshape(3, -1).T, 0.1)
GRID = [[0.1 * i, 0.0, 0.1 * j] for i in range(4) for j in range(4)]
QUADS = [4 * i + j for i in range(3) for j in range(3)]
SHEET = SurfaceMesh(np.array(GRID), [t for q in QUADS for t in ([q, q + 1, q + 4], [q + 4, q + 1, q + 5])])


def zoo(device="cpu"):
    """Bodies of all kinds beside each other, out of shape and on their way."""
    made = Scene(substeps=4, frame_dt=1 / 60)
    cloud = PointCloud(SOLID.vertices, "dust")
    inside = (SEEN, embed(SEEN.vertices, SOLID))
    made.add_body(SOLID, SOFT, name="tets", position=(0.0, 1.0, 0.0))
    made.add_body(SOLID, SOFT, name="worn", position=(0.0, 1.0, 1.0), skin=inside, velocity=(0.5, 0.0, 0.0))
    made.add_body(LATTICE, SOFT, name="voxels", position=(2.0, 1.0, 0.0))
    made.add_body(SHEET, SOFT, name="sheet", position=(2.0, 1.0, 1.0))
    made.add_body(cloud, SOFT, method="shape_matching", name="balls", position=(1.0, 1.0, 0.0))
    made.add_body(cloud, SOFT, method="shape_matching", name="clustered", position=(1.0, 1.0, 1.0), skin=(SEEN, None))
    made.add_body(
        SOLID, SOFT, method="shape_matching", name="parts", position=(3.0, 1.0, 0.0), matching=CLUSTERS["kmeans"]
    )
    sim = build(made, device)
    sim.frame(1)
    rng = np.random.default_rng(0)
    for body in sim.model.bodies:
        x = sim.positions(body.name)
        sim.set_state(body.name, x + 0.1 * np.sin(7.0 * x[:, [1, 2, 0]]) + 0.002 * rng.normal(size=x.shape))
    return sim


def decoded(sim, packed):
    counts = [body.seen_vertices for body in sim.model.bodies]
    boxes = np.repeat(np.array(packed.boxes), counts, axis=0)
    return boxes[:, :3] + boxes[:, 3:] * packed.x[:, :3] / 65535.0, boxes[:, 3]


def area_normals(x, triangles):
    a, b, c = x.astype(np.float64)[triangles].transpose(1, 0, 2)
    faces = np.cross(b - a, c - a)
    total = np.zeros(x.shape)
    for corner in range(3):
        np.add.at(total, triangles[:, corner], faces)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.divide(total, length, out=np.zeros_like(total), where=length > 0.0)


def test_positions_and_normals_are_those_of_the_surface(device):
    sim = zoo(device)
    packed = Packer(sim).pack()
    assert packed.x.dtype == np.uint16 and packed.normal.dtype == np.int8 and packed.heat is None
    assert packed.x.shape == packed.normal.shape == (len(sim.surface_positions()), 4)
    x, size = decoded(sim, packed)
    error = np.abs(x - sim.surface_positions()).max(axis=1)
    # half a step, and float32
    assert (error < 0.51 * size / 65535 + 3e-7).all()
    assert all(len(set(box[3:])) == 1 and box[3] > 0.0 for box in packed.boxes)
    wanted = area_normals(sim.surface_positions(), sim.surface())
    used = np.linalg.norm(wanted, axis=1) > 0.5
    unit = packed.normal[used, :3] / np.linalg.norm(packed.normal[used, :3].astype(float), axis=1, keepdims=True)
    angle = np.degrees(np.arccos(np.clip((unit * wanted[used]).sum(axis=1), -1.0, 1.0)))
    assert angle.max() < 1.5
    assert not packed.x[:, 3].any() and not packed.normal[:, 3].any() and not packed.normal[~used].any()


def test_it_follows_the_simulation_and_does_not_change_what_it_gave():
    sim = zoo()
    packer = Packer(sim)
    before = packer.pack()
    kept = before.x.copy()
    sim.set_state("sheet", sim.positions("sheet") * [1.0, 1.0, 3.0])
    after = packer.pack()
    assert np.array_equal(before.x, kept)
    x, size = decoded(sim, after)
    assert (np.abs(x - sim.surface_positions()).max(axis=1) < 0.51 * size / 65535 + 1e-6).all()


def test_boxes_hold_particles_and_pins_are_told(device):
    sim = zoo(device)
    sim.pin("worn", [3, 5])
    packer = Packer(sim)
    packed = packer.pack()
    particles = packer.particles()
    counts = [len(body.rank) for body in sim.model.bodies]
    boxes = np.repeat(np.array(packed.boxes), counts, axis=0)
    x = boxes[:, :3] + boxes[:, 3:] * particles[:, :3] / 65535.0
    assert (np.abs(x - sim.positions()).max(axis=1) < 0.51 * boxes[:, 3] / 65535 + 3e-7).all()
    first = sum(counts[: [b.name for b in sim.model.bodies].index("worn")])
    held = np.zeros(len(x), np.uint16)
    held[[first + 3, first + 5]] = 65535
    assert np.array_equal(particles[:, 3], held)


def test_heat_is_that_of_the_particles(device):
    sim = zoo(device)
    packer = Packer(sim)
    for name in ("strain", "stress", "speed"):
        packed = packer.pack(name)
        low, high = packed.heat
        assert low == 0.0 and high > 0.0
        rows = np.split(packed.x[:, 3] / 65535.0 * high, np.cumsum([b.seen_vertices for b in sim.model.bodies])[:-1])
        seen = dict(zip([b.name for b in sim.model.bodies], rows, strict=True))
        cut = lambda values: np.minimum(values, packed.heat[1])  # noqa: B023
        step = 2e-5 * high
        for body in ("tets", "voxels", "sheet"):
            assert np.abs(seen[body] - cut(sim.quantity(name, body))).max() < step
        balls = seen["balls"].reshape(len(SOLID.vertices), -1)
        assert np.abs(balls - cut(sim.quantity(name, "balls"))[:, None]).max() < step
        hosts = embed(SEEN.vertices, SOLID)
        mean = (np.maximum(hosts.weights, 0) * sim.quantity(name, "worn")[hosts.hosts]).sum(axis=1)
        mean /= np.maximum(hosts.weights, 0).sum(axis=1)
        assert np.abs(seen["worn"] - cut(mean)).max() < step
        away = np.linalg.norm(SEEN.vertices[:, None] - SOLID.vertices, axis=2)
        clear = np.sort(away, axis=1)[:, 1] - away.min(axis=1) > 1e-5
        nearest = sim.quantity(name, "clustered")[away.argmin(axis=1)]
        assert np.abs(seen["clustered"] - cut(nearest))[clear].max() < step
    with pytest.raises(InputError, match="strain, stress, speed"):
        packer.pack("beauty")


def test_a_given_span_is_kept():
    sim = zoo()
    packer = Packer(sim)
    packed = packer.pack("strain", (0.05, 0.15))
    assert packed.heat == (0.05, 0.15)
    tets = packed.x[: len(SOLID.vertices), 3]
    wanted = np.clip((sim.quantity("strain", "tets") - 0.05) / 0.1, 0.0, 1.0)
    assert np.abs(tets / 65535.0 - wanted).max() < 1e-4
    assert packer.heat_level("strain") > 0.05


def test_the_span_is_round_and_changes_seldom():
    span = HeatSpan()
    assert span.follow(0.013) == 0.02 and span.follow(0.3) == 0.5 and span.follow(0.5) == 0.5
    ends = [span.follow(level) for level in 0.19 + 0.02 * np.sin(np.arange(2000))]
    assert len(set(ends)) <= 3 and ends[-1] == ends[-1000]
    for level in (0.0, float("nan"), float("inf"), 1e300):
        assert 0.0 < HeatSpan().follow(level) < 1e31
    falling = [span.follow(1e-3) for _ in range(2000)]
    assert sorted(falling, reverse=True) == falling and falling[-1] <= 2e-3
    assert {f"{end:e}"[0] for end in [*ends, *falling]} <= {"1", "2", "5"}


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_a_body_that_is_lost_does_not_stop_the_others(bad, device):
    sim = zoo(device)
    good = Packer(sim).pack("strain", (0.0, 1.0))
    x = sim.state.x.numpy()
    for name in ("worn", "balls", "clustered"):
        x[slice(*sim.body(name).particles)] = bad
    one = sim.body("tets").particles[0]
    x[one] = bad
    sim.state.x.assign(x)
    sim.forget_programs()
    packed = Packer(sim).pack("strain")
    boxes = np.array(packed.boxes)
    assert np.isfinite(boxes).all() and (boxes[:, 3:] > 0.0).all() and np.isfinite(packed.heat).all()
    names = [body.name for body in sim.model.bodies]
    for name in ("voxels", "sheet", "parts"):
        k = names.index(name)
        first = sum(body.seen_vertices for body in sim.model.bodies[:k])
        rows = slice(first, first + sim.body(name).seen_vertices)
        assert packed.boxes[k] == good.boxes[k]
        assert np.array_equal(packed.x[rows, :3], good.x[rows, :3])
        assert np.array_equal(packed.normal[rows], good.normal[rows])
    assert boxes[names.index("tets"), 3] < 2.0


def test_a_single_place_has_a_box():
    made = Scene(substeps=1)
    made.add_body(PointCloud([[0.0, 1.0, 0.0]], volume=1e-3), SOFT, method="shape_matching", skin=(SEEN, None))
    sim = build(made)
    packed = Packer(sim).pack("strain")
    assert packed.boxes[0][3] > 0.0 and not packed.x[:, 3].any()


def test_same_bytes_with_any_number_of_threads(set_threads):
    def made(count):
        set_threads(count)
        packed = Packer(zoo()).pack("stress")
        return packed.x.tobytes(), packed.normal.tobytes(), packed.boxes, packed.heat

    assert made(1) == made(3)


def test_a_large_body_needs_several_levels_of_boxes(device):
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (40_000, 3))
    made = Scene(substeps=1)
    made.add_body(PointCloud(points), SOFT, method="shape_matching", name="dust", skin=(SEEN, None))
    made.add_body(SOLID, SOFT, name="solid", position=(5.0, 0.0, 0.0))
    sim = build(made, device)
    packed = Packer(sim).pack()
    for body, box in zip(sim.model.bodies, packed.boxes, strict=True):
        x = np.concatenate([sim.positions(body.name), sim.surface_positions(body.name)])
        assert np.allclose(box[:3], x.min(axis=0)) and box[3] == pytest.approx(np.ptp(x, axis=0).max(), rel=1e-5)


def test_the_scene_message_describes_the_bodies():
    sim = zoo()
    described, sections = scene_sections(sim, 2)
    first = 0
    for k, (body, row) in enumerate(zip(sim.model.bodies, described, strict=True)):
        triangles, colors = sections[f"2.{k}.triangles"], sections[f"2.{k}.colors"]
        assert np.array_equal(triangles, sim.surface(body.name)) and triangles.dtype == np.uint32
        assert colors.shape == (body.seen_vertices, 4) and colors.dtype == np.uint8
        assert np.abs(colors[:, :3] / 255.0 - np.array(body.color)).max() < 0.003 and (colors[:, 3] == 255).all()
        assert (row["vertices"], row["triangles"]) == (body.seen_vertices, len(triangles))
        assert row["particles"] == len(sim.positions(body.name)) and row["name"] == body.name
        assert row["mass"] == pytest.approx(sim.model.particles.mass[slice(*body.particles)].sum())
        assert not row["can_cut"] and row["size"] > 0.1
        first += row["vertices"]
    assert first == len(Packer(sim).pack().x)
    names = [row["name"] for row in described]
    # tets in the user's numbers, upright and filling the body
    rest = {"tets": SOLID.vertices, "worn": SOLID.vertices, "parts": SOLID.vertices, "voxels": LATTICE.vertices}
    for name, x in rest.items():
        tets = sections[f"2.{names.index(name)}.tets"]
        e = x[tets[:, 1:]] - x[tets[:, :1]]
        volumes = np.linalg.det(e) / 6.0
        assert (volumes > 0.0).all() and volumes.sum() == pytest.approx(0.016 if name == "voxels" else 0.004)
        assert described[names.index(name)]["tets"] == len(tets)
    for name in ("sheet", "balls", "clustered"):
        assert f"2.{names.index(name)}.tets" not in sections and described[names.index(name)]["tets"] == 0
    k = names.index("parts")
    clusters = sections[f"2.{k}.clusters"]
    assert clusters.dtype == np.uint16 and len(clusters) == described[k]["vertices"]
    assert set(clusters) == set(range(described[k]["clusters"])) and described[k]["clusters"] == 5
    held = sim.body("parts").clusters
    for c in range(5):
        assert set(sim.body("parts").rank[clusters == c]) <= set(held.of(c))
    assert f"2.{names.index('tets')}.clusters" not in sections


def test_colors_are_those_of_the_paint():
    half = len(SEEN.triangles) // 2
    paints = (Paint("red", (1.0, 0.0, 0.0, 1.0)), Paint("blue", (0.0, 0.0, 1.0, 1.0)))
    paint_of = (np.arange(len(SEEN.triangles)) >= half).astype(np.int32)
    mesh = SurfaceMesh(SEEN.vertices, SEEN.triangles, "ball", (), Look(paints=paints, paint_of=paint_of))
    made = Scene(substeps=1)
    made.add(PointCloud(SOLID.vertices), SOFT, method="shape_matching", name="dust", skin=mesh)
    sim = build(made)
    _, sections = scene_sections(sim, 0)
    colors, triangles = sections["0.0.colors"], sections["0.0.triangles"]
    for k, wanted in enumerate([[255, 0, 0, 255], [0, 0, 255, 255]]):
        only = np.setdiff1d(triangles[paint_of == k], triangles[paint_of != k])
        assert len(only) and (colors[only] == wanted).all()


def test_the_triangles_of_a_body_that_breaks_stay_the_same():
    made = Scene(substeps=4, gravity=(0.0, 0.0, 0.0))
    brittle = Material(density=1000.0, young=2e4, fracture_strain=0.05)
    made.add_body(SOLID, brittle, method="shape_matching", name="body", matching=CLUSTERS["boxes"])
    sim = build(made)
    before, packer = scene_sections(sim, 0), Packer(sim)
    assert before[0][0]["can_cut"]
    x = sim.positions()
    sim.set_state("body", velocities=20.0 * x * [1.0, 0.0, 0.0])
    sim.frame(12)
    assert sim.pieces("body") > 1
    after = scene_sections(sim, 0)
    assert np.array_equal(before[1]["0.0.triangles"], after[1]["0.0.triangles"]) and before[0] == after[0]
    seen, size = decoded(sim, packer.pack())
    assert (np.abs(seen - sim.surface_positions()).max(axis=1) < size / 65535).all()
