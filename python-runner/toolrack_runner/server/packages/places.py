"""The places for resolutions and installations, shared fairly between users. One user never has all of them."""

import asyncio
from collections.abc import Callable

from toolrack_runner.server.packages.refusal import PackagesUnavailableError
from toolrack_runner.server.pool.fair_queue import FairQueue, QueueFullError, Shares, State, Turn

#: How many resolutions and installations run at once. Each needs a processor, and memory for the metadata.
AT_ONCE = 2
#: How many seconds a resolution or installation may wait for a place. A user's own queue is short, so only a crowd waits so
#: long.
WAIT_SECONDS = 60.0
#: How many resolutions and installations of one user may wait. Each check and call that waits keeps a connection.
WAITING_PER_USER = 8
#: How many of all users may wait: as many as eight users may have.
WAITING_MAX = 64


def places_for(clock: asyncio.AbstractEventLoop, *, is_for_one_user: bool) -> FairQueue:
    """The queue for the places. If there are several users, one has at most half of the places."""
    of_one = AT_ONCE if is_for_one_user else max(1, AT_ONCE // 2)
    return FairQueue(Shares(AT_ONCE, of_one, WAITING_PER_USER, WAITING_MAX), clock)


class Waiting:
    """Waits for one place, for all users who need the result. The first of them who may have a place gives it."""

    def __init__(self, queue: FairQueue) -> None:
        self._queue = queue
        self._turns: dict[str, Turn] = {}
        self._changed = asyncio.Event()
        self.has_begun = False
        self._is_over = False
        #: The users who have joined before it has begun.
        self.users: set[str] = set()

    def join(self, user: str) -> None:
        """From now on, a place of this user serves too. Raises PackagesUnavailableError if too many of the user's wait."""
        if self.has_begun or self._is_over or user in self._turns:
            return
        try:
            self._turns[user] = self._queue.ask(user, self._changed.set)
        except QueueFullError as full:
            raise _busy(full) from None
        self.users.add(user)
        self._changed.set()

    @property
    def must_wait(self) -> bool:
        """Whether there is no place now."""
        return self._first(lambda turn: turn.state is State.RUNNING) is None

    async def begin(self) -> None:
        """Waits for the place. The caller calls `end` in every case. Raises PackagesUnavailableError."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while (first := self._first(lambda turn: turn.state is State.RUNNING)) is None:
                    waits = self._first(lambda turn: turn.state is State.WAITING)
                    refused = self._first(lambda turn: turn.refused is not None)
                    if waits is None and refused is not None and refused.refused is not None:
                        raise _busy(refused.refused)
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            sentence = f"no place for an installation became free within {WAIT_SECONDS:g} s. Try again."
            raise PackagesUnavailableError(sentence) from None
        self.has_begun = True
        self._leave(first)

    def end(self) -> None:
        """Gives the place to the next. May be called again."""
        self._is_over = True
        self._leave(None)

    def _first(self, matches: Callable[[Turn], bool]) -> Turn | None:
        return next(filter(matches, self._turns.values()), None)

    def _leave(self, kept: Turn | None) -> None:
        for user, turn in list(self._turns.items()):
            if turn is not kept:
                del self._turns[user]
                self._queue.leave(turn)


def _busy(full: QueueFullError) -> PackagesUnavailableError:
    whose = (
        "of your installations of packages"
        if full.is_users_own
        else "installations of packages of many users"
    )
    return PackagesUnavailableError(f"{full.count} {whose} run or wait, which is the limit. Try again.")
