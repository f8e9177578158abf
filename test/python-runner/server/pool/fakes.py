"""A clock, children and a zygote without a process, for the parts of the pool."""

from collections.abc import Callable
from dataclasses import dataclass, field

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.warm_queue import Key
from toolrack_runner.wire.zygote_messages import Gone, Limits


def key_of(name: str, tenant: str = "tenant") -> Key:
    """A key of its own."""
    return Key(tenant, name, "0" * 64, Limits())


@dataclass
class FakeClock:
    """A clock whose time a test sets."""

    now: float = 0.0
    due: list[tuple[float, Callable[[], object]]] = field(default_factory=list)

    def time(self) -> float:
        """Seconds."""
        return self.now

    def call_soon(self, act: Callable[[], object], /) -> object:
        """At the next moment."""
        return self.call_later(0.0, act)

    def call_later(self, seconds: float, act: Callable[[], object], /) -> object:
        """So much later."""
        self.due.append((self.now + seconds, act))
        return None

    def pass_to(self, now: float) -> None:
        """Does all that is due by then, in its order."""
        self.now = now
        while ready := sorted((each for each in self.due if each[0] <= now), key=lambda each: each[0]):
            self.due.remove(ready[0])
            ready[0][1]()


@dataclass(eq=False)
class FakeChild:
    """A child that records what was done to it."""

    number: int
    slot: int = 0
    limits: Limits = field(default_factory=Limits)
    is_alive: bool = True
    has_said_more: bool = False
    descriptors: tuple[int, int] = (-1, -1)
    done: list[object] = field(default_factory=list)

    def kill(self) -> None:
        """Kills it."""
        self.is_alive = False
        self.done.append("killed")

    def handed_over(self) -> None:
        """Its ends are its own."""
        self.done.append("handed over")

    def born(self, pidfd: int) -> None:
        """It was forked."""
        self.done.append(("born", pidfd))

    def reaped(self, gone: Gone | None) -> None:
        """Nothing of it is left."""
        self.is_alive = False
        self.done.append(("reaped", gone))


@dataclass(eq=False)
class FakeZygote:
    """A zygote that forks nothing. `refuses` is the error that it raises."""

    refuses: OSError | None = None
    asked: list[tuple[int, int]] = field(default_factory=list)

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
    ) -> None:
        """Notes the order."""
        if self.refuses is not None:
            raise self.refuses
        self.asked.append((child, slot))
