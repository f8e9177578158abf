"""Whose turn it is, where users share what there is."""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import Generic, TypeVar

#: Users whose last start is remembered. Who is forgotten counts as one who has never started, which comes first anyway.
REMEMBERED_MAX = 1_000

User = TypeVar("User")


class Turns(Generic[User]):
    """Counts what each user has under way; the next is who has the fewest, then who started longest ago."""

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self._remembered_max = remembered_max
        self._running: Counter[User] = Counter()
        self._starts = 0
        self._last_start: OrderedDict[User, int] = OrderedDict()

    @property
    def running(self) -> int:
        """What all users have under way."""
        return self._running.total()

    def running_of(self, user: User) -> int:
        """What one user has under way."""
        return self._running[user]

    def next_of(self, users: Iterable[User]) -> User | None:
        """Whose turn it is among these; of users who never started, the first that is named. None where there are none."""
        return min(
            users, key=lambda user: (self._running[user], self._last_start.get(user, -1)), default=None
        )

    def started(self, user: User) -> None:
        """One more of this user's is under way."""
        self._running[user] += 1
        self._starts += 1
        self._last_start[user] = self._starts
        self._last_start.move_to_end(user)
        if len(self._last_start) > self._remembered_max:
            self._last_start.popitem(last=False)

    def ended(self, user: User) -> None:
        """One of this user's is over."""
        self._running[user] -= 1
        if not self._running[user]:
            del self._running[user]
