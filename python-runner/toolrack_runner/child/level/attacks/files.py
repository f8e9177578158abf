"""Attacks on files outside of the workdir, on the disk, and through files in the workdir."""

import fcntl
import os
import stat
import struct
from typing import Final

from toolrack_runner.child.level.nothing_done import NothingDoneError
from toolrack_runner.wire.canaries import Canaries

MIB = 1 << 20
#: More files than a child's quota allows (256 inodes). Not many more, because a disk may need a millisecond for each.
MANY = 300
#: `struct flock`: type, whence, start, length, pid.
LOCK: Final = struct.Struct("@hhqqi4x")


def read_environment(canaries: Canaries) -> None:
    """Reads the environment of a process of the runner, which could contain secrets."""
    _read(f"/proc/{canaries.victim}/environ")


def read_open_file(canaries: Canaries) -> None:
    """Reads a file that everyone may read."""
    _read(canaries.open_file)


def read_private_file(canaries: Canaries) -> None:
    """Reads a file that only the runner's user may read."""
    _read(canaries.private_file)


def read_source(canaries: Canaries) -> None:
    """Reads the runner's own source."""
    _read(canaries.source)


def write_outside(canaries: Canaries) -> None:
    """Makes a file in a directory that everyone may write to."""
    path = f"{canaries.open_directory}/written-{os.getpid()}"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)


def make_symlink(canaries: Canaries) -> None:
    """Makes a symbolic link in the workdir, which a careless process outside of the jail could follow."""
    path = f"{canaries.workdir}/link"
    os.symlink(canaries.open_file, path)
    os.unlink(path)


def list_processes(_: Canaries) -> None:
    """Lists /proc."""
    os.listdir("/proc")


def change_mode(canaries: Canaries) -> None:
    """Changes the mode of a file outside of the jail that belongs to the runner's user. Landlock does not cover this."""
    before = stat.S_IMODE(os.stat(canaries.open_file).st_mode)
    os.chmod(canaries.open_file, before ^ stat.S_IWOTH)
    if stat.S_IMODE(os.stat(canaries.open_file).st_mode) == before:
        raise NothingDoneError
    os.chmod(canaries.open_file, before)


def lock_shared_file(_: Canaries) -> None:
    """Locks a byte of a file that every child can open. Another child could see the lock and its owner."""
    here = os.getpid()
    with open(os.devnull, "rb", buffering=0) as one, open(os.devnull, "rb", buffering=0) as another:
        fcntl.fcntl(one, fcntl.F_OFD_SETLK, LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, here, 1, 0))
        wanted = LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, here, 1, 0)
        if LOCK.unpack(fcntl.fcntl(another, fcntl.F_OFD_GETLK, wanted))[0] == fcntl.F_UNLCK:
            raise NothingDoneError


def see_file(canaries: Canaries) -> None:
    """Finds out whether a file outside of the jail exists, and its size and age."""
    os.stat(canaries.open_file)


def fill_one_file(canaries: Canaries) -> None:
    """Uses 20 MB of disk with one file."""
    path = f"{canaries.workdir}/large"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, 20 * MIB)
    finally:
        os.close(descriptor)
        os.unlink(path)


def make_many_files(canaries: Canaries) -> None:
    """Uses many inodes with small files."""
    made = []
    try:
        for number in range(MANY):
            path = f"{canaries.workdir}/small-{number}"
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            made.append(path)
    finally:
        for path in made:
            os.unlink(path)


def _read(path: str) -> None:
    with open(path, "rb", buffering=0) as file:
        file.read(1)
