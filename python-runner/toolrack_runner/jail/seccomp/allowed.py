"""The system calls that are allowed with any arguments, by subject.

The names are those of x86_64 and aarch64. A name that a machine does not have is ignored on it.

Every call is denied that is neither here nor in `policy.CONDITIONAL` or `policy.ANSWERS`. That includes all calls that start
a program or a process, open a socket, reach another process, mount, change an identity, a limit or a namespace, make links,
or keep memory outside the limits.
"""

from typing import Final

MEMORY = "brk munmap mprotect"

# Landlock decides which files these calls may use. `truncate` by path is not here: Landlock restricts it only from ABI 3 on.
FILES = """
    open openat creat close close_range read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2
    lseek dup dup2 dup3 pipe pipe2 ftruncate fallocate copy_file_range
    stat fstat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat
    getdents getdents64 statfs fstatfs getcwd chdir fchdir mkdir mkdirat rmdir unlink unlinkat
    rename renameat renameat2 umask
"""

WAITING = """
    epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
    eventfd eventfd2 timerfd_create timerfd_settime timerfd_gettime pause wait4 waitid
"""

# timer_create is not here: with it, a process can send itself any signal, also SIGKILL and SIGCONT.
TIME = """
    time gettimeofday nanosleep alarm getitimer setitimer
"""

THREADS = """
    futex set_robust_list set_tid_address rseq gettid exit exit_group restart_syscall
    sched_yield sched_get_priority_max sched_get_priority_min getcpu
"""

SIGNALS = """
    rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack
"""

# For sockets that the child received, and for pairs that it made.
SOCKETS = "getsockname getpeername shutdown"

ONESELF = """
    getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
    getrusage getrlimit times uname sysinfo getrandom
"""

ALLOWED: Final = frozenset(
    f"{MEMORY} {FILES} {WAITING} {TIME} {THREADS} {SIGNALS} {SOCKETS} {ONESELF}".split()
)
