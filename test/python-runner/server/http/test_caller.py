"""What becomes of a call whose caller goes away."""

import json
import socket
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from support.live_runner import LiveRunner, invocation, live_runner
from support.process_tree import children_of
from support.until import until

SLEEPY = '''
import time


def sleep(seconds: float) -> str:
    """Sleeps."""
    time.sleep(seconds)
    return "awake"


TOOL_SPECS = [{"name": "sleepy:sleep", "handler": sleep}]
'''


def sleeping_call(runner: LiveRunner, seconds: float) -> socket.socket:
    """A call under way; closing the connection is going away."""
    body = json.dumps(invocation(SLEEPY, "sleepy:sleep", {"seconds": seconds}, deadlineMs=600_000)).encode()
    where = urlsplit(runner.url)
    assert where.hostname
    assert where.port
    connection = socket.create_connection((where.hostname, where.port))
    head = (
        f"POST /invoke HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {runner.secret}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def has(runner: LiveRunner, *, running: int, waiting: int) -> bool:
    """Whether so many calls run, and so many wait for their turn."""
    calls = runner.health()["calls"]
    return bool(calls["running"] == running and calls["waiting"] == waiting)


def have_sessions(runner: LiveRunner) -> bool:
    """Whether every child that main counts leads its session: `children_of` finds none before that."""
    return bool(0 < runner.health()["children"]["alive"] == len(children_of(runner.process.pid)))


def test_a_call_is_killed_when_its_caller_goes_and_its_slot_is_free_again() -> None:
    with live_runner(environment={"TOOLRACK_RUNNER_SLOTS": "1"}) as runner:
        with sleeping_call(runner, 10_000):
            until(lambda: has(runner, running=1, waiting=0), "the call")
            until(lambda: have_sessions(runner), "its child, and those that wait for the next")
            children = children_of(runner.process.pid)
        until(lambda: has(runner, running=0, waiting=0), "its end")
        # The runner makes no children between two calls: those that are left all wait for one.
        until(
            lambda: len(children_of(runner.process.pid) & children) == len(children) - 1,
            "the end of its child",
        )
        assert runner.invoke(SLEEPY, "sleepy:sleep", {"seconds": 0})["text"] == "awake"


def test_what_is_refused_is_not_kept() -> None:
    body = invocation(SLEEPY + "# refused\n", "sleepy:sleep", {"seconds": 0})
    with live_runner(environment={"TOOLRACK_RUNNER_SLOTS": "1"}) as runner, ExitStack() as calls:
        for waiting in range(3):
            calls.enter_context(sleeping_call(runner, 10_000))
            until(lambda: has(runner, running=1, waiting=waiting), "a call that waits")  # noqa: B023
        assert runner.client.post("/invoke", json=body).status_code == 429
        calls.close()
        until(lambda: has(runner, running=0, waiting=0), "an idle runner")
        del body["source"]
        assert runner.client.post("/invoke", json=body).status_code == 404


def test_who_goes_in_the_middle_of_a_body_is_no_failure_of_the_runner(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with live_runner() as runner:
        runner.health()
        where = urlsplit(runner.url)
        assert where.hostname
        assert where.port
        with socket.create_connection((where.hostname, where.port)) as connection:
            head = (
                f"POST /invoke HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {runner.secret}\r\n"
                "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"
            )
            connection.sendall(head.encode())
            # The route reads now.
            assert b"100 Continue" in connection.recv(1_024)
            connection.sendall(b"{")
        runner.health()
    assert capfd.readouterr().err == ""


def test_who_goes_while_waiting_for_a_turn_leaves_the_queue_and_nothing_is_run() -> None:
    with live_runner(environment={"TOOLRACK_RUNNER_SLOTS": "1"}) as runner:
        with sleeping_call(runner, 10_000):
            until(lambda: has(runner, running=1, waiting=0), "the first call")
            with sleeping_call(runner, 0):
                until(lambda: has(runner, running=1, waiting=1), "the second in the queue")
            until(lambda: has(runner, running=1, waiting=0), "an empty queue")
        until(lambda: has(runner, running=0, waiting=0), "an idle runner")
        assert runner.invoke(SLEEPY, "sleepy:sleep", {"seconds": 0})["text"] == "awake"


def test_one_who_stays_is_answered_while_others_go(runner: LiveRunner) -> None:
    for _ in range(5):
        with sleeping_call(runner, 10_000):
            until(lambda: has(runner, running=1, waiting=0), "the call")
            assert runner.invoke(SLEEPY, "sleepy:sleep", {"seconds": 0})["text"] == "awake"
        until(lambda: has(runner, running=0, waiting=0), "its end")
