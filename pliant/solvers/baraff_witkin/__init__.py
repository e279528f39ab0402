"""Cloth with implicit steps: see README.md beside this file."""

from pliant.solvers.baraff_witkin.solver import BaraffWitkin

SOLVER = BaraffWitkin

__all__ = ["SOLVER"]
