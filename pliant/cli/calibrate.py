"""``pliant calibrate``: fit a method to the finite-element answers of a body."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "calibrate",
        help="fit a method's constants to finite elements of a body's own mesh",
        description="Let a body give in to its weight where it is held, by finite elements, fit the method to the "
        "answers, and keep the fit on disk. Scenes do so by themselves; here it is shown, and made for large bodies.",
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
    import dataclasses

    from pliant.calibration.calibrate import calibrate, why_not
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
        origin = "known already" if made.cached else "made now"
        print(f"{entry.name}, {method}, {len(entry.source.vertices)} vertices, {origin}")
        print(made.note())
        print(f"{'test':<16}{'counts':>8}{'before':>10}{'after':>10}   how far it gives in, over finite elements")
        for name, weight, before, after in zip(made.tests, made.weight, made.before, made.after, strict=True):
            print(f"{name:<16}{weight:>8.2f}{math.exp(before):>10.2f}{math.exp(after):>10.2f}")
        if made.calibration is not None:
            print(", ".join(f"{key} {value:.4g}" for key, value in _numbers(method, made.calibration).items()))
        rows.append({"body": entry.name, "method": method, **dataclasses.asdict(made)})
    if not rows:
        raise InputError("nothing was calibrated", args.body, "Give a body of tets or voxels")
    if args.json is not None:
        write_json(args.json, rows)
        print(f"written to {args.json}")
    return 0


def _numbers(method: str, calibration: Any) -> dict[str, float]:
    """The numbers of a whole body, by name."""
    names = ("spring_factor", "bulk_over_young") if method == "mass_spring" else ("squared_frequency_factor",)
    found = dict(zip(names, calibration.numbers, strict=True))
    return found if method == "mass_spring" else {**found, "damping_factor": calibration.rate}


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
