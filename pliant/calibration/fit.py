"""Numbers of a method, fitted so that a body gives in to a few loads by as much as finite elements do."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pliant.calibration.loads import Trial

FREE_WEIGHT = 0.3
"""What the tests of a free body count, over those of one that is held: its sag is what is seen."""
GRIP = 0.8
"""Power of the part that is held, by which tests count: a body stands on its foot more often than on its ear."""
FAR = 0.15
"""Power of how far a body gives in, by which tests count."""
LEAST = 1e-3
"""What gives in less than this part of the most is not compared."""
WORSE = 3.0
"""What it counts besides that a test comes out worse than without a fit."""
SLIGHT = 0.03
"""Misses below this, as logarithms, are never worse."""
LOOSE = 20.0
"""Ratio to the finite elements' answer beyond which a test is left out; a body falls apart if half of them are."""
PLANS = 12
"""Small steps of which one is planned."""
SETTLED = 1e-3
"""Change of all numbers, as logarithms, at which a fit ends."""
LONGEST = 1.5
"""Largest change of a number in a step, as a logarithm."""


class Family(Protocol):
    """A body whose stiffness is a sum of parts, each in terms of one number.

    Attributes:
        start: logarithms of the numbers without calibration (p,).
        faith: how much a change of each counts, as the miss of one test that is as large (p,).
        steps: most steps of a fit.
    """

    start: np.ndarray
    faith: np.ndarray
    steps: int

    def answers(self, logs: np.ndarray, trial: Trial) -> np.ndarray:
        """Displacements (t, n, 3) under the loads of a trial; `LinAlgError` where there are none."""
        ...

    def costs(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the numbers cost besides, as misses of tests (k,), and their derivatives (k, p)."""
        ...

    def energies(self, logs: np.ndarray, fields: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Work of fields (k, n, 3) against the forces of others that each number stands for (k, p)."""
        ...


@dataclasses.dataclass(frozen=True)
class Fit:
    """What was found.

    Attributes:
        logs: logarithms of the numbers (p,).
        before, after: logarithm of how far each test gives in, over the finite elements' answer.
        weight: what each counts (k,), 0 for those of a free body.
    """

    logs: np.ndarray
    before: np.ndarray
    after: np.ndarray
    weight: np.ndarray


def fit(family: Family, trials: Sequence[Trial], wanted: np.ndarray) -> Fit | None:
    """Fit so that the tests come out as those of finite elements; None if a body falls apart under a load.

    Levenberg-Marquardt on logarithms, so that too soft counts as much as too stiff. The work v f of a field u under a
    load and of a field v under another changes with a number p by -(v K_p u), K_p the part of the stiffness that p
    stands for: no system is solved for a derivative. What gives in far is seen most, and counts most.

    Args:
        trials: the tests. wanted: what comes out of all of them with finite elements [J] (k,).
    """
    firsts = np.cumsum([0] + [len(trial.names) for trial in trials])[:-1]
    held = np.concatenate([np.full(len(trial.names), not trial.free) for trial in trials])
    # what gives in far swings far
    far = np.concatenate(
        [np.concatenate([np.arange(len(t.pairs)), t.swings]) + first for t, first in zip(trials, firsts, strict=True)]
    )
    share = wanted[far] / np.where(held, wanted[far][held].max(), wanted[far][~held].max(initial=0.0))
    sound = share > LEAST
    grip = np.array([1.0 - trial.loose.mean() for trial in trials])
    grip = np.where(grip > 0.0, (grip / grip.max()) ** GRIP, FREE_WEIGHT)
    weight = np.where(sound, np.maximum(share, LEAST) ** FAR, 0.0)
    weight *= np.concatenate([np.full(len(trial.names), g) for trial, g in zip(trials, grip, strict=True)])
    target = np.log(np.where(sound, wanted, 1.0))

    def misses(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        off, slopes = [], []
        for trial in trials:
            fields = family.answers(logs, trial)
            off.append(trial.values(fields))
            first, second = trial.pairs.T
            changes = -family.energies(logs, fields[first], fields[second])
            slopes.append(changes)
            if len(trial.swings):
                u = fields[trial.swings]
                heavy = trial.mass[:, None] * u
                follow = family.answers(logs, dataclasses.replace(trial, loads=heavy * trial.loose[:, None]))
                moved, work = (u * heavy).sum(axis=(1, 2)), off[-1][trial.swings]
                change = -2.0 * family.energies(logs, u, follow) / moved[:, None]
                slopes.append(off[-1][len(first) :, None] * (change - changes[trial.swings] / work[:, None]))
        work = np.concatenate(off)
        # what gives in the wrong way counts as if it hardly gave in
        work = np.where(sound, np.maximum(work, LEAST * np.abs(wanted)), 1.0)
        return np.log(work) - target, np.concatenate(slopes) / work[:, None]

    def felt(off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Misses with what is worse than before and their weights counted in, and the derivative by the miss."""
        worse = np.maximum(np.abs(off) - np.maximum(np.abs(before), SLIGHT), 0.0)
        return weight * (off + WORSE * np.sign(off) * worse), weight * np.where(worse > 0.0, 1.0 + WORSE, 1.0)

    def cost(logs: np.ndarray, off: np.ndarray) -> float:
        more = [felt(off)[0], family.faith * (logs - family.start), family.costs(logs)[0]]
        return sum(float((part**2).sum()) for part in more)

    def planned(logs: np.ndarray, off: np.ndarray, slopes: np.ndarray, damping: float) -> np.ndarray:
        """The step that is best if misses go straight: what is felt of them has kinks, so it is found bit by bit."""
        step = np.zeros_like(logs)
        for _ in range(PLANS):
            seen, rate = felt(off + slopes @ step)
            dear, dearer = family.costs(logs + step)
            rows = rate[:, None] * slopes
            normal = rows.T @ rows + np.diag(family.faith**2) + dearer.T @ dearer
            hold = damping * (np.diag(normal) + 1e-6)
            down = -(rows.T @ seen + family.faith**2 * (logs + step - family.start) + dearer.T @ dear) - hold * step
            step = step + 0.5 * np.linalg.solve(normal + np.diag(hold), down)
        return step

    try:
        logs, (off, slopes) = family.start, misses(family.start)
    except np.linalg.LinAlgError:
        return None
    before = off
    # where a body hangs by a thread, no numbers help
    weight = np.where(off > np.log(LOOSE), 0.0, weight)
    if not np.isfinite(off).all() or (weight > 0.0)[held & sound].mean() < 0.5:
        return None
    least, damping = cost(logs, off), 1e-2
    for _ in range(family.steps):
        step = planned(logs, off, slopes, damping)
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-30))
        try:
            new_off, new_slopes = misses(logs + step)
            value = cost(logs + step, new_off)
        except np.linalg.LinAlgError:
            value = np.inf
        if value < least:
            logs, off, slopes, least, damping = logs + step, new_off, new_slopes, value, 0.2 * damping
            if np.abs(step).max() < SETTLED:
                break
        else:
            damping *= 8.0
    return Fit(logs, before, off, np.where(held, weight, 0.0))
