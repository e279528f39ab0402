"""Each kind of constraint: its push is the gradient of its energy, its blocks do what they say, on any threads."""

import numpy as np
import pytest
import warp as wp
from bodies import bits, build, deformed, jittered, make_scene, make_sim, rotation

from pliant import Material, SurfaceMesh, shapes
from pliant.solvers.xpbd import mesh_part
from pliant.solvers.xpbd.levels import order_constraints

SOFT = Material(young=2e4, poisson=0.33, damping=0.002, thickness=0.004)
WOVEN = Material(young=3e4, young_weft=1e4, shear=4e3, poisson=0.2, damping=0.0, thickness=0.004)


def bumpy(cells=4, height=0.05):
    """A sheet whose triangles are folded at rest."""
    mesh = shapes.sheet(0.4, cells)
    x = mesh.vertices.copy()
    x[:, 1] = height * np.sin(9 * x[:, 0]) * np.cos(7 * x[:, 2])
    return SurfaceMesh(x, mesh.triangles)


CASES = {
    "edges": (shapes.sheet(0.4, 4), SOFT, {"stretch": "edges", "bending": "none"}),
    "triangles": (shapes.sheet(0.4, 4), WOVEN, {"stretch": "triangles", "bending": "none"}),
    "isometric": (shapes.sheet(0.4, 4), SOFT, {}),
    "folded": (bumpy(), SOFT, {"bending": "isometric"}),
    "dihedral": (shapes.sheet(0.4, 4), SOFT, {"bending": "dihedral"}),
    "across": (bumpy(), SOFT, {"bending": "distance"}),
    "solid": (jittered(shapes.box(0.4, 2), 0.1), SOFT, {}),
}


def solver_of(case, device="cpu", **settings):
    mesh, material, own = CASES[case]
    sim = make_sim(mesh, material, method="xpbd", device=device, substeps=1, frame_dt=1e-3, **{**own, **settings})
    return sim, sim.solvers[0], mesh


def place(sim, solver, x, u=None):
    """Set where the step begins (n, 3), in the order of the mesh, and what has moved since."""
    order = sim.body("body").particle_of
    base, move = np.zeros((len(x), 4)), np.zeros((len(x), 4), np.float32)
    base[order, :3] = x
    base[:, 3] = sim.state.inv_mass.numpy()
    if u is not None:
        move[order, :3] = u
    solver.base.assign(base)
    solver.move.assign(move)


@pytest.mark.parametrize("case", CASES)
def test_the_push_is_the_gradient_of_the_energy(case, device):
    """A step too short for stiffness moves particles by w dt^2 times the force; finite differences in float64."""
    sim, solver, mesh = solver_of(case, device)
    x = deformed(mesh, 0.1) @ rotation((1, 2, 3), 0.7).T
    order = sim.body("body").particle_of
    place(sim, solver, x)
    dt = 1e-6
    solver.meshes.solve(solver.move, dt, 0)
    force = solver.move.numpy()[order, :3] / (sim.state.inv_mass.numpy()[order, None] * dt * dt)
    energy = lambda y: solver.energy(y[np.argsort(order)])
    step, wanted = 1e-6, np.zeros_like(x)
    for i in range(len(x)):
        for k in range(3):
            moved = np.zeros_like(x)
            moved[i, k] = step
            wanted[i, k] = -(energy(x + moved) - energy(x - moved)) / (2 * step)
    assert np.abs(wanted).max() > 0
    # triangles and tets leave out of their blocks what a turn adds in second order; forces are whole
    np.testing.assert_allclose(force, wanted, atol=3e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("case", CASES)
def test_momentum_of_one_pass(case):
    """Whatever its stiffness, a pass exerts no net force and no torque about where particles are now."""
    sim, solver, mesh = solver_of(case)
    order = sim.body("body").particle_of
    x, mass = deformed(mesh, 0.1), sim.model.particles.mass[order, None]
    for dt in (1e-4, 1e-2):
        place(sim, solver, x)
        solver.meshes.solve(solver.move, dt, 0)
        u = solver.move.numpy()[order, :3].astype(float)
        scale = np.abs(mass * u).sum()
        assert scale > 0
        assert np.abs((mass * u).sum(axis=0)).max() < 1e-6 * scale
    # a pass moves its particles meanwhile, so the torque is of second order: least for short steps
    place(sim, solver, x)
    solver.meshes.solve(solver.move, 1e-6, 0)
    u = solver.move.numpy()[order, :3].astype(float)
    assert np.abs(np.cross(x, mass * u).sum(axis=0)).max() < 2e-5 * np.abs(mass * u).sum()


@pytest.mark.parametrize("case", CASES)
def test_nothing_moves_at_rest_however_stiff(case):
    sim, solver, mesh = solver_of(case)
    for turn in (np.eye(3), rotation((3, -1, 2), 2.0)):
        place(sim, solver, mesh.vertices @ turn.T + [5.0, -3.0, 2.0])
        for dt in (1e-4, 1e-1):
            solver.meshes.solve(solver.move, dt, 0)
            assert np.abs(solver.move.numpy()).max() < 3e-7


@pytest.mark.parametrize("case", ["edges", "triangles", "isometric", "folded", "solid"])
def test_one_rigid_pass_brings_a_lone_element_to_rest(case):
    """With an infinite stiffness, the first element that is solved alone is left without strain, in a few passes."""
    _, material, own = CASES[case]
    few = shapes.box(0.4, 1) if case == "solid" else SurfaceMesh(*two_triangles(0.3 if case == "folded" else 0.0))
    stiff = Material(young=1e12, poisson=material.poisson, thickness=0.05, damping=0.002)
    sim = make_sim(few, stiff, method="xpbd", substeps=1, frame_dt=1e-2, **own)
    solver = sim.solvers[0]
    rng = np.random.default_rng(3)
    start = few.vertices + 0.02 * rng.normal(size=few.vertices.shape)
    place(sim, solver, start)
    first = solver.energy(start[np.argsort(sim.body("body").particle_of)])
    for _ in range(300):
        solver.meshes.solve(solver.move, 1e-2, 0)
    x = solver.base.numpy()[:, :3] + solver.move.numpy()[:, :3]
    assert solver.energy(x) < 1e-4 * first


def two_triangles(fold):
    """A hinge, folded at rest."""
    x = np.array([[0.0, 0, 0], [0.3, 0, 0], [0.15, 0, 0.25], [0.15, fold, -0.25]])
    return x, [[0, 2, 1], [0, 1, 3]]


def test_energies_are_those_of_elasticity():
    """A cuboid pulled by e that narrows by nu e stores E e^2 / 2 per volume, and no other width costs less."""
    for nu in (0.0, 0.3, 0.45):
        material = Material(young=5e4, poisson=nu)
        mesh = jittered(shapes.box(1.0, 2))
        sim = make_sim(mesh, material, method="xpbd", substeps=1)
        x = sim.model.particles.rest
        cost = lambda wide: sim.solvers[0].energy(x * [1.001, 1 - wide, 1 - wide])  # noqa: B023
        least = cost(nu * 1e-3)
        assert least == pytest.approx(0.5 * 5e4 * 1e-6 * mesh.volumes().sum(), rel=1e-6)
        assert cost(nu * 1e-3 + 1e-5) > least < cost(nu * 1e-3 - 1e-5)
        sheet = make_sim(shapes.sheet(1.0, 3), material, method="xpbd", substeps=1, stretch="triangles")
        flat = sheet.model.particles.rest
        cost = lambda wide: sheet.solvers[0].energy(flat * [1.001, 1, 1 - wide])  # noqa: B023
        assert cost(nu * 1e-3) == pytest.approx(0.5 * 5e4 * 1e-6 * material.thickness, rel=1e-6)
        assert cost(nu * 1e-3 + 1e-5) > cost(nu * 1e-3) < cost(nu * 1e-3 - 1e-5)


def test_a_rolled_sheet_costs_what_a_plate_costs():
    mesh = shapes.sheet((1.0, 0.5), (32, 16))
    material = Material(young=1e7, poisson=0.33, thickness=0.005)
    curvature = 0.5
    angle = curvature * mesh.vertices[:, 0]
    rolled = np.stack([np.sin(angle), 1 - np.cos(angle), curvature * mesh.vertices[:, 2]], axis=1) / curvature
    costs = {}
    for bending in ("isometric", "dihedral", "none"):
        sim = make_sim(mesh, material, method="xpbd", substeps=1, bending=bending)
        costs[bending] = sim.solvers[0].energy(rolled[np.argsort(sim.body("body").particle_of)])
    expected = 0.5 * material.plate_rigidity * curvature**2 * 0.5
    # chords are shorter than arcs, which costs the edges alone something
    assert costs["isometric"] - costs["none"] == pytest.approx(expected, rel=0.1)
    assert costs["dihedral"] - costs["none"] == pytest.approx(expected, rel=0.1)


# ---- the order of constraints ------------------------------------------------------------------------------------


@pytest.mark.parametrize("patch", [7, 60, 512])
def test_levels_patches_and_colours_are_apart(patch):
    mesh = shapes.sheet((1.0, 0.6), (30, 17))
    kinds = [mesh.triangles, mesh.edges(), np.zeros((0, 4), np.int32)]
    count = len(mesh.vertices)
    runs = order_constraints(kinds, mesh.vertices, [(0, 200), (200, count)], patch, few=20)
    for kind, order in zip(kinds, runs.orders, strict=True):
        assert sorted(order) == list(range(len(kind)))
    seen = np.zeros(len(runs.kind), int)
    for first, end in zip(runs.level_starts[:-1], runs.level_starts[1:], strict=True):
        owner = np.full(count, -1)
        for p in range(first, end):
            members = []
            for r in range(runs.patch_runs[p], runs.patch_runs[p + 1]):
                seen[r] += 1
                k = runs.kind[r]
                corners = kinds[k][runs.orders[k][runs.first[r] : runs.end[r]]]
                assert len(np.unique(corners)) == corners.size, "constraints of a run share no particle"
                members.append(corners.ravel())
            mine = np.unique(np.concatenate(members))
            assert (owner[mine] == -1).all(), "patches of a level share no particle"
            owner[mine] = p
    assert (seen == 1).all()
    for k, order in enumerate(runs.orders):
        of = runs.kind == k
        assert (runs.end - runs.first)[of].sum() == len(order)


def test_loops_in_c_do_what_warp_does():
    from pliant.solvers.xpbd.cpu_kernels import solve_patches_plainly

    mesh = shapes.sheet(1.0, 24)
    ends = []
    for plain in (False, True):
        sim = make_sim(mesh, SOFT, method="xpbd", substeps=1, iterations=3)
        solver = sim.solvers[0]
        if plain:
            solver.meshes._kernel = solve_patches_plainly
        place(sim, solver, deformed(mesh, 0.1), 1e-3 * mesh.vertices[:, ::-1])
        solver.pace.assign(solver.move)
        for k in range(3):
            solver.meshes.solve(solver.move, 1e-3, k)
        ends.append(solver.move.numpy()[:, :3])
    np.testing.assert_allclose(ends[0], ends[1], atol=2e-6 * np.abs(ends[0]).max())
    assert np.abs(ends[0]).max() > 1e-4


@pytest.mark.parametrize("stretch", ["edges", "triangles"])
def test_threads_do_not_matter(stretch, set_threads, monkeypatch):
    monkeypatch.setattr(mesh_part, "WORTH_A_THREAD", 1.0)
    runs = []
    for threads in (1, 2):
        set_threads(threads)
        scene = make_scene(
            shapes.sheet(1.0, 48), SOFT, method="xpbd", gravity=(0, -9.81, 0), substeps=4, stretch=stretch,
            long_range=True, body={"rotation": (0, 0, 20), "position": (0, 0.25, 0)},
        )  # fmt: skip
        scene.pin("body", lambda x: x[:, 0] < -0.46)
        scene.add_plane()
        sim = build(scene)
        assert sim.solvers[0].meshes.runs.levels > 1
        sim.frame(6)
        runs.append(bits(sim))
    assert runs[0] == runs[1]


def test_rounds_do_what_blocks_do():
    """One launch per run of all patches, as on CUDA without barriers, gives what walking patch by patch gives."""
    from pliant.solvers.xpbd.constraint_kernels import Pass
    from pliant.solvers.xpbd.cpu_kernels import solve_patches_plainly
    from pliant.solvers.xpbd.cuda_kernels import solve_round

    mesh = shapes.sheet(1.0, 40)
    sim = make_sim(mesh, SOFT, method="xpbd", substeps=1)
    solver = sim.solvers[0]
    part = solver.meshes
    part._kernel = solve_patches_plainly
    place(sim, solver, deformed(mesh, 0.1))
    part.solve(solver.move, 1e-3, 0)
    wanted = solver.move.numpy().copy()
    solver.move.zero_()
    step = Pass()
    step.inv_dt, step.inv_dt2, step.reads, step.keeps = 1e3, 1e6, 0, 0
    for level in range(part.runs.levels):
        first, end = part.runs.level_starts[level : level + 2]
        for number in range(part.runs.most_runs(level)):
            wp.launch(
                solve_round,
                (end - first) * 32,
                inputs=[first, number, 32, part.tables, solver.base, step, solver.pace, solver.move],
                device="cpu",
            )
    np.testing.assert_array_equal(solver.move.numpy(), wanted)


# ---- corners that part ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bending", ["isometric", "dihedral"])
def test_constraints_follow_the_corners_of_triangles(bending, device):
    """A sheet cut in two along its middle: triangles hang on the new particles, hinges across the cut hold nothing."""
    mesh = shapes.sheet(1.0, 8)
    material = Material(young=1e5, fracture_strain=0.5, thickness=0.01)
    spare = SurfaceMesh(
        np.concatenate([mesh.vertices, [[9, 0, 0], [9, 0, 1], [9, 1, 0]]]), [*mesh.triangles, [81, 82, 83]]
    )
    sim = make_sim(spare, material, method="xpbd", device=device, substeps=1, frame_dt=1e-2, bending=bending)
    part = sim.solvers[0].meshes
    first = sim.body("body").particles[0]
    own = SurfaceMesh(sim.body("body").own.mesh.vertices, sim.body("body").surface - first)
    corners = own.triangles.astype(np.int64).reshape(-1) + first
    part.ties.follow(wp.array(corners.astype(np.int32), dtype=int, device=device), part.tables)
    law = part.constraints.triangle
    np.testing.assert_array_equal(part.tables.triangle.numpy(), law.corners[part.runs.orders[3]])
    kind = {"isometric": "bend", "dihedral": "fold"}[bending]
    before = getattr(part.tables, kind).numpy().copy()
    np.testing.assert_array_equal(before, getattr(part.constraints, kind).corners[part.runs.orders[kind == "fold"]])
    # the triangles on one side of a vertex in the middle get the first spare for it
    x = own.vertices
    middle = int(np.argmin(np.linalg.norm(x, axis=1)))
    right = x[own.triangles].mean(axis=1)[:, 0] > 0
    extra = int(np.argmax(x[:, 0]))
    lender = own.triangles[(own.triangles == extra).any(axis=1)][0] + first
    slots = np.flatnonzero((own.triangles.reshape(-1) == middle) & np.repeat(right, 3))
    corners[slots] = extra + first
    part.ties.follow(wp.array(corners.astype(np.int32), dtype=int, device=device), part.tables)
    triangles = part.tables.triangle.numpy()
    assert (triangles == extra + first).any(axis=1).sum() == len(slots) + 1
    after = getattr(part.tables, kind).numpy()
    dead = after[:, 0] < 0
    # only hinges whose edge begins at the vertex on the line of the cut part
    assert dead.sum() == 2
    assert (before[dead][:, :2] == middle + first).any(axis=1).all()
    # no run has two constraints of one particle
    runs = part.runs
    for r in range(len(runs.kind)):
        table = {3: triangles, 0: after, 1: after}[int(runs.kind[r])][runs.first[r] : runs.end[r]]
        # the triangle that lends its corner as a spare is none of the sheet
        table = table[(table[:, 0] >= 0) & ~np.isin(table, np.setdiff1d(lender, extra + first)).any(axis=1)]
        assert len(np.unique(table)) == table.size
    sim.solvers[0].meshes.solve(sim.solvers[0].move, 1e-2, 0)
    assert np.isfinite(sim.solvers[0].move.numpy()).all()
