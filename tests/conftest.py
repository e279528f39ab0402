"""Fixtures of all tests, and the folder's own modules (bodies.py, reference.py) made importable."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


def _devices() -> list:
    from pliant.launch import pick_device

    cuda = pick_device("auto")
    return ["cpu", *([pytest.param(cuda, marks=pytest.mark.cuda)] if cuda != "cpu" else [])]


def pytest_generate_tests(metafunc):
    """A test that asks for `device` runs on the CPU always, and on CUDA where there is one."""
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", _devices())


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Prepared bodies are kept in a folder of these tests, never in the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def cuda() -> str:
    """The CUDA device of a test that compares it with the CPU; skipped where there is none."""
    from pliant.launch import pick_device

    name = pick_device("auto")
    if name == "cpu":
        pytest.skip("no CUDA device")
    return name


@pytest.fixture
def set_threads(monkeypatch):
    """A function that sets the number of CPU threads for what is built and run after it."""
    return lambda count: monkeypatch.setenv("PLIANT_THREADS", str(count))


def _no_browser(reason: str) -> None:
    if os.environ.get("PLIANT_REQUIRE_BROWSER") == "1":
        pytest.fail(f"PLIANT_REQUIRE_BROWSER is set, but {reason}")
    pytest.skip(reason)


# Not of the session: while Playwright runs, no other test of this process could have an event loop.
@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; the variable PLIANT_CHROMIUM names another one."""
    from headless import FLAGS, find_browser

    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        _no_browser("playwright is not installed: pip install -e '.[dev]'")
    found, reason = find_browser()
    if found is None:
        _no_browser(reason)
    with sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=found, args=FLAGS)
        except Error as error:
            _no_browser(f"{found} does not start: {error}")
        yield chromium
        chromium.close()
