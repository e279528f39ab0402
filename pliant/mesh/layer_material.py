"""Stiffness and plasticity from node to node: a number, a function of place, or a picture over the texture."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pliant.mesh.layered import LayeredMesh

LARGEST = 1e6
"""Largest factor, and one over the smallest."""


def factors(values: Any, mesh: LayeredMesh, where: str) -> np.ndarray:
    """Factor at each node (n,).

    Args:
        values: a number; one for each node (n,); a function from positions (n, 3) [m] to (n,); a picture as an array
            (h, w) of factors, its rows from above, which is stretched over the texture; or a picture file, whose
            brightness from black to white goes from 0.001 to 1, in equal ratios.
        mesh: whose nodes.
        where: what to name in messages.
    """
    count = len(mesh.nodes)
    if isinstance(values, (str, os.PathLike)):
        found = _picture(values, mesh, where)
    elif callable(values):
        found = _called(values, mesh, where)
    else:
        try:
            given = np.asarray(values, np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{values!r} is not a factor", where, "Give a number, a function or a picture") from None
        found = _sampled(given, mesh) if given.ndim == 2 and given.size else given
    if found.shape not in ((), (count,)):
        raise InputError(f"has the shape {found.shape}", where, f"Give one number, or one for each of {count:,} nodes")
    found = np.array(np.broadcast_to(found, (count,)))
    wrong = ~((found >= 1.0 / LARGEST) & (found <= LARGEST))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(
            f"node {row} has the factor {found[row]:g}", where, f"Give factors from {1 / LARGEST:g} to {LARGEST:g}"
        )
    return found


def _called(function: Callable[[np.ndarray], Any], mesh: LayeredMesh, where: str) -> np.ndarray:
    try:
        return np.asarray(function(mesh.nodes.copy()), np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the function gives no numbers ({error})", where, "It takes positions (n, 3) and gives factors (n,)"
        ) from error


def _sampled(picture: np.ndarray, mesh: LayeredMesh) -> np.ndarray:
    """The pixel at each node's texel (n,)."""
    places = (mesh.texel + 0.5) / mesh.texture * picture.shape
    rows, columns = np.minimum(places.astype(np.int64), np.array(picture.shape) - 1).T
    return picture[rows, columns]


def _picture(path: str | os.PathLike, mesh: LayeredMesh, where: str) -> np.ndarray:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise MissingExtraError("pillow", "film", "A picture of factors") from error
    try:
        with Image.open(path) as image:
            bright = np.asarray(image.convert("L"), np.float64) / 255.0
    except (OSError, UnidentifiedImageError) as error:
        raise InputError(f"{os.fspath(path)} cannot be read ({error})", where, "Give a picture file") from error
    return _sampled(10.0 ** (3.0 * (bright - 1.0)), mesh)
