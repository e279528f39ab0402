"""``pliant calibrate``: fit a method to the finite-element answers of a body."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "calibrate",
        help="fit a method's constants to finite elements of a body's own mesh",
        description="Stretch, bend, shear and twist a body by finite elements, fit the method to the answers, and keep "
        "the fit on disk, where scenes with 'calibrate' find it.",
    )
    parser.add_argument(
        "body", metavar="BODY", help="a mesh file, a sample mesh, or a scene, whose bodies are all taken"
    )
    parser.add_argument("--method", metavar="METHOD", help="mass_spring or shape_matching; that of a scene's bodies")
    parser.add_argument("--material", default="soft_rubber", metavar="NAME", help="whose Poisson's ratio counts")
    parser.add_argument("--tets", type=int, default=5000, metavar="N", help="about how many tets a mesh gets (5000)")
    parser.add_argument("--clusters", type=int, metavar="N", help="clusters of a shape-matched body")
    parser.add_argument("--mode", choices=("rigid", "linear", "quadratic"), help="goals of a shape-matched body")
    parser.add_argument("--no-cache", action="store_true", help="make it anew, and keep nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the fits and what is left as JSON")
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    from pliant.calibration.calibrate import Result, calibrate, why_not
    from pliant.calibration.loads import TESTS
    from pliant.errors import InputError
    from pliant.files import write_json

    scene = _scene(args)
    rows = []
    for entry in scene.bodies:
        method = args.method or entry.method
        reason = why_not(method, entry.source, entry.spec)
        if reason:
            print(f"{entry.name}: not calibrated: {reason}")
            continue
        made = calibrate(method, entry.source, entry.spec, use_cache=not args.no_cache)
        if made is None:
            print(f"{entry.name}: not calibrated: it falls apart under one of the test loads")
            continue
        origin = "from disk" if made.cached else "made now"
        print(f"{entry.name}, {method}, {len(entry.source.vertices)} vertices, {origin}")
        print(f"{'':<12}" + "".join(f"{test:>10}" for test in TESTS) + f"{'all':>10}")
        for label, errors in (("before", made.before), ("after", made.after)):
            shares = "".join(f"{100.0 * error:>8.1f} %" for error in errors)
            print(f"{label:<12}{shares}{100.0 * Result.size(errors):>8.1f} %")
        names = ("spring_factor", "bulk_over_young")
        if method == "shape_matching":
            names = ("squared_frequency_factor", "beta")
        numbers = dict(zip(names, made.calibration.numbers, strict=True))
        print(", ".join(f"{key} {value:.4g}" for key, value in numbers.items()))
        table = {"body": entry.name, "method": method, "cached": made.cached, **numbers, "tests": TESTS}
        rows.append({**table, "before": made.before, "after": made.after})
    if not rows:
        raise InputError("nothing was calibrated", args.body, "Give a body of tets or voxels")
    if args.json is not None:
        write_json(args.json, rows)
        print(f"written to {args.json}")
    return 0


def _scene(args: argparse.Namespace) -> Any:
    """The scene whose bodies are calibrated."""
    from pliant.errors import InputError
    from pliant.scene import Scene
    from pliant.scene_file import load_scene
    from pliant.scene_file.load import shipped_scenes

    if args.body in shipped_scenes() or args.body.endswith(".toml"):
        return load_scene(args.body).scene
    method = args.method or "mass_spring"
    matching = {key: getattr(args, key) for key in ("clusters", "mode") if getattr(args, key) is not None}
    if matching and method != "shape_matching":
        raise InputError("only shape-matched bodies have clusters and modes", "--method", "Use shape_matching")
    scene = Scene()
    scene.add(args.body, args.material, method=method, matching=matching or None, tets=args.tets, name=args.body)
    return scene
