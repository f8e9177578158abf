"""How much processor time each user's children took just now, and by how much the user's next ones come after others for it.

`LongCalls` is for children that run long; this is for users who have many short ones.
"""

import math
from typing import Final, Protocol

from toolrack_runner.pool.long_calls import STEP

#: After so long half of what was used counts.
HALF_LIFE_SECONDS: Final = 1.0
#: Processors that a user may take for nothing. A user who calls a small tool without a pause takes about as much.
FREE_PROCESSORS: Final = 0.2
#: With the niceness of every child it is all that the kernel takes.
STEPS_MAX: Final = 14
#: Users that are remembered before those are forgotten who used next to nothing.
USERS_MAX: Final = 1_000
_FORGOTTEN_PROCESSORS: Final = 0.01


class Clock(Protocol):
    """The event loop's, as far as it is needed."""

    def time(self) -> float: ...


class RecentUse:
    """Processor time by user, of which the older counts less."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        #: What counted at which time.
        self._used: dict[str, tuple[float, float]] = {}

    def add(self, user: str, seconds: float) -> None:
        """The user's children, or main for the user, took so much more."""
        if len(self._used) >= USERS_MAX and user not in self._used:
            self._used = {
                other: used
                for other, used in self._used.items()
                if self._processors(other) > _FORGOTTEN_PROCESSORS
            }
        self._used[user] = (self._seconds(user) + max(seconds, 0.0), self._clock.time())

    def steps(self, user: str) -> int:
        """Steps of niceness: with them the user's next children weigh less by as much as the user took too much."""
        ratio = self._processors(user) / FREE_PROCESSORS
        return min(round(math.log(ratio, STEP)), STEPS_MAX) if ratio > 1 else 0

    def _processors(self, user: str) -> float:
        # Whoever takes one processor all the time has the half-life divided by the logarithm of 2.
        return self._seconds(user) * math.log(2) / HALF_LIFE_SECONDS

    def _seconds(self, user: str) -> float:
        seconds, at = self._used.get(user, (0.0, 0.0))
        return seconds * math.pow(2, (at - self._clock.time()) / HALF_LIFE_SECONDS)
