"""What one child holds of the machine's memory, as the kernel tells it: its own, and the kernel's for it.

`memory_watch.py` ends children by it, and `warm_queue.py` weighs them by it.
"""

import os
from contextlib import suppress
from typing import Final, NamedTuple

from toolrack_runner.jail.namespaces import QUOTA_BYTES, QUOTA_INODES

#: For /proc/<pid>/status, which has some 1,500 bytes.
STATUS_BYTES: Final = 8_192
#: A thread's stack in the kernel (16 KB), and what the kernel notes of it. Measured: 5,000 threads took 116 MB.
THREAD_BYTES: Final = 24 << 10
#: Standard input, output and error, and the channel.
DESCRIPTORS_OF_EVERY_CHILD: Final = 4
#: What a socket keeps that was sent and not received, unless the system says otherwise.
SOCKET_BYTES: Final = 212_992
#: A thread that is stopped, or has ended.
_STOPPED: Final = (b"T", b"Z", b"X")
#: Whether the size of /proc/<pid>/fd is the number of descriptors (Linux 6.2).
_HAS_COUNT: Final = os.path.exists("/proc/self/fd") and os.stat("/proc/self/fd").st_size > 0


class Holding(NamedTuple):
    """What a child holds now; all 0 after it is reaped."""

    #: In bytes, beyond what it was forked with: memory that no file is behind, also in swap; what it maps of a file system
    #: in memory, or keeps there, whichever is more; page tables; threads; and all that its descriptors can hold.
    held_bytes: int = 0
    threads: int = 0
    #: The most it ever had in memory, in bytes, shared pages included.
    resident_bytes_max: int = 0


def holding_of(pid: int, *, shared_anonymous_bytes: int, descriptors_max: int, workplace: str) -> Holding:
    """What the child with this pid holds.

    `shared_anonymous_bytes` is the memory without a file behind it that it was forked with, `workplace` the path of its own
    file system.
    """
    status = read_whole(f"/proc/{pid}/status")
    if not status:
        return Holding()
    own = max(_bytes(status, b"\nRssAnon:") + _bytes(status, b"\nVmSwap:") - shared_anonymous_bytes, 0)
    files = max(_bytes(status, b"\nRssShmem:"), _written_bytes(pid, workplace))
    threads = int(field(status, b"\nThreads:") or 0)
    descriptors = max(_descriptors(pid, descriptors_max) - DESCRIPTORS_OF_EVERY_CHILD, 0)
    kernel = _bytes(status, b"\nVmPTE:") + max(threads - 1, 0) * THREAD_BYTES + descriptors * _SOCKET_BYTES
    return Holding(own + files + kernel, threads, _bytes(status, b"\nVmHWM:"))


def is_stopped(pid: int) -> bool:
    """Whether no thread of a child runs or works in the kernel; true for a child that is gone.

    A signal stops a thread only when its system call has ended, and one call can take all the memory that a child may have.
    """
    if pid <= 0:
        return False
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True
    for thread in threads:
        stat = read_whole(f"/proc/{pid}/task/{thread}/stat")
        # The name stands in brackets and may have brackets itself.
        if stat and stat.rpartition(b")")[2].split(None, 1)[0] not in _STOPPED:
            return False
    return True


def _descriptors(pid: int, descriptors_max: int) -> int:
    """How many it has open; as many as it may have where the kernel does not tell."""
    try:
        folder = f"/proc/{pid}/fd"
        return os.stat(folder).st_size if _HAS_COUNT else len(os.listdir(folder))
    except FileNotFoundError:
        return 0
    except OSError:
        return descriptors_max


def _written_bytes(pid: int, workplace: str) -> int:
    """What the child's own file system holds; 0 where it has none, or where this process may not look (not root)."""
    with suppress(OSError):
        told = os.statvfs(f"/proc/{pid}/root{workplace}")
        # Of any other size it is not the child's own.
        if (told.f_blocks * told.f_frsize, told.f_files) == (QUOTA_BYTES, QUOTA_INODES):
            return (told.f_blocks - told.f_bfree) * told.f_frsize
    return 0


def field(text: bytes, name: bytes) -> bytes:
    """The first word behind a name."""
    words = text.partition(name)[2].split(None, 1)
    return words[0] if words else b""


def read_whole(path: str) -> bytes:
    """The content of a short file of /proc; empty where it is gone."""
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


def _bytes(status: bytes, name: bytes) -> int:
    return int(field(status, name) or 0) * 1024


_SOCKET_BYTES: Final = int(read_whole("/proc/sys/net/core/wmem_default") or SOCKET_BYTES)
