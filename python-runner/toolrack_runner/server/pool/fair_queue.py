"""A queue for places that users share. A place is for one running request, and each user may have a fraction of the places.

The user who has the fewest places comes next. The cases in test/support/fair-queue.json define which request starts, waits
or is refused. They are also the cases of the service's queue.
"""

import asyncio
import math
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import NamedTuple, Protocol

#: The user name for work that no user has requested. Such work is never paused. When it waits, only the limit for all users
#: counts.
THE_SERVICE = ""
#: For how many users it is remembered when their last request started. A forgotten user comes first, like one who has never
#: started.
REMEMBERED_MAX = 1_000


class Clock(Protocol):
    """The part of an event loop that handles time."""

    def time(self) -> float: ...
    def call_soon(self, act: Callable[[], object], /) -> object: ...
    def call_later(self, seconds: float, act: Callable[[], object], /) -> object: ...


class Shares(NamedTuple):
    """How many requests may run and wait, in total and for one user. A place is for one running request."""

    places: int
    places_per_user: int
    waiting_per_user: int
    waiting_max: int


@dataclass(eq=False, kw_only=True)
class QueueFullError(Exception):
    """The queue is full."""

    #: True if this user has too many requests; False if all users together have too many.
    is_users_own: bool
    #: If `is_users_own`, how many requests of the user run or wait; otherwise how many requests of all users wait.
    count: int
    retry_after_seconds: int = 1


class State(Enum):
    WAITING = auto()
    RUNNING = auto()
    OVER = auto()


@dataclass(eq=False)
class Turn:
    """One request for a place. If it has to wait, `changed` is called when it may run or is refused."""

    user: str
    since: float
    changed: Callable[[], object]
    state: State = State.WAITING
    #: Set if the request had waited, and was then refused to make room for the request of another user.
    refused: QueueFullError | None = None


class Turns:
    """Counts the running requests of each user. The next user is the one who has the fewest.

    If several users have the fewest, the next one is the user whose last request started longest ago.
    """

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self._remembered_max = remembered_max
        self._running: Counter[str] = Counter()
        self._starts = 0
        self._last_start: OrderedDict[str, int] = OrderedDict()

    @property
    def running(self) -> int:
        return self._running.total()

    def running_of(self, user: str) -> int:
        return self._running[user]

    def next_of(self, users: Iterable[str]) -> str | None:
        """The next of these users. None if there are none. A user whose request never started counts as longest ago."""
        return min(
            users, key=lambda user: (self._running[user], self._last_start.get(user, -1)), default=None
        )

    def started(self, user: str) -> None:
        self._running[user] += 1
        self._starts += 1
        self._last_start[user] = self._starts
        self._last_start.move_to_end(user)
        if len(self._last_start) > self._remembered_max:
            self._last_start.popitem(last=False)

    def ended(self, user: str) -> None:
        self._running[user] -= 1
        if not self._running[user]:
            del self._running[user]


class FairBudget:
    """A limit for the sum of all users' amounts. If the sum is larger, the user with the largest amount must make room.

    One user may have the whole amount as long as the other users have none.
    """

    def __init__(self, amount_max: int) -> None:
        self._amount_max = amount_max
        self._amounts: Counter[str] = Counter()
        self.amount = 0

    def add(self, user: str, amount: int) -> None:
        """Adds `amount`, which may be negative, to the amount of a user."""
        self.amount += amount
        self._amounts[user] += amount
        if not self._amounts[user]:
            del self._amounts[user]

    @property
    def greediest(self) -> str | None:
        """The user who has to make room now; None if the amounts are within the limit."""
        if self.amount <= self._amount_max:
            return None
        return max(self._amounts, key=self._amounts.__getitem__, default=None)


class FairQueue:
    """Decides which requests run and which wait. Only `place` and `take` wait."""

    def __init__(self, shares: Shares, clock: Clock) -> None:
        self.shares = shares
        self._clock = clock
        self._turns = Turns()
        self._waiters: dict[str, deque[Turn]] = {}
        self._paused_until: dict[str, float] = {}

    @asynccontextmanager
    async def place(self, user: str) -> AsyncIterator[None]:
        """Waits for a place, and keeps it during the `with` block. Raises QueueFullError. Can be cancelled."""
        turn = await self.take(user)
        try:
            yield
        finally:
            self.leave(turn)

    async def take(self, user: str) -> Turn:
        """Waits for a place, as `place` does. The caller must call `leave` when the request has ended."""
        changed = asyncio.Event()
        turn = self.ask(user, changed.set)
        try:
            if turn.state is not State.RUNNING:
                await changed.wait()
        except asyncio.CancelledError:
            self.leave(turn)
            raise
        if turn.refused is not None:
            raise turn.refused
        return turn

    def ask(self, user: str, changed: Callable[[], object]) -> Turn:
        """Asks for a place without waiting. The result runs or waits. Raises QueueFullError."""
        turn = Turn(user, self._clock.time(), changed)
        if user not in self._waiters and self._may_start(user):
            self._start(turn)
            return turn
        self._make_room(user)
        self._waiters.setdefault(user, deque()).append(turn)
        return turn

    def leave(self, turn: Turn) -> None:
        """Ends a turn that runs or waits. If it ran, waiting requests may start in its place."""
        was, turn.state = turn.state, State.OVER
        if was is State.WAITING:
            self._remove(turn)
        elif was is State.RUNNING:
            self._turns.ended(turn.user)
            self._start_waiting()

    def pause(self, user: str, seconds: float) -> None:
        """Starts no request of the user for `seconds`. Such requests keep waiting. Does not shorten a longer pause."""
        if user == THE_SERVICE:
            return
        now = self._clock.time()
        self._paused_until = {other: until for other, until in self._paused_until.items() if until > now}
        self._paused_until[user] = max(self._paused_until.get(user, 0.0), now + seconds)
        self._clock.call_later(seconds, partial(self._pause_over, user))

    def snapshot(self) -> dict[str, int]:
        """The state of the queue, as `/health` reports it."""
        firsts = [turns[0].since for turns in self._waiters.values()]
        longest = self._clock.time() - min(firsts) if firsts else 0.0
        return {
            "places": self.shares.places,
            "placesPerUser": self.shares.places_per_user,
            "running": self._turns.running,
            "waiting": self._waiting,
            "usersWaiting": len(firsts),
            "longestWaitMs": round(longest * 1000),
        }

    @property
    def _waiting(self) -> int:
        return sum(map(len, self._waiters.values()))

    def _may_start(self, user: str) -> bool:
        return (
            self._turns.running < self.shares.places
            and self._turns.running_of(user) < self.shares.places_per_user
            and self._rest_of_pause(user) <= 0
        )

    def _rest_of_pause(self, user: str) -> float:
        return self._paused_until.get(user, 0.0) - self._clock.time()

    def _pause_over(self, user: str) -> None:
        rest = self._rest_of_pause(user)
        if rest > 0:  # The user was paused again, or the timer was early.
            self._clock.call_later(rest, partial(self._pause_over, user))
        else:
            self._start_waiting()

    def _make_room(self, user: str) -> None:
        own = len(self._waiters.get(user, ()))
        if user != THE_SERVICE and own >= self.shares.waiting_per_user:
            raise self._excess_of(user)
        if self._waiting < self.shares.waiting_max:
            return
        greediest = max(self._waiters, key=lambda other: len(self._waiters[other]))
        if own + 1 >= len(self._waiters[greediest]):
            raise QueueFullError(is_users_own=False, count=self._waiting)
        refused = self._waiters[greediest][-1]
        refused.refused = self._excess_of(greediest)
        refused.state = State.OVER
        self._remove(refused)
        refused.changed()

    def _excess_of(self, user: str) -> QueueFullError:
        return QueueFullError(
            is_users_own=True,
            count=self._turns.running_of(user) + len(self._waiters[user]),
            retry_after_seconds=max(1, math.ceil(self._rest_of_pause(user))),
        )

    def _start(self, turn: Turn) -> None:
        turn.state = State.RUNNING
        self._turns.started(turn.user)

    def _start_waiting(self) -> None:
        while (user := self._turns.next_of(filter(self._may_start, self._waiters))) is not None:
            turn = self._waiters[user][0]
            self._remove(turn)
            self._start(turn)
            turn.changed()

    def _remove(self, turn: Turn) -> None:
        turns = self._waiters[turn.user]
        turns.remove(turn)
        if not turns:
            del self._waiters[turn.user]
