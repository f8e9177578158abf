"""Which child is made next ahead of calls, and when."""

from collections import deque
from collections.abc import Callable

from toolrack_runner.pool.key import Key
from toolrack_runner.pool.turns import Turns

#: Imports under way ahead of one user's calls: more would take the processors from the calls themselves.
REFILLS_OF_ONE = 2
#: And of all users together: an import that takes long keeps another user's waiting for no longer than an ordinary one does.
REFILLS_AT_ONCE = 3


class Refills:
    """Users take turns as they do for calls; of one user, children are made in the order in which they were asked for.

    `is_held` says of a key, and of the time when its child was asked for, whether that child is not to be made yet.
    """

    def __init__(self, is_held: Callable[[Key, float], bool]) -> None:
        self._is_held = is_held
        self._asked: dict[str, deque[tuple[Key, float]]] = {}
        self._turns: Turns[str] = Turns()

    @property
    def is_idle(self) -> bool:
        """Whether none is being made."""
        return not self._turns.running

    @property
    def has_backlog(self) -> bool:
        """Whether some were asked for and not begun."""
        return bool(self._asked)

    def ask(self, key: Key, now: float) -> None:
        """One more child for this key."""
        self._asked.setdefault(key.tenant, deque()).append((key, now))

    def begin(self) -> Key | None:
        """The key of the child to be made now; None where there is none, all are held, or enough are being made.

        Whoever gets a key calls `ended` with it when the child is made, or cannot be.
        """
        if self._turns.running >= REFILLS_AT_ONCE:
            return None
        tenant = self._turns.next_of(filter(self._may_begin, self._asked))
        if tenant is None:
            return None
        asked = self._asked[tenant]
        key, _ = asked.popleft()
        if not asked:
            del self._asked[tenant]
        self._turns.started(tenant)
        return key

    def ended(self, key: Key) -> None:
        """The child that was begun for this key is made, or cannot be."""
        self._turns.ended(key.tenant)

    def _may_begin(self, tenant: str) -> bool:
        return self._turns.running_of(tenant) < REFILLS_OF_ONE and not self._is_held(*self._asked[tenant][0])
