"""The system calls that a confined child may make. Every call that is not listed as allowed is denied.

The policy contains the names of calls; `compile_policy` adds the numbers of a machine. The constants come from the kernel's
headers and are the same on x86_64 and aarch64.
"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolrack_runner.jail.seccomp.allowed import ALLOWED

#: The return values of a program, from `linux/seccomp.h`.
ALLOW: Final = 0x7FFF0000
KILL_PROCESS: Final = 0x80000000


def fail(code: int) -> int:
    """The verdict for a call that is not made and fails with the errno `code`. With 0 the call reports success."""
    return 0x00050000 | code


#: The errno values of Linux. Other systems can only compile the policy, and their values may differ.
EPERM: Final = 1
EINVAL: Final = 22
ENOSYS: Final = 38
EOPNOTSUPP: Final = 95

DENY: Final = fail(EPERM)
#: For calls that are newer than the table. The C library then uses an older call.
UNKNOWN: Final = fail(ENOSYS)
INVALID: Final = fail(EINVAL)
UNSUPPORTED: Final = fail(EOPNOTSUPP)
PRETEND: Final = fail(0)
VERDICTS: Final = (ALLOW, DENY, PRETEND, INVALID, UNSUPPORTED, UNKNOWN, KILL_PROCESS)

#: Used in a condition in place of the child's own process id, which is filled in when the program is applied.
OWN_PROCESS: Final = "own process"


@dataclass(frozen=True)
class Condition:
    """Holds if one half (32 bits) of an argument, combined with the mask, is one of the values.

    The kernel ignores the upper half of an argument that it declares as int, so one condition is enough for an int. A
    pointer needs a condition for each half.
    """

    argument: int
    values: tuple[int | str, ...]
    mask: int = 0xFFFFFFFF
    is_upper_half: bool = False


@dataclass(frozen=True)
class Case:
    """The verdict on a call for which every condition holds. A case without conditions holds for every call."""

    conditions: tuple[Condition, ...]
    verdict: int


#: The cases of one call, in order. The first case that holds decides. If none holds, the call is denied. The first case must
#: have a condition.
Rule = tuple[Case, ...]


def when(*conditions: Condition, answer: int = ALLOW) -> Case:
    """Allows a call for which all conditions hold, or gives it another answer."""
    return Case(conditions, answer)


def has_only(argument: int, bits: int) -> Condition:
    """Holds if an int has no other bits set than `bits`."""
    return Condition(argument, (0,), mask=~bits & 0xFFFFFFFF)


def is_null(argument: int) -> tuple[Condition, Condition]:
    """Holds if both halves of a pointer are 0."""
    return Condition(argument, (0,)), Condition(argument, (0,), is_upper_half=True)


#: The signals that a child may not send to itself. If a child ends by SIGKILL or SIGXCPU, main concludes that it was ended
#: from outside or by its limit of processor time. With SIGCONT, a child could continue after main has stopped it.
SIGKILL: Final = 9
SIGXCPU: Final = 24
SIGCONT: Final = 18


def to_itself(signal_argument: int) -> Rule:
    """Allows a process to send itself any signal except SIGKILL, SIGXCPU and SIGCONT."""
    return (
        when(Condition(signal_argument, (SIGKILL, SIGXCPU, SIGCONT)), answer=DENY),
        when(Condition(0, (OWN_PROCESS,))),
    )


#: The flags with which every C library starts a thread: CLONE_VM, FS, FILES, SIGHAND, THREAD and SYSVSEM. Without
#: CLONE_FILES a thread would have its own table of descriptors, and RLIMIT_NOFILE limits each table separately.
CLONE_THREAD: Final = 0x00050F00
#: The bits of the flags that are compared with CLONE_THREAD: those of CLONE_THREAD itself, of the exit signal, and of
#: CLONE_NEWTIME, PIDFD, PTRACE, VFORK, PARENT, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and IO.
CLONE_LOOKED_AT: Final = 0xFE03F0FF | CLONE_THREAD

MAP_SHARED: Final = 0x01
MAP_ANONYMOUS: Final = 0x20
MAP_GROWSDOWN: Final = 0x100
MAP_LOCKED: Final = 0x2000
MAP_POPULATE: Final = 0x8000
MAP_HUGETLB: Final = 0x40000
#: The flags of `mmap` that are denied. No limit completely counts mappings that grow downwards like a stack, or huge pages.
#: With MAP_LOCKED or MAP_POPULATE, one call fills the whole mapping, and the call continues even while the child is stopped.
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
#: Flags that programs use to receive. MSG_CMSG_CLOEXEC is needed to receive a descriptor over a pair of sockets.
#: MSG_NOSIGNAL has no effect, but some programs use the same flags to send and to receive. MSG_OOB, MSG_ERRQUEUE and
#: MSG_TRUNC are denied.
RECEIVING: Final = MSG_PEEK | MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC
SOL_SOCKET: Final = 1
IPPROTO_TCP: Final = 6
MS_ASYNC: Final = 1
MS_INVALIDATE: Final = 2

CONDITIONAL: Final[Mapping[str, Rule]] = {
    # Threads only, and no processes.
    "clone": (when(Condition(0, (CLONE_THREAD,), mask=CLONE_LOOKED_AT)),),
    # Shared anonymous memory is denied, because RLIMIT_DATA does not count it.
    "mmap": (
        when(Condition(3, (0,), mask=MAP_SHARED | MAP_UNCOUNTED)),
        when(Condition(3, (0,), mask=MAP_ANONYMOUS | MAP_UNCOUNTED)),
    ),
    # Allowed: NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, DONTFORK, DOFORK, HUGEPAGE, NOHUGEPAGE, DONTDUMP,
    # DODUMP, WIPEONFORK and KEEPONFORK. Each changes only the caller's own memory.
    # Not allowed, and answered with EINVAL, as by a kernel that does not know the advice:
    # - COLD, PAGEOUT and COLLAPSE move pages of a library that other processes use.
    # - MERGEABLE compares memory with the memory of other processes.
    # - POPULATE_READ and POPULATE_WRITE fill all memory of their range in one call, which continues even while the child is
    #   stopped.
    "madvise": (
        when(Condition(2, (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19))),
        when(answer=INVALID),
    ),
    # A thread in `poll` keeps all files open that it waits for, even if their descriptors are closed: 62 threads kept 3,700
    # sockets with 827 MB. So a thread may wait for at most one file. The C library of Python needs no more.
    **dict.fromkeys(("poll", "ppoll"), (when(Condition(1, (0, 1))), when(answer=INVALID))),
    # A thread in `select` keeps its files open too, and a seccomp program cannot see how many files it waits for, because
    # they are listed in memory. So `select` with files is denied. A call without files only sleeps, so it is allowed.
    # In Python, `select` and `poll` of tools use epoll, which keeps no file open (zygote/denied_calls.py).
    **dict.fromkeys(("select", "pselect6"), (when(Condition(0, (0,))), when(answer=UNKNOWN))),
    # A call with MS_SYNC is not made and reports success. The kernel would write out a file system that other processes use,
    # as with fsync (see ANSWERS). The other flags are allowed: programs use them to check whether memory is mapped.
    "msync": (when(has_only(2, MS_ASYNC | MS_INVALIDATE)), when(answer=PRETEND)),
    # The first case is for SETLK, SETLKW, OFD_SETLK and OFD_SETLKW: the call reports success, but sets no lock. Two tenants
    # can open the same file, such as /dev/null or a library. One tenant would see a lock of the other and wait for it, and
    # no limit counts the kernel's memory for a lock. A child's own files need no lock: no other process uses them.
    # The second case is for DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, OFD_GETLK, DUPFD_CLOEXEC and GETPIPE_SZ. GETLK is
    # allowed because a seccomp program cannot write its answer. No lock exists, so the answer is "free", as sqlite3 expects.
    # SETPIPE_SZ is denied, so a pipe keeps its 64 KB. SETOWN and SETSIG are denied, because with them the kernel sends any
    # signal to any process of the same user.
    "fcntl": (
        when(Condition(1, (6, 7, 37, 38)), answer=PRETEND),
        when(Condition(1, (0, 1, 2, 3, 4, 5, 36, 1030, 1032))),
    ),
    # TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
    "ioctl": (when(Condition(1, (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451))),),
    # PR_SET_NAME and PR_GET_NAME, of a thread.
    "prctl": (when(Condition(0, (15, 16))),),
    # Only clocks with numbers from 0 on. Numbers below 0 are the clocks of single processes. They show which processes exist
    # and how busy each of them is.
    **dict.fromkeys(
        ("clock_gettime", "clock_getres", "clock_nanosleep"), (when(Condition(0, (0,), mask=1 << 31)),)
    ),
    # Only for this process. For another process, the answer would show whether that process exists.
    **dict.fromkeys(
        ("getpgid", "getsid", "sched_getparam", "sched_getscheduler"),
        (when(Condition(0, (0, OWN_PROCESS))),),
    ),
    # Only for this process, as with `getpgid`. This call takes the ids of threads too, and a seccomp program cannot tell the
    # child's threads from other processes. The C library (pthread_getattr_np) continues after ENOSYS, and fails after EPERM.
    "sched_getaffinity": (when(Condition(0, (0, OWN_PROCESS))), when(answer=UNKNOWN)),
    "getpriority": (when(Condition(0, (PRIO_PROCESS,)), Condition(1, (0, OWN_PROCESS))),),
    # QUERY, PRIVATE_EXPEDITED and REGISTER_PRIVATE_EXPEDITED. Other commands interrupt processes of other users, or wait for
    # them.
    "membarrier": (when(Condition(0, (0, 8, 16))),),
    # Reads limits of this process, and sets none.
    "prlimit64": (when(Condition(0, (0,)), *is_null(2)),),
    # For raise(), abort() and pthread_kill() of the C library, and os.kill of the own process.
    "kill": to_itself(1),
    "tgkill": to_itself(2),
    "rt_tgsigqueueinfo": to_itself(2),
    # Only streams, because a datagram pair can send to any unix socket by its path. The mask selects the type without its
    # flags.
    "socketpair": (when(Condition(0, (socket.AF_UNIX.value,)), Condition(1, (1,), mask=0xF)),),
    # Only without an address. `sendmsg` is denied, because its address and its descriptors are in memory, which no seccomp
    # program can read. RLIMIT_NOFILE does not count a descriptor that is being sent, and the buffers of its file remain in
    # memory.
    "sendto": (when(has_only(3, SENDING), *is_null(4)),),
    "recvfrom": (when(has_only(3, RECEIVING)),),
    "recvmsg": (when(has_only(2, RECEIVING)),),
    # The first case is for SO_SNDBUF and SO_RCVBUF: the call reports success, but the socket keeps its buffer size. A buffer
    # is memory of the kernel that no limit counts, up to 4 MB for a socket.
    # The other cases allow SO_REUSEADDR, KEEPALIVE, RCVTIMEO and SNDTIMEO, and TCP_NODELAY. SO_ATTACH_FILTER and similar
    # options are denied.
    "setsockopt": (
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (7, 8)), answer=PRETEND),
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (2, 9, 20, 21))),
        when(Condition(1, (IPPROTO_TCP,)), Condition(2, (1,))),
    ),
    # SO_REUSEADDR, TYPE, ERROR, SNDBUF, RCVBUF, KEEPALIVE, LINGER, RCVTIMEO, SNDTIMEO, ACCEPTCONN, PROTOCOL, DOMAIN;
    # TCP_NODELAY, KEEPIDLE, KEEPINTVL, KEEPCNT. Main has the other end of the child's channel, so SO_PEERPIDFD would give a
    # handle on main, and SO_PEERCRED, PEERSEC and PEERGROUPS would show its identity.
    "getsockopt": (
        when(Condition(1, (SOL_SOCKET,)), Condition(2, (2, 3, 4, 7, 8, 9, 13, 20, 21, 30, 38, 39))),
        when(Condition(1, (IPPROTO_TCP,)), Condition(2, (1, 4, 5, 6))),
    ),
}

#: Calls that are not made, but get another answer than EPERM, so that honest programs continue.
ANSWERS: Final[Mapping[str, int]] = {
    # The flags of clone3 are in memory, which no seccomp program can read. After ENOSYS the C library uses clone.
    "clone3": UNKNOWN,
    # mremap can enlarge a page of the stack, and RLIMIT_DATA does not count memory that came from the stack. No seccomp
    # program can compare the old size with the new one. After ENOSYS the C library copies the memory instead, which
    # zygote/denied_calls.py keeps rare.
    "mremap": UNKNOWN,
    # sendfile puts pages of a file into a socket. Two bytes in the socket keep 8 KB of memory, even after the file is
    # truncated. After ENOSYS programs copy the data.
    "sendfile": UNKNOWN,
    # Landlock does not cover metadata, so these calls would change any file of the user, also outside of the workplace.
    # They are not made, but `shutil.copy` must not fail. So these calls report success, and the calls for extended
    # attributes (below) report that the file system has none.
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchmodat2"), PRETEND),
    **dict.fromkeys(("utime", "utimes", "futimesat", "utimensat"), PRETEND),
    # flock locks a whole file. The answer is the same as for the locks of `fcntl`.
    "flock": PRETEND,
    # The files of a child are removed with the child, so they need not reach a disk. With these calls, the kernel would
    # write out a file system that other processes use, and wait for it.
    **dict.fromkeys(("fsync", "fdatasync", "sync_file_range"), PRETEND),
    # These calls only advise the kernel. They could load a file, or remove from memory a library that other processes use.
    **dict.fromkeys(("fadvise64", "readahead"), PRETEND),
    **dict.fromkeys(("getxattr", "lgetxattr", "fgetxattr", "getxattrat"), UNSUPPORTED),
    **dict.fromkeys(("listxattr", "llistxattr", "flistxattr", "listxattrat"), UNSUPPORTED),
}


def verdict_of(name: str) -> int | Rule:
    """The verdict on a call of this name."""
    if name in ALLOWED:
        return ALLOW
    return ANSWERS[name] if name in ANSWERS else CONDITIONAL.get(name, DENY)
