"""The system calls that are allowed with any arguments, by subject. None of their arguments is a flag or a command.

The names are those of x86_64 and aarch64. If a machine does not have a call, its name is ignored there.

A call is denied if it is neither here nor in `policy.CONDITIONAL` or `policy.ANSWERS`. So a child cannot start a program or
a process, open a socket, reach another process, or mount. It cannot change an identity, a limit or a namespace, make links,
or keep memory outside the limits.
"""

from typing import Final

MEMORY = "brk munmap"

# Landlock decides which files these calls may use. `truncate` by path is not here: Landlock restricts it only from ABI 3 on.
FILES = """
    read write readv writev pread64 pwrite64 preadv pwritev ftruncate
    stat fstat lstat access faccessat readlink readlinkat getdents getdents64 statfs fstatfs
    getcwd chdir fchdir mkdir mkdirat rmdir unlink rename renameat umask
"""

DESCRIPTORS = "close dup dup2 pipe eventfd"

WAITING = """
    epoll_create epoll_wait epoll_pwait epoll_pwait2 timerfd_gettime pause
"""

# timer_create is not here: with it, a process can send itself any signal, also SIGKILL and SIGCONT.
TIME = "time gettimeofday nanosleep alarm"

THREADS = """
    set_robust_list set_tid_address gettid exit exit_group restart_syscall
    sched_yield sched_get_priority_max sched_get_priority_min getcpu
"""

SIGNALS = """
    rt_sigaction rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack
"""

# For sockets that the child received, and for pairs that it made.
SOCKETS = "getsockname getpeername"

ONESELF = """
    getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
    getrlimit times uname sysinfo
"""

ALLOWED: Final = frozenset(
    f"{MEMORY} {FILES} {DESCRIPTORS} {WAITING} {TIME} {THREADS} {SIGNALS} {SOCKETS} {ONESELF}".split()
)
