"""Whose children come after others for the processors, and by how many steps of niceness.

The kernel gives a process less by a factor of 1.25 with each step. `LongCalls` is for children that run long, `RecentUse`
for users who have many short ones. Calls, checks and imports ahead of calls count alike.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from toolrack_runner.pool.fair_queue import Clock

#: The kernel's weight of a process falls by this factor with each step of niceness.
STEP: Final = 1.25
#: What takes longer makes way for the others and for the runner. Most calls have ended by then.
LONG_SECONDS: Final = 0.02
#: After so long half of what was used counts.
HALF_LIFE_SECONDS: Final = 1.0
#: Processors that a user may take for nothing. A user who calls a small tool without a pause takes about as much.
FREE_PROCESSORS: Final = 0.2
#: With the niceness of every child this is all that the kernel takes.
STEPS_MAX: Final = 14
#: Users that are remembered before those are forgotten who used next to nothing.
USERS_MAX: Final = 1_000
_FORGOTTEN_PROCESSORS: Final = 0.01


class Yielding(Protocol):
    """A child."""

    def yield_to_others(self, steps: int) -> None: ...


class LongCalls:
    """What runs long, by user. All long calls of one user take together about as much as one call of another user.

    So each of n is nicer by the logarithm of n to the base 1.25.
    """

    def __init__(self) -> None:
        self._of_user: dict[str, set[Yielding]] = {}

    def add(self, user: str, child: Yielding) -> None:
        """This one is long from now on, and every other one of the user gets less for it."""
        children = self._of_user.setdefault(user, set())
        children.add(child)
        steps = round(math.log(len(children), STEP))
        for each in children:
            each.yield_to_others(steps)

    def remove(self, user: str, child: Yielding) -> None:
        """It is over, whether it was long or not. The others stay as they are: only root could make them less nice."""
        children = self._of_user.get(user)
        if children is not None:
            children.discard(child)
            if not children:
                del self._of_user[user]

    @contextmanager
    def once_long(self, user: str, child: Yielding) -> Iterator[None]:
        """For as long as something runs in the child."""
        late = asyncio.get_running_loop().call_later(LONG_SECONDS, self.add, user, child)
        try:
            yield
        finally:
            late.cancel()
            self.remove(user, child)


class RecentUse:
    """Processor time of each user's children. What was used longer ago counts less."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: The seconds that counted, and when.
        self._used: dict[str, tuple[float, float]] = {}

    def add(self, user: str, seconds: float) -> None:
        """The user's children took so much more."""
        if len(self._used) >= USERS_MAX and user not in self._used:
            self._used = {
                other: used
                for other, used in self._used.items()
                if self._processors(other) > _FORGOTTEN_PROCESSORS
            }
        self._used[user] = (self._seconds(user) + max(seconds, 0.0), self._clock.time())

    def steps(self, user: str) -> int:
        """With so many steps the user's next children weigh less by as much as the user took too much."""
        ratio = self._processors(user) / FREE_PROCESSORS
        return min(round(math.log(ratio, STEP)), STEPS_MAX) if ratio > 1 else 0

    def _processors(self, user: str) -> float:
        # A user who takes one processor all the time has the half-life divided by the logarithm of 2.
        return self._seconds(user) * math.log(2) / HALF_LIFE_SECONDS

    def _seconds(self, user: str) -> float:
        seconds, at = self._used.get(user, (0.0, 0.0))
        return seconds * math.pow(2, (at - self._clock.time()) / HALF_LIFE_SECONDS)
