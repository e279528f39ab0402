"""Layered bodies: texels welded to one closed surface, feet inside, positive tets, files, and what is refused."""

import dataclasses
import sys

import numpy as np
import pytest

from pliant.errors import InputError, MissingExtraError
from pliant.mesh import layered_shapes, shapes
from pliant.mesh.atlas import make_atlas
from pliant.mesh.atlas_charts import shared_edges
from pliant.mesh.layer_settings import LayerSettings
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.look import Look
from pliant.mesh.prepare import prepare
from pliant.mesh.prepare_layered import prepare_layered
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.prepared import read_body, write_body
from pliant.mesh.solid.distance import SignedDistance
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.texel_cells import net_faults, split_fans


def surface_of(name):
    if name == "sphere":
        return dataclasses.replace(shapes.ball(0.5, 8).surface_mesh(), name="sphere")
    if name == "torus":
        return dataclasses.replace(shapes.torus(0.35, 0.12, 5).surface_mesh(), name="torus")
    if name == "box":
        return dataclasses.replace(shapes.box((1.0, 0.6, 0.4), 4).surface_mesh(), name="box")
    if name == "plate":
        return dataclasses.replace(shapes.box((1.0, 0.02, 1.0), (8, 1, 8)).surface_mesh(), name="plate")
    return getattr(layered_shapes, name)(detail=144) if hasattr(layered_shapes, name) else name


EULER = {
    "sphere": 2, "torus": 0, "box": 2, "plate": 2, "gear": 0, "tyre": 0, "pumpkin": 2, "can": 2, "bunny": 2
}  # fmt: skip


@pytest.fixture(scope="module")
def bodies():
    made = {}

    def body(name, texture=64):
        if (name, texture) not in made:
            settings = LayerSettings(texture=texture)
            made[name, texture] = prepare_layered(surface_of(name), settings, use_cache=False)
        return made[name, texture]

    return body


@pytest.mark.parametrize("name", EULER)
def test_a_body_is_one_closed_surface_over_a_core(name, bodies):
    body = bodies(name)
    mesh = body.solid
    assert isinstance(mesh, LayeredMesh) and mesh.check() == []
    surface = mesh.surface_mesh()
    assert not net_faults(mesh.triangles, len(mesh.nodes)).any()
    assert len(mesh.nodes) - len(surface.edges()) + len(mesh.triangles) == EULER[name]
    assert (mesh.volumes() > 0.0).all()
    assert body.facts["layer"]["dropped_tets"] == 0
    # each closed triangle and its feet make three tets, about six for each node
    assert len(mesh.tets) == 3 * len(mesh.triangles)
    assert (SignedDistance(surface).at(mesh.feet) < 0.0).all()
    assert mesh.core_mesh().is_closed() and body.facts["layer"]["core_outside"] == 0
    # the layer and what it encloses are the whole body
    inner = mesh.inner_mesh()
    assert inner.is_closed()
    assert mesh.volumes().sum() + inner.volume() == pytest.approx(surface.volume(), rel=1e-9)


@pytest.mark.parametrize("name", ["sphere", "torus", "gear", "bunny"])
def test_area_and_volume_come_closer_with_the_texture(name, bodies):
    coarse, fine = bodies(name, 64), bodies(name, 160)
    true = fine.skin
    errors = [
        (abs(b.solid.surface_mesh().areas().sum() / true.areas().sum() - 1.0),
         abs(b.solid.surface_mesh().volume() / true.volume() - 1.0))
        for b in (coarse, fine)
    ]  # fmt: skip
    # measured: areas within 0.04 and 0.011, volumes within 0.02 and 0.004
    assert errors[0][0] < 0.06 and errors[1][0] < 0.02 and errors[1][0] < errors[0][0]
    assert errors[0][1] < 0.03 and errors[1][1] < 0.01
    assert len(fine.solid.nodes) > 4 * len(coarse.solid.nodes)


@pytest.mark.parametrize("name", ["sphere", "gear", "tyre"])
def test_triangles_are_no_slivers(name, bodies):
    corners = bodies(name, 128).solid.surface_mesh()
    sides = corners.vertices[np.roll(corners.triangles, -1, axis=1)] - corners.vertices[corners.triangles]
    quality = 4.0 * np.sqrt(3.0) * corners.areas() / (sides**2).sum(axis=(1, 2))
    # 1 for an equal-sided triangle; measured least 0.34
    assert quality.min() > 0.15 and np.median(quality) > 0.8


def test_texels_name_their_nodes_and_seams_are_welded(bodies):
    mesh = bodies("sphere").solid
    own = mesh.node_of_texel[mesh.texel[:, 0], mesh.texel[:, 1]]
    assert np.array_equal(own, np.arange(len(mesh.nodes)))
    # triangles go across seams: some have nodes of two charts, and no edge is used once
    charts = mesh.chart_of[mesh.triangles]
    assert (charts != charts[:, :1]).any()
    row, *_ = shared_edges(mesh.triangles)
    assert 2 * len(row) == 3 * len(mesh.triangles)
    # some texels share the node of another
    used = int((mesh.node_of_texel >= 0).sum())
    assert used >= len(mesh.nodes)
    # two nodes are never at one place
    assert np.linalg.norm(mesh.nodes[mesh.edges()[:, 0]] - mesh.nodes[mesh.edges()[:, 1]], axis=1).min() > 0.003


def test_the_same_surface_gives_the_same_body():
    one, two = (prepare_layered(surface_of("torus"), LayerSettings(texture=48), use_cache=False) for _ in range(2))
    for field in dataclasses.fields(LayeredMesh):
        value = getattr(one.solid, field.name)
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, getattr(two.solid, field.name)), field.name


def test_the_layer_has_the_wanted_thickness_and_less_where_the_body_is_thin():
    ball = prepare_layered(surface_of("sphere"), LayerSettings(texture=48, layer_thickness=0.1), use_cache=False)
    assert np.median(ball.solid.thickness()) == pytest.approx(0.1, rel=0.02)
    plate = prepare_layered(surface_of("plate"), LayerSettings(texture=64, layer_thickness=0.1), use_cache=False)
    assert 0.002 < np.median(plate.solid.thickness()) < 0.01
    assert any("thin" in note for note in plate.notes)


def test_a_given_core_is_taken():
    core = shapes.ball(0.3, 3).surface_mesh()
    mesh = prepare_layered(surface_of("sphere"), LayerSettings(texture=48), core=core, use_cache=False).solid
    assert np.array_equal(mesh.core_vertices, core.vertices)
    assert mesh.check() == []
    assert mesh.thickness().mean() == pytest.approx(0.2, rel=0.1)
    with pytest.raises(InputError, match="reach out of the body"):
        outside = shapes.ball(0.7, 3).surface_mesh()
        prepare_layered(surface_of("sphere"), LayerSettings(texture=48), core=outside, use_cache=False)


def test_the_skin_lies_on_the_nodes(bodies):
    body = bodies("bunny", 160)
    seen = body.embedding.apply(body.solid.nodes)
    assert np.abs(seen - body.skin.vertices).max() < 1e-9
    moved = body.embedding.apply(body.solid.translated((1.0, 2.0, 3.0)).nodes)
    assert np.abs(moved - body.skin.vertices - (1.0, 2.0, 3.0)).max() < 1e-9


def test_copies_are_moved_turned_and_scaled(bodies):
    mesh = bodies("torus").solid
    volume = mesh.volumes().sum()
    turned = mesh.rotated((0, 0, 1), 0.5).translated((1, 0, 0)).scaled(2.0)
    assert turned.check() == []
    assert turned.volumes().sum() == pytest.approx(8.0 * volume)
    assert np.abs(turned.embedding.apply(turned.nodes) - turned.skin.vertices).max() < 1e-9
    with pytest.raises(InputError, match="one number"):
        mesh.scaled((1, 2, 1))


def test_a_body_is_read_as_it_was_written(bodies, tmp_path):
    body = bodies("gear")
    solid = body.solid.with_material(stiffness=lambda x: np.where(x[:, 1] > 0.0, 10.0, 1.0))
    path = write_body(dataclasses.replace(body, solid=solid), tmp_path / "gear.plb")
    again = read_body(path)
    for field in dataclasses.fields(LayeredMesh):
        value = getattr(solid, field.name)
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, getattr(again.solid, field.name)), field.name
    assert again.kind == "layered" and again.solid.skin is again.skin is not None
    assert prepare_layered(path).facts["counts"] == body.facts["counts"]
    half = prepare(path, PrepareSettings(size=0.5))
    assert np.ptp(half.skin.vertices, axis=0).max() == pytest.approx(0.5)
    assert half.solid.check() == []


def test_a_body_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    settings = LayerSettings(texture=32)
    first = prepare_layered(surface_of("sphere"), settings)
    second = prepare_layered(surface_of("sphere"), settings)
    assert not first.facts["cached"] and second.facts["cached"]
    assert np.array_equal(first.solid.tets, second.solid.tets)
    assert not prepare_layered(surface_of("sphere"), LayerSettings(texture=40)).facts["cached"]


# ---- atlases ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["planes", "xatlas"])
def test_an_atlas_covers_the_surface_without_overlaps(kind):
    if kind == "xatlas":
        pytest.importorskip("xatlas")
    surface = surface_of("torus")
    atlas = make_atlas(surface, 128, kind)
    assert atlas.uv.min() >= 0.0 and atlas.uv.max() <= 128.0
    area = np.abs(atlas.areas())
    assert area.sum() > 0.25 * 128**2
    body = prepare_layered(surface, LayerSettings(texture=64, atlas=kind), use_cache=False)
    assert body.facts["layer"]["overlapping_texels"] == 0
    assert body.facts["layer"]["atlas"] == kind


def test_no_package_is_needed_but_asking_for_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "xatlas", None)
    body = prepare_layered(surface_of("box"), LayerSettings(texture=32), use_cache=False)
    assert body.facts["layer"]["atlas"] == "planes"
    with pytest.raises(MissingExtraError, match="xatlas"):
        prepare_layered(surface_of("box"), LayerSettings(texture=32, atlas="xatlas"), use_cache=False)


def test_the_surface_s_own_texture_coordinates_are_taken():
    surface = surface_of("torus")
    own = make_atlas(surface, 64, "planes").uv / 64
    own[..., 1] = 1.0 - own[..., 1]
    painted = dataclasses.replace(surface, look=Look(uv=own.astype(np.float32)))
    body = prepare_layered(painted, LayerSettings(texture=64, atlas="mesh"), use_cache=False)
    assert body.solid.check() == [] and body.facts["layer"]["atlas"] == "mesh"
    with pytest.raises(InputError, match="no texture coordinates"):
        prepare_layered(surface, LayerSettings(texture=64, atlas="mesh"), use_cache=False)
    wild = dataclasses.replace(surface, look=Look(uv=3.0 * own.astype(np.float32)))
    with pytest.raises(InputError, match="outside of 0 to 1"):
        prepare_layered(wild, LayerSettings(texture=64, atlas="mesh"), use_cache=False)


# ---- materials --------------------------------------------------------------------------------------------------


def test_factors_come_from_numbers_functions_and_pictures(bodies, tmp_path):
    mesh = bodies("box").solid
    assert (mesh.with_material(stiffness=3.0).stiffness == 3.0).all()
    halves = mesh.with_material(stiffness=lambda x: np.where(x[:, 0] > 0.0, 1000.0, 1.0), plasticity=2.0)
    assert set(halves.stiffness) == {1.0, 1000.0} and (halves.plasticity == 2.0).all()
    assert halves.check() == []
    picture = np.ones((4, 4))
    picture[:2] = 5.0
    sampled = mesh.with_material(stiffness=picture).stiffness
    assert np.array_equal(sampled == 5.0, mesh.texel[:, 0] < mesh.texture // 2)
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.tile(np.array([[0, 255]], np.uint8), (8, 4))).save(tmp_path / "factors.png")
    seen = mesh.with_material(stiffness=tmp_path / "factors.png").stiffness
    assert set(np.round(seen, 6)) == {0.001, 1.0}


@pytest.mark.parametrize(
    "values", [0.0, -1.0, float("nan"), "no such file.png", [1.0, 2.0], lambda x: "soft", object()]
)
def test_bad_factors_are_refused(values, bodies):
    with pytest.raises(InputError):
        bodies("box").solid.with_material(stiffness=values)


# ---- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("texture", [0, -4, 8, 2.5, "256", 10**6, None, True])
def test_a_bad_texture_is_refused(texture):
    with pytest.raises(InputError, match="texture"):
        LayerSettings(texture=texture)


@pytest.mark.parametrize("thickness", [0.0, -0.1, float("nan"), float("inf"), "thick"])
def test_a_bad_thickness_is_refused(thickness):
    with pytest.raises(InputError, match="layer_thickness"):
        LayerSettings(layer_thickness=thickness)


def test_bad_surfaces_are_refused():
    with pytest.raises(InputError, match="no closed surface"):
        prepare_layered(shapes.sheet((1.0, 1.0), 4), LayerSettings(texture=32), use_cache=False)
    ball = surface_of("sphere")
    opened = SurfaceMesh(ball.vertices, ball.triangles[:-1], "opened")
    with pytest.raises(InputError, match="no closed surface"):
        prepare_layered(opened, LayerSettings(texture=32), PrepareSettings(repair=False), use_cache=False)
    # the repair closes it
    assert prepare_layered(opened, LayerSettings(texture=32), use_cache=False).solid.check() == []
    spoilt = ball.vertices.copy()
    spoilt[3] = np.nan
    with pytest.raises(InputError, match="vertex 3"):
        prepare_layered(
            SurfaceMesh(spoilt, ball.triangles),
            LayerSettings(texture=32),
            PrepareSettings(repair=False),
            use_cache=False,
        )
    with pytest.raises(InputError, match="more than the body is long"):
        prepare_layered(ball, LayerSettings(texture=32, layer_thickness=3.0), use_cache=False)
    with pytest.raises(InputError, match="charts do not fit"):
        prepare_layered(surface_of("gear"), LayerSettings(texture=16), use_cache=False)
    with pytest.raises(InputError, match="'tets' means nothing"):
        prepare_layered(ball, LayerSettings(texture=32), PrepareSettings(tets=500), use_cache=False)


def test_an_inside_out_surface_is_turned():
    ball = surface_of("sphere")
    turned = SurfaceMesh(ball.vertices, ball.triangles[:, ::-1], "turned")
    for repair in (True, False):
        body = prepare_layered(turned, LayerSettings(texture=32), PrepareSettings(repair=repair), use_cache=False)
        assert body.solid.surface_mesh().volume() > 0.0


def test_parts_that_touch_in_a_vertex_are_split():
    one = shapes.tetrahedron(1.0).surface_mesh()
    other = SurfaceMesh(2.0 * one.vertices[0] - one.vertices, one.triangles[:, ::-1])
    number = np.arange(4) + 4
    number[0] = 0
    touching = SurfaceMesh(
        np.concatenate([one.vertices, other.vertices]), np.concatenate([one.triangles, number[other.triangles]])
    ).drop_unused()
    assert net_faults(touching.triangles, len(touching.vertices)).sum() == 1
    split, count = split_fans(touching)
    assert count == 1 and len(split.vertices) == 8
    assert not net_faults(split.triangles, 8).any()
