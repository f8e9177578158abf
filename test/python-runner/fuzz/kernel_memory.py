"""How much memory the kernel has taken for itself: buffers, locks, threads, tables."""

import os
import re
from pathlib import Path

#: What belongs to processes and files, and what the kernel gives back when it is asked to.
_OTHERS = ("MemFree", "Buffers", "Cached", "SwapCached", "AnonPages", "SReclaimable")
_PAGE_BYTES = os.sysconf("SC_PAGESIZE")
#: Free pages that each processor keeps for itself; MemFree does not count them, and they may be a gigabyte.
_KEPT_FREE = re.compile(r"^\s+count:\s+(\d+)", re.MULTILINE)


def kernel_bytes() -> int:
    """In bytes, of the whole machine: all but what is free, what files and processes hold, and what can be reclaimed."""
    sizes = {
        name: int(value.split()[0]) * 1024
        for name, _, value in (line.partition(":") for line in Path("/proc/meminfo").read_text().splitlines())
    }
    kept_free = sum(map(int, _KEPT_FREE.findall(Path("/proc/zoneinfo").read_text()))) * _PAGE_BYTES
    return sizes["MemTotal"] - sum(sizes[name] for name in _OTHERS) - kept_free
