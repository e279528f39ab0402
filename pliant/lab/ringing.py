"""What a motion that rings out tells: where it ends, how fast it swings, how fast it dies."""

from __future__ import annotations

import dataclasses
import math

import numpy as np


@dataclasses.dataclass(frozen=True)
class Ringing:
    """A series u(t) = end + exp(-decay t) (a cos w t + b sin w t).

    Attributes:
        end: where it comes to rest.
        frequency: w / 2 pi [Hz]; 0 where it does not swing.
        decay: [1/s].
        amplitude: of the swing at the start.
        miss: root mean square of what the formula leaves, over the amplitude.
    """

    end: float
    frequency: float
    decay: float
    amplitude: float
    miss: float

    @property
    def damping_time(self) -> float:
        """Stiffness-proportional damping that would have this decay [s]: the decay of a mode is damping w^2 / 2."""
        w = 2.0 * math.pi * self.frequency
        # of the undamped mode, which is a little faster
        return 2.0 * self.decay / max(w * w + self.decay**2, 1e-300)

    @property
    def damping_ratio(self) -> float:
        """Decay over that at which nothing swings any more."""
        w = 2.0 * math.pi * self.frequency
        return self.decay / max(math.hypot(w, self.decay), 1e-300)

    def recovery(self, share: float = 0.05) -> float:
        """Time until the swing has fallen to a share of its amplitude [s]."""
        return math.inf if self.decay <= 0.0 else -math.log(share) / self.decay


def fit_ringing(times: np.ndarray, values: np.ndarray, near: float | None = None) -> Ringing:
    """The ringing nearest to values (n,) at times (n,) [s]: a search over decay and frequency, the rest is linear.

    The search is around the frequency `near` [Hz], or around the largest of the spectrum.
    """
    span = float(times[-1] - times[0])
    step = span / (len(times) - 1)
    spectrum = np.abs(np.fft.rfft((values - values.mean()) * np.hanning(len(values)), 8 * len(values)))
    peak = max(int(np.argmax(spectrum[4:])) + 4, 4) / (8.0 * len(values) * step)
    best = (math.inf, 0.0, 0.0)
    low, high = 0.2 * peak, min(2.0 * peak, 0.5 / step)
    if near is not None:
        low, high = 0.3 * near, min(3.0 * near, 0.5 / step)
    decays = np.concatenate([[0.0], np.geomspace(0.02 / span, 3.0 / step, 24)])
    frequencies = np.concatenate([[0.0], np.linspace(low, high, 80)])
    for _ in range(4):
        for decay in decays:
            for frequency in frequencies:
                error = _solve(times, values, decay, frequency)[1]
                if error < best[0]:
                    best = (error, float(decay), float(frequency))
        _, decay, frequency = best
        gap = (frequencies[-1] - frequencies[-2]) if frequency > 0.0 else 0.1 * (peak if near is None else near)
        frequencies = np.linspace(max(frequency - gap, 0.0), frequency + gap, 15)
        width = max(0.25 * decay, 0.01 / span) if len(decays) > 16 else max(decays[1] - decays[0], 1e-12)
        decays = np.linspace(max(decay - width, 0.0), decay + width, 13)
    error, decay, frequency = best
    part, _ = _solve(times, values, decay, frequency)
    amplitude = math.hypot(part[1], part[2])
    return Ringing(float(part[0]), frequency, decay, amplitude, math.sqrt(error / len(times)) / max(amplitude, 1e-300))


def _solve(times: np.ndarray, values: np.ndarray, decay: float, frequency: float) -> tuple[np.ndarray, float]:
    """Coefficients of 1, the cosine and the sine, and the sum of squares that is left."""
    w = 2.0 * math.pi * frequency
    fade = np.exp(-decay * times)
    columns = np.stack([np.ones_like(times), fade * np.cos(w * times), fade * np.sin(w * times)], axis=1)
    normal = columns.T @ columns + 1e-12 * len(times) * np.eye(3)
    part = np.linalg.solve(normal, columns.T @ values)
    return part, float(((columns @ part - values) ** 2).sum())


def end_of(times: np.ndarray, values: np.ndarray, ringing: Ringing) -> float:
    """Where another series comes to rest that swings as this one does."""
    part, _ = _solve(times, values, ringing.decay, ringing.frequency)
    return float(part[0])
