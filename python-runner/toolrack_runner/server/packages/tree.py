"""Walks and removes folders with the files of packages. Strangers choose their depth, so nothing here is recursive."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def entries_in(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All files, links and folders below a folder, a folder before what it holds. No link is followed.

    A folder that was removed meanwhile counts as empty.
    """
    remaining = [str(folder)]
    while remaining:
        with suppress(FileNotFoundError), os.scandir(remaining.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    remaining.append(entry.path)
                yield entry


def files_in(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All files below a folder, and links, without following them."""
    return (entry for entry in entries_in(folder) if not entry.is_dir(follow_symlinks=False))


def folders_in(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All folders below a folder."""
    return (entry for entry in entries_in(folder) if entry.is_dir(follow_symlinks=False))


def size_of(entry: os.DirEntry[str]) -> int:
    """The bytes of a file or link. 0 for a folder, and for what was removed meanwhile."""
    if not entry.is_dir(follow_symlinks=False):
        with suppress(FileNotFoundError):
            return entry.stat(follow_symlinks=False).st_size
    return 0


def remove_tree(folder: Path) -> None:
    """Removes a folder, also one with folders that are read-only. What cannot be removed is left.

    Each inner folder is first moved to the top. So a path never becomes longer than the system allows, even if `folder` was
    moved to a place with a longer path. The current folder of the process stays, because other threads use it.
    """
    root = str(folder)
    remaining = [root]
    while remaining:
        inner = remaining.pop()
        with suppress(OSError):
            os.chmod(inner, stat.S_IRWXU)
            with os.scandir(inner) as entries:
                found = list(entries)
            for entry in found:
                with suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)
                    elif inner == root:
                        remaining.append(entry.path)
                    else:
                        # Without this right, an ordinary user cannot move a folder to another one.
                        os.chmod(entry.path, stat.S_IRWXU)
                        top = f"{root}/{os.urandom(16).hex()}"
                        os.rename(entry.path, top)
                        remaining.append(top)
        if inner != root:
            with suppress(OSError):
                os.rmdir(inner)
    with suppress(OSError):
        os.rmdir(root)
