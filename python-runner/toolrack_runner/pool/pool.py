"""Children that were forked, confined and imported ahead, so that a call costs a hand-off.

Children wait per tenant, module digest and limits, and never serve another. How many wait for one module follows its calls:
one at first, twice as many each time a call found none, and none again when others need the room.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from toolrack_runner.network.hosts import Host
from toolrack_runner.network.public_address import Network
from toolrack_runner.pool.memory_watch import watched
from toolrack_runner.pool.slots import NoSlotLeft, Slots
from toolrack_runner.pool.worker import HeldTooMuch, SaidNonsense, SaidNothing, SaidTooMuch, Worker
from toolrack_runner.pool.zygote_process import ZygoteProcess
from toolrack_runner.pool.zygotes import PLAIN, Packages, Zygotes
from toolrack_runner.zygote.messages import Born, Gone, Limits, Line, Opening, Unborn

#: Children that wait for one module, at most.
WAITING_OF_ONE_MAX = 8
#: Confined children without a module, for the first call of one.
BLANKS = 2
#: Imports under way ahead of calls: more would take the processors from the calls themselves.
REFILLS_AT_ONCE = 2
#: So long children are not made while calls run that need the processors, if some still wait: calls that come together,
#: as a model's do, are answered first.
HOLD_SECONDS = 0.02
#: And so long behind an answer: who got it has the processors first.
PAUSE_SECONDS = 0.002
#: Children that wait without being stopped, for to wake one takes a tenth of a call: the next of the modules called last,
#: and only such as have left nothing running.
AWAKE_MAX = 8
#: How long an import ahead of a call may take.
IMPORT_SECONDS = 10.0
#: What a waiting child costs at least: its page tables and what it wrote since the fork.
WAITING_BYTES_MIN = 4 << 20
#: What the compiled modules that are kept may take together, as they are sent.
CODE_BYTES_MAX = 64 << 20
#: Tools of one module, and the characters of a name; a test compares them with the module library's.
TOOLS_MAX = 50
NAME_CHARACTERS_MAX = 128
#: Modules whose waiting children are remembered.
MODULES_MAX = 1_000

_log = logging.getLogger("toolrack_runner")


@dataclass(frozen=True, slots=True)
class Key:
    """Whose child it is: children of one key are alike, and no other's calls ever reach them."""

    tenant: str
    module: str
    sha256: str
    limits: Limits
    #: The hosts that its calls may be connected to.
    network: tuple[Host, ...] = ()


@dataclass(slots=True)
class Shelf:
    """The children that wait for one key."""

    source: str
    waiting: deque[Worker]
    #: The one that waits for the next call without being stopped.
    awake: Worker | None = None
    wanted: int = 1
    coming: int = 0
    #: The compiled module, as the first of its children told it before any of it ran.
    code: str | None = None
    #: Where each tool's spec stands; that child's word, for its own module's calls.
    places: dict[str, int] | None = None
    packages: Packages = PLAIN


class PoolFailure(Exception):
    """No child can be had now: the runner's fault, and a retry helps."""


class Pool:
    """Gives out children and refills behind them."""

    def __init__(
        self,
        opening: Opening,
        approved: Packages,
        *,
        bytes_max: int,
        first: tuple[int, Line] | None = None,
        network_allowed: tuple[Network, ...] = (),
    ) -> None:
        #: Networks beside the public internet that tools may be connected to.
        self.network_allowed = network_allowed
        self._bytes_max = bytes_max
        self._bytes = 0
        self._slots = Slots()
        self._number = 0
        self._workers: dict[int, tuple[Worker, ZygoteProcess]] = {}
        self._costs: dict[int, int] = {}
        self._shelves: OrderedDict[Key, Shelf] = OrderedDict()
        self._blanks: deque[Worker] = deque()
        #: Whose child is to be made, and since when on the loop's clock.
        self._refills: deque[tuple[Key, float]] = deque()
        self._calls = 0
        self._answered: list[Worker] = []
        self._awake: deque[Worker] = deque()
        self._loop = asyncio.get_running_loop()
        self._refilling = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self.zygotes = Zygotes(
            opening,
            approved,
            first,
            on_born=self._born,
            on_gone=self._gone,
            on_lost=self._lost,
            on_retired=self._retired,
        )

    @property
    def waiting(self) -> int:
        """Children that wait for a call of their module."""
        return sum(len(shelf.waiting) for shelf in self._shelves.values())

    @property
    def alive(self) -> int:
        """Children that are not reaped yet."""
        return len(self._workers)

    async def take(self, key: Key, source: str) -> Worker:
        """A child for one call: one that has imported the module already, else one that is told to now.

        Raises PoolFailure.
        """
        shelf = self._shelf(key, source)
        while shelf.waiting:
            worker = shelf.waiting.popleft()
            self._uncount(worker)
            if worker in self._awake:
                self._awake.remove(worker)  # Nobody stops it any more.
            if worker.is_alive and not worker.has_said_more:
                self._loop.call_soon(self._wake_next, shelf)
                return worker
            worker.kill()
        shelf.wanted = min(shelf.wanted * 2, WAITING_OF_ONE_MAX)
        worker = await self.blank(key.limits, shelf.packages)
        worker.send(_order(key, source, _known(shelf), has_time=False))
        return worker

    async def blank(self, limits: Limits, packages: Packages = PLAIN) -> Worker:
        """A confined child that has imported nothing of anybody's; raises PoolFailure."""
        while self._blanks and limits == Limits() and not packages:
            worker = self._blanks.popleft()
            if worker.is_alive:
                return worker
            worker.kill()
        return self._spawn(limits, await self._zygote(packages))

    def learn(self, key: Key, imports: list[str], code: str | None) -> None:
        """Notes what a module imports, so that its next children come from a zygote that holds it, and its code."""
        shelf = self._shelves.get(key)
        if shelf is None:
            return
        shelf.code = code
        self._bound_code()
        packages = self.zygotes.packages_of(imports)
        if packages != shelf.packages:
            shelf.packages = packages
            if packages:
                self.zygotes.prepare(packages)

    def learn_places(self, key: Key, told: object) -> None:
        """Notes where the specs of its tools stand, as its child says it."""
        shelf = self._shelves.get(key)
        if shelf is None or not isinstance(told, dict) or len(told) > TOOLS_MAX:
            return
        if all(len(name) <= NAME_CHARACTERS_MAX and _is_place(place) for name, place in told.items()):
            shelf.places = told

    def _bound_code(self) -> None:
        """The modules that were called longest ago are compiled again when they are called again."""
        kept = sum(len(shelf.code) for shelf in self._shelves.values() if shelf.code)
        for shelf in self._shelves.values():
            if kept <= CODE_BYTES_MAX:
                return
            if shelf.code:
                kept -= len(shelf.code)
                shelf.code = None

    async def refill(self, key: Key | None = None) -> None:
        """Starts what is missing: children for the key, and blanks. Called when an answer is on its way."""
        if key is not None and key in self._shelves:
            shelf = self._shelves[key]
            for _ in range(shelf.wanted - len(shelf.waiting) - shelf.coming):
                shelf.coming += 1
                self._refills.append((key, self._loop.time()))
                for seconds in (PAUSE_SECONDS, HOLD_SECONDS):
                    self._loop.call_later(seconds, self._go_on)
        self._go_on()

    def give_up(self, key: Key) -> None:
        """The module can't be imported: nothing waits for it until it is called again."""
        shelf = self._shelves.pop(key, None)
        for worker in shelf.waiting if shelf else ():
            self._discard(worker)

    def close(self) -> None:
        """Kills every child and lets the zygotes go."""
        self._is_closed = True
        for worker, _ in list(self._workers.values()):
            worker.kill()
        self.zygotes.close()

    def _shelf(self, key: Key, source: str) -> Shelf:
        shelf = self._shelves.get(key)
        if shelf is None:
            shelf = self._shelves[key] = Shelf(source, deque())
            if len(self._shelves) > MODULES_MAX:
                self._empty(next(iter(self._shelves)))
        self._shelves.move_to_end(key)
        return shelf

    def let_go(self, worker: Worker, *, has_result: bool) -> None:
        """Has a child killed that was taken, behind the answer; one with a result when no other call waits."""
        if has_result:
            self._answered.append(worker)
            self._loop.call_later(HOLD_SECONDS, self._kill_answered)
        else:
            self._loop.call_soon(worker.kill)

    def _kill_answered(self) -> None:
        while self._answered:
            self._answered.pop().kill()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """For as long as a call runs."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._loop.call_later(PAUSE_SECONDS, self._kill_answered)

    def _go_on(self) -> None:
        while self._refilling < REFILLS_AT_ONCE and self._refills and not self._is_closed:
            if self._is_held(*self._refills[0]):
                return
            self._refilling += 1
            key, _ = self._refills.popleft()
            task = asyncio.create_task(self._refill_one(key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not self._refilling and not self._is_closed:
            self._add_blanks()

    def _is_held(self, key: Key, since: float) -> bool:
        shelf = self._shelves.get(key)
        has_waiting = shelf is not None and bool(shelf.waiting)
        return has_waiting and self._loop.time() - since < (HOLD_SECONDS if self._calls else PAUSE_SECONDS)

    def _add_blanks(self) -> None:
        zygote = self.zygotes.choose(PLAIN)
        while zygote is not None and len(self._blanks) < BLANKS:
            try:
                self._blanks.append(self._spawn(Limits(), zygote))
            except PoolFailure:
                return

    async def _refill_one(self, key: Key) -> None:
        try:
            shelf = self._shelves.get(key)
            if shelf is None:
                return
            try:
                worker = await self._warm(key, shelf)
            finally:
                shelf.coming -= 1
            if worker is None:
                self.give_up(key)
            elif self._shelves.get(key) is not shelf or not worker.is_alive or self._is_retired(worker):
                worker.kill()
            else:
                worker.rest()
                shelf.waiting.append(worker)
                self._wake_next(shelf)
                self._count(worker)
        except PoolFailure as failure:
            if not self._is_closed:
                _log.warning("no child could be made ahead", extra={"reason": str(failure)})
        finally:
            self._refilling -= 1
            self._go_on()

    async def _warm(self, key: Key, shelf: Shelf) -> Worker | None:
        """A child that has imported the module and waits; None where the import fails."""
        worker = self._spawn(key.limits, await self._zygote(shelf.packages))
        # Behind a backlog a child's time is a call's.
        worker.send(_order(key, shelf.source, _known(shelf), has_time=not self._refills))
        try:
            with watched(worker):
                async with asyncio.timeout(IMPORT_SECONDS):
                    message = await worker.receive()
        except (TimeoutError, SaidNothing, SaidTooMuch, SaidNonsense, HeldTooMuch):
            message = {}
        if message.get("ready") is True:
            worker.has_imported = True
            return worker
        worker.kill()
        return None

    async def _zygote(self, packages: Packages) -> ZygoteProcess:
        zygote = self.zygotes.choose(packages)
        if zygote is None:
            try:
                async with asyncio.timeout(IMPORT_SECONDS):
                    await self.zygotes.plain_is_ready.wait()
            except TimeoutError:
                raise PoolFailure("the process that children are forked from does not start") from None
            zygote = self.zygotes.choose(packages)
        if zygote is None:
            raise PoolFailure("the process that children are forked from has just died")
        return zygote

    def _spawn(self, limits: Limits, zygote: ZygoteProcess) -> Worker:
        try:
            slot = self._slots.take()
        except NoSlotLeft:
            raise PoolFailure("every slot has a living child") from None
        self._number += 1
        try:
            worker = Worker(self._number, slot, limits, shared_anonymous_bytes=zygote.shared_anonymous_bytes)
        except OSError as error:
            self._slots.give_back(slot)
            raise PoolFailure(f"no child could be spoken to: {error.strerror}") from None
        try:
            channel, output = worker.descriptors
            zygote.spawn(worker.number, slot, limits, channel=channel, output=output)
        except OSError as error:
            worker.buried(None)
            self._slots.give_back(slot)
            raise PoolFailure(f"no child could be asked for: {error.strerror}") from None
        worker.handed_over()
        self._workers[worker.number] = (worker, zygote)
        return worker

    def _wake_next(self, shelf: Shelf) -> None:
        """Its next child runs, if it is quiet; of the modules that were called longest ago none does any more."""
        first = shelf.waiting[0] if shelf.waiting else None
        if first is None or first is shelf.awake or not self._is_quiet(first):
            return
        first.go_on()
        shelf.awake = first
        self._awake.append(first)
        while len(self._awake) > AWAKE_MAX:
            self._awake.popleft().rest()

    def _is_quiet(self, worker: Worker) -> bool:
        zygote = self._zygote_of(worker)
        return zygote is not None and worker.is_quiet(zygote.caught_signals)

    def _count(self, worker: Worker) -> None:
        cost = max(worker.resident_bytes() - self._shared_bytes(worker), WAITING_BYTES_MIN)
        self._costs[worker.number] = cost
        self._bytes += cost
        while self._bytes > self._bytes_max:
            oldest = next((key for key, shelf in self._shelves.items() if shelf.waiting), None)
            if oldest is None:
                return
            self._empty(oldest)

    def _uncount(self, worker: Worker) -> None:
        self._bytes -= self._costs.pop(worker.number, 0)

    def _shared_bytes(self, worker: Worker) -> int:
        _, zygote = self._workers[worker.number]
        return zygote.shared_bytes

    def _empty(self, key: Key) -> None:
        shelf = self._shelves.pop(key)
        for worker in shelf.waiting:
            self._discard(worker)

    def _discard(self, worker: Worker) -> None:
        self._uncount(worker)
        worker.kill()

    def _born(self, born: Born, pidfd: int) -> None:
        worker, zygote = self._workers[born.child]
        worker.born(pidfd)
        zygote.caught_signals = zygote.caught_signals or worker.caught_signals()

    def _gone(self, gone: Gone | Unborn) -> None:
        worker, _ = self._workers.pop(gone.child)
        self._uncount(worker)
        self._slots.give_back(worker.slot)
        worker.buried(gone if isinstance(gone, Gone) else None)

    def _retired(self, retired: ZygoteProcess) -> None:
        """A zygote is to go when its last child has: those that wait do so now, calls under way end first."""
        for shelf in self._shelves.values():
            for worker in [each for each in shelf.waiting if self._zygote_of(each) is retired]:
                shelf.waiting.remove(worker)
                self._discard(worker)

    def _is_retired(self, worker: Worker) -> bool:
        zygote = self._zygote_of(worker)
        return zygote is None or zygote.is_retired

    def _zygote_of(self, worker: Worker) -> ZygoteProcess | None:
        _, zygote = self._workers.get(worker.number, (None, None))
        return zygote

    def _lost(self, lost: ZygoteProcess) -> None:
        """A zygote takes its children along when it dies."""
        for number, (worker, zygote) in list(self._workers.items()):
            if zygote is lost:
                del self._workers[number]
                self._uncount(worker)
                self._slots.give_back(worker.slot)
                worker.buried(None)


def _order(key: Key, source: str, known: dict[str, Any] | None, *, has_time: bool) -> dict[str, Any]:
    """What a child is to do: import the module, from what is known of it or else telling that, and run one call; first
    rehearsing one where it has time.
    """
    return {
        "do": "call",
        "module": key.module,
        "source": source,
        "known": known,
        "rehearse": has_time,
        "network": bool(key.network),
    }


def _is_place(value: object) -> bool:
    return type(value) is int and 0 <= value < TOOLS_MAX


def _known(shelf: Shelf) -> dict[str, Any] | None:
    if shelf.code is None or shelf.places is None:
        return None
    return {"code": shelf.code, "places": shelf.places}
