"""What Scene refuses, each with what is wrong, where, and what to do; and what it builds."""

import numpy as np
import pytest
from bodies import build

from pliant import InputError, Material, RawConstants, Scene, SurfaceMesh, TetMesh, shapes

BOX = shapes.box(0.4, 2)
NAN = float("nan")


def inverted():
    return TetMesh(BOX.vertices, BOX.tets[:, [0, 2, 1, 3]])


def flat():
    return TetMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]], [[0, 1, 2, 3]])


def loose():
    return TetMesh(np.vstack([BOX.vertices, [[5.0, 5, 5]]]), BOX.tets)


def crooked():
    vertices = BOX.vertices.copy()
    vertices[3] = np.nan
    return TetMesh(vertices, BOX.tets)


def out_of_range():
    tets = BOX.tets.copy()
    tets[2, 1] = 99
    return TetMesh(BOX.vertices, tets)


BAD_BODIES = {
    "no mesh": ({"mesh": [[0, 0, 0]]}, "body 'b'", "list is not a mesh"),
    "inverted mesh": ({"mesh": inverted()}, "body 'b'", "inside out"),
    "flat tet": ({"mesh": flat()}, "body 'b'", "volume"),
    "unused vertex": ({"mesh": loose()}, "body 'b'", "27"),
    "vertex not finite": ({"mesh": crooked()}, "body 'b'", "vertex 3"),
    "vertex number out of range": ({"mesh": out_of_range()}, "body 'b'", "99"),
    "no tets": ({"mesh": TetMesh(BOX.vertices, np.zeros((0, 4), int))}, "body 'b'", "no tets"),
    "no triangles": ({"mesh": SurfaceMesh(BOX.vertices, np.zeros((0, 3), int))}, "body 'b'", "no triangles"),
    "unknown preset": ({"material": "unobtainium"}, "body 'b'.material", "no material 'unobtainium'"),
    "material of wrong type": ({"material": 5}, "body 'b'.material", "no material 5"),
    "unknown method": ({"method": "magic"}, "body 'b'.method", "no method 'magic'"),
    "position of two": ({"position": (0, 1)}, "body 'b'.position", "(0, 1)"),
    "position NaN": ({"position": (0, NAN, 0)}, "body 'b'.position", "nan"),
    "position text": ({"position": "high"}, "body 'b'.position", "'high'"),
    "position too far": ({"position": (1e30, 0, 0)}, "body 'b'.position", "1e+30"),
    "rotation infinite": ({"rotation": (np.inf, 0, 0)}, "body 'b'.rotation", "inf"),
    "velocity of strings": ({"velocity": ("1", 0, 0)}, "body 'b'.velocity", "'1'"),
    "velocity absurd": ({"velocity": (1e30, 0, 0)}, "body 'b'.velocity", "1e+30"),
    "angular velocity number": ({"angular_velocity": 3.0}, "body 'b'.angular_velocity", "3.0"),
    "colour": ({"color": (0, 2, 0)}, "body 'b'.color", "2"),
    "mass distribution": ({"mass_distribution": "even"}, "body 'b'.mass_distribution", "'even'"),
    "inverse mass": ({"largest_inverse_mass": -1.0}, "body 'b'.largest_inverse_mass", "-1"),
    "inverse mass text": ({"largest_inverse_mass": "big"}, "body 'b'.largest_inverse_mass", "'big'"),
    "raw of wrong type": ({"raw": {"spring": 5.0}}, "body 'b'.raw", "dict"),
    "name of wrong type": ({"name": 7}, "body", "7"),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_bad_bodies_are_refused(name):
    keywords, where, words = BAD_BODIES[name]
    scene = Scene()
    with pytest.raises(InputError) as error:
        scene.add_body(**{"mesh": BOX, "name": "b", **keywords})
    assert error.value.where.startswith(where), error.value.where
    assert words in error.value.what, error.value.what
    assert error.value.remedy and str(error.value).startswith(error.value.where)
    # nothing is left of it
    assert scene.bodies == []


BAD_SCENES = {
    "gravity": ({"gravity": (0, -9.81)}, "scene.gravity"),
    "gravity NaN": ({"gravity": (0, NAN, 0)}, "scene.gravity"),
    "frame zero": ({"frame_dt": 0.0}, "frame_dt"),
    "frame negative": ({"frame_dt": -0.1}, "frame_dt"),
    "frame absurd": ({"frame_dt": 1e9}, "frame_dt"),
    "frame NaN": ({"frame_dt": NAN}, "frame_dt"),
    "frame text": ({"frame_dt": "fast"}, "frame_dt"),
    "substeps zero": ({"substeps": 0}, "substeps"),
    "substeps fraction": ({"substeps": 2.5}, "substeps"),
    "substeps absurd": ({"substeps": 10**9}, "substeps"),
    "substeps truth": ({"substeps": True}, "substeps"),
    "stretch limit": ({"stretch_limit": 0.5}, "stretch_limit"),
    "unknown setting": ({"substep": 3}, "scene"),
}


@pytest.mark.parametrize("name", BAD_SCENES)
def test_bad_settings_of_the_scene_are_refused(name):
    keywords, where = BAD_SCENES[name]
    with pytest.raises(InputError) as error:
        Scene(**keywords)
    assert where in error.value.where and error.value.what and error.value.remedy


def with_body():
    scene = Scene()
    scene.add_body(BOX, name="b")
    return scene


BAD_CALLS = {
    "name taken": (lambda s: s.add_body(BOX, name="b"), "body 'b'", "taken"),
    "pin of nobody": (lambda s: s.pin("c", [0]), "pin", "no body 'c'"),
    "pin of nothing": (lambda s: s.pin("b", lambda x: x[:, 0] > 99), "pin of body 'b'", "no vertex"),
    "pin out of range": (lambda s: s.pin("b", [27]), "pin of body 'b'", "does not exist"),
    "pin negative": (lambda s: s.pin("b", [-1]), "pin of body 'b'", "does not exist"),
    "pin by fractions": (lambda s: s.pin("b", [0.7]), "pin of body 'b'", "0.7"),
    "pin by a short mask": (lambda s: s.pin("b", np.ones(5, bool)), "pin of body 'b'", "mask"),
    "pin by text": (lambda s: s.pin("b", "top"), "pin of body 'b'", "top"),
    "path empty": (lambda s: s.pin("b", [0], path=[]), "pin of body 'b'", "no keys"),
    "path backwards": (lambda s: s.pin("b", [0], path=[(1, (0, 0, 0)), (0, (0, 0, 0))]), "pin of body 'b'", "rise"),
    "path key": (lambda s: s.pin("b", [0], path=[(1,)]), "pin of body 'b'", "key 0"),
    "path time": (lambda s: s.pin("b", [0], path=[("now", (0, 0, 0))]), "pin of body 'b'", "'now'"),
    "path time of nothing": (lambda s: s.pin("b", [0], path=[(None, (0, 0, 0))]), "pin of body 'b'", "None"),
    "path offset": (lambda s: s.pin("b", [0], path=[(0, (0, NAN, 0))]), "pin of body 'b'.path[0]", "nan"),
    "plane normal": (lambda s: s.add_plane(normal=(0, 0, 0)), "collider 'plane0'.normal", "no length"),
    "plane point": (lambda s: s.add_plane(point=5), "collider 'plane0'.point", "5"),
    "plane velocity": (lambda s: s.add_plane(velocity=(0, 1, 0)), "collider 'plane0'.velocity", "along the plane"),
    "plane friction": (lambda s: s.add_plane(friction=-1), "PlaneSurface.friction", "-1"),
    "plane name taken": (lambda s: [s.add_plane(name="p"), s.add_plane(name="p")], "collider 'p'", "taken"),
    "unknown method": (lambda s: s.configure("magic"), "method", "magic"),
    "unknown setting": (lambda s: s.configure("mass_spring", speed=3), "solver 'mass_spring'", "speed"),
    "unknown integrator": (lambda s: s.configure("mass_spring", integrator="leapfrog"), "integrator", "leapfrog"),
    "setting out of range": (lambda s: s.configure("mass_spring", cg_iterations=0), "cg_iterations", "0"),
    "unknown device": (lambda s: s.build("tpu"), "device", "tpu"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_are_refused(name):
    action, where, words = BAD_CALLS[name]
    with pytest.raises(InputError) as error:
        action(with_body())
    assert where in error.value.where, error.value.where
    assert words in error.value.what, error.value.what
    assert error.value.remedy


def test_an_empty_scene():
    with pytest.raises(InputError, match=r"scene 'void': the scene has no bodies\. Add one with add_body"):
        Scene(name="void").build("cpu")


def test_names_that_are_not_given_do_not_collide():
    scene = Scene()
    scene.add_body(BOX, name="body1")
    assert scene.add_body(BOX) != "body1"
    assert len({scene.add_body(BOX) for _ in range(4)}) == 4


def test_numpy_numbers_are_numbers():
    scene = Scene(gravity=np.array([0, -1.0, 0]), frame_dt=np.float32(0.01), substeps=np.int64(3))
    scene.add_body(BOX, Material(density=np.float64(500.0), young=np.float32(1e4), damping=np.int32(0)), name="b")
    scene.pin("b", np.array([0, 1], np.uint8))
    sim = build(scene)
    assert sim.substeps == 3 and sim.frame_dt == pytest.approx(0.01)


def test_what_the_mesh_says_is_passed_on():
    """Vertices at the same place make a body that is cut; the user must hear of it."""
    vertices = np.vstack([BOX.vertices, BOX.vertices])
    scene = Scene()
    scene.add_body(TetMesh(vertices, np.vstack([BOX.tets, BOX.tets + len(BOX.vertices)])), name="b")
    notes = build(scene).notes
    assert any("same place" in note and "'b'" in note for note in notes)


def test_a_body_where_it_was_put():
    mesh = shapes.box((0.4, 0.2, 0.2), (2, 1, 1))
    scene = Scene(gravity=(0, 0, 0))
    scene.add_body(
        mesh, name="b", position=(1, 2, 3), rotation=(0, 0, 90), velocity=(1, 0, 0), angular_velocity=(0, 0, 2)
    )
    sim = build(scene)
    x = mesh.vertices @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]]).T + [1, 2, 3]
    np.testing.assert_allclose(sim.positions("b"), x, atol=1e-6)
    # about its own centre of mass
    np.testing.assert_allclose(sim.velocities("b"), [1, 0, 0] + np.cross([0, 0, 2], x - [1, 2, 3]), atol=1e-5)


def test_bodies_come_back_in_the_users_order():
    scene = Scene()
    meshes = {"first": shapes.ball(0.2, 3), "second": shapes.box(0.3, 3), "third": shapes.sheet(0.4, 4)}
    for k, (name, mesh) in enumerate(meshes.items()):
        scene.add_body(mesh, name=name, position=(k, 0, 0))
    sim = build(scene)
    for k, (name, mesh) in enumerate(meshes.items()):
        np.testing.assert_allclose(sim.positions(name), mesh.vertices + [k, 0, 0], atol=1e-6)
        np.testing.assert_array_equal(sim.positions(name), sim.positions(k))
    np.testing.assert_array_equal(sim.positions(), np.concatenate([sim.positions(n) for n in meshes]))
    # the triangles to draw are those of each mesh's boundary
    faces = sim.model.surface()
    assert len(faces) == len(meshes["first"].surface()) + len(meshes["second"].surface()) + len(
        meshes["third"].triangles
    )


def test_raw_constants_are_checked():
    for keywords in ({"spring": -1.0}, {"volume_form": "cubic"}, {"mass": 0.0}, {"volume_damping": NAN}):
        with pytest.raises(InputError, match="RawConstants"):
            RawConstants(**keywords)
