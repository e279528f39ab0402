"""What is known of every particle whatever the method: strain, stress and speed, measured on the device."""

from pliant.quantities.quantities import QUANTITIES, Quantities, Quantity

__all__ = ["QUANTITIES", "Quantities", "Quantity"]
