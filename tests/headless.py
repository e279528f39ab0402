"""Which browser the tests of the studio use, and how it is started without a screen."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
FLAGS += ["--no-first-run", "--disable-quic", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def find_browser() -> tuple[str | None, str]:
    """The path of Chromium, or None and the reason; the variable PLIANT_CHROMIUM names another one."""
    named = os.environ.get("PLIANT_CHROMIUM")
    if named:
        return shutil.which(named), f"PLIANT_CHROMIUM names {named!r}, which is no program"
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    return found, f"none of {', '.join(NAMES)} is installed"
