"""The process that children are forked from. It has one thread and never runs user code.

The zygote holds the interpreter and the preloaded packages, so a new child takes only a fork. It has no secret and uses no
network. It forks children, confines them, and tells the server process when a child is born or gone.
"""

import faulthandler
import gc
import os
import select
import signal
import site
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NoReturn

from toolrack_runner.child.home import Home
from toolrack_runner.child.jail.confine import Confinement, prepare_confinement
from toolrack_runner.child.jail.hygiene import die_with
from toolrack_runner.child.jail.linux import Unavailable
from toolrack_runner.child.live import live
from toolrack_runner.child.module import toolrack_module
from toolrack_runner.wire import zygote_messages as messages
from toolrack_runner.wire.zygote_messages import ZygoteChannel
from toolrack_runner.wire.zygote_start import CHANNEL_DESCRIPTOR, ROOT
from toolrack_runner.zygote.denied_calls import replace_denied_calls
from toolrack_runner.zygote.packages import UnfitError, import_packages
from toolrack_runner.zygote.preload import STANDARD, preload_standard
from toolrack_runner.zygote.probe import as_seen_here, kill_group, probe

#: The size of a thread's stack. All of it counts against a child's memory. With the usual 8 MB, 31 threads would use all
#: memory.
STACK_BYTES = 1 << 20
#: The original `select.poll`, because the one that replaces it for tools (`denied_calls.py`) opens a descriptor for each
#: wait.
_poll = select.poll
#: How long the zygote waits for an order before it imports modules that many tools need.
IDLE_MS = 2


def main() -> NoReturn:
    """Reads the opening, prepares, and serves until the server process ends."""
    die_with(os.getppid())
    channel = ZygoteChannel(socket.socket(fileno=CHANNEL_DESCRIPTOR))
    try:
        opening, connections = channel.receive()
        assert isinstance(opening, messages.Opening)
        find_installed(opening.installed, opening.prefix)
        offer_for_killing()
        threading.stack_size(STACK_BYTES)
        replace_denied_calls()
        canaries = None
        if opening.canaries is not None:
            canaries = as_seen_here(opening.canaries, fork_victim(), connections)
        confinement = prepare_confinement(opening)
        home = Home()
        if opening.preload:
            # The standard library is imported before the packages, because they would import it with its hooks.
            preload_standard(STANDARD)
            home = import_packages(
                opening.preload, confinement, lambda package: channel.send(messages.Importing(package))
            )
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
        sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
        # On SIGUSR1 and on a crash, the interpreter writes which line it is running. No code of the tool is needed for this.
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=False)
        faulthandler.enable(file=sys.stderr, all_threads=False)
        forget_own_source()
        gc.disable()
        gc.freeze()
        confinement.settle()
        channel.send(
            messages.Ready(
                missing=confinement.missing,
                anonymous_bytes=confinement.in_use.anonymous_bytes,
                victim=0 if canaries is None else canaries.victim,
                sights={} if canaries is None else probe(confinement, canaries),
                no_environments=confinement.packages.reason
                if isinstance(confinement.packages, Unavailable)
                else "",
                loaded=loaded_packages(),
            )
        )
        for connection in connections:
            os.close(connection)
        _Children(channel, confinement, home).serve()
    except UnfitError as unfit:
        channel.send(messages.Unfit(unfit.reasons))
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        pass  # The server process has ended. The zygote ends, and its children with it.
    os._exit(0)


def find_installed(folders: Sequence[str], prefix: str) -> None:
    """Makes installed packages importable, and adds the builtins of `site`, such as `exit`.

    The module `site` would also run code of installed packages: their `.pth` files and `sitecustomize`. The zygote was
    started without it (`-S`), so importing it here does nothing else.
    """
    sys.path += [folder for folder in folders if folder not in sys.path]
    if prefix:
        sys.prefix = sys.exec_prefix = prefix
    site.ENABLE_USER_SITE = False
    site.setquit()
    site.setcopyright()
    site.sethelper()


def loaded_packages() -> tuple[str, ...]:
    """The top-level names of all imported modules that are neither Python's nor the runner's."""
    names = {name.partition(".")[0] for name in sys.modules}
    own = {"__main__", __name__.partition(".")[0], toolrack_module.NAME}
    return tuple(sorted(names - sys.stdlib_module_names - own))


def offer_for_killing() -> None:
    """When memory runs out, the kernel then kills a tool before the runner. Children inherit this setting."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


def fork_victim() -> int:
    """Starts a process outside of the jail that does nothing. The server process ends it after the level is measured."""
    zygote = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.closerange(3, 1 << 10)
        die_with(zygote)
        signal.pause()
        os._exit(0)
    return pid


def forget_own_source() -> None:
    """Removes the runner's folder from the import path. Tools cannot read this folder."""
    sys.path[:] = [folder for folder in sys.path if folder != ROOT]
    sys.argv[:] = [""]


def _chores(confinement: Confinement) -> Iterator[bool]:
    """Imports modules that many tools need, one in each step, while no order has come. Later children share them."""
    for name in STANDARD:
        preload_standard((name,))
        yield True
    gc.collect()
    gc.freeze()
    confinement.note_memory()


class _Children:
    """The living children, and the processes that remove files of ended children. Each is found by its pidfd."""

    def __init__(self, channel: ZygoteChannel, confinement: Confinement, home: Home) -> None:
        self._channel = channel
        self._confinement = confinement
        self._home = home
        #: The pid, the number and the slot of each child.
        self._children: dict[int, tuple[int, int, int]] = {}
        #: The pid of each process that empties a work directory, and the message for the server process when it has ended.
        self._clearing: dict[int, tuple[int, messages.Gone]] = {}
        self._poll = _poll()
        self._poll.register(channel.socket.fileno(), select.POLLIN)

    def serve(self) -> NoReturn:
        chores = _chores(self._confinement)
        has_more = True
        while True:
            ready = self._poll.poll(IDLE_MS if has_more else None)
            if not ready:
                has_more = next(chores, False)
                if not has_more:
                    self._channel.send(messages.Grown(self._confinement.in_use.anonymous_bytes))
            for descriptor, _ in ready:
                if descriptor == self._channel.socket.fileno():
                    self._spawn()
                elif descriptor in self._clearing:
                    self._cleared(descriptor)
                else:
                    self._reap(descriptor)

    def _spawn(self) -> None:
        spawn, descriptors = self._channel.receive()
        assert isinstance(spawn, messages.Spawn)
        channel, output = descriptors
        try:
            workplace = self._confinement.make_workplace(
                spawn.slot, spawn.limits, spawn.environment, spawn.library_bytes
            )
            pid = os.fork()
        except OSError as error:
            self._channel.send(messages.Unborn(spawn.child, str(error)))
        else:
            if pid == 0:
                live(self._confinement, workplace, self._home, spawn, channel, output)
            pidfd = self._wait_for(pid)
            self._children[pidfd] = (pid, spawn.child, spawn.slot)
            self._channel.send(messages.Born(spawn.child), (pidfd,))
        finally:
            os.close(channel)
            os.close(output)

    def _reap(self, pidfd: int) -> None:
        pid, child, slot = self._children.pop(pidfd)
        self._close(pidfd)
        if "seccomp" in self._confinement.missing:
            kill_group(pid)
        _, status, usage = os.wait4(pid, 0)
        gone = messages.Gone(
            child,
            exit_code=os.waitstatus_to_exitcode(status),
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            resident_bytes_max=usage.ru_maxrss * 1024,
        )
        clearing = self._confinement.clear_workplace(slot)
        if clearing is None:
            self._channel.send(gone)
        else:
            self._clearing[self._wait_for(clearing)] = (clearing, gone)

    def _cleared(self, pidfd: int) -> None:
        pid, gone = self._clearing.pop(pidfd)
        self._close(pidfd)
        os.waitpid(pid, 0)
        self._channel.send(gone)

    def _wait_for(self, pid: int) -> int:
        pidfd = os.pidfd_open(pid)
        self._poll.register(pidfd, select.POLLIN)
        return pidfd

    def _close(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        os.close(pidfd)
