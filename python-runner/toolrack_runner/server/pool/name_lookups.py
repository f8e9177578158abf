"""Looks up the addresses of host names. All users share the threads for this.

A look-up cannot be cancelled. It ends when the name server answers, or after half a minute. The owner of a domain can run a
name server that never answers.
"""

import asyncio
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from toolrack_runner.server.network.broker import Address, ConnectError
from toolrack_runner.server.pool.fair_queue import FairQueue, QueueFullError, Shares, Turn

#: How many look-ups run at once. Each has its own thread.
LOOK_UPS = 16
LOOK_UPS_PER_USER = LOOK_UPS // 4
#: How many look-ups of one user may wait, so that there is room for those of other users. If more wait, the next one fails.
WAITING_PER_USER = 32
#: How many look-ups of all users may wait for a thread.
WAITING_MAX = 256
#: How many seconds a look-up waits for a thread. Most look-ups take less than a second.
WAIT_SECONDS = 5.0

Resolve = Callable[..., list[Any]]


class NameLookUps:
    """Runs look-ups in a limited number of threads. Another one may start only when the thread of a look-up has ended."""

    def __init__(self, *, is_for_one_user: bool = False, resolve: Resolve = socket.getaddrinfo) -> None:
        self._loop = asyncio.get_running_loop()
        self._resolve = resolve
        per_user = LOOK_UPS if is_for_one_user else LOOK_UPS_PER_USER
        self._queue = FairQueue(Shares(LOOK_UPS, per_user, WAITING_PER_USER, WAITING_MAX), self._loop)

    async def find(self, user: str, name: str, port: int) -> list[Address]:
        """The addresses, as getaddrinfo returns them; raises ConnectError, and the errors of getaddrinfo."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                turn = await self._queue.take(user)
        except (TimeoutError, QueueFullError):
            raise ConnectError(
                "too many look-ups of names are under way for you: "
                "each takes a place until the name server answers, or for half a minute"
            ) from None
        found: asyncio.Future[list[Address]] = self._loop.create_future()
        # No executor is used, because the runner would wait for its threads before it ends.
        thread = threading.Thread(target=self._look_up, args=(turn, found, name, port), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self._queue.leave(turn)
            raise ConnectError("the runner has no thread left for looking up a name: try again") from None
        return await found

    def _look_up(self, turn: Turn, found: "asyncio.Future[list[Address]]", name: str, port: int) -> None:
        """Runs in its own thread."""
        report: Callable[[], None] = partial(found.set_exception, OSError("the look-up failed"))
        try:
            report = partial(found.set_result, self._resolve(name, port, type=socket.SOCK_STREAM))
        except (OSError, ValueError) as error:
            report = partial(found.set_exception, error)
        finally:
            with suppress(RuntimeError):  # The loop has ended.
                self._loop.call_soon_threadsafe(self._over, turn, found, report)

    def _over(self, turn: Turn, found: "asyncio.Future[list[Address]]", report: Callable[[], None]) -> None:
        self._queue.leave(turn)
        if not found.done():
            report()
