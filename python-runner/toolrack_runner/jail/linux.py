"""System calls of Linux that Python has no function for.

Everything is bound once, at import, so that a forked child only calls. On other systems this can be imported too; then
every call raises OSError(ENOSYS).
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolrack_runner.jail.seccomp.syscalls import TABLES

ON_LINUX: Final = sys.platform == "linux"

#: As `uname -m` writes it.
MACHINE: Final = platform.machine()

#: The system calls of this machine; empty if it is neither of the two, or if its Python does not have 64 bits.
SYSCALLS: Final[Mapping[str, int]] = TABLES.get(MACHINE, {}) if ON_LINUX and sys.maxsize > 2**32 else {}

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
# Six arguments as unsigned long. For plain ints ctypes passes only 32 bits. The upper half of the register is then random,
# and the kernel answers with EINVAL.
_syscall.argtypes = (ctypes.c_ulong,) * 7
_syscall.restype = ctypes.c_long
_ZEROS: Final = (0,) * 6


@dataclass(frozen=True)
class Unavailable:
    """Why a layer of the jail cannot be on here, as a sentence. `/health` shows it; no layer is left out silently."""

    reason: str


def syscall(name: str, *arguments: int) -> int:
    """Makes a system call. Pointers are addresses (`ctypes.addressof`), which the caller keeps alive. Raises OSError."""
    number = SYSCALLS.get(name)
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    result: int = _syscall(number, *arguments, *_ZEROS[len(arguments) :])
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return result


def prctl(option: int, value: int = 0) -> int:
    """Sets or reads an attribute of this process. The other arguments are 0, as the kernel demands."""
    return syscall("prctl", option, value)
