"""Cancels work when its caller closes the connection."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from toolrack_runner.http.http_error import HttpError

#: The time before watching the connection begins. Most calls are answered sooner.
LOOK_SECONDS = 0.1
_Result = TypeVar("_Result")


async def unless_gone(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of the work. If the caller has gone, cancels the work, even if it still waits, and raises HttpError."""
    working = asyncio.current_task()
    assert working is not None
    watching: asyncio.Task[None] | None = None
    has_gone = False

    async def watch() -> None:
        nonlocal has_gone
        # The body has been read, so the next message is the end of the connection.
        while (await request.receive())["type"] != "http.disconnect":
            pass
        has_gone = True
        working.cancel()

    def begin() -> None:
        nonlocal watching
        watching = asyncio.ensure_future(watch())

    timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, begin)
    try:
        return await work
    except asyncio.CancelledError:
        if not has_gone:
            raise
        raise HttpError("RUNNER_UNAVAILABLE", "the caller closed the connection before the answer") from None
    finally:
        timer.cancel()
        if watching is not None:
            watching.cancel()
        if has_gone:
            working.uncancel()
