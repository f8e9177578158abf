"""Who took much of the processors just now comes after others by as much, and for a short time."""

import pytest

from server.pool.fakes import FakeClock
from toolrack_runner.child_bounds import NICENESS
from toolrack_runner.server.pool.niceness import (
    FREE_PROCESSORS,
    HALF_LIFE_SECONDS,
    STEP,
    STEPS_MAX,
    USERS_MAX,
    RecentUse,
)
from toolrack_runner.server.pool.worker import NICENESS_MAX


def use_for(clock: FakeClock, use: RecentUse, user: str, processors: float) -> None:
    """So many processors, for ten seconds, in calls of 10 ms."""
    for _ in range(1_000):
        clock.now += 0.01
        use.add(user, 0.01 * processors)


def test_who_took_nothing_and_who_took_what_is_free_comes_after_nobody() -> None:
    clock = FakeClock()
    use = RecentUse(clock)
    assert use.steps("a") == 0
    use_for(clock, use, "a", FREE_PROCESSORS * 0.95)
    assert use.steps("a") == 0


@pytest.mark.parametrize("times", [2, 4, 8])
def test_who_took_so_many_times_what_is_free_weighs_as_much_less_and_another_user_does_not(
    times: int,
) -> None:
    clock = FakeClock()
    use = RecentUse(clock)
    use_for(clock, use, "a", FREE_PROCESSORS * times)
    assert 0.85 < STEP ** -use.steps("a") * times < 1.15
    assert use.steps("b") == 0


def test_there_is_a_bound_that_the_kernel_takes() -> None:
    use = RecentUse(FakeClock())
    use.add("a", 1_000.0)
    assert use.steps("a") == STEPS_MAX == NICENESS_MAX - NICENESS


def test_it_is_soon_forgotten() -> None:
    clock = FakeClock()
    use = RecentUse(clock)
    use.add("a", 1.0)
    before = use.steps("a")
    clock.now += HALF_LIFE_SECONDS
    assert 0 < use.steps("a") < before
    clock.now += 10 * HALF_LIFE_SECONDS
    assert use.steps("a") == 0


def test_users_who_come_and_go_are_not_kept() -> None:
    clock = FakeClock()
    use = RecentUse(clock)
    for number in range(3 * USERS_MAX):
        clock.now += HALF_LIFE_SECONDS / 10
        use.add(f"user {number}", 0.1)
    assert len(use._used) <= USERS_MAX
