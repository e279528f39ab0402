"""Contacts between bodies by cube maps of their clusters."""

import numpy as np
import pytest
import warp as wp
from bodies import STILL, build

from pliant import Material, Scene, shapes
from pliant.errors import InputError
from pliant.mesh.tets import TetMesh
from pliant.physics.cube_map import NODES, SIDE, cross_triangle, face_of, node_direction, on_face

BLOCK = shapes.box((0.5, 0.5, 0.5), 4)
FAR = (50.0, 0.0, 0.0)


def pair(one, two, device, material=None, *, clusters=1, velocity=STILL, **keywords):
    """Two bodies that meet by cube maps, the first on its way; steps of 1/480 s."""
    scene = Scene(
        gravity=keywords.pop("gravity", STILL),
        frame_dt=1 / 60,
        substeps=8,
        contact={"between": "bodies", "method": "cube_maps", **keywords},
    )
    material = Material() if material is None else material
    matching = {"clusters": clusters}
    scene.add_body(one, material, method="shape_matching", name="one", matching=matching, velocity=velocity)
    scene.add_body(two, material, method="shape_matching", name="two", matching=matching)
    return scene


def heights(contacts):
    """Heights of all maps (c, 6, SIDE, SIDE) [m], zero where there is no surface; directions (6, SIDE, SIDE, 3)."""
    bits = (contacts.maps.far.numpy() >> 32).astype(np.int32)
    side = np.linspace(-1.0, 1.0, SIDE)
    s, t = np.meshgrid(side, side, indexing="ij")
    directions = np.zeros((6, SIDE, SIDE, 3))
    for face in range(6):
        axis = face // 2
        directions[face, ..., axis] = 1.0 - 2.0 * (face % 2)
        directions[face, ..., (axis + 1) % 3], directions[face, ..., (axis + 2) % 3] = s, t
    return bits.view(np.float32).reshape(-1, 6, SIDE, SIDE).astype(np.float64), directions


def momenta(sim):
    """Linear and angular momentum of all bodies together, and their kinetic energy."""
    mass = sim.model.particles.mass[:, None]
    x, v = sim.state.x.numpy().astype(np.float64), sim.state.v.numpy().astype(np.float64)
    return (mass * v).sum(axis=0), (mass * np.cross(x, v)).sum(axis=0), 0.5 * float((mass * v * v).sum())


def mean(sim, name, array=None):
    """Mean over a body's particles, by mass."""
    body = next(b for b in sim.model.bodies if b.name == name)
    mass = sim.model.particles.mass[slice(*body.particles)]
    values = (sim.state.x if array is None else array).numpy()[slice(*body.particles)]
    return (mass[:, None] * values).sum(axis=0) / mass.sum()


def turned(mesh, axis, angle):
    """A tet mesh turned about an axis through the origin."""
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    turn = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
    return TetMesh(mesh.vertices @ turn.T, mesh.tets, mesh.name), turn


# ---- pure functions -----------------------------------------------------------------------------------------------


@wp.kernel
def _faces(d: wp.array(dtype=wp.vec3), face_out: wp.array(dtype=int), on_out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    face_out[i] = face_of(d[i])
    on_out[i] = on_face(d[i], face_out[i])


@wp.kernel
def _nodes(d_out: wp.array(dtype=wp.vec3), face_out: wp.array(dtype=wp.vec3i)):
    k = wp.tid()
    face = k // 256
    i = (k - 256 * face) // 16
    d_out[k] = node_direction(face, i, k % 16)
    face_out[k] = wp.vec3i(face, i, k % 16)


@wp.kernel
def _cross(
    d: wp.array(dtype=wp.vec3),
    corner: wp.array2d(dtype=wp.vec3),
    facing_out: wp.array(dtype=int),
    height_out: wp.array(dtype=float),
    weights_out: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    hit = cross_triangle(d[i], corner[i, 0], corner[i, 1], corner[i, 2])
    facing_out[i] = hit.facing
    height_out[i] = hit.height
    weights_out[i] = hit.weights


def test_directions_and_faces(device):
    d = np.random.default_rng(0).normal(size=(1000, 3)).astype(np.float32)
    face, on = wp.zeros(1000, dtype=int, device=device), wp.zeros(1000, dtype=wp.vec3, device=device)
    wp.launch(_faces, 1000, [wp.array(d, dtype=wp.vec3, device=device)], [face, on], device=device)
    face, on = face.numpy(), on.numpy()
    axis = np.argmax(np.abs(d), axis=1)
    assert (face // 2 == axis).all() and ((face % 2 == 1) == (d[np.arange(1000), axis] < 0)).all()
    assert np.allclose(on[:, 2], np.abs(d).max(axis=1)) and (np.abs(on[:, :2]) <= on[:, 2:]).all()
    nodes, named = wp.zeros(NODES, dtype=wp.vec3, device=device), wp.zeros(NODES, dtype=wp.vec3i, device=device)
    wp.launch(_nodes, NODES, [], [nodes, named], device=device)
    there, named = nodes.numpy(), named.numpy()
    side = np.linspace(-1, 1, SIDE)
    for k in range(0, NODES, 7):
        f, i, j = named[k]
        assert there[k, f // 2] == 1 - 2 * (f % 2)
        assert np.allclose([there[k, (f // 2 + 1) % 3], there[k, (f // 2 + 2) % 3]], [side[i], side[j]], atol=1e-6)


def test_rays_cross_triangles(device):
    rng = np.random.default_rng(1)
    corner = rng.normal(size=(4000, 3, 3))
    d = rng.normal(size=(4000, 3))
    d[:2000] = (rng.dirichlet([1, 1, 1], 2000)[:, :, None] * corner[:2000]).sum(axis=1) * rng.uniform(0.2, 5, (2000, 1))
    out = [wp.zeros(4000, dtype=t, device=device) for t in (int, float, wp.vec3)]
    arrays = [wp.array(a.astype(np.float32), dtype=wp.vec3, device=device) for a in (d, corner)]
    wp.launch(_cross, 4000, arrays, out, device=device)
    facing, height, weights = (a.numpy() for a in out)
    # d * height = corners^T w, with weights that add up to one
    solved = np.linalg.solve(corner.transpose(0, 2, 1), d[:, :, None])[:, :, 0]
    expected = (solved > 0).all(axis=1)
    clear = (np.abs(solved) / np.abs(solved).sum(axis=1, keepdims=True)).min(axis=1) > 1e-3
    assert expected[:2000].all() and ((facing != 0) == expected)[clear].all()
    hit = clear & expected
    total = solved.sum(axis=1)
    flat = np.abs(np.linalg.det(corner)) > 1e-2
    assert np.allclose((height * total)[hit & flat], 1.0, atol=2e-3)
    assert np.allclose(
        (weights * total[:, None])[hit & flat], solved[hit & flat], rtol=2e-2, atol=2e-3 * np.abs(solved).max()
    )
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    assert (np.sign((normal * d).sum(axis=1))[hit] == facing[hit]).all()


# ---- maps -----------------------------------------------------------------------------------------------------------


def test_map_of_a_ball_is_its_radius(device):
    ball = shapes.ball(0.4, 10)
    sim = build(pair(ball.translated((1.0, 2.0, 3.0)), ball.translated(FAR), device), device)
    height, directions = heights(sim.body_contacts)
    distance = height[0] * np.linalg.norm(directions, axis=-1)
    assert (distance > 0).all()
    # flat triangles lie inside of the ball by less than this
    edges = sim.model.bodies[0].surface[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    places = sim.model.particles.rest
    longest = np.linalg.norm(places[edges[:, 0]] - places[edges[:, 1]], axis=1).max()
    sagitta = longest**2 / 3 / 0.4
    assert distance.max() < 0.4 + 1e-5 and distance.min() > 0.4 - sagitta
    assert (sim.body_contacts.odd == 0).all() and not any("crossed" in note for note in sim.notes)
    assert np.allclose(sim.body_contacts.maps.centre.numpy()[0], (1.0, 2.0, 3.0), atol=1e-6)


def test_map_follows_rotation(device):
    box = shapes.box((0.8, 0.5, 0.3), 4)
    tilted, turn = turned(box, (1.0, 2.0, 0.5), 0.7)
    sim = build(pair(tilted, tilted.translated(FAR), device), device)
    height, directions = heights(sim.body_contacts)
    local = directions @ turn
    exact = (np.array([0.4, 0.25, 0.15]) / np.maximum(np.abs(local), 1e-12)).min(axis=-1)
    assert np.allclose(height[0], exact, rtol=1e-5)
    # drawn anew where the body has gone
    first = slice(*sim.model.bodies[0].particles)
    x = sim.state.x.numpy().copy()
    x[first] = (x[first] @ turn) + np.array([0.3, -0.2, 0.1])
    sim.body_contacts.draw(wp.array(x, dtype=wp.vec3, device=device))
    height, directions = heights(sim.body_contacts)
    exact = (np.array([0.4, 0.25, 0.15]) / np.maximum(np.abs(directions), 1e-12)).min(axis=-1)
    assert np.allclose(height[0], exact, rtol=1e-4)


def test_clusters_cover_the_surface(device):
    sim = build(pair(BLOCK, BLOCK.translated(FAR), device, clusters=6), device)
    contacts = sim.body_contacts
    assert contacts.count > 4
    rows, starts = contacts.maps.corner.numpy(), contacts.maps.row_starts.numpy()
    body = contacts.maps.body.numpy()
    assert (np.diff(starts) > 0).all()
    for b, it in enumerate(sim.model.bodies):
        mine = np.concatenate([rows[starts[c] : starts[c + 1]] for c in np.flatnonzero(body == b)])
        assert {tuple(t) for t in mine} == {tuple(t) for t in it.surface}


@pytest.mark.parametrize("clusters", [1, 6])
@pytest.mark.parametrize("deep", [0.03, -0.03])
def test_a_vertex_inside_and_outside(device, clusters, deep):
    # a pin whose tip alone can be in the block
    tip = TetMesh(np.array([[0, 0, 0], [0.05, 0.4, 0], [-0.05, 0.4, 0.05], [-0.05, 0.4, -0.05]]), [[0, 1, 2, 3]], "pin")
    tip = TetMesh(tip.vertices, [[0, 2, 1, 3]], "pin") if tip.volumes()[0] < 0 else tip
    scene = Scene(gravity=STILL, frame_dt=1 / 480, substeps=1, contact={"between": "bodies", "method": "cube_maps"})
    matching = {"clusters": clusters}
    scene.add_body(BLOCK, Material(friction=0.0), method="shape_matching", name="block", matching=matching)
    scene.add_body(tip.translated((0.07, 0.25 - deep, 0.03)), Material(), method="shape_matching", name="pin")
    sim = build(scene, device)
    sim.frame()
    found = sim.body_contacts.read(sim.state, sim.dt)
    if deep < 0:
        assert len(found) == 0
        return
    assert len(found) >= 1 and (found.kind == "cube_map").all()
    pin = next(k for k, b in enumerate(sim.model.bodies) if b.name == "pin")
    assert (found.bodies == [pin, 1 - pin]).all()
    assert np.allclose(found.weights.sum(axis=1), 0.0, atol=1e-5)
    centre = sim.body_contacts.maps.centre.numpy()[sim.body_contacts.rows.cluster.numpy()[:1]]
    if clusters == 1:
        # the way out along the radius: up to the top at y = 0.25
        way = np.array([0.07, 0.25 - deep, 0.03]) - centre[0]
        out = np.linalg.norm(way) * (0.25 / way[1] - 1)
        assert found.depth[0] == pytest.approx(out, rel=1e-3)
        assert np.allclose(found.normal[0], way / np.linalg.norm(way), atol=1e-4)
    assert (np.einsum("cd,cd->c", found.force, found.normal) > 0).all()
    assert mean(sim, "pin", sim.state.v)[1] > 0 > mean(sim, "block", sim.state.v)[1]


# ---- what contacts do ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clusters", [1, 6])
@pytest.mark.parametrize("friction", [0.0, 0.6])
def test_free_blocks_bounce_and_keep_momentum(device, clusters, friction):
    scene = pair(
        BLOCK,
        BLOCK.translated((0.55, 0.1, 0.05)),
        device,
        Material(friction=friction),
        clusters=clusters,
        velocity=(1, 0, 0),
    )
    sim = build(scene, device)
    before, spin, energy = momenta(sim)
    deepest = 0.0
    for _ in range(30):
        sim.frame()
        found = sim.body_contacts.read(sim.state, sim.dt)
        deepest = max(deepest, float(found.depth.max(initial=0.0)))
    after, turned_by, left = momenta(sim)
    assert 0 < deepest < 0.01
    assert mean(sim, "two")[0] - mean(sim, "one")[0] > 0.5
    assert mean(sim, "two", sim.state.v)[0] - mean(sim, "one", sim.state.v)[0] > 0.3
    # a step of shape matching in float32 loses 1e-5 without contact too
    assert np.abs(after - before).max() < 1e-4 * before[0]
    # over the momentum times the lever of 0.1 m; friction acts on both sides a depth apart: 2e-3 measured
    limit = 3e-4 if friction == 0.0 else 1e-2
    assert np.abs(turned_by - spin).max() < limit * 0.1 * before[0]
    assert left < 1.02 * energy


@pytest.mark.parametrize("clusters", [1, 6])
def test_stacked_blocks_settle(device, clusters):
    material = Material(young=1e6, damping=0.005)
    scene = pair(
        BLOCK.translated((0, 0.26, 0)),
        BLOCK.translated((0.03, 0.78, 0.01)),
        device,
        material,
        clusters=clusters,
        gravity=(0, -9.81, 0),
    )
    scene.add_plane()
    sim = build(scene, device)
    deepest, carried = 0.0, []
    for k in range(120):
        sim.frame()
        found = sim.body_contacts.read(sim.state, sim.dt)
        if k > 60:
            deepest = max(deepest, float(found.depth.max(initial=0.0)))
            sign = np.where(found.bodies[:, 0] == [b.name for b in sim.model.bodies].index("two"), 1.0, -1.0)
            carried.append(float((sign * found.force[:, 1]).sum()))
    weight = 9.81 * 125.0
    assert deepest < 0.01  # 0.004 measured
    assert np.mean(carried) == pytest.approx(weight, rel=0.05)
    assert mean(sim, "two")[1] - mean(sim, "one")[1] == pytest.approx(0.5, abs=0.02)
    assert np.abs(mean(sim, "two")[[0, 2]]).max() < 0.08


def pile(device, *, between="bodies", frames=90):
    """Clustered ellipsoids dropped into a box of planes."""
    scene = Scene(frame_dt=1 / 60, substeps=8, contact={"between": between, "method": "cube_maps"})
    mesh = shapes.ellipsoid((0.25, 0.15, 0.2), 5)
    material = Material(young=3e5, damping=0.005)
    rng = np.random.default_rng(3)
    for k in range(6):
        place = (0.05 * (-1) ** k + 0.02 * rng.normal(), 0.25 + 0.35 * k, 0.02 * rng.normal())
        body = {"method": "shape_matching", "name": f"duck{k}", "matching": {"clusters": 4}}
        scene.add_body(mesh.translated(place), material, **body)
    scene.add_plane()
    for normal in ((1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1)):
        scene.add_plane(point=tuple(-0.38 * n for n in normal), normal=normal)
    sim = build(scene, device)
    sim.frame(frames)
    return sim


def deepest(sim):
    """How deep a vertex of one body is in another [m], by winding numbers and the planes of the nearest triangles."""
    x, worst = sim.state.x.numpy().astype(np.float64), 0.0
    for one in sim.model.bodies:
        points = x[np.unique(one.surface)]
        for two in sim.model.bodies:
            corner = x[two.surface]
            low, high = corner.min(axis=(0, 1)), corner.max(axis=(0, 1))
            near = points[((points > low) & (points < high)).all(axis=1)]
            if one is two or not len(near):
                continue
            a, b, c = (corner[None, :, k] - near[:, None] for k in range(3))
            la, lb, lc = (np.linalg.norm(r, axis=-1) for r in (a, b, c))
            dot = lambda u, v: (u * v).sum(axis=-1)
            below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
            turns = np.arctan2(dot(a, np.cross(b, c)), below).sum(axis=1) / (2 * np.pi)
            normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
            normal /= np.linalg.norm(normal, axis=1, keepdims=True)
            depth = dot(a, normal[None])
            depth = np.where(depth > 0, depth, np.inf).min(axis=1)
            worst = max(worst, float(depth[turns > 0.5].max(initial=0.0)))
    return worst


def test_a_pile_does_not_fall_into_itself(device):
    sim = pile(device)
    assert len(sim.body_contacts.read(sim.state, sim.dt))
    assert deepest(sim) < 0.025  # 0.012 measured, of bodies that are 0.3 thick
    assert deepest(pile(device, between="none")) > 0.1


def test_same_bits_from_run_to_run(device, set_threads):
    first = pile(device, frames=40)
    set_threads(1)
    again = pile(device, frames=40)
    assert len(first.body_contacts.read(first.state, first.dt))
    assert (first.state.x.numpy() == again.state.x.numpy()).all()
    assert (first.state.v.numpy() == again.state.v.numpy()).all()


def test_other_methods_and_sheets(device):
    scene = Scene(frame_dt=1 / 60, contact={"between": "bodies", "method": "cube_maps"})
    stiff = Material(young=1e6, damping=0.005)
    scene.add_body(
        BLOCK.translated((0, 0.25, 0)), stiff, method="shape_matching", name="base", matching={"clusters": 4}
    )
    scene.add_body(shapes.ball(0.2, 5).translated((0, 0.72, 0)), stiff, method="xpbd", name="ball")
    scene.add_body(BLOCK.translated((1.0, 0.25, 0)), stiff, method="mass_spring", name="block")
    scene.add_body(shapes.sheet((0.7, 0.7), 12).translated((1.0, 0.55, 0)), Material(), method="xpbd", name="sheet")
    scene.add_plane()
    sim = build(scene, device)
    sim.frame(60)
    assert mean(sim, "ball")[1] > 0.62
    block, sheet = sim.positions("block"), sim.positions("sheet")
    above = np.abs(sheet[:, [0, 2]] - [1.0, 0.0]).max(axis=1) < 0.2
    assert above.any() and sheet[above, 1].min() > block[:, 1].max() - 0.03


# ---- settings and notes ---------------------------------------------------------------------------------------------


def test_a_torus_is_told_of_and_its_hole_is_empty(device):
    torus = shapes.torus(0.4, 0.12)
    scene = pair(torus, shapes.ball(0.15, 4), device)
    sim = build(scene, device)
    assert sum("crossed more than once" in note and "'one'" in note for note in sim.notes) == 1
    sim.frame()
    assert len(sim.body_contacts.read(sim.state, sim.dt)) == 0


def test_settings():
    with pytest.raises(InputError, match="spheres"):
        Scene(contact={"between": "bodies", "method": "spheres"})
    scene = pair(BLOCK, BLOCK.translated(FAR), "cpu", between="all")
    assert any("out of itself" in note for note in build(scene).notes)
    sheet = shapes.sheet((1.0, 1.0), 4)
    scene = Scene(contact={"between": "bodies", "method": "cube_maps"})
    for k in range(2):
        scene.add_body(sheet.translated((0, k, 0)), Material(), method="xpbd", name=f"sheet{k}")
    sim = build(scene)
    assert not sim.body_contacts.active and any("no cube maps" in note for note in sim.notes)
    assert len(sim.body_contacts.read(sim.state, sim.dt)) == 0


def test_room_grows(device):
    scene = pair(BLOCK, BLOCK.translated((0.49, 0.0, 0.0)), device, clusters=6)
    large, small = build(scene, device), build(scene, device)
    small.body_contacts._make_rows(1)
    small.body_contacts._make_room(1)
    for sim in (large, small):
        sim.frame(3)
    assert small.body_contacts.rows.room > 1
    assert (large.state.x.numpy() == small.state.x.numpy()).all()
