"""What is simulated: the bodies, their particles and their elements, in the order the machine likes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from pliant.materials import Material, RawConstants
from pliant.mesh.cluster import Clusters
from pliant.mesh.embed import Embedding
from pliant.mesh.look import Look
from pliant.mesh.points import ball_offsets, ball_triangles, ball_vertices
from pliant.mesh.surface import SurfaceMesh
from pliant.mesh.tubes import Tubes
from pliant.mesh.wrinkles import WrinkleMap
from pliant.model.particles import Particles
from pliant.model.springs import Springs
from pliant.model.tets import Tets
from pliant.model.triangles import Triangles


@dataclasses.dataclass
class Elements:
    """What one body contributes, in its own particle numbers.

    `own` is what its method alone knows of it, `spare` the number of particles to set aside behind its own for what
    comes apart.
    """

    springs: Springs
    triangles: Triangles
    tets: Tets
    mass: np.ndarray
    notes: list[str] = dataclasses.field(default_factory=list)
    clusters: Clusters | None = None
    own: Any = None
    spare: int = 0


@dataclasses.dataclass(eq=False)
class RestShape:
    """The shape of a body before it was turned and moved to its place; bodies made of one mesh share it.

    Attributes:
        mesh: with its vertices in the order of the body's particles.
        mass: [kg] (n,).
        clusters: groups of particles, numbered within the body; None where the method has none in a table.
    """

    mesh: Any
    mass: np.ndarray
    clusters: Clusters | None


@dataclasses.dataclass
class Body:
    """One body of a model; ranges are (start, stop) into the model's arrays.

    Attributes:
        rank: place of each of the user's vertices inside the body's run of particles (n,) int64.
        blocks: first particle of each spatial block of the body, and the end, in the model's numbers.
        surface: triangles of its own outside, in the model's particle numbers (k, 3) int32.
        skin: the surface that is seen instead of its own; None if there is none.
        embedding: the skin's vertices, in the model's particle numbers.
        look: paints, names and texture coordinates of what is seen.
        painted: whether what is seen is drawn in the look's paints rather than in `color`.
        segments: of rods, in numbers within the body's run of particles (m, 2) int32; None for other bodies.
        tubes: the rings that the skin of rods is made of, around particles numbered within the body's run.
        wrinkles: the waves on its skin, in the model's particle numbers; its embedding then is that without them.
        clusters: groups of its particles, numbered within the body's run of particles; None for methods without them.
            A skin that has neither embedding nor tubes follows them.
        rest_shape: what it has in common with other bodies made of the same mesh, for methods that share it.
        turn: rotation of its rest shape at build (3, 3).
        own: what its method alone knows of it, in the body's own particle numbers.
        ball_radius: of the balls that its particles are drawn as where it has neither skin nor triangles [m].
    """

    name: str
    method: str
    material: Material
    raw: RawConstants | None
    color: tuple[float, float, float]
    particles: tuple[int, int]
    springs: tuple[int, int]
    triangles: tuple[int, int]
    tets: tuple[int, int]
    rank: np.ndarray
    blocks: np.ndarray
    surface: np.ndarray
    skin: SurfaceMesh | None = None
    embedding: Embedding | None = None
    segments: np.ndarray | None = None
    tubes: Tubes | None = None
    wrinkles: WrinkleMap | None = None
    look: Look | None = None
    painted: bool = False
    clusters: Clusters | None = None
    ball_radius: float | None = None
    rest_shape: RestShape | None = None
    turn: np.ndarray = dataclasses.field(default_factory=lambda: np.eye(3))
    own: Any = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def spares(self) -> int:
        """Particles behind its own that are set aside for what comes apart."""
        return self.particles[1] - self.particles[0] - len(self.rank)

    @property
    def splits(self) -> bool:
        """Whether its vertices split where it tears; its skin then is its triangles, with corners of their own."""
        return self.spares > 0

    @property
    def own_particles(self) -> tuple[int, int]:
        """Its particles without those that are set aside."""
        return self.particles[0], self.particles[1] - self.spares

    @property
    def particle_of(self) -> np.ndarray:
        """The model's particle number of each of the user's vertices (n,)."""
        return self.particles[0] + self.rank

    @property
    def seen_vertices(self) -> int:
        """Number of vertices of what is seen: the skin's, its own, or those of balls around them."""
        if self.skin is not None:
            return len(self.skin.vertices)
        return len(self.rank) * (1 if self.ball_radius is None else len(self.ball()))

    @property
    def follows_clusters(self) -> bool:
        """Whether its skin follows clusters: then the particles alone do not tell where the skin is."""
        return self.skin is not None and self.embedding is None and self.tubes is None and not self.splits

    @property
    def is_skin_recorded(self) -> bool:
        """Whether recordings hold its skin's vertices beside the particles: those that no embedding gives."""
        return self.skin is not None and (
            self.embedding is None or self.wrinkles is not None or bool(self.options.get("tears"))
        )

    def seen_of(self, x: np.ndarray) -> np.ndarray:
        """Vertices of what is seen without a skin [m] (n, 3) float32, from its own in the user's order (n, 3)."""
        return x if self.ball_radius is None else ball_vertices(x, self.ball())

    def ball(self) -> np.ndarray:
        """Corners of the ball that each particle is drawn as, about it [m] (k, 3) float32; of bodies drawn as such."""
        assert self.ball_radius is not None
        return ball_offsets(self.ball_radius, len(self.rank))

    def seen_triangles(self) -> np.ndarray:
        """Triangles of what is seen (k, 3) int32, over the skin's vertices or the user's own."""
        if self.skin is not None:
            return self.skin.triangles
        if self.ball_radius is not None:
            return ball_triangles(len(self.rank))
        vertex_of = np.argsort(self.rank)
        return vertex_of[self.surface - self.particles[0]].astype(np.int32)

    def seen_colors(self) -> np.ndarray:
        """Red, green and blue of each triangle of what is seen (k, 3) float32."""
        triangles = self.seen_triangles()
        if self.painted and self.look is not None:
            return self.look.triangle_colors(triangles, self.color)
        return np.tile(np.array(self.color, np.float32), (len(triangles), 1))


@dataclasses.dataclass
class Model:
    """Everything that does not change while a simulation runs; host arrays, float64."""

    bodies: list[Body]
    particles: Particles
    springs: Springs
    triangles: Triangles
    tets: Tets
    notes: list[str] = dataclasses.field(default_factory=list)

    def check(self) -> None:
        self.particles.check()
        self.springs.check()
        self.triangles.check()
        self.tets.check()

    def part(self, method: str) -> Model:
        """The bodies of one method with their elements; particle numbers stay the same.

        Bodies of one method stand together, so their elements do too.
        """
        bodies = [b for b in self.bodies if b.method == method]
        spring, triangle, tet = (
            slice(getattr(bodies[0], kind)[0], getattr(bodies[-1], kind)[1])
            for kind in ("springs", "triangles", "tets")
        )
        s, r, t = self.springs, self.triangles, self.tets
        return Model(
            bodies,
            self.particles,
            Springs(s.pairs[spring], s.rest_length[spring], s.stiffness[spring], s.kind[spring]),
            Triangles(r.corners[triangle], r.rest_area[triangle]),
            Tets(t.corners[tet], t.rest_volume[tet]),
        )

    @property
    def body_numbers(self) -> tuple[int, int]:
        """Number of its first body among all bodies, and the end: those of a part stand in a row."""
        first = int(self.particles.body[self.bodies[0].particles[0]])
        return first, first + len(self.bodies)

    def body_of_spring(self, i: int) -> Body:
        return next(b for b in self.bodies if b.springs[0] <= i < b.springs[1])

    def body_of_particle(self, i: int) -> Body:
        return self.bodies[int(self.particles.body[i])]

    def surface(self) -> np.ndarray:
        """Triangles to draw of all bodies (k, 3) int32."""
        return np.concatenate([b.surface for b in self.bodies]).astype(np.int32).reshape(-1, 3)
