"""A scene: bodies, colliders, pins and settings; `build()` turns it into a running simulation."""

from __future__ import annotations

import dataclasses
import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.assembly import BodyEntry, assemble
from pliant.attachments import AttachmentEntry, Attachments, check_free
from pliant.calibration.background import begin, calibrated
from pliant.collide.collider import Collider
from pliant.collide.pipeline import Pipeline
from pliant.collide.soft.settings import ContactSettings, as_contact
from pliant.errors import InputError
from pliant.forces.inside import Inside, as_inside, check_inside, check_integrator
from pliant.forces.wind_settings import Wind, as_wind
from pliant.launch import pick_device
from pliant.materials import Material, RawConstants, as_material
from pliant.mesh import arrays
from pliant.mesh.embed import Embedding
from pliant.mesh.lattice import VoxelLattice
from pliant.mesh.layer_settings import LayerSettings
from pliant.mesh.layered import LayeredMesh
from pliant.mesh.points import PointCloud
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.mesh.wrinkles import Wrinkles, as_wrinkles, wrinkled
from pliant.model.model import Model
from pliant.model.state import State
from pliant.overlaps import warn_about_overlaps
from pliant.scene_checks import (
    CALIBRATE,
    as_bends,
    as_calibrate,
    as_capacity,
    as_share,
    as_skin,
    as_warp,
    check_method,
    check_skin,
    filled,
    new_name,
)
from pliant.scene_colliders import SceneColliders
from pliant.scene_holding import SceneHolding
from pliant.settings import Described, setting
from pliant.simulation import Simulation
from pliant.sleep.settings import SleepSettings, as_sleep
from pliant.solvers import solver_class
from pliant.solvers.protocol import BodySpec, Solver, World
from pliant.solvers.shape_matching.settings import Matching, as_matching
from pliant.substeps import MOST_SUBSTEPS, choose_substeps, warn_about_start
from pliant.vectors import FARTHEST, FASTEST, as_bounded, as_positive, as_vector

if TYPE_CHECKING:
    from pliant.mesh.prepared import PreparedBody

# Part of the mass that is moved to the lightest vertices of a body made from a surface, which allows steps about three
# times as long. The total stays.
MASS_SHIFT = 0.05
COLORS = (
    (0.85, 0.34, 0.24),
    (0.23, 0.52, 0.78),
    (0.93, 0.69, 0.22),
    (0.36, 0.66, 0.42),
    (0.58, 0.42, 0.74),
    (0.83, 0.48, 0.62),
)


@dataclasses.dataclass(frozen=True)
class SceneSettings(Described):
    """What holds for a whole scene."""

    frame_dt: float = setting(1.0 / 60.0, "duration of a frame", unit="s", above=0.0, high=10.0)
    substeps: int | None = setting(
        None, "steps per frame; chosen from the stable step if not given", low=1, high=MOST_SUBSTEPS
    )
    stretch_limit: float = setting(
        20.0, "a spring longer than this times its rest length counts as a blow-up", above=1.0
    )
    calibrate: str = setting(
        "auto",
        "bodies are fitted to finite elements: 'auto' where it takes little time, 'on' however long it takes, or 'off'",
        choices=CALIBRATE,
    )
    air_density: float = setting(1.2, "density of the air that is the wind", unit="kg/m^3", low=0.0, high=1e4)


class Scene(SceneColliders, SceneHolding):
    """Bodies and what surrounds them.

    Args:
        gravity: [m/s^2].
        wind: velocity of the air [m/s], where zero is no air at all; or a `Wind`, or a table of its settings.
        contact: what meets: 'none', 'bodies' or 'all' (themselves too); or a `ContactSettings`, or a table of them.
        sleep: whether bodies at rest fall asleep, or after which time [s]; or a `SleepSettings`, or a table of them.
        settings: see `SceneSettings`; single ones may be given as keywords.
        name: for messages and files.
    """

    def __init__(
        self,
        gravity: Sequence[float] = (0.0, -9.81, 0.0),
        name: str = "scene",
        *,
        wind: Sequence[float] | Wind | Mapping[str, Any] = (0.0, 0.0, 0.0),
        contact: str | ContactSettings | Mapping[str, Any] = "none",
        sleep: bool | float | SleepSettings | Mapping[str, Any] = False,
        **settings: Any,
    ):
        self.name = name
        self.gravity = as_vector(gravity, "scene.gravity")
        self.air = as_wind(wind)
        self.wind = self.air.velocity
        self.contact = as_contact(contact)
        self.sleep = as_sleep(sleep)
        known = {f.name for f in dataclasses.fields(SceneSettings)}
        for key in settings:
            if key not in known:
                raise InputError(f"no setting {key!r}", "scene", f"The settings are: {', '.join(sorted(known))}")
        self.settings = SceneSettings(**settings)
        self.bodies: list[BodyEntry] = []
        self.colliders: list[Collider] = []
        self.attachments: list[AttachmentEntry] = []
        self.solver_settings: dict[str, dict[str, Any]] = {}
        self._prepared: dict[Any, PreparedBody] = {}

    def add_body(
        self,
        mesh: TetMesh | SurfaceMesh | VoxelLattice | PointCloud | RodMesh | LayeredMesh,
        material: Material | str = "soft_rubber",
        *,
        method: str = "mass_spring",
        name: str | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        rotation: Sequence[float] = (0.0, 0.0, 0.0),
        velocity: Sequence[float] = (0.0, 0.0, 0.0),
        angular_velocity: Sequence[float] = (0.0, 0.0, 0.0),
        color: Sequence[float] | None = None,
        raw: RawConstants | None = None,
        mass_distribution: str = "lumped",
        largest_inverse_mass: float | None = None,
        mass_shift: float = 0.0,
        fill: float = 1.0,
        volume: Inside | str | None = None,
        springs: str = "one_ring",
        skin: tuple[SurfaceMesh, Embedding | None] | None = None,
        matching: Matching | Mapping[str, Any] | None = None,
        warp: Sequence[float] | None = None,
        bends: bool = True,
        tear_capacity: float = 0.5,
        wrinkles: Wrinkles | Mapping[str, Any] | bool | None = None,
        calibrate: bool | str | None = None,
    ) -> str:
        """Add a body from a mesh that is ready to be simulated, and return its name; `add` takes any mesh.

        Args:
            mesh: a `TetMesh` or a `VoxelLattice` (a solid), a `SurfaceMesh` (a sheet), a `RodMesh` (ropes, hair,
                trees), a `LayeredMesh` (a core under a soft layer), or a `PointCloud` (loose points, for methods that
                need no mesh; seen as small balls where there is no skin).
            material: a `Material` or the name of a preset.
            method: how it is simulated.
            name: must be new; numbered if not given.
            position: where the mesh's origin goes [m].
            rotation: axis times angle in degrees, about the mesh's origin.
            velocity: [m/s]. angular_velocity: about the body's centre of mass [rad/s].
            color: red, green, blue from 0 to 1; the paints of the mesh, or one of ours, if not given.
            raw: spring constants given directly instead of the material's stiffness.
            mass_distribution: 'lumped' (a quarter of each tet's mass to its corners) or 'average_volume' (Lesmes 3.13).
            largest_inverse_mass: inverse masses above this [1/kg] are cut to it, and reported.
            fill: part of the mesh's volume that is filled: density and stiffness of the material are scaled with it.
            mass_shift: part of the mass (0 to 0.5) that is moved to the lightest vertices, which allows longer steps.
            volume: what fills a closed surface: `Pressure`, `SupportSprings`, `GlobalVolume`, or one of their kinds
                ('pressure', 'support', 'global_volume') with default settings.
            springs: of a sheet: 'one_ring' (along the edges), 'two_ring' (across them too: it resists bending), or
                'grid' where its triangles pair up to quads (Provot's structural, shear and flexion springs).
            skin: a surface that is seen instead of the mesh's own, and its embedding in the mesh; None in its place
                lets the surface follow the body's clusters, where the method makes some.
            matching: how a shape-matched body is matched: a `Matching`, or a table of its settings.
            warp: direction of the warp of a sheet, as its mesh lies; where the material has a weft or a shear modulus
                of its own. The direction in which the texture coordinate u grows, or its mesh's x, if not given.
            bends: of rods: whether they resist bending and twist (ropes, hair, branches), or are chains that do not.
            tear_capacity: of a sheet that tears with the method 'xpbd': vertices that are set aside for where it
                splits, over the number it has.
            wrinkles: let a sheet be seen as a finer surface with waves where it is compressed: a `Wrinkles`, a table of
                its settings, or True.
            calibrate: fit the method to finite elements of the same mesh: 'auto' where it takes little time, True or
                'on' however long it takes, False or 'off'; as the scene says if not given.
        """
        name = new_name(name, "body", [b.name for b in self.bodies])
        where = f"body '{name}'"
        if not isinstance(mesh, (TetMesh, SurfaceMesh, VoxelLattice, PointCloud, RodMesh, LayeredMesh)):
            raise InputError(
                f"{type(mesh).__name__} is not a mesh",
                where,
                "Give a TetMesh, a SurfaceMesh, a VoxelLattice, a RodMesh, a LayeredMesh or a PointCloud",
            )
        if springs not in ("one_ring", "two_ring", "grid"):
            raise InputError(f"{springs!r} is not known", f"{where}.springs", "Use 'one_ring', 'two_ring' or 'grid'")
        if springs != "one_ring" and not isinstance(mesh, SurfaceMesh):
            raise InputError("a solid has no springs across edges", f"{where}.springs", "Leave it out, or give a sheet")
        check_method(method, mesh, where)
        if mass_distribution not in ("lumped", "average_volume"):
            raise InputError(
                f"{mass_distribution!r} is not known", f"{where}.mass_distribution", "Use 'lumped' or 'average_volume'"
            )
        if largest_inverse_mass is not None:
            largest_inverse_mass = as_positive(largest_inverse_mass, f"{where}.largest_inverse_mass", "1/kg")
        if raw is not None and not isinstance(raw, RawConstants):
            raise InputError(f"{type(raw).__name__} is no set of constants", f"{where}.raw", "Give RawConstants")
        notes = list(dict.fromkeys([*mesh.notes, *mesh.check(where)]))
        if matching is not None and not solver_class(method).shares_rest:
            notes.append(f"'matching' means nothing to the method '{method}'; use method='shape_matching'")
        if volume is not None:
            volume = as_inside(volume, f"{where}.volume")
            if isinstance(mesh, (PointCloud, RodMesh)):
                raise InputError(
                    "points and rods enclose nothing", f"{where}.volume", "Leave it out, or give a surface"
                )
            notes += check_inside(mesh, f"{where}.volume")
        source = mesh
        turn = np.array(as_vector(rotation, f"{where}.rotation"))
        degrees = float(np.linalg.norm(turn))
        if degrees > 0:
            mesh = mesh.rotated(turn / degrees, math.radians(degrees))
        place = as_bounded(position, FARTHEST, f"{where}.position", "m")
        mesh = mesh.translated(place)
        seen, embedding = as_skin(skin, f"{where}.skin")
        if seen is not None:
            check_skin(seen, embedding, len(mesh.vertices), f"{where}.skin")
            if degrees > 0:
                seen = seen.rotated(turn / degrees, math.radians(degrees))
            seen = seen.translated(place)
        direction = as_warp(warp, mesh, turn, f"{where}.warp")
        folds, creased = as_wrinkles(wrinkles, f"{where}.wrinkles"), None
        if folds is not None:
            if seen is not None or not isinstance(mesh, SurfaceMesh):
                raise InputError(
                    "only a sheet without a skin of its own has wrinkles",
                    f"{where}.wrinkles",
                    "Leave it out, or give a SurfaceMesh and no skin",
                )
            if as_material(material, f"{where}.material").breaks_at is not None:
                raise InputError(
                    "a sheet that can break or tear has no wrinkles",
                    f"{where}.wrinkles",
                    "Leave it out, or the material's fracture_strain",
                )
            seen, embedding, creased, more = wrinkled(mesh, folds, None if warp is None else direction)
            notes += more
        shade = COLORS[len(self.bodies) % len(COLORS)] if color is None else as_vector(color, f"{where}.color")
        if min(shade) < 0 or max(shade) > 1:
            raise InputError(f"{list(shade)} is not a colour", f"{where}.color", "Give red, green and blue from 0 to 1")
        stuff = filled(as_material(material, f"{where}.material"), fill, f"{where}.fill")
        spec = BodySpec(
            mesh,
            stuff,
            raw,
            mass_distribution,
            largest_inverse_mass,
            springs,
            as_share(mass_shift, f"{where}.mass_shift"),
            as_matching(matching, f"{where}.matching"),
            direction,
            as_bends(bends, mesh, f"{where}.bends"),
            as_capacity(tear_capacity, f"{where}.tear_capacity"),
        )
        entry = BodyEntry(
            mesh,
            spec,
            method,
            name,
            np.array(as_bounded(velocity, FASTEST, f"{where}.velocity", "m/s")),
            np.array(as_bounded(angular_velocity, FASTEST, f"{where}.angular_velocity", "rad/s")),
            shade,
            notes,
            source,
            arrays.rotation(turn / degrees, math.radians(degrees), f"{where}.rotation") if degrees > 0 else np.eye(3),
            volume=volume,
            skin=seen,
            embedding=embedding,
            painted=color is None,
            wrinkles=creased,
            calibrate=as_calibrate(calibrate, f"{where}.calibrate"),
        )
        self.bodies.append(entry)
        return name

    def add(
        self,
        source: str | os.PathLike | TetMesh | SurfaceMesh | VoxelLattice | PointCloud | RodMesh | LayeredMesh,
        material: Material | str = "soft_rubber",
        *,
        skin: bool | str | os.PathLike | SurfaceMesh = True,
        cache: bool = True,
        progress: Callable[[str, float], None] | None = None,
        **options: Any,
    ) -> str:
        """Add a body made of any mesh, and return its name.

        The mesh is read, repaired and made solid, and its surface is embedded in the solid; the body's notes say what
        was done. The same mesh with the same settings is prepared once and then taken from disk.

        Args:
            source: a mesh file, a body prepared by ``pliant prep`` (``.plb``), the name of a sample mesh ('bunny'),
                or a mesh. A `PointCloud`, a `RodMesh` or a `LayeredMesh` is taken as it is.
            material: a `Material` or the name of a preset.
            skin: show the surface itself (True), the solid's own outside (False), or another surface, which follows
                the clusters of a body of loose points.
            cache: keep the prepared body on disk and take it from there.
            progress: called with the stage and how much of it is done.
            options: settings of `PrepareSettings` (``size=0.3``, ``tets=5000``, ``solid="voxels"``), and the
                arguments of `add_body` (``name``, ``position``, ``color`` and so on); with ``method="layered"`` those
                of `LayerSettings` too (``texture=128``, ``layer_thickness=0.02``). ``mass_shift`` is 0.05 for a
                body made from a surface, unless it is a lattice.
        """
        from pliant.mesh.prepare import prepare
        from pliant.mesh.source import as_cover, load_mesh

        material = as_material(material, "add.material")
        name = options.get("name")
        where = f"body '{name}'" if name else f"add({os.fspath(source)!r})" if isinstance(source, str) else "add"
        known = {f.name for f in dataclasses.fields(PrepareSettings)} - {"skin"}
        layered = {f.name for f in dataclasses.fields(LayerSettings)} if options.get("method") == "layered" else set()
        layer = {key: options.pop(key) for key in list(options) if key in layered}
        settings = {key: options.pop(key) for key in list(options) if key in known}
        taken = inspect.signature(self.add_body).parameters
        for key in options:
            if key not in taken or key in ("mesh", "skin"):
                every = sorted(known | layered | set(taken) - {"mesh"})
                raise InputError(f"no option {key!r}", where, f"The options are: {', '.join(every)}")
        cover = None if isinstance(skin, bool) else skin
        if isinstance(source, (PointCloud, RodMesh)):
            if settings:
                raise InputError(
                    f"points and rods are not prepared: {', '.join(settings)} means nothing to them",
                    where,
                    "Leave it out; their method `scaled` changes their size",
                )
            carried = None if cover is None else (as_cover(load_mesh(cover)), None)
            return self.add_body(source, material, skin=carried, **options)
        if isinstance(source, LayeredMesh):
            if settings or layer or cover is not None:
                raise InputError(
                    f"is prepared already, so that {', '.join([*settings, *layer]) or 'skin'} cannot be set any more",
                    where,
                    "Leave it out, or give the surface it was made of",
                )
            seen = (source.skin, source.embedding) if skin and source.skin is not None else None
            return self.add_body(source, material, skin=seen, **options)
        asked = PrepareSettings(**settings, skin=skin if isinstance(skin, bool) else False)
        # a file that is added again is the same mesh, so that bodies can share their rest data
        named = cache and all(part is None or isinstance(part, (str, os.PathLike)) for part in (source, cover))
        same = (str(source), asked, str(cover), tuple(sorted(layer.items())))
        body = self._prepared.get(same) if named else None
        if body is None:
            if options.get("method") == "layered":
                from pliant.mesh.prepare_layered import prepare_layered

                if cover is not None:
                    raise InputError("a layered body carries its own surface only", f"{where}.skin", "Leave it out")
                body = prepare_layered(source, LayerSettings(**layer), asked, use_cache=cache, progress=progress)
            else:
                body = prepare(source, asked, skin=cover, use_cache=cache, progress=progress)
            body = dataclasses.replace(body, solid=dataclasses.replace(body.solid, notes=body.notes))
            if named:
                self._prepared[same] = body
        solid = body.solid
        if body.uneven and options.get("raw") is None:
            options.setdefault("mass_shift", MASS_SHIFT)
        if options.get("raw") is None:
            options.setdefault("fill", body.fill)
        added = self.add_body(solid, material, skin=body.carried, **options)
        # while the next is prepared
        begin(self.bodies[-1], self.settings.calibrate)
        return added

    def configure(self, method: str, **settings: Any) -> None:
        """Set settings of a method, such as ``configure("mass_spring", integrator="verlet")``."""
        cls = solver_class(method)
        known = {f.name for f in dataclasses.fields(cls.Settings)}
        for key in settings:
            if key not in known:
                raise InputError(
                    f"no setting {key!r}", f"solver '{method}'", f"The settings are: {', '.join(sorted(known))}"
                )
        merged = {**self.solver_settings.get(method, {}), **settings}
        cls.Settings(**merged)
        self.solver_settings[method] = merged

    def build(self, device: str = "auto", *, estimate_step: bool = True) -> Simulation:
        """Turn the scene into a simulation on a device.

        Args:
            device: 'auto', 'cpu' or 'cuda:0'.
            estimate_step: find the largest stable step; may be left out where 'substeps' is given, to save time.
        """
        if not self.bodies:
            raise InputError(
                "the scene has no bodies",
                f"scene '{self.name}'",
                "Add one with add_body, or a [[body]] table in the file",
            )
        device = pick_device(device)
        # bodies of one method stand together, so that each solver owns one run of particles
        entries = sorted(self.bodies, key=lambda b: (b.method, solver_class(b.method).rank(b.spec)))
        model = assemble(calibrated(entries, self.settings.calibrate))
        model.check()
        given = model.particles
        state = State(given.rest, given.velocity, given.mass, device, len(model.bodies))
        pipeline = Pipeline(self.colliders, state.count, device, model.particles.radius)
        world = World(
            self.gravity, pipeline.planes, pipeline.plane_count, only_planes=pipeline.only_planes,
            bodies_meet=self.contact.between != "none" and self.contact.method == "features",
            bodies_sleep=self.sleep.active,
        )  # fmt: skip
        solvers = self._solvers(model, state, world, device)
        ties = self._ties(model)
        chosen = self.settings
        sim = Simulation(
            model, state, world, pipeline, solvers, chosen.frame_dt, 1, chosen.stretch_limit, device,
            dataclasses.replace(self.air, velocity=self.wind), chosen.air_density,
            Attachments(ties, state.count, device, model), self.contact, self.sleep,
        )  # fmt: skip
        sim.scene = self
        sim.notes += model.notes
        for method in {body.method for body in model.bodies if body.options["volume"] is not None}:
            check_integrator(self.solver_settings.get(method, {}).get("integrator", ""))
        self._hold(sim)
        sim.notes += check_free(ties, state.inv_mass.numpy())
        if estimate_step or chosen.substeps is None:
            choose_substeps(sim, chosen.substeps, self.name)
        else:
            sim.substeps = chosen.substeps
        warn_about_start(sim)
        warn_about_overlaps(sim)
        return sim

    def _solvers(self, model: Model, state: State, world: World, device: str) -> list[Solver]:
        """One solver for each method that bodies are simulated with, in the order of the model."""
        solvers = []
        for method in dict.fromkeys(body.method for body in model.bodies):
            cls = solver_class(method)
            solvers.append(cls(model, state, world, cls.Settings(**self.solver_settings.get(method, {})), device))
        return solvers
