"""Benchmarks: ratios measured in one run, with medians, versions and device beside them."""

from __future__ import annotations

import argparse
import importlib

from pliant.errors import InputError
from pliant.files import replace_file
from pliant.launch import pick_device

BENCHES = {
    "springs": "speed of the mass-spring step",
    "sources": "the tables of the mass-spring source, beside its numbers",
    "meshes": "what becomes of each mesh: a body that falls for 120 frames, or a refusal with its reason",
    "skin": "time to move a skin of 100,000 vertices, beside that of the body it rides on",
    "shapes": "time of a shape-matching step against the number of particles, in every mode",
    "cloth": "cloth that falls over a sphere: time of a frame with the stretch beside it; small steps; scaling",
    "rope": "a rope of 1,000 links that swings from one end: time of a frame with the error of its length beside it",
    "flag": "a flag in gusts over 1,000,000 steps: whether it drifts, stretches or blows up",
    "provot": "a cloth hung by two corners: which springs stretch too far, without and with Provot's limit",
    "integrators": "energy over time and largest stable step of every integrator, of one spring and of one cloth",
    "pile": "27 soft blocks that fall on each other, many bodies in a bowl: time of a frame with the overlap beside it",
    "fem": "a soft block of finite elements: time of a frame with its error; a cantilever; iterations by mesh size",
    "layered": "tyres of a core under a soft layer: frames and contacts a second, the time of each stage",
    "materials": "sag, frequencies and recovery of a bar, a ball and a bunny under each method, before and after a fit",
    "detection": "time to find what may touch, by trees, hash grid, octree and all pairs; degenerate cases",
    "startup": "time from the start of the process to the first frame",
    "stream": "what reaches the studio's page: frames, their bytes and their age, the time from a drag to its frame",
}

# Benches that can draw what they measured: their module has `plot(rows, path)`.
PLOTTED = ("shapes", "cloth", "provot", "integrators", "layered", "detection")


def main(args: argparse.Namespace) -> int:
    """Run one bench: args has name, sources, device, json, markdown, plot, most, self and quick."""
    from pliant.bench.report import Report, device_name

    if args.name not in BENCHES:
        raise InputError(f"no bench {args.name!r}", "bench", f"Use one of: {', '.join(BENCHES)}")
    for given in (*args.sources, *([args.markdown] if args.markdown else [])):
        if args.name != "meshes" and not (args.name == "materials" and given == args.markdown):
            raise InputError(f"{str(given)!r} has no meaning for bench {args.name!r}", "bench", "Leave it out")
    if args.most is not None and args.name != "detection":
        raise InputError(f"'--most' has no meaning for bench {args.name!r}", "bench", "Leave it out")
    if args.self and args.name != "cloth":
        raise InputError(f"'--self' has no meaning for bench {args.name!r}", "bench", "Leave it out")
    if args.plot and args.name not in PLOTTED:
        raise InputError(f"'--plot' has no meaning for bench {args.name!r}", "bench", "Leave it out")
    device = pick_device(args.device)
    report = Report(args.name)
    print(f"pliant bench {args.name}: {BENCHES[args.name]}, on {device_name(device)}", flush=True)
    bench = importlib.import_module(f"pliant.bench.{args.name}")
    # the source's tables are wanted on both kinds of device
    both = args.name == "sources" and args.device == "auto" and device != "cpu"
    for each in ("cpu", device) if both else (device,):
        if args.name == "meshes":
            bench.run(report, each, args.quick, args.sources, args.markdown)
        elif args.name == "detection":
            bench.run(report, each, args.quick, args.most)
        elif args.name == "cloth":
            bench.run(report, each, args.quick, args.self)
        else:
            bench.run(report, each, args.quick)
    if args.name == "materials" and args.markdown:
        with replace_file(args.markdown) as file:
            file.write((bench.table(report.rows) + "\n").encode())
    if args.json:
        report.save(args.json)
        print(f"written to {args.json}")
    if args.plot:
        bench.plot(report.rows, args.plot)
        print(f"drawn to {args.plot}")
    return 0
