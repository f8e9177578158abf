"""Which system calls a confined child may make: a list of what is allowed, everything else is denied.

Pure data about names; the numbers of a machine come in with `program`. Constants are those of the kernel's headers,
the same on x86_64 and aarch64.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolrack_runner.jail.seccomp.allowed import ALLOWED

#: `linux/seccomp.h`: what a program returns, best first.
ALLOW: Final = 0x7FFF0000
KILL_PROCESS: Final = 0x80000000


def fail(code: int) -> int:
    """The call is not made and gives `code`; with 0 it says that it has been done."""
    return 0x00050000 | code


#: As Linux numbers them; another system, where this is only compiled, may not.
EPERM: Final = 1
ENOSYS: Final = 38
EOPNOTSUPP: Final = 95

DENY: Final = fail(EPERM)
#: For calls that the table does not know yet: the C library then takes its older way.
UNKNOWN: Final = fail(ENOSYS)
UNSUPPORTED: Final = fail(EOPNOTSUPP)
PRETEND: Final = fail(0)

#: Stands for the child's own process id, which is filled in when the program is applied.
OWN_PROCESS: Final = "own process"


@dataclass(frozen=True)
class Condition:
    """One half of one argument, masked, is one of these values.

    The kernel ignores the upper half where it declares an int, and so does the condition; a pointer needs both halves.
    """

    argument: int
    values: tuple[int | str, ...]
    mask: int = 0xFFFFFFFF
    is_upper_half: bool = False


#: Alternatives, in each of which every condition must hold; otherwise the call is denied.
Rule = tuple[tuple[Condition, ...], ...]


def has_only(argument: int, bits: int) -> Condition:
    """No bit of an int is set but these."""
    return Condition(argument, (0,), mask=~bits & 0xFFFFFFFF)


def is_null(argument: int) -> tuple[Condition, Condition]:
    """Both halves of a pointer are 0."""
    return Condition(argument, (0,)), Condition(argument, (0,), is_upper_half=True)


SIGKILL: Final = 9
#: Signals are numbered from 1 to 64.
SIGNAL_BITS: Final = 7


def is_not(argument: int, signal: int) -> tuple[Condition, ...]:
    """Alternatives of which one holds for each signal but this: a bit of its number that differs."""
    return tuple(Condition(argument, (~signal & 1 << bit,), mask=1 << bit) for bit in range(SIGNAL_BITS))


CLONE_THREAD: Final = 0x00010000
#: Exit signal and CLONE_NEWTIME, PIDFD, PTRACE, VFORK, PARENT, THREAD, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER,
#: NEWPID, NEWNET, IO.
CLONE_LOOKED_AT: Final = 0xFE03F0FF

MAP_SHARED: Final = 0x01
MAP_ANONYMOUS: Final = 0x20
MAP_GROWSDOWN: Final = 0x100
MAP_HUGETLB: Final = 0x40000
#: Memory that no limit counts whole: what grows downwards like a stack, and what is not resident memory to the kernel.
MAP_UNCOUNTED: Final = MAP_GROWSDOWN | MAP_HUGETLB

PRIO_PROCESS: Final = 0
MSG_PEEK: Final = 0x2
MSG_DONTWAIT: Final = 0x40
MSG_WAITALL: Final = 0x100
MSG_NOSIGNAL: Final = 0x4000
MSG_MORE: Final = 0x8000
MSG_CMSG_CLOEXEC: Final = 0x40000000
#: What programs send with: without waiting, without SIGPIPE, and with more to come. The kernel's other flags are for
#: what a tool does not do. MSG_FASTOPEN connects a socket to another address, and Landlock does not look at it.
#: MSG_OOB had a use after free (CVE-2025-38236).
SENDING: Final = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE
#: What programs receive with. MSG_CMSG_CLOEXEC is for a descriptor that comes over a pair of sockets. Some programs
#: give the flags of sending, so MSG_NOSIGNAL is here too; it means nothing. Not MSG_OOB, MSG_ERRQUEUE and MSG_TRUNC.
RECEIVING: Final = MSG_PEEK | MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC
SOL_SOCKET: Final = 1
IPPROTO_TCP: Final = 6

CONDITIONAL: Final[Mapping[str, Rule]] = {
    # Threads, and nothing else that clone can make.
    "clone": ((Condition(0, (CLONE_THREAD,), mask=CLONE_LOOKED_AT),),),
    # RLIMIT_DATA does not count shared anonymous memory.
    "mmap": (
        (Condition(3, (0,), mask=MAP_SHARED | MAP_UNCOUNTED),),
        (Condition(3, (0,), mask=MAP_ANONYMOUS | MAP_UNCOUNTED),),
    ),
    # DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, SETLK, SETLKW, OFD_GETLK, OFD_SETLK, OFD_SETLKW, DUPFD_CLOEXEC,
    # GETPIPE_SZ. Not SETOWN and SETSIG: they have the kernel send any signal to any process of the same user.
    "fcntl": ((Condition(1, (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032)),),),
    # TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
    "ioctl": ((Condition(1, (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),),),
    # PR_SET_NAME and PR_GET_NAME, of a thread.
    "prctl": ((Condition(0, (15, 16)),),),
    # Below zero are the clocks of single processes: they tell which there are, and how busy each is.
    **dict.fromkeys(
        ("clock_gettime", "clock_getres", "clock_nanosleep"), ((Condition(0, (0,), mask=1 << 31),),)
    ),
    # Of this process: of another, the answer tells whether it is there.
    **dict.fromkeys(("getpgid", "getsid"), ((Condition(0, (0, OWN_PROCESS)),),)),
    "getpriority": ((Condition(0, (PRIO_PROCESS,)), Condition(1, (0, OWN_PROCESS))),),
    # Asks for limits of this process, sets none.
    "prlimit64": ((Condition(0, (0,)), *is_null(2)),),
    # raise(), abort() and pthread_kill() of the C library, os.kill of oneself. Not SIGKILL: a child that ends by it was
    # ended from outside, and who reads its end can rely on that.
    "kill": tuple((Condition(0, (OWN_PROCESS,)), other) for other in is_not(1, SIGKILL)),
    "tgkill": tuple((Condition(0, (OWN_PROCESS,)), other) for other in is_not(2, SIGKILL)),
    "rt_tgsigqueueinfo": tuple((Condition(0, (OWN_PROCESS,)), other) for other in is_not(2, SIGKILL)),
    # A datagram pair can send to any unix socket by its path, so only streams (the type without its flags).
    "socketpair": ((Condition(0, (socket.AF_UNIX.value,)), Condition(1, (1,), mask=0xF)),),
    # Without an address. That of sendmsg lies in memory, where no program can look: a stream socket that is connected
    # ignores it or fails, as long as MSG_FASTOPEN is denied.
    "sendto": ((has_only(3, SENDING), *is_null(4)),),
    "sendmsg": ((has_only(2, SENDING),),),
    "recvfrom": ((has_only(3, RECEIVING),),),
    "recvmsg": ((has_only(2, RECEIVING),),),
    # SO_REUSEADDR, SNDBUF, RCVBUF, KEEPALIVE, RCVTIMEO, SNDTIMEO; TCP_NODELAY. Not SO_ATTACH_FILTER and its kin.
    "setsockopt": (
        (Condition(1, (SOL_SOCKET,)), Condition(2, (2, 7, 8, 9, 20, 21))),
        (Condition(1, (IPPROTO_TCP,)), Condition(2, (1,))),
    ),
}

#: What is answered otherwise than by EPERM, so that honest programs go on.
ANSWERS: Final[Mapping[str, int]] = {
    # Its flags lie in memory, where no program can look; the C library then uses clone.
    "clone3": UNKNOWN,
    # It makes a page of the stack as large as it is told, and RLIMIT_DATA does not count what came from the stack. No
    # program can compare the old size with the new one. The C library then copies (zygote/allocator.py keeps that rare).
    "mremap": UNKNOWN,
    # Landlock does not look at metadata, so these would reach every file of the user's, also outside. `shutil.copy`
    # must not fail, though: it is told that mode and times have been set, and that there are no extended attributes.
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchmodat2"), PRETEND),
    **dict.fromkeys(("utime", "utimes", "futimesat", "utimensat"), PRETEND),
    **dict.fromkeys(("getxattr", "lgetxattr", "fgetxattr", "getxattrat"), UNSUPPORTED),
    **dict.fromkeys(("listxattr", "llistxattr", "flistxattr", "listxattrat"), UNSUPPORTED),
}


def verdict_of(name: str) -> int | Rule:
    """What becomes of a call of this name."""
    if name in ALLOWED:
        return ALLOW
    return ANSWERS[name] if name in ANSWERS else CONDITIONAL.get(name, DENY)
