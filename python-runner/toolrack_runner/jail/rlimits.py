"""How much a child may take: the kernel's limits per process."""

import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolrack_runner.jail.linux import ON_LINUX

MIB: Final = 1024 * 1024

#: What the stack of the main thread may grow to: the usual limit of a Linux system. RLIMIT_DATA does not count it.
STACK_BYTES: Final = 8 * MIB
#: Of the address space, for files that are mapped after the fork and that RLIMIT_DATA does not count: the code of
#: shared libraries above all. numpy takes 40 MB and pandas 26 MB more; what a zygote has imported before is not counted.
MAPPED_FILES_BYTES: Final = 72 * MIB
#: What else an honest child holds beside its memory: the stack, and its own files where it maps them (their quota).
BESIDE_BYTES: Final = STACK_BYTES + 16 * MIB

#: Signals that may wait for a process of this user; those below SIGRTMIN arrive in any case. The kernel keeps 160 bytes for
#: each, and a usual limit is a hundred thousand.
SIGNALS_MAX: Final = 64

#: Threads of one child. The kernel holds it where the child has a user of its own, main else (`pool/memory_watch.py`).
THREADS_MAX: Final = 64

#: gVisor refuses every limit but AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS and STACK (and does not
#: enforce NPROC), so these may fail there. Seccomp denies what the first would have limited.
OPTIONAL: Final = frozenset({"MSGQUEUE", "SIGPENDING"})

#: Name, number, and the soft and the hard limit of each.
PlannedLimits = tuple[tuple[str, int, tuple[int, int]], ...]


@dataclass(frozen=True)
class MemoryInUse:
    """What a process has already when its limits are set: its limits come on top. In bytes."""

    data_bytes: int = 0
    """What RLIMIT_DATA counts (VmData)."""
    mapped_bytes: int = 0
    """What RLIMIT_AS counts (VmSize)."""
    anonymous_bytes: int = 0
    """Resident memory that no file is behind (RssAnon); a child shares it until it writes to it."""


@dataclass(frozen=True)
class ResourceLimits:
    """What a call may take where nothing else is asked for."""

    memory_bytes: int = 256 * MIB
    """Private writable memory above what the zygote had (RLIMIT_DATA)."""
    address_space_bytes: int = 4096 * MIB
    """All mappings (RLIMIT_AS) at most, whatever the zygote had. For what RLIMIT_DATA does not count, such as memory whose
    write permission was dropped."""
    cpu_seconds: int = 10
    """SIGXCPU at this second of CPU, SIGKILL one later."""
    file_bytes: int = 10 * MIB
    """The largest file; writing past it is EFBIG, as Python ignores SIGXFSZ."""
    open_files: int = 64
    processes: int | None = None
    """Threads of the uid. Only for a slot uid: an ordinary user's other processes count too."""

    def apply(self, *, in_use: "MemoryInUse") -> tuple[str, ...]:
        """Sets them in this process; as `set_limits`."""
        return set_limits(self.planned(in_use=in_use))

    def planned(self, *, in_use: "MemoryInUse") -> "PlannedLimits":
        """What is to be set, soft and hard; never above a hard limit that this process has."""
        planned = []
        for name, soft, hard in self._wanted(in_use):
            number: int | None = getattr(resource, f"RLIMIT_{name}", None)
            if number is None:
                continue
            ceiling = resource.getrlimit(number)[1]
            if ceiling != resource.RLIM_INFINITY:
                soft, hard = min(soft, ceiling), min(hard, ceiling)  # noqa: PLW2901
            planned.append((name, number, (soft, hard)))
        return tuple(planned)

    def _wanted(self, in_use: "MemoryInUse") -> list[tuple[str, int, int]]:
        data = in_use.data_bytes + self.memory_bytes
        mapped = in_use.mapped_bytes + self.memory_bytes + BESIDE_BYTES + MAPPED_FILES_BYTES
        mapped = min(mapped, self.address_space_bytes)
        wanted = [
            ("DATA", data, data),
            ("AS", mapped, mapped),
            ("STACK", STACK_BYTES, STACK_BYTES),
            ("CPU", self.cpu_seconds, self.cpu_seconds + 1),
            ("FSIZE", self.file_bytes, self.file_bytes),
            ("NOFILE", self.open_files, self.open_files),
            ("CORE", 0, 0),
            ("MEMLOCK", 0, 0),
            ("MSGQUEUE", 0, 0),
            ("SIGPENDING", SIGNALS_MAX, SIGNALS_MAX),
        ]
        if self.processes is not None:
            wanted.append(("NPROC", self.processes, self.processes))
        return wanted


def set_limits(planned: PlannedLimits) -> tuple[str, ...]:
    """Sets them in this process, for good. Names those in force.

    Raises OSError or ValueError where Linux refuses one that it must know.
    """
    in_force = []
    for name, number, both in planned:
        try:
            resource.setrlimit(number, both)
        except (OSError, ValueError):
            # Python tells EPERM and EINVAL of setrlimit as ValueError.
            if ON_LINUX and name not in OPTIONAL:
                raise
        else:
            in_force.append(name)
    return tuple(in_force)


def memory_in_use() -> MemoryInUse:
    """Of this process now; zeros where the system does not tell."""
    try:
        return memory_in(Path("/proc/self/status").read_bytes())
    except OSError:
        return MemoryInUse()


def memory_in(status: bytes) -> MemoryInUse:
    """The same of the process whose `/proc/<pid>/status` this is."""
    sizes = {
        name: int(value.split()[0]) * 1024
        for name, _, value in (line.partition(b":") for line in status.splitlines())
        if name in (b"VmData", b"VmSize", b"RssAnon")
    }
    return MemoryInUse(sizes.get(b"VmData", 0), sizes.get(b"VmSize", 0), sizes.get(b"RssAnon", 0))
