"""Attacks on memory, on processor time, and through large interfaces of the kernel."""

import ctypes
import errno
import mmap
import os
import resource
import signal
import struct
import threading

from toolrack_runner.jail.linux import syscall
from toolrack_runner.level.canaries import Canaries

MUCH = 700 << 20
#: Each part is smaller than the limit of a call.
HIDDEN_PARTS = 7
OWN_MEMORY = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
NO_FILE = (1 << 64) - 1
#: The kernel put these sixteen bytes on the stack of the first thread (`linux/auxvec.h`).
AT_RANDOM = 25
MAP_GROWSDOWN = 0x100
MREMAP_MAYMOVE = 1
#: More signals than may wait for a child.
SIGNALS = 200
SI_QUEUE = -1
SIGINFO_BYTES = 128
IPC_PRIVATE = 0
IPC_CREAT = 0o1000
IPC_RMID = 0


def allocate(_: Canaries) -> None:
    """Takes 700 MB without touching it, and gives it back."""
    mmap.mmap(-1, MUCH, flags=OWN_MEMORY).close()


def allocate_shared(_: Canaries) -> None:
    """Takes 700 MB of shared memory, which RLIMIT_DATA does not count."""
    mmap.mmap(-1, MUCH, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS).close()


def allocate_downwards(_: Canaries) -> None:
    """Takes 700 MB that would grow like a stack, which RLIMIT_DATA does not count either."""
    mmap.mmap(-1, MUCH, flags=OWN_MEMORY | MAP_GROWSDOWN).close()


def grow_stack_mapping(_: Canaries) -> None:
    """Enlarges one page of the stack to 700 MB, which RLIMIT_DATA does not count, and gives them back."""
    grown = syscall("mremap", _lowest_page_of_the_stack(), mmap.PAGESIZE, MUCH, MREMAP_MAYMOVE)
    syscall("munmap", grown, MUCH)


def hide_by_mprotect(_: Canaries) -> None:
    """Takes 700 MB in parts, and makes each part read-only. RLIMIT_DATA then does not count it any more."""
    size = MUCH // HIDDEN_PARTS
    hidden: list[int] = []
    try:
        for _part in range(HIDDEN_PARTS):
            hidden.append(syscall("mmap", 0, size, READ_WRITE, OWN_MEMORY, NO_FILE))
            syscall("mprotect", hidden[-1], size, mmap.PROT_READ)
    finally:
        for address in hidden:
            syscall("munmap", address, size)


def _lowest_page_of_the_stack() -> int:
    """The address of an unused page. The kernel makes another one when the stack needs it."""
    ask = ctypes.CDLL(None).getauxval
    ask.argtypes, ask.restype = (ctypes.c_ulong,), ctypes.c_ulong
    page: int = ask(AT_RANDOM) & -mmap.PAGESIZE
    try:
        while True:
            syscall("madvise", page - mmap.PAGESIZE, mmap.PAGESIZE, mmap.MADV_NORMAL)
            page -= mmap.PAGESIZE
    except OSError:
        return page


def queue_signals(_: Canaries) -> None:
    """Queues two hundred signals to itself, which each use memory of the kernel, and removes them."""
    number = signal.SIGRTMIN + 1
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    details = ctypes.create_string_buffer(struct.pack("iii", number, 0, SI_QUEUE), SIGINFO_BYTES)
    try:
        for _signal in range(SIGNALS):
            syscall(
                "rt_tgsigqueueinfo", os.getpid(), threading.get_native_id(), number, ctypes.addressof(details)
            )
    finally:
        while signal.sigtimedwait({number}, 0):
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def make_shared_segment(_: Canaries) -> None:
    """Makes System V shared memory, which stays after its process ends."""
    segment = syscall("shmget", IPC_PRIVATE, mmap.PAGESIZE, IPC_CREAT | 0o600)
    syscall("shmctl", segment, IPC_RMID)


def make_memory_file(_: Canaries) -> None:
    """Makes a file in memory, outside every directory."""
    os.close(os.memfd_create("probe"))


def set_up_io_uring(_: Canaries) -> None:
    """Opens io_uring, whose operations no seccomp program sees."""
    parameters = ctypes.create_string_buffer(120)
    os.close(syscall("io_uring_setup", 1, ctypes.addressof(parameters)))


def lift_cpu_limit(_: Canaries) -> None:
    """Checks that there is a limit of processor time, and tries to lift it. It does not spin."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if resource.RLIM_INFINITY in {soft, hard}:
        return
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError:
        # Python raises ValueError for EPERM.
        raise OSError(errno.EPERM, "setrlimit") from None
