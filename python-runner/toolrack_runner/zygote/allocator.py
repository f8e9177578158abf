"""How the C library allocates in children that may not call `mremap` (jail/seccomp/policy.py).

Where memory above a threshold is a mapping of its own, it grows by a copy and never shrinks without `mremap`: text of 30 MB
that grew by `+=` took 8 s in place of 20 ms, and 256 short reads into buffers of 1 MB would use up 256 MB. The heap grows
and shrinks in place.
"""

import ctypes
from typing import Final

#: `malloc.h` of glibc.
M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
M_ARENA_MAX: Final = -8

#: What is larger gets a mapping of its own; glibc takes no more than this.
OWN_MAPPING_BYTES: Final = 32 << 20
#: Free memory at the end of the heap that is kept; twice the other, as glibc itself does it when it raises the two.
KEPT_BYTES: Final = 2 * OWN_MAPPING_BYTES


def keep_allocations_in_one_heap() -> None:
    """In the zygote, for its children. One heap for all threads: each further one reserves 64 MB of the address space.

    Does nothing where the C library is not glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES)
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
    mallopt(M_ARENA_MAX, 1)
