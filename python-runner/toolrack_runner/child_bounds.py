"""The bounds of each child. Code in the child sets them, and the server process computes with them."""

from typing import Final

#: The niceness of every child. With it, a child gets a third of the processor time of a process with niceness 0, such as
#: the runner or the service.
NICENESS: Final = 5

#: The limit of the main thread's stack, the same as usual on Linux. RLIMIT_DATA does not count the stack.
STACK_BYTES: Final = 8 << 20
#: The memory that an honest child needs besides `memory_bytes`: for its stack, and for its own files if it maps them, up to
#: their quota.
BESIDE_BYTES: Final = STACK_BYTES + (16 << 20)

#: How many threads one child may have, so that no tool takes all threads of the machine. If the child has its own user, the
#: kernel enforces this, otherwise the server process does (`server/pool/memory_watch.py`).
THREADS_MAX: Final = 64

#: The disk quota of a child. A file of 10 MB must fit, and the file system needs some space for itself.
QUOTA_BYTES: Final = 16 << 20
QUOTA_INODES: Final = 256
