"""Ends uv when it writes more than it may. A wheel can unpack to a thousand times its size."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, NoReturn, TypeVar

from toolrack_runner.server.packages.program import Ended

#: How many seconds pass at least between two measurements. A disk writes about 100 MB in this time.
WATCH_SECONDS = 0.1
#: How many times longer the pause is than the measurement before it.
_PAUSES = 2

_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


async def watched(running: Coroutine[Any, Any, Ended], measure: Callable[[], None]) -> Ended:
    """The end of uv. Kills it as soon as `measure` raises an error, and raises this error. Measures at the end too."""
    ending = asyncio.create_task(running)
    watching = asyncio.create_task(_watch(measure))
    try:
        await asyncio.wait((ending, watching), return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            watching.result()
        ended = ending.result()
    finally:
        ending.cancel()
        watching.cancel()
        await asyncio.gather(ending, watching, return_exceptions=True)
    await asyncio.to_thread(measure)
    return ended


async def _watch(measure: Callable[[], None]) -> NoReturn:
    pause = WATCH_SECONDS
    while True:
        await asyncio.sleep(pause)
        began = time.monotonic()
        await asyncio.to_thread(measure)
        pause = max(WATCH_SECONDS, _PAUSES * (time.monotonic() - began))


async def to_the_end(function: Callable[[_Given], _Result], given: _Given) -> _Result:
    """Runs a function in a thread. If the caller is cancelled, it is so only when the function has ended."""
    ending = asyncio.ensure_future(asyncio.to_thread(function, given))
    try:
        return await asyncio.shield(ending)
    except asyncio.CancelledError:
        while not ending.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((ending,))
        raise
