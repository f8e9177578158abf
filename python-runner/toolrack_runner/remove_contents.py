"""Removes a directory tree that hostile code may have made."""

import os
import stat
from contextlib import suppress


class MovedError(OSError):
    """A directory was moved while it was being emptied. So its ".." is now a directory that must not be emptied."""


def remove_contents(path: str) -> None:
    """Removes everything in `path`, at any depth. Follows no symbolic link. Raises MovedError.

    Another process may remove the same files at the same time. The function goes into a directory by its name and back by
    "..", so even a deep tree needs neither recursion nor open descriptors.
    """
    os.chdir(path)
    # For each directory on the way from `path` to the current one: its identity, its name, and the subdirectories that
    # remain.
    way: list[tuple[tuple[int, int], str, list[str]]] = [(_here(), "", _remove_files())]
    while way:
        _, name, remaining = way[-1]
        if remaining:
            below = remaining.pop()
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
    """Removes the files and the empty directories in the current directory.

    Makes the other directories accessible, and returns their names.
    """
    remaining: list[str] = []
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
                follows = os.chmod not in os.supports_follow_symlinks
                os.chmod(entry.name, stat.S_IRWXU, follow_symlinks=follows)
                remaining.append(entry.name)
    return remaining


def _here() -> tuple[int, int]:
    found = os.stat(".")
    return found.st_dev, found.st_ino
