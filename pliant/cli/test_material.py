"""``pliant test-material``: a virtual laboratory."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    from pliant.cli.flags import add_flags
    from pliant.materials import Material

    parser = commands.add_parser(
        "test-material",
        help="measure what a material becomes under a method: stiffness, Poisson's ratio, damping, frequencies",
        description="Pull, press, bend, twist and drop a material under one or several methods, and print what it is.",
        epilog='Such as: pliant test-material rubber --methods mass_spring,fem --young "0.5 MPa"',
    )
    parser.add_argument("material", nargs="?", default="soft_rubber", metavar="MATERIAL", help="a name, such as rubber")
    parser.add_argument("--methods", metavar="A,B", help="methods to test (default: all that can be)")
    parser.add_argument("--body", metavar="MESH", help="test this mesh or sample mesh instead of a bar and a ball")
    parser.add_argument("--sheet", action="store_true", help="test strips of cloth instead: pulled, sheared and bent")
    parser.add_argument("--tets", type=int, default=1500, metavar="N", help="about how many tets a body gets (1500)")
    parser.add_argument("--tests", metavar="A,B", help="some of the tests; all if not given")
    parser.add_argument(
        "--size", default="0.2", metavar="LENGTH", help="length of the bar or strip, such as '20 cm' (0.2 m)"
    )
    parser.add_argument(
        "--frame-dt", metavar="TIME", help="duration of a frame, such as '16.7 ms'; chosen if not given"
    )
    parser.add_argument("--substeps", type=int, metavar="N", help="steps per frame; chosen if not given")
    parser.add_argument("--clusters", type=int, metavar="N", help="clusters of shape-matched bodies")
    parser.add_argument("--mode", choices=("rigid", "linear", "quadratic"), help="goals of shape-matched bodies")
    parser.add_argument(
        "--calibrate",
        choices=("auto", "on", "off"),
        help="whether methods are fitted to finite elements first, as for bodies of a scene (auto)",
    )
    parser.add_argument("--device", default="cpu", metavar="DEVICE", help="cpu (the default), cuda:0 or auto")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all that was measured as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw what was watched, as PNG")
    add_flags(parser, Material, NO_PART)
    parser.set_defaults(action=action)


# What has no part in any of the tests, and what has none in those of solids.
NO_PART = (
    "yield_strain", "yield_stress", "creep", "plastic_limit", "fracture_strain", "tear_strength", "restitution",
    "friction", "static_friction",
)  # fmt: skip
SHEETS_ONLY = ("thickness", "young_weft", "shear", "bending")


def action(args: argparse.Namespace) -> int:
    import warnings

    from pliant import lab
    from pliant.errors import InputError
    from pliant.files import make_parent, write_json
    from pliant.lab.plots import check_plot, plot_tests
    from pliant.lab.sheets import check_takes_sheets, sheet_methods
    from pliant.lab.ways import check_methods
    from pliant.launch import pick_device
    from pliant.materials import Material, as_material
    from pliant.units import read_quantity

    device = pick_device(args.device)
    material = as_material(args.material, "test-material")
    given = {f.name: getattr(args, f.name) for f in dataclasses.fields(Material) if hasattr(args, f.name)}
    given.pop("material", None)
    material = dataclasses.replace(material, **given)
    matching = {key: getattr(args, key) for key in ("clusters", "mode") if getattr(args, key) is not None}
    frame_dt = None if args.frame_dt is None else read_quantity(args.frame_dt, "s", "--frame-dt", plain=True)
    methods = [name.strip() for name in args.methods.split(",")] if args.methods is not None else None
    names = [name.strip() for name in args.tests.split(",")] if args.tests is not None else None
    wrong = [name for name in (SHEETS_ONLY if not args.sheet else ()) if name in given]
    if wrong or (args.sheet and (args.body or args.calibrate)):
        what = wrong[0] if wrong else "--body" if args.body else "--calibrate"
        raise InputError(
            f"{what!r} has no part in tests of {'strips' if args.sheet else 'solids'}", "test-material", "Leave it out"
        )
    methods = (sheet_methods() if args.sheet else lab.testable_methods()) if methods is None else methods
    check_methods(methods, "--methods")
    for method in methods:
        (check_takes_sheets if args.sheet else lab.check_testable)(method, "--methods")
    for path, check in ((args.json, make_parent), (args.plot, check_plot)):
        if path is not None:
            check(path)
    body = lab.body_of(args.body, args.tets) if args.body else None
    how = {"size": args.size, "frame_dt": frame_dt, "substeps": args.substeps, "device": device}
    if not args.sheet:
        how |= {"body": body, "calibrate": args.calibrate or "auto"}
    run, every = (lab.test_sheet, lab.SHEET_TESTS) if args.sheet else (lab.test_material, lab.TESTS)
    found = []
    for method in methods:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the notes say the same
            test = run(material, method, tests=every if names is None else names, matching=matching or None, **how)
        found.append(test)
        steps = ", ".join(f"{name} {count}" for name, count in test.substeps.items())
        print(f"\n{test.method}, {test.body} of {args.material}; substeps: {steps}")
        print(test.table())
        for note in test.notes:
            print(f"note: {note}")
    if args.json is not None:
        write_json(args.json, [test.as_dict() for test in found])
        print(f"written to {args.json}")
    if args.plot is not None:
        plot_tests(found, args.plot)
        print(f"drawn to {args.plot}")
    return 0
