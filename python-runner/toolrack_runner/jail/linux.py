"""Calls of the Linux kernel that Python has no name for.

Bound once, at import, so that a forked child only calls. Elsewhere than on Linux everything here can be imported and
every call raises OSError(ENOSYS).
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Mapping
from typing import Final

from toolrack_runner.jail.seccomp.compile_policy import TABLES

ON_LINUX: Final = sys.platform == "linux"

#: As `uname -m` writes it.
MACHINE: Final = platform.machine()

#: The numbers of this machine; empty where it is neither of the two, or its Python has not 64 bits.
SYSCALLS: Final[Mapping[str, int]] = TABLES.get(MACHINE, {}) if ON_LINUX and sys.maxsize > 2**32 else {}

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
# Six arguments as unsigned long: with plain ints ctypes passes 32 bits and leaves the upper half of each register to
# chance, which the kernel then answers with EINVAL.
_syscall.argtypes = (ctypes.c_ulong,) * 7
_syscall.restype = ctypes.c_long
_ZEROS: Final = (0,) * 6


def syscall(name: str, *arguments: int) -> int:
    """Calls the kernel. Pointers are addresses (`ctypes.addressof`), kept alive by the caller. Raises OSError."""
    number = SYSCALLS.get(name)
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    result: int = _syscall(number, *arguments, *_ZEROS[len(arguments) :])
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return result


def prctl(option: int, value: int = 0) -> int:
    """Sets or asks an attribute of this process; the arguments left out are 0, as the kernel demands."""
    return syscall("prctl", option, value)
