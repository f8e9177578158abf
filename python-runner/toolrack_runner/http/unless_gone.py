"""Cancels the work of a request when its caller closes the connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from toolrack_runner.http.http_error import HttpError

#: The time before watching the connection begins. Most calls are answered sooner.
LOOK_SECONDS = 0.1


@asynccontextmanager
async def unless_gone(request: Request) -> AsyncIterator[None]:
    """Runs the `with` block. If the caller has gone, cancels the block, even if it still waits, and raises HttpError."""
    working = asyncio.current_task()
    assert working is not None
    has_gone = False

    async def watch() -> None:
        nonlocal has_gone
        await asyncio.sleep(LOOK_SECONDS)
        # The body has been read, so the next message is the end of the connection.
        while (await request.receive())["type"] != "http.disconnect":
            pass
        has_gone = True
        working.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not has_gone:
            raise
        raise HttpError("RUNNER_UNAVAILABLE", "the caller closed the connection before the answer") from None
    finally:
        watching.cancel()
        if has_gone:
            working.uncancel()
