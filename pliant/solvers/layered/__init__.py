"""A rigid core under a soft layer: see README.md beside this file."""

from pliant.solvers.layered.solver import Layered

SOLVER = Layered

__all__ = ["SOLVER"]
