"""Several calls in one request."""

import asyncio
import hashlib
import json
from typing import Any

import pytest

from support.frames import BATCH, Heard, connected, frame, hear, hear_all, hello
from support.live_runner import LiveRunner, invocation
from support.until import until
from toolrack_runner.server.frames import connection as connections
from toolrack_runner.server.frames.connection import Connection
from toolrack_runner.server.http.answer import Answer

SOURCE = '''
import os
import time


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def sleep(seconds: float) -> str:
    """Sleeps."""
    time.sleep(seconds)
    return "awake"


def crash() -> str:
    """Ends its process."""
    os._exit(3)


TOOL_SPECS = [
    {"name": "batched:add", "handler": add},
    {"name": "batched:sleep", "handler": sleep},
    {"name": "batched:crash", "handler": crash},
]
'''


def body(tool: str, **arguments: Any) -> dict[str, Any]:
    """The body of one call."""
    return invocation(SOURCE, f"batched:{tool}", arguments, deadlineMs=600_000)


def batch(*bodies: dict[str, Any]) -> bytes:
    """The frame of these calls."""
    texts = [json.dumps(each).encode() for each in bodies]
    return frame(BATCH, b"".join(len(text).to_bytes(4, "big") + text for text in texts))


def test_a_hanging_a_crashing_an_unknown_and_a_good_call_each_end_by_themselves(runner: LiveRunner) -> None:
    unknown = body("add", a=1, b=1) | {"sha256": hashlib.sha256(b"no such module").hexdigest()}
    del unknown["source"]
    with connected(runner) as connection:
        calls = [body("sleep", seconds=600), body("crash"), unknown, body("add", a=20, b=22)]
        connection.sendall(hello(runner.secret) + batch(*calls))
        heard: dict[int, Heard] = {}
        for _ in range(3):
            answer = hear(connection)
            assert answer
            heard[answer.call] = answer
        assert heard.keys() == {1, 2, 3}
        assert heard[1].json["code"] == "TOOL_CRASHED"
        assert heard[2].json["error"]["details"] == [{"reason": "MODULE_UNKNOWN"}]
        assert heard[3].json["value"] == 42
        assert runner.health()["calls"]["running"] == 1
        # A request that comes before the last answer is refused, and the caller that goes ends what still runs.
    until(runner.is_idle, "the end of the call that hangs")


def test_the_caller_that_goes_ends_all_calls(runner: LiveRunner) -> None:
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + batch(*[body("sleep", seconds=600)] * 3))
        until(lambda: runner.health()["calls"]["running"] == 3, "the calls")
    until(runner.is_idle, "their end")


def test_calls_beyond_the_places_of_a_user_wait_for_their_turn(runner: LiveRunner) -> None:
    # A user of this runner has half of its 8 places, and as many again may wait twice.
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + batch(*[body("add", a=1, b=n) for n in range(12)]))
        answers = [hear(connection) for _ in range(12)]
        values = {answer.call: answer.json["value"] for answer in answers if answer}
    assert values == {number: 1 + number for number in range(12)}


@pytest.mark.parametrize(
    "payload",
    [b"", b"\0\0", b"\0\0\0\3{}", b"\0\0\0\2{}" * 65, b"\0\0\0\2{}\xff\xff\xff\xff"],
    ids=["empty", "half a length", "cut", "too many", "a wrong length after a good call"],
)
def test_a_batch_that_is_not_whole_runs_nothing(runner: LiveRunner, payload: bytes) -> None:
    with connected(runner) as connection:
        connection.sendall(hello(runner.secret) + frame(BATCH, payload))
        (heard,) = hear_all(connection)
        assert heard.json["error"]["message"] == "a batch must have 1 to 64 whole calls"


@pytest.mark.parametrize(("seconds", "is_held"), [(600.0, True), (0.0, False)])
def test_children_are_made_after_the_answers_unless_a_call_hangs(
    seconds: float, is_held: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    refilled: list[str] = []
    monkeypatch.setattr(connections, "HOLD_SECONDS", seconds)

    async def make_two_calls() -> None:
        hangs = asyncio.Event()

        async def answered(_runner: object, data: bytes, _stream: object) -> Answer:
            async def refill() -> None:
                refilled.append(data.decode())

            if data == b"hangs":
                await hangs.wait()
            return Answer(b"{}", afterwards=refill)

        monkeypatch.setattr(connections, "invoke", answered)
        nobody: Any = None
        connection = Connection(nobody, "s", set())
        transport: Any = type("Transport", (), {"write": lambda *_: None, "is_closing": lambda _: False})()
        connection.connection_made(transport)
        connection.data_received(hello("s") + frame(BATCH, b"\0\0\0\5quick\0\0\0\5hangs"))
        # All that can happen without time has happened then.
        for _ in range(20):
            await asyncio.sleep(0)
        assert connection.calls.keys() == {1}
        assert refilled == ([] if is_held else ["quick"])
        hangs.set()
        for _ in range(20):
            await asyncio.sleep(0)

    asyncio.run(make_two_calls())
    assert sorted(refilled) == ["hangs", "quick"]
