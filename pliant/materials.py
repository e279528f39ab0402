"""One material in SI units, and what each method makes of it."""

from __future__ import annotations

import dataclasses

from pliant.errors import InputError
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

    def __post_init__(self) -> None:
        super().__post_init__()
        check_static_friction(self.friction, self.static_friction, f"{type(self).__name__}.static_friction")

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


PRESETS: dict[str, Material] = {
    "rubber": Material(density=1100.0, young=5e5, poisson=0.45, damping=0.001, friction=0.9, restitution=0.2),
    "soft_rubber": Material(density=1000.0, young=8e4, poisson=0.42, damping=0.0015, friction=0.8, restitution=0.1),
    "jelly": Material(density=1000.0, young=1.2e4, poisson=0.45, damping=0.003, friction=0.3),
    "foam": Material(density=60.0, young=3e4, poisson=0.25, damping=0.006, friction=0.6),
    "flesh": Material(density=1050.0, young=3e4, poisson=0.45, damping=0.008, friction=0.5),
    "cork": Material(density=240.0, young=2e6, poisson=0.25, damping=0.0005, friction=0.5, restitution=0.1),
    # Woven cloth: figures typical of such fabrics rather than of one measured piece, in terms of the Kawabata system
    # (KES-F): tensile moduli are secants at 490 N/m, shear is G and bending B; 1 gf/(cm deg) is 56 N/m and 1 gf cm^2/cm
    # is 9.8e-5 N m. Weight and thickness go into the density, moduli are per thickness. Damping, drag and friction are
    # ours.
    # shirting of 120 g/m^2: 10 and 6 kN/m, G 1.0, B 0.06
    "cotton": Material(
        density=400.0,
        young=3.3e7,
        young_weft=2e7,
        poisson=0.35,
        shear=1.9e5,
        bending=6e-6,
        thickness=0.0003,
        damping=0.004,
        drag=0.4,
        friction=0.5,
    ),
    # habotai of 65 g/m^2: 9 and 6 kN/m, G 0.3, B 0.025
    "silk": Material(
        density=430.0,
        young=6e7,
        young_weft=4e7,
        poisson=0.35,
        shear=1.1e5,
        bending=2.5e-6,
        thickness=0.00015,
        damping=0.003,
        drag=0.7,
        friction=0.25,
    ),
    # 11 oz denim; weight and bending after the fits of Wang, O'Brien and Ramamoorthi (2011), Data-Driven Elastic Models
    # for Cloth (324 g/m^2, 6e-5 N m); 17 and 8 kN/m, G 2.5
    "denim": Material(
        density=463.0,
        young=2.5e7,
        young_weft=1.2e7,
        poisson=0.35,
        shear=2e5,
        bending=6e-5,
        thickness=0.0007,
        damping=0.005,
        drag=0.2,
        friction=0.6,
    ),
    # suiting of 270 g/m^2: 11 and 6 kN/m, G 0.7, B 0.10
    "wool": Material(
        density=385.0,
        young=1.6e7,
        young_weft=9e6,
        poisson=0.35,
        shear=5.6e4,
        bending=1e-5,
        thickness=0.0007,
        damping=0.006,
        drag=0.2,
        friction=0.5,
    ),
    # chrome-tanned upper leather, 1.2 mm
    "leather": Material(density=900.0, young=5e7, poisson=0.4, thickness=0.0012, damping=0.005, friction=0.6),
    # human scalp hair, 70 um; typical figures
    "hair": Material(density=1320.0, young=3.6e9, poisson=0.38, thickness=7e-5, damping=0.0005, drag=0.5, friction=0.3),
    # laid ropes: of fibre moduli (hemp about 30 GPa, nylon about 3 GPa) the lay leaves a part; the air between yarns is
    # in the density
    "hemp_rope": Material(density=900.0, young=1.5e9, poisson=0.35, damping=0.002, friction=0.6),
    "nylon_rope": Material(density=800.0, young=4e8, poisson=0.35, damping=0.002, friction=0.4),
    # green wood along the grain, as a living branch; typical figures
    "wood": Material(density=900.0, young=8e9, poisson=0.37, damping=0.001, friction=0.5, restitution=0.2),
    "steel_wire": Material(density=7850.0, young=2e11, poisson=0.29, damping=1e-5, friction=0.4, restitution=0.3),
}


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
