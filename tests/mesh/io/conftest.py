"""Fixtures of the tests of mesh files."""

import pytest


@pytest.fixture
def meshio():
    return pytest.importorskip("meshio")
