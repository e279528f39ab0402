"""A virtual laboratory: what a material becomes under a method, measured.

`pliant.lab.test_material` pulls, bends and twists a bar of the material, drops a ball of it, and reads off Young's
modulus, Poisson's ratio, damping and frequencies, beside those of linear finite elements of the same mesh. Numbers of a
material may be given with units. On the command line: `pliant test-material rubber`.
"""

import pliant
from pliant import lab

GEL = pliant.Material(density="1.05 g/cm^3", young="60 kPa", poisson=0.4, damping="4 ms")


def build() -> pliant.Scene:
    """The bar itself, as it hangs from one end."""
    scene = pliant.Scene(name="bar")
    scene.add_body(pliant.shapes.box((0.04, 0.2, 0.04), (2, 10, 2)), GEL, name="bar")
    scene.pin("bar", lambda x: x[:, 1] > x[:, 1].max() - 1e-6)
    return scene


def check(sim: pliant.Simulation) -> None:
    found = lab.test_material(GEL, "mass_spring", tests=("tension",))
    young, poisson, damping = (found[f"tension.{name}"] for name in ("young", "poisson", "damping"))
    assert abs(young.value / GEL.young - 1.0) < 0.35, "springs are a little stiffer than the material in a coarse bar"
    assert abs(poisson.value - GEL.poisson) < 0.05
    assert abs(damping.error) < 0.05, "and lose energy just as the material says"


def main() -> None:
    for method in ("mass_spring", "shape_matching", "xpbd", "fem"):
        print(method)
        print(lab.test_material(GEL, method, tests=("tension", "torsion")).table())


if __name__ == "__main__":
    main()
