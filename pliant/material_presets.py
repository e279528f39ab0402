"""Figures of common stuffs in SI units, and where each comes from."""

from __future__ import annotations

from typing import Any

Figures = dict[str, Any]

KAWABATA = "Kawabata (1980), The Standardization and Analysis of Hand Evaluation, 2nd ed.: terms and units of KES-F"
ASHBY = "Ashby (2011), Materials Selection in Mechanical Design, 4th ed., appendix A"
GENT = "Gent (1958), Rubber Chemistry and Technology 31, 896: modulus from Shore A hardness"
ICRU = "ICRU Report 44 (1989), Tissue Substitutes in Radiation Dosimetry and Measurement"
ROPES = "McKenna, Hearle and O'Hear (2004), Handbook of Fibre Rope Technology; typical"
WOOD = "Forest Products Laboratory (2010), Wood Handbook, FPL-GTR-190, chapter 5"
GIBSON = "Gibson and Ashby (1997), Cellular Solids, 2nd ed."
TYPICAL = "typical"
QUOTED = "as it is commonly quoted"
NEARLY = "near 1/2 in fact; less here, as elements that can hardly change their volume are stiff and slow"
OURS = "ours"

PRESET_FIGURES: dict[str, Figures] = {
    "rubber": {"density": 1100.0, "young": 5e5, "poisson": 0.45, "damping": 0.001, "friction": 0.9, "restitution": 0.2},
    "soft_rubber": {
        "density": 1000.0, "young": 8e4, "poisson": 0.42, "damping": 0.0015, "friction": 0.8, "restitution": 0.1,
    },
    "tyre_rubber": {
        "density": 1150.0, "young": 3.6e6, "poisson": 0.45, "damping": 0.0005, "friction": 0.9, "restitution": 0.2,
    },
    "silicone": {
        "density": 1030.0, "young": 1.3e6, "poisson": 0.45, "damping": 0.0005, "friction": 0.8, "restitution": 0.2,
    },
    "jelly": {"density": 1000.0, "young": 1.2e4, "poisson": 0.45, "damping": 0.003, "friction": 0.3},
    "foam": {"density": 30.0, "young": 3e4, "poisson": 0.25, "damping": 0.006, "friction": 0.6},
    "flesh": {"density": 1050.0, "young": 3e4, "poisson": 0.45, "damping": 0.008, "friction": 0.5},
    "muscle": {"density": 1060.0, "young": 1.2e4, "poisson": 0.45, "damping": 0.008, "friction": 0.5},
    "liver": {"density": 1060.0, "young": 5.5e3, "poisson": 0.45, "damping": 0.01, "friction": 0.3},
    "fat": {"density": 950.0, "young": 3.25e3, "poisson": 0.45, "damping": 0.01, "friction": 0.4},
    "skin": {
        "density": 1090.0, "young": 4.2e5, "poisson": 0.45, "thickness": 0.0012, "damping": 0.005, "friction": 0.5,
    },
    "cork": {"density": 170.0, "young": 1.3e7, "poisson": 0.25, "damping": 0.0005, "friction": 0.5, "restitution": 0.1},
    "cotton": {
        "density": 400.0, "young": 3.3e7, "young_weft": 2e7, "poisson": 0.35, "shear": 1.9e5, "bending": 6e-6,
        "thickness": 0.0003, "damping": 0.004, "drag": 0.4, "friction": 0.5,
    },
    "silk": {
        "density": 430.0, "young": 6e7, "young_weft": 4e7, "poisson": 0.35, "shear": 1.1e5, "bending": 2.5e-6,
        "thickness": 0.00015, "damping": 0.003, "drag": 0.7, "friction": 0.25,
    },
    "denim": {
        "density": 463.0, "young": 2.5e7, "young_weft": 1.2e7, "poisson": 0.35, "shear": 2e5, "bending": 6e-5,
        "thickness": 0.0007, "damping": 0.005, "drag": 0.2, "friction": 0.6,
    },
    "wool": {
        "density": 385.0, "young": 1.6e7, "young_weft": 9e6, "poisson": 0.35, "shear": 5.6e4, "bending": 1e-5,
        "thickness": 0.0007, "damping": 0.006, "drag": 0.2, "friction": 0.5,
    },
    "leather": {
        "density": 900.0, "young": 1e8, "poisson": 0.4, "thickness": 0.0012, "damping": 0.005, "friction": 0.6,
    },
    "hair": {
        "density": 1320.0, "young": 3.9e9, "poisson": 0.38, "thickness": 7e-5, "damping": 0.0005, "drag": 0.5,
        "friction": 0.3,
    },
    "hemp_rope": {"density": 900.0, "young": 1.5e9, "poisson": 0.35, "damping": 0.002, "friction": 0.6},
    "nylon_rope": {"density": 800.0, "young": 4e8, "poisson": 0.35, "damping": 0.002, "friction": 0.4},
    "wood": {"density": 900.0, "young": 8e9, "poisson": 0.37, "damping": 0.001, "friction": 0.5, "restitution": 0.2},
    "steel_wire": {
        "density": 7850.0, "young": 2e11, "poisson": 0.29, "damping": 1e-5, "friction": 0.4, "restitution": 0.3,
    },
}  # fmt: skip

SOURCES: dict[str, dict[str, str]] = {
    "rubber": {"stuff": "a soft compound, Shore A 13", "young": GENT, "density": TYPICAL, "poisson": NEARLY},
    "soft_rubber": {
        "stuff": "as soft casting silicones, Shore 00-50",
        "young": "Smooth-On, bulletin of the Ecoflex series: 100 % modulus of 00-50, 12 psi (83 kPa), a secant",
        "density": TYPICAL,
        "poisson": NEARLY,
    },
    "tyre_rubber": {"stuff": "a filled compound, Shore A 60", "young": GENT, "density": TYPICAL, "poisson": NEARLY},
    "silicone": {
        "stuff": "PDMS (Sylgard 184) cured at room temperature",
        "young": "Johnston, McCluskey, Tan and Tracey (2014), J. Micromech. Microeng. 24, 035017: 1.32 MPa at 25 C",
        "density": f"Dow, data sheet of Sylgard 184; {QUOTED}",
        "poisson": NEARLY,
    },
    "jelly": {
        "stuff": "gelatin with 11.4 times its weight of water",
        "young": "Bonavia (2025), arXiv:2512.20502: 277 kPa at 2:1 to 4.34 kPa at 20:1, a power law between",
        "density": "that of water",
        "poisson": NEARLY,
    },
    "foam": {
        "stuff": "flexible polyurethane foam, a fortieth of the solid",
        "young": f"{GIBSON}: E = Es (density / 1200)^2 with Es = 45 MPa, 28 kPa",
        "density": f"{ASHBY}: 16 to 35 for very light flexible foams; {QUOTED}",
        "poisson": f"{GIBSON}: about 1/3, with much scatter; 1/4 is the least of mass-spring bodies",
    },
    "flesh": {
        "stuff": "skin, fat and muscle as one stuff",
        "young": OURS,
        "density": f"{ICRU}: that of skeletal muscle",
        "poisson": NEARLY,
    },
    "muscle": {
        "stuff": "skeletal muscle, relaxed",
        "young": "Engler and others (2004), J. Cell Biol. 166, 877: about 12 kPa",
        "density": "Mendez and Keys (1960), Metabolism 9, 184: 1.06 g/cm^3 in rabbits and dogs",
        "poisson": NEARLY,
    },
    "liver": {
        "stuff": "healthy human liver",
        "young": "Roulot and others (2008), J. Hepatology 48, 606: 5.5 kPa by transient elastography",
        "density": f"{ICRU}; {QUOTED}",
        "poisson": NEARLY,
    },
    "fat": {
        "stuff": "fat of the human breast",
        "young": f"Samani, Zubovits and Plewes (2007), Phys. Med. Biol. 52, 1565: 3.25 kPa; {QUOTED}",
        "density": ICRU,
        "poisson": NEARLY,
    },
    "skin": {
        "stuff": "human skin of the forearm, below 30 years",
        "young": f"Agache and others (1980), Arch. Dermatol. Res. 269, 221: 0.42 MPa by torsion; {QUOTED}",
        "density": f"{ICRU}; {QUOTED}",
        "poisson": NEARLY,
        "thickness": TYPICAL,
    },
    "cork": {
        "stuff": "natural cork, across the prisms of its cells",
        "young": f"Gibson, Easterling and Ashby (1981), Proc. R. Soc. A 377, 99: 13 MPa, along them 20 MPa; {QUOTED}",
        "density": "the same: 170",
        "poisson": "from 0 along the prisms to 0.5 across; 1/4 is the least of mass-spring bodies",
    },
    "cotton": {
        "stuff": "shirting of 120 g/m^2: 10 and 6 kN/m, G 1.0, B 0.06",
        "young": f"{KAWABATA}; typical figures, not of one measured piece",
        "density": "weight over thickness; typical",
        "poisson": TYPICAL,
    },
    "silk": {
        "stuff": "habotai of 65 g/m^2: 9 and 6 kN/m, G 0.3, B 0.025",
        "young": f"{KAWABATA}; typical figures, not of one measured piece",
        "density": "weight over thickness; typical",
        "poisson": TYPICAL,
    },
    "denim": {
        "stuff": "11 oz denim of 324 g/m^2: 17 and 8 kN/m, G 2.5",
        "young": f"{KAWABATA}; typical figures, not of one measured piece",
        "density": "Wang, O'Brien and Ramamoorthi (2011), Data-Driven Elastic Models for Cloth; bending too",
        "poisson": TYPICAL,
    },
    "wool": {
        "stuff": "suiting of 270 g/m^2: 11 and 6 kN/m, G 0.7, B 0.10",
        "young": f"{KAWABATA}; typical figures, not of one measured piece",
        "density": "weight over thickness; typical",
        "poisson": TYPICAL,
    },
    "leather": {
        "stuff": "upper leather of 1.2 mm",
        "young": f"{ASHBY}: 0.1 to 0.5 GPa, the softest of it; {QUOTED}",
        "density": f"{ASHBY}: 810 to 1050; {QUOTED}",
        "poisson": TYPICAL,
    },
    "hair": {
        "stuff": "human scalp hair of 70 um",
        "young": "Robbins (2012), Chemical and Physical Behavior of Human Hair, 5th ed.: 3.89 GPa",
        "density": f"the same; {QUOTED}",
        "poisson": TYPICAL,
    },
    "hemp_rope": {
        "stuff": "a laid rope: of the fibres' 30 GPa the lay leaves a part, and there is air between yarns",
        "young": ROPES,
        "density": ROPES,
        "poisson": TYPICAL,
    },
    "nylon_rope": {
        "stuff": "a laid rope: of the fibres' 3 GPa the lay leaves a part, and there is air between yarns",
        "young": ROPES,
        "density": ROPES,
        "poisson": TYPICAL,
    },
    "wood": {
        "stuff": "green hardwood along the grain, as a living branch",
        "young": f"{WOOD}: 7 to 10 GPa for most green hardwoods; {QUOTED}",
        "density": "green, with its water; typical",
        "poisson": f"{WOOD}: 0.3 to 0.4 for longitudinal-radial; {QUOTED}",
    },
    "steel_wire": {
        "stuff": "carbon steel",
        "young": f"{ASHBY}: 200 to 215 GPa; {QUOTED}",
        "density": f"{ASHBY}: 7800 to 7900; {QUOTED}",
        "poisson": f"{ASHBY}: 0.285 to 0.295; {QUOTED}",
    },
}


def source(preset: str, field: str) -> str:
    """Where a figure of a preset comes from; what no source is named for is ours."""
    given = SOURCES.get(preset, {})
    if field in ("young_weft", "shear", "bending") and field not in given:
        return given.get("young", OURS)
    if field == "thickness" and field not in given and preset in ("cotton", "silk", "denim", "wool", "leather", "hair"):
        return TYPICAL
    return given.get(field, OURS)
