"""The children that are alive: each with its slot and the zygote that it was forked from, from its order to its end."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from toolrack_runner.pool.slots import NoSlotLeft, Slots
from toolrack_runner.zygote.messages import Born, Gone, Limits, Unborn


class PoolFailure(Exception):
    """No child can be had now: the runner's fault, and a retry helps."""


class Alive(Protocol):
    """Main's side of a child."""

    @property
    def number(self) -> int: ...
    @property
    def slot(self) -> int: ...
    @property
    def descriptors(self) -> tuple[int, int]: ...
    def handed_over(self) -> None: ...
    def born(self, pidfd: int) -> None: ...
    def reaped(self, gone: Gone | None) -> None: ...
    def kill(self) -> None: ...


class Parent(Protocol):
    """Main's side of a zygote."""

    def spawn(self, child: int, slot: int, limits: Limits, *, channel: int, output: int) -> None: ...


Child = TypeVar("Child", bound=Alive)
Zygote = TypeVar("Zygote", bound=Parent)


class Children(Generic[Child, Zygote]):
    """Every child that is not reaped yet. `on_end` is called with each whose end is known, before its slot is another's."""

    def __init__(
        self, make: Callable[[int, int, Limits, Zygote], Child], on_end: Callable[[Child], None], slots: Slots
    ) -> None:
        self._make = make
        self._on_end = on_end
        self._slots = slots
        self._number = 0
        self._alive: dict[int, tuple[Child, Zygote]] = {}

    @property
    def alive(self) -> int:
        """Children that are not reaped yet."""
        return len(self._alive)

    def spawn(self, limits: Limits, zygote: Zygote) -> Child:
        """Asks a zygote for a child; raises PoolFailure."""
        try:
            slot = self._slots.take()
        except NoSlotLeft:
            raise PoolFailure("every slot has a living child") from None
        self._number += 1
        try:
            child = self._make(self._number, slot, limits, zygote)
        except OSError as error:
            self._slots.give_back(slot)
            raise PoolFailure(f"no child could be spoken to: {error.strerror}") from None
        try:
            channel, output = child.descriptors
            zygote.spawn(child.number, slot, limits, channel=channel, output=output)
        except OSError as error:
            child.reaped(None)
            self._slots.give_back(slot)
            raise PoolFailure(f"no child could be asked for: {error.strerror}") from None
        child.handed_over()
        self._alive[child.number] = (child, zygote)
        return child

    def zygote_of(self, child: Child) -> Zygote | None:
        """What it was forked from; None once it is reaped."""
        _, zygote = self._alive.get(child.number, (None, None))
        return zygote

    def born(self, born: Born, pidfd: int) -> None:
        """A zygote has forked it."""
        child, _ = self._alive[born.child]
        child.born(pidfd)

    def gone(self, gone: Gone | Unborn) -> None:
        """A zygote has reaped it, or could not fork it."""
        child, _ = self._alive.pop(gone.child)
        self._ended(child, gone if isinstance(gone, Gone) else None)

    def lost(self, zygote: Zygote) -> None:
        """A zygote has died, and taken its children along."""
        for number, (child, parent) in list(self._alive.items()):
            if parent is zygote:
                del self._alive[number]
                self._ended(child, None)

    def kill(self) -> None:
        """Kills them all."""
        for child, _ in list(self._alive.values()):
            child.kill()

    def _ended(self, child: Child, gone: Gone | None) -> None:
        self._on_end(child)
        self._slots.give_back(child.slot)
        child.reaped(gone)
