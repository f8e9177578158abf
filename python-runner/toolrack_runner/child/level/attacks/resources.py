"""Attacks on memory, on processor time, and through large interfaces of the kernel."""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import signal
import struct
import threading

from toolrack_runner.child.jail.linux import syscall
from toolrack_runner.wire.canaries import Canaries

MUCH = 700 << 20
#: The number of parts of MUCH in `hide_by_mprotect`. Each part is smaller than the memory limit of a call.
HIDDEN_PARTS = 7
OWN_MEMORY = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
NO_FILE = (1 << 64) - 1
#: The key for the address of 16 random bytes, which the kernel puts on the stack of the first thread (`linux/auxvec.h`).
AT_RANDOM = 25
MAP_GROWSDOWN = 0x100
MREMAP_MAYMOVE = 1
#: More than the number of signals that may wait for a child.
SIGNALS = 200
SI_QUEUE = -1
SIGINFO_BYTES = 128
#: A descriptor that is not open, above every limit of descriptors that a child has.
UNUSED_DESCRIPTOR = 1 << 20
CLOSE_RANGE_UNSHARE = 2
F_SETPIPE_SZ = 1031
PIPE_BYTES = 1 << 20
IPC_PRIVATE = 0
IPC_CREAT = 0o1000
IPC_RMID = 0


def allocate(_: Canaries) -> None:
    """Maps 700 MB without writing to them, and unmaps them."""
    mmap.mmap(-1, MUCH, flags=OWN_MEMORY).close()


def allocate_shared(_: Canaries) -> None:
    """Maps 700 MB of shared memory, which RLIMIT_DATA does not count."""
    mmap.mmap(-1, MUCH, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS).close()


def allocate_downwards(_: Canaries) -> None:
    """Maps 700 MB that would grow downwards like a stack, which RLIMIT_DATA does not count."""
    mmap.mmap(-1, MUCH, flags=OWN_MEMORY | MAP_GROWSDOWN).close()


def grow_stack_mapping(_: Canaries) -> None:
    """Enlarges one page of the stack to 700 MB, which RLIMIT_DATA does not count, and unmaps them."""
    grown = syscall("mremap", _lowest_page_of_the_stack(), mmap.PAGESIZE, MUCH, MREMAP_MAYMOVE)
    syscall("munmap", grown, MUCH)


def hide_by_mprotect(_: Canaries) -> None:
    """Maps 700 MB in parts, and makes each part read-only. RLIMIT_DATA does not count read-only memory."""
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
    """The address of the lowest page of the stack, which is unused. The kernel adds pages below it when they are needed."""
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
    """Queues two hundred signals to this process, and removes them. Each signal uses memory of the kernel."""
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


def unshare_descriptors(_: Canaries) -> None:
    """Asks for a table of descriptors of its own, which RLIMIT_NOFILE would limit separately. The call closes nothing."""
    syscall("close_range", UNUSED_DESCRIPTOR, UNUSED_DESCRIPTOR, CLOSE_RANGE_UNSHARE)


def enlarge_pipe(_: Canaries) -> None:
    """Gives a pipe room for 1 MB, which the kernel keeps and no memory limit counts."""
    ends = os.pipe()
    try:
        fcntl.fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES)
    finally:
        for end in ends:
            os.close(end)


def make_shared_segment(_: Canaries) -> None:
    """Makes System V shared memory, which remains after its process ends."""
    segment = syscall("shmget", IPC_PRIVATE, mmap.PAGESIZE, IPC_CREAT | 0o600)
    syscall("shmctl", segment, IPC_RMID)


def make_memory_file(_: Canaries) -> None:
    """Makes a file in memory, which is in no directory."""
    os.close(os.memfd_create("probe"))


def set_up_io_uring(_: Canaries) -> None:
    """Opens io_uring. A seccomp program does not see the operations of io_uring."""
    parameters = ctypes.create_string_buffer(120)
    os.close(syscall("io_uring_setup", 1, ctypes.addressof(parameters)))


def lift_cpu_limit(_: Canaries) -> None:
    """Removes the limit of processor time, or finds that there is none. Does not use up processor time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if resource.RLIM_INFINITY in {soft, hard}:
        return
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError:
        # Python raises ValueError for EPERM.
        raise OSError(errno.EPERM, "setrlimit") from None
