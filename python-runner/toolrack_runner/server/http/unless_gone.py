"""Ends the work for a request whose caller has closed the connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.requests import Request

from toolrack_runner.server.http.http_error import HttpError

#: How many seconds a call or check runs before the runner starts to watch its connection. Most of them end sooner.
UNWATCHED_SECONDS: Final = 0.1


@asynccontextmanager
async def unless_gone(request: Request) -> AsyncIterator[None]:
    """Runs the `with` block. If the caller disconnects meanwhile, cancels the block and raises HttpError.

    The body of the request must have been read.
    """
    loop = asyncio.get_running_loop()
    working = asyncio.current_task()
    assert working is not None
    watching: asyncio.Task[None] | None = None
    has_gone = False

    async def watch() -> None:
        nonlocal has_gone
        # The body was read before, so the next message tells that the connection has ended.
        while (await request.receive())["type"] != "http.disconnect":
            pass
        has_gone = True
        working.cancel()

    def begin() -> None:
        nonlocal watching
        watching = loop.create_task(watch())

    timer = loop.call_later(UNWATCHED_SECONDS, begin)
    try:
        yield
    except asyncio.CancelledError:
        if not has_gone:
            raise
        raise HttpError("CANCELLED", "the caller closed the connection before the answer") from None
    finally:
        timer.cancel()
        if watching is not None:
            watching.cancel()
        if has_gone:
            working.uncancel()
