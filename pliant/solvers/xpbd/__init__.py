"""XPBD: compliant constraints, solved one after the other in small steps."""

from pliant.solvers.xpbd.solver import Xpbd

SOLVER = Xpbd

__all__ = ["SOLVER", "Xpbd"]
