"""Rules for making, copying and closing descriptors, and for waiting on them."""

from collections.abc import Mapping
from typing import Final

from toolrack_runner.child.jail.seccomp.rule import (
    INVALID,
    PRETEND,
    UNKNOWN,
    Condition,
    Rule,
    has_only,
    only,
    when,
)
from toolrack_runner.child.jail.seccomp.rules.files import ACCESSES, CREATING

CLOEXEC: Final = 0x8_0000
NONBLOCK: Final = 0x800
CLOSE_RANGE_CLOEXEC: Final = 4
EFD_SEMAPHORE: Final = 1
TFD_TIMER_ABSTIME: Final = 1
#: EPOLL_CTL_ADD, DEL and MOD.
OF_EPOLL: Final = (1, 2, 3)
#: CLOCK_REALTIME, MONOTONIC and BOOTTIME.
OF_TIMERS: Final = (0, 1, 7)

F_SETFL: Final = 4
#: The allowed commands: F_DUPFD, GETFD, SETFD, GETFL, GETLK, OFD_GETLK, DUPFD_CLOEXEC and GETPIPE_SZ.
COMMANDS: Final = (0, 1, 2, 3, 5, 36, 1030, 1032)
#: F_SETLK, SETLKW, OFD_SETLK and OFD_SETLKW.
LOCKS: Final = (6, 7, 37, 38)

DESCRIPTORS: Final[Mapping[str, Rule]] = {
    # CLOSE_RANGE_UNSHARE is not allowed. It gives a thread its own table of descriptors, and RLIMIT_NOFILE limits each table
    # separately. In 60 tables, full sockets kept 839 MB of the kernel's memory.
    "close_range": (when(has_only(2, CLOSE_RANGE_CLOEXEC)),),
    "dup3": only(has_only(2, CLOEXEC), otherwise=INVALID),
    # O_DIRECT and O_NOTIFICATION_PIPE are not allowed. The former gives each written byte a page, and the latter makes a
    # queue for the kernel's own messages.
    "pipe2": only(has_only(1, CLOEXEC | NONBLOCK), otherwise=INVALID),
    "eventfd2": only(has_only(1, EFD_SEMAPHORE | CLOEXEC | NONBLOCK), otherwise=INVALID),
    "timerfd_create": only(Condition(0, OF_TIMERS), has_only(1, CLOEXEC | NONBLOCK), otherwise=INVALID),
    "timerfd_settime": only(has_only(1, TFD_TIMER_ABSTIME), otherwise=INVALID),
    "epoll_create1": only(has_only(0, CLOEXEC), otherwise=INVALID),
    "epoll_ctl": only(Condition(1, OF_EPOLL), otherwise=INVALID),
    # A thread in `poll` keeps all files open for which it waits, even if their descriptors are closed. In this way, 62
    # threads kept 3,700 sockets with 827 MB. So a thread may wait for at most one file. The C library of Python needs no
    # more.
    **dict.fromkeys(("poll", "ppoll"), only(Condition(1, (0, 1)), otherwise=INVALID)),
    # A thread in `select` keeps its files open too. They are listed in memory, so a seccomp program cannot see how many they
    # are. So `select` with files is denied. Without files, `select` only sleeps and is allowed. In Python, `select` and
    # `poll` of tools use epoll, which keeps no file open (zygote/denied_calls.py).
    **dict.fromkeys(("select", "pselect6"), only(Condition(0, (0,)), otherwise=UNKNOWN)),
    # A lock reports success, but is not set. Two tenants can open the same file, such as /dev/null or a library. One tenant
    # would see a lock of the other and wait for it, and no limit counts the kernel's memory for a lock. A child's own files
    # need no lock: no other process uses them.
    # GETLK is allowed because a seccomp program cannot write its answer. No lock exists, so the answer is "free", as sqlite3
    # expects. SETFL may set what `open` may set: programs read the flags of a file, and set them with O_NONBLOCK added.
    # SETPIPE_SZ is denied, so a pipe keeps its 64 KB. SETOWN and SETSIG are denied, because with them the kernel sends any
    # signal to any process of the same user.
    "fcntl": (
        when(Condition(1, LOCKS), answer=PRETEND),
        when(Condition(1, COMMANDS)),
        when(Condition(1, (F_SETFL,)), Condition(2, ACCESSES, ignored=CREATING)),
    ),
    # The allowed requests are TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX and FIOCLEX.
    "ioctl": (when(Condition(1, (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451))),),
}
