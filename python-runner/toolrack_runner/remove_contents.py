"""Removes a tree that somebody else wrote."""

import os
import stat
from contextlib import suppress

#: The device and the inode of a directory.
Identity = tuple[int, int]


class MovedError(OSError):
    """A directory was moved while it was emptied. What lies around it now was not to be removed."""


def remove_contents(path: str) -> None:
    """Removes everything below `path` and follows no link, in a tree of any depth and width; looks at each name once.

    Another process may remove it at the same time. Works from directory to directory by name and back by "..", so that
    depth costs neither recursion nor descriptors. Raises MovedError.
    """
    os.chdir(path)
    # For each directory on the way: which it is, its name in the one above, and what is left to do in it.
    way: list[tuple[Identity, str, list[str]]] = [(_here(), "", _remove_files())]
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
    """Removes files and empty directories here. Returns the names of the other directories, which it may enter then."""
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


def _here() -> Identity:
    found = os.stat(".")
    return found.st_dev, found.st_ino
