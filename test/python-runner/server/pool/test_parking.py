"""Which child gets the next call of a user and session, and when parked children end."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server.pool.fakes import FakeChild, key_of
from support.environments import live_pool
from toolrack_runner.server.pool.holding import Holding
from toolrack_runner.server.pool.parking import Parking
from toolrack_runner.server.pool.warm_queue import WAITING_OF_ONE_MAX, WarmQueue, WarmQueues

MODULE = """
def run() -> str:
    return "done"


TOOL_SPECS = [{"name": "parked:run", "description": "Runs.", "handler": run}]
"""
KEY = key_of("a")._replace(reuse=100, session="s")
SMALL = Holding()


class Child(FakeChild):
    """A child that can be parked."""

    parked_until: float | None = None
    has_moved = False

    def begin_again(self, holding: Holding) -> None:
        """For its next call."""
        self.done.append(holding)

    def waiting_bytes(self, holding: Holding, *, again: bool) -> int:
        """So little that nobody makes room."""
        return 0


@contextmanager
def resting(count: int, *, may_stay: bool = True) -> Iterator[tuple[Any, WarmQueue[Any], list[Child]]]:
    """So many children that have answered and not rested yet."""
    queues: Any = WarmQueues[Child](1 << 30)
    queue = queues.called(KEY, "")
    queue.coming = count
    yield Parking(queues, lambda _: may_stay), queue, [Child(number) for number in range(count)]


def run(act: Callable[[], Any]) -> None:
    async def acts() -> None:
        await act()

    asyncio.run(acts())


def test_a_call_waits_for_a_child_that_rests_and_for_no_more_than_rest() -> None:
    async def act() -> None:
        with resting(2) as (parking, queue, children):
            calls = [asyncio.create_task(parking.next_rested(queue, 60.0)) for _ in range(3)]
            await asyncio.sleep(0)
            assert [call.done() for call in calls] == [False, False, True]
            assert await calls[2] is None
            parking.ended(children[0], queue, SMALL)
            parking.ended(children[1], queue, None)
            assert [await calls[0], await calls[1]] == [children[0], None]
            assert (children[0].done, children[1].done) == ([SMALL], ["killed"])
            assert not queue.waiting

    run(act)


def test_a_child_that_nobody_waits_for_waits_itself_and_the_last_is_called_first() -> None:
    async def act() -> None:
        with resting(2) as (parking, queue, children):
            for child in children:
                parking.ended(child, queue, SMALL)
            assert list(queue.waiting) == children
            assert parking._queues.take(queue) is children[1]
            assert parking._queues.take(queue) is children[0]

    run(act)


def test_a_call_that_is_cancelled_leaves_its_place_or_its_child() -> None:
    async def act() -> None:
        with resting(2) as (parking, queue, children):
            first, second = (asyncio.create_task(parking.next_rested(queue, 60.0)) for _ in range(2))
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait([first])
            assert len(queue.takers) == 1
            parking.ended(children[0], queue, SMALL)
            second.cancel()  # It has its child, and has not run yet.
            await asyncio.wait([second])
            assert children[0].done == [SMALL, "killed"]

    run(act)


def test_what_may_not_stay_is_killed() -> None:
    async def act() -> None:
        with resting(1, may_stay=False) as (parking, queue, (child,)):
            parking.ended(child, queue, SMALL)
            assert (child.done, len(queue.waiting)) == (["killed"], 0)
        with resting(1) as (parking, queue, (child,)):
            parking._queues.drop(KEY)  # The module was deleted during the call.
            parking.ended(child, queue, SMALL)
            assert (child.done, len(queue.waiting)) == (["killed"], 0)
        with resting(WAITING_OF_ONE_MAX + 1) as (parking, queue, children):
            for child in children:
                parking.ended(child, queue, SMALL)
            assert len(queue.waiting) == WAITING_OF_ONE_MAX
            assert children[-1].done == ["killed"]

    run(act)


@pytest.mark.parametrize("as_nobody", [False, True], ids=["as_started", "as_nobody"])
def test_a_child_ends_when_no_call_came_for_a_minute(as_nobody: bool) -> None:
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the pool as started is an ordinary user's already")
    with live_pool(as_nobody=as_nobody) as pool:
        assert [pool.call(MODULE, "parked:run", reuse=100)["served"] for _ in range(3)] == [0, 1, 2]
        assert pool.age() == 1
        assert pool.call(MODULE, "parked:run", reuse=100)["served"] == 0
