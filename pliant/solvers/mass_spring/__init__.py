"""Mass-spring bodies: see README.md beside this file."""

from pliant.solvers.mass_spring.solver import MassSpring

SOLVER = MassSpring

__all__ = ["SOLVER"]
