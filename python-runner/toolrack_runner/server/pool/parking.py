"""Parks a child after its call, so that it serves the next call of the same user and session (`reuse` in a spec).

The server process looks at the child after the answer, when the only thread of the child waits for an order, or all threads
are stopped. It believes only the kernel. A child that has more than before its first call, or whose call failed in any way,
is killed.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from toolrack_runner.server.pool.holding import Holding
from toolrack_runner.server.pool.memory_watch import too_much
from toolrack_runner.server.pool.warm_queue import WAITING_OF_ONE_MAX, WarmQueue, WarmQueues
from toolrack_runner.server.pool.worker import Worker

#: How many seconds a child may take to tidy up, and to wait. It usually takes 0.1 ms, but other processes may run before it.
REST_SECONDS: Final = 1.0
#: How much processor time it may take for this. Nothing bounds what it does meanwhile, and it has no place of its user.
REST_CPU_SECONDS: Final = 0.01
#: How often this is checked.
CHECK_SECONDS: Final = 0.01
#: How long a call waits for a child that is resting, if its deadline is later. Then it takes a fresh one.
PATIENCE_SECONDS: Final = 0.25
#: The time before the server process looks again whether the child waits. It doubles after each look.
LOOK_SECONDS: Final = 0.0001
#: For how long a child may go on that has tidied up and does not wait yet. Then it is stopped, as one with several threads.
UNSTOPPED_SECONDS: Final = 0.0002
#: How often a child with more threads than before may go on, and for how long at first, which doubles each time. In Python,
#: `join` returns a little before a thread has ended.
THREADS_END_TIMES: Final = 2
THREADS_END_SECONDS: Final = 0.001
#: A child that holds more than this part of its limit of memory, or has reserved so much more than before, is not parked.
MEMORY_PART: Final = 3
#: After so many seconds without a call, a parked child ends.
PARKED_SECONDS: Final = 60.0
#: The signals that the C library handles itself as soon as a process has had a second thread: 32 and 33.
OF_THE_C_LIBRARY: Final = 1 << 31 | 1 << 32


class Parking:
    """Parks children in the queue of their key, and gives them to the calls that wait for one.

    `may_stay` is False for a child that must not serve another call, because its zygote is retired.
    """

    def __init__(self, queues: WarmQueues[Worker], may_stay: Callable[[Worker], bool]) -> None:
        self._loop = asyncio.get_running_loop()
        self._queues = queues
        self._may_stay = may_stay

    def rest(self, worker: Worker, queue: WarmQueue[Worker]) -> None:
        """Parks a child that has answered, or kills it. Returns before that is decided."""
        worker.served += 1
        queue.coming += 1
        _Rest(self, worker, queue, self._loop).begin()

    async def next_rested(self, queue: WarmQueue[Worker], seconds: float) -> Worker | None:
        """The next child that is parked for this key. None if no child is resting that no other call waits for.

        Also None after PATIENCE_SECONDS, or after so many seconds.
        """
        if queue.coming <= len(queue.takers):
            return None
        taker: asyncio.Future[Worker | None] = self._loop.create_future()
        queue.takers.append(taker)
        try:
            async with asyncio.timeout(min(seconds, PATIENCE_SECONDS)):
                return await taker
        except TimeoutError:
            if taker in queue.takers:
                queue.takers.remove(taker)
            return None
        except asyncio.CancelledError:
            if taker in queue.takers:
                queue.takers.remove(taker)
            elif not taker.cancelled() and (worker := taker.result()) is not None:
                worker.kill()
            raise

    def ended(self, worker: Worker, queue: WarmQueue[Worker], holding: Holding | None) -> None:
        """Notes that a child has rested. `holding` is None if it must be killed."""
        queue.coming -= 1
        fits = self._queues.find(queue.key) is queue and len(queue.waiting) < WAITING_OF_ONE_MAX
        if holding is None or not fits or not self._may_stay(worker) or worker.has_moved:
            worker.kill()
        else:
            worker.begin_again(holding)
            worker.parked_until = self._loop.time() + PARKED_SECONDS
            while queue.takers:
                taker = queue.takers.popleft()
                if not taker.done():
                    taker.set_result(worker)
                    return
            self._queues.put(queue, worker, worker.waiting_bytes(holding, again=True))
        # A call that waits for more children than are resting takes a fresh one.
        while len(queue.takers) > queue.coming:
            taker = queue.takers.pop()
            if not taker.done():
                taker.set_result(None)


class _Rest:
    """One child from its answer until it is parked or killed. Each step is called by the event loop."""

    def __init__(
        self, parking: Parking, worker: Worker, queue: WarmQueue[Worker], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._parking = parking
        self._worker = worker
        self._queue = queue
        self._loop = loop
        self._pause = LOOK_SECONDS
        self._continued = 0
        self._has_ended = False

    def begin(self) -> None:
        worker = self._worker
        self._until = self._loop.time() + REST_SECONDS
        self._cpu_before = worker.cpu_seconds()
        self._timer = self._loop.call_later(CHECK_SECONDS, self._check)
        worker.on_end = self._end
        if worker.channel.has_rested:
            self._look()
        else:
            worker.channel.on_rested = self._look

    def _check(self) -> None:
        """Ends the rest of a child that works in place of resting."""
        worked = self._worker.cpu_seconds() - self._cpu_before > REST_CPU_SECONDS
        if (
            worked
            or self._loop.time() > self._until
            or too_much(self._worker, self._worker.holding()) is not None
        ):
            self._end()
        else:
            self._timer = self._loop.call_later(CHECK_SECONDS, self._check)

    def _stop(self) -> None:
        self._worker.stop()
        # The child stops on its own processor meanwhile.
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        worker = self._worker
        if self._has_ended:
            return
        cpu_before = worker.cpu_seconds()
        holding = worker.holding(only_waiting=True)
        if not holding.mapped_bytes or not worker.is_at_rest:
            if self._pause > UNSTOPPED_SECONDS:
                worker.stop()
            self._loop.call_later(self._pause, self._look)
            self._pause *= 2
            return
        before = worker.before
        assert before is not None
        if holding.threads > before.threads and self._continued < THREADS_END_TIMES:
            worker.resume()
            self._loop.call_later(THREADS_END_SECONDS * 2**self._continued, self._stop)
            self._continued += 1
            return
        worker.cpu_at_rest = cpu_before
        self._end(holding if _is_as_before(worker, before, holding) else None)

    def _end(self, holding: Holding | None = None) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._timer.cancel()
            self._worker.on_end = None
            self._worker.channel.on_rested = None
            self._parking.ended(self._worker, self._queue, holding)


def _is_as_before(worker: Worker, before: Holding, now: Holding) -> bool:
    """Whether a stopped child holds nothing that a single-use child would have taken with it.

    Timers are not compared: seccomp denies those of POSIX, the others are a descriptor, or the child switches them off.
    """
    room = worker.limits.memory_bytes // MEMORY_PART
    return (
        worker.is_alive
        and not worker.channel.hears_more()
        and worker.channel.is_read
        and now.threads <= before.threads
        # If the kernel does not tell the number, it is the limit.
        and now.descriptors <= before.descriptors < worker.limits.open_files
        and (now.signals == before.signals or _of_programs(now.signals) == _of_programs(before.signals))
        and now.held_bytes <= room
        # Memory that is reserved and not used is missing in the next call too.
        and now.mapped_bytes - before.mapped_bytes <= room
        and worker.cpu_seconds() <= worker.call_cpu_seconds
    )


def _of_programs(signals: bytes) -> list[int]:
    """Which signals are blocked, ignored and handled, without those that belong to the C library."""
    return [int(mask, 16) & ~OF_THE_C_LIBRARY for mask in signals.split() if not mask.endswith(b":")]
