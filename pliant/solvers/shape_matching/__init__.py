"""Shape matching: particles are pulled to where the rest shape of their clusters fits best."""

from pliant.solvers.shape_matching.solver import ShapeMatching

SOLVER = ShapeMatching

__all__ = ["SOLVER", "ShapeMatching"]
