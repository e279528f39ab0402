"""Every method that is installed, in every integrator it offers: a new solver folder is tested without being listed."""

import dataclasses

import pytest
from bodies import taken

from pliant.solvers import solver_classes

# What bodies of a method may differ in, besides the method's own settings.
BODIES = {
    "shape_matching": [
        {"matching": {"mode": "rigid"}},
        {"matching": {"mode": "linear"}},
        {"matching": {"mode": "quadratic"}},
        {"matching": {"mode": "quadratic", "clusters": 3}},
        {"matching": {"mode": "linear", "clusters": 6, "clusters_by": "grids"}},
    ]
}
# Settings that let an integrator do less in every step.
FEWER = {"descent": (("sweeps", 8),)}


@dataclasses.dataclass(frozen=True)
class Variant:
    """A method and the settings it runs with; `body` names what its bodies are given."""

    method: str
    settings: tuple = ()
    body: tuple = ()

    @property
    def integrator(self) -> str:
        return dict(self.settings).get("integrator", "")

    @property
    def is_slow(self) -> bool:
        """Whether a step takes so long that tests make fewer of them."""
        return self.integrator in ("implicit", "descent")

    @property
    def keywords(self) -> dict:
        """For `make_scene`."""
        return {"method": self.method, "body_options": {k: dict(v) for k, v in self.body}, **dict(self.settings)}

    def taken(self, mesh):
        """A body for this method, much like the given tet mesh."""
        return taken(self.method, mesh)

    def __str__(self) -> str:
        words = [value for _, value in self.settings] + [word for _, table in self.body for _, word in table]
        return "-".join([self.method, *map(str, words)])


def variants() -> list[Variant]:
    found = []
    for name, cls in solver_classes().items():
        choices = next((f.metadata["choices"] for f in dataclasses.fields(cls.Settings) if f.name == "integrator"), ())
        bodies = [tuple((k, tuple(v.items())) for k, v in body.items()) for body in BODIES.get(name, [{}])]
        settings = [(("integrator", choice), *FEWER.get(choice, ())) for choice in choices] or [()]
        found += [Variant(name, chosen, body) for chosen in settings for body in bodies]
    return found


def pytest_generate_tests(metafunc):
    if "variant" in metafunc.fixturenames:
        metafunc.parametrize("variant", [pytest.param(v, id=str(v)) for v in variants()])
