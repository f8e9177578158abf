"""System calls of Linux for which Python has no function.

All functions are looked up at import, so that a forked child only has to call them. Other systems can import this module
too, but there every call raises OSError(ENOSYS).
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolrack_runner.child.jail.seccomp.syscalls import TABLES

ON_LINUX: Final = sys.platform == "linux"

#: The machine, as `uname -m` writes it.
MACHINE: Final = platform.machine()

#: The numbers of this machine's system calls, by name. Empty for a machine without a table, or a Python without 64 bits.
SYSCALLS: Final[Mapping[str, int]] = TABLES.get(MACHINE, {}) if ON_LINUX and sys.maxsize > 2**32 else {}

_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
# ctypes passes the number and the six arguments as unsigned long. Without this declaration it would pass only 32 bits of
# each. The upper half of the register would then be random, and the kernel would answer with EINVAL.
_syscall.argtypes = (ctypes.c_ulong,) * 7
_syscall.restype = ctypes.c_long
_ZEROS: Final = (0,) * 6


@dataclass(frozen=True)
class Unavailable:
    """The reason why a layer of the jail is off, as a sentence. `/health` shows it."""

    reason: str


def syscall(name: str, *arguments: int) -> int:
    """Makes a system call. A pointer is given as an address (`ctypes.addressof`), which the caller keeps valid.

    Raises OSError.
    """
    number = SYSCALLS.get(name)
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), name)
    result: int = _syscall(number, *arguments, *_ZEROS[len(arguments) :])
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), name)
    return result


def prctl(option: int, value: int = 0) -> int:
    """Sets or reads an attribute of this process. The other arguments are 0, as the kernel requires."""
    return syscall("prctl", option, value)
