"""One material in SI units, and what each method makes of it."""

from __future__ import annotations

import dataclasses

from pliant.errors import InputError
from pliant.material_presets import PRESET_FIGURES
from pliant.settings import Described, check_static_friction, setting


@dataclasses.dataclass(frozen=True)
class Material(Described):
    """What a body is made of. The same values mean the same stuff at every resolution and time step."""

    density: float = setting(1000.0, "mass per volume", unit="kg/m^3", above=0.0, high=1e6)
    young: float = setting(1e5, "Young's modulus: stress per strain in a pull", unit="Pa", above=0.0, high=1e13)
    poisson: float = setting(0.35, "Poisson's ratio: how much a pulled body narrows", low=0.0, high=0.495)
    damping: float = setting(
        0.002,
        "stiffness-proportional damping: stress per strain rate, over Young's modulus",
        unit="s",
        low=0.0,
        high=10.0,
    )
    drag: float = setting(0.0, "air drag: deceleration per speed", unit="1/s", low=0.0, high=1e4)
    friction: float = setting(0.6, "Coulomb friction coefficient", low=0.0, high=100.0)
    static_friction: float | None = setting(
        None, "coefficient up to which what does not slip is held; that of friction if not given", low=0.0, high=100.0
    )
    restitution: float = setting(
        0.0, "share of the approach speed a surface point keeps when it bounces", low=0.0, high=1.0
    )
    thickness: float = setting(0.001, "thickness, where the body is a sheet", unit="m", above=0.0, high=100.0)
    young_weft: float | None = setting(
        None, "Young's modulus across the warp of a cloth; that along it if not given", unit="Pa", above=0.0, high=1e13
    )
    shear: float | None = setting(
        None,
        "modulus against a shear of warp and weft in the plane of a cloth; from Young and Poisson if not given",
        unit="Pa",
        above=0.0,
        high=1e13,
    )
    bending: float | None = setting(
        None,
        "bending rigidity of a sheet: moment per width and curvature; that of a plate of its thickness if not given",
        unit="N m",
        low=0.0,
        high=1e9,
    )
    yield_strain: float | None = setting(
        None, "strain beyond which a change of shape begins to stay; it never does if not given", low=0.0, high=10.0
    )
    yield_stress: float | None = setting(
        None, "stress instead of a yield strain, which is this over Young's modulus", unit="Pa", above=0.0, high=1e13
    )
    creep: float = setting(
        20.0,
        "share of the strain that becomes permanent per second, beyond the yield strain",
        unit="1/s",
        low=0.0,
        high=1e6,
    )
    plastic_limit: float = setting(0.8, "largest permanent strain", above=0.0, high=10.0)
    fracture_strain: float | None = setting(
        None,
        "stretch between two parts of a body, over their distance, at which they come apart; never if not given",
        above=0.0,
        high=100.0,
    )
    tear_strength: float | None = setting(
        None, "stress instead of a fracture strain, which is this over Young's modulus", unit="Pa", above=0.0, high=1e13
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for strain, stress in (("yield_strain", "yield_stress"), ("fracture_strain", "tear_strength")):
            if getattr(self, strain) is not None and getattr(self, stress) is not None:
                raise InputError(
                    f"both {strain} = {getattr(self, strain):g} and {stress} = {getattr(self, stress):g} Pa are given",
                    f"{type(self).__name__}.{stress}",
                    "Give one of them",
                )
        check_static_friction(self.friction, self.static_friction, f"{type(self).__name__}.static_friction")

    @property
    def yields_at(self) -> float | None:
        """Strain beyond which a change of shape begins to stay; None if it never does."""
        return self.yield_strain if self.yield_stress is None else self.yield_stress / self.young

    @property
    def breaks_at(self) -> float | None:
        """Strain at which parts of a body come apart; None if they never do."""
        return self.fracture_strain if self.tear_strength is None else self.tear_strength / self.young

    @property
    def holding(self) -> float:
        """Coefficient of friction up to which what does not slip is held."""
        return self.friction if self.static_friction is None else self.static_friction

    @property
    def shear_modulus(self) -> float:
        """Resistance to a change of shape [Pa]."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def bulk_modulus(self) -> float:
        """Resistance to a change of volume [Pa]."""
        return self.young / (3.0 * (1.0 - 2.0 * self.poisson))

    @property
    def plate_rigidity(self) -> float:
        """Bending rigidity of a sheet [N m]: the one given, or that of a plate, E t^3 / 12 (1 - nu^2)."""
        if self.bending is not None:
            return self.bending
        return self.young * self.thickness**3 / (12.0 * (1.0 - self.poisson**2))


PRESETS: dict[str, Material] = {name: Material(**figures) for name, figures in PRESET_FIGURES.items()}


def as_material(value: Material | str, where: str = "material") -> Material:
    """A material from a `Material` or the name of a preset."""
    if isinstance(value, Material):
        return value
    if isinstance(value, str) and value in PRESETS:
        return PRESETS[value]
    raise InputError(f"no material {value!r}", where, f"Give a Material, or one of: {', '.join(PRESETS)}")


@dataclasses.dataclass(frozen=True)
class RawConstants(Described):
    """Spring and volume constants given directly, as in the literature; they change with the mesh."""

    spring: float = setting(50.0, "spring constant of every edge", unit="N/m", low=0.0, high=1e12)
    spring_damping: float = setting(0.001, "damping constant of every edge", unit="N s/m", low=0.0, high=1e9)
    volume: float = setting(25.0, "volume constant; its unit depends on the form", low=0.0, high=1e18)
    volume_damping: float = setting(0.01, "damping constant of the volume force", low=0.0, high=1e9)
    volume_form: str = setting(
        "absolute",
        "'relative': energy k/2 ((V-V0)/V0)^2 with k in J; 'absolute': force k (V-V0) (2 x face area) with k in N/m^5",
        choices=("relative", "absolute"),
    )
    mass: float | None = setting(None, "total mass of the body, instead of density", unit="kg", low=1e-9, high=1e12)


@dataclasses.dataclass(frozen=True)
class SpringConstants:
    """A material as the mass-spring method uses it.

    Attributes:
        spring_modulus: E' in k = E' * (volume around the edge) / L^2 [Pa].
        volume_modulus: bulk modulus left to the volume energy [Pa].
        area_modulus: area modulus times thickness of a sheet [N/m].
    """

    spring_modulus: float
    volume_modulus: float
    area_modulus: float


def spring_constants(material: Material, *, sheet: bool = False) -> tuple[SpringConstants, str]:
    """Springs and volume energy that together have the material's shear and bulk modulus.

    Springs with k = E' V_e / L^2 on an isotropic mesh have the Lame moduli lambda = mu = 0.4 E' (average of
    n n n n over directions), so E' = mu / 0.4, and the volume energy carries what the springs lack of the bulk
    modulus. Central springs alone have Poisson's ratio 1/4: a smaller one cannot be reached, and is reported.
    In the plane of a sheet the same holds with 0.375 for 0.4, the area modulus E / (2 (1 - nu)) for the bulk modulus,
    and 1/3 for 1/4.

    Returns:
        The constants, and a note for the user, empty if nothing is to be said.
    """
    share, bulk, of_springs, least = (
        (0.375, material.young / (2.0 * (1.0 - material.poisson)), 0.75, "1/3")
        if sheet
        else (0.4, material.bulk_modulus, 2.0 / 3.0, "1/4")
    )
    spring_modulus = material.shear_modulus / share
    missing = bulk - spring_modulus * of_springs
    note = ""
    if missing < -1e-9 * bulk:
        note = (
            f"Poisson's ratio {material.poisson:g} is below {least}, which springs{' of a sheet' * sheet} cannot have: "
            f"the mass-spring method takes {least} and keeps Young's modulus."
        )
        spring_modulus = material.young
    missing = max(missing, 0.0)
    if sheet:
        return SpringConstants(spring_modulus, 0.0, missing * material.thickness), note
    return SpringConstants(spring_modulus, missing, 0.0), note
