"""Decides which child is made next and when.

Calls that came together get the processors first, and then the caller that reads an answer. So `BehindAnswers` delays two
kinds of other work: killing children that have answered, and making new children.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from toolrack_runner.server.pool.children import AnyChild
from toolrack_runner.server.pool.fair_queue import Clock, Turns
from toolrack_runner.server.pool.warm_queue import Key

#: While calls run and children of the key still wait, a new child is made only after this time. So calls that come together
#: are answered first. A model often makes several calls at once.
HOLD_SECONDS = 0.02
#: While no calls run, a new child is made only after this time. So the caller that reads the answer gets the processors
#: first.
PAUSE_SECONDS = 0.002
#: How many imports ahead of one user's calls may run at once. More imports would take processor time from calls.
REFILLS_OF_ONE = 2
#: How many imports ahead of calls may run at once for all users. The limit for one user is lower, so that a user's long
#: imports do not delay the imports of other users.
REFILLS_AT_ONCE = 3


class BehindAnswers:
    """Counts the running calls, and delays other work until they are answered."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls = 0
        self._answered: list[tuple[AnyChild, Callable[[], None] | None]] = []

    @contextmanager
    def busy(self) -> Iterator[None]:
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._clock.call_later(PAUSE_SECONDS, self._kill_answered)

    def kill(self, child: AnyChild, *, has_result: bool, before: Callable[[], None] | None = None) -> None:
        """Kills a child after its answer. If it gave a result, first waits until no call runs, but at most HOLD_SECONDS.

        `before` is called directly before a child with a result is killed.
        """
        if has_result:
            self._answered.append((child, before))
            self._clock.call_later(HOLD_SECONDS, self._kill_answered)
        else:
            self._clock.call_soon(child.kill)

    def is_held(self, since: float, *, has_waiting: bool) -> bool:
        """Whether it is too early to make a child. `since` is when it was requested, in the time of this clock."""
        return has_waiting and self._clock.time() - since < (HOLD_SECONDS if self._calls else PAUSE_SECONDS)

    def when_not_held(self, act: Callable[[], object]) -> None:
        """Calls `act` at both times at which a child that is requested now may be made (`is_held`)."""
        for seconds in (PAUSE_SECONDS, HOLD_SECONDS):
            self._clock.call_later(seconds, act)

    def _kill_answered(self) -> None:
        while self._answered:
            child, before = self._answered.pop()
            if before is not None:
                before()
            child.kill()


class Refills:
    """The children that are to be made. Users take turns, as for calls. A user's children are made in the order of request.

    `is_held` gets a key and the time of the request. It returns whether it is too early to make this child.
    """

    def __init__(self, is_held: Callable[[Key, float], bool]) -> None:
        self._is_held = is_held
        self._asked: dict[str, deque[tuple[Key, float]]] = {}
        self._turns = Turns()

    @property
    def is_idle(self) -> bool:
        return not self._turns.running

    @property
    def has_backlog(self) -> bool:
        """Whether there are children that were requested but are not being made yet."""
        return bool(self._asked)

    def ask(self, key: Key, now: float) -> None:
        self._asked.setdefault(key.tenant, deque()).append((key, now))

    def begin(self) -> Key | None:
        """The key of the child to make now. None if there is none, all must wait, or enough are being made.

        The caller calls `ended` when the child is made, or if it cannot be made.
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
        self._turns.ended(key.tenant)

    def _may_begin(self, tenant: str) -> bool:
        return self._turns.running_of(tenant) < REFILLS_OF_ONE and not self._is_held(*self._asked[tenant][0])
