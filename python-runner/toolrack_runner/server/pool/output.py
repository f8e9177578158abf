"""Keeps the output of a child up to a limit.

Output above the limit is read slowly and dropped. This takes the server process little time.
"""

import asyncio
import os
from collections.abc import Callable

#: How many bytes of the output are kept.
LOG_BYTES = 64 << 10
#: The text with which the report of a crash begins (faulthandler).
CRASH_REPORT = b"Fatal Python error: "
#: The capacity of a pipe (pipe(7)), so that one read empties it.
_READ_BYTES = 1 << 16
#: The seconds between two reads of output that is dropped. So a flood of output takes only a few thousandths of the server
#: process's time.
_PAUSE_SECONDS = 0.002


class Output:
    """The pipe that is a child's standard output and standard error."""

    def __init__(self) -> None:
        self._ours, self.child_end = os.pipe()
        os.set_blocking(self._ours, False)
        self._kept = bytearray()
        self.bytes_max = LOG_BYTES
        self.is_truncated = False
        self._arrived = asyncio.Event()
        #: Called when more of the output is kept.
        self.on_kept: Callable[[], None] | None = None
        #: Where `live` stops, because a report of the interpreter follows in the output. None if there is no report.
        self._live_end: int | None = None
        #: Whether all writers have closed the pipe, so that no more output can come.
        self.has_ended = False
        self._pause: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._ours, self._read)

    def handed_over(self) -> None:
        """Closes the server process's copy of the child's end."""
        if self.child_end >= 0:
            os.close(self.child_end)
            self.child_end = -1

    @property
    def length(self) -> int:
        """How many bytes are kept; at most `bytes_max`."""
        self._read()
        return len(self._kept)

    def text(self, position: int = 0) -> str:
        """The kept output from the byte `position` on."""
        self._read()
        return self._kept[position:].decode(errors="replace")

    async def more(self) -> None:
        """Waits until the child prints more."""
        self._arrived.clear()
        await self._arrived.wait()

    def live(self, position: int) -> bytes:
        """The kept output from the byte `position` on, without reports of the interpreter, which may be removed later."""
        self._read()
        end = self._kept.find(CRASH_REPORT, position, self._live_end)
        return bytes(self._kept[position : self._live_end if end < 0 else end])

    def end_live(self) -> None:
        """Makes `live` stop at the present end of the output, because a report of the interpreter follows."""
        self._live_end = len(self._kept)

    def end_at(self, position: int) -> None:
        """Ends the log at the byte `position`. Drops all output after it, also what comes later."""
        del self._kept[position:]
        self.bytes_max = position

    def begin_again(self) -> None:
        """Drops all output so far, for the next call of a child that is stopped."""
        # Nothing can be written meanwhile, and a pipe holds no more than one read takes.
        self._read()
        self._kept.clear()
        self.bytes_max = LOG_BYTES
        self.is_truncated = False
        self._live_end = None
        if self._pause is not None:
            self._pause.cancel()
            self._go_on()

    def close(self) -> None:
        """Reads the rest of the pipe and closes it.

        The server process may learn that a child has ended before it has read the child's last lines.
        """
        self.handed_over()
        # It reads at most twice, because a process that outlives the child may go on writing.
        if self._read():
            self._read()
        if self._pause is not None:
            self._pause.cancel()
        if self._ours >= 0:
            self._loop.remove_reader(self._ours)
            os.close(self._ours)
            self._ours = -1

    def _go_on(self) -> None:
        self._pause = None
        self._loop.add_reader(self._ours, self._read)

    def _read(self) -> bool:
        """Reads the output that has arrived. Returns whether there was any."""
        if self._ours < 0:
            return False
        try:
            data = os.read(self._ours, _READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(self._ours)
            self.has_ended = True
            self._arrived.set()
            return False
        room = self.bytes_max - len(self._kept)
        self._kept += data[:room]
        self.is_truncated = self.is_truncated or (len(data) > room and self.bytes_max == LOG_BYTES)
        if len(data) > room and self._pause is None:
            self._loop.remove_reader(self._ours)
            self._pause = self._loop.call_later(_PAUSE_SECONDS, self._go_on)
        self._arrived.set()
        if self.on_kept is not None and room > 0:
            self.on_kept()
        return True
