"""A virtual laboratory: what a material becomes under each method, and how methods compare."""

from __future__ import annotations

from pliant.lab.bodies import body_of
from pliant.lab.compare import Comparison, compare
from pliant.lab.sheets import SHEET_TESTS, test_sheet
from pliant.lab.testing import TESTS, MaterialTest, check_testable, test_material, testable_methods

__all__ = [
    "SHEET_TESTS",
    "TESTS",
    "Comparison",
    "MaterialTest",
    "body_of",
    "check_testable",
    "compare",
    "test_material",
    "test_sheet",
    "testable_methods",
]
