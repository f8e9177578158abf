"""Work that ends with who asked for it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from toolrack_runner.http.fault import Fault

#: After so long is looked whether the caller is still there: a call that is answered sooner costs no look.
LOOK_SECONDS = 0.1
_Outcome = TypeVar("_Outcome")


async def unless_gone(request: Request, work: Coroutine[Any, Any, _Outcome]) -> _Outcome:
    """What the work gives; cancels it when the caller has gone, whether it runs or waits for its turn. Raises Fault."""
    watch = _Watch(request)
    try:
        return await work
    except asyncio.CancelledError:
        if not watch.has_ended_it:
            raise
        raise Fault("RUNNER_UNAVAILABLE", "nobody waits for this answer any more") from None
    finally:
        watch.stop()


class _Watch:
    """Waits behind the work's back for its caller to go."""

    def __init__(self, request: Request) -> None:
        self.has_ended_it = False
        self._request = request
        self._work = asyncio.current_task()
        self._looking: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._start)

    def stop(self) -> None:
        """The work has ended."""
        self._timer.cancel()
        if self._looking is not None:
            self._looking.cancel()
        if self.has_ended_it and self._work is not None:
            self._work.uncancel()

    def _start(self) -> None:
        self._looking = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        # The body has been read: what comes now is the end of the connection.
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self.has_ended_it = True
        if self._work is not None:
            self._work.cancel()
