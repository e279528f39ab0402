"""Fixtures of the studio's tests."""

from __future__ import annotations

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
ARGUMENTS += ["--no-first-run", "--disable-quic", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def _absent(reason: str) -> None:
    if os.environ.get("PLIANT_REQUIRE_BROWSER") == "1":
        pytest.fail(f"PLIANT_REQUIRE_BROWSER is set, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium; the variable PLIANT_CHROMIUM names another one."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _absent("playwright is not installed")
    named = os.environ.get("PLIANT_CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if not found:
        _absent("there is no Chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield chromium
        chromium.close()
