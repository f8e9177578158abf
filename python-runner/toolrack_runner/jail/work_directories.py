"""Work directories where there are no namespaces: made for a slot, and cleared after each child of it.

A tree that a tool wrote is removed by a process with the tool's own identity: no symbolic link, however it is swapped,
makes it remove anything that the tool could not have removed itself.
"""

import os
import stat

from toolrack_runner.jail.identity import drop_identity


def make_directory(base: str, slot: int, uid: int, gid: int) -> str:
    """The slot's empty directory, mode 0700 and its own; made anew where there is none."""
    path = f"{base}/{slot}"
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return path
    if uid != os.geteuid():
        os.chown(path, uid, gid)
    return path


def empty_directory(base: str, slot: int, uid: int, gid: int) -> None:
    """Removes what the directory holds; returns when it is done."""
    pid = os.fork()
    if pid == 0:
        try:
            if uid != os.geteuid():
                drop_identity(uid, gid)
            remove_contents(f"{base}/{slot}")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


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
