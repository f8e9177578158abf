"""Main's side of one child: what it was sent, what it says, and its end.

Every byte that a child sends is somebody's who may want main to fall: it is bounded before it is held, parsed after it is
whole, and believed only as far as its own call goes.
"""

import asyncio
import os
import select
import signal
import socket
import time
from contextlib import suppress
from typing import Any

import orjson

from toolrack_runner.pool.output import Output
from toolrack_runner.wire.frames import HEADER_BYTES, FrameSplitter, FrameTooLarge
from toolrack_runner.wire.json_weight import is_too_heavy
from toolrack_runner.zygote.messages import Gone, Limits

#: What a frame may hold beside the result: its keys, the names of a module's tools, or its code.
FRAME_SLACK_BYTES = 1 << 20
#: Frames of a whole life: a check announces each of 20 examples of 50 specs, and has a few stages beside them. Written
#: out, for main does without the module library, which takes long to import; a test compares them.
MESSAGES_MAX = 1_010
#: Room of a channel, so that a call and its source are handed over in one write.
CHANNEL_BYTES = 1 << 20
#: A third of the processor time of who has none.
NICENESS = 5
#: The kernel's account of a process has some 1,500.
STATUS_BYTES = 8_192


class Worker:
    """One child, from its order to its end."""

    def __init__(self, number: int, slot: int, limits: Limits, *, shared_anonymous_bytes: int = 0) -> None:
        self.number = number
        self.slot = slot
        self.limits = limits
        #: What no file is behind of the memory that it was forked with.
        self.shared_anonymous_bytes = shared_anonymous_bytes
        self.pidfd = -1
        self.pid = 0
        #: From then on its words may be the module's own.
        self.has_imported = False
        #: Set when the zygote has reaped it; nothing is left of it then.
        self.gone: asyncio.Future[Gone | None] = asyncio.get_running_loop().create_future()
        self._loop = asyncio.get_running_loop()
        self._channel, self._theirs = socket.socketpair()
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, CHANNEL_BYTES)
        self._channel.setblocking(False)
        self.output = Output()
        self._splitter = FrameSplitter(limits.output_bytes * 2 + FRAME_SLACK_BYTES)
        self._messages: list[dict[str, Any]] = []
        self._messages_left = MESSAGES_MAX
        self._bytes_left = limits.output_bytes * 2 + 2 * FRAME_SLACK_BYTES
        self._end: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._unsent: bytes = b""
        self._is_closed = False
        self._rests = False
        self._loop.add_reader(self._channel.fileno(), self._hear)

    @property
    def descriptors(self) -> tuple[int, int]:
        """What the zygote hands the child: its end of the channel, and what it prints to."""
        return self._theirs.fileno(), self.output.child_end

    def handed_over(self) -> None:
        """The child has its ends; ours of them would keep the channel open after its death."""
        self._theirs.close()
        self.output.handed_over()

    def born(self, pidfd: int) -> None:
        """The zygote has forked it."""
        if self._is_closed:
            _kill(pidfd, signal.SIGKILL)
        self.pidfd = pidfd
        self.pid = pid_of(pidfd)

    def send(self, *orders: dict[str, Any]) -> None:
        """Sends what fits now and the rest when the child reads, and lets it run again; never blocks."""
        data = self._unsent + b"".join(map(_frame, orders))
        try:
            data = data[self._channel.send(data) :]
        except BlockingIOError:
            pass
        except OSError:
            data = b""  # The child has gone; hearing of it is the reader's.
        if data and not self._unsent:
            self._loop.add_writer(self._channel.fileno(), self._send_rest)
        self._unsent = data
        # Not before: it would wake up, find nothing, and fall asleep again.
        self.go_on()

    def _send_rest(self) -> None:
        rest, self._unsent = self._unsent, b""
        self._loop.remove_writer(self._channel.fileno())
        self.send_bytes(rest)

    def send_bytes(self, data: bytes) -> None:
        """Sends bytes that are frames already."""
        self._unsent = data
        self.send()

    def give(self, reply: dict[str, Any], descriptor: int | None = None) -> None:
        """Answers a wish of a running tool's, with a descriptor where it is granted, if it listens."""
        descriptors = [] if descriptor is None else [descriptor]
        with suppress(OSError):
            socket.send_fds(self._channel, [_frame(reply)], descriptors)

    async def receive(self) -> dict[str, Any]:
        """The child's next message; raises SaidNothing, SaidTooMuch or SaidNonsense."""
        while not self._messages:
            if self._end is not None:
                raise self._end
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._messages.pop(0)

    @property
    def has_said_more(self) -> bool:
        """Whether it sent anything behind what was received."""
        return bool(self._messages) or self._splitter.has_rest

    def cpu_seconds(self) -> float:
        """Processor time of the child so far, from the kernel's clock of that process; 0.0 before it is born and after."""
        if self.pid <= 0:
            return 0.0  # The clock of process 0 would be main's own.
        try:
            return time.clock_gettime(((~self.pid) << 3) | 2)
        except OSError:
            return 0.0

    @property
    def is_alive(self) -> bool:
        """Whether it can still be handed a call, as far as main has heard."""
        return self._end is None and not self._is_closed

    @property
    def has_exited(self) -> bool:
        """Whether the process has ended, reaped or not."""
        return self.pidfd < 0 or bool(select.select((self.pidfd,), (), (), 0)[0])

    def resident_bytes(self) -> int:
        """What the child has in memory now, shared pages included; 0 once it is reaped."""
        return self._status("VmRSS:")

    def resident_bytes_max(self) -> int:
        """The most it ever had in memory, shared pages included; 0 once it is reaped."""
        return self._status("VmHWM:")

    def held_bytes(self) -> int:
        """What the child holds now beyond what it was forked with: memory that no file is behind, also in swap, and what it
        maps of a file system in memory. 0 once it is reaped.
        """
        status = _read_whole(f"/proc/{self.pid}/status")
        held = sum(int(_field(status, name) or 0) * 1024 for name in (b"RssAnon:", b"RssShmem:", b"VmSwap:"))
        return max(held - self.shared_anonymous_bytes, 0)

    def _status(self, name: str) -> int:
        return int(_field(_read_whole(f"/proc/{self.pid}/status"), name.encode()) or 0) * 1024

    def caught_signals(self) -> bytes:
        """The signals that it has handlers for, as the kernel tells them; nothing once it is reaped."""
        return _field(_read_whole(f"/proc/{self.pid}/status"), b"SigCgt:")

    def is_quiet(self, caught_signals: bytes) -> bool:
        """Whether it has one thread, and handlers for these signals only: then nothing of it runs while it waits."""
        status = _read_whole(f"/proc/{self.pid}/status")
        return _field(status, b"Threads:") == b"1" and _field(status, b"SigCgt:") == caught_signals

    def yield_to_others(self) -> None:
        """From now on it comes after whoever hands out calls and ends them at their deadline, where time is short."""
        if self.has_exited:
            return
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self.pid, NICENESS)

    def ask_where(self) -> None:
        """Makes the interpreter write to its output which line it runs (faulthandler), without its help."""
        _kill(self.pidfd, signal.SIGUSR1)

    def go_on(self) -> None:
        """Lets it run again, as sending something does."""
        if self._rests:
            self._rests = False
            _kill(self.pidfd, signal.SIGCONT)

    def rest(self) -> None:
        """Stops it until it is sent something: what its module left running takes no time and no more memory meanwhile."""
        self._rests = True
        _kill(self.pidfd, signal.SIGSTOP)

    def end_for(self, reason: Exception) -> None:
        """Kills it; who waits for its next message gets the reason."""
        if self.is_alive:
            self._end = reason
            self.kill()
            self._wake()

    def kill(self) -> None:
        """Kills it and lets go of its channel; `gone` tells when nothing is left."""
        if self._is_closed:
            return
        self._is_closed = True
        _kill(self.pidfd, signal.SIGKILL)
        self._loop.remove_reader(self._channel.fileno())
        self._loop.remove_writer(self._channel.fileno())
        self._channel.close()
        self.handed_over()

    def buried(self, gone: Gone | None) -> None:
        """The zygote has reaped it, or has itself gone and taken it along."""
        self._hear_the_rest()
        self.kill()
        self.output.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1
        if not self.gone.done():
            self.gone.set_result(gone)
        if self._end is None:
            self._end = SaidNothing()
        self._wake()

    def _hear(self) -> bool:
        """Takes in what has come; whether there was anything."""
        try:
            data = self._channel.recv(1 << 18)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._stop(SaidNothing())
            return False
        self._bytes_left -= len(data)
        try:
            for payload in self._splitter.feed(data):
                self._messages_left -= 1
                self._messages.append(_parse(payload, self._messages_left))
        except FrameTooLarge:
            self._stop(SaidTooMuch())
        except ValueError:
            self._stop(SaidNonsense())
        if self._bytes_left < 0:
            self._stop(SaidTooMuch())
        self._wake()
        return True

    def _hear_the_rest(self) -> None:
        """An answer that came with the end is an answer."""
        while self.is_alive and self._hear():
            pass

    def _stop(self, reason: Exception) -> None:
        self._end = reason
        self._loop.remove_reader(self._channel.fileno())
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class SaidNothing(Exception):
    """The child's end of the channel is closed, and no whole message is left."""


class SaidTooMuch(Exception):
    """The child announced a message above its bound."""


class SaidNonsense(Exception):
    """The child sent what is not one JSON object."""


class HeldTooMuch(Exception):
    """The child held more memory than it may, and was killed for it."""

    def __init__(self, held_bytes: int, limits: Limits) -> None:
        super().__init__(
            f"it held {held_bytes >> 20} MB of memory, and may hold {limits.memory_bytes >> 20} MB"
        )


def _frame(order: dict[str, Any]) -> bytes:
    payload = orjson.dumps(order)
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload


def _parse(payload: bytes, left: int) -> dict[str, Any]:
    if left < 0:
        raise ValueError("more messages than a life has")
    if is_too_heavy(payload):
        raise FrameTooLarge(len(payload))
    value = orjson.loads(payload)  # Refuses NaN, invalid UTF-8 and more than 1,024 levels.
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - as of anything that is no message
    return value


def pid_of(pidfd: int) -> int:
    """The process's number as this process sees it, whatever namespace it lives in; -1 once it is reaped."""
    return int(_field(_read_whole(f"/proc/self/fdinfo/{pidfd}"), b"\nPid:") or -1)


def _field(text: bytes, name: bytes) -> bytes:
    """The first word behind a name."""
    words = text.partition(name)[2].split(None, 1)
    return words[0] if words else b""


def _read_whole(path: str) -> bytes:
    """What a short file of /proc says; nothing where it is gone."""
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, STATUS_BYTES)
    except OSError:
        return b""
    finally:
        os.close(file)


def _kill(pidfd: int, number: signal.Signals) -> None:
    if pidfd < 0:
        return
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        pass
