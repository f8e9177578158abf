"""The compiled policy of both machines, evaluated for every call there is: what aarch64 gets is proven without one."""

import itertools
from pathlib import Path

import pytest

from child.jail.bpf_interpreter import fill, interpret
from child.jail.flags import COMMANDS, FLAGS
from child.jail.listing import program_hex, program_listing, verdicts_listing
from toolrack_runner.child.jail.seccomp.allowed import ALLOWED
from toolrack_runner.child.jail.seccomp.compile_policy import ARCHITECTURES, compile_policy
from toolrack_runner.child.jail.seccomp.policy import ANSWERS, CONDITIONAL
from toolrack_runner.child.jail.seccomp.syscalls import TABLES

GOLDEN = Path(__file__).parent / "golden"
MACHINES = list(TABLES)
ALLOW, EPERM, EINVAL, ENOSYS, EOPNOTSUPP, PRETEND, KILL = (
    0x7FFF0000,
    0x00050001,
    0x00050016,
    0x00050026,
    0x0005005F,
    0x00050000,
    0x80000000,
)
OWN = 4321

PROGRAMS = {
    machine: fill(assembled.code, assembled.holes["own process"], OWN)
    for machine in MACHINES
    for assembled in [compile_policy(machine)]
}

#: What security asks for, by name and not by the policy's own lists. With any arguments.
NEVER_ALLOWED = """
    fork vfork execve execveat socket connect bind listen accept accept4 sendmsg sendmmsg recvmmsg
    ptrace process_vm_readv process_vm_writev process_madvise kcmp memfd_create memfd_secret
    shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semtimedop semctl
    mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr
    unshare setns mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick
    mount_setattr statmount listmount io_uring_setup io_uring_enter io_uring_register io_setup io_submit
    bpf perf_event_open keyctl add_key request_key userfaultfd open_by_handle_at name_to_handle_at
    symlink symlinkat link linkat mknod mknodat setsid setpgid
    setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset
    setrlimit personality tkill rt_sigqueueinfo pidfd_open pidfd_send_signal pidfd_getfd
    sched_setattr sched_setscheduler sched_setparam sched_setaffinity setpriority ioprio_set
    chown fchown lchown fchownat setxattr fsetxattr lsetxattr setxattrat removexattr truncate openat2
    init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff syslog acct quotactl
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname vhangup sync syncfs
    fanotify_init inotify_init inotify_init1 inotify_add_watch seccomp landlock_create_ruleset landlock_restrict_self
    modify_ldt arch_prctl iopl ioperm vmsplice splice tee remap_file_pages mbind migrate_pages move_pages
    lsm_set_self_attr map_shadow_stack mlock mlock2 mlockall file_setattr uselib
"""

NEVER = NEVER_ALLOWED.split()

#: Calls that only x86_64 has, and what the C library uses in their place on aarch64.
OLD_AND_NEW = [
    ("open", "openat"), ("creat", "openat"), ("stat", "newfstatat"), ("lstat", "newfstatat"), ("access", "faccessat"),
    ("pipe", "pipe2"), ("dup2", "dup3"), ("poll", "ppoll"), ("select", "pselect6"), ("pause", "ppoll"),
    ("epoll_create", "epoll_create1"), ("epoll_wait", "epoll_pwait"), ("eventfd", "eventfd2"), ("time", "clock_gettime"),
    ("rename", "renameat"), ("mkdir", "mkdirat"), ("rmdir", "unlinkat"), ("unlink", "unlinkat"),
    ("readlink", "readlinkat"), ("getdents", "getdents64"), ("alarm", "setitimer"), ("getpgrp", "getpgid"),
    ("chmod", "fchmodat"), ("utime", "utimensat"), ("utimes", "utimensat"), ("futimesat", "utimensat"),
    ("link", "linkat"), ("symlink", "symlinkat"), ("mknod", "mknodat"), ("chown", "fchownat"), ("lchown", "fchownat"),
    ("inotify_init", "inotify_init1"), ("signalfd", "signalfd4"),
]  # fmt: skip
#: What has no newer form, as fork and vfork have none but clone, or is of the machine itself.
ONLY_X86_64 = """
    fork vfork arch_prctl modify_ldt iopl ioperm uselib ustat sysfs sysctl create_module get_kernel_syms query_module
    getpmsg putpmsg afs_syscall tuxcall security set_thread_area get_thread_area epoll_ctl_old epoll_wait_old vserver
    uprobe uretprobe _sysctl
"""

#: What is not done and yet not answered by EPERM.
ANSWERED = {
    "clone3": ENOSYS,
    "mremap": ENOSYS,
    "sendfile": ENOSYS,
    **dict.fromkeys(
        ["chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat"], PRETEND
    ),
    **dict.fromkeys(["flock", "fsync", "fdatasync", "sync_file_range", "fadvise64", "readahead"], PRETEND),
    **dict.fromkeys(["getxattr", "lgetxattr", "fgetxattr", "getxattrat"], EOPNOTSUPP),
    **dict.fromkeys(["listxattr", "llistxattr", "flistxattr", "listxattrat"], EOPNOTSUPP),
}

#: What some calls are answered whose arguments no rule allows.
OTHERWISE = {
    "sched_getaffinity": {ENOSYS},
    "madvise": {EINVAL},
    "mprotect": {EINVAL},
    "open": {EINVAL},
    "openat": {EINVAL},
    "creat": {EINVAL},
    "poll": {EINVAL},
    "ppoll": {EINVAL},
    "select": {ENOSYS},
    "pselect6": {ENOSYS},
    "msync": {PRETEND},
    "fcntl": {PRETEND, EPERM},
    "setsockopt": {PRETEND, EPERM},
    **{flags.call: {flags.refused} for flags in FLAGS},
    **{commands.call: {commands.refused} for commands in COMMANDS if commands.call != "fcntl"},
}

INTERESTING = (0, 1, 2, 9, OWN, 0x10000, 0x3D0F00, 2**32 - 1, 2**63, 2**64 - 1)
MANY_ARGUMENTS = [
    (),
    *itertools.combinations_with_replacement(INTERESTING, 3),
    *[(value,) * 6 for value in INTERESTING],
]


def verdict(machine: str, name: str, *arguments: int) -> int:
    number = TABLES[machine][name]
    return interpret(
        PROGRAMS[machine], architecture=ARCHITECTURES[machine], number=number, arguments=arguments
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_the_bytes_are_those_reviewed(machine: str) -> None:
    assert program_hex(machine) == (GOLDEN / f"{machine}.hex").read_text()
    assert program_listing(machine) == (GOLDEN / f"{machine}.txt").read_text()


def test_every_call_of_both_tables_has_the_verdict_reviewed() -> None:
    assert verdicts_listing() == (GOLDEN / "verdicts.txt").read_text()


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_dangerous_is_denied_whatever_its_arguments(machine: str) -> None:
    names = [name for name in NEVER if name in TABLES[machine]]
    let_through = {
        name
        for name in names
        if any(verdict(machine, name, *arguments) != EPERM for arguments in MANY_ARGUMENTS)
    }

    assert let_through == set()
    assert len(names) > 120


def test_no_name_in_a_list_is_misspelt() -> None:
    known = set().union(*TABLES.values())

    assert set(NEVER) | ALLOWED | ANSWERS.keys() | CONDITIONAL.keys() <= known
    assert not ALLOWED & ANSWERS.keys()
    assert not (ALLOWED | ANSWERS.keys()) & CONDITIONAL.keys()


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_is_allowed_only_if_a_list_names_it(machine: str) -> None:
    for name in TABLES[machine]:
        verdicts = {verdict(machine, name, *arguments) for arguments in MANY_ARGUMENTS}
        if name in ALLOWED:
            assert verdicts == {ALLOW}, name
        elif name in ANSWERED:
            assert verdicts == {ANSWERED[name]}, name
        elif name in CONDITIONAL:
            assert verdicts <= {ALLOW} | OTHERWISE.get(name, {EPERM}), name
        else:
            assert verdicts == {EPERM}, name


@pytest.mark.parametrize(("old", "new"), OLD_AND_NEW)
def test_aarch64_allows_what_x86_64_does_by_an_older_call(old: str, new: str) -> None:
    for machine, name in (("x86_64", old), ("x86_64", new), ("aarch64", new)):
        assert verdict(machine, name) == verdict("x86_64", old), (machine, name)
    assert old not in TABLES["aarch64"]


def test_every_call_that_only_x86_64_has_is_accounted_for() -> None:
    only_there = TABLES["x86_64"].keys() - TABLES["aarch64"].keys()

    assert only_there - {old for old, _ in OLD_AND_NEW} - set(ONLY_X86_64.split()) == set()
    assert {verdict("x86_64", name) for name in ONLY_X86_64.split() if name in only_there} == {EPERM}


def test_no_call_is_only_of_aarch64() -> None:
    assert (
        TABLES["aarch64"].keys() - TABLES["x86_64"].keys() == {"sync_file_range2"} & TABLES["aarch64"].keys()
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_kills(machine: str) -> None:
    # i386, arm, x86_64 or aarch64 whichever this is not, and nonsense.
    for architecture in {0x40000003, 0x40000028, 0, 2**32 - 1, *ARCHITECTURES.values()} - {
        ARCHITECTURES[machine]
    }:
        for number in (0, 1, 59, 221, 435):
            assert interpret(PROGRAMS[machine], architecture=architecture, number=number) == KILL


def test_the_x32_numbers_of_x86_64_kill() -> None:
    numbers = [*range(0x40000000, 0x40000300), 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]
    code, architecture = PROGRAMS["x86_64"], ARCHITECTURES["x86_64"]

    assert {interpret(code, architecture=architecture, number=number) for number in numbers} == {KILL}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_call_newer_than_the_table_does_not_exist(machine: str) -> None:
    last = max(TABLES[machine].values())
    for number in (last + 1, last + 2, 512, 547, 1024, 0x3FFFFFFF):
        assert interpret(PROGRAMS[machine], architecture=ARCHITECTURES[machine], number=number) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_a_number_without_a_name_is_denied(machine: str) -> None:
    gaps = set(range(max(TABLES[machine].values()))) - set(TABLES[machine].values())

    assert len(gaps) > 80
    for number in gaps:
        assert interpret(PROGRAMS[machine], architecture=ARCHITECTURES[machine], number=number) == EPERM


UPPER = 0xDEADBEEF << 32
PTHREAD = 0x3D0F00
NEW_BITS = [0x20000, 0x80, 1 << 25, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30]
F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_ADD_SEALS, F_SETPIPE_SZ = (
    8,
    10,
    15,
    1024,
    1026,
    1033,
    1031,
)
TIOCSTI, FIOASYNC, TIOCLINUX, SIOCGIFCONF, TIOCSCTTY = 0x5412, 0x5452, 0x541C, 0x8912, 0x540E
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_MM, PR_CAP_AMBIENT, PR_SET_PTRACER = (
    1,
    4,
    22,
    35,
    47,
    0x59616D61,
)

BITS = [1 << bit for bit in range(32)]
MSG_FASTOPEN = 0x20000000
#: MSG_DONTWAIT, MSG_NOSIGNAL and MSG_MORE.
SENDS = (0x40, 0x4000, 0x8000)
#: MSG_PEEK, MSG_DONTWAIT, MSG_WAITALL, MSG_NOSIGNAL and MSG_CMSG_CLOEXEC.
RECEIVES = (0x2, 0x40, 0x100, 0x4000, 0x40000000)

#: What tells of a process, and what it answers of another.
OF_A_PROCESS = {
    "getpgid": EPERM,
    "getsid": EPERM,
    "sched_getparam": EPERM,
    "sched_getscheduler": EPERM,
    "sched_getaffinity": ENOSYS,
}
#: F_SETLK, SETLKW, OFD_SETLK, OFD_SETLKW.
LOCKS = (6, 7, 37, 38)
#: SO_REUSEADDR, TYPE, ERROR, SNDBUF, RCVBUF, KEEPALIVE, LINGER, RCVTIMEO, SNDTIMEO, ACCEPTCONN, PROTOCOL, DOMAIN.
TOLD = (2, 3, 4, 7, 8, 9, 13, 20, 21, 30, 38, 39)

CASES: list[tuple[str, tuple[int, ...], int]] = [
    ("clone", (PTHREAD,), ALLOW),
    ("clone", (PTHREAD | 0x400000,), ALLOW),  # musl
    ("clone", (17,), EPERM),
    ("clone", (0x1200011,), EPERM),
    ("clone", (0x4111,), EPERM),
    ("clone", (0,), EPERM),
    *[("clone", (PTHREAD | bit,), EPERM) for bit in (*NEW_BITS, 0x1000, 0x2000, 0x4000, 0x8000, 17)],
    *[("kill", (OWN, number), ALLOW) for number in range(65) if number not in {9, 18, 24}],
    *[("kill", (OWN, number), EPERM) for number in (9, 18, 24)],
    # CLONE_VM, FS, FILES, SIGHAND, SYSVSEM.
    *[("clone", (PTHREAD & ~bit,), EPERM) for bit in (0x100, 0x200, 0x400, 0x800, 0x40000)],
    ("kill", (OWN | UPPER, 6), ALLOW),
    ("kill", (OWN | UPPER, 9 | UPPER), EPERM),
    *[("tgkill", (OWN, OWN, number), EPERM) for number in (9, 18, 24)],
    *[("rt_tgsigqueueinfo", (OWN, OWN, number, 0), EPERM) for number in (9, 18, 24)],
    *[("kill", (pid, 0), EPERM) for pid in (0, 1, OWN + 1, -OWN % 2**64, -1 % 2**64, -OWN % 2**32)],
    ("tgkill", (OWN, OWN, 6), ALLOW),
    ("tgkill", (OWN + 1, OWN, 6), EPERM),
    ("rt_tgsigqueueinfo", (OWN, OWN, 6), ALLOW),
    ("rt_tgsigqueueinfo", (1, OWN, 6), EPERM),
    *[
        (name, (clock,), ALLOW)
        for name in ("clock_gettime", "clock_getres", "clock_nanosleep")
        for clock in (0, 1, 2, 3, 7, 11, UPPER)
    ],
    *[
        (name, (clock,), EPERM)
        for name in ("clock_gettime", "clock_getres", "clock_nanosleep")
        for clock in (~OWN << 3 & 0xFFFFFFFF | 2, -6 % 2**64, -1 % 2**32)
    ],
    *[(name, (pid,), ALLOW) for name in OF_A_PROCESS for pid in (0, OWN, OWN | UPPER)],
    *[(name, (pid,), answer) for name, answer in OF_A_PROCESS.items() for pid in (1, OWN + 1, -1 % 2**64)],
    *[("membarrier", (command,), ALLOW) for command in (0, 8, 16)],
    *[("membarrier", (command,), EPERM) for command in (1, 2, 4, 32, 64, 128)],
    *[("madvise", (0, 4096, advice), ALLOW) for advice in (*range(5), 8, 14, 15, 18)],
    # REMOVE, MERGEABLE, COLD, PAGEOUT, POPULATE_READ, POPULATE_WRITE, COLLAPSE, HWPOISON.
    *[("madvise", (0, 4096, advice), EINVAL) for advice in (9, 12, 20, 21, 22, 23, 25, 100)],
    *[("ppoll", (0, count), ALLOW) for count in (0, 1, 1 | UPPER)],
    *[("ppoll", (0, count), EINVAL) for count in (2, 4, 64, 1 << 31, UPPER | 2)],
    ("pselect6", (0,), ALLOW),
    ("pselect6", (UPPER,), ALLOW),
    *[("pselect6", (count,), ENOSYS) for count in (1, 64, 1024, 1 << 31)],
    *[("msync", (0, 4096, flags), ALLOW) for flags in (0, 1, 2, 3)],
    *[("msync", (0, 4096, flags), PRETEND) for flags in (4, 6)],
    ("getpriority", (0, 0), ALLOW),
    ("getpriority", (0, OWN), ALLOW),
    ("getpriority", (0, 1), EPERM),
    ("getpriority", (1, 0), EPERM),
    ("getpriority", (2, 0), EPERM),
    ("mmap", (0, 4096, 3, 0x22), ALLOW),
    ("mmap", (0, 4096, 0, 0x4022), ALLOW),
    ("mmap", (0, 4096, 5, 0x2), ALLOW),
    ("mmap", (0, 4096, 1, 0x1), ALLOW),
    ("mmap", (0, 4096, 3, 0x20022), ALLOW),
    # MAP_SHARED_VALIDATE and MAP_DROPPABLE.
    *[("mmap", (0, 4096, 3, kind), EPERM) for kind in (0x0, 0x3, 0x8, 0x28)],
    ("openat", (3, 0, 0x80000), ALLOW),
    ("openat", (3, 0, 0x200000), EINVAL),
    ("mprotect", (0, 4096, 7), ALLOW),
    # PROT_SEM, PROT_GROWSDOWN, PROT_GROWSUP, and what nobody knows.
    *[("mprotect", (0, 4096, 3 | flag), EINVAL) for flag in (0x8, 0x1000000, 0x2000000, 1 << 31, 1 << 32)],
    *[("mmap", (0, 4096, 3 | flag, 0x22), EPERM) for flag in (0x8, 0x1000000, 1 << 31, 1 << 32)],
    ("mmap", (0, 4096, 3, 0x21), EPERM),
    ("mmap", (0, 4096, 3, 0x23), EPERM),
    # MAP_LOCKED, MAP_POPULATE.
    *[("mmap", (0, 4096, 3, 0x22 | flag), EPERM) for flag in (0x2000, 0x8000)],
    ("mmap", (0, 4096, 3, 0x122), EPERM),
    ("mmap", (0, 4096, 3, 0x102), EPERM),
    ("mmap", (0, 1 << 21, 3, 0x40022), EPERM),
    ("mmap", (0, 1 << 21, 3, 0x40002), EPERM),
    *[("fcntl", (0, command), ALLOW) for command in (0, 1, 2, 3, 4, 5, 36, 1030, 1032)],
    *[("fcntl", (0, command), PRETEND) for command in LOCKS],
    *[
        ("fcntl", (0, command), EPERM)
        for command in (F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_ADD_SEALS, F_SETPIPE_SZ)
    ],
    *[("ioctl", (0, request), ALLOW) for request in (0x5401, 0x541B, 0x5421, 0x5450, 0x5451, 0x5413)],
    ("ioctl", (0, 0x5401 | UPPER), ALLOW),
    *[
        ("ioctl", (0, request), EPERM)
        for request in (TIOCSTI, FIOASYNC, TIOCLINUX, SIOCGIFCONF, TIOCSCTTY, 0x5402)
    ],
    ("prctl", (15,), ALLOW),
    ("prctl", (16,), ALLOW),
    *[
        ("prctl", (option,), EPERM)
        for option in (
            PR_SET_PDEATHSIG,
            PR_SET_DUMPABLE,
            PR_SET_SECCOMP,
            PR_SET_MM,
            PR_CAP_AMBIENT,
            PR_SET_PTRACER,
        )
    ],
    ("prlimit64", (0, 7, 0, 0x7FFF0000), ALLOW),
    ("prlimit64", (0, 7, 0x7FFF0000, 0), EPERM),
    ("prlimit64", (0, 7, 0x100000000, 0), EPERM),
    ("prlimit64", (1, 7, 0, 0x7FFF0000), EPERM),
    ("socketpair", (1, 1), ALLOW),
    ("socketpair", (1, 0x80801), ALLOW),
    ("socketpair", (1, 2), EPERM),
    ("socketpair", (1, 5), EPERM),
    ("socketpair", (2, 1), EPERM),
    ("socketpair", (16, 1), EPERM),
    *[("sendto", (3, 0, 0, flags, 0, 0), ALLOW) for flags in (0, *SENDS, sum(SENDS), UPPER)],
    *[("sendto", (3, 0, 0, flag, 0, 0), EPERM) for flag in set(BITS) - set(SENDS)],
    ("sendto", (3, 0, 0, sum(SENDS) | MSG_FASTOPEN, 0, 0), EPERM),
    ("sendto", (3, 0, 0, 0, 0x7FFF0000, 16), EPERM),
    ("sendto", (3, 0, 0, 0, 0x7FFF00000000, 16), EPERM),
    *[("recvfrom", (3, 0, 0, flags), ALLOW) for flags in (0, *RECEIVES, sum(RECEIVES), UPPER)],
    *[("recvfrom", (3, 0, 0, flag), EPERM) for flag in set(BITS) - set(RECEIVES)],
    *[("recvmsg", (3, 0, flags), ALLOW) for flags in (0, *RECEIVES, sum(RECEIVES), UPPER)],
    *[("recvmsg", (3, 0, flag), EPERM) for flag in set(BITS) - set(RECEIVES)],
    *[("setsockopt", (3, 1, option), ALLOW) for option in (2, 9, 20, 21)],
    *[("setsockopt", (3, 1, option), PRETEND) for option in (7, 8)],  # SO_SNDBUF, SO_RCVBUF
    *[("setsockopt", (3, 1, option), EPERM) for option in (32, 33)],  # SO_SNDBUFFORCE, SO_RCVBUFFORCE
    ("setsockopt", (3, 6, 1), ALLOW),
    ("setsockopt", (3, 1, 26), EPERM),  # SO_ATTACH_FILTER
    *[("setsockopt", (3, 1, option), EPERM) for option in (25, 36)],  # SO_BINDTODEVICE, SO_MARK
    # TCP_MAXSEG, TCP_REPAIR, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_ULP.
    *[("setsockopt", (3, 6, option), EPERM) for option in (2, 19, 23, 30, 31)],
    ("setsockopt", (3, 0, 7), EPERM),
    *[("getsockopt", (3, 1, option), ALLOW) for option in TOLD],
    *[("getsockopt", (3, 1, option), EPERM) for option in set(range(100)) - set(TOLD)],  # 77 is SO_PEERPIDFD
    *[("getsockopt", (3, 6, option), ALLOW) for option in (1, 4, 5, 6)],
    *[("getsockopt", (3, 6, option), EPERM) for option in (11, 13, 19)],  # TCP_INFO, CONGESTION, REPAIR
    ("getsockopt", (3, 0, 3), EPERM),
]

CASES += [
    (each.call, each.arguments(bit), ALLOW if bit in each.allowed else each.refused)
    for each in FLAGS
    for bit in BITS
    if not each.base & bit
]
CASES += [(each.call, each.arguments(sum(each.allowed)), ALLOW) for each in FLAGS]
CASES += [(each.call, each.arguments(UPPER), each.refused if each.is_long else ALLOW) for each in FLAGS]
CASES += [
    (each.call, each.arguments(value), ALLOW if value in each.allowed else each.refused)
    for each in COMMANDS
    for value in (*each.allowed, *each.others)
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "arguments", "expected"), CASES)
def test_the_arguments_decide(machine: str, name: str, arguments: tuple[int, ...], expected: int) -> None:
    assert verdict(machine, name, *arguments) == expected


def test_every_call_whose_arguments_count_is_seen_with_each_of_its_answers() -> None:
    seen = {(name, expected) for name, _, expected in CASES}

    assert seen == {
        (name, expected)
        for name in CONDITIONAL
        if name in TABLES["aarch64"]
        for expected in {ALLOW} | OTHERWISE.get(name, {EPERM})
    }


#: O_DIRECT, O_LARGEFILE, O_DIRECTORY and O_NOFOLLOW.
WITH_OTHER_PLACES = {
    "x86_64": (0x4000, 0x8000, 0x10000, 0x20000),
    "aarch64": (0x10000, 0x20000, 0x4000, 0x8000),
}
#: O_EXCL, NOCTTY, TRUNC, APPEND, NONBLOCK, CLOEXEC.
OPENS_WITH = (0x80, 0x100, 0x200, 0x400, 0x800, 0x80000)
#: O_CREAT and the bit of O_TMPFILE.
MAKES_A_FILE = (0x40, 0x400000)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_file_is_opened_with_listed_flags_only(machine: str) -> None:
    direct, *honest = WITH_OTHER_PLACES[machine]
    allowed = {*OPENS_WITH, *MAKES_A_FILE, *honest}
    assert direct not in allowed

    for name, before in (("openat", (3, 0)), ("open", (0,))):
        if name in TABLES[machine]:
            for access in (0, 1, 2):
                for flag in BITS[2:]:
                    expected = ALLOW if flag in allowed else EINVAL
                    assert verdict(machine, name, *before, access | flag, 0o600) == expected, hex(flag)
                assert verdict(machine, name, *before, access | sum(allowed), 0o777) == ALLOW
            assert verdict(machine, name, *before, 3) == EINVAL
    for flag in BITS[2:]:
        expected = ALLOW if flag in allowed else EPERM
        assert verdict(machine, "fcntl", 3, 4, flag) == expected, hex(flag)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("made", MAKES_A_FILE)
def test_no_file_is_made_that_runs_as_its_owner(machine: str, made: int) -> None:
    for mode, expected in (
        (0o777, ALLOW),
        (0o1666, ALLOW),
        (0o4755, EINVAL),
        (0o2755, EINVAL),
        (0o100644, ALLOW),
    ):
        assert verdict(machine, "openat", 3, 0, made | 1, mode) == expected
        assert verdict("x86_64", "open", 0, made | 1, mode) == expected
        assert verdict("x86_64", "creat", 0, mode) == expected
    # Without one of these flags the mode does not count, and its register has any content.
    assert verdict(machine, "openat", 3, 0, 0, 0o6777) == ALLOW


@pytest.mark.parametrize(("machine", "answer"), [("aarch64", ALLOW), ("x86_64", EINVAL)])
def test_memory_may_have_the_protection_that_only_aarch64_has(machine: str, answer: int) -> None:
    prot_bti = 0x10
    assert verdict(machine, "mprotect", 0, 4096, 5 | prot_bti) == answer


@pytest.mark.parametrize("arguments", [(0,), (1,), (0, 1), (0, 2), (5, 64), (UPPER, UPPER)])
def test_older_forms_of_waiting_are_answered_as_the_newer(arguments: tuple[int, ...]) -> None:
    for old, new in (("poll", "ppoll"), ("select", "pselect6")):
        assert verdict("x86_64", old, *arguments) == verdict("x86_64", new, *arguments)
