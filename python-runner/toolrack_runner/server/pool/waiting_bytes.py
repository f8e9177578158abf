"""How much memory a waiting child holds, with the kernel's memory for its mappings and for the files that it watches.

No file of /proc reports this memory of the kernel, so the largest possible amount is counted. For a running call it is not
counted, because an honest call would reach its memory limit too early. But all waiting children together could use gigabytes
of it.
"""

import os
from contextlib import suppress
from typing import Final

from toolrack_runner.server.pool.holding import Holding, read_whole

#: The kernel's memory for one mapping, and for the file that is open only because of this mapping. As measured, it takes 200
#: to 416 bytes, and up to 511 with what the kernel's allocator adds.
MAPPING_BYTES: Final = 512
#: The kernel's memory for one file that an `epoll` watches. As measured, it takes 209 bytes.
WATCH_BYTES: Final = 216
#: How much of `/proc/<pid>/maps` is read. A child with pandas and scipy has 960 mappings in 154 KB. Reading 256 KB takes
#: 1.4 ms.
MAPS_BYTES_MAX: Final = 256 << 10
PAGE_BYTES: Final = os.sysconf("SC_PAGESIZE")


def waiting_bytes(holding: Holding, mapping_bytes: int, open_files: int) -> int:
    """The memory of a waiting child, in bytes. `open_files` is its limit of descriptors."""
    # An `epoll` watches a file once for each number that the file had. The product of files and epolls is largest if each of
    # them are half of the descriptors.
    watches = holding.descriptors**2 // 4 * open_files
    return holding.held_bytes + mapping_bytes + watches * WATCH_BYTES


def mapping_bytes(pid: int, mapped_bytes: int) -> int:
    """The kernel's memory for the mappings of a stopped child, in bytes; if unknown, the largest possible amount."""
    count = _mappings(pid)
    if count is None:
        count = min(mapped_bytes // PAGE_BYTES, _MAPPINGS_MAX)
    return count * MAPPING_BYTES


def _mappings(pid: int) -> int | None:
    """How many mappings a child has; None if the list is longer than MAPS_BYTES_MAX, or if it cannot be read."""
    count = size = 0
    with suppress(OSError), open(f"/proc/{pid}/maps", "rb", buffering=0) as maps:
        while size < MAPS_BYTES_MAX:
            piece = maps.read(MAPS_BYTES_MAX)
            if not piece:
                return count or None
            count += piece.count(b"\n")
            size += len(piece)
    return None


#: `vm.max_map_count`, or its usual value.
_MAPPINGS_MAX: Final = int(read_whole("/proc/sys/vm/max_map_count") or 65_530)
