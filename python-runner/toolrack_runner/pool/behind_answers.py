"""Leaves the processors to calls that came together, and to whoever was just answered.

Children are killed and made a little later for it. All of the pool's timers are here; without this file children would be
killed with the answer and made at once.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

#: So long children are not made while calls run that need the processors, if some still wait: calls that come together,
#: as a model's do, are answered first.
HOLD_SECONDS = 0.02
#: And so long behind an answer: who got it has the processors first.
PAUSE_SECONDS = 0.002


class Clock(Protocol):
    """The event loop's, as far as it is needed."""

    def time(self) -> float: ...
    def call_soon(self, act: Callable[[], object], /) -> object: ...
    def call_later(self, seconds: float, act: Callable[[], object], /) -> object: ...


class Killable(Protocol):
    """A child."""

    def kill(self) -> None: ...


class BehindAnswers:
    """Knows how many calls run, and puts off what is not theirs."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls = 0
        self._answered: list[Killable] = []

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

    def kill(self, child: Killable, *, has_result: bool) -> None:
        """Has a child killed behind its answer; one with a result when no other call waits."""
        if has_result:
            self._answered.append(child)
            self._clock.call_later(HOLD_SECONDS, self._kill_answered)
        else:
            self._clock.call_soon(child.kill)

    def is_held(self, since: float, *, has_waiting: bool) -> bool:
        """Whether a child that was asked for at `since`, on this clock, is not made yet."""
        return has_waiting and self._clock.time() - since < (HOLD_SECONDS if self._calls else PAUSE_SECONDS)

    def when_not_held(self, act: Callable[[], object]) -> None:
        """Has this done at each moment when what is asked for now may no longer be held."""
        for seconds in (PAUSE_SECONDS, HOLD_SECONDS):
            self._clock.call_later(seconds, act)

    def _kill_answered(self) -> None:
        while self._answered:
            self._answered.pop().kill()
