"""What a process has taken, as the kernel counts it."""

from pathlib import Path


def resident_bytes(pid: int) -> int:
    """What it has in memory now."""
    return _of(pid, "VmRSS:")


def resident_bytes_max(pid: int) -> int:
    """The most it ever had in memory."""
    return _of(pid, "VmHWM:")


def _of(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def cpu_seconds(pid: int) -> float:
    """Processor time so far, of all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
