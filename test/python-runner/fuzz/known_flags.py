"""The flags and commands that the kernel knows, for each system call and place of an argument: allowed ones and others.

The numbers are those of Linux 6.18. Flags of `open` that have other numbers on aarch64 are here with both.
"""

from collections.abc import Iterator
from random import Random
from typing import Final

_OPEN: Final = (
    *(0x1, 0x2, 0x40, 0x80, 0x100, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000, 0x8000, 0x10000, 0x20000),
    *(0x40000, 0x80000, 0x101000, 0x200000, 0x400000),
)
_AT: Final = (0x100, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000, 0x8000)
_MSG: Final = (
    *(0x1, 0x2, 0x4, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200, 0x400, 0x800, 0x1000, 0x2000, 0x4000, 0x8000),
    *(0x10000, 0x40000, 0x4000000, 0x20000000, 0x40000000),
)
_RWF: Final = (0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x40, 0x80, 0x100)
_PROT: Final = (0x1, 0x2, 0x4, 0x8, 0x10, 0x20, 0x1000000, 0x2000000)
_CLOEXEC: Final = (0x800, 0x80000)

#: Bits that can be combined, by call and place.
FLAGS: Final[dict[tuple[str, int], tuple[int, ...]]] = {
    ("open", 1): _OPEN,
    ("openat", 2): _OPEN,
    ("open", 2): (0o777, 0o1000, 0o2000, 0o4000),
    ("openat", 3): (0o777, 0o1000, 0o2000, 0o4000),
    ("creat", 1): (0o777, 0o1000, 0o2000, 0o4000),
    ("close_range", 2): (2, 4),
    ("clone", 0): tuple(1 << bit for bit in range(32)),
    ("dup3", 2): _CLOEXEC,
    ("pipe2", 1): (*_CLOEXEC, 0x80, 0x4000, 0x10000),
    ("eventfd2", 1): (*_CLOEXEC, 1),
    ("timerfd_create", 1): _CLOEXEC,
    ("timerfd_settime", 1): (1, 2),
    ("epoll_create1", 0): _CLOEXEC,
    ("socketpair", 1): (1, 2, 4, *_CLOEXEC),
    ("sendto", 3): _MSG,
    ("recvfrom", 3): _MSG,
    ("recvmsg", 2): _MSG,
    ("mmap", 2): _PROT,
    ("mmap", 3): (
        *(0x1, 0x2, 0x3, 0x8, 0x10, 0x20, 0x22, 0x40, 0x100, 0x800, 0x1000, 0x2000, 0x4000, 0x8000, 0x10000),
        *(0x20000, 0x40000, 0x80000, 0x100000, 0x4000000, 15 << 26, 21 << 26, 30 << 26),
    ),
    ("mprotect", 2): _PROT,
    ("msync", 2): (1, 2, 4),
    ("rseq", 2): (1, 2),
    ("membarrier", 1): (1,),
    ("wait4", 2): (1, 2, 4, 8, 0x1000000, 0x20000000, 0x40000000, 0x80000000),
    ("waitid", 3): (1, 2, 4, 8, 0x1000000, 0x20000000, 0x40000000, 0x80000000),
    ("clock_nanosleep", 1): (1,),
    ("newfstatat", 3): _AT,
    ("statx", 2): _AT,
    ("statx", 3): tuple(1 << bit for bit in range(18)),
    ("faccessat2", 3): _AT,
    ("unlinkat", 2): _AT,
    ("renameat2", 4): (1, 2, 4),
    ("fallocate", 1): (1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80),
    ("copy_file_range", 5): (1,),
    ("preadv2", 5): _RWF,
    ("pwritev2", 5): _RWF,
    ("getrandom", 2): (1, 2, 4),
}

#: Commands, of which an argument has one, by call and place.
COMMANDS: Final[dict[tuple[str, int], tuple[int, ...]]] = {
    ("futex", 1): (*range(16), *(128 | each for each in range(16)), *(256 | each for each in range(16))),
    ("madvise", 2): (*range(26), 100, 101, 102, 103),
    ("prctl", 0): (*range(1, 80), 0x53564D41, 0x59616D61),
    ("membarrier", 0): (0, *(1 << bit for bit in range(11))),
    ("epoll_ctl", 1): (1, 2, 3, 0, 4),
    ("lseek", 2): (0, 1, 2, 3, 4, 5),
    ("shutdown", 1): (0, 1, 2, 3),
    ("waitid", 0): (0, 1, 2, 3, 4),
    ("getrusage", 0): (0, 1, 2, 0xFFFF_FFFF, 0xFFFF_FFFE),
    ("getitimer", 0): (0, 1, 2, 3),
    ("setitimer", 0): (0, 1, 2, 3),
    ("rt_sigprocmask", 0): (0, 1, 2, 3),
    ("timerfd_create", 0): (0, 1, 7, 8, 9, 11),
    ("clock_gettime", 0): (*range(24), 0xFFFF_FFFA),
    ("clock_getres", 0): (*range(24), 0xFFFF_FFFA),
    ("clock_nanosleep", 0): (*range(24), 0xFFFF_FFFA),
    ("socketpair", 0): (1, 2, 10, 16, 17),
    ("getpriority", 0): (0, 1, 2),
}


def known(name: str, at: int) -> Iterator[int]:
    """Each flag or command that the kernel knows in this place, alone, and all flags together."""
    yield from COMMANDS.get((name, at), ())
    flags = FLAGS.get((name, at), ())
    yield from flags
    together = 0
    for flag in flags:
        together |= flag
    if flags:
        yield together


def drawn(random: Random, name: str, at: int) -> int | None:
    """Some of the flags that the kernel knows here, now and then with another bit; None if there are no flags."""
    flags = FLAGS.get((name, at))
    if flags is None:
        return None
    value = 0
    for flag in random.sample(flags, random.randint(0, min(3, len(flags)))):
        value |= flag
    return value | 1 << random.randrange(32) if random.random() < STRANGE_BITS else value


#: How often a bit is added that nobody may know.
STRANGE_BITS: Final = 0.2
