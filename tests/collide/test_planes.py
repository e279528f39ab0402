"""Planes, and the pipeline that finds contacts with them."""

import numpy as np
import pytest
import warp as wp

from pliant import InputError
from pliant.collide.contacts import Contacts
from pliant.collide.pipeline import Pipeline
from pliant.collide.shapes.plane import Plane, PlaneSurface


def planes():
    return [
        Plane((0, 0.1, 0), (0, 2.0, 0), name="floor"),
        Plane((-0.5, 0, 0), (1, 1, 0), velocity=(1, -1, 0.5), surface=PlaneSurface(0.2, 0.7), name="slope"),
        Plane((0, 0, 3), (0, 0, -1), name="wall"),
    ]


def test_distance_and_data():
    floor, slope, _ = planes()
    assert floor.normal == (0, 1, 0)
    np.testing.assert_allclose(floor.distance([[0, 0.3, 9], [5, 0, 0]]), [0.2, -0.1])
    np.testing.assert_allclose(slope.distance([[0.0, 0, 0]]), [0.5 / np.sqrt(2)])
    data = slope.data()
    assert data.friction == pytest.approx(0.2) and data.restitution == pytest.approx(0.7)
    assert data.offset == pytest.approx(-0.5 / np.sqrt(2))


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_detection_finds_what_brute_force_finds(margin, device):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (500, 3)) * [1, 1, 4]
    colliders = planes()
    pipeline = Pipeline(colliders, len(x), device)
    contacts = Contacts(len(x), pipeline.slots, device)
    x = x.astype(np.float32)
    pipeline.detect(wp.array(x, dtype=wp.vec3, device=device), contacts, margin)
    found = contacts.read()
    expected = {
        (i, c): plane.distance(x)[i]
        for c, plane in enumerate(colliders)
        for i in range(len(x))
        if plane.distance(x)[i] <= margin
    }
    assert {(int(p), int(c)) for p, c in zip(found.particle, found.collider, strict=True)} == set(expected)
    assert len(found) == len(expected) > 100
    for particle, collider, normal, depth in zip(
        found.particle, found.collider, found.normal, found.depth, strict=True
    ):
        np.testing.assert_allclose(normal, colliders[collider].normal, atol=1e-6)
        assert depth == pytest.approx(max(-expected[particle, collider], 0.0), abs=1e-6)


def test_contacts_vanish_when_left(device):
    pipeline = Pipeline(planes(), 2, device)
    contacts = Contacts(2, 3, device)
    for height, count in ((-1.0, 1), (1.0, 0)):
        x = wp.array(np.array([[3.0, height, 0], [3.0, 1.0, 0]], np.float32), dtype=wp.vec3, device=device)
        pipeline.detect(x, contacts)
        assert len(contacts.read()) == count


def test_no_colliders(device):
    pipeline = Pipeline([], 4, device)
    contacts = Contacts(4, 0, device)
    pipeline.detect(wp.zeros(4, dtype=wp.vec3, device=device), contacts)
    assert len(contacts.read()) == 0


@pytest.mark.parametrize(
    "keywords, where",
    [
        ({"normal": (0, 0, 0)}, "normal"),
        ({"normal": (0, np.nan, 0)}, "normal"),
        ({"normal": "up"}, "normal"),
        ({"point": (0, 1)}, "point"),
        ({"velocity": (0, 1, 0)}, "velocity"),
        ({"velocity": (np.inf, 0, 0)}, "velocity"),
    ],
)
def test_bad_planes_are_refused(keywords, where):
    with pytest.raises(InputError) as error:
        Plane(**keywords, name="floor")
    assert error.value.where == f"collider 'floor'.{where}" and error.value.what and error.value.remedy


@pytest.mark.parametrize(
    "keywords", [{"friction": -0.1}, {"restitution": 1.5}, {"friction": np.nan}, {"friction": "much"}]
)
def test_bad_surfaces_are_refused(keywords):
    with pytest.raises(InputError, match="Give a number"):
        PlaneSurface(**keywords)


def test_contacts_name_the_body_and_the_vertex():
    from pliant import Scene, shapes

    scene = Scene()
    scene.add_body(shapes.ball(0.3, 3), name="high", position=(0, 5, 0))
    scene.add_body(shapes.box(0.4, 3), name="low", position=(1, 0.2, 0))
    scene.add_plane()
    sim = scene.build("cpu")
    sim.frame(3)
    found = sim.contact_list()
    assert len(found) >= 4 and set(found.body.tolist()) == {1}
    assert np.abs(sim.positions("low")[found.vertex, 1]).max() < 1e-5
