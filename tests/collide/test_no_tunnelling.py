"""Nothing ends on the other side: thin colliders, fast bodies, fast colliders, and what moving colliders carry."""

import dataclasses

import numpy as np
import pytest
from bodies import STILL, build
from detecting import detect

from pliant import PRESETS, Scene, shapes
from pliant.collide.collider import Surface
from pliant.collide.shapes.box import Box
from pliant.collide.shapes.capsule import Capsule
from pliant.collide.shapes.heightmap import Heightmap
from pliant.collide.shapes.mesh import Mesh
from pliant.collide.shapes.sphere import Sphere
from pliant.mesh.surface import SurfaceMesh

SOFT = dataclasses.replace(PRESETS["soft_rubber"], drag=0.0)
COTTON = dataclasses.replace(PRESETS["cotton"], drag=0.0)
# real cotton takes springs hundreds of steps a frame, and then it is not fast
CLOTHS = {
    "mass_spring": (SOFT, {}),
    "implicit": (SOFT, {"integrator": "implicit"}),
    "shape_matching": (COTTON, {}),
    "xpbd": (COTTON, {}),
    "baraff_witkin": (COTTON, {}),
}
SOLIDS = ("mass_spring", "implicit", "shape_matching", "xpbd")
cloths = pytest.mark.parametrize("how", CLOTHS)


def plate(thickness, size=1.0):
    solid = shapes.box((size, thickness, size), (2, 1, 2))
    return SurfaceMesh(solid.vertices, solid.surface())


def method_of(how):
    return "mass_spring" if how == "implicit" else how


def ways(sim, name, frames):
    """Where the free particles begin and end in each substep, as seen from a collider [m]."""
    pipeline = sim.pipeline

    def seen():
        matrix, shift = pipeline.pose(name)
        return ((sim.state.x.numpy().astype(np.float64) - shift) @ matrix)[sim.state.inv_mass.numpy() > 0.0]

    for _ in range(frames):
        sim._tell_of_pins()
        sim.pins.aim(sim.time + sim.frame_dt)
        pipeline.aim(sim.time, sim.time + sim.frame_dt, sim.substeps)
        sim.pins.lead(sim.state, sim.frame_dt)
        for _ in range(sim.substeps):
            before = seen()
            sim.issue_substep()
            yield before, seen()
        sim.frame_number += 1


def deepest(sim, name, frames, samples=600):
    """How deep the straight way of any particle in any substep leads into a collider, as seen from it [m]."""
    built, worst = sim.pipeline.colliders[sim.pipeline.slot(name)], np.inf
    share = np.linspace(0.0, 1.0, samples)[:, None, None]
    for before, after in ways(sim, name, frames):
        near = built.distance(0.5 * (before + after)) <= 0.5 * np.linalg.norm(after - before, axis=1) + 1e-3
        if near.any():
            places = before[near] + share * (after - before)[near]
            worst = min(worst, float(built.distance(places.reshape(-1, 3)).min()))
    return worst


# ---- thin colliders, fast cloth ---------------------------------------------------------------------------------

THIN = {
    "box": (lambda: Box((1, 0.001, 1), name="c"), 0.0005),
    "plate": (lambda: Mesh(plate(0.001), name="c"), 0.0005),
    "shell": (lambda: Mesh(shapes.sheet((1, 1), 3), thickness=0.001, name="c"), 0.0005),
    "capsule": (lambda: Capsule(0.001, (-0.5, 0, 0), (0.5, 0, 0), name="c"), 0.001),
    "sphere": (lambda: Sphere(0.005, name="c"), 0.005),
}


@cloths
@pytest.mark.parametrize("kind", THIN)
@pytest.mark.parametrize("height", [0.05, 0.12])
def test_cloth_at_ten_metres_a_second_does_not_pass_thin_things(how, kind, height, device):
    """At one step a frame it falls 17 cm in a step."""
    make, half = THIN[kind]
    material, settings = CLOTHS[how]
    scene = Scene()
    mesh = shapes.sheet((0.3, 0.3), 6)
    scene.add_body(mesh, material, method=method_of(how), position=(0, height, 0), velocity=(0, -10, 0), name="cloth")
    scene.add_collider(make())
    if settings:
        scene.configure(method_of(how), **settings)
    sim = build(scene, device)
    # the chord of a way around a rod or a ball leads a little through it
    assert deepest(sim, "c", 3, 600 if kind in ("capsule", "sphere") else 2) > -0.25 * half
    if kind in ("box", "plate", "shell"):
        assert sim.positions()[:, 1].min() > half
    elif kind == "capsule":
        middle = np.abs(mesh.vertices[:, 2]) < 1e-6
        assert sim.positions()[middle, 1].min() > 0.0


# ---- fast colliders ---------------------------------------------------------------------------------------------

FAST = {
    "sphere": (lambda **k: Sphere(0.02, **k), 0.02),
    "box": (lambda **k: Box((0.3, 0.3, 0.02), **k), 0.01),
    "capsule": (lambda **k: Capsule(0.005, (-0.3, 0, -0.45), (0.3, 0, -0.45), name=k["name"], path=k["path"]), 0.005),
    "mesh": (lambda **k: Mesh(plate(0.004, 0.3).rotated((1, 0, 0), np.pi / 2), **k), 0.002),
}


@pytest.mark.parametrize("kind", FAST)
@pytest.mark.parametrize("how, body", [*((how, "cloth") for how in CLOTHS), *((how, "solid") for how in SOLIDS)])
def test_a_collider_at_twenty_metres_a_second_does_not_pass(kind, how, body, device):
    """It goes 33 cm in a frame."""
    material, settings = CLOTHS[how]
    scene = Scene(gravity=STILL)
    hung = shapes.sheet((0.4, 0.4), 6).rotated((1, 0, 0), np.pi / 2)
    mesh = hung if body == "cloth" else shapes.box(0.2, 2)
    scene.add_body(mesh, material if body == "cloth" else SOFT, method=method_of(how), name="body")
    if body == "cloth":
        scene.pin("body", lambda x: x[:, 1] > 0.19)
    make, half = FAST[kind]
    path = [(0.0, (0, 0, 0)), (1.0, (0, 0, 20.0))]
    scene.add_collider(make(position=(0, 0, -0.45), path=path, name="c"))
    if settings:
        scene.configure(method_of(how), **settings)
    sim = build(scene, device)
    # the front of it reaches the cloth in the second frame
    assert deepest(sim, "c", 2) > -0.25 * half
    assert sim.collider("c").distance(sim.positions()).min() > -1e-4
    if body == "cloth":
        in_front = np.abs(mesh.vertices[:, :2]).max(axis=1) < (0.14 if kind in ("box", "mesh") else 1e-3)
        assert in_front.any() and sim.positions()[in_front, 2].min() > sim.collider("c").center[2]


# ---- concave ones -----------------------------------------------------------------------------------------------


def bowl(radius=0.2, around=24, down=12):
    """Half a sphere, open above."""
    angle = np.pi / 2 * np.arange(1, down + 1)[:, None] / down
    turn = 2 * np.pi * np.arange(around) / around
    rings = np.stack(np.broadcast_arrays(np.sin(angle) * np.cos(turn), -np.cos(angle), np.sin(angle) * np.sin(turn)), 2)
    points = radius * np.concatenate([[[0, -1.0, 0]], rings.reshape(-1, 3)])
    here = np.arange(around)
    next = (here + 1) % around
    faces = [np.stack([0 * here, 1 + here, 1 + next], 1)]
    for ring in range(down - 1):
        a, b = 1 + ring * around + here, 1 + ring * around + next
        faces += [np.stack([a, a + around, b], 1), np.stack([b, a + around, b + around], 1)]
    return SurfaceMesh(points, np.concatenate(faces))


def put_back(collider, before, x, device, radius=0.0):
    """Where particles end without friction."""
    found = detect([collider], x, device, before=before, radius=radius)
    return np.where(found.depth >= 0.0, x - found.gap * found.normal[:, 0], x)


@pytest.mark.parametrize("length", [0.05, 0.17, 0.4])
def test_a_thin_bowl_keeps_what_falls_into_it(length, device):
    rng = np.random.default_rng(0)
    before = rng.normal(size=(3000, 3))
    before *= 0.17 * rng.uniform(0.2, 1.0, (3000, 1)) / np.linalg.norm(before, axis=1)[:, None]
    before[:, 1] = -np.abs(before[:, 1]) - 0.005
    way = rng.normal(size=before.shape)
    way[:, 1] = -np.abs(way[:, 1])
    x = before + length * way / np.linalg.norm(way, axis=1)[:, None]
    after = put_back(Mesh(bowl(), thickness=0.002), before, x, device, radius=0.001)
    inside = np.linalg.norm(after, axis=1) < 0.2
    assert inside[after[:, 1] < -0.001].all()
    assert np.count_nonzero(np.linalg.norm(x, axis=1) > 0.21) > 30


def test_a_groove_keeps_what_falls_into_it(device):
    rng = np.random.default_rng(0)
    points = [[-0.3, 0.3, -1], [-0.3, 0.3, 1], [0, 0, -1], [0, 0, 1], [0.3, 0.3, -1], [0.3, 0.3, 1]]
    groove = SurfaceMesh(points, [[0, 1, 2], [1, 3, 2], [2, 3, 4], [3, 5, 4]])
    before = np.stack([rng.uniform(-0.1, 0.1, 500), rng.uniform(0.12, 0.2, 500), rng.uniform(-0.5, 0.5, 500)], 1)
    after = put_back(Mesh(groove, thickness=0.002), before, before - [0, 0.4, 0], device)
    assert (after[:, 1] > np.abs(after[:, 0])).all()


@cloths
@pytest.mark.parametrize("friction", [0.0, 1.0])
def test_cloth_thrown_into_a_thin_bowl_stays_in_it(how, friction, device):
    material, settings = CLOTHS[how]
    material = dataclasses.replace(material, friction=friction)
    scene = Scene()
    mesh = shapes.sheet((0.15, 0.15), 5)
    scene.add_body(mesh, material, method=method_of(how), position=(0.04, -0.03, 0), velocity=(2, -10, 0), name="cloth")
    scene.add_collider(Mesh(bowl(), thickness=0.002, surface=Surface(friction), name="bowl"))
    if settings:
        scene.configure(method_of(how), **settings)
    for before, after in ways(build(scene, device), "bowl", 15):
        # it may bounce out over the rim, but not pass through the wall
        inner, outer = np.linalg.norm(before, axis=1), np.linalg.norm(after, axis=1)
        share = np.clip((0.2 - inner) / np.where(inner == outer, 1.0, outer - inner), 0.0, 1.0)
        height = before[:, 1] + share * (after - before)[:, 1]
        assert not np.any((inner < 0.2) & (outer > 0.2) & (height < -0.01))


def test_nothing_passes_through_a_ridge(device):
    """A wall of 10 cm in a heightmap: what comes from one side stays there, however far it would go."""
    heights = np.zeros((41, 41))
    heights[:, 20:22] = 1.0
    wall = Heightmap(heights, (4.0, 4.0), extend=True)
    rng = np.random.default_rng(1)
    before = np.stack([rng.uniform(-0.6, -0.3, 2000), rng.uniform(0.1, 0.7, 2000), rng.uniform(-1, 1, 2000)], 1)
    x = before + np.stack([rng.uniform(0.2, 2.0, 2000), rng.uniform(-0.3, 0.2, 2000), rng.uniform(-1, 1, 2000)], 1)
    after = put_back(wall, before, x, device)
    high = x[:, 1] < 0.9
    assert (after[high, 0] < 0.02).all() and np.count_nonzero(high & (x[:, 0] > 0.2)) > 500
    # what goes over it is left alone
    over = before + [0.0, 1.0, 0.0]
    there = over + [1.2, 0.0, 0.0]
    np.testing.assert_array_equal(put_back(wall, over, there, device), there)


# ---- what moving colliders carry --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["box", "mesh"])
@pytest.mark.parametrize("how", ["mass_spring", "implicit", "shape_matching", "xpbd", "baraff_witkin"])
def test_what_lies_on_a_moving_collider_goes_with_it(kind, how, device):
    """It is led half a metre aside, up, and turned by a quarter in a second, with a calm start and end.

    What baraff_witkin holds follows a step later, at one step per frame, and drifts outward by some millimetres.
    """
    method = method_of(how)
    scene = Scene()
    calm = dataclasses.replace(SOFT, friction=3.0)
    cloth = dataclasses.replace(COTTON, friction=3.0)
    if how == "baraff_witkin":
        scene.add_body(shapes.sheet((0.1, 0.1), 3), cloth, position=(0.1, 0.0002, 0), method=method, name="body")
    else:
        scene.add_body(shapes.box((0.1, 0.04, 0.1), 1), calm, position=(0.1, 0.02, 0), method=method, name="body")
    if how == "implicit":
        scene.configure("mass_spring", integrator="implicit")
    share = np.linspace(0.0, 1.0, 9)
    eased = share**2 * (3 - 2 * share)
    keys = [
        {"time": t, "offset": (0.5 * s, 0.2 * s, 0), "rotation": (0, 90 * s, 0)}
        for t, s in zip(share, eased, strict=True)
    ]
    surface = Surface(3.0)
    if kind == "box":
        scene.add_collider(Box((1.0, 0.1, 1.0), (0, -0.05, 0), surface=surface, path=keys, name="c"))
    else:
        scene.add_collider(Mesh(plate(0.1), (0, -0.05, 0), surface=surface, path=keys, name="c"))
    sim = build(scene, device)
    start = sim.positions().mean(axis=0)
    sim.frame(64)
    matrix, shift = sim.pipeline.pose("c")
    wanted = matrix @ start + shift
    np.testing.assert_allclose(sim.positions().mean(axis=0), wanted, atol=0.02 if how == "baraff_witkin" else 0.012)


# ---- where sheets rest ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["shape_matching", "xpbd", "baraff_witkin"])
@pytest.mark.parametrize("kind", ["box", "sphere", "capsule", "mesh", "heightmap"])
def test_a_sheet_rests_half_its_thickness_above(how, kind, device):
    flat = plate(0.2, 2.0)
    made = {
        "box": lambda: Box((2, 0.2, 2), (0, -0.1, 0)),
        "sphere": lambda: Sphere(50.0, (0, -50.0, 0)),
        "capsule": lambda: Capsule(50.0, (-1, -50.0, 0), (1, -50.0, 0)),
        "mesh": lambda: Mesh(flat, (0, -0.1, 0)),
        "heightmap": lambda: Heightmap(np.zeros((3, 3))),
    }
    scene = Scene()
    material = dataclasses.replace(PRESETS["denim"], thickness=0.004, drag=5.0)
    scene.add_body(shapes.sheet((0.2, 0.2), 3), material, method=how, position=(0, 0.01, 0), name="sheet")
    scene.add_collider(made[kind]())
    sim = build(scene, device)
    sim.frame(40)
    np.testing.assert_allclose(scene.colliders[0].distance(sim.positions().astype(np.float64)), 0.002, atol=2e-4)
