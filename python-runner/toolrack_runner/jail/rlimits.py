"""How much a child may use: the kernel's limits per process."""

import resource
from dataclasses import dataclass
from typing import Final

from toolrack_runner.jail.linux import ON_LINUX
from toolrack_runner.zygote.messages import Limits

MIB: Final = 1024 * 1024

#: What the stack of the main thread may grow to: the usual limit of a Linux system. RLIMIT_DATA does not count it.
STACK_BYTES: Final = 8 * MIB
#: Of the address space, for files that are mapped after the fork and that RLIMIT_DATA does not count: mainly the code of
#: shared libraries. numpy takes 40 MB and pandas 26 MB more; what a zygote has imported before is not counted.
MAPPED_FILES_BYTES: Final = 72 * MIB
#: What else an honest child uses beside its memory: the stack, and its own files if it maps them (their quota).
BESIDE_BYTES: Final = STACK_BYTES + 16 * MIB

#: Signals that may wait for a process of this user; those below SIGRTMIN arrive in any case. The kernel keeps 160 bytes for
#: each, and a usual limit is a hundred thousand.
SIGNALS_MAX: Final = 64

#: Threads of one child. If the child has a user of its own the kernel counts them, else main does (`pool/memory_watch.py`).
THREADS_MAX: Final = 64

#: gVisor refuses every limit but AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS and STACK (and does not
#: enforce NPROC), so these may fail there. Seccomp denies what the first would have limited.
OPTIONAL: Final = frozenset({"MSGQUEUE", "SIGPENDING"})

#: Name, number, and the soft and the hard limit of each.
PlannedLimits = tuple[tuple[str, int, tuple[int, int]], ...]


@dataclass(frozen=True)
class MemoryInUse:
    """What a process already uses when its limits are set, in bytes. Its limits are added to this."""

    data_bytes: int = 0
    """What RLIMIT_DATA counts (VmData)."""
    mapped_bytes: int = 0
    """What RLIMIT_AS counts (VmSize)."""
    anonymous_bytes: int = 0
    """Resident memory without a file behind it (RssAnon). A child shares it until it writes to it."""


def plan_limits(limits: Limits, *, processes: int | None, in_use: MemoryInUse) -> PlannedLimits:
    """The limits to set, soft and hard, never above a hard limit that this process already has.

    `memory_bytes` is private writable memory beyond `in_use` (RLIMIT_DATA). `address_space_bytes` bounds all mappings
    (RLIMIT_AS), also those that RLIMIT_DATA does not count, such as memory whose write permission was dropped. At
    `cpu_seconds` comes SIGXCPU, a second later SIGKILL. Writing past `file_bytes` fails with EFBIG, because Python ignores
    SIGXFSZ. `processes` counts the threads of the uid: None if the user has other processes too.
    """
    data = in_use.data_bytes + limits.memory_bytes
    mapped = in_use.mapped_bytes + limits.memory_bytes + BESIDE_BYTES + MAPPED_FILES_BYTES
    wanted = {
        "DATA": data,
        "AS": min(mapped, limits.address_space_bytes),
        "STACK": STACK_BYTES,
        "CPU": limits.cpu_seconds,
        "FSIZE": limits.file_bytes,
        "NOFILE": limits.open_files,
        "CORE": 0,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "SIGPENDING": SIGNALS_MAX,
    }
    if processes is not None:
        wanted["NPROC"] = processes
    planned = []
    for name, soft in wanted.items():
        number: int | None = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            continue
        hard = soft + 1 if name == "CPU" else soft
        ceiling = resource.getrlimit(number)[1]
        if ceiling == resource.RLIM_INFINITY:
            planned.append((name, number, (soft, hard)))
        else:
            planned.append((name, number, (min(soft, ceiling), min(hard, ceiling))))
    return tuple(planned)


def set_limits(planned: PlannedLimits) -> tuple[str, ...]:
    """Sets the limits in this process, for good, and gives the names of those in force.

    Raises OSError or ValueError if Linux refuses a limit that it must know.
    """
    in_force = []
    for name, number, both in planned:
        try:
            resource.setrlimit(number, both)
        except (OSError, ValueError):
            # Python raises ValueError for EPERM and EINVAL of setrlimit.
            if ON_LINUX and name not in OPTIONAL:
                raise
        else:
            in_force.append(name)
    return tuple(in_force)


def memory_in(status: bytes) -> MemoryInUse:
    """The memory that the process with this `/proc/<pid>/status` uses."""
    sizes = {
        name: int(value.split()[0]) * 1024
        for name, _, value in (line.partition(b":") for line in status.splitlines())
        if name in (b"VmData", b"VmSize", b"RssAnon")
    }
    return MemoryInUse(sizes.get(b"VmData", 0), sizes.get(b"VmSize", 0), sizes.get(b"RssAnon", 0))
