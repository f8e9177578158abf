"""The system calls that a confined child may make. Every call that is not listed as allowed is denied.

These are names; `compile_policy` adds the numbers of a machine. Constants are those of the kernel's headers, and the same
on x86_64 and aarch64.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolrack_runner.jail.seccomp.allowed import ALLOWED

#: `linux/seccomp.h`: the return values of a program.
ALLOW: Final = 0x7FFF0000
KILL_PROCESS: Final = 0x80000000


def fail(code: int) -> int:
    """The call is not made and fails with `code`. With 0 it reports success."""
    return 0x00050000 | code


#: The numbers of Linux. Other systems, where this is only compiled, may have others.
EPERM: Final = 1
EINVAL: Final = 22
ENOSYS: Final = 38
EOPNOTSUPP: Final = 95

DENY: Final = fail(EPERM)
#: For calls that the table does not know yet. The C library then uses an older call.
UNKNOWN: Final = fail(ENOSYS)
INVALID: Final = fail(EINVAL)
UNSUPPORTED: Final = fail(EOPNOTSUPP)
PRETEND: Final = fail(0)
#: All verdicts.
VERDICTS: Final = (ALLOW, DENY, PRETEND, INVALID, UNSUPPORTED, UNKNOWN, KILL_PROCESS)

#: Stands for the child's own process id. It is filled in when the program is applied.
OWN_PROCESS: Final = "own process"


@dataclass(frozen=True)
class Condition:
    """One half of one argument, masked, is one of these values.

    If the kernel declares an int, it ignores the upper half, and so does the condition. A pointer needs both halves.
    """

    argument: int
    values: tuple[int | str, ...]
    mask: int = 0xFFFFFFFF
    is_upper_half: bool = False


@dataclass(frozen=True)
class Case:
    """The verdict on a call for which every condition holds. Without conditions it is for all calls that are left."""

    conditions: tuple[Condition, ...]
    verdict: int


#: The first case that holds counts. If none holds, the call is denied. The first case has a condition.
Rule = tuple[Case, ...]


def when(*conditions: Condition, answer: int = ALLOW) -> Case:
    """Allows a call for which all conditions hold, or gives it another answer."""
    return Case(conditions, answer)


def has_only(argument: int, bits: int) -> Condition:
    """No other bits of an int are set."""
    return Condition(argument, (0,), mask=~bits & 0xFFFFFFFF)


def is_null(argument: int) -> tuple[Condition, Condition]:
    """Both halves of a pointer are 0."""
    return Condition(argument, (0,)), Condition(argument, (0,), is_upper_half=True)


#: If a child ends by one of the first two, main knows that it was ended from outside or by its limit of processor time. With
#: the third, a child could continue after main has stopped it.
SIGKILL: Final = 9
SIGXCPU: Final = 24
SIGCONT: Final = 18


def to_itself(signal_argument: int) -> Rule:
    """Allows a process to send itself a signal, but not one of those that only others may send."""
    return (
        when(Condition(signal_argument, (SIGKILL, SIGXCPU, SIGCONT)), answer=DENY),
        when(Condition(0, (OWN_PROCESS,))),
    )


#: What every thread of a C library is: CLONE_VM, FS, FILES, SIGHAND, THREAD and SYSVSEM. Without CLONE_FILES a thread has a
#: table of descriptors of its own, and RLIMIT_NOFILE is for each table.
CLONE_THREAD: Final = 0x00050F00
#: These, exit signal and CLONE_NEWTIME, PIDFD, PTRACE, VFORK, PARENT, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID,
#: NEWNET, IO.
CLONE_LOOKED_AT: Final = 0xFE03F0FF | CLONE_THREAD

MAP_SHARED: Final = 0x01
MAP_ANONYMOUS: Final = 0x20
MAP_GROWSDOWN: Final = 0x100
MAP_LOCKED: Final = 0x2000
MAP_POPULATE: Final = 0x8000
MAP_HUGETLB: Final = 0x40000
#: Memory that no limit counts completely: mappings that grow downwards like a stack, and huge pages. With the last two
#: flags, one call fills all of the memory, and it continues when the child is stopped.
MAP_UNCOUNTED: Final = MAP_GROWSDOWN | MAP_HUGETLB | MAP_LOCKED | MAP_POPULATE

PRIO_PROCESS: Final = 0
MSG_PEEK: Final = 0x2
MSG_DONTWAIT: Final = 0x40
MSG_WAITALL: Final = 0x100
MSG_NOSIGNAL: Final = 0x4000
MSG_MORE: Final = 0x8000
MSG_CMSG_CLOEXEC: Final = 0x40000000
#: Flags that programs use to send: do not wait, no SIGPIPE, more data follows. Tools do not need the kernel's other flags.
#: MSG_FASTOPEN connects a socket to another address, and Landlock does not cover it. MSG_OOB had a use after free
#: (CVE-2025-38236).
SENDING: Final = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE
#: Flags that programs use to receive. MSG_CMSG_CLOEXEC is for a descriptor that comes over a pair of sockets. MSG_NOSIGNAL
#: means nothing here, but some programs pass their flags for sending. Not MSG_OOB, MSG_ERRQUEUE and MSG_TRUNC.
RECEIVING: Final = MSG_PEEK | MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC
SOL_SOCKET: Final = 1
IPPROTO_TCP: Final = 6
MS_ASYNC: Final = 1
MS_INVALIDATE: Final = 2

CONDITIONAL: Final[Mapping[str, Rule]] = {
    # Threads only, and no processes.
    "clone": (when(Condition(0, (CLONE_THREAD,), mask=CLONE_LOOKED_AT)),),
    # RLIMIT_DATA does not count shared anonymous memory.
    "mmap": (
        when(Condition(3, (0,), mask=MAP_SHARED | MAP_UNCOUNTED)),
        when(Condition(3, (0,), mask=MAP_ANONYMOUS | MAP_UNCOUNTED)),
    ),
    # NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, DONTFORK, DOFORK, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP,
    # WIPEONFORK, KEEPONFORK: each changes only the caller's own memory. Not COLD, PAGEOUT and COLLAPSE: they move pages of a
    # library that others use. Not MERGEABLE: it compares memory with that of others. Not POPULATE_READ and
    # POPULATE_WRITE: one call fills all of the memory, and it continues when the child is stopped.
    # A kernel answers EINVAL to advice that it does not know.
    "madvise": (
        when(Condition(2, (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19))),
        when(answer=INVALID),
    ),
    # A waiting thread keeps each file that it waits for, even if its descriptor is closed: 62 threads kept 3,700 sockets
    # with 827 MB. So a thread may wait for one file only. The C library of Python needs no more.
    **dict.fromkeys(("poll", "ppoll"), (when(Condition(1, (0, 1))), when(answer=INVALID))),
    # The same. The files that `select` waits for are in memory, which no seccomp program can read. Without files it sleeps.
    # For tools, both calls are made with epoll, which keeps no file (zygote/denied_calls.py).
    **dict.fromkeys(("select", "pselect6"), (when(Condition(0, (0,))), when(answer=UNKNOWN))),
    # MS_SYNC makes the kernel write a file system that others use, as fsync does (see ANSWERS). The other flags only check
    # that the memory is mapped, and programs use them for that.
    "msync": (when(has_only(2, MS_ASYNC | MS_INVALIDATE)), when(answer=PRETEND)),
    # First SETLK, SETLKW, OFD_SETLK and OFD_SETLKW. Two tenants can open the same file, such as /dev/null or a library. The
    # other tenant would see a lock on it and wait for it, and no limit counts the memory that the lock takes in the kernel.
    # Only the child itself locks its own files, so it is told that it has the lock.
    # Then DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, OFD_GETLK, DUPFD_CLOEXEC and GETPIPE_SZ. GETLK is allowed because a
    # seccomp program cannot write its answer. Nobody gets a lock, so the answer is "free", as sqlite3 expects.
    # Not SETPIPE_SZ: a pipe keeps its 64 KB. Not SETOWN and SETSIG: they make the kernel send any signal to any process of
    # the same user.
    "fcntl": (
        when(Condition(1, (6, 7, 37, 38)), answer=PRETEND),
        when(Condition(1, (0, 1, 2, 3, 4, 5, 36, 1030, 1032))),
    ),
    # TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
    "ioctl": (when(Condition(1, (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451))),),
    # PR_SET_NAME and PR_GET_NAME, of a thread.
    "prctl": (when(Condition(0, (15, 16))),),
    # Numbers below zero are the clocks of single processes. They show which processes there are, and how busy each is.
    **dict.fromkeys(
        ("clock_gettime", "clock_getres", "clock_nanosleep"), (when(Condition(0, (0,), mask=1 << 31)),)
    ),
    # For this process only. For another one, the answer shows whether it is there.
    **dict.fromkeys(
        ("getpgid", "getsid", "sched_getparam", "sched_getscheduler"),
        (when(Condition(0, (0, OWN_PROCESS))),),
    ),
    # The same. To this call threads are processes, so no seccomp program can tell own threads from processes of others. The
    # C library takes ENOSYS for "not known" (pthread_getattr_np), and EPERM for a failure.
    "sched_getaffinity": (when(Condition(0, (0, OWN_PROCESS))), when(answer=UNKNOWN)),
    "getpriority": (when(Condition(0, (PRIO_PROCESS,)), Condition(1, (0, OWN_PROCESS))),),
    # QUERY, PRIVATE_EXPEDITED and REGISTER_PRIVATE_EXPEDITED: the others interrupt processes of others, or wait for them.
    "membarrier": (when(Condition(0, (0, 8, 16))),),
    # Reads limits of this process, and sets none.
    "prlimit64": (when(Condition(0, (0,)), *is_null(2)),),
    # For raise(), abort() and pthread_kill() of the C library, and os.kill of the own process.
    "kill": to_itself(1),
    "tgkill": to_itself(2),
    "rt_tgsigqueueinfo": to_itself(2),
    # A datagram pair can send to any unix socket by its path, so only streams (the type without its flags).
    "socketpair": (when(Condition(0, (socket.AF_UNIX.value,)), Condition(1, (1,), mask=0xF)),),
    # Without an address. `sendmsg` is denied, because its address and its descriptors are in memory, which no seccomp
    # program can read. RLIMIT_NOFILE does not count a descriptor that is being sent, and its buffers stay in memory too.
    "sendto": (when(has_only(3, SENDING), *is_null(4)),),
    "recvfrom": (when(has_only(3, RECEIVING)),),
    "recvmsg": (when(has_only(2, RECEIVING)),),
    # First SO_SNDBUF and SO_RCVBUF. A buffer is memory of the kernel that no limit counts, up to 4 MB for a socket. So a
    # socket keeps its size, and a request for another size is answered with success.
    # Then SO_REUSEADDR, KEEPALIVE, RCVTIMEO, SNDTIMEO; TCP_NODELAY. Not SO_ATTACH_FILTER and its kin.
    "setsockopt": (
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (7, 8)), answer=PRETEND),
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (2, 9, 20, 21))),
        when(Condition(1, (IPPROTO_TCP,)), Condition(2, (1,))),
    ),
    # SO_REUSEADDR, TYPE, ERROR, SNDBUF, RCVBUF, KEEPALIVE, LINGER, RCVTIMEO, SNDTIMEO, ACCEPTCONN, PROTOCOL, DOMAIN;
    # TCP_NODELAY, KEEPIDLE, KEEPINTVL, KEEPCNT. Main has the other end of the channel: SO_PEERPIDFD is a handle
    # on that process, and SO_PEERCRED, PEERSEC and PEERGROUPS show its identity.
    "getsockopt": (
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (2, 3, 4, 7, 8, 9, 13, 20, 21, 30, 38, 39))),
        when(Condition(1, (IPPROTO_TCP,)), Condition(2, (1, 4, 5, 6))),
    ),
}

#: Calls that are answered with something other than EPERM, so that honest programs continue.
ANSWERS: Final[Mapping[str, int]] = {
    # Its flags are in memory, which no seccomp program can read. The C library then uses clone.
    "clone3": UNKNOWN,
    # It can enlarge a page of the stack, and RLIMIT_DATA does not count memory that came from the stack. No seccomp program
    # can compare the old size with the new one. The C library then copies (zygote/denied_calls.py keeps that rare).
    "mremap": UNKNOWN,
    # It puts pages of a file into a socket, and two bytes of them keep 8 KB, also when the file is cut. Programs then copy.
    "sendfile": UNKNOWN,
    # Landlock does not cover metadata, so these would reach every file of the user, also outside. `shutil.copy` must not
    # fail, so it is told that mode and times have been set, and that there are no extended attributes.
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchmodat2"), PRETEND),
    **dict.fromkeys(("utime", "utimes", "futimesat", "utimensat"), PRETEND),
    # As for `fcntl`, with a lock of a whole file.
    "flock": PRETEND,
    # The files of a child are removed with it, so they need not reach a disk. These calls would make the kernel write out a
    # file system that others use, and wait for it.
    **dict.fromkeys(("fsync", "fdatasync", "sync_file_range"), PRETEND),
    # These are only advice. They could remove a library that others use from memory, or load one.
    **dict.fromkeys(("fadvise64", "readahead"), PRETEND),
    **dict.fromkeys(("getxattr", "lgetxattr", "fgetxattr", "getxattrat"), UNSUPPORTED),
    **dict.fromkeys(("listxattr", "llistxattr", "flistxattr", "listxattrat"), UNSUPPORTED),
}


def verdict_of(name: str) -> int | Rule:
    """The verdict on a call of this name."""
    if name in ALLOWED:
        return ALLOW
    return ANSWERS[name] if name in ANSWERS else CONDITIONAL.get(name, DENY)
