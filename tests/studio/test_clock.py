"""The clock: frames of fixed length, as many as the wall's clock asks for."""

from __future__ import annotations

import pytest

from pliant.studio.clock import Clock


class Wall:
    """A clock on the wall that a test sets."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


def run(clock: Clock, wall: Wall, seconds: float, cost: float) -> int:
    """Frames done in a time when each costs so much."""
    done, end = 0, wall.time + seconds
    while wall.time < end:
        if clock.due():
            wall.time += cost
            clock.finished()
            done += 1
        else:
            wall.time += max(clock.wait(), 1e-6)
    return done


@pytest.mark.parametrize("speed", [0.1, 0.5, 1.0, 2.0])
def test_simulated_time_follows_the_clock(speed):
    wall = Wall()
    clock = Clock(1 / 60, wall)
    clock.speed = speed
    done = run(clock, wall, 10.0, cost=0.001)
    assert done == pytest.approx(600 * speed, abs=2)
    assert clock.factor == pytest.approx(speed, rel=0.02)
    assert clock.fps == pytest.approx(60 * speed, rel=0.02)


def test_a_slow_machine_slows_down_and_says_so():
    wall = Wall()
    clock = Clock(1 / 60, wall)
    done = run(clock, wall, 10.0, cost=0.05)
    assert done == pytest.approx(200, abs=2)
    assert clock.factor == pytest.approx(1 / 3, rel=0.05)


def test_a_pause_owes_nothing():
    wall = Wall()
    clock = Clock(1 / 60, wall)
    run(clock, wall, 1.0, cost=0.001)
    clock.stop()
    wall.time += 100.0
    assert run(clock, wall, 1.0, cost=0.001) <= 61


def test_a_hitch_is_not_caught_up():
    wall = Wall()
    clock = Clock(1 / 60, wall)
    run(clock, wall, 1.0, cost=0.001)
    wall.time += 5.0
    assert run(clock, wall, 1.0, cost=0.001) <= 63


def test_nothing_is_claimed_before_anything_is_known():
    clock = Clock(1 / 60, Wall())
    assert clock.factor == 0.0
    assert clock.fps == 0.0
