"""Ends children that hold more memory, or have more threads, than they may.

RLIMIT_DATA does not count all that a process can hold: memory whose write permission was dropped again, for one. RLIMIT_AS
ends that too, but has to leave room for shared libraries. Neither counts the kernel's own memory, and the number of threads
has a limit of the kernel only where each child has a user of its own. So main looks at what the kernel says of a child
while it works.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from toolrack_runner.jail.rlimits import BESIDE_BYTES, THREADS_MAX
from toolrack_runner.pool.holding import Holding
from toolrack_runner.pool.worker import HeldTooMuch, Worker

#: A call that ends sooner is looked at once, when it has answered.
FIRST_SECONDS: Final = 0.02
#: How much a child can take in a second, for the time of the next look. Measured on two processors: 1.1 GB with one thread,
#: 1.4 GB with two, 6 GB with two and huge pages.
BYTES_PER_SECOND: Final = 4 << 30
#: Between two looks, which cost 20 microseconds each: in the shortest time a child takes 40 MB at that rate. In the longest
#: it starts 2,000 threads, which take 48 MB.
SHORTEST_SECONDS: Final = 0.01
LONGEST_SECONDS: Final = 0.025


class MemoryWatch:
    """Looks at one child from `start` to `stop`, more often the nearer it is to its limit."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._timer: asyncio.TimerHandle | None = None

    def start(self, seconds: float = FIRST_SECONDS) -> None:
        """Looks for the first time after so long."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self.look)

    def stop(self) -> None:
        """Looks no more."""
        if self._timer is not None:
            self._timer.cancel()

    def look(self) -> None:
        """Ends the child where it holds too much, and looks again later where it does not."""
        worker = self._worker
        if not worker.is_alive:
            return
        holding = worker.holding()
        if (reason := too_much(worker, holding)) is not None:
            worker.end_for(reason)
            return
        left = worker.limits.memory_bytes + BESIDE_BYTES - holding.held_bytes
        self.start(min(max(left / BYTES_PER_SECOND, SHORTEST_SECONDS), LONGEST_SECONDS))


def too_much(worker: Worker, holding: Holding) -> HeldTooMuch | None:
    """The reason why a child that holds so much is ended; None where it may hold that."""
    if holding.threads > THREADS_MAX:
        return HeldTooMuch(f"it had {holding.threads} threads, and may have {THREADS_MAX}")
    limit = worker.limits.memory_bytes
    if holding.held_bytes <= limit + BESIDE_BYTES:
        return None
    return HeldTooMuch(f"it held {holding.held_bytes >> 20} MB of memory, and may hold {limit >> 20} MB")


@contextmanager
def watched(worker: Worker) -> Iterator[None]:
    """For as long as a module is imported or checked: what waits for the child's next message gets HeldTooMuch."""
    watch = MemoryWatch(worker)
    watch.start()
    try:
        yield
    finally:
        watch.stop()
