"""Ends children that hold more memory, or have more threads, than they may.

RLIMIT_DATA does not count all that a process can hold: memory whose write permission was dropped again, for one. RLIMIT_AS
ends that too, but has to leave room for shared libraries. Neither counts the kernel's own memory, and the kernel limits the
number of threads only where each child has a user of its own. So main looks at what the kernel says of a child while the
child works.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from toolrack_runner.jail.rlimits import BESIDE_BYTES, THREADS_MAX
from toolrack_runner.pool.holding import Holding
from toolrack_runner.pool.worker import HeldTooMuchError, Worker

#: A call that ends sooner is looked at once, when it has answered.
FIRST_SECONDS: Final = 0.02
#: How much a child can take in a second, for the time of the next look. Measured on two processors: 1.1 GB with one thread,
#: 1.4 GB with two, 6 GB with two and huge pages.
BYTES_PER_SECOND: Final = 4 << 30
#: Between two looks, which cost 20 microseconds each. In the shortest time a child takes 40 MB at that rate. In the longest
#: it starts 2,000 threads, which take 48 MB.
SHORTEST_SECONDS: Final = 0.01
LONGEST_SECONDS: Final = 0.025


@contextmanager
def watched(worker: Worker) -> Iterator[None]:
    """Ends the child when it holds too much: then `receive` raises HeldTooMuchError. Looks more often near the limit."""
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal timer
        if not worker.is_alive:
            return
        holding = worker.holding()
        if (reason := too_much(worker, holding)) is not None:
            worker.end_for(reason)
            return
        left = worker.limits.memory_bytes + BESIDE_BYTES - holding.held_bytes
        timer = loop.call_later(min(max(left / BYTES_PER_SECOND, SHORTEST_SECONDS), LONGEST_SECONDS), look)

    timer = loop.call_later(FIRST_SECONDS, look)
    try:
        yield
    finally:
        timer.cancel()


def too_much(worker: Worker, holding: Holding) -> HeldTooMuchError | None:
    """The reason why a child that holds so much is ended; None where it may hold that."""
    if holding.threads > THREADS_MAX:
        return HeldTooMuchError(f"it had {holding.threads} threads, and may have {THREADS_MAX}")
    limit = worker.limits.memory_bytes
    if holding.held_bytes <= limit + BESIDE_BYTES:
        return None
    return HeldTooMuchError(f"it held {holding.held_bytes >> 20} MB of memory, and may hold {limit >> 20} MB")
