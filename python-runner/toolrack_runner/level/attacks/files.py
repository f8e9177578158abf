"""Attacks on files outside, on the disk, and on what the workdir is for."""

import fcntl
import os
import stat
import struct
from typing import Final

from toolrack_runner.level.plants import Plants
from toolrack_runner.level.twin import NothingDone

MIB = 1 << 20
#: More than the inodes of a child's quota (256), and no more, as a disk may take a millisecond for each.
MANY = 300
#: `struct flock`: type, whence, start, length, pid.
LOCK: Final = struct.Struct("@hhqqi4x")
F_OFD_GETLK: Final = 36
F_OFD_SETLK: Final = 37


def read_environment(plants: Plants) -> None:
    """Reads the environment of a process of the runner, where secrets would be."""
    _read(f"/proc/{plants.victim}/environ")


def read_open_file(plants: Plants) -> None:
    """Reads what everyone may read."""
    _read(plants.open_file)


def read_private_file(plants: Plants) -> None:
    """Reads what only the runner's user may read."""
    _read(plants.private_file)


def read_source(plants: Plants) -> None:
    """Reads the runner's own source."""
    _read(plants.source)


def write_outside(plants: Plants) -> None:
    """Makes a file where everyone may."""
    path = f"{plants.open_directory}/written-{os.getpid()}"
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)


def make_symlink(plants: Plants) -> None:
    """Plants a symbolic link in the workdir for a careless reader outside."""
    path = f"{plants.workdir}/link"
    os.symlink(plants.open_file, path)
    os.unlink(path)


def list_processes(_: Plants) -> None:
    """Lists /proc."""
    os.listdir("/proc")


def change_mode(plants: Plants) -> None:
    """Changes the mode of a file outside that belongs to the runner's user; Landlock does not look at this."""
    before = stat.S_IMODE(os.stat(plants.open_file).st_mode)
    os.chmod(plants.open_file, before ^ stat.S_IWOTH)
    if stat.S_IMODE(os.stat(plants.open_file).st_mode) == before:
        raise NothingDone
    os.chmod(plants.open_file, before)


def lock_shared_file(_: Plants) -> None:
    """Locks a byte of a file that every child can open; another sees by it that somebody is there, and who."""
    one, another = (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(2))
    here = os.getpid()
    try:
        fcntl.fcntl(one, F_OFD_SETLK, LOCK.pack(fcntl.F_RDLCK, os.SEEK_SET, here, 1, 0))
        wanted = LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, here, 1, 0)
        if LOCK.unpack(fcntl.fcntl(another, F_OFD_GETLK, wanted))[0] == fcntl.F_UNLCK:
            raise NothingDone
    finally:
        os.close(one)
        os.close(another)


def see_file(plants: Plants) -> None:
    """Learns that a file outside exists, how large and how old it is."""
    os.stat(plants.open_file)


def fill_one_file(plants: Plants) -> None:
    """Takes 20 MB of disk with one file."""
    path = f"{plants.workdir}/large"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, 20 * MIB)
    finally:
        os.close(descriptor)
        os.unlink(path)


def make_many_files(plants: Plants) -> None:
    """Takes inodes with many small files."""
    made = []
    try:
        for number in range(MANY):
            path = f"{plants.workdir}/small-{number}"
            descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
            made.append(path)
            os.close(descriptor)
    finally:
        for path in made:
            os.unlink(path)


def _read(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.read(descriptor, 1)
    finally:
        os.close(descriptor)
