"""The living children, each with its slot and the zygote that forked it."""

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.wire.zygote_messages import Born, Gone, Limits, Unborn

#: How many children may exist at once, whether they wait, run or end. A slot stands for the uid and the work directory of a
#: child.
SLOTS_MAX = 1_000


class PoolError(Exception):
    """No child can be made now. This is a fault of the runner, and another try may succeed."""


class NoEnvironmentError(PoolError):
    """No child here can have an environment. The text says why. Nothing was run."""


class AnyChild(Protocol):
    """The part of a child that the pool uses."""

    number: int
    slot: int

    @property
    def descriptors(self) -> tuple[int, int]: ...
    @property
    def is_alive(self) -> bool: ...
    @property
    def has_said_more(self) -> bool: ...
    def handed_over(self) -> None: ...
    def born(self, pidfd: int) -> None: ...
    def reaped(self, gone: Gone | None) -> None: ...
    def kill(self) -> None: ...


class AnyZygote(Protocol):
    """The part of a zygote that the pool uses."""

    def spawn(
        self,
        child: int,
        slot: int,
        limits: Limits,
        environment: Environment | None,
        *,
        pages: str,
        channel: int,
        output: int,
    ) -> None: ...


Child = TypeVar("Child", bound=AnyChild)
Zygote = TypeVar("Zygote", bound=AnyZygote)


class Children(Generic[Child, Zygote]):
    """Every child that is not reaped yet. `on_end` is called for each child that ends, before its slot can be used again."""

    def __init__(
        self,
        make: Callable[[int, int, Limits, Zygote], Child],
        on_end: Callable[[Child], None],
        slots: int = SLOTS_MAX,
    ) -> None:
        self._make = make
        self._on_end = on_end
        #: The first slot is the one that has been free for the longest time.
        self._free_slots = deque(range(slots))
        self._number = 0
        self._alive: dict[int, tuple[Child, Zygote]] = {}
        #: The digest of the environment of each living child that has one, by the child's number.
        self._environments: dict[int, str] = {}

    @property
    def alive(self) -> int:
        return len(self._alive)

    @property
    def environments(self) -> set[str]:
        """The digests of all environments of living children."""
        return set(self._environments.values())

    def spawn(
        self, limits: Limits, zygote: Zygote, environment: Environment | None = None, pages: str = ""
    ) -> Child:
        """Asks a zygote for a child. Raises PoolError if there is no slot or the zygote accepts no orders."""
        if not self._free_slots:
            raise PoolError("every slot has a living child")
        slot = self._free_slots[0]
        self._number += 1
        try:
            child = self._make(self._number, slot, limits, zygote)
        except OSError as error:
            raise PoolError(f"no channel to a child could be made: {error.strerror}") from None
        try:
            channel, output = child.descriptors
            zygote.spawn(child.number, slot, limits, environment, pages=pages, channel=channel, output=output)
        except OSError as error:
            child.reaped(None)
            raise PoolError(f"no child could be asked for: {error.strerror}") from None
        child.handed_over()
        self._free_slots.popleft()
        self._alive[child.number] = (child, zygote)
        if environment is not None:
            self._environments[child.number] = environment.digest
        return child

    def zygote_of(self, child: Child) -> Zygote | None:
        """The zygote that forked the child; None after the child is reaped."""
        return self._alive.get(child.number, (None, None))[1]

    def born(self, born: Born, pidfd: int) -> None:
        child, _ = self._alive[born.child]
        child.born(pidfd)

    def gone(self, gone: Gone | Unborn) -> None:
        """Notes that a zygote has reaped a child, or that it could not fork one."""
        self._ended(gone.child, gone if isinstance(gone, Gone) else None)

    def lost(self, zygote: Zygote) -> None:
        """Notes that a zygote has died with all of its children."""
        for number in [number for number, (_, parent) in self._alive.items() if parent is zygote]:
            self._ended(number, None)

    def kill(self) -> None:
        for child, _ in list(self._alive.values()):
            child.kill()

    def _ended(self, number: int, gone: Gone | None) -> None:
        child, _ = self._alive.pop(number)
        self._environments.pop(number, None)
        self._on_end(child)
        self._free_slots.append(child.slot)
        child.reaped(gone)
