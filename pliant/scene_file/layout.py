"""Scene files, version 1: which keys there are, taken from the classes that define them."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from pliant.collide.collider import Collider, Surface
from pliant.collide.shapes import collider_classes
from pliant.collide.soft.settings import ContactSettings
from pliant.forces.inside import INSIDES
from pliant.forces.wind_settings import Air, Gusts
from pliant.materials import Material, RawConstants
from pliant.mesh import shape_arguments, shapes
from pliant.mesh.layer_settings import LayerSettings
from pliant.mesh.prepare_settings import PrepareSettings
from pliant.mesh.rods import RodMesh
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh
from pliant.mesh.wrinkles import Wrinkles
from pliant.scene import SceneSettings
from pliant.scene_checks import CALIBRATE
from pliant.scene_file.attachments import attachment_table, chooser_keys, path_kind
from pliant.scene_file.form import (
    Constant,
    Either,
    Kind,
    ListOf,
    Setting,
    Table,
    Variant,
    Vector,
    label,
    scalar,
    settings_of,
)
from pliant.settings import Described, setting
from pliant.sleep.settings import SleepSettings
from pliant.solvers import solver_classes
from pliant.solvers.shape_matching.settings import Matching
from pliant.vectors import FARTHEST

VERSION = 1
MOST_COPIES = 100_000
# Texts that the shape functions take.
SHAPE_WORDS = shape_arguments.WORDS
SPRINGS = ("one_ring", "two_ring", "grid")
SCHEMA_ID = "urn:pliant:scene:1"


@dataclasses.dataclass(frozen=True)
class FilmSettings(Described):
    """How a film of the run is made."""

    fps: float = setting(30.0, "pictures per second of the film", above=0.0, high=1000.0)
    width: int = setting(640, "width of the picture", unit="pixels", low=16, high=8192)
    height: int = setting(360, "height of the picture", unit="pixels", low=16, high=8192)
    samples: int = setting(2, "rays along each side of a pixel that an edge crosses", low=1, high=8)
    quality: int = setting(85, "from 0 (small file) to 100 (best picture)", low=0, high=100)
    wireframe: bool = setting(False, "draw the edges of the triangles")


def shape_functions() -> dict[str, Any]:
    """The functions of `pliant.mesh.shapes` that make a mesh, by name."""
    made = (TetMesh.__name__, SurfaceMesh.__name__, RodMesh.__name__)
    found = inspect.getmembers(shapes, inspect.isfunction)
    return {name: f for name, f in found if not name.startswith("_") and inspect.signature(f).return_annotation in made}


def _shape_table(function: Any) -> Table:
    """The parameters of a shape function as keys; `Any` is one number or several, as many as the default size has."""
    parameters = inspect.signature(function).parameters
    several = max((len(p.default) for p in parameters.values() if isinstance(p.default, tuple)), default=1)
    keys: dict[str, Kind] = {}
    for key, parameter in parameters.items():
        default = parameter.default
        if parameter.annotation == "str":
            meaning, choices = SHAPE_WORDS[key]
            keys[key] = scalar("str", default, meaning, choices=choices)
            continue
        if key in shape_arguments.FILES:
            keys[key] = scalar("str", "", shape_arguments.FILES[key])
            continue
        if key in shape_arguments.NUMBERS:
            keys[key] = scalar("int" if isinstance(default, int) else "float", None, **shape_arguments.NUMBERS[key])
            continue
        whole = isinstance(default, int) or "int" in str(parameter.annotation)
        one = scalar("int", None, "number of cells", low=1) if whole else scalar("float", None, "length [m]", above=0.0)
        keys[key] = one
        if parameter.annotation == "Any":
            each = ListOf(one, f"{one.field.metadata['meaning']} along each axis", several, several)
            keys[key] = Either(each, list, one)
    return Table(keys, (inspect.getdoc(function) or "").splitlines()[0])


def _collider_table(cls: type[Collider]) -> Table:
    """The table of one kind of collider."""
    keys: dict[str, Kind] = {"name": label("for messages")}
    for field in cls.table_keys():
        meaning, count = field.metadata["meaning"], field.metadata.get("count")
        if count is None:
            keys[field.name] = Setting(field)
        elif "most" in field.metadata:
            row = ListOf(scalar("float", None, "number"), "numbers of a row", count, count)
            keys[field.name] = ListOf(row, meaning, 1, field.metadata["most"])
        elif count == 3:
            keys[field.name] = Vector(meaning)
        else:
            keys[field.name] = ListOf(scalar("float", None, "number"), meaning, count, count)
    if cls.movable:
        keys["path"] = path_kind()
    return Table({**keys, **settings_of(Surface)}, cls.meaning, one_of=cls.sources)


def scene_table() -> Table:
    """The whole file."""
    material = settings_of(Material)
    base = scalar("str", "", "a preset or a material named further up, whose values hold where none is given")
    preset_or_name = scalar("str", "soft_rubber", "the name of a preset or of a [[material]]")
    inline = Table({"base": base, **material}, "a material given in place")
    pair = scalar("int", 0, "pixels", low=16, high=8192)
    film = settings_of(FilmSettings)
    methods = solver_classes()
    pin = Table(
        {
            **chooser_keys(),
            "path": path_kind(),
            "center": Vector("what the path turns and scales about [m]; the middle of the vertices if not given"),
        },
        "vertices that are held, or led along a path",
        one_of=("vertices", "box", "roots"),
    )
    copies = Table(
        {
            "count": ListOf(scalar("int", 1, "copies", low=1, high=MOST_COPIES), "copies along x, y and z", 3, 3),
            "spacing": Vector("distance of neighbours along x, y and z [m]"),
            "jitter": scalar(
                "float", 0.0, "largest random displacement along each axis", unit="m", low=0.0, high=FARTHEST
            ),
            "seed": scalar("int", 0, "what the random displacements follow from", low=0),
        },
        "a grid of the same body",
        required=("count", "spacing"),
    )
    other_skin = scalar("str", "", "a surface for the body to carry: a file, or the name of a sample mesh")
    points_file = scalar("str", "", "a file of points, seen from the scene file: .ply, .xyz, .txt, .csv or .npy")
    points_list = ListOf(Vector("x, y, z [m]"), "the points themselves [m]")
    points = Table(
        {
            "file": points_file,
            "at": points_list,
            "volume": scalar("float", None, "of the body; from the spacing if not given", unit="m^3", above=0.0),
            "radius": scalar("float", None, "of the balls that are seen; from the spacing", unit="m", above=0.0),
        },
        "loose points with their volume",
        one_of=("file", "at"),
    )
    rods_file = scalar("str", "", "a file of rods, seen from the scene file: .swc, .obj, .ply, .hair, .gltf or .glb")
    rods = Table(
        {
            "file": rods_file,
            "radius": scalar("float", None, "of all segments; that of the file if not given", unit="m", above=0.0),
            "seen_radius": scalar("float", None, "of the tubes that are seen; the radius", unit="m", above=0.0),
        },
        "ropes, hair or trees from a file",
        required=("file",),
    )
    wind = Table(
        {
            "velocity": Vector("mean velocity of the air [m/s]"),
            **settings_of(Air),
            "gusts": Table(settings_of(Gusts), "turbulence that the wind carries along"),
        },
        "the air: its mean velocity, how it pushes, and its gusts",
    )
    shape = Variant("kind", {n: _shape_table(f) for n, f in shape_functions().items()}, "a body made by formula")
    body = Table(
        {
            "name": label("must be new; numbered if not given"),
            "shape": shape,
            "file": scalar("str", "", "a mesh of any format, seen from the scene file, or the name of a sample mesh"),
            "file2": scalar("str", "", "the other file of the mesh, where its name does not follow from the first"),
            "points": Either(points, dict, Either(points_list, list, points_file)),
            "rods": Either(rods, dict, rods_file),
            "scale": Either(Vector("factors along x, y and z"), list, scalar("float", 1.0, "factor", above=0.0)),
            **{**settings_of(PrepareSettings), "skin": Either(other_skin, str, settings_of(PrepareSettings)["skin"])},
            **settings_of(LayerSettings),
            "springs": scalar(
                "str",
                "one_ring",
                "springs of a sheet: along its edges, across them too, or those of a grid of quads",
                choices=SPRINGS,
            ),
            "bends": scalar("bool", True, "whether rods resist bending and twist, or are chains that do not"),
            "tear_capacity": scalar(
                "float", 0.5, "vertices set aside for a sheet that tears, over the number it has", low=0.0, high=10.0
            ),
            "warp": Vector("direction of the warp of a cloth, as its mesh lies; from its texture, or x, if not given"),
            "calibrate": Either(
                scalar("str", "auto", "as for the scene: auto, on or off", choices=CALIBRATE),
                str,
                scalar("bool", None, "fit the method to finite elements of the mesh; as the scene says if not given"),
            ),
            "material": Either(inline, dict, preset_or_name),
            "method": scalar("str", "mass_spring", "how it is simulated", choices=tuple(methods)),
            "matching": Table(settings_of(Matching), "how a shape-matched body is matched to its rest shape"),
            "position": Vector("where the mesh's origin goes [m]"),
            "rotation": Vector("axis times angle in degrees, about the mesh's origin"),
            "velocity": Vector("[m/s]"),
            "angular_velocity": Vector("about the centre of mass [rad/s]"),
            "color": Vector("red, green, blue from 0 to 1"),
            "raw": Table(settings_of(RawConstants), "spring constants given directly, instead of the material's"),
            "mass_distribution": scalar(
                "str", "lumped", "how mass comes to the vertices", choices=("lumped", "average_volume")
            ),
            "largest_inverse_mass": scalar("float", None, "inverse masses above are cut", unit="1/kg", above=0.0),
            "fill": scalar(
                "float", None, "part of the mesh's volume that is filled with the material", above=0.0, high=1.0
            ),
            "mass_shift": scalar(
                "float", None, "part of the mass moved to the lightest vertices, for longer steps", low=0.0, high=0.5
            ),
            "volume": Variant(
                "kind",
                {
                    name: Table(settings_of(cls), (inspect.getdoc(cls) or "").splitlines()[0])
                    for name, cls in INSIDES.items()
                },
                "what fills a closed surface without tets",
            ),
            "wrinkles": Table(settings_of(Wrinkles), "waves on what is seen of a sheet, where it is compressed"),
            "pins": ListOf(pin, "vertices that are held or led"),
            "copies": copies,
        },
        "a soft body",
        one_of=("shape", "file", "points", "rods"),
    )
    camera = Table(
        {
            "position": Vector("where the eye is [m]"),
            "target": Vector("the point in the middle of the picture [m]"),
            "direction": Vector("from the bodies to the eye, which then is as near as it can be"),
            "up": Vector("direction that points up in the picture"),
            "fov_deg": scalar("float", 35.0, "vertical angle of view", unit="degrees", low=0.1, high=170.0),
        },
        "where pictures are taken from; chosen if not given",
    )
    return Table(
        {
            "version": Constant(scalar("int", VERSION, f"version of the format: {VERSION}").field),
            "name": label("for messages and files; that of the file if not given"),
            "description": scalar("str", "", "what the scene shows"),
            "scene": Table(
                {
                    "gravity": Vector("[m/s^2]"),
                    "wind": Either(wind, dict, Vector("velocity of the air [m/s]; zero is no air at all")),
                    "frames": scalar("int", 240, "frames of a run", low=1, high=100_000_000),
                    **settings_of(SceneSettings),
                },
                "what holds for the whole scene",
            ),
            "contact": Table(settings_of(ContactSettings), "how bodies meet each other and themselves"),
            "sleep": Table(settings_of(SleepSettings), "when bodies at rest fall asleep"),
            "solver": Table(
                {name: Table(settings_of(cls.Settings), f"settings of {name}") for name, cls in methods.items()},
                "settings of each method",
            ),
            "material": ListOf(
                Table({"name": label("its name", 1), "base": base, **material}, "a material", ("name",)),
                "materials by name",
            ),
            "body": ListOf(body, "the bodies"),
            "attachment": ListOf(attachment_table(), "what is attached to what"),
            **{
                kind: ListOf(_collider_table(cls), f"the {cls.plural}", shortest=0)
                for kind, cls in collider_classes().items()
            },
            "camera": camera,
            "film": Table(
                {"size": ListOf(pair, "width and height of the picture [pixels]", 2, 2),
                 **{k: kind for k, kind in film.items() if k not in ("width", "height")}},
                "how a film of the run is made",
            ),
        },
        "A scene of Pliant",
        required=("version", "body"),
    )  # fmt: skip


def scene_schema() -> dict[str, Any]:
    """The format as JSON schema, draft 2020-12."""
    schema = scene_table().schema()
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, "title": "Pliant scene"}
    return {**head, **schema}
