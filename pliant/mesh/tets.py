"""TetMesh: a solid cut into tetrahedra, its measures and its validity checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.surface import SurfaceMesh

EDGE_CORNERS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
FACE_CORNERS = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))
"""Face k lies opposite corner k and is counter-clockwise from outside when the tet's volume is positive."""
FLAT_TET = 1e-9
"""Six times the volume over the cube of the longest edge, below which a tet counts as flat."""
THIN_TET = 1e-3
"""The same ratio, below which a tet is worth a note."""
CHUNK = 1 << 19
"""Tets measured at once: bounds the scratch memory for meshes of ten million tets."""
MAX_PACKED_VERTICES = 1 << 21
"""Three vertex numbers below this and one bit fit into 64 bits."""


@dataclasses.dataclass(frozen=True, eq=False)
class TetMesh:
    """Tetrahedra over shared vertices.

    Args:
        vertices: (n, 3) float64 [m].
        tets: (m, 4) int32; the volume is positive when corners 1, 2, 3 turn counter-clockwise away from corner 0,
            that is when (x1 - x0) x (x2 - x0) . (x3 - x0) > 0.
        name: for messages and files.
        notes: what was done to the mesh on its way here, for the user.
    """

    vertices: np.ndarray
    tets: np.ndarray
    name: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "vertices", arrays.as_points(self.vertices, "TetMesh.vertices"))
        object.__setattr__(self, "tets", arrays.as_indices(self.tets, 4, "TetMesh.tets"))

    # Validity

    def check(self, where: str = "") -> list[str]:
        """Raise `InputError` for what cannot be simulated; return notes on what is only suspicious.

        Args:
            where: file or scene key to name in messages; the mesh's own name when empty.
        """
        where = where or self.name or "tet mesh"
        if not len(self.tets):
            raise InputError("has no tets", where, "Give at least one tet")
        arrays.check_finite(self.vertices, where)
        arrays.check_indices(self.tets, len(self.vertices), "tet", where)
        volumes, flatness = self._check_volumes(where)
        arrays.check_used(self.tets, len(self.vertices), "tet", where)
        self._check_twice(where)
        overlaps = self._check_faces(where)

        notes = []
        pairs = arrays.coincident_pairs(self.vertices)
        if len(pairs):
            notes.append(
                f"{len(pairs)} pairs of vertices lie at the same place, the first {pairs[0].tolist()}: "
                "the body is cut there; merge them if it should hold together"
            )
        if overlaps:
            notes.append(
                f"{overlaps} pairs of neighbouring tets lie on the same side of their common face: they overlap"
            )
        thin = int((flatness < THIN_TET).sum())
        if thin:
            notes.append(f"{thin} of {len(self.tets)} tets are nearly flat and will force a small time step")
        ratio = float(volumes.max() / volumes.min())
        if ratio > 1e6:
            notes.append(
                f"the largest tet has {ratio:.2g} times the volume of the smallest; masses will differ as much"
            )
        return notes

    def _check_volumes(self, where: str) -> tuple[np.ndarray, np.ndarray]:
        """Volumes (m,) [m^3] and 6 V / longest edge^3 (m,); raise for flat tets and for inverted ones."""
        volumes = self.volumes()
        longest = np.empty(len(self.tets))
        for part, corners in self._chunks():
            squares = [((corners[i] - corners[j]) ** 2).sum(axis=1) for i, j in EDGE_CORNERS]
            longest[part] = np.sqrt(np.max(squares, axis=0))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            flatness = np.nan_to_num(6.0 * np.abs(volumes) / longest**3, nan=0.0, posinf=0.0)
        flat = flatness <= FLAT_TET
        if flat.any():
            row = int(np.argmax(flat))
            raise InputError(
                f"tet {row} {self.tets[row].tolist()} has volume {volumes[row]:.3g} m^3 with a longest edge of "
                f"{longest[row]:.3g} m ({flat.sum()} such in all)",
                where,
                "Remove flat tets, or mesh the solid again with a bound on quality (TetGen: -q1.4)",
            )
        inverted = volumes < 0.0
        if inverted.any():
            row = int(np.argmax(inverted))
            raise InputError(
                f"tet {row} {self.tets[row].tolist()} is inside out, volume {volumes[row]:.3g} m^3 "
                f"({inverted.sum()} of {len(volumes)} such)",
                where,
                "Call oriented() on the mesh to turn them",
            )
        return volumes, flatness

    def _check_twice(self, where: str) -> None:
        """Raise when a tet is given twice."""
        corners = np.sort(self.tets, axis=1)
        order = np.lexsort(corners.T[::-1])
        again = (corners[order[1:]] == corners[order[:-1]]).all(axis=1)
        if again.any():
            k = int(np.argmax(again))
            first, second = sorted((int(order[k]), int(order[k + 1])))
            raise InputError(
                f"tet {second} {self.tets[second].tolist()} has the corners of tet {first}", where, "Remove one of them"
            )

    def _check_faces(self, where: str) -> int:
        """Raise when three tets share a face; return how many pairs share one from the same side."""
        repeats, decode, parity = self._sorted_faces()
        crowded = repeats[1:] & repeats[:-1]
        if crowded.any():
            first = int(np.argmax(crowded))
            face = sorted(decode(np.array([first]))[0].tolist())
            raise InputError(
                f"more than two tets share the face {face}",
                where,
                "Remove the tets given twice, or that overlap",
            )
        shared = np.flatnonzero(repeats)
        return int((parity(shared) == parity(shared + 1)).sum())

    def oriented(self) -> tuple[TetMesh, int]:
        """A copy whose tets all have positive volume, and how many were turned (corners 2 and 3 swapped)."""
        inverted = self.volumes() < 0.0
        count = int(inverted.sum())
        tets = self.tets.copy()
        tets[inverted, 2], tets[inverted, 3] = self.tets[inverted, 3], self.tets[inverted, 2]
        notes = (*self.notes, f"{count} of {len(tets)} tets were inside out and were turned") if count else self.notes
        return TetMesh(self.vertices.copy(), tets, self.name, notes), count

    def drop_unused(self) -> TetMesh:
        """A copy without the vertices that belong to no tet; the others keep their order."""
        arrays.check_indices(self.tets, len(self.vertices), "tet", self.name or "tet mesh")
        vertices, tets = arrays.without_unused(self.vertices, self.tets)
        dropped = len(self.vertices) - len(vertices)
        notes = (*self.notes, f"{dropped} vertices that belong to no tet were left out") if dropped else self.notes
        return TetMesh(vertices, tets, self.name, notes)

    # Measures

    def _chunks(self) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Ranges of tets with the positions of their four corners, each (c, 3) [m]."""
        for start in range(0, len(self.tets), CHUNK):
            part = slice(start, start + CHUNK)
            yield part, [self.vertices[self.tets[part, i]] for i in range(4)]

    def volumes(self) -> np.ndarray:
        """Signed volume of each tet: (m,) [m^3]."""
        volumes = np.empty(len(self.tets))
        for part, (a, b, c, d) in self._chunks():
            volumes[part] = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0
        return volumes

    def vertex_volumes(self) -> np.ndarray:
        """A quarter of the volume of the tets around each vertex: (n,) [m^3]."""
        quarter = 0.25 * np.abs(self.volumes())
        shares = np.zeros(len(self.vertices))
        for i in range(4):
            shares += np.bincount(self.tets[:, i], weights=quarter, minlength=len(shares))
        return shares

    def edges(self) -> np.ndarray:
        """Every edge once: (e, 2) int32, smaller number first, sorted."""
        return arrays.unique_edges(self.tets, EDGE_CORNERS)

    def surface(self) -> np.ndarray:
        """Boundary triangles: (k, 3) int32 into ``vertices``, counter-clockwise from outside, smallest corner first."""
        repeats, decode, _ = self._sorted_faces()
        if not len(self.tets):
            return np.zeros((0, 3), dtype=np.int32)
        alone = np.ones(len(repeats) + 1, dtype=bool)
        alone[1:] &= ~repeats
        alone[:-1] &= ~repeats
        return decode(np.flatnonzero(alone))

    def surface_mesh(self) -> SurfaceMesh:
        """The boundary as a mesh of its own, vertices inside left out."""
        vertices, triangles = arrays.without_unused(self.vertices, self.surface())
        return SurfaceMesh(vertices, triangles, self.name)

    def _sorted_faces(
        self,
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]:
        """All 4m faces, sorted so that the two sides of an interior face are neighbours.

        Returns:
            repeats: (4m - 1,) bool, face i and face i + 1 have the same corners.
            decode: places in the sorted order -> outward triangles (k, 3) int32.
            parity: places in the sorted order -> (k,) bool, which way round the face is.
        """
        count = len(self.tets)
        inverted = self.volumes() < 0.0
        packed = len(self.vertices) <= MAX_PACKED_VERTICES
        keys = np.empty(4 * count, dtype=np.uint64) if packed else np.empty((4, 4 * count), dtype=np.int32)
        for k, face in enumerate(FACE_CORNERS):
            a, b, c = (self.tets[:, i].astype(np.int64) for i in face)
            low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
            middle = a + b + c - low - high
            odd = ((a < b).astype(np.int8) + (b < c) + (c < a) == 1) ^ inverted
            part = slice(k * count, (k + 1) * count)
            if packed:
                keys[part] = (low << 43 | middle << 22 | high << 1 | odd).view(np.uint64)
            else:
                keys[0, part], keys[1, part], keys[2, part], keys[3, part] = odd, high, middle, low

        if packed:
            keys.sort(kind="stable")
            columns = [keys >> np.uint64(1)]

            def corners(at: np.ndarray) -> list[np.ndarray]:
                mask = np.uint64(MAX_PACKED_VERTICES - 1)
                return [(keys[at] >> np.uint64(shift)) & mask for shift in (43, 22, 1)]

            def parity(at: np.ndarray) -> np.ndarray:
                return (keys[at] & np.uint64(1)).astype(bool)
        else:
            keys = keys[:, np.lexsort(keys)]
            columns = [keys[3], keys[2], keys[1]]

            def corners(at: np.ndarray) -> list[np.ndarray]:
                return [keys[row, at] for row in (3, 2, 1)]

            def parity(at: np.ndarray) -> np.ndarray:
                return keys[0, at].astype(bool)

        def decode(at: np.ndarray) -> np.ndarray:
            low, middle, high = corners(at)
            odd = parity(at)
            triangles = np.stack([low, np.where(odd, high, middle), np.where(odd, middle, high)], axis=1)
            return triangles.astype(np.int32)

        repeats = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
        return repeats, decode, parity

    def components(self) -> tuple[int, np.ndarray]:
        """Number of connected parts and the part of each vertex (n,) int32."""
        return arrays.connected_parts(self.edges(), len(self.vertices))

    def dihedral_range(self) -> tuple[float, float]:
        """Smallest and largest angle between two faces of one tet [degrees]."""
        smallest, largest = np.inf, -np.inf
        for _, corners in self._chunks():
            normals = [np.cross(corners[j] - corners[i], corners[k] - corners[i]) for i, j, k in FACE_CORNERS]
            six_volumes = np.abs(np.einsum("ij,ij->i", normals[3], corners[3] - corners[0]))
            for i, j in EDGE_CORNERS:
                # Faces i and j meet in the edge of the other two corners; |Ni x Nj| = 6 V times its length.
                start, end = (corners[k] for k in range(4) if k not in (i, j))
                sine = six_volumes * np.linalg.norm(end - start, axis=1)
                angle = np.degrees(np.arctan2(sine, -np.einsum("ij,ij->i", normals[i], normals[j])))
                smallest, largest = min(smallest, float(angle.min())), max(largest, float(angle.max()))
        return smallest, largest

    def quality(self) -> dict[str, float]:
        """Counts and extremes that tell whether the mesh will simulate well; volumes [m^3], lengths [m]."""
        if not len(self.tets):
            raise InputError("has no tets", self.name or "tet mesh", "Give at least one tet")
        volumes = self.volumes()
        lengths = arrays.edge_lengths(self.vertices, self.edges())
        smallest, largest = self.dihedral_range()
        thinnest = float(np.abs(volumes).min())
        return {
            "vertices": len(self.vertices),
            "tets": len(self.tets),
            "edges": len(lengths),
            "inverted": int((volumes < 0.0).sum()),
            "volume": float(volumes.sum()),
            "volume_min": float(volumes.min()),
            "volume_max": float(volumes.max()),
            "volume_ratio": float(np.abs(volumes).max()) / thinnest if thinnest else np.inf,
            "edge_min": float(lengths.min()),
            "edge_mean": float(lengths.mean()),
            "edge_max": float(lengths.max()),
            "edge_ratio": float(lengths.max() / lengths.min()) if lengths.min() else np.inf,
            "dihedral_min_degrees": smallest,
            "dihedral_max_degrees": largest,
        }

    def histograms(
        self, bins: int = 50, mass: float = 1.0, truncate: float | None = None
    ) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Frequencies of inverse mass, volume and edge length, as in Lesmes figure 5.2.

        Args:
            bins: how many bins.
            mass: of the whole body, spread by volume (a quarter of each tet to each corner) [kg].
            truncate: largest inverse mass allowed; adds the histogram after truncation [1/kg].

        Returns:
            name -> (counts (bins,), bounds (bins + 1,)); names "inverse_mass" [1/kg], "volume" [m^3],
            "edge_length" [m] and, when asked for, "inverse_mass_truncated" [1/kg].
        """
        bins = arrays.whole(bins, "histograms(bins)")
        for value, name in ((mass, "mass"), (truncate, "truncate")):
            if value is not None and not (np.isfinite(value) and value > 0.0):
                raise InputError(
                    f"{value!r} is not positive and finite", f"histograms({name})", "Give a number above 0"
                )
        shares = self.vertex_volumes()
        inverse_mass = shares.sum() / (mass * shares[shares > 0.0])
        values = {
            "inverse_mass": inverse_mass,
            "volume": self.volumes(),
            "edge_length": arrays.edge_lengths(self.vertices, self.edges()),
        }
        if truncate is not None:
            values["inverse_mass_truncated"] = np.minimum(inverse_mass, truncate)
        return {name: np.histogram(data, bins) for name, data in values.items()}

    # Placement

    def translated(self, by: Any) -> TetMesh:
        """A copy moved by (x, y, z) [m]."""
        return dataclasses.replace(self, vertices=self.vertices + arrays.offset(by, "translated(by)"))

    def rotated(self, axis: Any, angle: float) -> TetMesh:
        """A copy turned about an axis through the origin by ``angle`` [rad], right-handed."""
        return dataclasses.replace(self, vertices=self.vertices @ arrays.rotation(axis, angle, "rotated(axis)").T)

    def scaled(self, factor: Any) -> TetMesh:
        """A copy scaled about the origin by one positive factor, or by three (x, y, z)."""
        return dataclasses.replace(self, vertices=self.vertices * arrays.scale_factors(factor, "scaled(factor)"))
