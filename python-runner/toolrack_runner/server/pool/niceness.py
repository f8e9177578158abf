"""Raises the niceness of children, so that other children get more processor time.

`LongCalls` does this for children that run for a long time. `RecentUse` does it for users with many short calls. Checks, and
imports ahead of calls, are treated like calls.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from toolrack_runner.server.pool.fair_queue import Clock

#: With each step of niceness, the kernel divides the weight of a process by this number.
STEP: Final = 1.25
#: A call that takes longer than this is a long call. Most calls end sooner. Only the memory of long calls is watched. A call
#: that ends sooner is measured once, after its answer.
LONG_SECONDS: Final = 0.02
#: After this time, used processor time counts only half.
HALF_LIFE_SECONDS: Final = 1.0
#: How many processors a user may use before the niceness of the user's children is raised. A user who calls a small tool
#: without pauses uses about this many.
FREE_PROCESSORS: Final = 0.2
#: By how many steps niceness is raised at most. With the niceness that every child has, this is the maximum of the kernel.
STEPS_MAX: Final = 14
#: If more users than this are remembered, those who used at most _FORGOTTEN_PROCESSORS are forgotten.
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
        """Adds a long call, and raises the niceness of all long calls of the user."""
        children = self._of_user.setdefault(user, set())
        children.add(child)
        steps = round(math.log(len(children), STEP))
        for each in children:
            each.yield_to_others(steps)

    def remove(self, user: str, child: Yielding) -> None:
        """Removes a call, long or not. Other calls keep their niceness, because only root could lower it."""
        children = self._of_user.get(user, set())
        children.discard(child)
        if not children:
            self._of_user.pop(user, None)

    @contextmanager
    def counted(self, user: str, child: Yielding) -> Iterator[None]:
        """Adds the child, and removes it at the end of the `with` block."""
        self.add(user, child)
        try:
            yield
        finally:
            self.remove(user, child)


class RecentUse:
    """How much processor time each user's children have used. Older use counts less."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: For each user, how many seconds count as used, and the time for which this number was computed.
        self._used: dict[str, tuple[float, float]] = {}

    def add(self, user: str, seconds: float) -> None:
        if len(self._used) >= USERS_MAX and user not in self._used:
            for other in [each for each in self._used if self._processors(each) <= _FORGOTTEN_PROCESSORS]:
                del self._used[other]
        self._used[user] = (self._seconds(user) + max(seconds, 0.0), self._clock.time())

    def steps(self, user: str) -> int:
        """How many steps of niceness the user's next children get. At twice FREE_PROCESSORS, their weight is half."""
        ratio = self._processors(user) / FREE_PROCESSORS
        return min(round(math.log(ratio, STEP)), STEPS_MAX) if ratio > 1 else 0

    def _processors(self, user: str) -> float:
        # If a user always uses one processor, `_seconds` is the half-life divided by the logarithm of 2.
        return self._seconds(user) * math.log(2) / HALF_LIFE_SECONDS

    def _seconds(self, user: str) -> float:
        seconds, at = self._used.get(user, (0.0, 0.0))
        return seconds * math.pow(2, (at - self._clock.time()) / HALF_LIFE_SECONDS)
