"""Calls that come together are answered first. Children are killed and made after them, but not too late."""

from server.pool.fakes import FakeChild, FakeClock
from toolrack_runner.server.pool.refills import HOLD_SECONDS, PAUSE_SECONDS, BehindAnswers


def test_a_child_with_a_result_is_killed_when_the_last_call_was_answered_a_moment_ago() -> None:
    clock, child = FakeClock(), FakeChild(1)
    behind = BehindAnswers(clock)
    with behind.busy():
        with behind.busy():
            behind.kill(child, has_result=True)
        clock.pass_to(PAUSE_SECONDS)
        assert child.is_alive
    clock.pass_to(3 * PAUSE_SECONDS)
    assert not child.is_alive


def test_it_does_not_outlive_the_hold_while_other_calls_run() -> None:
    clock, child = FakeClock(), FakeChild(1)
    behind = BehindAnswers(clock)
    with behind.busy():
        behind.kill(child, has_result=True)
        clock.pass_to(HOLD_SECONDS)
        assert not child.is_alive


def test_a_child_without_a_result_is_killed_at_once() -> None:
    clock, child = FakeClock(), FakeChild(1)
    behind = BehindAnswers(clock)
    with behind.busy():
        behind.kill(child, has_result=False)
        clock.pass_to(0.0)
        assert not child.is_alive


def test_a_child_is_made_at_once_where_nobody_waits_and_else_behind_the_calls() -> None:
    clock = FakeClock()
    behind = BehindAnswers(clock)
    assert not behind.is_held(0.0, has_waiting=False)
    with behind.busy():
        clock.pass_to(HOLD_SECONDS - 0.001)
        assert behind.is_held(0.0, has_waiting=True)
        clock.pass_to(HOLD_SECONDS)
        assert not behind.is_held(0.0, has_waiting=True)
    assert behind.is_held(HOLD_SECONDS, has_waiting=True)
    clock.pass_to(HOLD_SECONDS + 2 * PAUSE_SECONDS)
    assert not behind.is_held(HOLD_SECONDS, has_waiting=True)


def test_whoever_is_held_is_called_when_either_hold_is_over() -> None:
    clock = FakeClock()
    behind = BehindAnswers(clock)
    free: list[float] = []

    def inspect() -> None:
        if not behind.is_held(0.0, has_waiting=True):
            free.append(clock.now)

    behind.when_not_held(inspect)
    with behind.busy():
        clock.pass_to(PAUSE_SECONDS)
        assert free == []
        clock.pass_to(HOLD_SECONDS)
        assert free == [HOLD_SECONDS]
