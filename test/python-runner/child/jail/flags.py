"""The flags and commands that a confined child may use, written down apart from the policy: who changes one changes both."""

from dataclasses import dataclass

EPERM, EINVAL, ENOSYS, EOPNOTSUPP, PRETEND = 0x00050001, 0x00050016, 0x00050026, 0x0005005F, 0x00050000
UPPER = 0xDEADBEEF << 32


@dataclass(frozen=True)
class Flags:
    """The bits that one argument may have, behind usual arguments; what any other bit is answered."""

    call: str
    before: tuple[int, ...]
    allowed: tuple[int, ...]
    refused: int = EINVAL
    #: A value that the argument has beside its flags.
    base: int = 0
    #: Whether the kernel declares the argument as long, so that its upper half counts too.
    is_long: bool = False

    def arguments(self, value: int) -> tuple[int, ...]:
        return (*self.before, self.base | value)


@dataclass(frozen=True)
class Commands:
    """The values that one argument may have."""

    call: str
    before: tuple[int, ...]
    allowed: tuple[int, ...]
    others: tuple[int, ...]
    refused: int = EINVAL
    #: What follows, if a rule looks at it too.
    after: tuple[int, ...] = ()

    def arguments(self, value: int) -> tuple[int, ...]:
        return (*self.before, value, *self.after)


FLAGS = (
    Flags("close_range", (3, 3), (4,), EPERM),
    # CLONE_SETTLS, PARENT_SETTID, CHILD_CLEARTID, DETACHED.
    Flags("clone", (), (0x80000, 0x100000, 0x200000, 0x400000), EPERM, base=0x50F00),
    # MAP_FIXED, DENYWRITE, EXECUTABLE, NORESERVE, NONBLOCK, STACK, FIXED_NOREPLACE, and MAP_ANONYMOUS.
    Flags(
        "mmap",
        (0, 4096, 3),
        (0x10, 0x800, 0x1000, 0x4000, 0x10000, 0x20000, 0x100000, 0x20),
        EPERM,
        base=2,
        is_long=True,
    ),
    Flags(
        "mmap", (0, 4096, 1), (0x10, 0x800, 0x1000, 0x4000, 0x10000, 0x100000), EPERM, base=1, is_long=True
    ),
    Flags("dup3", (3, 4), (0x80000,)),
    Flags("pipe2", (0,), (0x80000, 0x800)),
    Flags("eventfd2", (0,), (1, 0x80000, 0x800)),
    Flags("timerfd_create", (1,), (0x80000, 0x800)),
    Flags("timerfd_settime", (3,), (1,)),
    Flags("epoll_create1", (), (0x80000,)),
    Flags("socketpair", (1,), (0x80000, 0x800), EPERM, base=1),
    Flags("socketpair", (1, 1), (), EPERM),
    Flags("newfstatat", (3, 0, 0), (0x100, 0x800, 0x1000)),
    Flags("statx", (3, 0), (0x100, 0x800, 0x1000)),
    Flags("statx", (3, 0, 0), tuple(1 << bit for bit in range(12))),
    Flags("faccessat2", (3, 0, 0), (0x100, 0x200)),
    Flags("unlinkat", (3, 0), (0x200,)),
    Flags("renameat2", (3, 0, 3, 0), (1,)),
    Flags("fallocate", (3,), (), EOPNOTSUPP),
    Flags("copy_file_range", (3, 0, 4, 0, 1), ()),
    Flags("preadv2", (3, 0, 1, 0, 0), (8, 16), EOPNOTSUPP),
    Flags("pwritev2", (3, 0, 1, 0, 0), (8, 16), EOPNOTSUPP),
    Flags("rseq", (0, 32), (1,)),
    Flags("membarrier", (8,), (), EPERM),
    Flags("wait4", (0, 0), (1, 2, 8)),
    Flags("waitid", (1, 0, 0), (1, 2, 4, 8, 0x1000000)),
    Flags("clock_nanosleep", (1,), (1,), EPERM),
    Flags("getrandom", (0, 8), (1, 2, 4)),
    Flags("msync", (0, 4096), (1, 2), PRETEND),
)

COMMANDS = (
    # With FUTEX_PRIVATE_FLAG (128) and FUTEX_CLOCK_REALTIME (256). Refused are FUTEX_FD, the six commands with priorities,
    # and whatever is no command.
    Commands(
        "futex",
        (0,),
        (0, 1, 3, 4, 5, 9, 10, 128, 129, 137, 393),
        (2, 6, 7, 8, 11, 12, 13, 14, 134, 262, *(1 << bit for bit in (4, 5, 6, *range(9, 32)))),
        ENOSYS,
    ),
    Commands("lseek", (3, 0), (0, 1, 2, 3, 4), (5, 8, 1 << 31)),
    Commands("shutdown", (3,), (0, 1, 2), (3, 4, 1 << 31)),
    Commands("epoll_ctl", (3,), (1, 2, 3), (0, 4, 1 << 31)),
    Commands("timerfd_create", (), (0, 1, 7), (2, 3, 8, 9, 11, 1 << 31)),
    # P_PIDFD and above.
    Commands("waitid", (), (0, 1, 2), (3, 4), after=(0, 0, 4)),
    Commands("getrusage", (), (0, 1, 2**64 - 1, 2**32 - 1), (2, 2**32 - 2)),
    Commands("getitimer", (), (0, 1, 2), (3, 1 << 31)),
    Commands("setitimer", (), (0, 1, 2), (3, 1 << 31)),
    Commands("rt_sigprocmask", (), (0, 1, 2), (3, 1 << 31)),
    *(
        Commands(call, (), (*range(8), 11), (8, 9, 10, 12, 16, 1 << 31), EPERM)
        for call in ("clock_gettime", "clock_getres", "clock_nanosleep")
    ),
    # F_SETFL with O_NONBLOCK and O_APPEND is allowed; with O_ASYNC and O_NOATIME it is not.
    Commands("fcntl", (3, 4), (0, 2, 0x800, 0x400, 0xC02), (0x2000, 0x40000, 0x200000), EPERM),
)
