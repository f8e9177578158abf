"""The answer to a call whose caller wants events: a JSON object in each line. The last line is the outcome."""

import asyncio
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Send

from toolrack_runner.server.pool.call_events import CallEvents

NDJSON = "application/x-ndjson"
#: How many seconds pass between two writes. All events that come meanwhile are sent together.
WRITE_SECONDS = 0.01
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", NDJSON.encode()), (b"cache-control", b"private, no-store")],
}


class EventStream:
    """Sends the answer to a call. The stream begins with the first event. If there is no event, the answer is plain JSON."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.events: CallEvents | None = None
        self._waits = asyncio.Event()
        self._has_ended = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    @property
    def has_begun(self) -> bool:
        return self._sending is not None

    def wake(self) -> None:
        """Has the waiting events sent soon."""
        self._waits.set()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_events())

    async def end(self, outcome: Response) -> None:
        """Sends the events that still wait, and then the outcome. `outcome` is the answer as plain JSON.

        Runs its background task.
        """
        assert self._sending is not None
        assert self.events is not None
        self._has_ended.set()
        self._waits.set()
        await self._sending
        # The JSON of a result may have line breaks, but the outcome must be one line.
        line = b'{"event":"outcome",' + bytes(outcome.body)[1:].replace(b"\n", b" ") + b"\n"
        await self._send({"type": "http.response.body", "body": self.events.take() + line})
        if outcome.background is not None:
            await outcome.background()

    def stop(self) -> None:
        """Stops without an outcome."""
        if self._sending is not None:
            self._sending.cancel()

    async def _send_events(self) -> None:
        assert self.events is not None
        await self._send(START)
        while True:
            await self._waits.wait()
            self._waits.clear()
            if self._has_ended.is_set():
                return
            if lines := self.events.take():
                await self._send({"type": "http.response.body", "body": lines, "more_body": True})
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_ended.wait(), WRITE_SECONDS)
