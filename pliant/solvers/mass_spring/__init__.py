"""Mass-spring bodies: see README.md beside this file."""

from pliant.solvers.mass_spring.solver import MassSpring as SOLVER  # noqa: N811

__all__ = ["SOLVER"]
