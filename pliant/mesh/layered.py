"""LayeredMesh: a rigid core under a soft layer, whose surface nodes are the texels of a square texture.

After Galoppo, Otaduy, Mecklenburg, Gross and Lin 2006, "Dynamic Deformation Textures". Nodes are numbered by texels,
each has a foot on the core, and the prisms between triangles of nodes and their feet are cut into tets. Texels of two
charts that are one point of the surface are one node, so that the triangles close over the seams of the atlas.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.errors import InputError
from pliant.mesh import arrays
from pliant.mesh.embed import Embedding
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tets import TetMesh


@dataclasses.dataclass(frozen=True, eq=False)
class LayeredMesh:
    """Nodes on a closed surface, their feet on a core, and the tets between them.

    Args:
        nodes: of the surface (n, 3) float64 [m].
        feet: core-side points, fixed to the core (f, 3) float64 [m].
        foot: the foot of each node (n,) int32.
        triangles: of nodes (t, 3) int32, counter-clockwise from outside, closed.
        tets: (m, 4) int32 of nodes 0..n-1 and feet n..n+f-1, their volumes positive.
        core_vertices: of a closed coarse surface inside (c, 3) float64 [m].
        core_triangles: (k, 3) int32, counter-clockwise from outside.
        texture: side of the square texture [texels].
        texel: row and column of each node's own texel (n, 2) int32; no two nodes have the same.
        node_of_texel: (texture, texture) int32, -1 where no chart is; several texels may have one node.
        stiffness: factor on Young's modulus at each node (n,) float64; 1 if not given.
        plasticity: factor on the yield strain at each node (n,) float64; 1 if not given.
        chart_of: chart of the atlas that each node's texel lies in (n,) int32; 0 if not given.
        name: for messages and files.
        notes: what was done to the mesh on its way here, for the user.
        skin: a finer surface that is seen instead of the nodes' triangles.
        embedding: the skin's vertices over triangles of nodes, with heights.
    """

    nodes: np.ndarray
    feet: np.ndarray
    foot: np.ndarray
    triangles: np.ndarray
    tets: np.ndarray
    core_vertices: np.ndarray
    core_triangles: np.ndarray
    texture: int
    texel: np.ndarray
    node_of_texel: np.ndarray
    stiffness: Any = 1.0
    plasticity: Any = 1.0
    chart_of: Any = 0
    name: str = ""
    notes: tuple[str, ...] = ()
    skin: SurfaceMesh | None = None
    embedding: Embedding | None = None

    def __post_init__(self) -> None:
        put = lambda key, value: object.__setattr__(self, key, value)
        for key in ("nodes", "feet", "core_vertices"):
            put(key, arrays.as_points(getattr(self, key), f"LayeredMesh.{key}"))
        for key, corners in (("triangles", 3), ("tets", 4), ("core_triangles", 3), ("texel", 2)):
            put(key, arrays.as_indices(getattr(self, key), corners, f"LayeredMesh.{key}"))
        put("texture", arrays.whole(self.texture, "LayeredMesh.texture"))
        put("foot", np.ascontiguousarray(self.foot, np.int32))
        put("node_of_texel", np.ascontiguousarray(self.node_of_texel, np.int32))
        for key, kind in (("stiffness", np.float64), ("plasticity", np.float64), ("chart_of", np.int32)):
            put(key, _per_node(getattr(self, key), len(self.nodes), kind, f"LayeredMesh.{key}"))

    @property
    def vertices(self) -> np.ndarray:
        """What moves against the core: the nodes (n, 3) [m]."""
        return self.nodes

    def check(self, where: str = "") -> list[str]:
        """Raise `InputError` for what cannot be simulated; return notes on what is only suspicious.

        Args:
            where: file or scene key to name in messages; the mesh's own name when empty.
        """
        where = where or self.name or "layered mesh"
        count, feet = len(self.nodes), len(self.feet)
        for points in (self.nodes, self.feet, self.core_vertices):
            arrays.check_finite(points, where)
        self._check_numbers(where)
        arrays.check_indices(self.triangles, count, "triangle", where)
        arrays.check_indices(self.tets, count + feet, "tet", where)
        arrays.check_indices(self.core_triangles, len(self.core_vertices), "core triangle", where)
        arrays.check_used(self.triangles, count, "triangle", where)
        if not self.surface_mesh().is_closed():
            raise InputError("the triangles of its nodes are not closed", where, "Prepare the surface again")
        if not self.core_mesh().is_closed():
            raise InputError("its core is not closed", where, "Give a closed core")
        volumes = self.volumes()
        if not len(volumes) or not (volumes > 0.0).all():
            row = int(np.argmin(volumes)) if len(volumes) else -1
            raise InputError(
                f"tet {row} has the volume {volumes[row]:.3g} m^3 ({int((volumes <= 0.0).sum())} such)"
                if len(volumes)
                else "has no tets",
                where,
                "Prepare the surface again, with a thinner layer",
            )
        arrays.check_used(
            np.minimum(self.tets, count), count + 1, "tet", where, "Prepare the surface again: each node needs a tet"
        )
        if self.embedding is not None:
            self.embedding.check(count, f"{where}: skin")
        return []

    def _check_numbers(self, where: str) -> None:
        """Raise when tables of nodes, feet and texels do not fit together."""
        count, side = len(self.nodes), self.texture
        fits = (
            self.foot.shape == (count,)
            and self.texel.shape == (count, 2)
            and self.node_of_texel.shape == (side, side)
            and count > 0
            and len(self.feet) > 0
        )
        if not fits:
            raise InputError(
                f"{count} nodes, {self.foot.shape} feet numbers, {self.texel.shape} texels and a texture "
                f"{self.node_of_texel.shape} do not fit together",
                where,
                "Give one foot and one texel for each node, and a square texture",
            )
        wrong = (
            self.foot.min() < 0
            or self.foot.max() >= len(self.feet)
            or self.texel.min() < 0
            or self.texel.max() >= side
            or self.node_of_texel.min() < -1
            or self.node_of_texel.max() >= count
        )
        if wrong or not np.array_equal(self.node_of_texel[self.texel[:, 0], self.texel[:, 1]], np.arange(count)):
            raise InputError("a node, foot or texel is numbered wrongly", where, "Each node's texel must name the node")
        for key in ("stiffness", "plasticity"):
            values = getattr(self, key)
            if not (np.isfinite(values).all() and (values > 0.0).all()):
                raise InputError(f"{key} is not positive everywhere", where, "Give factors above zero")

    # Parts

    def points(self) -> np.ndarray:
        """Nodes, then feet: what tets are numbered by (n + f, 3) [m]."""
        return np.concatenate([self.nodes, self.feet])

    def volumes(self) -> np.ndarray:
        """Volume of each tet (m,) [m^3]."""
        return self.tet_mesh().volumes()

    def tet_mesh(self) -> TetMesh:
        """The layer as tets over nodes and feet."""
        return TetMesh(self.points(), self.tets, self.name)

    def surface_mesh(self) -> SurfaceMesh:
        """The outside: triangles over nodes."""
        return SurfaceMesh(self.nodes, self.triangles, self.name)

    def core_mesh(self) -> SurfaceMesh:
        """The core's surface."""
        return SurfaceMesh(self.core_vertices, self.core_triangles, f"{self.name} core")

    def inner_mesh(self) -> SurfaceMesh:
        """The inside of the layer: triangles over feet, closed; what it encloses is what the layer leaves of the body.

        Some have no area where nodes share a foot.
        """
        return SurfaceMesh(self.feet, self.foot[self.triangles], f"{self.name} inside")

    def surface(self) -> np.ndarray:
        """Triangles of the outside (t, 3) int32, counter-clockwise from outside."""
        return self.triangles

    def edges(self) -> np.ndarray:
        """Every edge between nodes once: (e, 2) int32, smaller number first, sorted."""
        return self.surface_mesh().edges()

    def thickness(self) -> np.ndarray:
        """Distance of each node from its foot (n,) [m]."""
        return np.linalg.norm(self.nodes - self.feet[self.foot], axis=1)

    # Copies

    def with_material(self, stiffness: Any = None, plasticity: Any = None) -> LayeredMesh:
        """A copy with other factors of stiffness and plasticity; see `pliant.mesh.layer_material.factors`."""
        from pliant.mesh.layer_material import factors

        return dataclasses.replace(
            self,
            stiffness=self.stiffness if stiffness is None else factors(stiffness, self, "stiffness"),
            plasticity=self.plasticity if plasticity is None else factors(plasticity, self, "plasticity"),
        )

    def translated(self, by: Any) -> LayeredMesh:
        """A copy moved by (x, y, z) [m]."""
        by = arrays.offset(by, "translated(by)")
        return self._placed(lambda points: points + by, None if self.skin is None else self.skin.translated(by))

    def rotated(self, axis: Any, angle: float) -> LayeredMesh:
        """A copy turned about an axis through the origin by ``angle`` [rad], right-handed."""
        turn = arrays.rotation(axis, angle, "rotated(axis)").T
        return self._placed(lambda points: points @ turn, None if self.skin is None else self.skin.rotated(axis, angle))

    def scaled(self, factor: Any) -> LayeredMesh:
        """A copy scaled about the origin by one positive factor; three would not keep the skin's heights."""
        factors = arrays.scale_factors(factor, "scaled(factor)")
        if not (factors == factors[0]).all():
            raise InputError(f"{factor!r} is not one number", "scaled(factor)", "Scale the surface and prepare it")
        embedding = self.embedding
        if embedding is not None:
            height = None if embedding.height is None else embedding.height * factors[0]
            embedding = dataclasses.replace(embedding, outside=embedding.outside * factors[0], height=height)
        skin = None if self.skin is None else self.skin.scaled(factor)
        return dataclasses.replace(self._placed(lambda points: points * factors, skin), embedding=embedding)

    def _placed(self, move: Any, skin: SurfaceMesh | None) -> LayeredMesh:
        return dataclasses.replace(
            self, nodes=move(self.nodes), feet=move(self.feet), core_vertices=move(self.core_vertices), skin=skin
        )


def _per_node(values: Any, count: int, kind: type, where: str) -> np.ndarray:
    """One value per node, from one for all or one for each."""
    try:
        return np.array(np.broadcast_to(np.asarray(values, kind), (count,)))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"has the shape {np.shape(values)}", where, f"Give one number, or one for each of the {count} nodes"
        ) from error
