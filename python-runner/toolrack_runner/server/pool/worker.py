"""One child, as the server process sees it: its channel, its output and its process."""

import asyncio
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from toolrack_runner.child_bounds import NICENESS
from toolrack_runner.server.pool.channel import Channel
from toolrack_runner.server.pool.holding import (
    SLEEPING,
    STOPPED,
    Holding,
    field,
    holding_of,
    is_stopped,
    read_whole,
)
from toolrack_runner.server.pool.output import Output
from toolrack_runner.server.pool.waiting_bytes import mapping_bytes, waiting_bytes
from toolrack_runner.wire.child_messages import Order
from toolrack_runner.wire.zygote_messages import Gone, Limits
from toolrack_runner.workplace_path import WORKPLACES

#: The highest niceness of the kernel.
NICENESS_MAX = 19
#: How many seconds pass before the server process tries again to raise a child's niceness.
YIELD_AGAIN_SECONDS = 0.002
#: The time before the server process checks for the first time whether a child has stopped. It doubles after each check.
STOP_CHECK_SECONDS = 0.001
#: The most seconds between two of these checks.
STOP_CHECK_SECONDS_MAX = 0.008
#: How many seconds the server process waits until a child has stopped. On a busy machine, it may take long until the child
#: runs and stops.
STOP_SECONDS = 1.0

#: How many seconds after its call a parked child is stopped. Stopping and resuming it would take a third of the time of a
#: call that comes directly after another. Until then, the only thread of the child waits for its next order.
STOPPED_AFTER_SECONDS = 0.02

#: How much processor time a waiting child may take: for going to sleep, or for being stopped. Code of a tool takes more.
MOVED_SECONDS = 0.0001
STOPPED_SECONDS = 0.001


class HeldTooMuchError(Exception):
    """The child was killed because it held too much memory or had too many threads."""

    #: The error code of its call.
    code = "MEMORY_LIMIT"


class UsedTooMuchError(HeldTooMuchError):
    """The child was killed because one of its calls used too much processor time."""

    code = "CPU_LIMIT"


@dataclass(eq=False)
class Worker:
    number: int
    slot: int
    limits: Limits
    #: The anonymous memory that the child has shared with its zygote since the fork.
    shared_anonymous_bytes: int = 0
    #: The path of the child's own file system, if it has one.
    workplace: str = WORKPLACES[0]
    #: The pages that the child has copied before its call. Its zygote has them too, so `holding` does not count them.
    copied_bytes: int = 0
    #: Whether the child has imported its module before it got a call.
    was_made_ahead: bool = False

    def __post_init__(self) -> None:
        self.pidfd = -1
        self.pid = 0
        #: Set when the zygote has forked the child, or if it never will. Messages of the child may arrive before.
        self.is_born = asyncio.Event()
        #: Set when the zygote has reaped the child.
        self.gone: asyncio.Future[Gone | None] = asyncio.get_running_loop().create_future()
        self.output = Output()
        self.channel = Channel(self.limits.output_bytes, self._channel_ended)
        #: Why the child was killed, if it held too much memory or had too many threads. It may have answered before.
        self.ended_for: HeldTooMuchError | None = None
        #: How many calls it has answered, and what it held before the first of them. None if that is not known.
        self.served = 0
        self.before: Holding | None = None
        #: The most resident memory that it had in earlier calls, in bytes.
        self.resident_bytes_before = 0
        #: The processor time that one call may take. The kernel's limit is twice as much if the child may serve more calls.
        self.call_cpu_seconds: float = self.limits.cpu_seconds
        #: When it ends if no call comes, in the time of the event loop. It has been parked.
        self.parked_until: float | None = None
        #: Called when the child ends or breaks the protocol while it rests.
        self.on_end: Callable[[], None] | None = None
        self._is_killed = False
        #: Its processor time when it was found to wait for its next call.
        self.cpu_at_rest = 0.0
        #: Whether the child waits for its next order, and whether it was told to stop.
        self._waits = False
        self._is_stopped = False
        #: The kernel's memory for the mappings of a stopped child, because they do not change. None while the child is
        #: running.
        self._mapping_bytes: int | None = None
        #: The last measured memory for its mappings, and the size of all mappings at that time.
        self._measured = (0, -1)
        self._steps = 0

    @property
    def descriptors(self) -> tuple[int, int]:
        """The child's end of the channel, and the pipe for its output."""
        return self.channel.childs_end, self.output.child_end

    def handed_over(self) -> None:
        self.channel.handed_over()
        self.output.handed_over()

    def born(self, pidfd: int) -> None:
        """Notes that the zygote has forked the child."""
        if self._is_killed:
            _kill(pidfd, signal.SIGKILL)
        elif self._is_stopped:
            _kill(pidfd, signal.SIGSTOP)
        self.pidfd = pidfd
        # The pid as the server process sees it, whatever the namespace of the child; -1 after the child is reaped.
        self.pid = int(field(read_whole(f"/proc/self/fdinfo/{pidfd}"), b"\nPid:") or -1)
        self._yield()
        self.is_born.set()

    def send(self, *orders: Order) -> None:
        """Sends orders and lets the child run again. Never blocks."""
        self.channel.send(*orders)
        # The child is resumed only now. Before the orders are sent, it would find nothing and sleep again.
        self.resume()

    @property
    def has_said_more(self) -> bool:
        return self.channel.has_more

    def cpu_seconds(self) -> float:
        """The processor time of the child so far, from the kernel; 0.0 before it is born."""
        if self.gone.done():
            gone = self.gone.result()
            return 0.0 if gone is None else gone.cpu_seconds
        if self.pid > 0:  # The clock of process 0 would be the server process's own.
            try:
                return time.clock_gettime(((~self.pid) << 3) | 2)
            except OSError:
                pass  # It has ended, and is not reaped yet.
        return 0.0

    @property
    def is_alive(self) -> bool:
        """Whether the child can still get a call, as far as the server process knows."""
        return self.channel.is_open and not self._is_killed

    @property
    def has_exited(self) -> bool:
        """Whether the process has ended, reaped or not."""
        return self.pidfd < 0 or has_ended(self.pidfd)

    def holding(self, *, only_waiting: bool = False) -> Holding:
        """The child's memory and threads, as the kernel reports them; all 0 after the child is reaped.

        With `only_waiting`, all but the number of threads is also 0 while one of its threads may be running. A child that
        has stopped itself does not wait: nobody would resume it.
        """
        waiting = (STOPPED if self._is_stopped else SLEEPING) if only_waiting else b""
        shared, open_files = self.shared_anonymous_bytes, self.limits.open_files
        return holding_of(self.pid, shared, open_files, self.workplace, waiting=waiting)

    def waiting_bytes(self, holding: Holding, *, again: bool = False) -> int:
        """The memory of this child at rest, in bytes, with the kernel's memory that `holding` cannot show.

        Counting the mappings takes longer than a short call. So with `again`, a child whose mappings have the same size as
        before counts as it did then. Within a second it is measured anew.
        """
        counted, size = self._measured
        if again and size == holding.mapped_bytes:
            return waiting_bytes(holding, counted, self.limits.open_files) + self.copied_bytes
        if self._mapping_bytes is None:
            self._mapping_bytes = mapping_bytes(self.pid, holding.mapped_bytes)
            self._measured = self._mapping_bytes, holding.mapped_bytes
        return waiting_bytes(holding, self._mapping_bytes, self.limits.open_files) + self.copied_bytes

    def yield_to_others(self, steps: int) -> None:
        """Raises the niceness of the child by this many steps. Never lowers it, because only root may do that."""
        if steps > self._steps:
            self._steps = steps
            self._yield()

    def _yield(self) -> None:
        if self.pid <= 0 or self._is_killed or (self.pidfd >= 0 and self.has_exited):
            return  # The pid of an ended child may soon belong to another process.
        niceness = min(NICENESS + self._steps, NICENESS_MAX)
        try:
            # This also affects every thread that the tool has started.
            os.setpriority(os.PRIO_PGRP, self.pid, niceness)
        except ProcessLookupError:
            # The child has no session yet. It has one before any code of a tool runs.
            asyncio.get_running_loop().call_later(YIELD_AGAIN_SECONDS, self._yield)
            return
        except PermissionError:
            return  # The child is nicer already, and only root could change that.
        # If the kernel divides processor time between sessions (CONFIG_SCHED_AUTOGROUP, outside of cgroups), it uses the
        # niceness of the session, which only root may set. A child may still be in the session of the server process,
        # which must not become nicer.
        path = f"/proc/{self.pid}/autogroup"
        if read_whole(path).split()[:1] != read_whole("/proc/self/autogroup").split()[:1]:
            with suppress(OSError), open(path, "w") as file:
                file.write(str(niceness))

    def ask_where(self) -> bool:
        """Makes the child's interpreter write the line that it runs to the output (faulthandler). Whether it was asked.

        It is not asked before the module runs, because a child that was just forked has the standard error of the runner.
        """
        if not self.channel.life.has_begun or self.gone.done():
            return False
        _kill(self.pidfd, signal.SIGUSR1)
        return True

    def stop(self) -> None:
        """Stops the child until the next order. Meanwhile its threads use no processor time and take no more memory."""
        self._waits = self._is_stopped = True
        _kill(self.pidfd, signal.SIGSTOP)

    @property
    def is_at_rest(self) -> bool:
        """Whether the kernel has stopped all threads of the child. True for a child that was not told to stop yet."""
        return not self._is_stopped or is_stopped(self.pid)

    async def rest(self) -> bool:
        """Stops the child, and waits until all its threads are stopped. Returns False if it does not stop or has ended.

        Until a thread is stopped, it can still take memory.
        """
        self.stop()
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + STOP_SECONDS, STOP_CHECK_SECONDS
        while not self.is_at_rest:
            if loop.time() >= until or not self.is_alive:
                return False
            await asyncio.sleep(pause)
            pause = min(pause * 2, STOP_CHECK_SECONDS_MAX)
        return True

    def resume(self) -> None:
        self._waits = False
        if self._is_stopped:
            self._is_stopped = False
            self._mapping_bytes = None
            _kill(self.pidfd, signal.SIGCONT)

    def begin_again(self, holding: Holding) -> None:
        """Makes a child that has rested ready for its next call: with an empty log, and with nothing counted yet.

        If no call comes soon, the child is stopped.
        """
        self._waits = True
        asyncio.get_running_loop().call_later(STOPPED_AFTER_SECONDS, self._stop_unless_called, self.served)
        self.resident_bytes_before = holding.resident_bytes_max
        self.channel.begin_again()
        self.output.begin_again()

    @property
    def has_moved(self) -> bool:
        """Whether a child has run since it was found to wait, or has sent something."""
        used = self.cpu_seconds() - self.cpu_at_rest
        return used > (STOPPED_SECONDS if self._is_stopped else MOVED_SECONDS) or self.channel.hears_more()

    @property
    def has_moved_while_parked(self) -> bool:
        """Whether a parked child has run, or has sent or printed something. Then it may not serve another call."""
        return self.has_moved or self.output.length > 0

    def _stop_unless_called(self, served: int) -> None:
        if not self._waits or self.served != served:
            return
        if self.has_moved_while_parked:
            self.kill()
        else:
            self.stop()

    def end_for(self, reason: HeldTooMuchError) -> None:
        """Kills the child. `receive` of its channel raises the reason."""
        if self.is_alive:
            self.ended_for = reason
            self.channel.end(reason)
            self.kill()

    def kill(self) -> None:
        """Kills the child and closes its channel. `gone` is set when the child is reaped."""
        if self._is_killed:
            return
        self._is_killed = True
        _kill(self.pidfd, signal.SIGKILL)
        self.channel.close()
        self.handed_over()

    def reaped(self, gone: Gone | None) -> None:
        """Notes that the zygote has reaped the child. If the zygote has died, so has the child, and `gone` is None."""
        self.channel.hear_the_rest()
        self.kill()
        self.output.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1
        self.gone.set_result(gone)
        self.is_born.set()

    def _channel_ended(self) -> None:
        """Kills a waiting child that broke the protocol or has ended. A call or check kills its child itself."""
        if self.on_end is not None:
            self.on_end()
        elif self._waits:
            self.kill()


def has_ended(pidfd: int, *, within_seconds: float = 0.0) -> bool:
    """Whether the process has ended, reaped or not. Waits for that at most so many seconds."""
    # `select` takes no descriptor above 1,023.
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(1_000 * within_seconds))


def _kill(pidfd: int, number: signal.Signals) -> None:
    if pidfd >= 0:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, number)
