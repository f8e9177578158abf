"""The process that children are forked from: clean, single-threaded, and never a host of user code.

It holds the interpreter and the preloaded packages, so that a child costs a fork and not a start. It knows no secret and
no network; what it can do is fork, confine by the jail's plan, and tell main who was born and who has gone.
"""

import faulthandler
import gc
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import NoReturn

from toolrack_runner.jail.confine import Confinement, prepare_confinement
from toolrack_runner.jail.hygiene import die_with
from toolrack_runner.zygote.allocator import keep_allocations_in_one_heap
from toolrack_runner.zygote.at_fork import without_hooks
from toolrack_runner.zygote.by_epoll import wait_by_epoll
from toolrack_runner.zygote.child import live
from toolrack_runner.zygote.kill_group import kill_group
from toolrack_runner.zygote.messages import Born, Gone, Grown, Line, Opening, Ready, Spawn, Unborn
from toolrack_runner.zygote.no_sendmsg import hide_sendmsg
from toolrack_runner.zygote.place import LINE_DESCRIPTOR, ROOT
from toolrack_runner.zygote.preload import STANDARD, preload
from toolrack_runner.zygote.probe import as_seen_here, probe

#: Of a thread: the usual 8 MB count whole against a child's memory, which would be 31 threads.
STACK_BYTES = 1 << 20
#: The zygote's own: children get another (`by_epoll.py`), whose descriptor they would inherit.
_poll = select.poll
#: After so long without an order the zygote imports what tools commonly need.
IDLE_MS = 2


def main() -> NoReturn:
    """Reads the opening, becomes what it says, and serves until main has gone."""
    die_with(os.getppid())
    line = Line(socket.socket(fileno=LINE_DESCRIPTOR))
    try:
        opening, connections = line.receive()
        assert isinstance(opening, Opening)
        offer_for_killing()
        threading.stack_size(STACK_BYTES)
        keep_allocations_in_one_heap()
        hide_sendmsg()
        wait_by_epoll()
        plants = None
        if opening.plants is not None:
            plants = as_seen_here(opening.plants, plant_victim(), connections)
        confinement = prepare_confinement(opening)
        if opening.preload:
            # What packages import of it is then there, and registers nothing that each child would have to run.
            _preload_standard(STANDARD)
        not_preloaded = preload(opening.preload)
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
        sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
        # On SIGUSR1 the interpreter itself, without the tool's help, writes where it is; so does a crash.
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=False)
        faulthandler.enable(file=sys.stderr, all_threads=False)
        forget_own_source()
        gc.disable()
        gc.freeze()
        confinement.settle()
        line.send(
            Ready(
                missing=confinement.missing,
                not_preloaded=not_preloaded,
                anonymous_bytes=confinement.anonymous_bytes,
                landlock_abi=confinement.landlock_abi,
                victim=0 if plants is None else plants.victim,
                sights={} if plants is None else probe(confinement, plants),
            )
        )
        for connection in connections:
            os.close(connection)
        _Nursery(line, confinement).serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # Main has gone; so do we, and our children with us.
    except KeyboardInterrupt:
        pass
    os._exit(0)


def offer_for_killing() -> None:
    """Where memory runs out, the kernel ends a tool before the runner; children inherit it."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("500")


def plant_victim() -> int:
    """A process that does nothing, outside of every jail; main ends it when it has measured."""
    zygote = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.closerange(3, 1 << 10)
        die_with(zygote)
        signal.pause()
        os._exit(0)
    return pid


def forget_own_source() -> None:
    """No import of a tool's looks into the runner's own folder, which it could not read anyway."""
    sys.path[:] = [folder for folder in sys.path if folder != ROOT]
    sys.argv[:] = [""]


def _chores(confinement: Confinement) -> Iterator[bool]:
    """What makes children cheaper and is done when nobody waits for one, a little at a time."""
    for name in STANDARD:
        _preload_standard((name,))
        yield True
    gc.collect()
    gc.freeze()
    confinement.note_memory()


def _preload_standard(names: tuple[str, ...]) -> None:
    with without_hooks():
        preload(names)


class _Nursery:
    """The children that live, by the descriptor that tells of their end."""

    def __init__(self, line: Line, confinement: Confinement) -> None:
        self._line = line
        self._confinement = confinement
        self._children: dict[int, tuple[int, int, int]] = {}
        #: Who removes what a child wrote, and what is told of that child when it is gone.
        self._clearing: dict[int, tuple[int, Gone]] = {}
        self._poll = _poll()
        self._poll.register(line.end.fileno(), select.POLLIN)

    def serve(self) -> NoReturn:
        chores = _chores(self._confinement)
        has_more = True
        while True:
            ready = self._poll.poll(IDLE_MS if has_more else None)
            if not ready:
                # Nobody waits for a child now; those that come later cost less.
                has_more = next(chores, False)
                if not has_more:
                    self._line.send(Grown(self._confinement.anonymous_bytes))
            for descriptor, _ in ready:
                if descriptor == self._line.end.fileno():
                    self._obey()
                elif descriptor in self._clearing:
                    self._cleared(descriptor)
                else:
                    self._reap(descriptor)

    def _obey(self) -> None:
        spawn, descriptors = self._line.receive()
        assert isinstance(spawn, Spawn)
        channel, output = descriptors
        try:
            workplace = self._confinement.make_workplace(spawn.slot, spawn.limits)
            pid = os.fork()
        except OSError as error:
            self._line.send(Unborn(spawn.child, str(error)))
        else:
            if pid == 0:
                live(self._confinement, workplace, spawn, channel, output)
            pidfd = os.pidfd_open(pid)
            self._children[pidfd] = (pid, spawn.child, spawn.slot)
            self._poll.register(pidfd, select.POLLIN)
            self._line.send(Born(spawn.child), (pidfd,))
        finally:
            os.close(channel)
            os.close(output)

    def _reap(self, pidfd: int) -> None:
        pid, child, slot = self._children.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        if "seccomp" in self._confinement.missing:
            kill_group(pid)
        _, status, usage = os.wait4(pid, 0)
        gone = Gone(
            child,
            exit_code=os.waitstatus_to_exitcode(status),
            cpu_seconds=usage.ru_utime + usage.ru_stime,
            resident_bytes_max=usage.ru_maxrss * 1024,
        )
        clearing = self._confinement.clear_workplace(slot)
        if clearing is None:
            self._line.send(gone)
            return
        pidfd = os.pidfd_open(clearing)
        self._clearing[pidfd] = (clearing, gone)
        self._poll.register(pidfd, select.POLLIN)

    def _cleared(self, pidfd: int) -> None:
        pid, gone = self._clearing.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        os.waitpid(pid, 0)
        self._line.send(gone)
