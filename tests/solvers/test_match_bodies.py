"""Shape-matched bodies of every kind: shared rest data, masses, ground, bad input."""

import numpy as np
import pytest
from bodies import STILL, build
from matched_bodies import BOX, CLUSTERS, MODES

from pliant import InputError, Material, PointCloud, Scene, shapes
from pliant.mesh.lattice import VoxelLattice
from pliant.scene_file import load_scene

# ---- bodies of one mesh -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_bodies_of_one_mesh_share_their_rest(mode, device):
    """Two at different places, turned and thrown differently, move as each does alone, to the bit."""
    placed = [
        {"position": (0.0, 1.0, 0.0), "velocity": (1.0, 0.0, 0.0), "angular_velocity": (0.0, 3.0, 1.0)},
        {"position": (2.0, 0.6, -1.0), "rotation": (30.0, 60.0, -10.0), "velocity": (0.0, -2.0, 0.5)},
        {"position": (-3.0, 2.0, 1.0), "rotation": (0.0, 180.0, 0.0)},
    ]
    matching = {"mode": mode, "frequency": 40.0, **CLUSTERS["boxes"]}

    def made(which):
        scene = Scene(frame_dt=1 / 60, substeps=3)
        for k in which:
            scene.add_body(BOX, Material(), method="shape_matching", name=f"body {k}", matching=matching, **placed[k])
        scene.add_plane()
        return build(scene, device)

    together = made([0, 1, 2])
    (group,) = together.solvers[0].groups
    assert group.rests[0] is group.rests[1] is group.rests[2]
    alone = [made([k]) for k in range(3)]
    # one copy of the tables on the device
    assert group.member.size == alone[0].solvers[0].groups[0].member.size
    assert group.inverse.size == alone[0].solvers[0].groups[0].inverse.size
    together.frame(60)
    for k, sim in enumerate(alone):
        sim.frame(60)
        np.testing.assert_array_equal(together.positions(f"body {k}"), sim.positions())
        np.testing.assert_array_equal(together.velocities(f"body {k}"), sim.velocities())
    # a mesh that only looks the same, or another mode, is another rest shape
    scene = Scene(gravity=STILL)
    scene.add_body(BOX, method="shape_matching", matching=matching)
    scene.add_body(BOX.translated((0, 0, 0)), method="shape_matching", matching=matching)
    scene.add_body(BOX, method="shape_matching", matching={**matching, "clusters": 2})
    rests = [r for group in build(scene, device).solvers[0].groups for r in group.rests]
    assert len({id(r) for r in rests}) == 3


# ---- what bodies are made of ------------------------------------------------------------------------------------


def kinds():
    solid = shapes.box(0.4, 4)
    cells = np.array([[i, j, k] for i in range(4) for j in range(4) for k in range(4)])
    return {
        "surface": solid.surface_mesh(),
        "tets": solid,
        "voxels": VoxelLattice.from_cells(cells, 0.1, origin=(-0.2, -0.2, -0.2)),
        "points": PointCloud(solid.vertices, volume=0.064),
    }


@pytest.mark.parametrize("contact", ["projection", "penalty"])
@pytest.mark.parametrize("ground", ["plane", "box", "heightmap"])
def test_every_kind_of_body_comes_to_rest(ground, contact, device):
    """Dropped from a body's height, it lies on what is below it: its lowest points there, its middle half a side up."""
    scene = Scene(frame_dt=1 / 60, substeps=8)
    level = 0.5
    for k, (name, mesh) in enumerate(kinds().items()):
        scene.add_body(
            mesh, Material(density=500.0, drag=2.0), method="shape_matching", name=name,
            position=(k - 1.5, level + 0.4, 0.0), matching={"mode": "linear", "frequency": 200.0, "damping_rate": 80.0},
        )  # fmt: skip
    if ground == "plane":
        scene.add_plane(point=(0, level, 0))
    elif ground == "box":
        scene.add_box((8.0, 1.0, 4.0), (0.0, level - 0.5, 0.0))
    else:
        scene.add_heightmap(np.full((9, 9), level), (8.0, 8.0))
    scene.configure("shape_matching", contact=contact)
    sim = build(scene, device)
    sim.frame(200)
    early = {name: sim.positions(name) for name in kinds()}
    sim.frame(10)
    # a penalty carries the weight of a body on the mass of its lowest layer: g / rate^2 of depth for each layer above
    sinks = 1e-5 if contact == "projection" else 20 * 9.81 / 200**2
    for name in kinds():
        x = sim.positions(name)
        assert -sinks < x[:, 1].min() - level < 1e-3
        assert x[:, 1].mean() == pytest.approx(level + 0.2, abs=3e-3 + sinks)
        # positions, as a penalty is read between the pull of the weight and its push
        assert np.abs(early[name] - x).max() < 2e-4


def test_masses(device):
    scene = Scene(gravity=STILL)
    for name, mesh in kinds().items():
        scene.add_body(mesh, Material(density=500.0), method="shape_matching", name=name)
    sheet = shapes.sheet((2.0, 1.5), 6)
    scene.add_body(sheet, Material(density=500.0, thickness=0.002), method="shape_matching", name="sheet")
    loose = np.stack(np.meshgrid(*3 * [0.1 * np.arange(5)]), axis=-1).reshape(-1, 3)
    scene.add_body(PointCloud(loose), Material(density=500.0), method="shape_matching", name="loose")
    sim = build(scene, device)
    mass = lambda name: sim.model.particles.mass[slice(*sim.body(name).particles)]
    for name in kinds():
        assert mass(name).sum() == pytest.approx(500 * 0.064)
        assert (mass(name) > 0).all()
    assert mass("sheet").sum() == pytest.approx(500 * 3.0 * 0.002)
    # points of unknown volume: a cube of their spacing each
    assert mass("loose").sum() == pytest.approx(500 * 125 * 0.1**3)


# ---- what is refused --------------------------------------------------------------------------------------------

BAD = {
    "both": ({"alpha": 0.5, "frequency": 3.0}, "alpha = 0.5 and frequency = 3"),
    "mode": ({"mode": "cubic"}, "cubic"),
    "no clusters": ({"clusters": 0}, "clusters"),
    "half a cluster": ({"clusters": 2.5}, "clusters"),
    "beta above": ({"beta": 1.5}, "beta"),
    "beta below": ({"beta": -0.1}, "beta"),
    "beta NaN": ({"beta": float("nan")}, "beta"),
    "frequency NaN": ({"frequency": float("nan")}, "frequency"),
    "frequency infinite": ({"frequency": float("inf")}, "frequency"),
    "frequency negative": ({"frequency": -1.0}, "frequency"),
    "alpha above": ({"alpha": 1.01}, "alpha"),
    "damping negative": ({"damping_rate": -1.0}, "damping_rate"),
    "a word": ({"beta": "soft"}, "beta"),
    "clusters_by": ({"clusters_by": "magic"}, "magic"),
    "axis": ({"axis": "w"}, "axis"),
    "key": ({"stiffness": 3.0}, "stiffness"),
    "no table": ("linear", "linear"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_matching(case):
    value, words = BAD[case]
    with pytest.raises(InputError, match=words) as error:
        Scene().add_body(BOX, method="shape_matching", matching=value)
    assert error.value.where and error.value.remedy


def test_lattice_regions_need_a_lattice():
    scene = Scene()
    scene.add_body(BOX, method="shape_matching", matching={"clusters_by": "lattice"})
    with pytest.raises(InputError, match="TetMesh has no lattice regions") as error:
        scene.build("cpu")
    assert "VoxelLattice" in error.value.remedy


@pytest.mark.parametrize("settings", [{"contact": "glue"}, {"penalty_rate": 0.0}, {"rest_speed": -1.0}], ids=str)
def test_bad_settings(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        Scene().configure("shape_matching", **settings)


FILE = """version = 1

[[body]]
shape = { kind = "box", size = 0.4, cells = 2 }
method = "shape_matching"
[body.matching]
mode = "linear"
beta = 0.5
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('mode = "linear"', 'modus = "linear"', "modus"),
        ('mode = "linear"', 'mode = "cubic"', "cubic"),
        ("beta = 0.5", "beta = 2", "beta"),
        ("beta = 0.5", 'beta = "much"', "beta"),
        ("beta = 0.5", "clusters = 0", "clusters"),
    ],
)
def test_bad_scene_files_name_the_line(old, new, words, tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(FILE)
    load_scene(path)
    text = FILE.replace(old, new)
    path.write_text(text)
    with pytest.raises(InputError, match=words) as error:
        load_scene(path)
    line = text.splitlines().index(new) + 1
    assert f"{path}:{line}" in str(error.value) and error.value.remedy


def test_a_scene_file_with_both_alpha_and_frequency(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text(FILE.replace("beta = 0.5", "alpha = 0.5\nfrequency = 3"))
    with pytest.raises(InputError, match="both alpha") as error:
        load_scene(path)
    assert f"{path}:" in str(error.value) and error.value.remedy
