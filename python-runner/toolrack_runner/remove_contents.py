"""Removes a tree that somebody else wrote."""

import os
import stat


def remove_contents(path: str) -> None:
    """Removes everything below `path` and follows no link; a tree of any depth, one name at a time.

    Works from directory to directory by name and back by "..", so that depth costs neither recursion nor descriptors.
    """
    os.chdir(path)
    root = os.stat(".")
    while True:
        below = _remove_files()
        if below is not None:
            os.chdir(below)
            continue
        here = os.stat(".")
        if (here.st_dev, here.st_ino) == (root.st_dev, root.st_ino):
            return
        name = _name_in_parent(here)
        os.chdir("..")
        os.rmdir(name)


def _remove_files() -> str | None:
    """Unlinks what is no directory here; returns a directory that is left, opened up to be emptied."""
    with os.scandir(".") as entries:
        for entry in list(entries):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name)
                continue
            os.chmod(entry.name, stat.S_IRWXU, follow_symlinks=os.chmod not in os.supports_follow_symlinks)
            return entry.name
    return None


def _name_in_parent(here: os.stat_result) -> str:
    with os.scandir("..") as entries:
        return next(entry.name for entry in entries if entry.inode() == here.st_ino)
