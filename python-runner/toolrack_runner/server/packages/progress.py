"""Tells the caller of a check at least once a second what is being done."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

#: How many seconds pass at most between two reports.
REPORT_SECONDS = 0.9

Listener = Callable[[str], None]


class Progress:
    """What is being done for one environment or one resolution. Several callers may listen."""

    def __init__(self) -> None:
        self._text = "preparing the packages"
        self._listeners: list[Listener] = []
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Tells all listeners now, and again until something else is said."""
        self._text = text
        self._report()

    @asynccontextmanager
    async def heard_by(self, listener: Listener | None) -> AsyncIterator[None]:
        """Reports to the listener during the `with` block."""
        if listener is None:
            yield
            return
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """Repeats the last report during the `with` block, with the seconds so far."""

        async def tick() -> None:
            while True:
                await asyncio.sleep(REPORT_SECONDS)
                self._report()

        ticker = asyncio.create_task(tick())
        try:
            yield
        finally:
            ticker.cancel()
            with suppress(asyncio.CancelledError):
                await ticker

    def _report(self) -> None:
        seconds = int(time.monotonic() - self._began)
        text = f"{self._text} ({seconds} s)" if seconds else self._text
        for listener in list(self._listeners):
            listener(text)
