"""Reads from the kernel how much memory one child uses: its own memory, and the kernel's memory for it."""

import os
from contextlib import suppress
from typing import Final, NamedTuple

from toolrack_runner.child_bounds import QUOTA_BYTES, QUOTA_INODES

#: How many bytes of a file of /proc are read. /proc/<pid>/status has about 1,500.
STATUS_BYTES: Final = 8_192
#: The kernel's memory for one thread: its stack (16 KB) and records about it. As measured, 5,000 threads took 116 MB.
THREAD_BYTES: Final = 24 << 10
#: The descriptors of every child: standard input, output and error, and the channel.
DESCRIPTORS_OF_EVERY_CHILD: Final = 4
#: How much memory a socket can keep besides its usual buffer: for the last message in the buffer, and for the kernel's
#: records about the socket. As measured, a socket with a buffer of 212,992 bytes kept up to 254,279.
BEYOND_BUFFER_BYTES: Final = 42 << 10
#: The letters by which /proc/<pid>/stat shows that a thread is stopped or has ended, and that it sleeps.
STOPPED: Final = b"TZX"
SLEEPING: Final = b"S"
#: Whether the size of /proc/<pid>/fd is the number of descriptors (since Linux 6.2).
_HAS_COUNT: Final = os.path.exists("/proc/self/fd") and os.stat("/proc/self/fd").st_size > 0


class Holding(NamedTuple):
    """The memory and the threads of a child. All are 0 after it is reaped."""

    #: The memory of the child, in bytes. It is the sum of:
    #: - anonymous memory, also in swap, without the part that existed at the fork,
    #: - mapped files, or the files in its own file system, whichever is more,
    #: - page tables and threads,
    #: - the most that its descriptors can hold.
    held_bytes: int = 0
    threads: int = 0
    #: The resident memory of the child now, and the most that it had at any time, in bytes, including shared pages.
    resident_bytes: int = 0
    resident_bytes_max: int = 0
    #: All mappings, used or not, in bytes.
    mapped_bytes: int = 0
    #: How many descriptors the child has open, with those that every child has.
    descriptors: int = 0
    #: Which signals are blocked, ignored and handled: lines of /proc/<pid>/status.
    signals: bytes = b""


def holding_of(
    pid: int, shared_anonymous_bytes: int, descriptors_max: int, workplace: str, *, waiting: bytes = b""
) -> Holding:
    """Reads the memory and the threads of the child with this pid. The parameters are fields of `Worker` and its limits.

    With `waiting`, a child is measured only if all its threads wait: STOPPED, or SLEEPING with one thread. Otherwise all but
    the number of threads is 0.
    """
    folder, status = _thread_with_memory(pid)
    if not status:
        return Holding()
    if waiting and not _waits(status, waiting):
        return Holding(threads=int(field(status, b"\nThreads:") or 0))
    mapped, most, resident, anonymous, shared, tables, swapped, threads = _numbers(status)
    own = max((anonymous + swapped) * 1024 - shared_anonymous_bytes, 0)
    files = max(shared * 1024, _written_bytes(folder, workplace))
    descriptors = _descriptors(folder, descriptors_max)
    sockets = max(descriptors - DESCRIPTORS_OF_EVERY_CHILD, 0) * _SOCKET_BYTES
    kernel = tables * 1024 + max(threads - 1, 0) * THREAD_BYTES + sockets
    return Holding(
        held_bytes=own + files + kernel,
        threads=threads,
        resident_bytes=resident * 1024,
        resident_bytes_max=most * 1024,
        mapped_bytes=mapped * 1024,
        descriptors=descriptors,
        signals=status.partition(b"\nSigBlk:")[2].partition(b"\nCapInh:")[0],
    )


def _waits(status: bytes, waiting: bytes) -> bool:
    """Whether a child is in one of these states. Only a stop signal makes several threads wait together."""
    state = status.partition(b"\nState:\t")[2][:1]
    return state in waiting and (waiting is STOPPED or field(status, b"\nThreads:") == b"1")


def _numbers(status: bytes) -> list[int]:
    """The numbers of _NUMBERS in the status file of a process.

    The names are searched from the previous one on, because this is done twice for each call.
    """
    at = 0
    found: list[int] = []
    for name in _NUMBERS:
        next_at = status.find(name, at)
        if next_at < 0:  # This kernel has no such number.
            found.append(0)
        else:
            at = next_at + len(name)
            found.append(int(status[at : at + DIGITS_MAX].split(None, 1)[0]))
    return found


def _thread_with_memory(pid: int) -> tuple[str, bytes]:
    """Finds a thread that shows the memory of the child. Returns its folder in /proc, and the content of its status file.

    If the child is reaped, the content is empty. The first thread can end before the others (by the system call `exit`).
    Then its folder shows no memory and no descriptors.
    """
    folder = f"/proc/{pid}"
    status = read_whole(f"{folder}/status")
    if status and b"\nVmSize:" not in status:
        with suppress(OSError):
            for thread in os.listdir(f"{folder}/task"):
                other = read_whole(f"{folder}/task/{thread}/status")
                if b"\nVmSize:" in other:
                    return f"{folder}/task/{thread}", other
    return folder, status


def is_stopped(pid: int) -> bool:
    """Whether every thread of a child is stopped or has ended.

    A signal stops a thread only after its present system call, and one system call can take all memory that a child may
    have.
    """
    if pid <= 0:
        return False
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True
    stats = filter(None, (read_whole(f"/proc/{pid}/task/{thread}/stat") for thread in threads))
    # The name of a thread comes before its state. The name is in brackets and may contain brackets.
    return all(stat.rpartition(b")")[2].split(None, 1)[0] in STOPPED for stat in stats)


def _descriptors(folder: str, descriptors_max: int) -> int:
    """How many descriptors the child has open; `descriptors_max` if the kernel does not report it."""
    try:
        return os.stat(f"{folder}/fd").st_size if _HAS_COUNT else len(os.listdir(f"{folder}/fd"))
    except FileNotFoundError:
        return 0
    except OSError:
        return descriptors_max


def _written_bytes(folder: str, workplace: str) -> int:
    """The bytes in the child's own file system; 0 if it has none, or if this process is not root and cannot read it."""
    with suppress(OSError):
        system = os.statvfs(f"{folder}/root{workplace}")
        # If the file system has another size, it is not the child's own.
        if (system.f_blocks * system.f_frsize, system.f_files) == (QUOTA_BYTES, QUOTA_INODES):
            return (system.f_blocks - system.f_bfree) * system.f_frsize
    return 0


#: More characters than a number in /proc/<pid>/status has, with blanks before it.
DIGITS_MAX: Final = 24
#: Numbers in /proc/<pid>/status, in the order of the file. They are in kilobytes, except the last one.
_NUMBERS: Final = (
    *(b"\nVmSize:", b"\nVmHWM:", b"\nVmRSS:", b"\nRssAnon:", b"\nRssShmem:", b"\nVmPTE:", b"\nVmSwap:"),
    b"\nThreads:",
)


def field(text: bytes, name: bytes) -> bytes:
    """The first word after `name` in `text`."""
    words = text.partition(name)[2].split(None, 1)
    return words[0] if words else b""


def read_whole(path: str) -> bytes:
    """The content of a short file of /proc; empty if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, STATUS_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


#: The most that one socket keeps. Its buffer has the usual size if the system does not report it.
_SOCKET_BYTES: Final = int(read_whole("/proc/sys/net/core/wmem_default") or 212_992) + BEYOND_BUFFER_BYTES
