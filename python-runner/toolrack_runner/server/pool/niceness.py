"""Makes children nicer (raises their niceness), so that other children get more processor time.

`LongCalls` makes children nicer that run for a long time. `RecentUse` makes the children of users with many short calls
nicer. Checks, and imports ahead of calls, are treated like calls.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from toolrack_runner.server.pool.fair_queue import Clock

#: The kernel divides the weight of a process by this number for each step of niceness.
STEP: Final = 1.25
#: A call that takes more time is a long call. Most calls end sooner.
LONG_SECONDS: Final = 0.02
#: The weight of used processor time halves in this time.
HALF_LIFE_SECONDS: Final = 1.0
#: How many processors a user may use before the user's children become nicer. A user who calls a small tool without pauses
#: uses about this many.
FREE_PROCESSORS: Final = 0.2
#: The most steps. With the niceness that every child has, they reach the maximum of the kernel.
STEPS_MAX: Final = 14
#: If this many users are remembered, those that used at most _FORGOTTEN_PROCESSORS are forgotten.
USERS_MAX: Final = 1_000
_FORGOTTEN_PROCESSORS: Final = 0.01


class Yielding(Protocol):
    def yield_to_others(self, steps: int) -> None: ...


class LongCalls:
    """The long calls of each user. All long calls of one user together get about as much processor time as one call.

    To achieve this, each of n long calls becomes nicer by log(n) steps, with the logarithm to the base 1.25.
    """

    def __init__(self) -> None:
        self._of_user: dict[str, set[Yielding]] = {}

    def add(self, user: str, child: Yielding) -> None:
        """Adds a long call, and makes all long calls of the user nicer."""
        children = self._of_user.setdefault(user, set())
        children.add(child)
        steps = round(math.log(len(children), STEP))
        for each in children:
            each.yield_to_others(steps)

    def remove(self, user: str, child: Yielding) -> None:
        """Removes a call, whether it was long or not. Other calls keep their niceness: only root could lower it."""
        children = self._of_user.get(user, set())
        children.discard(child)
        if not children:
            self._of_user.pop(user, None)

    @contextmanager
    def once_long(self, user: str, child: Yielding) -> Iterator[None]:
        """Adds the child if the `with` block takes more than LONG_SECONDS, and removes the child at the end."""
        late = asyncio.get_running_loop().call_later(LONG_SECONDS, self.add, user, child)
        try:
            yield
        finally:
            late.cancel()
            self.remove(user, child)


class RecentUse:
    """The processor time of each user's children. Older use has less weight."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: For each user, the used seconds with their weight, and the time at which this number was computed.
        self._used: dict[str, tuple[float, float]] = {}

    def add(self, user: str, seconds: float) -> None:
        if len(self._used) >= USERS_MAX and user not in self._used:
            for other in [each for each in self._used if self._processors(each) <= _FORGOTTEN_PROCESSORS]:
                del self._used[other]
        self._used[user] = (self._seconds(user) + max(seconds, 0.0), self._clock.time())

    def steps(self, user: str) -> int:
        """The steps of niceness for the user's next children. If the use is twice FREE_PROCESSORS, their weight halves."""
        ratio = self._processors(user) / FREE_PROCESSORS
        return min(round(math.log(ratio, STEP)), STEPS_MAX) if ratio > 1 else 0

    def _processors(self, user: str) -> float:
        # If a user always uses one processor, `_seconds` is the half-life divided by the logarithm of 2.
        return self._seconds(user) * math.log(2) / HALF_LIFE_SECONDS

    def _seconds(self, user: str) -> float:
        seconds, at = self._used.get(user, (0.0, 0.0))
        return seconds * math.pow(2, (at - self._clock.time()) / HALF_LIFE_SECONDS)
