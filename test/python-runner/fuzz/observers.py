"""Who looks, outside of the jail, for effects of what a child did inside. Each finds one kind of effect."""

import errno
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fuzz.batch import LOCK_START, Tried
from fuzz.call_plan import Call, Case
from fuzz.canaries import LIBRARY, Canaries
from fuzz.lasting import lasting_zygotes
from support.kernel_memory import kernel_bytes
from support.process_tree import children_of, descendants_of, zygotes_of
from support.until import until

#: What the kernel may hold for one child: 64 descriptors with 208 KB of a socket's usual buffer each, as many again on their
#: way in a socket, and some MB for what a start of any process takes.
KERNEL_BYTES_MAX = 32 << 20
#: How long the kernel has to give back what an ended child held.
GIVING_BACK_SECONDS = 3.0
#: Kinds of descriptors that a child may have; files of its own file system beside them.
HANDLES = ("socket:", "pipe:", "anon_inode:[eventpoll]", "anon_inode:[eventfd]", "anon_inode:[timerfd]")
SHARED = ("fd:stdin", "fd:null", "fd:library", "fd:library_folder")
#: Python 3.11 has no name for it.
F_OFD_GETLK = 36
#: Each by the word that stands before its findings.
OBSERVERS = ("files", "processes", "packets", "locks", "memory", "runner", "handles", "answers")

Found = list[tuple[str, str]]


class Observers:
    """All of them. `before` a batch they note what is, and afterwards they tell what has changed."""

    def __init__(self, world: Canaries) -> None:
        self._world = world
        self._main = world.live.process.pid
        self._held: Found = []
        self._locked = [
            os.open(path, os.O_RDWR if path == os.devnull else os.O_RDONLY) for path in SHARED_PATHS
        ]
        self.was_held = False
        self.kernel_growth = 0
        world.on_held = self._while_held
        until(lambda: world.live.health()["children"]["alive"] > 0, "a child")
        self._zygotes = lasting_zygotes(self._main)
        self._descriptors = len(os.listdir(f"/proc/{self._main}/fd"))
        self.note()

    def close(self) -> None:
        """Lets go of the locks."""
        for descriptor in self._locked:
            os.close(descriptor)

    def note(self) -> None:
        """What is now is as it should be."""
        self._hold_locks()
        self._files = dict(self._file_states())
        self._processes = self._settled_processes()
        self._log = self._world.log.read_text()

    def before(self) -> None:
        """A batch begins."""
        self._locks_of_others = set(self._seen_locks())
        self._held = []
        self.was_held = False
        self.kernel_growth = 0
        self._kernel = kernel_bytes()

    def after(self, cases: list[Case], tried: Tried) -> Found:
        """What the batch had for effects; what the observers hold is put in order again where there is one."""
        found = [*self._held, *(("runner", wrong) for wrong in tried.wrong)]
        found += self._lock_findings(cases, tried)
        found += [("files", text) for text in self._changed("", self._files, dict(self._file_states()))]
        found += [("processes", text) for text in self._changed("", self._processes, self._process_states())]
        found += [("packets", f"something came at {name}") for name in self._came()]
        found += [("runner", text) for text in self._runner_findings()]
        if self.kernel_growth > KERNEL_BYTES_MAX:
            found.append(("memory", self._whose_memory()))
        if found:
            self._world.put_back()
            self.note()
        return found

    def _hold_locks(self) -> None:
        for descriptor in self._locked:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, LOCK_START, 1, 0)
        with suppress(OSError):
            fcntl.fcntl(self._locked[0], fcntl.F_SETLK, lock)

    def _while_held(self, child: int) -> None:
        self.was_held = True
        self.kernel_growth = kernel_bytes() - self._kernel
        self._held += self._held_findings(child)

    def _held_findings(self, child: int) -> Iterator[tuple[str, str]]:
        for text in set(self._seen_locks()) - self._locks_of_others:
            yield "locks", text
        folder = f"/proc/{child}/fd"
        with suppress(OSError):
            links = {_link(f"{folder}/{number}") for number in os.listdir(folder)} if child else set()
            for link in sorted(links):
                if not link.startswith(("/", *HANDLES)) or link.startswith(str(self._world.folder)):
                    yield "handles", f"the child holds {link.partition(':')[0]}"

        with suppress(OSError):
            tables = {frozenset(os.listdir(f"{task}/fd")) for task in _tasks(child)} if child else set()
            if len(tables - {frozenset()}) > 1:
                yield "handles", "a thread of the child has a table of descriptors of its own"

    def _seen_locks(self) -> Iterator[str]:
        """Locks of children on what is shared: from the kernel's list, and by asking for their place."""
        family = descendants_of(self._main)
        places = {_place(path) for path in SHARED_PATHS}
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.replace("-> ", "").split()
            if int(fields[4]) in family and fields[5] in places:
                yield f"a child holds a {fields[1]} lock on a file that others share"
        for descriptor, path in zip(self._locked, SHARED_PATHS, strict=True):
            wanted = struct.pack("hhqqi4x", fcntl.F_RDLCK if path == LIBRARY else fcntl.F_WRLCK, 0, 0, 0, 0)
            with suppress(OSError):
                kind, _, _, _, pid = struct.unpack("hhqqi4x", fcntl.fcntl(descriptor, fcntl.F_GETLK, wanted))
                if kind != fcntl.F_UNLCK and (pid == -1 or pid in family):
                    yield f"a child's lock on {path} is in the way of others"

    def _lock_findings(self, cases: list[Case], tried: Tried) -> Iterator[tuple[str, str]]:
        for number, said in tried.said.items():
            calls = cases[number]["calls"] if number < len(cases) else []
            if said and "!lock" in said and not any(_asks_for_locks(call) for call in calls):
                yield "locks", "a child was told of a lock of another process"
            for (name, *arguments), result in zip(calls, (said or "").split(), strict=False):
                is_shared = any(argument in SHARED for argument in arguments)
                if is_shared and name in ("flock", "fcntl") and result in WAITS:
                    yield "locks", "a child's lock waits for another process's: it learns that there is one"

    def _file_states(self) -> Iterator[tuple[str, object]]:
        folder = self._world.folder / "canary"
        for path in (
            folder,
            *sorted(folder.rglob("*")),
            Path(LIBRARY),
            Path(LIBRARY).parent,
            Path(os.devnull),
        ):
            seen = path.lstat()
            held = path.read_text() if path.parent == folder and path.is_file() else None
            times = () if path == Path(os.devnull) else (seen.st_mtime_ns, seen.st_size)
            yield str(path), (seen.st_mode, seen.st_uid, seen.st_gid, seen.st_nlink, *times, held)

    def _process_states(self) -> dict[str, object]:
        pids = {"the runner": self._main} | {f"zygote {pid}": pid for pid in self._zygotes}
        if self._world.victim is not None:
            pids["a process outside"] = self._world.victim.pid
        pids["the child of another call"] = self._world.sibling_here
        return {name: _process_state(pid) for name, pid in pids.items()}

    def _settled_processes(self) -> dict[str, object]:
        seen: list[dict[str, object]] = []

        def is_settled() -> bool:
            time.sleep(0.05)
            seen.append(self._process_states())
            return len(seen) > 1 and seen[-1] == seen[-2]

        until(is_settled, "processes as they will stay")
        return seen[-1]

    def _changed(self, what: str, before: dict[str, object], after: dict[str, object]) -> Iterator[str]:
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                yield f"{what}{name} has changed: {before.get(name)} became {after.get(name)}"

    def _came(self) -> Iterator[str]:
        for name, listener in self._world.listeners.items():
            with suppress(BlockingIOError):
                if name in {"tcp", "abstract"}:
                    listener.accept()[0].close()
                else:
                    listener.recv(100)
                yield name

    def _runner_findings(self) -> Iterator[str]:
        if self._world.live.process.poll() is not None:
            yield "the runner has ended"
            return
        gone = self._zygotes - zygotes_of(self._main)
        if gone:
            yield "a zygote has ended"
            self._zygotes = lasting_zygotes(self._main)
        log = self._world.log.read_text()
        if log != self._log:
            yield f"the runner logged {log.removeprefix(self._log)[:500]}"
            self._log = log
        # A child has its channel, its output and its pidfd; the calls' own connections come and go.
        children = len(children_of(self._main))
        if len(os.listdir(f"/proc/{self._main}/fd")) > self._descriptors + 3 * children + DESCRIPTORS_SLACK:
            yield "the runner has descriptors that belong to no child"

    def _whose_memory(self) -> str:
        """The kernel's memory grew while the child lived: the child's is given back when it has ended."""
        deadline = time.monotonic() + GIVING_BACK_SECONDS
        while self._kernel + self.kernel_growth - kernel_bytes() < KERNEL_BYTES_MAX:
            if time.monotonic() > deadline:
                return "the kernel still holds memory after the child has ended"
            time.sleep(0.02)
        return f"the kernel holds more than {KERNEL_BYTES_MAX >> 20} MB for the child"


#: What a call gives that would have to wait for another's lock, or has waited.
WAITS = (f"-1:{errno.EAGAIN}", f"-1:{errno.EACCES}", f"-1:{errno.EINTR}")
#: Requests of the suite itself, and a zygote that is started meanwhile.
DESCRIPTORS_SLACK = 16
SHARED_PATHS = (os.devnull, LIBRARY)


def _asks_for_locks(call: Call) -> bool:
    """Whether it is F_GETLK or F_OFD_GETLK. They tell of locks of programs outside of every jail; no child can make one."""
    return call[0] == "fcntl" and call[2] in (fcntl.F_GETLK, F_OFD_GETLK)


def _tasks(pid: int) -> list[str]:
    folder = f"/proc/{pid}/task"
    return [f"{folder}/{thread}" for thread in os.listdir(folder)]


def _place(path: str) -> str:
    """As `/proc/locks` writes a file: device and inode."""
    seen = os.stat(path)
    return f"{os.major(seen.st_dev):02x}:{os.minor(seen.st_dev):02x}:{seen.st_ino}"


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return "/gone"


def _process_state(pid: int) -> object:
    """Whether it lives, which signals wait for it, and all that another process could set."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        wanted = ("SigPnd", "ShdPnd", "Uid", "Cpus_allowed:", "NoNewPrivs")
        lines = tuple(line for line in status.splitlines() if line.startswith(wanted))
        is_zombie = "State:\tZ" in status
        score = Path(f"/proc/{pid}/oom_score_adj").read_text()
        limits = tuple(_limits(pid))
        return (
            is_zombie,
            lines,
            os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getscheduler(pid),
            score,
            limits,
        )
    except OSError:
        return "gone"


def _limits(pid: int) -> Iterator[str]:
    yield from Path(f"/proc/{pid}/limits").read_text().splitlines()
