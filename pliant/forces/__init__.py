"""Forces besides those of the methods: each adds to the external force of the particles it acts on."""

from pliant.forces.global_volume import GlobalVolume
from pliant.forces.pressure import Pressure
from pliant.forces.support import SupportSprings

__all__ = ["GlobalVolume", "Pressure", "SupportSprings"]
