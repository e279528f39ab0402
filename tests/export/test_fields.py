"""Frames as VTK files: what another program reads of them is what the simulation knows."""

import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from bodies import bits

import pliant
from pliant.cli import main
from pliant.errors import InputError
from pliant.export.vtk import write_grid
from pliant.run import FieldsWriter

meshio = pytest.importorskip("meshio")

STUFF = pliant.Material(density=500.0, young=2e5, damping=0.005, friction=0.5)
BLOCK = pliant.shapes.box((0.4, 0.4, 0.4), 2)


def pile():
    """A block of springs on one of finite elements on a floor, under a cloth, and a rope beside them."""
    scene = pliant.Scene(contact="bodies")
    scene.add_plane(name="floor")
    scene.add_body(BLOCK, STUFF, method="fem", name="low/er", position=(0, 0.201, 0))
    scene.add_body(BLOCK, STUFF, method="mass_spring", name="upper", position=(0.02, 0.604, 0))
    scene.add_body(pliant.shapes.sheet((0.6, 0.6), 4), "cotton", method="xpbd", name="cloth", position=(0, 0.82, 0))
    scene.add_body(pliant.shapes.rope(0.5, 4), "hemp_rope", method="xpbd", name="rope", position=(1, 0.1, 0))
    points = pliant.PointCloud(np.random.default_rng(0).uniform(-0.1, 0.1, (20, 3)))
    scene.add_body(points, STUFF, method="shape_matching", name="points", position=(2, 0.5, 0))
    return scene.build("cpu")


def test_what_is_read_is_what_was_measured(tmp_path):
    sim = pile()
    sim.frame(30)
    with FieldsWriter(sim, tmp_path) as writer:
        files = writer.add()
    kinds = {"low/er": "tetra", "upper": "tetra", "cloth": "triangle", "rope": "line", "points": "vertex"}
    # in the order in which the simulation numbers them
    names = [body.name for body in sim.model.bodies]
    assert [path.name for path in files] == [f"{n.replace('/', '_')}_00030.vtu" for n in [*names, "contacts"]]
    file_of = dict(zip(names, files, strict=False))
    for body in sim.model.bodies:
        kind = kinds[body.name]
        found = meshio.read(file_of[body.name])
        np.testing.assert_array_equal(found.points, sim.positions(body.name))
        assert set(found.cells_dict) == {kind}
        data = found.point_data
        np.testing.assert_array_equal(data["velocity"], sim.velocities(body.name))
        for name in ("strain", "stress", "contact"):
            np.testing.assert_allclose(data[name].ravel(), sim.quantity(name, body.name), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(data["contact_force"], sim.vertex_contact_forces(body.name), rtol=1e-6, atol=1e-6)
    fields, found = sim.tet_fields("low/er"), meshio.read(file_of["low/er"])
    np.testing.assert_array_equal(found.cells_dict["tetra"], fields.tets)
    for name in ("strain", "stress", "von_mises", "volume"):
        shown = found.cell_data_dict[f"tet_{name}"]["tetra"]
        np.testing.assert_allclose(shown.ravel(), getattr(fields, name).ravel(), rtol=1e-6, atol=1e-7)
    assert len(meshio.read(file_of["cloth"]).cells_dict["triangle"]) == len(sim.surface("cloth"))
    # lines join what the rope joins
    lines = meshio.read(file_of["rope"]).cells_dict["line"]
    assert sorted(map(tuple, np.sort(lines, axis=1))) == [(k, k + 1) for k in range(4)]


def test_contacts_are_points_with_normals_depths_forces_and_pairs(tmp_path):
    sim = pile()
    sim.frame(40)
    files = FieldsWriter(sim, tmp_path).add()
    found, names = meshio.read(files[-1]), json.loads((tmp_path / "names.json").read_text())
    data = {name: values if values.shape[1:] == (3,) else values.ravel() for name, values in found.point_data.items()}
    assert names == {"bodies": [body.name for body in sim.model.bodies], "colliders": ["floor"]}
    met = sim.body_contact_list()
    touched, forces = sim.contact_forces()
    assert len(found.points) == len(met) + len(touched) and len(met) and len(touched)
    np.testing.assert_allclose(found.points[: len(met)], met.point, rtol=1e-6)
    for name, values in {"normal": met.normal, "depth": met.depth, "force": met.force}.items():
        np.testing.assert_allclose(data[name][: len(met)], values, rtol=1e-5, atol=1e-7)
    low, up = names["bodies"].index("low/er"), names["bodies"].index("upper")
    pair = (data["body"] == up) & (data["other"] == low), (data["body"] == low) & (data["other"] == up)
    force = data["force"][pair[0]].sum(axis=0) - data["force"][pair[1]].sum(axis=0)
    np.testing.assert_allclose(force, sim.contact_force_between("upper", "low/er"), rtol=1e-4, atol=1e-3)
    on_floor = data["collider"] == 0
    assert (data["kind"][on_floor] == 2).all() and (data["other"][on_floor] == -1).all()
    assert data["force"][on_floor].sum(axis=0) == pytest.approx(forces.sum(axis=0), rel=1e-4, abs=1e-3)
    vertex = data["vertex"][on_floor & (data["body"] == low)]
    np.testing.assert_allclose(found.points[on_floor & (data["body"] == low)], sim.positions("low/er")[vertex])


def test_writing_changes_nothing_and_times_are_listed(tmp_path):
    sims = [pile(), pile()]
    (tmp_path / "upper_00009.vtu").write_text("of a longer run")
    (tmp_path / "notes.txt").write_text("mine")
    with FieldsWriter(sims[0], tmp_path) as writer:
        for _ in range(3):
            writer.add()
            sims[0].frame(2)
    sims[1].frame(6)
    assert bits(sims[0]) == bits(sims[1])
    rows = ElementTree.parse(tmp_path / "fields.pvd").getroot().findall("./Collection/DataSet")
    assert sorted({float(row.get("timestep")) for row in rows}) == pytest.approx([0.0, 2 / 60, 4 / 60])
    assert {(row.get("part"), row.get("name")) for row in rows} >= {("0", "cloth"), ("1", "contacts")}
    assert len(rows) == 18 and all((tmp_path / row.get("file")).exists() for row in rows)
    assert not (tmp_path / "upper_00009.vtu").exists() and (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize("method", ["xpbd", "mass_spring"])
def test_what_is_torn_is_left_out(method, tmp_path):
    scene = pliant.Scene(gravity=(0, 0, 0))
    weak = dataclasses.replace(STUFF, thickness=1e-3, fracture_strain=0.05)
    scene.add_body(pliant.shapes.sheet((0.6, 0.2), (12, 4)), weak, method=method, name="sheet")
    scene.pin("sheet", lambda x: x[:, 0] < -0.29)
    scene.pin("sheet", lambda x: x[:, 0] > 0.29, path=[(0.0, (0, 0, 0)), (0.3, (0.3, 0, 0))])
    sim = scene.build("cpu")
    sim.frame(25)
    found = meshio.read(FieldsWriter(sim, tmp_path).add()[0])
    assert sim.pieces("sheet") > 1 or sim.torn_triangles("sheet").any()
    corners = found.points[found.cells_dict["triangle"]]
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    # nothing spans the gap, which is wider than this
    assert np.ptp(found.points[:, 0]) > 0.8 and edges.max() < 0.15


def test_a_grid_without_cells_and_data_of_the_wrong_length(tmp_path):
    path = tmp_path / "none.vtu"
    write_grid(path, np.zeros((0, 3)), np.zeros((0, 1), int), {"a & b": np.zeros((0, 3))})
    assert ElementTree.parse(path).getroot().find(".//PointData/DataArray").get("Name") == "a & b"
    with pytest.raises(InputError, match="has 2 rows"):
        write_grid(path, np.zeros((3, 3)), np.zeros((1, 3), int), {"heat": np.zeros(2)})


def test_the_command_writes_them_and_goes_on(tmp_path, capsys):
    scene = tmp_path / "one.toml"
    body = '[[body]]\nname = "ball"\nmethod = "fem"\nshape = { kind = "ball", radius = 0.1, cells = 1 }\n[[plane]]\n'
    scene.write_text(f"version = 1\n{body}", encoding="utf-8")
    options = ["--fields", "--no-film", "--quiet", "--device", "cpu", "--out", str(tmp_path / "out")]
    assert main(["run", str(scene), "--frames", "3", *options]) == 0
    folder = tmp_path / "out" / "one_fields"
    first = (folder / "ball_00003.vtu").read_bytes()
    assert main(["run", str(scene), "--frames", "5", "--resume", *options]) == 0
    assert sorted(path.name for path in folder.glob("ball_*")) == [f"ball_{k:05d}.vtu" for k in range(6)]
    assert (folder / "ball_00003.vtu").read_bytes() == first
    assert len(ElementTree.parse(folder / "fields.pvd").getroot().findall("./Collection/DataSet")) == 12
