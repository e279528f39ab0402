"""Fixtures of the studio's tests."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def keep_modules() -> Iterator[None]:
    """NiceGUI's test tools take the modules of pages out of the table of modules, and with them the whole package: what
    is imported after that is another copy, of which other tests know nothing."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "pliant"}
    yield
    sys.modules.update(before)
