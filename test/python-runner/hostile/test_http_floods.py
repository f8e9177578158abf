"""Callers that go away, come in thousands, or never finish what they say."""

import asyncio
import json
import socket
import time

import httpx
import pytest

from hostile.resident import resident_bytes
from hostile.uploads import HONEST, upload
from support.live_runner import LiveRunner, invocation
from support.until import until

RESTS = upload("def rest(seconds: float) -> str:\n    time.sleep(seconds)\n    return 'rested'", "rest")


def test_hundreds_of_calls_at_once_are_answered_or_sent_away_and_none_fails(any_runner: LiveRunner) -> None:
    async def ask_all() -> list[int]:
        limits = httpx.Limits(max_connections=400)
        headers = dict(any_runner.client.headers)
        async with httpx.AsyncClient(
            base_url=any_runner.url, headers=headers, limits=limits, timeout=60
        ) as client:
            body = invocation(HONEST, "hostile:hello")
            answers = await asyncio.gather(*(client.post("/invoke", json=body) for _ in range(400)))
            return [answer.status_code for answer in answers]

    codes = asyncio.run(ask_all())
    assert set(codes) <= {200, 429}
    assert codes.count(200) >= 12
    until(any_runner.is_idle, "an idle runner")
    assert any_runner.invoke(HONEST, "hostile:hello")["text"] == "hello"


@pytest.mark.parametrize("state", ["running", "waiting"])
def test_who_goes_away_takes_the_call_along(any_runner: LiveRunner, state: str) -> None:
    lines = [connect(any_runner) for _ in range(1 if state == "running" else 12)]
    body = json.dumps(invocation(RESTS, "hostile:rest", {"seconds": 9})).encode()
    for line in lines:
        line.sendall(head(any_runner, f"Content-Length: {len(body)}") + body)
    until(lambda: any_runner.health()["calls"][state] > 0)
    for line in lines:
        line.close()
    until(any_runner.is_idle, "an idle runner")
    assert any_runner.invoke(RESTS, "hostile:rest", {"seconds": 0})["text"] == "rested"


def test_slow_bodies_hold_no_slot(any_runner: LiveRunner) -> None:
    held = []
    for _ in range(40):
        line = connect(any_runner)
        line.sendall(head(any_runner, "Content-Length: 2000000") + b"{")
        held.append(line)
    assert any_runner.invoke(HONEST, "hostile:hello")["text"] == "hello"
    for line in held:
        line.close()


@pytest.mark.parametrize("announced", ["Content-Length: 99999999999", "Transfer-Encoding: chunked"])
def test_a_body_without_an_end_is_not_kept(any_runner: LiveRunner, announced: str) -> None:
    before = resident_bytes(any_runner.process.pid)
    with connect(any_runner) as line:
        line.settimeout(5)
        line.sendall(head(any_runner, announced))
        try:
            for _ in range(400):
                line.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            answer = line.recv(100)
        except OSError:
            answer = b""
    assert answer == b"" or b" 413 " in answer
    assert resident_bytes(any_runner.process.pid) - before < 16 << 20


def test_half_open_connections_cost_no_honest_call(any_runner: LiveRunner) -> None:
    held = [connect(any_runner) for _ in range(200)]
    began = time.monotonic()
    assert any_runner.invoke(HONEST, "hostile:hello")["text"] == "hello"
    assert time.monotonic() - began < 3
    for line in held:
        line.close()


def connect(live: LiveRunner) -> socket.socket:
    return socket.create_connection((live.client.base_url.host, live.client.base_url.port or 80))


def head(live: LiveRunner, more: str) -> bytes:
    return (
        f"POST /invoke HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {live.secret}\r\n{more}\r\n\r\n".encode()
    )
