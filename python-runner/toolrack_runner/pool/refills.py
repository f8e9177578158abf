"""Which child is made next ahead of calls, and when."""

from collections import deque
from collections.abc import Callable

from toolrack_runner.pool.key import Key

#: Imports under way ahead of calls: more would take the processors from the calls themselves.
REFILLS_AT_ONCE = 2


class Refills:
    """Children are made in the order in which they were asked for, a few at a time.

    `is_held` says of a key, and of the time when its child was asked for, whether that child is not to be made yet.
    """

    def __init__(self, is_held: Callable[[Key, float], bool]) -> None:
        self._is_held = is_held
        self._asked: deque[tuple[Key, float]] = deque()
        self._under_way = 0

    @property
    def is_idle(self) -> bool:
        """Whether none is being made."""
        return not self._under_way

    @property
    def has_backlog(self) -> bool:
        """Whether some were asked for and not begun."""
        return bool(self._asked)

    def ask(self, key: Key, now: float) -> None:
        """One more child for this key."""
        self._asked.append((key, now))

    def begin(self) -> Key | None:
        """The key of the child to be made now; None where there is none, it is held, or enough are being made.

        Whoever gets a key calls `ended` when the child is made, or cannot be.
        """
        if self._under_way >= REFILLS_AT_ONCE or not self._asked or self._is_held(*self._asked[0]):
            return None
        self._under_way += 1
        return self._asked.popleft()[0]

    def ended(self) -> None:
        """One that was begun is made, or cannot be."""
        self._under_way -= 1
