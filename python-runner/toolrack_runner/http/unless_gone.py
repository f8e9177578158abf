"""Work that ends with who asked for it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from toolrack_runner.http.fault import Fault

#: How often is looked whether the caller is still there: a call that is answered sooner costs no look.
LOOK_SECONDS = 0.1
_Outcome = TypeVar("_Outcome")


async def unless_gone(request: Request, work: Coroutine[Any, Any, _Outcome]) -> _Outcome:
    """What the work gives; cancels it when the caller has gone, whether it runs or waits for its turn."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=LOOK_SECONDS))[0]:
            if await request.is_disconnected():
                raise Fault("RUNNER_UNAVAILABLE", "nobody waits for this answer any more")
        return task.result()
    finally:
        task.cancel()
