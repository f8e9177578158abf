"""Each line of the runner's log about a call names the call."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from support.live_runner import invocation
from toolrack_runner.server.http import invoke
from toolrack_runner.server.http.app import make_app
from toolrack_runner.server.http.runner import Runner, shares_of_calls
from toolrack_runner.server.log import JsonFormatter
from toolrack_runner.server.pool.fair_queue import FairQueue
from toolrack_runner.server.pool.outcome import CallOutcome
from toolrack_runner.server.settings import read_settings

SOURCE = "TOOL_SPECS = []\n"


class ReadyPool:
    """Has nothing to refill."""

    async def refill(self, _key: object) -> None:
        """Makes no child."""


class Level:
    """A level that is enough."""

    async def done(self) -> Any:
        """Measured."""
        return type("Measured", (), {"level": "L4"})


async def call(invocation_id: str, **fields: Any) -> httpx.Response:
    """Asks a runner whose calls are the ones that the test has put in place."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        places = FairQueue(shares_of_calls(8, None), asyncio.get_running_loop())
        parts: Any = (ReadyPool(), places, places, Level())
        app.state.runner = Runner(read_settings({}, ["--parent=stdin"]), *parts)
        yield

    guarded = make_app(lifespan, None)
    transport = httpx.ASGITransport(guarded, raise_app_exceptions=False)
    async with (
        lifespan(guarded.app),
        httpx.AsyncClient(transport=transport, base_url="http://runner") as client,
    ):
        return await client.post(
            "/invoke", json=invocation(SOURCE, "m:run", invocationId=invocation_id, **fields)
        )


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What the runner writes of it."""
    records = [record for record in caplog.records if record.name == "toolrack_runner"]
    return [json.loads(JsonFormatter().format(record)) for record in records]


def test_the_line_of_a_call_whose_worker_was_lost_has_its_invocation_id(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def lost(*_: object) -> object:
        return CallOutcome(code="WORKER_DIED", error="the worker was lost: it was killed from outside")

    monkeypatch.setattr(invoke, "run_call", lost)
    with caplog.at_level(logging.WARNING, "toolrack_runner"):
        assert asyncio.run(call("call-1")).json()["code"] == "WORKER_DIED"
    (line,) = lines(caplog)
    assert (line["severity"], line["invocationId"]) == ("WARNING", "call-1")
    assert "killed from outside" in line["reason"]


def test_the_line_of_a_call_that_the_program_failed_has_its_invocation_id(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*_: object) -> object:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(invoke, "run_call", fails)
    with caplog.at_level(logging.WARNING, "toolrack_runner"):
        assert asyncio.run(call("call-2")).status_code == 500
    (line,) = lines(caplog)
    assert (line["severity"], line["invocationId"]) == ("ERROR", "call-2")
    assert "a mistake" in line["stack"]


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("code", ["WORKER_DIED", "INTERNAL"])
def test_the_lines_of_a_call_have_the_trace_context_of_its_caller(
    code: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def lost(*_: object) -> object:
        if code == "INTERNAL":
            raise ZeroDivisionError
        return CallOutcome(code="WORKER_DIED", error="the worker was lost")

    monkeypatch.setattr(invoke, "run_call", lost)
    with caplog.at_level(logging.WARNING, "toolrack_runner"):
        asyncio.run(call("call-3", traceparent=TRACE))
    (line,) = lines(caplog)
    assert (line["invocationId"], line["traceparent"]) == ("call-3", TRACE)


def test_a_trace_context_of_another_shape_is_refused() -> None:
    answer = asyncio.run(call("call-4", traceparent=TRACE + "\n"))
    assert (answer.status_code, answer.json()["error"]["details"][0]["reason"]) == (400, "BODY_INVALID")
