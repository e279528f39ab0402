"""``pliant info``: versions, devices, threads, kernel cache."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

# Optional packages, by the name they are imported with, and the extra that brings them.
EXTRAS = {
    "PIL": "film",
    "imageio_ffmpeg": "film",
    "assimp_py": "mesh",
    "meshio": "mesh",
    "pygltflib": "mesh",
    "pxr": "mesh",
    "matplotlib": "report",
    "pytetwild": "tetwild",
}


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "info", help="print versions, devices, threads and the kernel cache", description="What Pliant runs on here."
    )
    parser.set_defaults(action=action)


def action(args: argparse.Namespace) -> int:
    import platform

    import warp as wp

    from pliant.launch import cpu_name, pick_device, thread_count
    from pliant.run.summary import versions

    default = pick_device("auto")
    for name, version in versions().items():
        print(f"{name:<16}{version}")
    print(f"{'system':<16}{platform.platform()}")
    print(f"{'cpu':<16}{cpu_name()}, {thread_count()} threads")
    for device in wp.get_cuda_devices():
        print(f"{device!s:<16}{device.name}, {device.total_memory / 2**30:.0f} GiB, sm_{device.arch}")
    if not wp.get_cuda_devices():
        print(f"{'cuda':<16}none")
    print(f"{'auto device':<16}{default}")
    cache = Path(wp.config.kernel_cache_dir)
    files = [path for path in cache.rglob("*") if path.is_file()] if cache.is_dir() else []
    size = sum(path.stat().st_size for path in files)
    print(f"{'kernel cache':<16}{cache}, {len(files)} files, {size / 2**20:.1f} MiB")
    for package, extra in EXTRAS.items():
        print(f"{package:<16}{_installed(package, extra)}")
    return 0


def _installed(package: str, extra: str) -> str:
    from importlib import util

    return "installed" if util.find_spec(package) else f"not installed (pip install 'pliant[{extra}]')"
