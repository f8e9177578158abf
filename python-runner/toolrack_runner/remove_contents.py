"""Removes a directory tree that hostile code may have made."""

import os
import stat
from contextlib import suppress


class MovedError(OSError):
    """A directory was moved while it was emptied. What is beside it now must not be removed."""


def remove_contents(path: str) -> None:
    """Removes everything below `path`, at any depth, and follows no link. Raises MovedError.

    Another process may remove it at the same time. It enters a directory by name and leaves it by "..", so a deep tree needs
    neither recursion nor descriptors.
    """
    os.chdir(path)
    # For each open directory: its identity, its name in the parent, and the directories that are left in it.
    way: list[tuple[tuple[int, int], str, list[str]]] = [(_here(), "", _remove_files())]
    while way:
        _, name, left = way[-1]
        if left:
            below = left.pop()
            try:
                os.chdir(below)
            except FileNotFoundError:
                continue
            way.append((_here(), below, _remove_files()))
            continue
        way.pop()
        if way:
            os.chdir("..")
            if _here() != way[-1][0]:
                raise MovedError
            with suppress(FileNotFoundError):
                os.rmdir(name)


def _remove_files() -> list[str]:
    """Removes files and empty directories here. Makes the other directories accessible and returns their names."""
    left: list[str] = []
    with os.scandir(".") as entries:
        for entry in list(entries):
            if not entry.is_dir(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    os.unlink(entry.name)
                continue
            try:
                os.rmdir(entry.name)
            except FileNotFoundError:
                continue
            except OSError:
                os.chmod(
                    entry.name, stat.S_IRWXU, follow_symlinks=os.chmod not in os.supports_follow_symlinks
                )
                left.append(entry.name)
    return left


def _here() -> tuple[int, int]:
    """The device and the inode of the current directory."""
    found = os.stat(".")
    return found.st_dev, found.st_ino
