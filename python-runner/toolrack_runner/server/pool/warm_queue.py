"""Children that have imported their module and wait for a call. Each key has a queue, and all share a memory budget.

A queue begins with one child. Each time a call finds no child, the queue gets twice as many children. A queue is dropped
after some time without a call, or to make room for other queues. Then the user whose children take the most memory loses a
queue.
"""

from asyncio import Future
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, NamedTuple

from toolrack_runner.hosts import Host
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.children import SLOTS_MAX, Child
from toolrack_runner.server.pool.fair_queue import FairBudget
from toolrack_runner.server.pool.written_pages import WrittenPages
from toolrack_runner.server.pool.zygotes import PLAIN, Packages
from toolrack_runner.wire.child_messages import Known, SourceText
from toolrack_runner.wire.zygote_messages import Limits

#: How many children may wait for one key, so that one module cannot fill the warm queues.
WAITING_OF_ONE_MAX = 8
#: A waiting child counts at least this many bytes, for its page tables and for the pages that it has written after the fork.
WAITING_BYTES_MIN = 4 << 20
#: How many children may wait in total. The other slots are for children that run, end or are being made.
WAITING_MAX = SLOTS_MAX // 2
#: How many modules may have a queue, which bounds the memory of the queues.
MODULES_MAX = 1_000
#: The most bytes of all compiled modules in memory, in the form in which they are sent.
CODE_BYTES_MAX = 64 << 20


class Key(NamedTuple):
    """Identifies children that can replace each other. A child never gets a call with another key."""

    tenant: str
    module: str
    sha256: str
    limits: Limits
    #: The hosts that a call may connect to.
    network: tuple[Host, ...] = ()
    #: The digest of the environment; empty if the module has no packages of its own.
    environment: str = ""
    #: How many calls one child serves.
    reuse: int = 1
    #: The session whose calls a child with `reuse` serves after its first one: empty for calls without a session. None for
    #: children that have served no call.
    session: str | None = None

    @property
    def fresh(self) -> "Key":
        """The key of the children that have served no call."""
        return self if self.session is None else self._replace(session=None)


@dataclass(slots=True)
class WarmQueue(Generic[Child]):
    """The children that wait for one key, and the data for making more."""

    key: Key
    source: SourceText
    #: The environment of its children. It has the digest of the key.
    environment: Environment | None = None
    #: The packages of the zygote that forks the next children of this queue.
    packages: Packages = PLAIN
    waiting: deque[Child] = field(default_factory=deque)
    #: The time of the last call of this key.
    called_at: float = 0.0
    wanted: int = 1
    #: How many children are being made or, if the key has a session, are resting after a call.
    coming: int = 0
    #: The calls that wait for children that are resting.
    takers: deque["Future[Child | None]"] = field(default_factory=deque)
    #: The compiled module, which a child sent before the module ran. None if no child has sent it, or if it was dropped to
    #: make room for others.
    code: str | None = None
    #: The index of each tool's spec in TOOL_SPECS, which a child sent after the module ran. The module may have forged the
    #: indexes, so only calls of this key use them.
    places: dict[str, int] | None = None
    #: Whether the arguments of any tool are converted. The module may have forged this value too.
    converts: bool = False
    #: The pages that its calls write.
    written: WrittenPages = field(default_factory=WrittenPages)

    @property
    def known(self) -> Known | None:
        """What the next child needs so that it neither compiles the module nor reads every spec.

        None if something of it is missing.
        """
        return (
            None if self.code is None or self.places is None else Known(self.code, self.places, self.converts)
        )

    def learn_places(self, places: dict[str, int] | None, *, converts: bool = False) -> None:
        """Keeps the index of each spec, if a child sent them and the code is kept."""
        if places is not None and self.code is not None:
            self.places = places
            self.converts = converts

    @property
    def missing(self) -> int:
        """How many more children should be made; 0 or less if there are enough."""
        return self.wanted - len(self.waiting) - self.coming

    def found_none(self) -> None:
        """Notes that a call has found no child. From now on, twice as many children should wait."""
        self.wanted = min(self.wanted * 2, WAITING_OF_ONE_MAX)


class WarmQueues(Generic[Child]):
    """The queues of all keys, within limits for memory, children and modules.

    If a limit is exceeded, the user with the largest amount loses a queue: the one whose last call was longest ago.
    """

    def __init__(
        self, bytes_max: int, modules_max: int = MODULES_MAX, code_bytes_max: int = CODE_BYTES_MAX
    ) -> None:
        self._bytes = FairBudget(bytes_max)
        self._children = FairBudget(WAITING_MAX)
        self._modules = FairBudget(modules_max)
        self._code_bytes = FairBudget(code_bytes_max)
        self._queues: OrderedDict[Key, WarmQueue[Child]] = OrderedDict()
        #: Each waiting child, its queue and its bytes, by its number. The child that was measured longest ago comes first.
        self._places: dict[int, tuple[Child, WarmQueue[Child], int]] = {}

    @property
    def waiting(self) -> int:
        return len(self._places)

    @property
    def bytes(self) -> int:
        """The memory of all waiting children."""
        return self._bytes.amount

    def called(
        self, key: Key, source: SourceText, now: float = 0.0, environment: Environment | None = None
    ) -> WarmQueue[Child]:
        """The queue of a key for which a call comes at `now`. If there is none, a new one is made."""
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = WarmQueue(key, source, environment)
            self._modules.add(key.tenant, 1)
            while (user := self._modules.greediest) is not None:
                self.drop(next(other for other in self._queues if other.tenant == user))
        else:
            self._queues.move_to_end(key)
        queue.called_at = now
        return queue

    def find(self, key: Key) -> WarmQueue[Child] | None:
        return self._queues.get(key)

    def learn_code(self, queue: WarmQueue[Child], code: str | None) -> None:
        """Keeps the compiled module. `code` is None if it was too large to be sent. May forget the code of another queue."""
        self._forget_code(queue)
        if code is not None:
            queue.code = code
            self._code_bytes.add(queue.key.tenant, len(code))
            while (user := self._code_bytes.greediest) is not None:
                kept = (other for other in self._queues.values() if other.code is not None)
                self._forget_code(next(other for other in kept if other.key.tenant == user))

    def take(self, queue: WarmQueue[Child]) -> Child | None:
        """The first waiting child that can be called, or None. Kills the children before it, which cannot be called.

        Of the children that have served calls the last one comes first, so that those that are not needed end in time.
        """
        while queue.waiting:
            child = queue.waiting[0 if queue.key.session is None else -1]
            self.remove(child)
            if child.is_alive and not child.has_said_more:
                return child
            child.kill()
        return None

    def put(self, queue: WarmQueue[Child], child: Child, bytes_used: int) -> None:
        """Adds a waiting child. Then drops queues until all children fit into the budget, perhaps also `queue` itself."""
        queue.waiting.append(child)
        self._places[child.number] = (child, queue, 0)
        self._children.add(queue.key.tenant, 1)
        self.weigh(child, bytes_used)

    def weighed_longest_ago(self, count: int) -> list[Child]:
        """The `count` waiting children whose memory was measured longest ago, or fewer."""
        return [child for child, _, _ in islice(self._places.values(), count)]

    def weigh(self, child: Child, bytes_used: int) -> None:
        """Records the measured memory of a waiting child. Then drops queues until all children fit into the budget."""
        place = self._places.pop(child.number, None)
        if place is not None:
            _, queue, before = place
            cost = max(bytes_used, WAITING_BYTES_MIN)
            self._places[child.number] = (child, queue, cost)
            self._bytes.add(queue.key.tenant, cost - before)
            self._make_room()

    def remove(self, child: Child) -> None:
        """Removes a child, if it waits."""
        place = self._places.pop(child.number, None)
        if place is not None:
            _, queue, cost = place
            queue.waiting.remove(child)
            self._bytes.add(queue.key.tenant, -cost)
            self._children.add(queue.key.tenant, -1)

    def drop(self, key: Key) -> None:
        """Kills the children that wait for this key, and drops their queue until there is a call with this key again."""
        queue = self._queues.pop(key, None)
        if queue is not None:
            self._modules.add(key.tenant, -1)
            self._forget_code(queue)
            for child in list(queue.waiting):
                self._discard(child)

    def drop_of(self, module: str, sha256: str, tenant: str | None) -> None:
        """Drops the queues of a module's source: of one user or, if `tenant` is None, of all users."""
        for key in list(self._queues):
            if (key.module, key.sha256) == (module, sha256) and tenant in (None, key.tenant):
                self.drop(key)

    @property
    def environments_coming(self) -> set[str]:
        """The digests of the environments of children that are being made."""
        return {key.environment for key, queue in self._queues.items() if queue.coming and key.environment}

    def drop_not_called_since(self, then: float) -> None:
        """Drops the queues whose last call was before `then`."""
        for key in [key for key, queue in self._queues.items() if queue.called_at < then]:
            self.drop(key)

    def discard(self, is_meant: Callable[[Child], bool]) -> None:
        """Kills the waiting children for which `is_meant` is true. Their queues remain."""
        for child in [child for child, _, _ in self._places.values() if is_meant(child)]:
            self._discard(child)

    def _discard(self, child: Child) -> None:
        self.remove(child)
        child.kill()

    def _make_room(self) -> None:
        while (user := self._bytes.greediest or self._children.greediest) is not None:
            keys = (key for key, queue in self._queues.items() if key.tenant == user and queue.waiting)
            oldest = next(keys, None)
            if oldest is None:
                return
            self.drop(oldest)

    def _forget_code(self, queue: WarmQueue[Child]) -> None:
        if queue.code is not None:
            self._code_bytes.add(queue.key.tenant, -len(queue.code))
            queue.code = queue.places = None
