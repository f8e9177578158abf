"""Users share places: each has its part, takes turns with the others, and meets its own excess alone."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.pool.fakes import FakeClock
from toolrack_runner.server.pool.fair_queue import (
    THE_SERVICE,
    FairQueue,
    QueueFullError,
    Shares,
    State,
    Turn,
    Turns,
)

CASES = json.loads((Path(__file__).parents[3] / "support/fair-queue.json").read_text("utf-8"))["cases"]
ONE = Shares(places=1, places_per_user=1, waiting_per_user=3, waiting_max=6)


class Played:
    """Plays the steps of one case, and notes which requests each step starts or refuses."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.clock = FakeClock()
        shares = Shares(case["places"], case["placesPerUser"], case["waitingPerUser"], case["waitingMax"])
        self.queue = FairQueue(shares, self.clock)
        self.turns: dict[str, Turn] = {}
        self.started: list[str] = []
        self.refused: list[str] = []
        self._elapsed_ms = 0

    def play(self, step: dict[str, Any]) -> None:
        """Plays one step and compares its results."""
        self.started, self.refused = [], []
        if "asks" in step:
            assert self.ask(step["user"], step["asks"]) == step["becomes"]
        elif "ends" in step:
            assert self.turns[step["ends"]].state is State.RUNNING
            self.queue.leave(self.turns[step["ends"]])
        elif "leaves" in step:
            assert self.turns[step["leaves"]].state is State.WAITING
            self.queue.leave(self.turns[step["leaves"]])
        elif "pauses" in step:
            self.queue.pause(step["pauses"], step["forMs"] / 1000)
        else:
            self._elapsed_ms += step["after"]
            self.clock.pass_to(self._elapsed_ms / 1000)
        assert self.started == step.get("starts", [])
        assert self.refused == ([step["refuses"]] if "refuses" in step else [])

    def ask(self, user: str, name: str) -> str:
        """What the asker becomes."""
        try:
            turn = self.queue.ask(user, lambda: self.changed(name))
        except QueueFullError:
            return "refused"
        self.turns[name] = turn
        return "running" if turn.state is State.RUNNING else "waiting"

    def changed(self, name: str) -> None:
        """Notes a start, or a refusal."""
        (self.refused if self.turns[name].refused else self.started).append(name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_who_starts_waits_and_is_refused(case: dict[str, Any]) -> None:
    played = Played(case)
    for step in case["steps"]:
        played.play(step)


def ignore() -> None:
    """Does nothing."""


def test_the_cases_are_there() -> None:
    assert len(CASES) >= 9


def test_a_refusal_says_whose_fault_it_is_and_when_to_come_again() -> None:
    queue = FairQueue(Shares(1, 1, 2, 3), FakeClock())
    for _ in range(3):
        queue.ask("a", ignore)
    with pytest.raises(QueueFullError) as own:
        queue.ask("a", ignore)
    assert (own.value.is_users_own, own.value.count, own.value.retry_after_seconds) == (True, 3, 1)
    queue.ask("b", ignore)
    queue.pause("a", 7.2)
    with pytest.raises(QueueFullError) as paused:
        queue.ask("a", ignore)
    assert paused.value.retry_after_seconds == 8
    queue.ask("c", ignore)
    with pytest.raises(QueueFullError) as full:
        queue.ask("d", ignore)
    assert (full.value.is_users_own, full.value.count) == (False, 3)


def test_the_services_own_work_waits_up_to_the_bound_of_all_and_is_never_paused() -> None:
    queue = FairQueue(Shares(1, 1, 1, 4), FakeClock())
    queue.pause(THE_SERVICE, 100)
    turns = [queue.ask(THE_SERVICE, ignore) for _ in range(5)]
    assert [turn.state for turn in turns] == [State.RUNNING, *[State.WAITING] * 4]


def test_a_snapshot_counts_who_runs_and_waits_and_since_when() -> None:
    clock = FakeClock()
    queue = FairQueue(Shares(2, 1, 3, 6), clock)
    assert [*queue.snapshot().values()] == [2, 1, 0, 0, 0, 0]
    queue.ask("a", ignore)
    clock.pass_to(1.0)
    queue.ask("a", ignore)
    queue.ask("b", ignore)
    clock.pass_to(3.5)
    queue.ask("b", ignore)
    assert [*queue.snapshot().values()] == [2, 1, 2, 2, 2, 2_500]


def test_a_user_who_comes_again_and_again_gets_no_more_turns_than_one_who_waits() -> None:
    """A user with no request between two calls must not count as one who has never started."""
    queue = FairQueue(ONE, FakeClock())
    order: list[str] = []
    running = queue.ask("a", ignore)
    waiting = {user: queue.ask(user, ignore) for user in ("b", "c")}
    for _ in range(9):
        user = running.user
        queue.leave(running)
        running = next(turn for turn in waiting.values() if turn.state is State.RUNNING)
        order.append(running.user)
        waiting[user] = queue.ask(user, ignore)
    assert order == ["b", "c", "a"] * 3


def test_who_started_longest_ago_is_forgotten_first() -> None:
    turns = Turns(remembered_max=2)
    for user in "abc":
        turns.started(user)
        turns.ended(user)
    assert [turns.next_of("cba"), turns.next_of("cb"), turns.next_of("c"), turns.next_of("")] == [
        "a",
        "b",
        "c",
        None,
    ]


def test_one_who_is_cancelled_leaves_the_queue_and_its_place_goes_on() -> None:
    async def run() -> list[str]:
        queue = FairQueue(ONE, asyncio.get_running_loop())
        done: list[str] = []
        may_end = asyncio.Event()

        async def work(user: str) -> None:
            async with queue.place(user):
                await may_end.wait()
                done.append(user)

        tasks = {user: asyncio.create_task(work(user)) for user in "abc"}
        await asyncio.sleep(0)
        tasks["b"].cancel()  # It waits.
        tasks["a"].cancel()  # It runs.
        may_end.set()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        assert [*queue.snapshot().values()][2:5] == [0, 0, 0]
        return done

    assert asyncio.run(run()) == ["c"]


def test_one_who_is_cancelled_at_the_moment_it_starts_gives_its_place_back() -> None:
    async def run() -> None:
        queue = FairQueue(ONE, asyncio.get_running_loop())
        first = queue.ask("a", ignore)

        async def work() -> None:
            async with queue.place("b"):
                raise AssertionError("it was cancelled before")

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        queue.leave(first)  # Now `b` has the place, and has not heard of it.
        assert queue.snapshot()["running"] == 1
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert queue.snapshot()["running"] == 0

    asyncio.run(run())


def test_one_who_made_room_for_another_is_told_whose_fault_it_is() -> None:
    async def run() -> None:
        queue = FairQueue(Shares(1, 1, 2, 2), asyncio.get_running_loop())
        held = queue.ask("a", ignore)
        queue.ask("a", ignore)

        async def work() -> None:
            async with queue.place("a"):
                raise AssertionError("it never had a place")

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        queue.ask("b", ignore)
        with pytest.raises(QueueFullError) as refused:
            await task
        assert (refused.value.is_users_own, refused.value.count) == (True, 3)
        queue.leave(held)
        assert queue.snapshot()["running"] == 1

    asyncio.run(run())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "leave", "pause", "pass"]), st.sampled_from("abcd"), st.integers(0, 9)
        )
    )
)
def test_whatever_happens_no_bound_is_passed_and_no_place_stays_free_for_one_who_may_have_it(
    steps: list[tuple[str, str, int]],
) -> None:
    clock = FakeClock()
    shares = Shares(3, 2, 3, 6)
    queue = FairQueue(shares, clock)
    turns: list[Turn] = []
    paused: dict[str, float] = {}
    for what, user, number in steps:
        if what == "ask":
            with suppress(QueueFullError):
                turns.append(queue.ask(user, ignore))
        elif what == "leave" and turns:
            queue.leave(turns[number % len(turns)])
        elif what == "pause":
            queue.pause(user, number)
            paused[user] = max(paused.get(user, 0.0), clock.now + number)
        else:
            clock.pass_to(clock.now + number)
        running = [turn.user for turn in turns if turn.state is State.RUNNING]
        waiting = [turn.user for turn in turns if turn.state is State.WAITING]
        assert [len(running), len(waiting)] == [*queue.snapshot().values()][2:4]
        assert len(running) <= shares.places
        assert len(waiting) <= shares.waiting_max
        for each in "abcd":
            assert running.count(each) <= shares.places_per_user
            assert waiting.count(each) <= shares.waiting_per_user
        could = [
            each
            for each in waiting
            if running.count(each) < shares.places_per_user and paused.get(each, 0.0) <= clock.now
        ]
        assert len(running) == shares.places or not could
