"""Colours between linear light, as scenes keep them, and what a screen takes."""

from __future__ import annotations

import numpy as np


def to_screen(linear: np.ndarray) -> np.ndarray:
    """Light from 0 to 1 as the value a screen takes (IEC 61966-2-1, sRGB)."""
    linear = np.clip(linear, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)


def to_linear(screen: np.ndarray) -> np.ndarray:
    """The light of a value that a screen takes, both from 0 to 1 (IEC 61966-2-1, sRGB)."""
    screen = np.clip(screen, 0.0, 1.0)
    return np.where(screen <= 0.04045, screen / 12.92, ((screen + 0.055) / 1.055) ** 2.4)
