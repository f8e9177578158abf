"""Main's side of a zygote: starts it, asks it for children, and hears of their ends."""

import asyncio
import os
import select
from collections.abc import Callable
from contextlib import suppress

from toolrack_runner.zygote.messages import Born, Gone, Grown, Limits, Line, Message, Ready, Spawn, Unborn


class ZygoteProcess:
    """One zygote. `on_born`, `on_gone` and `on_lost` are called from the event loop."""

    def __init__(
        self,
        started: tuple[int, Line],
        *,
        on_born: Callable[[Born, int], None],
        on_gone: Callable[[Gone | Unborn], None],
        on_lost: Callable[["ZygoteProcess"], None],
    ) -> None:
        self.ready: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._on_born = on_born
        self._on_gone = on_gone
        self._on_lost = on_lost
        #: What its children share with it and no file is behind, in bytes.
        self.shared_anonymous_bytes = 0
        self._is_lost = False
        self._children = 0
        self.is_retired = False
        self.pid, self._line = started
        self._line.end.setblocking(False)
        self._pidfd = os.pidfd_open(self.pid)
        asyncio.get_running_loop().add_reader(self._line.end.fileno(), self._hear)
        asyncio.get_running_loop().add_reader(self._pidfd, self._reap)

    @property
    def is_ready(self) -> bool:
        """Whether it lives and takes orders."""
        return not self._is_lost and self.ready.done() and self.ready.exception() is None

    def spawn(self, child: int, slot: int, limits: Limits, *, channel: int, output: int) -> None:
        """Asks for a child; raises OSError where the zygote takes no more messages."""
        self._line.send(Spawn(child, slot, limits), (channel, output))
        self._children += 1

    def retire(self) -> None:
        """Lets the zygote go when the last of its children has gone; nobody asks it for more."""
        self.is_retired = True
        if not self._children:
            self._lose()

    def close(self) -> None:
        """Lets the zygote go: it ends when its line does, and its children with it."""
        self._lose()

    def wait(self) -> None:
        """Returns when the process has ended, or after a second."""
        with suppress(OSError, ValueError):  # It has been reaped.
            select.select((self._pidfd,), (), (), 1.0)

    def _hear(self) -> None:
        try:
            while not self._is_lost:
                message, descriptors = self._line.receive()
                self._act(message, descriptors)
        except BlockingIOError:
            return
        except (EOFError, ConnectionResetError):
            self._lose()

    def _act(self, message: Message, descriptors: list[int]) -> None:
        match message:
            case Ready():
                self._note_memory(message)
                self.ready.set_result(message)
            case Grown():
                self._note_memory(message)
            case Born():
                self._on_born(message, descriptors[0])
            case Gone() | Unborn():
                self._children -= 1
                self._on_gone(message)
                if self.is_retired and not self._children:
                    self._lose()
            case _:
                raise AssertionError(f"a zygote never sends {type(message).__name__}")

    def _note_memory(self, told: Ready | Grown) -> None:
        self.shared_anonymous_bytes = told.anonymous_bytes

    def _lose(self) -> None:
        if self._is_lost:
            return
        self._is_lost = True
        asyncio.get_running_loop().remove_reader(self._line.end.fileno())
        self._line.end.close()
        if not self.ready.done():
            self.ready.set_exception(RuntimeError("the zygote ended before it was ready"))
            self.ready.exception()
        self._on_lost(self)

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        os.waitpid(self.pid, 0)
        self._lose()
