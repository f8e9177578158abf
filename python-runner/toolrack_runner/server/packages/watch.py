"""Ends uv when it writes more than it may. A wheel can unpack to a thousand times its size."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

from toolrack_runner.server.packages.program import Ended

#: How many seconds pass at least between two measurements. A disk writes about 100 MB in this time.
WATCH_SECONDS = 0.1
#: How many times longer the pause is than the measurement before it.
_PAUSES = 2


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
