"""Children that have imported their module and wait for its next call, in a queue for each key, within a budget of memory.

How many wait in one queue follows its calls: one at first, twice as many each time a call found none, and none again when
others need the room.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from toolrack_runner.pool.key import Key
from toolrack_runner.pool.zygotes import PLAIN, Packages

#: Children that wait for one module, at most.
WAITING_OF_ONE_MAX = 8
#: What a waiting child costs at least: its page tables and what it wrote since the fork.
WAITING_BYTES_MIN = 4 << 20
#: Modules whose waiting children are remembered.
MODULES_MAX = 1_000


class Waiting(Protocol):
    """A child that waits."""

    @property
    def number(self) -> int: ...
    @property
    def is_alive(self) -> bool: ...
    @property
    def has_said_more(self) -> bool: ...
    def kill(self) -> None: ...


Child = TypeVar("Child", bound=Waiting)


@dataclass(slots=True)
class WarmQueue(Generic[Child]):
    """The children that wait for one key, and how many should."""

    source: str
    #: What the zygote of its next children should hold.
    packages: Packages = PLAIN
    waiting: deque[Child] = field(default_factory=deque)
    wanted: int = 1
    #: Children that are being made for it.
    coming: int = 0

    @property
    def missing(self) -> int:
        """How many more should be made; not above 0 where there are enough."""
        return self.wanted - len(self.waiting) - self.coming

    def found_none(self) -> None:
        """A call came and nobody waited: from now on twice as many should."""
        self.wanted = min(self.wanted * 2, WAITING_OF_ONE_MAX)


class WarmQueues(Generic[Child]):
    """Every key's queue; the one whose key was called longest ago makes room first. `on_drop` hears of each that does."""

    def __init__(
        self,
        bytes_max: int,
        modules_max: int = MODULES_MAX,
        *,
        on_drop: Callable[[Key], None] = lambda _: None,
    ) -> None:
        self._bytes_max = bytes_max
        self._on_drop = on_drop
        self._modules_max = modules_max
        self._bytes = 0
        self._queues: OrderedDict[Key, WarmQueue[Child]] = OrderedDict()
        #: Where each waiting child is, and what it costs, by its number.
        self._places: dict[int, tuple[WarmQueue[Child], int]] = {}

    @property
    def waiting(self) -> int:
        """Children that wait for a call of their module."""
        return len(self._places)

    @property
    def bytes(self) -> int:
        """Memory of all waiting children together, in bytes."""
        return self._bytes

    def called(self, key: Key, source: str) -> WarmQueue[Child]:
        """The queue of a key that is called now, made where there is none."""
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = WarmQueue(source)
            if len(self._queues) > self._modules_max:
                self.drop(next(iter(self._queues)))
        self._queues.move_to_end(key)
        return queue

    def find(self, key: Key) -> WarmQueue[Child] | None:
        """The queue of a key, if it has one."""
        return self._queues.get(key)

    def take(self, queue: WarmQueue[Child]) -> Child | None:
        """The child that has waited longest and can be called; those before it that cannot are killed."""
        while queue.waiting:
            child = queue.waiting[0]
            self.remove(child)
            if child.is_alive and not child.has_said_more:
                return child
            child.kill()
        return None

    def put(self, queue: WarmQueue[Child], child: Child, bytes_used: int) -> None:
        """It waits from now on. Queues are dropped until all that wait fit into the budget, this one perhaps among them."""
        cost = max(bytes_used, WAITING_BYTES_MIN)
        queue.waiting.append(child)
        self._places[child.number] = (queue, cost)
        self._bytes += cost
        while self._bytes > self._bytes_max:
            oldest = next((key for key, held in self._queues.items() if held.waiting), None)
            if oldest is None:
                return
            self.drop(oldest)

    def remove(self, child: Child) -> None:
        """It waits no more, if it did."""
        place = self._places.pop(child.number, None)
        if place is not None:
            queue, cost = place
            queue.waiting.remove(child)
            self._bytes -= cost

    def drop(self, key: Key) -> None:
        """Nobody waits for this key until it is called again; those that do are killed."""
        queue = self._queues.pop(key, None)
        if queue is None:
            return
        self._on_drop(key)
        for child in list(queue.waiting):
            self._discard(child)

    def discard(self, is_meant: Callable[[Child], bool]) -> None:
        """Kills those that wait and of which this holds; their queues stay."""
        for queue in self._queues.values():
            for child in list(filter(is_meant, queue.waiting)):
                self._discard(child)

    def _discard(self, child: Child) -> None:
        self.remove(child)
        child.kill()
