"""A system on which no child can be confined: the runner says so, and runs nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from support.live_runner import invocation
from toolrack_runner.server.http.app import make_app
from toolrack_runner.server.http.server import make_runner
from toolrack_runner.server.settings import Settings, read_settings
from toolrack_runner.wire.zygote_messages import Opening

SOURCE = "TOOL_SPECS = []\n"


@pytest.mark.parametrize(
    ("level", "reason"),
    [
        ("L0", "no user code runs here"),
        ("L2", "isolation L2 is needed, and this machine was measured at L0"),
    ],
)
def test_nothing_runs_where_there_are_no_children_whatever_level_is_asked_for(
    level: str, reason: str
) -> None:
    settings = read_settings({"TOOLRACK_RUNNER_MIN_ISOLATION": level}, ["--parent=stdin"])
    health, *refused = asyncio.run(ask(settings))
    assert (health["status"], health["isolation"]) == ("degraded", "L0")
    assert all("Linux" in layer["reason"] for layer in health["layers"])
    for answer in refused:
        assert answer["error"]["code"] == 503
        assert answer["error"]["details"] == [{"reason": "ISOLATION_UNAVAILABLE"}]
        assert answer["error"]["message"].startswith(reason)


async def ask(settings: Settings) -> list[dict[str, Any]]:
    """What the routes answer."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.runner = make_runner(settings, Opening((), "", (), (), ()), None, lambda: None)
        yield

    guarded = make_app(lifespan, None)
    transport = httpx.ASGITransport(guarded)
    async with (
        lifespan(guarded.app),
        httpx.AsyncClient(transport=transport, base_url="http://runner") as client,
    ):
        answers = [
            await client.get("/health"),
            await client.post("/check", json={"name": "m", "source": SOURCE}),
            await client.post("/invoke", json=invocation(SOURCE, "m:run")),
        ]
    return [answer.json() for answer in answers]
