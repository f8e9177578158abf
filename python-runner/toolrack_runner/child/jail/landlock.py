"""Decides which files a child may read and write. The kernel enforces it (Landlock).

If the kernel's version of Landlock (its ABI) supports it, a child also must not execute a file, bind or connect a TCP port,
connect to an abstract unix socket, or send a signal to a process outside. The numbers are from `linux/landlock.h` of Linux
6.18.

Landlock does not cover metadata (mode, owner, times, `stat`), UDP, netlink and pathname unix sockets. Seccomp does.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Sequence
from typing import Final, Self

from toolrack_runner.child.jail.linux import Unavailable, syscall

WRITE_FILE: Final = 1 << 1
READ_FILE: Final = 1 << 2
READ_DIR: Final = 1 << 3
REMOVE_DIR: Final = 1 << 4
REMOVE_FILE: Final = 1 << 5
MAKE_DIR: Final = 1 << 7
MAKE_REG: Final = 1 << 8
REFER: Final = 1 << 13
TRUNCATE: Final = 1 << 14

#: How many rights about files each ABI knows. Each of them is denied unless a rule grants it.
FILE_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
FILE_RIGHTS_LATEST: Final = 16

#: The rights to bind and to connect TCP sockets, which exist from ABI 4 on.
TCP_RIGHTS: Final = 0b11
#: Restrictions that exist from ABI 6 on: abstract unix sockets and signals reach only processes with the same Landlock
#: rules.
SCOPES: Final = 0b11

#: The rights that rules grant to a child. It never has the right to execute, to make a device, FIFO, socket or symbolic
#: link, or to use ioctl on a device.
READ: Final = READ_FILE | READ_DIR
READ_WRITE: Final = READ | WRITE_FILE | TRUNCATE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER

#: Every child may write to this device, because honest programs do.
NULL_DEVICE: Final = "/dev/null"

LANDLOCK_CREATE_RULESET_VERSION: Final = 1
LANDLOCK_RULE_PATH_BENEATH: Final = 1

#: `struct landlock_path_beneath_attr`, which is packed: the rights, and a descriptor of the path.
PATH_RULE: Final = struct.Struct("=Qi")


class LandlockRules:
    """The rules for every child of a zygote. `descriptors` are the opened paths of the rules.

    In a child, `apply` closes them.
    """

    def __init__(self, abi: int, rules: Sequence[tuple[int, int]]) -> None:
        self.abi = abi
        self.descriptors = tuple(descriptor for _, descriptor in rules)
        attributes = ruleset_attributes(abi)
        self._attributes = ctypes.create_string_buffer(attributes, len(attributes))
        self._rules = [ctypes.create_string_buffer(path_rule(*rule), PATH_RULE.size) for rule in rules]
        self._workdir = ctypes.create_string_buffer(PATH_RULE.size)
        self._packages = ctypes.create_string_buffer(PATH_RULE.size)

    @classmethod
    def prepare(cls, read_only: Sequence[str]) -> Self | Unavailable:
        """Opens the paths that the zygote can open. Called after the zygote has made the root directory of its children."""
        try:
            abi = syscall("landlock_create_ruleset", 0, 0, LANDLOCK_CREATE_RULESET_VERSION)
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                return Unavailable(
                    "Landlock is in this kernel but was not switched on at its start (lsm=landlock,...)"
                )
            return Unavailable(f"this system has no Landlock: {error.strerror}")
        rules = []
        for path in read_only:
            if (descriptor := _open(path)) is not None:
                is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
                rules.append((READ if is_directory else READ_FILE, descriptor))
        if (null := _open(NULL_DEVICE)) is not None:
            rules.append(((READ_FILE | WRITE_FILE | TRUNCATE) & file_rights(abi), null))
        return cls(abi, rules)

    def apply(self, *, writable: str | int, packages: str = "") -> None:
        """Confines this thread, and threads that it starts, permanently. `writable` is the call's directory.

        `packages` is the folder of the child's environment, which it may read, or empty. Needs no_new_privs.
        """
        own = os.open(writable, os.O_PATH | os.O_CLOEXEC) if isinstance(writable, str) else writable
        PATH_RULE.pack_into(self._workdir, 0, READ_WRITE & file_rights(self.abi), own)
        own_rules, opened = [self._workdir], [own]
        if packages:
            opened.append(os.open(packages, os.O_PATH | os.O_CLOEXEC))
            PATH_RULE.pack_into(self._packages, 0, READ, opened[-1])
            own_rules.append(self._packages)
        ruleset = syscall(
            "landlock_create_ruleset", ctypes.addressof(self._attributes), len(self._attributes)
        )
        for rule in (*self._rules, *own_rules):
            syscall("landlock_add_rule", ruleset, LANDLOCK_RULE_PATH_BENEATH, ctypes.addressof(rule))
        syscall("landlock_restrict_self", ruleset)
        for descriptor in (ruleset, *opened, *self.descriptors):
            os.close(descriptor)


def file_rights(abi: int) -> int:
    """All file rights that an ABI knows, as bits."""
    return (1 << FILE_RIGHTS.get(abi, FILE_RIGHTS_LATEST)) - 1


def ruleset_attributes(abi: int) -> bytes:
    """`struct landlock_ruleset_attr` with the fields that the ABI knows. Restricts everything that the ABI can restrict."""
    handled = [file_rights(abi)]
    if abi >= 4:
        handled.append(TCP_RIGHTS)
    if abi >= 6:
        handled.append(SCOPES)
    return struct.pack(f"={len(handled)}Q", *handled)


def path_rule(rights: int, descriptor: int) -> bytes:
    """`struct landlock_path_beneath_attr`."""
    return PATH_RULE.pack(rights, descriptor)


def _open(path: str) -> int | None:
    try:
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        # If the zygote cannot open the path, its children cannot either.
        return None
