"""Finite elements: tetrahedra of a material, moved by implicit steps."""

from pliant.solvers.fem.solver import Fem

SOLVER = Fem

__all__ = ["SOLVER", "Fem"]
