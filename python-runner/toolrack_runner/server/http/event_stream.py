"""Sends the events of a call while it runs: a JSON object in each line."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from toolrack_runner.server.pool.call_events import CallEvents

#: How many seconds pass between two writes. All events that come meanwhile are sent together.
WRITE_SECONDS = 0.01


class EventStream:
    """Sends lines with `send`, which returns when the caller can take more. Nothing is sent for a call without events."""

    def __init__(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._send = send
        self.events: CallEvents | None = None
        self._waits = asyncio.Event()
        self._has_ended = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Has the waiting events sent soon."""
        self._waits.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_events())

    async def end(self) -> bytes:
        """Stops sending. Returns the lines that still wait, which the caller of this function sends before the outcome."""
        if self._sending is None:
            return b""
        assert self.events is not None
        self._has_ended.set()
        self._waits.set()
        await self._sending
        return self.events.take()

    def stop(self) -> None:
        """Stops at once, because nobody reads the events any more."""
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    async def _send_events(self) -> None:
        assert self.events is not None
        while True:
            await self._waits.wait()
            self._waits.clear()
            if self._has_ended.is_set():
                return
            if lines := self.events.take():
                await self._send(lines)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_ended.wait(), WRITE_SECONDS)
