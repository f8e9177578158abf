"""How much a child may take: the kernel's limits per process."""

import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolrack_runner.jail.linux import ON_LINUX

MIB: Final = 1024 * 1024

#: gVisor refuses every limit but AS, CORE, CPU, DATA, FSIZE, MEMLOCK, NOFILE, NPROC, RSS and STACK (and does not
#: enforce NPROC), so this may fail there. Seccomp denies what it would have limited.
OPTIONAL: Final = frozenset({"MSGQUEUE"})

#: Name, number, and the soft and the hard limit of each.
PlannedLimits = tuple[tuple[str, int, tuple[int, int]], ...]


@dataclass(frozen=True)
class ResourceLimits:
    """What a call may take where nothing else is asked for."""

    memory_bytes: int = 256 * MIB
    """Private writable memory above what the zygote had (RLIMIT_DATA)."""
    address_space_bytes: int = 4096 * MIB
    """All mappings (RLIMIT_AS): for what RLIMIT_DATA does not count, such as shared anonymous memory."""
    cpu_seconds: int = 10
    """SIGXCPU at this second of CPU, SIGKILL one later."""
    file_bytes: int = 10 * MIB
    """The largest file; writing past it is EFBIG, as Python ignores SIGXFSZ."""
    open_files: int = 64
    processes: int | None = None
    """Threads of the uid. Only for a slot uid: an ordinary user's other processes count too."""

    def apply(self, *, data_bytes_already_used: int) -> tuple[str, ...]:
        """Sets them in this process; as `set_limits`."""
        return set_limits(self.planned(data_bytes_already_used=data_bytes_already_used))

    def planned(self, *, data_bytes_already_used: int) -> "PlannedLimits":
        """What is to be set, soft and hard; never above a hard limit that this process has."""
        planned = []
        for name, soft, hard in self._wanted(data_bytes_already_used):
            number: int | None = getattr(resource, f"RLIMIT_{name}", None)
            if number is None:
                continue
            ceiling = resource.getrlimit(number)[1]
            if ceiling != resource.RLIM_INFINITY:
                soft, hard = min(soft, ceiling), min(hard, ceiling)  # noqa: PLW2901
            planned.append((name, number, (soft, hard)))
        return tuple(planned)

    def _wanted(self, data_bytes_already_used: int) -> list[tuple[str, int, int]]:
        data = data_bytes_already_used + self.memory_bytes
        wanted = [
            ("DATA", data, data),
            ("AS", self.address_space_bytes, self.address_space_bytes),
            ("CPU", self.cpu_seconds, self.cpu_seconds + 1),
            ("FSIZE", self.file_bytes, self.file_bytes),
            ("NOFILE", self.open_files, self.open_files),
            ("CORE", 0, 0),
            ("MEMLOCK", 0, 0),
            ("MSGQUEUE", 0, 0),
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


def data_bytes_in_use() -> int:
    """What RLIMIT_DATA counts of this process now (VmData); 0 where the system does not tell."""
    try:
        return data_bytes_in(Path("/proc/self/status").read_bytes())
    except OSError:
        return 0


def data_bytes_in(status: bytes) -> int:
    """The same of the process whose `/proc/<pid>/status` this is."""
    lines = status.splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"VmData:")), 0)
