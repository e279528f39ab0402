"""Gusts: a random velocity field without divergence, as waves that the wind carries along."""

from __future__ import annotations

import dataclasses

import numpy as np

from pliant.forces.wind_settings import Gusts, Vector

# Wavelengths over the size of the gusts; each has three waves.
WAVELENGTHS = 2.0 ** np.array([1.0, 0.5, 0.0, -0.5, -1.0, -1.5])
WAVES = 3 * len(WAVELENGTHS)
# rms of `wave` in the kernels, which is nearly a sine.
WAVE_RMS = 0.70734


@dataclasses.dataclass(frozen=True)
class Waves:
    """Gusts as a sum of waves: velocity = sum of amplitude * wave(turns . x + phase).

    Kraichnan (1970, "Diffusion by a random velocity field") builds turbulence of random plane waves whose amplitude is
    normal to their wave vector, so that the sum has no divergence. Here three waves share a length: their vectors
    are R e_1, R e_2, R e_3 with a random rotation R, and their amplitudes point along R e_2, R e_3, R e_1. Each such
    three have the same rms in every direction, and so has the sum, exactly. The energy at a wave number k goes with
    k^(-5/3) (Kolmogorov). The mean wind W carries each wave along (Taylor's frozen turbulence), which turns its phase
    by -k . W; besides, it turns once in about a `period`, faster by k^(2/3) for shorter ones.

    Attributes:
        turns: wave vectors [turns/m] (w, 3).
        amplitude: [m/s] (w, 3).
        phase: at time zero [turns] (w,), from 0 to 1.
        rate: what the phase turns by [turns/s] (w,).
    """

    turns: np.ndarray
    amplitude: np.ndarray
    phase: np.ndarray
    rate: np.ndarray


def make_waves(gusts: Gusts | None, velocity: Vector) -> Waves:
    """The waves of gusts in a mean wind [m/s]; still ones if there are none."""
    chosen = gusts or Gusts(strength=0.0)
    random = np.random.default_rng(chosen.seed)
    speed = float(np.linalg.norm(velocity))
    rms = chosen.strength * speed
    # what is drawn depends on the seed only, so that a change of the wind leaves the pattern as it is
    ratio = WAVELENGTHS * np.exp(random.uniform(-0.15, 0.15, len(WAVELENGTHS)))
    frames = np.stack([_rotation(random) for _ in ratio])
    phase = random.uniform(0.0, 1.0, WAVES)
    own = random.uniform(0.5, 1.5, WAVES) * random.choice([-1.0, 1.0], WAVES)
    share = ratio ** (2.0 / 3.0)
    size = np.sqrt(share / share.sum()) * rms / WAVE_RMS
    turns = (frames / (chosen.size * ratio)[:, None, None]).reshape(-1, 3)
    amplitude = (np.roll(frames, -1, axis=1) * size[:, None, None]).reshape(-1, 3)
    period = chosen.period if chosen.period is not None else chosen.size / max(rms, 1e-6)
    rate = own * np.repeat(ratio, 3) ** (-2.0 / 3.0) / period - turns @ np.array(velocity)
    return Waves(turns, amplitude, phase, rate)


def _rotation(random: np.random.Generator) -> np.ndarray:
    """Three directions normal to each other, at random, as rows (3, 3)."""
    q, r = np.linalg.qr(random.normal(size=(3, 3)))
    return (q * np.sign(np.diag(r))).T
