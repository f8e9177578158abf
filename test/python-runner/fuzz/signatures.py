"""What the arguments of system calls mean, and which values each kind of argument is given.

Which calls there are is not said here: `call_plan.py` takes them from the jail's policy. One that has no line here is given
values of every kind at every place.
"""

from typing import Final

from fuzz.inside.system_calls import KINDS

Argument = int | str

NONE: Final = 0xFFFF_FFFF_FFFF_FFFF
EVERY_BIT: Final = tuple(1 << bit for bit in range(32))
DESCRIPTORS: Final = (*KINDS, "fd:none", "fd:huge")
ADDRESSES: Final = ("mem:good", "mem:many", "mem:null", "mem:bad", "mem:kernel", "mem:page_end", "mem:all")
PATHS: Final = tuple(
    f"path:{name}"
    for name in (
        *("file", "folder", "new", "here", "up", "empty", "root", "long"),
        *("canary", "canary_folder", "runner", "library", "null", "outside"),
    )
)
#: Of `pid:sibling` and `pid:outside` there are processes, of `pid:absent` and `pid:absent_too` none.
PIDS: Final = (
    *("pid:own", "pid:zero", "pid:all", "pid:group", "pid:parent"),
    *("pid:sibling", "pid:outside", "pid:absent", "pid:absent_too"),
)
LOCKS: Final = tuple(
    f"mem:lock_{each}" for each in ("read", "write", "unlock", "byte_read", "byte_write", "byte_unlock")
)
TARGETS: Final = ("tcp", "udp", "abstract", "file")

#: The first value of each is the one that a call is likely to take.
VALUES: Final[dict[str, tuple[Argument, ...]]] = {
    "fd": DESCRIPTORS,
    "dir": ("at:here", "fd:folder", "fd:library_folder", "fd:file", "fd:path", "fd:none"),
    "path": (*PATHS, "mem:bad", "mem:null"),
    "mem": ADDRESSES,
    "addr": ("mem:null", *(f"mem:addr_{name}" for name in TARGETS), "mem:good"),
    "msg": ("mem:msg", "mem:msg_room", "mem:msg_rights", *(f"mem:msg_{name}" for name in TARGETS), "mem:bad"),
    "iov": ("mem:iovec", "mem:bad", "mem:all"),
    "time": ("mem:time", "mem:null", "mem:all", "mem:bad"),
    "timer": ("mem:timer", "mem:null", "mem:all", "mem:bad"),
    "event": ("mem:event", "mem:all", "mem:null"),
    "number": ("mem:number", "mem:large", "mem:time", "mem:good", "mem:null", "mem:bad"),
    "length": ("mem:length", "mem:null", "mem:all"),
    "offset": ("mem:null", "mem:offset", "mem:all", "mem:bad"),
    "size": (8, 0, 1, 4, 16, 64, 128, 4096, 1 << 20, (1 << 31) - 1, NONE),
    "flag": (0, *EVERY_BIT, 0xFFFF_FFFF),
    "int": (0, 1, 2, 3, 7, 64, 4096, 1 << 31, 1 << 62, NONE),
    "pid": PIDS,
    "sig": (0, 1, 2, 9, 10, 15, 19, 23, 34, 64, 65),
    "fcntl": (*range(17), 36, 37, 38, *range(1024, 1043)),
    "ioctl": (
        *(0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x5412, 0x8901, 0x8902),
        *(0x8903, 0x8904, 0x8905, 0x8906, 0x8907, 0x89E0, 0x8912, 0x5452, 0x40049409, 0xC0185879),
    ),
    "level": (1, 6, 0, 17, 41, 263),
    "option": tuple(range(96)),
    "which": (0, 1, 2, 3),
    "flock": (*range(16), 32, 64, 128),
    # Numbers whose values are in known_flags.py.
    "command": (0, 1, 2),
    "mode": (0o600,),
    # What `fcntl` is given besides locks: flags of a file, and the size of a pipe.
    "fcntl_value": (*LOCKS, "mem:bad", 0, 1, 2, 0x2, 0x400, 0x802, 0x2002, 0x4002, 0x10002, 0x40002, 1 << 20),
}

_TABLE: Final = """
    brk mem; munmap mem size; mprotect mem size flag; msync mem size flag; madvise mem size command
    mmap mem size flag flag fd offset
    open path flag mode; openat dir path flag mode; creat path mode; close fd; close_range fd fd flag
    read fd mem size; write fd mem size; readv fd iov which; writev fd iov which
    pread64 fd mem size int; pwrite64 fd mem size int; preadv fd iov which int; pwritev fd iov which int
    preadv2 fd iov which int int flag; pwritev2 fd iov which int int flag
    lseek fd int command; dup fd; dup2 fd fd; dup3 fd fd flag; pipe mem; pipe2 mem flag
    flock fd flock; fsync fd; fdatasync fd; sync_file_range fd int size flag; ftruncate fd int
    fallocate fd flag int size; fadvise64 fd int size int; readahead fd int size
    sendfile fd fd offset size; copy_file_range fd offset fd offset size flag
    stat path mem; fstat fd mem; lstat path mem; newfstatat dir path mem flag; statx dir path flag flag mem
    access path int; faccessat dir path int; faccessat2 dir path int flag
    readlink path mem size; readlinkat dir path mem size; getdents fd mem size; getdents64 fd mem size
    statfs path mem; fstatfs fd mem; getcwd mem size; chdir path; fchdir fd
    mkdir path int; mkdirat dir path int; rmdir path; unlink path; unlinkat dir path flag
    rename path path; renameat dir path dir path; renameat2 dir path dir path flag; umask int
    poll mem size int; ppoll mem size time mem size; select size mem mem mem time; pselect6 size mem mem mem time mem
    epoll_create int; epoll_create1 flag; epoll_ctl fd command fd event; epoll_wait fd mem size int
    epoll_pwait fd mem size int mem size; epoll_pwait2 fd mem size time mem size
    eventfd int; eventfd2 int flag; timerfd_create command flag; timerfd_settime fd flag timer mem; timerfd_gettime fd mem
    pause; wait4 pid mem flag mem; waitid command pid mem flag mem
    time mem; gettimeofday mem mem; nanosleep time mem; alarm int; getitimer command mem; setitimer command timer mem
    clock_gettime command mem; clock_getres command mem; clock_nanosleep command flag time mem
    futex mem command int time mem int; set_robust_list mem size; set_tid_address mem; rseq mem size flag int
    membarrier command flag int; gettid; exit int; exit_group int; restart_syscall; sched_yield
    sched_getaffinity pid size mem; sched_getparam pid mem; sched_getscheduler pid
    sched_get_priority_max int; sched_get_priority_min int; getcpu mem mem mem
    sched_setaffinity pid size mem; sched_setparam pid mem; sched_setscheduler pid int mem
    sched_getattr pid mem size flag; sched_setattr pid mem flag; sched_rr_get_interval pid mem
    rt_sigaction sig mem mem size; rt_sigprocmask command mem mem size; rt_sigreturn; rt_sigpending mem size
    rt_sigtimedwait mem mem time size; rt_sigsuspend mem size; sigaltstack mem mem
    getsockname fd mem length; getpeername fd mem length; getsockopt fd level option mem length; shutdown fd command
    setsockopt fd level option number size; socketpair command flag int mem
    sendto fd mem size flag addr size; sendmsg fd msg flag; recvfrom fd mem size flag mem length; recvmsg fd msg flag
    getpid; getppid; getuid; geteuid; getgid; getegid; getresuid mem mem mem; getresgid mem mem mem
    getgroups int mem; getpgrp; getrusage command mem; getrlimit int mem; times mem; uname mem; sysinfo mem
    getrandom mem size flag; fcntl fd fcntl fcntl_value; ioctl fd ioctl number; prctl command int int int int
    clone flag mem mem mem mem; getpgid pid; getsid pid; getpriority command pid; prlimit64 pid int mem mem
    setpriority which pid int; kill pid sig; tgkill pid pid sig; tkill pid sig; rt_tgsigqueueinfo pid pid sig mem
    rt_sigqueueinfo pid sig mem; pidfd_open pid flag; get_robust_list pid mem mem; capget mem mem; ioprio_get which pid
    process_vm_readv pid iov size iov size flag; kcmp pid pid int int int; migrate_pages pid size mem mem
    move_pages pid size mem mem mem flag; setpgid pid pid; ptrace int pid mem mem; perf_event_open mem pid int fd flag
"""

SIGNATURES: Final[dict[str, tuple[str, ...]]] = {
    words[0]: tuple(words[1:])
    for line in _TABLE.strip().splitlines()
    for words in (call.split() for call in line.split(";"))
    if words
}

#: What a call whose arguments nobody has described is given at each place.
OF_ANY_KIND: Final[tuple[Argument, ...]] = tuple(
    dict.fromkeys((*VALUES["int"], *DESCRIPTORS, *VALUES["flag"], *ADDRESSES, *PATHS, *PIDS, "mem:time"))
)
ARGUMENTS_MAX: Final = 6
