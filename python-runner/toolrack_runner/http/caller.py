"""Who waits for an answer, and may go away before it is there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request


class CallerGone(Exception):
    """Nobody waits for the answer any more."""


@asynccontextmanager
async def ending_with_caller(request: Request) -> AsyncIterator[None]:
    """Cancels what is done inside when the connection ends, and raises CallerGone. The body has been read before."""
    doing = asyncio.current_task()
    assert doing is not None
    watching = asyncio.create_task(_hear_of_the_end(request, doing))
    try:
        yield
    except asyncio.CancelledError:
        if watching.done() and not doing.uncancel():
            raise CallerGone from None
        raise
    finally:
        watching.cancel()


async def _hear_of_the_end(request: Request, doing: "asyncio.Task[object]") -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    doing.cancel()
