"""Every method that is installed, in every integrator it offers: a new solver folder is tested without being listed."""

import dataclasses

import pytest

from pliant.solvers import solver_classes


@dataclasses.dataclass(frozen=True)
class Variant:
    """A method and the settings it runs with."""

    method: str
    settings: tuple = ()

    @property
    def integrator(self) -> str:
        return dict(self.settings).get("integrator", "")

    @property
    def keywords(self) -> dict:
        """For `make_scene`."""
        return {"method": self.method, **dict(self.settings)}

    def __str__(self) -> str:
        return "-".join([self.method, *(str(value) for _, value in self.settings)])


def variants() -> list[Variant]:
    found = []
    for name, cls in solver_classes().items():
        choices = next((f.metadata["choices"] for f in dataclasses.fields(cls.Settings) if f.name == "integrator"), ())
        found += [Variant(name, (("integrator", choice),)) for choice in choices] or [Variant(name)]
    return found


def pytest_generate_tests(metafunc):
    if "variant" in metafunc.fixturenames:
        metafunc.parametrize("variant", [pytest.param(v, id=str(v)) for v in variants()])
