"""Surfaces that ride on simulated bodies: positions and normals of their vertices, on the device."""

from pliant.skin.clusters import ClusterSkin
from pliant.skin.skin import Skin

__all__ = ["ClusterSkin", "Skin"]
