"""The pool: children that were forked and confined, and have imported their module, before a call for them comes.

It combines the living children (`children.py`) and the children that wait (`warm_queue.py`). The zygotes of `zygotes.py`
make new children, in the order that `refills.py` decides.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from toolrack_runner.server.network.public_address import Network
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.channel import ChannelClosedError
from toolrack_runner.server.pool.children import Children, NoEnvironmentError, PoolError
from toolrack_runner.server.pool.memory_watch import too_much, watched
from toolrack_runner.server.pool.name_lookups import NameLookUps
from toolrack_runner.server.pool.niceness import LONG_SECONDS, LongCalls, RecentUse
from toolrack_runner.server.pool.parking import Parking
from toolrack_runner.server.pool.preloaded import know_installed, shared
from toolrack_runner.server.pool.refills import BehindAnswers, Refills
from toolrack_runner.server.pool.warm_queue import Key, WarmQueue, WarmQueues
from toolrack_runner.server.pool.worker import HeldTooMuchError, Worker
from toolrack_runner.server.pool.written_pages import written_pages
from toolrack_runner.server.pool.zygote_process import ZygoteProcess
from toolrack_runner.server.pool.zygotes import PLAIN, Packages, Zygotes
from toolrack_runner.wire.child_messages import CallOrder, Imports, ProtocolError, Ready, SourceText, Starting
from toolrack_runner.wire.zygote_messages import Limits, Opening, ZygoteChannel
from toolrack_runner.workplace_path import workplace_beside

#: The package that a child needs to convert arguments. A module decides whether its children get it, like the packages that
#: it imports.
CONVERTING: Packages = frozenset({"pydantic"})
#: How many confined children without a module are kept for the first call of a module.
BLANKS = 2
#: The most time that an import ahead of a call may take.
IMPORT_SECONDS = 10.0
#: After so many seconds without a call of a module, its waiting children end. This also ends the children of a deleted or
#: replaced module, because at most one instance of the service reports it to the runner. A call that finds no child takes
#: only some milliseconds more.
IDLE_SECONDS = 600.0
#: How often the server process searches for modules without a call.
IDLE_CHECK_SECONDS = 60.0
#: How often the memory of each waiting child is measured. A child can take memory after it was stopped, if a system call was
#: still running then.
WEIGH_SECONDS = 1.0
#: How many waiting children are measured without a pause. This takes half a millisecond.
WEIGHED_AT_ONCE = 16

_log = logging.getLogger("toolrack_runner")


class Pool:
    """Gives children to calls and checks, and makes new children after the answers.

    `approved` has the packages that zygotes may preload.
    """

    def __init__(
        self,
        opening: Opening,
        approved: Packages,
        *,
        bytes_max: int,
        first: tuple[int, ZygoteChannel] | None = None,
        network_allowed: tuple[Network, ...] = (),
        is_for_one_user: bool = False,
    ) -> None:
        self.network_allowed = network_allowed
        self.names = NameLookUps(is_for_one_user=is_for_one_user)
        self._loop = asyncio.get_running_loop()
        self._queues: WarmQueues[Worker] = WarmQueues(bytes_max)
        workplace = workplace_beside(opening.read_only)

        def make(number: int, slot: int, limits: Limits, zygote: ZygoteProcess) -> Worker:
            return Worker(number, slot, limits, zygote.shared_anonymous_bytes, workplace)

        self._children: Children[Worker, ZygoteProcess] = Children(make, self._queues.remove)
        self._parking = Parking(
            self._queues, lambda worker: not (self._is_closed or self._is_retired(worker))
        )
        self.behind = BehindAnswers(self._loop)
        self._long_calls = LongCalls()
        self._recent_use = RecentUse(self._loop)
        self._refills = Refills(self._is_held)
        self._blanks: deque[Worker] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._approved = approved
        self.zygotes = Zygotes(opening, first, self._children, self._retired)
        self._end_idle()
        self._weigh_again()

    @property
    def snapshot(self) -> dict[str, int]:
        """How many children are not reaped yet, and how many of them wait for a call, for `/health`."""
        return {"alive": self._children.alive, "waiting": self._queues.waiting}

    async def take(
        self,
        key: Key,
        source: SourceText,
        environment: Environment | None = None,
        seconds: float = IMPORT_SECONDS,
    ) -> Worker:
        """A child for one call. The child has imported the module, or has the order to import it. Raises PoolError.

        `environment` is the one whose digest the key has. The call has so many seconds.
        """
        if environment is not None:
            await know_installed()
        if key.session is not None:
            parked = self._queues.called(key, source, self._loop.time(), environment)
            while (found := self._queues.take(parked)) is not None:
                if not found.has_moved_while_parked:
                    return found
                found.kill()
            found = await self._parking.next_rested(parked, seconds)
            if found is not None:
                return found
        queue = self._queues.called(key.fresh, source, self._loop.time(), environment)
        worker = self._queues.take(queue)
        if worker is None:
            queue.found_none()
            worker = await self.blank(_limits_of(key), queue.packages, environment)
            self._order(worker, queue, rehearse=False)
        worker.call_cpu_seconds = key.limits.cpu_seconds
        return worker

    def give_back(self, key: Key, tool: str, worker: Worker, *, has_result: bool) -> None:
        """Parks a child for the next call of its key, or kills it. Called when the outcome of its call is known."""
        queue = self._queues.find(key) if has_result and worker.served + 1 < key.reuse else None
        if queue is None or not worker.is_alive:
            # The output is dropped now. Python would free it only when it collects cycles, because objects of the worker
            # refer to each other.
            worker.output.end_at(0)
            learn = partial(self._learn_pages, key, tool, worker)
            self.behind.kill(worker, has_result=has_result, before=learn)
        else:
            self._parking.rest(worker, queue)

    async def blank(
        self, limits: Limits, packages: Packages = PLAIN, environment: Environment | None = None
    ) -> Worker:
        """A confined child that has imported no module; raises PoolError."""
        while self._blanks and limits == Limits() and not packages and environment is None:
            worker = self._blanks.popleft()
            if worker.is_alive:
                return worker
            worker.kill()
        return self._children.spawn(limits, await self._zygote(packages, environment), environment)

    def environments_in_use(self) -> set[str]:
        """The digests of the environments that living children have, or children that are being made."""
        return self._children.environments | self._queues.environments_coming

    @contextmanager
    def at_work(self, tenant: str, worker: Worker) -> Iterator[float]:
        """Watches the child's memory and its user's share of the processors, while code of the user runs in the child.

        Yields how many seconds of processor time the child has used before.
        """
        worker.yield_to_others(self._recent_use.steps(tenant))
        cpu_before = worker.cpu_seconds()
        stack = ExitStack()
        # Most calls end before, and need no watch.
        late = self._loop.call_later(LONG_SECONDS, self._watch_long, stack, tenant, worker, cpu_before)
        try:
            yield cpu_before
        finally:
            late.cancel()
            stack.close()
            self._recent_use.add(tenant, worker.cpu_seconds() - cpu_before)

    def _watch_long(self, stack: ExitStack, tenant: str, worker: Worker, cpu_before: float) -> None:
        stack.enter_context(watched(worker, cpu_before))
        stack.enter_context(self._long_calls.counted(tenant, worker))

    def learn(self, key: Key, facts: Imports | Ready) -> None:
        """Stores what a child has sent about its module: the code and the imports, or the index of each spec in TOOL_SPECS.

        The next children of the module are forked from a zygote that has preloaded the imports.
        """
        queue = self._queues.find(key.fresh)
        if queue is None:
            return
        if isinstance(facts, Ready):
            queue.learn_places(facts.places, converts=facts.converts)
            if facts.converts:
                self._prefer(queue, queue.packages | CONVERTING)
            return
        self._queues.learn_code(queue, facts.code)
        packages = self._approved.intersection(facts.packages)
        self._prefer(queue, packages | CONVERTING if queue.converts else packages)

    def _prefer(self, queue: WarmQueue[Worker], packages: Packages) -> None:
        """Makes the next children of this queue come from a zygote with these packages, if there is one that is ready."""
        packages = shared(packages, queue.environment)
        if packages != queue.packages:
            queue.packages = packages
            if packages:
                self.zygotes.prepare(queue.key.tenant, packages)

    async def refill(self, key: Key | None = None) -> None:
        """Starts to make the missing children of the key, and children without a module. Called after an answer is sent."""
        if key is not None and (queue := self._queues.find(key.fresh)) is not None:
            for _ in range(queue.missing):
                queue.coming += 1
                self._refills.ask(queue.key, self._loop.time())
                self.behind.when_not_held(self._go_on)
        self._go_on()

    def forget(self, module: str, sha256: str, tenant: str | None) -> None:
        """Ends the children that wait for calls of this source: of one user or, if `tenant` is None, of all users."""
        self._queues.drop_of(module, sha256, tenant)

    def close(self) -> None:
        self._is_closed = True
        self._children.kill()
        self.zygotes.close()

    def _end_idle(self) -> None:
        if self._is_closed:
            return
        self._queues.drop_not_called_since(self._loop.time() - IDLE_SECONDS)
        self._loop.call_later(IDLE_CHECK_SECONDS, self._end_idle)

    def _weigh_again(self) -> None:
        if self._is_closed:
            return
        now = self._loop.time()
        for worker in self._queues.weighed_longest_ago(WEIGHED_AT_ONCE):
            holding = worker.holding()
            is_over = worker.parked_until is not None and worker.parked_until < now
            if is_over or not worker.is_at_rest or too_much(worker, holding) is not None:
                self._queues.remove(worker)
                worker.kill()
            else:
                self._queues.weigh(worker, worker.waiting_bytes(holding))
        portions = max(1, -(-self._queues.waiting // WEIGHED_AT_ONCE))
        self._loop.call_later(WEIGH_SECONDS / portions, self._weigh_again)

    def _is_held(self, key: Key, since: float) -> bool:
        queue = self._queues.find(key)
        return self.behind.is_held(since, has_waiting=queue is not None and bool(queue.waiting))

    def _go_on(self) -> None:
        while not self._is_closed and (key := self._refills.begin()) is not None:
            task = asyncio.create_task(self._refill_one(key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._refills.is_idle and not self._refills.has_backlog and not self._is_closed:
            self._add_blanks()

    def _add_blanks(self) -> None:
        zygote = self.zygotes.choose(PLAIN)
        with suppress(PoolError):
            while zygote is not None and len(self._blanks) < BLANKS:
                self._blanks.append(self._children.spawn(Limits(), zygote))

    async def _refill_one(self, key: Key) -> None:
        try:
            queue = self._queues.find(key)
            if queue is None:
                return
            try:
                worker = await self._warm(key, queue)
            finally:
                queue.coming -= 1
            if worker is None:
                # The module cannot be imported. Until its next call, no more children are made ahead for it.
                self._queues.drop(key)
            elif self._queues.find(key) is not queue or not worker.is_alive or self._is_retired(worker):
                worker.kill()
            else:
                self._queues.put(queue, worker, worker.waiting_bytes(worker.holding()))
        except PoolError as error:
            if not self._is_closed:
                _log.warning("no child could be made ahead", extra={"reason": str(error)})
        finally:
            self._refills.ended(key)
            self._go_on()

    def _learn_pages(self, key: Key, tool: str, worker: Worker) -> None:
        """Learns which pages a call of this tool writes. The child has answered and is not killed yet.

        Only a child that was made ahead is looked at. Other calls would do this again and again for a module whose children
        cannot be made ahead.
        """
        queue, zygote = self._queues.find(key.fresh), self._children.zygote_of(worker)
        origin = zygote, worker.shared_anonymous_bytes
        if queue is None or zygote is None or worker.pid <= 0 or not worker.was_made_ahead:
            return
        if queue.written.wants(origin, tool):
            queue.written.learn(origin, tool, written_pages(worker.pid))

    async def _warm(self, key: Key, queue: WarmQueue[Worker]) -> Worker | None:
        """A child that has imported the module and waits; None if the import fails."""
        environment = queue.environment
        zygote = await self._zygote(queue.packages, environment)
        # While other children that were requested are still to be made, a child writes no pages and rehearses nothing.
        has_backlog = self._refills.has_backlog
        pages = "" if has_backlog else queue.written.text_for((zygote, zygote.shared_anonymous_bytes))
        worker = self._children.spawn(_limits_of(key), zygote, environment, pages)
        worker.copied_bytes = queue.written.bytes if pages else 0
        self._order(worker, queue, rehearse=not has_backlog)
        try:
            with self.at_work(key.tenant, worker):
                async with asyncio.timeout(IMPORT_SECONDS):
                    while isinstance(message := await worker.channel.receive(), Imports | Starting):
                        if isinstance(message, Imports):
                            self.learn(key, message)
        except (TimeoutError, ChannelClosedError, ProtocolError, HeldTooMuchError):
            message = None
        # The memory is checked here, because an import can end before the first check of `watched`.
        if isinstance(message, Ready) and await worker.rest():
            worker.before = worker.holding()
            if too_much(worker, worker.before) is None:
                self.learn(key, message)
                worker.was_made_ahead = True
                return worker
        worker.kill()
        return None

    def _order(self, worker: Worker, queue: WarmQueue[Worker], *, rehearse: bool) -> None:
        network = bool(queue.key.network)
        reuse = queue.key.reuse > 1
        worker.send(CallOrder(queue.key.module, queue.source, queue.known, rehearse, network, reuse))

    async def _zygote(self, packages: Packages, environment: Environment | None) -> ZygoteProcess:
        zygote = self.zygotes.choose(packages, environment)
        if zygote is None:
            try:
                async with asyncio.timeout(IMPORT_SECONDS):
                    await self.zygotes.plain_is_ready.wait()
            except TimeoutError:
                raise PoolError("the process that children are forked from does not start") from None
            zygote = self.zygotes.choose(packages, environment)
        if zygote is None:
            raise PoolError("the process that children are forked from has just died")
        if environment is not None and (reason := zygote.no_environments):
            raise NoEnvironmentError(f"installed packages cannot be used here: {reason}")
        return zygote

    def _retired(self, retired: ZygoteProcess) -> None:
        """Kills the waiting children of a retired zygote. It ends after its last child. Running calls go on."""
        self._queues.discard(lambda worker: self._children.zygote_of(worker) is retired)

    def _is_retired(self, worker: Worker) -> bool:
        zygote = self._children.zygote_of(worker)
        return zygote is None or zygote.is_retired


def _limits_of(key: Key) -> Limits:
    """The limits of a child for this key.

    One that may serve several calls gets twice the processor time of a call, because the kernel counts all of them together,
    and nobody can raise this limit again. It is only parked if it has used no more than once, so each call has enough.
    """
    return key.limits if key.reuse == 1 else key.limits._replace(cpu_seconds=2 * key.limits.cpu_seconds)
