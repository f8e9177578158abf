"""Rules for threads, signals and clocks, and for what a child may ask about itself."""

from collections.abc import Mapping
from typing import Final

from toolrack_runner.child.jail.seccomp.rule import (
    DENY,
    INVALID,
    OWN_PROCESS,
    UNKNOWN,
    Condition,
    Rule,
    has_only,
    is_null,
    only,
    when,
)

#: The flags with which every C library starts a thread: CLONE_VM, FS, FILES, SIGHAND, THREAD and SYSVSEM. Without
#: CLONE_FILES a thread would have its own table of descriptors, and RLIMIT_NOFILE limits each table separately.
CLONE_THREAD: Final = 0x0005_0F00
#: Flags that C libraries add: CLONE_SETTLS, PARENT_SETTID, CHILD_CLEARTID and DETACHED.
CLONE_OPTIONS: Final = 0x0008_0000 | 0x0010_0000 | 0x0020_0000 | 0x0040_0000

#: The allowed operations: FUTEX_WAIT, WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, WAIT_BITSET and WAKE_BITSET. Tools need no
#: operations with priorities.
FUTEXES: Final = (0, 1, 3, 4, 5, 9, 10)
#: FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
FUTEX_FLAGS: Final = 128 | 256
RSEQ_UNREGISTER: Final = 1

#: The bits of WNOHANG, WUNTRACED (in `waitid`: WSTOPPED) and WCONTINUED.
WAITING: Final = 1 | 2 | 8
WEXITED: Final = 4
WNOWAIT: Final = 0x0100_0000
#: P_ALL, P_PID and P_PGID.
WAITED_FOR: Final = (0, 1, 2)

#: The signals that a child may not send to itself. If a child ends by SIGKILL or SIGXCPU, the server process concludes
#: that it was ended from outside or by its limit of processor time. With SIGCONT, a child could continue after the server
#: process has stopped it.
SIGKILL: Final = 9
SIGXCPU: Final = 24
SIGCONT: Final = 18
#: SIG_BLOCK, UNBLOCK and SETMASK.
MASKING: Final = (0, 1, 2)
#: ITIMER_REAL, VIRTUAL and PROF.
TIMERS: Final = (0, 1, 2)

#: The highest number of these clocks: CLOCK_REALTIME, MONOTONIC, PROCESS_CPUTIME_ID, THREAD_CPUTIME_ID, MONOTONIC_RAW,
#: REALTIME_COARSE, MONOTONIC_COARSE and BOOTTIME have the numbers from 0 to 7.
CLOCKS: Final = 7
CLOCK_TAI: Final = 11
TIMER_ABSTIME: Final = 1

PRIO_PROCESS: Final = 0
#: RUSAGE_SELF, RUSAGE_THREAD and RUSAGE_CHILDREN (-1).
RUSAGES: Final = (0, 1, 0xFFFF_FFFF)
#: GRND_NONBLOCK, RANDOM and INSECURE.
RANDOMS: Final = 1 | 2 | 4


def to_itself(signal_argument: int) -> Rule:
    """Allows a process to send itself any signal except SIGKILL, SIGXCPU and SIGCONT."""
    return (
        when(Condition(signal_argument, (SIGKILL, SIGXCPU, SIGCONT)), answer=DENY),
        when(Condition(0, (OWN_PROCESS,))),
    )


PROCESSES: Final[Mapping[str, Rule]] = {
    # With these flags, only a thread can be started, and no process.
    "clone": (when(Condition(0, (CLONE_THREAD,), ignored=CLONE_OPTIONS)),),
    "futex": only(Condition(1, FUTEXES, ignored=FUTEX_FLAGS), otherwise=UNKNOWN),
    "rseq": only(has_only(2, RSEQ_UNREGISTER), otherwise=INVALID),
    # Only the commands QUERY, PRIVATE_EXPEDITED and REGISTER_PRIVATE_EXPEDITED are allowed. Other commands interrupt
    # processes of other users, or wait for them.
    "membarrier": (when(Condition(0, (0, 8, 16)), has_only(1, 0)),),
    "wait4": only(has_only(2, WAITING), otherwise=INVALID),
    "waitid": only(Condition(0, WAITED_FOR), has_only(3, WAITING | WEXITED | WNOWAIT), otherwise=INVALID),
    # PR_SET_NAME and PR_GET_NAME, of a thread.
    "prctl": (when(Condition(0, (15, 16))),),
    # The C library needs them for raise(), abort() and pthread_kill(). They are also needed for os.kill of the own process.
    "kill": to_itself(1),
    "tgkill": to_itself(2),
    "rt_tgsigqueueinfo": to_itself(2),
    "rt_sigprocmask": only(Condition(0, MASKING), otherwise=INVALID),
    **dict.fromkeys(("getitimer", "setitimer"), only(Condition(0, TIMERS), otherwise=INVALID)),
    # Only the clocks of the machine and of the caller are allowed. Numbers below 0 are the clocks of single processes, which
    # show which processes exist and how busy each of them is.
    **dict.fromkeys(
        ("clock_gettime", "clock_getres"), (when(has_only(0, CLOCKS)), when(Condition(0, (CLOCK_TAI,))))
    ),
    "clock_nanosleep": (
        when(has_only(0, CLOCKS), has_only(1, TIMER_ABSTIME)),
        when(Condition(0, (CLOCK_TAI,)), has_only(1, TIMER_ABSTIME)),
    ),
    # These calls are allowed only for this process. For another process, the answer would show whether that process exists.
    **dict.fromkeys(
        ("getpgid", "getsid", "sched_getparam", "sched_getscheduler"),
        (when(Condition(0, (0, OWN_PROCESS))),),
    ),
    # Allowed only for this process, like `getpgid`. The call also takes ids of threads, but a seccomp program cannot tell
    # the child's threads from other processes. After ENOSYS the C library (pthread_getattr_np) goes on, but after EPERM it
    # fails.
    "sched_getaffinity": only(Condition(0, (0, OWN_PROCESS)), otherwise=UNKNOWN),
    "getpriority": (when(Condition(0, (PRIO_PROCESS,)), Condition(1, (0, OWN_PROCESS))),),
    # This reads limits of this process. Setting limits is not allowed.
    "prlimit64": (when(Condition(0, (0,)), *is_null(2)),),
    "getrusage": only(Condition(0, RUSAGES), otherwise=INVALID),
    "getrandom": only(has_only(2, RANDOMS), otherwise=INVALID),
}
