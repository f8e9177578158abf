"""How much memory, processor time and other resources a child may use: the kernel's limits per process."""

import resource
from typing import Final, NamedTuple

from toolrack_runner.child.jail.linux import ON_LINUX
from toolrack_runner.child_bounds import BESIDE_BYTES, STACK_BYTES
from toolrack_runner.wire.zygote_messages import Limits

MIB: Final = 1024 * 1024

#: The address space for files that are mapped after the fork, mainly the code of shared libraries. RLIMIT_DATA does not
#: count such files. numpy takes 40 MB, and pandas 26 MB more. Libraries that the zygote has imported before the fork do not
#: need it. The libraries of an environment are known, so a child with an environment gets additional room for all of them.
MAPPED_FILES_BYTES: Final = 72 * MIB

#: How many signals may wait for the processes of one user. Each takes 160 bytes in the kernel. Signals below SIGRTMIN arrive
#: even above this limit. Linux systems usually allow a hundred thousand.
SIGNALS_MAX: Final = 64

#: The limits that a system need not know. gVisor knows only AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS and
#: STACK, and does not enforce NPROC. Seccomp denies the message queues that MSGQUEUE would limit.
OPTIONAL: Final = frozenset({"MSGQUEUE", "SIGPENDING"})

#: For each limit: its name, its number, and the soft and the hard value.
PlannedLimits = tuple[tuple[str, int, tuple[int, int]], ...]


class MemoryInUse(NamedTuple):
    """How many bytes of memory a process already uses when its limits are set. They are added to the limits."""

    data_bytes: int = 0
    """The memory that RLIMIT_DATA counts (VmData)."""
    mapped_bytes: int = 0
    """The memory that RLIMIT_AS counts (VmSize)."""
    anonymous_bytes: int = 0
    """Memory that is present and not part of a file (RssAnon). A child shares it with the zygote until it writes to it."""


def plan_limits(
    limits: Limits, *, processes: int | None, in_use: MemoryInUse, library_bytes: int = 0
) -> PlannedLimits:
    """The limits to set, soft and hard, never above a hard limit that this process already has.

    - `memory_bytes` (RLIMIT_DATA): private writable memory in addition to `in_use`.
    - `address_space_bytes` (RLIMIT_AS): all mappings, also those that RLIMIT_DATA does not count, such as memory that became
      read-only. It has room for the shared libraries of the child's environment (`library_bytes`).
    - `cpu_seconds`: the kernel sends SIGXCPU at this time, and SIGKILL a second later.
    - `file_bytes`: writing beyond this size fails with EFBIG, because Python ignores SIGXFSZ.
    - `processes` (RLIMIT_NPROC): all threads of the uid together. None means no limit: the user has other processes too.
    """
    data = in_use.data_bytes + limits.memory_bytes
    mapped = in_use.mapped_bytes + limits.memory_bytes + BESIDE_BYTES + MAPPED_FILES_BYTES + library_bytes
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
            ceiling = hard
        planned.append((name, number, (min(soft, ceiling), min(hard, ceiling))))
    return tuple(planned)


def set_limits(planned: PlannedLimits) -> tuple[str, ...]:
    """Sets the limits permanently, and returns the names of those that were accepted.

    Raises if Linux refuses one that it must know.
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
    """The memory that a process uses. `status` is the content of its `/proc/<pid>/status`."""
    sizes = {
        name: int(value.split()[0]) * 1024
        for name, _, value in (line.partition(b":") for line in status.splitlines())
        if name in (b"VmData", b"VmSize", b"RssAnon")
    }
    return MemoryInUse(sizes.get(b"VmData", 0), sizes.get(b"VmSize", 0), sizes.get(b"RssAnon", 0))
