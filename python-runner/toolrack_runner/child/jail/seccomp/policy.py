"""The system calls that a confined child may make. Every call that is not listed as allowed is denied.

The policy contains the names of calls; `compile_policy` adds the numbers of a machine.
"""

from collections.abc import Mapping
from typing import Final

from toolrack_runner.child.jail.seccomp.allowed import ALLOWED
from toolrack_runner.child.jail.seccomp.rule import ALLOW, DENY, PRETEND, UNKNOWN, UNSUPPORTED, Rule
from toolrack_runner.child.jail.seccomp.rules.descriptors import DESCRIPTORS
from toolrack_runner.child.jail.seccomp.rules.files import FILES
from toolrack_runner.child.jail.seccomp.rules.memory import MEMORY
from toolrack_runner.child.jail.seccomp.rules.processes import PROCESSES
from toolrack_runner.child.jail.seccomp.rules.sockets import SOCKETS

#: The rules for the calls that are allowed only with certain arguments.
CONDITIONAL: Final[Mapping[str, Rule]] = {**MEMORY, **FILES, **DESCRIPTORS, **SOCKETS, **PROCESSES}

#: What the program answers to these calls. They are not made, but do not fail with EPERM either, so that honest programs go
#: on.
ANSWERS: Final[Mapping[str, int]] = {
    # The flags of clone3 are in memory, which no seccomp program can read. After ENOSYS, the C library uses clone instead.
    "clone3": UNKNOWN,
    # mremap can enlarge a page of the stack, and RLIMIT_DATA does not count memory that was part of the stack. No seccomp
    # program can compare the old size with the new one. After ENOSYS, the C library copies the memory.
    # zygote/denied_calls.py makes this rare.
    "mremap": UNKNOWN,
    # sendfile puts pages of a file into a socket. Two bytes in the socket keep 8 KB of memory, even after the file is
    # truncated. After ENOSYS, programs copy the data.
    "sendfile": UNKNOWN,
    # Landlock does not cover metadata, so with these calls a child could change any file of the user, also outside of its
    # workplace. They are not made, but report success, because `shutil.copy` must not fail. The calls for extended
    # attributes (below) report that the file system has none.
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchmodat2"), PRETEND),
    **dict.fromkeys(("utime", "utimes", "futimesat", "utimensat"), PRETEND),
    # flock locks a whole file. It gets the same answer as the locks of `fcntl`.
    "flock": PRETEND,
    # The files of a child are removed with the child, so they need not reach a disk. With these calls, the kernel would
    # write out a file system that other processes use, and wait for it.
    **dict.fromkeys(("fsync", "fdatasync", "sync_file_range"), PRETEND),
    # These calls only advise the kernel. They could load a file, or remove a library that other processes use from memory.
    **dict.fromkeys(("fadvise64", "readahead"), PRETEND),
    **dict.fromkeys(("getxattr", "lgetxattr", "fgetxattr", "getxattrat"), UNSUPPORTED),
    **dict.fromkeys(("listxattr", "llistxattr", "flistxattr", "listxattrat"), UNSUPPORTED),
}


def verdict_of(name: str) -> int | Rule:
    """The verdict on a call of this name."""
    if name in ALLOWED:
        return ALLOW
    return ANSWERS[name] if name in ANSWERS else CONDITIONAL.get(name, DENY)
