"""What one user asks for too much is that user's alone: another's calls and uploads go on."""

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from support.live_runner import LiveRunner, invocation, live_runner
from support.until import until

RESTS = """
import time
def rest(seconds: float) -> str:
    time.sleep(seconds)
    return "rested"
TOOL_SPECS = [{"name": "rests:rest", "description": "Waits.", "handler": rest}]
"""
HANGS = RESTS + "while True:\n    time.sleep(1)\n"
SPINS = RESTS + "while True:\n    pass\n"
#: Its messages take the runner's own time to read.
SAYS_MUCH = """
def say() -> object:
    return [{"a": 0}] * 240_000
def rest() -> str:
    return "rested"
TOOL_SPECS = [
    {"name": "says:say", "description": "Says much.", "handler": say},
    {"name": "says:rest", "description": "Says little.", "handler": rest},
]
"""
#: What hangs holds its place until the test lets go of it.
LONG_MS = 100_000


@pytest.fixture
def shared() -> Iterator[LiveRunner]:
    """One that nobody else asks."""
    with live_runner() as live:
        live.health()
        yield live


@contextmanager
def many(live: LiveRunner, path: str, bodies: list[dict[str, Any]]) -> Iterator[list[Future[httpx.Response]]]:
    """Requests that are under way; when the block ends, their callers go."""
    limits = httpx.Limits(max_connections=len(bodies))
    headers = dict(live.client.headers)
    with ThreadPoolExecutor(len(bodies)) as threads:
        with httpx.Client(base_url=live.url, headers=headers, limits=limits, timeout=120) as client:
            answers = [threads.submit(client.post, path, json=body) for body in bodies]
            try:
                yield answers
            finally:
                live.process.kill()
        for answer in answers:
            answer.exception()


def resting(tenant: str, seconds: float, **more: Any) -> dict[str, Any]:
    """A call that sleeps."""
    return invocation(RESTS, "rests:rest", {"seconds": seconds}, tenant=tenant, **more)


def settled(live: LiveRunner, answers: list[Future[httpx.Response]], kind: str) -> dict[str, int]:
    """The numbers of `/health`, once every request runs, waits, or was refused."""
    seen: list[dict[str, int]] = []

    def all_are_there() -> bool:
        seen.append(live.health()[kind])
        refused = sum(answer.done() for answer in answers)
        return seen[-1]["running"] + seen[-1]["waiting"] + refused == len(answers)

    until(all_are_there, "every request")
    return seen[-1]


def test_thirty_sleeping_calls_of_one_cost_another_no_call(shared: LiveRunner) -> None:
    bodies = [resting("greedy", 1_000, deadlineMs=LONG_MS)] * 30
    with many(shared, "/invoke", bodies) as greedy:
        calls = settled(shared, greedy, "calls")
        assert calls == calls | {
            "places": 8,
            "placesPerUser": 4,
            "running": 4,
            "waiting": 8,
            "usersWaiting": 1,
        }
        assert calls["longestWaitMs"] > 0
        honest = [shared.client.post("/invoke", json=resting("honest", 0)) for _ in range(20)]
        assert [answer.status_code for answer in honest] == [200] * 20
        refused = [answer.result() for answer in greedy if answer.done()]
        assert [answer.status_code for answer in refused] == [429] * 18
        assert refused[0].headers["Retry-After"] == "1"
        assert refused[0].json()["error"]["message"] == (
            "12 of your calls run or wait, as many as one user may have; try again when one of them has ended"
        )
        assert shared.health()["calls"]["running"] == 4


def test_a_wait_in_the_queue_counts_for_the_deadline_of_a_call(shared: LiveRunner) -> None:
    bodies = [resting("greedy", 2, deadlineMs=LONG_MS)] * 4
    late = [resting("greedy", 0, deadlineMs=500), resting("greedy", 100, deadlineMs=5_000)]
    with many(shared, "/invoke", bodies) as running:
        until(lambda: shared.health()["calls"]["running"] == 4, "four calls")
        with ThreadPoolExecutor(2) as threads:
            refused, killed = threads.map(
                lambda body: shared.client.post("/invoke", json=body, timeout=30), late
            )
        assert [answer.result().json()["outcome"] for answer in running] == ["success"] * 4
    assert refused.status_code == 429
    assert refused.json()["error"]["message"] == (
        "the call waited in the queue of the runner until its deadline, and nothing was run; try again"
    )
    assert killed.json()["code"] == "DEADLINE_EXCEEDED"
    (seconds,) = re.findall(r"did not answer within ([\d.]+) s", killed.json()["error"])
    assert float(seconds) < 5


def test_calls_that_come_together_take_turns_with_those_of_another(shared: LiveRunner) -> None:
    bodies = [resting("greedy", 5, deadlineMs=LONG_MS)] * 12
    with many(shared, "/invoke", bodies) as greedy:
        until(lambda: shared.health()["calls"]["waiting"] > 0, "a queue")
        with ThreadPoolExecutor(4) as threads:
            honest = list(
                threads.map(lambda _: shared.client.post("/invoke", json=resting("honest", 0)), range(4))
            )
        assert [answer.status_code for answer in honest] == [200] * 4
        assert not all(answer.done() for answer in greedy)


def test_sixteen_uploads_of_one_that_hang_cost_another_no_wait(shared: LiveRunner) -> None:
    bodies = [{"name": "rests", "source": HANGS, "tenant": "greedy", "deadlineMs": LONG_MS}] * 16
    with many(shared, "/check", bodies) as greedy:
        checks = settled(shared, greedy, "checks")
        assert checks == checks | {"places": 4, "placesPerUser": 2, "running": 2, "waiting": 4}
        assert shared.check("rests", RESTS, tenant="honest")["ok"]
        assert shared.check("rests", RESTS)["ok"]
        refused = [answer.result() for answer in greedy if answer.done()]
        assert [answer.status_code for answer in refused] == [429] * 10
        assert refused[0].json()["error"]["message"].startswith("6 of your module checks run or wait, ")
        # Neither does a call of anybody wait for them.
        assert [
            shared.client.post("/invoke", json=resting(who, 0)).status_code for who in ("greedy", "b")
        ] == [
            200,
            200,
        ]


def test_a_check_that_hangs_costs_its_user_a_pause_and_nobody_else(shared: LiveRunner) -> None:
    hung = shared.check("rests", HANGS, tenant="greedy", deadlineMs=6_000)
    # Its pause is as long: time enough for what is asked meanwhile.
    assert "within 6 s" in hung["faults"][0]["message"]
    body = {"name": "rests", "source": RESTS, "tenant": "greedy"}
    with many(shared, "/check", [body]) as again:
        assert settled(shared, again, "checks")["waiting"] == 1
        assert shared.check("rests", RESTS, tenant="honest")["ok"]
        assert shared.health()["checks"]["waiting"] == 1
        assert again[0].result().json()["ok"]


def test_an_import_that_spins_costs_its_user_a_pause_too(shared: LiveRunner) -> None:
    # Where the machine has the time, the processor limit of a check ends it before its deadline.
    assert not shared.check("rests", SPINS, tenant="greedy", deadlineMs=50_000)["ok"]
    body = {"name": "rests", "source": RESTS, "tenant": "greedy"}
    with many(shared, "/check", [body]) as again:
        assert settled(shared, again, "checks")["waiting"] == 1


def test_an_answer_that_takes_the_runners_own_time_costs_its_user_a_pause_and_nobody_else(
    shared: LiveRunner,
) -> None:
    def is_paused() -> bool:
        assert shared.invoke(SAYS_MUCH, "says:say", tenant="greedy")["outcome"] == "success"
        with ThreadPoolExecutor(1) as threads:
            again = threads.submit(shared.invoke, SAYS_MUCH, "says:rest", tenant="greedy")
            was_paused = False
            # What runs nothing and waits is paused.
            while not was_paused and not again.done():
                calls = shared.health()["calls"]
                was_paused = (calls["running"], calls["waiting"]) == (0, 1)
            if was_paused:
                assert shared.invoke(RESTS, "rests:rest", {"seconds": 0}, tenant="honest")["text"] == "rested"
            assert again.result()["text"] == "rested"
        return was_paused

    until(is_paused, "a call that waits while nothing runs")


def test_where_one_user_has_every_slot_nothing_is_held_back_and_nothing_pauses() -> None:
    with live_runner(environment={"TOOLRACK_RUNNER_USER_SLOTS": "all"}) as alone:
        alone.check("rests", HANGS, tenant="me", deadlineMs=300)
        assert alone.check("rests", RESTS, tenant="me")["ok"]
        alone.invoke(SAYS_MUCH, "says:say", tenant="me")
        assert alone.invoke(SAYS_MUCH, "says:rest", tenant="me")["outcome"] == "success"
        with many(alone, "/invoke", [resting("me", 1_000, deadlineMs=LONG_MS)] * 8) as calls:
            assert settled(alone, calls, "calls") == alone.health()["calls"] | {"running": 8, "waiting": 0}
