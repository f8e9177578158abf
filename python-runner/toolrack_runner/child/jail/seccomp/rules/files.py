"""Rules for calls that take a path, and for reading and writing files."""

from collections.abc import Mapping
from typing import Final

from toolrack_runner.child.jail.seccomp.rule import (
    INVALID,
    UNSUPPORTED,
    Bits,
    Condition,
    Rule,
    has_none,
    has_only,
    only,
    when,
)

O_CREAT: Final = 0x40
O_TMPFILE: Final = 0x40_0000
#: The bits of O_EXCL, NOCTTY, TRUNC, APPEND, NONBLOCK and CLOEXEC.
_OPEN: Final = 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x8_0000
#: O_LARGEFILE, O_DIRECTORY and O_NOFOLLOW.
_LOOK_UP: Final = Bits(0x8000 | 0x1_0000 | 0x2_0000, 0x2_0000 | 0x4000 | 0x8000)
#: The flags with which programs open files, besides the kind of access. O_DIRECT, ASYNC, NOATIME and PATH are refused,
#: because Python does not need them. DSYNC and SYNC are refused, because the kernel would write out a file system that other
#: processes use.
OPENING: Final = Bits(_OPEN | _LOOK_UP.x86_64, _OPEN | _LOOK_UP.aarch64)
CREATING: Final = Bits(*(O_CREAT | O_TMPFILE | bits for bits in OPENING))
#: O_RDONLY, O_WRONLY and O_RDWR.
ACCESSES: Final = (0, 1, 2)
#: Set-uid and set-gid in the mode of a new file. With them, others could run a program as the user of the child.
SET_ID: Final = 0o6000

AT_SYMLINK_NOFOLLOW: Final = 0x100
AT_EACCESS: Final = 0x200
AT_REMOVEDIR: Final = 0x200
AT_NO_AUTOMOUNT: Final = 0x800
AT_EMPTY_PATH: Final = 0x1000
OF_STAT: Final = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH
#: STATX_BASIC_STATS and STATX_BTIME.
STATX_FIELDS: Final = 0xFFF
RENAME_NOREPLACE: Final = 1
RWF_NOWAIT: Final = 0x8
RWF_APPEND: Final = 0x10
#: SEEK_SET, CUR, END, DATA and HOLE.
SEEKS: Final = (0, 1, 2, 3, 4)


def _opening(flags: int, mode: int) -> Rule:
    # The mode has a meaning only if a file is made. Otherwise the register may contain anything.
    return (
        when(Condition(flags, ACCESSES, ignored=OPENING)),
        when(Condition(flags, ACCESSES, ignored=CREATING), has_none(mode, SET_ID)),
        when(answer=INVALID),
    )


FILES: Final[Mapping[str, Rule]] = {
    "open": _opening(1, 2),
    "openat": _opening(2, 3),
    "creat": only(has_none(1, SET_ID), otherwise=INVALID),
    "newfstatat": only(has_only(3, OF_STAT), otherwise=INVALID),
    "statx": only(has_only(2, OF_STAT), has_only(3, STATX_FIELDS), otherwise=INVALID),
    "faccessat2": only(has_only(3, AT_SYMLINK_NOFOLLOW | AT_EACCESS), otherwise=INVALID),
    "unlinkat": only(has_only(2, AT_REMOVEDIR), otherwise=INVALID),
    # RENAME_WHITEOUT makes a device.
    "renameat2": only(has_only(4, RENAME_NOREPLACE), otherwise=INVALID),
    "lseek": only(Condition(2, SEEKS), otherwise=INVALID),
    # With this answer, the C library writes the zeros itself. It does so only if a file system does not support the call at
    # all.
    "fallocate": only(has_only(1, 0), otherwise=UNSUPPORTED),
    "copy_file_range": only(has_only(5, 0), otherwise=INVALID),
    # RWF_DSYNC and RWF_SYNC are not allowed. The kernel would write out a file system that other processes use, as with
    # fsync.
    **dict.fromkeys(
        ("preadv2", "pwritev2"), only(has_only(5, RWF_NOWAIT | RWF_APPEND), otherwise=UNSUPPORTED)
    ),
}
