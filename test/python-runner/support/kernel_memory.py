"""How much memory the kernel has taken for itself: buffers, locks, threads, tables."""

import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from support.process_tree import descendants_of
from support.until import until

#: What belongs to processes and files, and what the kernel gives back when it is asked to.
_OTHERS = ("MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "SReclaimable")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")
#: Free pages that each processor keeps for itself; MemFree does not count them, and they may be a gigabyte.
_KEPT_FREE = re.compile(r"^\s+count:\s+(\d+)", re.MULTILINE)


def kernel_bytes() -> int:
    """In bytes, of the whole machine: all but what is free, what files and processes hold, and what can be reclaimed."""
    sizes = {
        name: int(value.split()[0]) * 1024
        for name, _, value in (line.partition(":") for line in Path("/proc/meminfo").read_text().splitlines())
    }
    kept_free = sum(map(int, _KEPT_FREE.findall(Path("/proc/zoneinfo").read_text()))) * _PAGE_BYTES
    return sizes["MemTotal"] - sum(sizes[name] for name in _OTHERS) - kept_free


@dataclass(frozen=True)
class Counter:
    """Counts the memory of one runner's processes, in bytes, since the counter was made."""

    #: What the kernel holds for them.
    kernel: Callable[[], int]
    #: The same, with their own memory and their files in memory.
    everything: Callable[[], int]
    #: Whether it counts these processes alone. Otherwise it counts the whole machine, where others work too.
    is_exact: bool


@contextmanager
def memory_of(runner: int) -> Iterator[Counter]:
    """Counts what a runner and its processes take from now on: by a group of their own if this process may make one."""
    group = _make_group()
    if group is None:
        before, mine = kernel_bytes(), _own_bytes()
        yield Counter(
            lambda: kernel_bytes() - before,
            lambda: kernel_bytes() - before + _own_bytes() - mine,
            is_exact=False,
        )
        return
    try:
        for pid in (runner, *descendants_of(runner)):
            with suppress(ProcessLookupError):
                (group.folder / "cgroup.procs").write_text(str(pid))
        yield Counter(group.kernel, group.everything, is_exact=True)
    finally:
        for left in (group.folder / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                (group.folder.parent / "cgroup.procs").write_text(left)
        until(lambda: _is_removed(group.folder), "the end of a memory group")


class _Group:
    """A memory cgroup, of version 1 or 2."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def kernel(self) -> int:
        usage = self.folder / "memory.kmem.usage_in_bytes"
        return int(usage.read_text()) if usage.exists() else self._stat("kernel")

    def everything(self) -> int:
        own = (
            self._stat("rss") if (self.folder / "memory.kmem.usage_in_bytes").exists() else self._stat("anon")
        )
        return own + self._stat("shmem") + self.kernel()

    def _stat(self, name: str) -> int:
        lines = (self.folder / "memory.stat").read_text().splitlines()
        return next((int(line.split()[1]) for line in lines if line.split()[0] == name), 0)


def _make_group() -> _Group | None:
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if (kind == "cgroup" and "memory" in options.split(",")) or (
            kind == "cgroup2" and _counts_memory(Path(place))
        ):
            folder = Path(place) / f"toolrack-test-{secrets.token_hex(6)}"
            with suppress(OSError):
                folder.mkdir()
                return _Group(folder)
    return None


def _counts_memory(root: Path) -> bool:
    with suppress(OSError):
        return "memory" in (root / "cgroup.subtree_control").read_text().split()
    return False


def _is_removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True


def _own_bytes() -> int:
    """What all processes hold themselves: anonymous memory, and files in memory."""
    sizes = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return sum(int(sizes[name].split()[0]) * 1024 for name in ("AnonPages", "Shmem"))
