"""Rules for mapped memory."""

from collections.abc import Mapping
from typing import Final

from toolrack_runner.child.jail.seccomp.rule import (
    INVALID,
    PRETEND,
    Bits,
    Condition,
    Rule,
    has_only,
    only,
    upper_is_null,
    when,
)

#: PROT_READ, PROT_WRITE and PROT_EXEC. On aarch64 also PROT_BTI, which the loader of shared libraries sets.
PROTECTIONS: Final = Bits(0x7, 0x17)

MAP_SHARED: Final = 0x01
MAP_PRIVATE: Final = 0x02
MAP_FIXED: Final = 0x10
MAP_ANONYMOUS: Final = 0x20
MAP_DENYWRITE: Final = 0x800
MAP_EXECUTABLE: Final = 0x1000
MAP_NORESERVE: Final = 0x4000
MAP_NONBLOCK: Final = 0x10000
MAP_STACK: Final = 0x20000
MAP_FIXED_NOREPLACE: Final = 0x100000
#: The flags of a mapping of a file. The loader sets MAP_DENYWRITE and MAP_EXECUTABLE, which have no effect.
OF_A_FILE: Final = (
    MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_NORESERVE | MAP_NONBLOCK | MAP_DENYWRITE | MAP_EXECUTABLE
)
#: The flags of private memory. The kernel's other flags are refused:
#: - No limit completely counts mappings that grow downwards like a stack (MAP_GROWSDOWN), or huge pages (MAP_HUGETLB).
#: - With MAP_LOCKED or MAP_POPULATE, one call fills the whole mapping, and continues even while the child is stopped.
#: - MAP_DROPPABLE, MAP_SYNC and MAP_32BIT are not needed.
OF_PRIVATE_MEMORY: Final = OF_A_FILE | MAP_ANONYMOUS | MAP_STACK

MS_ASYNC: Final = 1
MS_INVALIDATE: Final = 2

_PROTECTIONS: Final = (has_only(2, PROTECTIONS), upper_is_null(2))

MEMORY: Final[Mapping[str, Rule]] = {
    # Shared memory must belong to a file. Shared anonymous memory is denied, because RLIMIT_DATA does not count it.
    "mmap": (
        when(*_PROTECTIONS, Condition(3, (MAP_PRIVATE,), ignored=OF_PRIVATE_MEMORY), upper_is_null(3)),
        when(*_PROTECTIONS, Condition(3, (MAP_SHARED,), ignored=OF_A_FILE), upper_is_null(3)),
    ),
    # If PROT_GROWSDOWN fails with EINVAL, the loader makes a stack executable without it.
    "mprotect": only(*_PROTECTIONS, otherwise=INVALID),
    # Allowed: NORMAL, RANDOM, SEQUENTIAL, WILLNEED, DONTNEED, FREE, DONTFORK, DOFORK, HUGEPAGE, NOHUGEPAGE, DONTDUMP,
    # DODUMP, WIPEONFORK and KEEPONFORK. Each changes only the caller's own memory.
    # Not allowed, and answered with EINVAL, as by a kernel that does not know the advice:
    # - COLD, PAGEOUT and COLLAPSE move pages of a library that other processes use.
    # - MERGEABLE compares memory with the memory of other processes.
    # - POPULATE_READ and POPULATE_WRITE fill all memory of their range in one call, which continues even while the child is
    #   stopped.
    "madvise": only(Condition(2, (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 19)), otherwise=INVALID),
    # A call with MS_SYNC is not made and reports success. The kernel would write out a file system that other processes use,
    # as with fsync (see ANSWERS). The other flags are allowed: programs use them to check whether memory is mapped.
    "msync": only(has_only(2, MS_ASYNC | MS_INVALIDATE), otherwise=PRETEND),
}
