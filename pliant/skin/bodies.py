"""The skins of all bodies of a model that have one, moved together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import warp as wp

from pliant.model.model import Body
from pliant.skin.skin import Skin


class BodySkins:
    """Moves the skins of a model's bodies.

    Attributes:
        active: whether any body has a skin.
        skin: the skins in a row; None if there is none.
    """

    def __init__(self, bodies: Sequence[Body], device: str):
        chosen = [body for body in bodies if body.skin is not None and body.embedding is not None]
        self.active = bool(chosen)
        self.skin: Skin | None = None
        self._numbers = {body.name: k for k, body in enumerate(chosen)}
        if chosen:
            embeddings = [body.embedding for body in chosen if body.embedding is not None]
            triangles = [body.skin.triangles for body in chosen if body.skin is not None]
            self.skin = Skin(embeddings, triangles, device)

    def update(self, x: wp.array) -> None:
        """Move all skins to the particles' positions (N,) vec3 [m]; nothing is read back."""
        assert self.skin is not None
        self.skin.update(x)

    def _rows(self, name: str) -> tuple[Skin, slice]:
        assert self.skin is not None
        k = self._numbers[name]
        return self.skin, slice(int(self.skin.vertex_starts[k]), int(self.skin.vertex_starts[k + 1]))

    def positions(self, name: str) -> np.ndarray:
        """Vertices of a body's skin [m] (n, 3) float32."""
        skin, rows = self._rows(name)
        return skin.x.numpy()[rows]

    def normals(self, name: str) -> np.ndarray:
        """Unit normals of a body's skin (n, 3) float32, weighted by area."""
        skin, rows = self._rows(name)
        return skin.normals.numpy()[rows]
