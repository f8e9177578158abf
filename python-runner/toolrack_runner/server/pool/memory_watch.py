"""Kills children that hold too much memory or have too many threads, and reused ones that take too much processor time.

The kernel's limits are not enough. RLIMIT_DATA does not count all memory of a process: for example, it does not count memory
that became read-only. RLIMIT_AS counts all memory, but must leave room for shared libraries. Neither counts the kernel's own
memory.
The number of threads is limited only if each child has its own user. So the server process checks each child while the
child works. The kernel's limit of processor time is for all calls of a process together. So if a process serves several, the
server process ends a call at the limit of one.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from toolrack_runner.child_bounds import BESIDE_BYTES, THREADS_MAX
from toolrack_runner.server.pool.holding import Holding
from toolrack_runner.server.pool.worker import HeldTooMuchError, UsedTooMuchError, Worker

#: How much memory a child may take in a second. The time of the next check is computed from it. Measured on 2 processors:
#: 1.1 GB with one thread, 1.4 GB with two, 6 GB with two and huge pages.
BYTES_PER_SECOND: Final = 4 << 30
#: The shortest and the longest time between two checks. A check takes 20 microseconds. In the shortest time, a child takes
#: 40 MB at BYTES_PER_SECOND. In the longest time, a child can start 2,000 threads, which take 48 MB.
SHORTEST_SECONDS: Final = 0.01
LONGEST_SECONDS: Final = 0.025


@contextmanager
def watched(worker: Worker, cpu_before: float = 0.0) -> Iterator[None]:
    """Kills the child if it holds too much. Then `receive` raises HeldTooMuchError. Checks more often near the limit.

    `cpu_before` is the processor time that the child had used before this call.
    """
    loop = asyncio.get_running_loop()
    timer: asyncio.Handle

    def measure() -> None:
        nonlocal timer
        if not worker.is_alive:
            return
        holding = worker.holding()
        reason = too_much(worker, holding) or _too_long(worker, cpu_before)
        if reason is not None:
            worker.end_for(reason)
            return
        rest = worker.limits.memory_bytes + BESIDE_BYTES - holding.held_bytes
        timer = loop.call_later(min(max(rest / BYTES_PER_SECOND, SHORTEST_SECONDS), LONGEST_SECONDS), measure)

    timer = loop.call_soon(measure)
    try:
        yield
    finally:
        timer.cancel()


def _too_long(worker: Worker, cpu_before: float) -> UsedTooMuchError | None:
    """Why a child that may serve several calls must be killed in this one. The kernel kills any other by itself."""
    seconds = worker.call_cpu_seconds
    if seconds == worker.limits.cpu_seconds or worker.cpu_seconds() - cpu_before < seconds:
        return None
    return UsedTooMuchError(f"it used up {seconds:g} s of processor time")


def too_much(worker: Worker, holding: Holding) -> HeldTooMuchError | None:
    """Why a child with this memory and these threads must be killed. None if it may go on."""
    # One more thread is allowed, because the runner's own code in the child may have a thread that writes events.
    if holding.threads > THREADS_MAX + 1:
        return HeldTooMuchError(f"it had {holding.threads} threads, and may have {THREADS_MAX}")
    limit = worker.limits.memory_bytes
    if holding.held_bytes <= limit + BESIDE_BYTES:
        return None
    return HeldTooMuchError(f"it held {holding.held_bytes >> 20} MB of memory, and may hold {limit >> 20} MB")
