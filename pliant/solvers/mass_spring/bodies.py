"""What the method makes of each body: its constants for the kernels, and its elastic energy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pliant.materials import spring_constants
from pliant.model.model import Body, Model
from pliant.model.tets import signed_volumes
from pliant.model.triangles import areas
from pliant.physics.volume import VOLUME_ABSOLUTE, VOLUME_PER_VOLUME, VOLUME_RELATIVE
from pliant.solvers.mass_spring import constants
from pliant.solvers.mass_spring.cloth_moduli import area_modulus
from pliant.solvers.mass_spring.constants import BodyConstants
from pliant.solvers.mass_spring.settings import DAMPING_FORMS, MassSpringSettings


def body_constants(body: Body, settings: MassSpringSettings, extent: float) -> BodyConstants:
    """A body's constants as the kernels take them."""
    c = BodyConstants()
    c.volume_damping_form = DAMPING_FORMS[settings.volume_damping_form]
    if body.raw is None:
        mapped, _ = spring_constants(body.material, sheet=body.tets[0] == body.tets[1])
        c.spring_damping_time = body.material.damping
        fitted = body.options.get("calibration")
        c.volume_stiffness = mapped.volume_modulus if fitted is None else fitted.numbers[1] * body.material.young
        c.volume_form = VOLUME_PER_VOLUME
        c.volume_damping = body.material.damping
        c.area_stiffness = mapped.area_modulus
        if body.triangles[1] > body.triangles[0]:
            c.area_stiffness = area_modulus(body.material, getattr(body.own, "springs", "one_ring"))
        if settings.volume_damping_form == "corner":
            # the constant of a damper that has the material's damping time over a typical spring of the body
            c.volume_damping = body.material.damping * float(body.options.get("typical_stiffness", 0.0))
    else:
        raw = body.raw
        c.spring_damping_time = raw.spring_damping / raw.spring if raw.spring > 0 else 0.0
        c.volume_stiffness = raw.volume
        c.volume_form = {"relative": VOLUME_RELATIVE, "absolute": VOLUME_ABSOLUTE}[raw.volume_form]
        c.area_stiffness = 0.0
        c.volume_damping = raw.volume_damping
        if settings.volume_damping_form == "rate":
            c.volume_damping = raw.volume_damping / raw.volume if raw.volume > 0 else 0.0
    if c.volume_damping == 0.0:
        c.volume_damping_form = constants.UNDAMPED
    c.area_damping_time = body.material.damping
    c.drag = body.material.drag
    c.friction = (body.material.friction, body.material.holding)
    c.restitution = body.material.restitution
    c.radius = float(body.options.get("radius", 0.0))
    # positions in a block settle to a grid on which differences are exact in a patch stretched by a fifth; beyond that
    # the last bit may differ between blocks
    c.quantum = 2.0 ** math.ceil(math.log2(1.2 * extent)) * 2.0**-24
    c.inv_quantum = 1.0 / c.quantum
    return c


def elastic_energy(
    model: Model, body_constants: Sequence[BodyConstants], x: np.ndarray, torn: np.ndarray | None = None
) -> float:
    """Elastic energy of springs, volumes and areas [J], in float64; without triangles that are torn (t,) bool."""
    d = np.linalg.norm(x[model.springs.pairs[:, 1]] - x[model.springs.pairs[:, 0]], axis=1)
    total = 0.5 * float(np.sum(model.springs.stiffness * (d - model.springs.rest_length) ** 2))
    base = (model.bodies[0].tets[0], model.bodies[0].triangles[0])
    for body, c in zip(model.bodies, body_constants, strict=True):
        tets = slice(body.tets[0] - base[0], body.tets[1] - base[0])
        rest = model.tets.rest_volume[tets]
        ratio = signed_volumes(x, model.tets.corners[tets]) / rest - 1.0
        scale = {
            0: c.volume_stiffness * rest,
            1: c.volume_stiffness + 0.0 * rest,
            2: 6.0 * c.volume_stiffness * rest**2,
        }
        total += 0.5 * float(np.sum(scale[c.volume_form] * ratio**2))
        tri = slice(body.triangles[0] - base[1], body.triangles[1] - base[1])
        rest = model.triangles.rest_area[tri]
        share = areas(x, model.triangles.corners[tri]) / rest - 1.0
        if torn is not None:
            share = np.where(torn[tri], 0.0, share)
        total += 0.5 * float(np.sum(c.area_stiffness * rest * share**2))
    return total
