"""How many calls run at once, and how many may wait for their turn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class QueueFull(Exception):
    """As many calls wait as may; the caller may come again."""


class Admission:
    """Slots for calls, and a queue of twice as many (design section 11)."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.running = 0
        self.queued = 0
        self._turns = asyncio.Semaphore(slots)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Waits for a slot and holds it; raises QueueFull."""
        if self._turns.locked():
            if self.queued >= 2 * self.slots:
                raise QueueFull
            self.queued += 1
            try:
                await self._turns.acquire()
            finally:
                self.queued -= 1
        else:
            await self._turns.acquire()
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self._turns.release()
