"""How much of the processors what runs long for one user takes: together about as much as one call of another's.

The kernel weighs a process by its niceness, each step by 1.25. So of n that run long for one user each is nicer by the
logarithm of n to that base. Calls, checks and imports ahead of calls count alike.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

#: What takes longer yields to the others and to the runner. Most calls have ended by then.
LONG_SECONDS: Final = 0.02
#: By so much the kernel's weight of a process falls with each step of niceness.
STEP: Final = 1.25


class Yielding(Protocol):
    """A child."""

    def yield_to_others(self, steps: int) -> None: ...


class LongCalls:
    """What runs long, by user."""

    def __init__(self) -> None:
        self._of_user: dict[str, set[Yielding]] = {}

    def add(self, user: str, child: Yielding) -> None:
        """This one is long from now on, and each other of the user's gets less by it."""
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
