"""Bodies at rest fall asleep, stay where they are to the last bit, and wake when something is done to them."""

import numpy as np
import pytest
from bodies import bits

from pliant import InputError, Material, Scene, SleepSettings, load_checkpoint, save_checkpoint, shapes
from pliant.launch import launch, run_if
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.rod_shapes import rope
from pliant.sleep.settings import as_sleep

RUBBER = Material(young=1e5, poisson=0.3, density=300.0, damping=0.01, friction=0.6)
CLOTH = Material(young=2e4, poisson=0.3, density=300.0, thickness=1e-3, damping=0.01, friction=0.6, drag=2.0)
BLOCK = shapes.box((0.2, 0.2, 0.2), 3)
SLAB = shapes.box((0.4, 0.1, 0.4), (4, 1, 4))
SHEET = shapes.sheet((0.3, 0.3), 6)

# every kind of body that a kernel of its own lets sleep
KINDS = {
    "springs": ("mass_spring", {}, {}),
    "verlet": ("mass_spring", {}, {"integrator": "verlet"}),
    "midpoint": ("mass_spring", {}, {"integrator": "midpoint"}),
    "implicit": ("mass_spring", {}, {"integrator": "implicit"}),
    "hybrid": ("mass_spring", {}, {"integrator": "hybrid"}),
    "rigid": ("shape_matching", {"matching": {"mode": "linear"}}, {}),
    "quadratic": ("shape_matching", {"matching": {"mode": "quadratic", "clusters": 3}}, {}),
    "xpbd": ("xpbd", {}, {}),
    "fem": ("fem", {}, {}),
    "cloth": ("xpbd", {"sheet": True}, {}),
    "baraff_witkin": ("baraff_witkin", {"sheet": True}, {}),
}
SOLIDS = ["springs", "rigid", "quadratic", "xpbd", "fem"]


def add(scene, kind, name, height, **options):
    """A body of a kind whose lower side is at a height [m]."""
    method, given, settings = KINDS[kind]
    given = dict(given)
    thin = given.pop("sheet", False)
    if settings:
        scene.configure(method, **settings)
    x, z = options.pop("at", (0.0, 0.0))
    if thin:
        scene.add_body(SHEET, CLOTH, method=method, name=name, position=(x, height, z), **options)
    else:
        place = (x, height + 0.1, z)
        scene.add_body(BLOCK, RUBBER, method=method, name=name, position=place, **given, **options)


def stack(kind, device="cpu", sleep=True, count=2, contact="bodies", **world):
    """Bodies just above each other on a floor."""
    scene = Scene(contact=contact, sleep=sleep, **world)
    for k in range(count):
        add(scene, kind, f"b{k}", 0.005 + k * (0.02 if "sheet" in KINDS[kind][1] else 0.205))
    scene.add_plane(name="floor")
    return scene


def run_until_asleep(sim, seconds=8.0, names=None):
    """Frames until all sleep, or the bodies of some names."""
    names = [b.name for b in sim.model.bodies] if names is None else names
    for _ in range(round(seconds / sim.frame_dt)):
        sim.frame()
        if set(names) <= set(sim.sleeping_bodies()):
            return
    raise AssertionError(f"asleep are {sim.sleeping_bodies()}, at rest for {sim.sleeping.calm.numpy()}")


@pytest.mark.parametrize("kind", KINDS)
def test_what_rests_falls_asleep_and_stays_to_the_last_bit(kind, device):
    # what trembles more is at rest at a larger speed
    sim = stack(kind, sleep={"time": 0.5, "speed": 0.03 if kind in ("hybrid", "baraff_witkin") else 0.01}).build(device)
    run_until_asleep(sim)
    before = sim.state.x.numpy().copy()
    assert not sim.state.v.numpy().any()
    sim.frame(20)
    assert np.array_equal(before, sim.state.x.numpy())
    assert sim.is_asleep("b0") and sim.is_asleep("b1")


@pytest.mark.parametrize("kind", ["springs", "rigid", "xpbd", "baraff_witkin", "cloth"])
def test_one_that_sleeps_stays_while_another_moves(kind, device):
    """Not all sleep, so that every kernel runs and leaves out the ones that do."""
    scene = stack(kind, count=1, contact="none")
    add(scene, kind, "far", 3.0, at=(5.0, 0.0))
    sim = scene.build(device)
    for _ in range(240):
        sim.frame()
        if sim.sleeping_bodies():
            break
    assert sim.sleeping_bodies() == ["b0"]
    own = slice(*sim.body("b0").particles)
    before, moving = sim.state.x.numpy()[own].copy(), sim.positions("far")
    sim.set_state("far", sim.positions("far") + [0.0, 30.0, 0.0])
    run_until_asleep(sim, 3.0, ["b0"])
    before, moving = sim.state.x.numpy()[own].copy(), sim.positions("far")
    sim.frame(5)
    assert np.array_equal(before, sim.state.x.numpy()[own])
    assert (moving - sim.positions("far"))[:, 1].min() > 0.05


def test_a_rod_sleeps_with_its_orientations(device):
    scene = Scene(sleep=True)
    scene.add_body(rope(0.5, 10), Material(young=1e6, density=800.0, drag=6.0, damping=0.02), method="xpbd", name="rod")
    scene.pin("rod", lambda x: x[:, 0] < x[:, 0].min() + 0.06)
    sim = scene.build(device)
    run_until_asleep(sim, 12.0)
    saved = {name: array.numpy().copy() for name, array in sim.arrays().items()}
    sim.frame(10)
    for name, array in sim.arrays().items():
        assert np.array_equal(saved[name], array.numpy()), name


@pytest.mark.parametrize("count", [1, 20], ids=["one", "many"])
def test_lattices_sleep(count, device):
    """One that is summed run by run, and many that are summed body by body on the CPU; the last one falls on."""
    lattice = VoxelLattice.from_cells(np.indices((3, 3, 3)).reshape(3, -1).T, 0.05, name="cube")
    matching = {"clusters_by": "lattice", "region_width": 1, "fast": True}
    scene = Scene(sleep=True)
    for k in range(count + 1):
        place = (0.5 * k, 0.08 if k < count else 15.0, 0.0)
        scene.add_body(lattice, RUBBER, method="shape_matching", matching=matching, name=f"b{k}", position=place)
    scene.add_plane()
    sim = scene.build(device)
    run_until_asleep(sim, 1.7, [f"b{k}" for k in range(count)])
    before = sim.state.x.numpy().copy()
    sim.frame(3)
    moved = (before != sim.state.x.numpy()).any(axis=1)
    assert moved[slice(*sim.body(f"b{count}").particles)].all() and moved.sum() == len(lattice.vertices)


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_touch_wakes_and_all_ends_as_it_would_have(kind, device):
    """A third slab falls on two that sleep, slowly, so that they lie as they would have without sleep."""

    def falling(sleep):
        scene = Scene(contact="bodies", sleep=sleep, gravity=(0.0, -2.0, 0.0))
        method, given, _ = KINDS[kind]
        for name, height in (("b0", 0.051), ("b1", 0.153), ("late", 0.75)):
            scene.add_body(SLAB, RUBBER, method=method, name=name, position=(0.0, height, 0.0), **given)
        scene.add_plane()
        return scene.build(device)

    sim, never = falling(0.2), falling(False)
    gap = lambda: float(sim.positions("late")[:, 1].min() - sim.positions("b1")[:, 1].max())
    slept = woke = False
    for _ in range(90):
        sim.frame()
        slept = slept or (gap() > 0.05 and sim.sleeping_bodies() == ["b0", "b1"])
        if slept and not woke and not sim.is_asleep("b1"):
            woke = True
            assert gap() < 0.02
        assert gap() > -0.02
    assert slept and woke
    sim.frame(210)
    never.frame(300)
    for name in ("b0", "b1", "late"):
        apart = sim.positions(name).mean(axis=0) - never.positions(name).mean(axis=0)
        # how far they slide sideways as they land hangs on the last bits
        assert abs(apart[1]) < 2e-3 and np.abs(apart).max() < 0.1


@pytest.mark.parametrize("kind", ["springs", "rigid", "xpbd"])
@pytest.mark.parametrize("how", ["pulled", "moved"])
def test_what_lay_on_something_that_is_gone_falls(kind, how, device):
    sim = stack(kind).build(device)
    run_until_asleep(sim)
    top = sim.positions("b1")[:, 1].mean()
    if how == "pulled":
        handle = sim.pull("b0", 0, (4.0, 0.2, 0.0), stiffness=400.0, spread=64)
        assert not sim.is_asleep("b0")
        sim.frame(90)
        sim.release(handle)
    else:
        sim.set_state("b0", sim.positions("b0") + [2.0, 0.0, 0.0])
    sim.frame(60)
    assert sim.positions("b1")[:, 1].mean() < top - 0.1


def test_nothing_sleeps_at_the_top_of_its_flight(device):
    scene = Scene(sleep={"time": 0.2}, gravity=(0.0, -1.0, 0.0))
    scene.add_body(BLOCK, RUBBER, method="shape_matching", velocity=(0.0, 0.5, 0.0), name="ball")
    sim = scene.build(device)
    for _ in range(90):
        sim.frame()
        assert not sim.is_asleep("ball")


@pytest.mark.parametrize("kind", ["springs", "rigid", "xpbd"])
def test_what_begins_to_slide_slowly_does_not_freeze(kind, device):
    """On a slope at which friction is a little too small the body gains 0.02 m/s in a second."""
    slope = np.radians(15.0)
    scene = Scene(sleep=True)
    pull = 0.02
    friction = (9.81 * np.sin(slope) - pull) / (9.81 * np.cos(slope))
    stuff = Material(young=1e6, poisson=0.3, density=300.0, damping=0.01, friction=friction)
    method, given, _ = KINDS[kind]
    turn = (0.0, 0.0, -np.degrees(slope))
    up = np.array([np.sin(slope), np.cos(slope), 0.0])
    scene.add_body(BLOCK, stuff, method=method, name="b0", position=tuple(0.1 * up), rotation=turn, **given)
    scene.add_plane(normal=tuple(up), friction=friction)
    sim = scene.build(device)
    start = sim.positions("b0").mean(axis=0)
    sim.frame(240)
    assert not sim.is_asleep("b0")
    assert np.linalg.norm(sim.positions("b0").mean(axis=0) - start) > 0.05


@pytest.mark.parametrize("kind", ["springs", "rigid", "xpbd", "baraff_witkin"])
def test_a_collider_that_moves_wakes(kind, device):
    scene = Scene(sleep=True)
    add(scene, kind, "b0", 0.001)
    scene.add_box(
        (1.0, 0.2, 1.0), (0.0, -0.1, 0.0), name="table", path=[(0.0, (0, 0, 0)), (6.0, (0, 0, 0)), (6.2, (0, -0.5, 0))]
    )
    sim = scene.build(device)
    run_until_asleep(sim, 5.5)
    before = sim.positions("b0")[:, 1].mean()
    sim.frame(round(7.0 / sim.frame_dt) - sim.frame_number)
    assert sim.positions("b0")[:, 1].mean() < before - 0.4


@pytest.mark.parametrize("how", ["away", "jump", "hit"])
def test_a_collider_that_is_moved_wakes(how, device):
    scene = Scene(sleep=True)
    add(scene, "rigid", "b0", 0.001)
    scene.add_box((1.0, 0.2, 1.0), (0.0, -0.1, 0.0), name="table")
    scene.add_sphere(0.2, (2.0, 0.1, 0.0), name="ball")
    sim = scene.build(device)
    run_until_asleep(sim)
    before = sim.positions("b0").mean(axis=0)
    if how == "hit":
        for x in np.linspace(1.9, 0.1, 19):
            sim.move_collider("ball", (x, 0.1, 0.0))
            sim.frame()
        assert sim.positions("b0").mean(axis=0)[0] < before[0] - 0.05
    else:
        sim.move_collider("table", (0.0, -0.3 if how == "away" else -20.0, 0.0))
        sim.frame(30)
        assert sim.positions("b0").mean(axis=0)[1] < before[1] - 0.1


def test_pins_that_move_wake(device):
    scene = Scene(sleep=True)
    scene.add_body(SHEET, CLOTH, method="xpbd", name="flag")
    scene.pin(
        "flag", lambda x: x[:, 1] > x[:, 1].max() - 1e-6, [(0.0, (0, 0, 0)), (8.0, (0, 0, 0)), (9.0, (1.0, 0, 0))]
    )
    sim = scene.build(device)
    run_until_asleep(sim, 7.5)
    sim.frame(round(9.5 / sim.frame_dt) - sim.frame_number)
    assert np.abs(sim.positions("flag")[:, 0].mean() - 1.0) < 0.2


def test_attached_bodies_sleep_and_wake_together(device):
    scene = Scene(sleep=True)
    add(scene, "rigid", "b0", 0.001)
    add(scene, "xpbd", "b1", 0.001, at=(0.2, 0.0))
    scene.attach("b0", lambda x: x[:, 0] > 0.0999, "b1")
    scene.add_plane()
    sim = scene.build(device)
    run_until_asleep(sim)
    sim.pull("b0", 0, (-1.0, 0.3, 0.0), stiffness=200.0, spread=32)
    sim.frame(2)
    assert not sim.is_asleep("b1")
    before = sim.positions("b1")[:, 0].mean()
    sim.frame(40)
    assert sim.positions("b1")[:, 0].mean() < before - 0.05


@pytest.mark.parametrize("what", ["gravity", "wind", "wake", "pin", "unpin", "state"])
def test_what_is_done_from_outside_wakes(what, device):
    sim = stack("rigid", count=1).build(device)
    sim.pin("b0", [0])
    run_until_asleep(sim)
    if what == "gravity":
        sim.set_gravity((0.0, 3.0, 0.0))
    elif what == "wind":
        sim.set_wind((30.0, 0.0, 0.0))
    elif what == "wake":
        sim.wake("b0")
    elif what == "pin":
        sim.pin("b0", [5])
    elif what == "unpin":
        sim.unpin("b0", [0])
        assert (sim.state.inv_mass.numpy() > 0.0).all()
    else:
        sim.set_state("b0", velocities=np.tile([0.0, 1.0, 0.0], (len(BLOCK.vertices), 1)))
    assert not sim.is_asleep("b0")
    if what in ("pin", "wind", "wake", "gravity"):
        assert (sim.state.inv_mass.numpy() == 0.0).sum() == (2 if what == "pin" else 1)
    sim.frame()
    assert not sim.is_asleep("b0")


def test_gusts_let_nothing_sleep(device):
    scene = stack("rigid", count=1, wind={"velocity": (1.0, 0.0, 0.0), "gusts": {"strength": 0.3}})
    sim = scene.build(device)
    sim.frame(120)
    assert not sim.sleeping_bodies()


@pytest.mark.parametrize("kind", ["springs", "rigid", "xpbd", "baraff_witkin"])
def test_a_resumed_run_goes_on_bit_for_bit(kind, device, tmp_path):
    def build():
        scene = stack(kind)
        add(scene, kind, "late", 2.0)
        return scene.build(device)

    for frames in (45, 85):
        sim, other = build(), build()
        sim.frame(frames)
        save_checkpoint(sim, tmp_path / "a.ckpt")
        load_checkpoint(other, tmp_path / "a.ckpt")
        sim.frame(60)
        other.frame(60)
        assert bits(sim) == bits(other)
        assert sim.sleeping_bodies() == other.sleeping_bodies()


def test_a_checkpoint_of_another_sleep_is_refused(tmp_path):
    sim = stack("rigid").build("cpu")
    save_checkpoint(sim, tmp_path / "a.ckpt")
    with pytest.raises(InputError, match="another scene"):
        load_checkpoint(stack("rigid", sleep=False).build("cpu"), tmp_path / "a.ckpt")


@pytest.mark.parametrize("kind", ["springs", "rigid", "xpbd", "baraff_witkin"])
def test_recorded_equals_eager(kind, device):
    recorded, eager = (stack(kind, sleep=0.1).build(device) for _ in range(2))
    for sim in (recorded, eager):
        sim.frame(20)  # until tables of contacts have grown
    for frame in range(40):
        if frame == 30:
            for sim in (recorded, eager):
                sim.wake()
        recorded.frame()
        eager._tell_of_pins()
        eager._tell_of_stir()
        eager._issue_frame()
        if eager.body_contacts.grow():
            pytest.fail("tables grew")
        eager.frame_number += 1
    assert bits(recorded) == bits(eager)
    assert recorded.sleeping_bodies() == eager.sleeping_bodies()


def test_forces_of_sleeping_bodies_are_read(device):
    sim = stack("rigid").build(device)
    run_until_asleep(sim)
    before = {name: array.numpy().copy() for name, array in sim.arrays().items()}
    weight = 9.81 * 300.0 * 0.008
    assert sim.contact_force_between("b1", "b0")[1] == pytest.approx(weight, rel=0.25)
    assert sim.contact_force_between("b0", "floor")[1] == pytest.approx(2 * weight, rel=0.25)
    for name, array in sim.arrays().items():
        assert np.array_equal(before[name], array.numpy()), name
    sim.frame(3)
    assert len(sim.sleeping_bodies()) == 2


def test_an_island_sleeps_only_as_a_whole(device):
    """A body that is stirred again and again keeps awake what rests on it, and not what is elsewhere."""
    scene = stack("rigid")
    add(scene, "rigid", "far", 0.005, at=(2.0, 0.0))
    sim = scene.build(device)
    sim.frame(40)
    handle = sim.pull("b0", 0, tuple(sim.positions("b0")[0]), stiffness=1.0)
    sim.frame(150)
    assert sim.sleeping_bodies() == ["far"]
    sim.release(handle)
    run_until_asleep(sim)


def test_off_by_default():
    sim = stack("rigid", sleep=False).build("cpu")
    sim.frame(100)
    assert not sim.sleeping_bodies() and not any(name.startswith("sleep") for name in sim.arrays())
    sim.wake()


def test_settings():
    assert as_sleep(True) == SleepSettings(time=0.5) and not as_sleep(False).active and not as_sleep(None).active
    assert as_sleep(2) == SleepSettings(time=2.0) and as_sleep({"speed": 0.1}).speed == 0.1
    for wrong in ("often", {"tmie": 1.0}, {"time": -1.0}, [1.0]):
        with pytest.raises(InputError):
            as_sleep(wrong)
    with pytest.raises(InputError, match="boxes"):
        stack("rigid", contact={"between": "bodies", "method": "boxes"}).build("cpu")


def test_run_if(device):
    import warp as wp

    @wp.kernel(enable_backward=False)
    def add_one(total_inout: wp.array(dtype=int)):
        total_inout[0] = total_inout[0] + 1

    flag, total = wp.zeros(1, dtype=int, device=device), wp.zeros(1, dtype=int, device=device)
    run_if(flag, lambda: launch(add_one, 1, [], [total], device=device), device=device)
    flag.fill_(1)
    run_if(flag, lambda: launch(add_one, 1, [], [total], device=device), device=device)
    assert total.numpy()[0] == 1
