"""Which child is made next ahead of calls, and when.

Calls that came together have the processors first, and then the caller who was just answered. All of the pool's short timers
are here. Without `BehindAnswers`, children would be killed with the answer and made at once.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from toolrack_runner.pool.children import AnyChild
from toolrack_runner.pool.fair_queue import Clock, Turns
from toolrack_runner.pool.warm_queue import Key

#: While calls run, no child is made for so long if some still wait: calls that come together, as a model's do, are answered
#: first.
HOLD_SECONDS = 0.02
#: And none is made for so long after an answer: its reader has the processors first.
PAUSE_SECONDS = 0.002
#: Imports under way ahead of one user's calls. More would take the processors from the calls themselves.
REFILLS_OF_ONE = 2
#: And of all users together. So an import that takes long keeps another user's waiting no longer than an ordinary one does.
REFILLS_AT_ONCE = 3


class BehindAnswers:
    """Knows how many calls run, and puts off what is not done for them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls = 0
        self._answered: list[AnyChild] = []

    @contextmanager
    def busy(self) -> Iterator[None]:
        """For as long as a call runs."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._clock.call_later(PAUSE_SECONDS, self._kill_answered)

    def kill(self, child: AnyChild, *, has_result: bool) -> None:
        """Kills a child after its answer; one with a result when no other call runs."""
        if has_result:
            self._answered.append(child)
            self._clock.call_later(HOLD_SECONDS, self._kill_answered)
        else:
            self._clock.call_soon(child.kill)

    def is_held(self, since: float, *, has_waiting: bool) -> bool:
        """Whether a child that was asked for at `since`, on this clock, is not made yet."""
        return has_waiting and self._clock.time() - since < (HOLD_SECONDS if self._calls else PAUSE_SECONDS)

    def when_not_held(self, act: Callable[[], object]) -> None:
        """Calls this at each moment when what is asked for now may no longer be held."""
        for seconds in (PAUSE_SECONDS, HOLD_SECONDS):
            self._clock.call_later(seconds, act)

    def _kill_answered(self) -> None:
        while self._answered:
            self._answered.pop().kill()


class Refills:
    """Users take turns as they do for calls. The children of one user are made in the order in which they were asked for.

    `is_held` says of a key, and of the time when its child was asked for, whether that child is not to be made yet.
    """

    def __init__(self, is_held: Callable[[Key, float], bool]) -> None:
        self._is_held = is_held
        self._asked: dict[str, deque[tuple[Key, float]]] = {}
        self._turns = Turns()

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

        The caller calls `ended` with the key when the child is made, or cannot be.
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
