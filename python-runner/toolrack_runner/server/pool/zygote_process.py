"""A zygote, as the server process sees it: asks for children, and learns of their births and ends."""

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.children import Children
from toolrack_runner.server.pool.worker import Worker, has_ended
from toolrack_runner.wire import zygote_messages as messages
from toolrack_runner.wire.zygote_messages import Limits, ZygoteChannel


class ZygoteProcess:
    """One zygote. It reports to `children` when a child is born or ends, and calls `on_lost` when it ends itself."""

    def __init__(
        self,
        started: tuple[int, ZygoteChannel],
        children: "Children[Worker, ZygoteProcess]",
        on_lost: Callable[["ZygoteProcess"], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[messages.Ready] = self._loop.create_future()
        self._children = children
        self._on_lost = on_lost
        #: The anonymous memory that each new child shares with the zygote.
        self.shared_anonymous_bytes = 0
        #: The package that the zygote is importing, or the last one that it has imported.
        self.importing: str | None = None
        #: The packages because of which the zygote ended before it was ready. Each has its reason.
        self.unfit: dict[str, str] = {}
        self._is_lost = False
        self._alive = 0
        self.is_retired = False
        self.pid, self._channel = started
        self._channel.socket.setblocking(False)
        self._pidfd = os.pidfd_open(self.pid)
        self._loop.add_reader(self._channel.socket.fileno(), self._hear)
        self._loop.add_reader(self._pidfd, self._reap)

    @property
    def loaded(self) -> frozenset[str]:
        """The top-level names of the modules that the zygote has imported from installed packages, once it is ready."""
        return frozenset(self.ready.result().loaded)

    @property
    def no_environments(self) -> str:
        """The reason why no child of this zygote can have an environment. Empty if they can. Known once it is ready."""
        return self.ready.result().no_environments

    @property
    def is_ready(self) -> bool:
        """Whether the zygote lives and accepts orders."""
        return not self._is_lost and self.ready.done() and self.ready.exception() is None

    def spawn(
        self,
        child: int,
        slot: int,
        limits: Limits,
        environment: Environment | None,
        *,
        pages: str,
        channel: int,
        output: int,
    ) -> None:
        """Asks for a child; raises OSError if the zygote accepts no more messages."""
        spawn = messages.Spawn(child, slot, limits, pages=pages)
        if environment is not None:
            spawn = spawn._replace(environment=environment.folder, library_bytes=environment.library_bytes)
        self._channel.send(spawn, (channel, output))
        self._alive += 1

    def retire(self) -> None:
        """Closes the zygote after its last child has ended. The zygote gets no more orders."""
        self.is_retired = True
        self._close_if_unused()

    def give_up(self, seconds: float) -> None:
        """Kills the zygote if it is not ready after so many seconds. The reason is the package that it is importing."""
        if not self.ready.done() and self.importing is not None:
            self.unfit = {self.importing: f"its import did not end within {seconds:g} s"}
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Closes the channel. The zygote then ends, and its children with it."""
        if self._is_lost:
            return
        self._is_lost = True
        self._loop.remove_reader(self._channel.socket.fileno())
        self._channel.socket.close()
        if not self.ready.done():
            if self.importing is not None and not self.unfit:
                self.unfit = {self.importing: "the process died during its import"}
            self.ready.set_exception(RuntimeError("the zygote ended before it was ready"))
            self.ready.exception()
        self._on_lost(self)

    def wait(self) -> None:
        """Waits until the process has ended, at most a second."""
        if self._pidfd >= 0:  # Otherwise the process is reaped already.
            has_ended(self._pidfd, within_seconds=1.0)

    def _close_if_unused(self) -> None:
        if self.is_retired and not self._alive:
            self.close()

    def _hear(self) -> None:
        try:
            while not self._is_lost:
                self._act(*self._channel.receive())
        except BlockingIOError:
            return
        except (EOFError, ConnectionResetError):
            self.close()

    def _act(self, message: messages.Message, descriptors: list[int]) -> None:
        match message:
            case messages.Ready():
                self.shared_anonymous_bytes = message.anonymous_bytes
                self.ready.set_result(message)
            case messages.Importing():
                self.importing = message.package
            case messages.Unfit():
                self.unfit = message.reasons
            case messages.Grown():
                self.shared_anonymous_bytes = message.anonymous_bytes
            case messages.Born():
                self._children.born(message, descriptors[0])
            case messages.Gone() | messages.Unborn():
                self._alive -= 1
                self._children.gone(message)
                self._close_if_unused()
            case _:
                raise AssertionError(f"a zygote never sends {type(message).__name__}")

    def _reap(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = -1
        os.waitpid(self.pid, 0)
        self.close()
